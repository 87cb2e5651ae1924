package snapshot

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func ctimeOf(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// isAt reports whether there is in the directory of an open file what the item's stamp says. It is
// the only thing that a snapshot does with most files, and several times faster than
// [os.Root.Lstat]. If it returns false, the caller looks properly.
func (it *item) isAt(dir int) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, it.Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && it.Stamp.is(&st)
}

// is reports whether a stamp is that of a file with this status.
func (s *stamp) is(st *unix.Stat_t) bool {
	return s.Ino == st.Ino && s.Ctime == st.Ctim.Nano() && s.Mtime == st.Mtim.Nano() && s.Size == st.Size &&
		s.Dev == st.Dev && s.UID == st.Uid && s.GID == st.Gid // the mode is as old as the change time
}
