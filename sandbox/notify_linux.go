package sandbox

import (
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock does not rule on the modes, owners and times of files. So with it the
// broker also makes the calls that change these, if the file is below a
// directory that commands may write.

// metadata makes such a call.
func (c *brokered) metadata() error {
	a := c.n.args
	switch uintptr(uint32(c.n.nr)) {
	case unix.SYS_FCHMOD:
		return c.chmod(a[0], 0, a[1], 0)
	case unix.SYS_FCHMODAT:
		return c.chmod(a[0], a[1], a[2], 0)
	case unix.SYS_FCHMODAT2:
		return c.chmod(a[0], a[1], a[2], a[3])
	case unix.SYS_UTIMENSAT:
		return c.utimes(a[0], a[1], a[2], a[3])
	case unix.SYS_FCHOWN:
		return sameOwner(a[1], a[2])
	case unix.SYS_FCHOWNAT:
		return sameOwner(a[2], a[3])
	}
	return unix.ENOSYS
}

// sameOwner allows a file to be given to its owner, which changes nothing, and
// refuses the rest.
func sameOwner(uid, gid uint64) error {
	mine := func(id uint64, own int) bool { return uint32(id) == ^uint32(0) || int(uint32(id)) == own }
	if mine(uid, unix.Getuid()) && mine(gid, unix.Getgid()) {
		return nil
	}
	return unix.EPERM
}

// chmod changes the mode of the file at addr, or if addr is 0 of the descriptor
// dir. The mode of a protected file stays: a hook that can be run is another.
func (c *brokered) chmod(dir, addr, mode, flags uint64) error {
	file, at, err := c.changeable(dir, addr, flags)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		if err := c.rules.judge(filepath.Dir(at), filepath.Base(at), opMode); err != nil {
			return err
		}
	}
	return unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file), uint32(mode)&0o1777, 0)
}

// utimes sets the times of a file to those at the address times, or if that is 0
// to the present.
func (c *brokered) utimes(dir, addr, times, flags uint64) error {
	set := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if times != 0 {
		raw, err := c.memory(times, int(unsafe.Sizeof(set[0]))*2)
		if err != nil {
			return err
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&set[0])), len(raw)), raw)
	}
	file, _, err := c.changeable(dir, addr, flags)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file), set, 0)
}

// changeable opens the file of a call, without rights to it, and returns its
// path. It judges the file that it opened, not the name, which the process may
// change meanwhile.
func (c *brokered) changeable(dir, addr, flags uint64) (file int, at string, err error) {
	path := ""
	if addr != 0 && flags&unix.AT_EMPTY_PATH == 0 {
		if path, err = c.text(addr); err == nil {
			path, err = c.absolute(dir, path)
		}
		if err != nil {
			return -1, "", err
		}
	}
	fd, own := ownDescriptor(path)
	switch {
	case own:
		file, err = c.own(fd)
	case path == "" && int32(uint32(dir)) == unix.AT_FDCWD:
		return -1, "", unix.EPERM
	case path == "":
		file, err = c.own(int(int32(uint32(dir))))
	case flags&unix.AT_SYMLINK_NOFOLLOW != 0:
		file, err = c.find(path, unix.O_NOFOLLOW)
	default:
		file, err = c.find(path, 0)
	}
	if err != nil {
		return -1, "", err
	}
	if at, err = pathOf(file); err == nil {
		if err = c.rules.shut(at); err == nil && !withinAny(c.writable, strings.TrimSuffix(at, " (deleted)")) {
			err = unix.EPERM
		}
	}
	if err != nil {
		unix.Close(file)
		return -1, "", err
	}
	return file, at, nil
}
