//go:build unix

package gate

import (
	"io/fs"
	"os"
	"syscall"
)

// notOwn returns why another user may have written the file with this info, or
// "".
func notOwn(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "is not a regular file"
	}
	if info.Mode().Perm()&0o022 != 0 {
		return "can be written by others"
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	return ""
}
