package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archCalls are the calls that this architecture has besides commonCalls: older
// forms that libraries still use.
var archCalls = []uintptr{
	unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_POLL, unix.SYS_ACCESS, unix.SYS_PIPE, unix.SYS_SELECT,
	unix.SYS_DUP2, unix.SYS_PAUSE, unix.SYS_ALARM, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_GETDENTS,
	unix.SYS_RENAME, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_SYMLINK,
	unix.SYS_READLINK, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_GETPGRP, unix.SYS_UTIME,
	unix.SYS_ARCH_PRCTL, unix.SYS_TIME, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_UTIMES,
	unix.SYS_INOTIFY_INIT, unix.SYS_FUTIMESAT, unix.SYS_NEWFSTATAT, unix.SYS_SIGNALFD, unix.SYS_EVENTFD,
}

// legacy adds rules for the older forms of calls that have rules. device decides
// about the mode in mknod.
func (r rules) legacy(device func(*bpf), f sysFilter) {
	if f.metadata {
		r.call(unix.SYS_CHMOD, func(b *bpf) { setID(1)(b); b.always(ask) })
		r.all(ask, unix.SYS_CHOWN, unix.SYS_LCHOWN)
		r.all(none, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT)
	}
	if f.names {
		r.legacyNames()
		return
	}
	r.call(unix.SYS_MKNOD, device)
	r.call(unix.SYS_CHMOD, setID(1))
	r.call(unix.SYS_CREAT, setID(1))
	r.call(unix.SYS_OPEN, setIDOpen(1))
}

// legacyNames has the kernel ask about the older forms of calls that make,
// change, rename and remove files.
func (r rules) legacyNames() {
	r.call(unix.SYS_OPEN, askOpen(1))
	r.call(unix.SYS_CREAT, func(b *bpf) { setID(1)(b); b.always(ask) })
	r.call(unix.SYS_CHMOD, setID(1))
	r.call(unix.SYS_MKNOD, askNode(1))
	r.all(ask, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_SYMLINK)
}

// legacy makes a call of an older form, and returns ENOSYS if it is none. here
// stands for the working directory.
func (c *brokered) legacy(here uint64) error {
	a := c.n.args
	switch uintptr(uint32(c.n.nr)) {
	case unix.SYS_OPEN:
		return c.open(here, a[0], int(uint32(a[1])), uint32(a[2]))
	case unix.SYS_CREAT:
		return c.open(here, a[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(a[1]))
	case unix.SYS_MKDIR:
		return c.mkdir(here, a[0], uint32(a[1]))
	case unix.SYS_RMDIR:
		return c.remove(here, a[0], unix.AT_REMOVEDIR)
	case unix.SYS_UNLINK:
		return c.remove(here, a[0], 0)
	case unix.SYS_MKNOD:
		return c.mknod(here, a[0], uint32(a[1]))
	case unix.SYS_RENAME:
		return c.rename(here, a[0], here, a[1], 0)
	case unix.SYS_LINK:
		return c.link(here, a[0], here, a[1], 0)
	case unix.SYS_SYMLINK:
		return c.symlink(a[0], here, a[1])
	case unix.SYS_CHMOD:
		return c.chmod(here, a[0], a[1], 0)
	case unix.SYS_CHOWN, unix.SYS_LCHOWN:
		return sameOwner(a[1], a[2])
	}
	return unix.ENOSYS
}
