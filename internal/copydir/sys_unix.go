//go:build unix

package copydir

import (
	"fmt"
	"io/fs"
	"syscall"
)

// owner returns the owner and the group of a file.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// identity tells a file from every other on its file system, whatever its name is.
func identity(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(st.Ino)
}

// sameDevice reports whether two files are on the same file system.
func sameDevice(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, too := b.Sys().(*syscall.Stat_t)
	return !ok || !too || x.Dev == y.Dev
}
