//go:build unix

package gate

import (
	"io/fs"
	"os"
	"syscall"
)

// notOwn says why the file with this info may be somebody else's work.
func notOwn(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "is no regular file"
	}
	if info.Mode().Perm()&0o022 != 0 {
		return "can be written by others"
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	return ""
}
