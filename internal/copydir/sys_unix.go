//go:build unix

package copydir

import (
	"io/fs"
	"syscall"
)

// openNonblock keeps the opening of a pipe from waiting for its other end.
const openNonblock = syscall.O_NONBLOCK

// owner is whose file it is.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
