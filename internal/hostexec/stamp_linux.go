package hostexec

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// stampOf returns what no program can leave as it is when it changes a file, and when the
// file was changed last: the clock of the system sets the time of a change of its inode.
func stampOf(info fs.FileInfo) (stamp string, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", time.Time{}
	}
	changed = time.Unix(st.Ctim.Unix())
	return fmt.Sprintf("%d:%d:%d:%d", st.Dev, st.Ino, st.Size, changed.UnixNano()), changed
}
