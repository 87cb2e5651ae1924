package copydir

import (
	"io/fs"
	"syscall"
)

// changeTime returns when the kernel saw the last change of a file, in nanoseconds.
// No program can set it.
func changeTime(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ctim.Nano()
}
