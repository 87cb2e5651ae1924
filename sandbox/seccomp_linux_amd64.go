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
func (r rules) legacy(device func(*bpf), notify bool) {
	if notify {
		r.call(unix.SYS_CHMOD, func(b *bpf) { setID(1)(b); b.always(ask) })
		r.all(ask, unix.SYS_CHOWN, unix.SYS_LCHOWN)
		r.all(none, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT)
	}
	r.call(unix.SYS_MKNOD, device)
	r.call(unix.SYS_CHMOD, setID(1))
	r.call(unix.SYS_CREAT, setID(1))
	r.call(unix.SYS_OPEN, setIDOpen(1))
}

// legacyCall returns the name of an older form that the kernel asks about, or
// "".
func legacyCall(n int32) string {
	switch n {
	case unix.SYS_CHMOD:
		return "chmod"
	case unix.SYS_CHOWN, unix.SYS_LCHOWN:
		return "chown"
	}
	return ""
}
