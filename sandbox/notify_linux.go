package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock does not rule on the modes, owners and times of files. So the filter
// of system calls has the kernel ask the supervisor, which is not restricted,
// before each call that changes them (SECCOMP_RET_USER_NOTIF). The supervisor
// opens the file, judges what it has opened, and makes the call itself if the
// file is below a directory that commands may write. It never lets a call go on:
// the process could change the path between the check and the call.

// A notification is struct seccomp_notif of linux/seccomp.h: a call that a
// process is about to make.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// A notifyReply is struct seccomp_notif_resp of linux/seccomp.h: the result of
// the call.
type notifyReply struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// The requests SECCOMP_IOCTL_NOTIF_RECV, _SEND and _ID_VALID of ioctl.
const (
	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	notifyValid   = 0x40082102
)

// serveNotifications answers the kernel's questions until no restricted process
// is left.
func (c landlockRules) serveNotifications(listener int) {
	for {
		var n notification
		errno := ioctl(listener, notifyReceive, unsafe.Pointer(&n))
		switch {
		case errno == unix.EINTR || errno == unix.ENOENT: // the process that made the call is dead
			continue
		case errno != 0:
			return
		}
		reply := notifyReply{id: n.id}
		var refused unix.Errno
		if err := c.handle(listener, &n); errors.As(err, &refused) {
			reply.errno = -int32(refused)
		} else if err != nil {
			reply.errno = -int32(unix.EPERM)
		}
		ioctl(listener, notifySend, unsafe.Pointer(&reply)) // that process may be dead by now
	}
}

// ioctl returns 0 if the request succeeded.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// handle makes the call in place of the process. Its error is the result of the
// call; one that is no errno becomes EPERM.
func (c landlockRules) handle(listener int, n *notification) error {
	a := n.args
	call := metadataCall{listener: listener, n: n, dir: unix.AT_FDCWD}
	switch uintptr(uint32(n.nr)) {
	case unix.SYS_FCHMOD:
		call.dir, call.empty, call.mode = int32(a[0]), true, a[1]
	case unix.SYS_FCHMODAT:
		call.dir, call.path, call.mode = int32(a[0]), a[1], a[2]
	case unix.SYS_FCHMODAT2:
		call.dir, call.path, call.mode, call.flags = int32(a[0]), a[1], a[2], a[3]
	case unix.SYS_UTIMENSAT:
		call.dir, call.path, call.empty, call.flags = int32(a[0]), a[1], a[1] == 0, a[3]
		call.times, call.isTimes = a[2], true
	case unix.SYS_FCHOWN:
		return sameOwner(a[1], a[2])
	case unix.SYS_FCHOWNAT:
		return sameOwner(a[2], a[3])
	default:
		switch legacyCall(n.nr) {
		case "chmod":
			call.path, call.mode = a[0], a[1]
		case "chown":
			return sameOwner(a[1], a[2])
		default:
			return unix.ENOSYS
		}
	}
	return call.do(c.Write)
}

// sameOwner allows a file to be given to its owner, which changes nothing, and
// refuses the rest.
func sameOwner(uid, gid uint64) error {
	mine := func(id uint64, own int) bool { return uint32(id) == ^uint32(0) || int(uint32(id)) == own }
	if mine(uid, os.Getuid()) && mine(gid, os.Getgid()) {
		return nil
	}
	return unix.EPERM
}

// A metadataCall is a call that changes the mode or the times of a file.
type metadataCall struct {
	listener int
	n        *notification
	dir      int32  // a descriptor of the process, or AT_FDCWD
	path     uint64 // where the path is in the memory of the process
	empty    bool   // the file is dir itself, and there is no path
	flags    uint64
	mode     uint64
	isTimes  bool
	times    uint64 // where they are in the memory of the process; 0: now
}

// do makes the call if the file is below a directory of writable. It judges the
// file that it opened, not the name, which the process may change meanwhile.
func (m metadataCall) do(writable []string) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if m.isTimes && m.times != 0 {
		raw, err := m.memory(m.times, int(unsafe.Sizeof(times[0]))*2)
		if err != nil {
			return err
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&times[0])), len(raw)), raw)
	}
	fd, err := m.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if errno := ioctl(m.listener, notifyValid, unsafe.Pointer(&m.n.id)); errno != 0 {
		return unix.ESRCH // it died, so what was opened may be a file of another process of that number
	}
	own := fmt.Sprintf("/proc/self/fd/%d", fd)
	where, err := os.Readlink(own)
	if err != nil {
		return err
	}
	if !withinAny(writable, where) {
		return unix.EPERM
	}
	if m.isTimes {
		return unix.UtimesNanoAt(unix.AT_FDCWD, own, times, 0)
	}
	return unix.Fchmodat(unix.AT_FDCWD, own, uint32(m.mode)&0o1777, 0)
}

// open opens the file as the process would, without any rights to it.
func (m metadataCall) open() (int, error) {
	name := fmt.Sprintf("/proc/%d/cwd", m.n.pid)
	if m.dir != unix.AT_FDCWD {
		name = fmt.Sprintf("/proc/%d/fd/%d", m.n.pid, m.dir)
	}
	how := unix.O_PATH | unix.O_CLOEXEC
	if !m.empty {
		raw, err := m.memory(m.path, unix.PathMax)
		if err != nil {
			return -1, err
		}
		end := bytes.IndexByte(raw, 0)
		switch {
		case end < 0:
			return -1, unix.ENAMETOOLONG
		case end == 0 && m.flags&unix.AT_EMPTY_PATH == 0:
			return -1, unix.ENOENT
		case raw[0] == '/':
			name = string(raw[:end])
		case end > 0:
			name += "/" + string(raw[:end])
		}
		if m.flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
			how |= unix.O_NOFOLLOW
		}
	}
	return unix.Open(name, how, 0)
}

// memory reads at most n bytes of the memory of the process.
func (m metadataCall) memory(at uint64, n int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", m.n.pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, n)
	read, err := f.ReadAt(buf, int64(at))
	if read == 0 {
		return nil, errors.Join(unix.EFAULT, err)
	}
	return buf[:read], nil
}
