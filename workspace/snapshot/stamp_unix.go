//go:build unix

package snapshot

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// A stamp tells versions of a file apart without reading it. The kernel sets the
// change time, and no program can set it back.
type stamp struct {
	Dev, Ino uint64
	Ctime    int64 // nanoseconds
	Mtime    int64
	Size     int64
	Mode     fs.FileMode
	UID, GID uint32
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{Mtime: info.ModTime().UnixNano(), Size: info.Size(), Mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino, s.UID, s.GID = uint64(st.Dev), st.Ino, st.Uid, st.Gid
		s.Ctime = ctimeOf(st)
	}
	return s
}

// changed returns when the file changed last.
func (s stamp) changed() time.Time { return time.Unix(0, max(s.Ctime, s.Mtime)) }

// sparse reports whether a file has holes, or blocks that its file system compresses.
// Small ones count as if they had none: some file systems keep them elsewhere.
func sparse(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Size() >= 64<<10 && st.Blocks*512 < info.Size()
}

// owner returns the owner, or nil if it is the user of this process.
func (s stamp) owner() *Owner {
	if int(s.UID) == os.Geteuid() && int(s.GID) == os.Getegid() {
		return nil
	}
	return &Owner{int(s.UID), int(s.GID)}
}

// inode returns which file it is.
func (s stamp) inode() inode { return inode{s.Dev, s.Ino} }
