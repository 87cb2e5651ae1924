//go:build !unix

package snapshot

import (
	"io/fs"
	"time"
)

// A stamp tells versions of a file apart without reading it.
type stamp struct {
	Dev   uint64
	Mtime int64
	Size  int64
	Mode  fs.FileMode
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{Mtime: info.ModTime().UnixNano(), Size: info.Size(), Mode: info.Mode()}
}

func (s stamp) changed() time.Time { return time.Unix(0, s.Mtime) }
func (s stamp) owner() *Owner      { return nil }

func sparse(fs.FileInfo) bool { return false }

func (it *item) isAt(int) bool { return false }

// inode does not know which file it is.
func (stamp) inode() inode { return inode{} }
