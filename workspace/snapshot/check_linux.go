package snapshot

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Types of file systems on this machine that change the time of a directory whenever a
// name in it comes or goes. Others, such as FAT and those of networks, may not.
var timedSystems = []uint32{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	unix.F2FS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */, 0xca451a4e, /* bcachefs */
}

// timed reports whether the times of directories show changes of the names in them.
func timed(root *os.File) bool {
	var s unix.Statfs_t
	return unix.Fstatfs(int(root.Fd()), &s) == nil && slices.Contains(timedSystems, uint32(s.Type))
}

// stillThere reports whether there is in the directory what the stamps say. Each worker
// of a check opens the directories by their names: no link on the way is followed.
func (d *checked) stillThere(root *os.File) bool {
	fd, err := unix.Openat2(int(root.Fd()), d.name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	st.Size = 0 // of a directory, it means nothing
	if !d.node.Stamp.is(&st) {
		return false
	}
	for _, it := range d.node.Items {
		if it.Dir == nil && !it.isAt(fd) {
			return false
		}
	}
	return true
}
