package sandbox

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// A sysFilter says which system calls a command may make. A call that is not on
// the list fails with ENOSYS, so that programs do what they do on an older
// kernel. The list is one of what is allowed: a call that a future kernel brings
// is refused.
type sysFilter struct {
	inet     bool // sockets of the internet
	unix     bool // sockets in the file system
	local    bool // the kernel asks about sockets of TCP: see local_linux.go
	names    bool // the kernel asks about calls that make and change names: see broker_linux.go
	metadata bool // the kernel asks about calls that change metadata: see notify_linux.go
	ipc      bool // System V IPC and POSIX message queues
}

// commonCalls are allowed whatever their arguments are. These are missing:
// namespaces and mounts (unshare, setns, mount, …), which open more of the
// kernel; ptrace, process_vm_* and pidfd_getfd, which reach into other
// processes; keyctl, since namespaces do not separate keys; bpf,
// perf_event_open, userfaultfd and io_uring, in which many holes were found; the
// clock, modules, swap, reboot and the like.
var commonCalls = []uintptr{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_LSEEK, unix.SYS_MMAP,
	unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK,
	unix.SYS_RT_SIGRETURN, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV,
	unix.SYS_SCHED_YIELD, unix.SYS_MREMAP, unix.SYS_MSYNC, unix.SYS_MINCORE, unix.SYS_MADVISE,
	unix.SYS_DUP, unix.SYS_NANOSLEEP, unix.SYS_GETITIMER, unix.SYS_SETITIMER, unix.SYS_GETPID,
	unix.SYS_SENDFILE, unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_SENDTO, unix.SYS_RECVFROM,
	unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SHUTDOWN, unix.SYS_BIND, unix.SYS_LISTEN,
	unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_SETSOCKOPT, unix.SYS_GETSOCKOPT,
	unix.SYS_EXECVE, unix.SYS_EXIT, unix.SYS_WAIT4, unix.SYS_KILL, unix.SYS_UNAME, unix.SYS_FCNTL,
	unix.SYS_FLOCK, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_TRUNCATE, unix.SYS_FTRUNCATE,
	unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_FCHOWN, unix.SYS_UMASK,
	unix.SYS_GETTIMEOFDAY, unix.SYS_GETRLIMIT, unix.SYS_GETRUSAGE, unix.SYS_SYSINFO, unix.SYS_TIMES,
	unix.SYS_GETUID, unix.SYS_GETGID, unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_GETEUID,
	unix.SYS_GETEGID, unix.SYS_SETPGID, unix.SYS_GETPPID, unix.SYS_SETSID, unix.SYS_SETREUID,
	unix.SYS_SETREGID, unix.SYS_GETGROUPS, unix.SYS_SETGROUPS, unix.SYS_SETRESUID, unix.SYS_GETRESUID,
	unix.SYS_SETRESGID, unix.SYS_GETRESGID, unix.SYS_GETPGID, unix.SYS_SETFSUID, unix.SYS_SETFSGID,
	unix.SYS_GETSID, unix.SYS_CAPGET, unix.SYS_CAPSET, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGTIMEDWAIT,
	unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_SIGSUSPEND, unix.SYS_SIGALTSTACK, unix.SYS_STATFS,
	unix.SYS_FSTATFS, unix.SYS_GETPRIORITY, unix.SYS_SETPRIORITY, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_GETSCHEDULER,
	unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_SCHED_RR_GET_INTERVAL,
	unix.SYS_MLOCK, unix.SYS_MUNLOCK, unix.SYS_MLOCKALL, unix.SYS_MUNLOCKALL, unix.SYS_PRCTL,
	unix.SYS_SETRLIMIT, unix.SYS_SYNC, unix.SYS_GETTID, unix.SYS_READAHEAD, unix.SYS_SETXATTR,
	unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR,
	unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR, unix.SYS_REMOVEXATTR,
	unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_TKILL, unix.SYS_FUTEX,
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_GETAFFINITY, unix.SYS_IO_SETUP, unix.SYS_IO_DESTROY,
	unix.SYS_IO_GETEVENTS, unix.SYS_IO_SUBMIT, unix.SYS_IO_CANCEL, unix.SYS_REMAP_FILE_PAGES,
	unix.SYS_GETDENTS64, unix.SYS_SET_TID_ADDRESS, unix.SYS_RESTART_SYSCALL, unix.SYS_FADVISE64,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME, unix.SYS_TIMER_GETOVERRUN,
	unix.SYS_TIMER_DELETE, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP,
	unix.SYS_EXIT_GROUP, unix.SYS_EPOLL_CTL, unix.SYS_TGKILL, unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY,
	unix.SYS_GET_MEMPOLICY, unix.SYS_WAITID, unix.SYS_IOPRIO_SET, unix.SYS_IOPRIO_GET,
	unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_INOTIFY_RM_WATCH, unix.SYS_MKDIRAT, unix.SYS_FCHOWNAT,
	unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_READLINKAT,
	unix.SYS_FACCESSAT, unix.SYS_PSELECT6, unix.SYS_PPOLL, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_GET_ROBUST_LIST, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_SYNC_FILE_RANGE,
	unix.SYS_VMSPLICE, unix.SYS_UTIMENSAT, unix.SYS_EPOLL_PWAIT, unix.SYS_TIMERFD_CREATE,
	unix.SYS_FALLOCATE, unix.SYS_TIMERFD_SETTIME, unix.SYS_TIMERFD_GETTIME, unix.SYS_ACCEPT4,
	unix.SYS_SIGNALFD4, unix.SYS_EVENTFD2, unix.SYS_EPOLL_CREATE1, unix.SYS_DUP3, unix.SYS_PIPE2,
	unix.SYS_INOTIFY_INIT1, unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_RT_TGSIGQUEUEINFO,
	unix.SYS_RECVMMSG, unix.SYS_PRLIMIT64, unix.SYS_SYNCFS, unix.SYS_SENDMMSG, unix.SYS_GETCPU,
	unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_GETATTR, unix.SYS_RENAMEAT2, unix.SYS_SECCOMP,
	unix.SYS_GETRANDOM, unix.SYS_MEMFD_CREATE, unix.SYS_EXECVEAT, unix.SYS_MEMBARRIER, unix.SYS_MLOCK2,
	unix.SYS_COPY_FILE_RANGE, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_PKEY_MPROTECT,
	unix.SYS_PKEY_ALLOC, unix.SYS_PKEY_FREE, unix.SYS_STATX, unix.SYS_IO_PGETEVENTS, unix.SYS_RSEQ,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_OPEN, unix.SYS_CLOSE_RANGE, unix.SYS_FACCESSAT2,
	unix.SYS_PROCESS_MADVISE, unix.SYS_EPOLL_PWAIT2, unix.SYS_LANDLOCK_CREATE_RULESET,
	unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF, unix.SYS_FUTEX_WAITV,
	unix.SYS_CACHESTAT, unix.SYS_MAP_SHADOW_STACK, unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_WAIT,
	unix.SYS_FUTEX_REQUEUE, unix.SYS_MSEAL, unix.SYS_SETXATTRAT, unix.SYS_GETXATTRAT,
	unix.SYS_LISTXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_SOCKETPAIR,
}

// ipcCalls are allowed if sysFilter.ipc is set: namespaces separate what they
// share.
var ipcCalls = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT, unix.SYS_SEMGET, unix.SYS_SEMOP,
	unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV,
	unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND,
	unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// The results of a filter: the call is made, fails with EPERM or with ENOSYS, or
// the kernel asks the supervisor about it.
const (
	allow = unix.SECCOMP_RET_ALLOW
	deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	none  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	ask   = unix.SECCOMP_RET_USER_NOTIF
)

// program returns the filter in classic BPF. A rule with conditions comes before
// the lists, since the first rule for a call stays.
func (f sysFilter) program() []unix.SockFilter {
	r := make(rules)
	r.call(unix.SYS_CLONE, func(b *bpf) { b.load(dataArgs); b.ifAny(newNamespaces, deny) })
	r.call(unix.SYS_IOCTL, func(b *bpf) {
		b.load(dataArgs + 8)
		for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD} {
			b.when(request, deny)
		}
	})
	r.call(unix.SYS_SOCKET, f.socket)
	if f.local {
		r.askLocal()
	}
	r.call(unix.SYS_PERSONALITY, func(b *bpf) {
		b.load(dataArgs)
		// Linux, with the name of 2.6, without randomised addresses, a question
		for _, persona := range []uint32{0, 0x20000, 0x40000, 0xffffffff} {
			b.when(persona, allow)
		}
		b.always(deny)
	})
	if f.names {
		r.askNames()
	}
	r.call(unix.SYS_MKNODAT, device(2))
	if f.metadata {
		r.askMetadata()
	}
	r.call(unix.SYS_FCHMOD, setID(1))
	r.call(unix.SYS_FCHMODAT, setID(2))
	r.call(unix.SYS_FCHMODAT2, setID(2))
	r.call(unix.SYS_OPENAT, setIDOpen(2))
	r.legacy(device(1), f)
	r.all(allow, commonCalls...)
	r.all(allow, archCalls...)
	if f.ipc {
		r.all(allow, ipcCalls...)
	}
	r.all(deny, forbiddenCalls...)
	var p bpf
	p.load(dataArch)
	p.unless(auditArch, unix.SECCOMP_RET_KILL_PROCESS)
	p.load(dataNumber)
	return append(p, r.tree(none)...)
}

// namesProgram returns a filter that has the kernel ask about calls that make and
// change names, and allows everything else: another filter rules on that. It is
// for bwrap, which sets the other one itself.
func namesProgram() []unix.SockFilter {
	r := make(rules)
	r.askNames()
	r.legacyNames()
	var p bpf
	p.load(dataArch)
	p.unless(auditArch, allow) // the other filter ends such a process
	p.load(dataNumber)
	return append(p, r.tree(allow)...)
}

// askNames has the kernel ask about calls that make, change, rename and remove
// files.
func (r rules) askNames() {
	r.call(unix.SYS_OPENAT, askOpen(2))
	r.call(unix.SYS_MKNODAT, askNode(2))
	r.all(ask, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT,
		unix.SYS_SYMLINKAT, unix.SYS_TRUNCATE)
}

// device refuses the device files, and modes with the set-user-ID bits.
func device(arg uint32) func(*bpf) {
	return func(b *bpf) {
		b.load(dataArgs + 8*arg)
		b.ifAny(unix.S_ISUID|unix.S_ISGID, deny)
		b.mask(unix.S_IFMT)
		b.when(unix.S_IFCHR, deny)
		b.when(unix.S_IFBLK, deny)
	}
}

// askNode is device for a call that the kernel asks about.
func askNode(arg uint32) func(*bpf) {
	return func(b *bpf) { device(arg)(b); b.always(ask) }
}

// askOpen is setIDOpen for a call that the kernel asks about if the file may be
// made or written.
func askOpen(flags uint32) func(*bpf) {
	return func(b *bpf) {
		makes := uint32(unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY)
		b.load(dataArgs + 8*flags)
		b.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 3, makes)
		b.load(dataArgs + 8*(flags+1))
		b.ifAny(unix.S_ISUID|unix.S_ISGID, deny)
		b.load(dataArgs + 8*flags)
		b.ifAny(makes|unix.O_WRONLY|unix.O_RDWR|unix.O_TRUNC, ask)
		b.always(allow)
	}
}

// setID refuses modes with the set-user-ID and set-group-ID bits. Such a program
// in the workspace would have the rights of its owner, whoever runs it. For the
// same reason there is no openat2, whose mode is behind a pointer, where no
// filter sees it.
func setID(arg uint32) func(*bpf) {
	return func(b *bpf) {
		b.load(dataArgs + 8*arg)
		b.ifAny(unix.S_ISUID|unix.S_ISGID, deny)
	}
}

// setIDOpen does so for calls whose mode is the argument after their flags, if
// they can make a file.
func setIDOpen(flags uint32) func(*bpf) {
	return func(b *bpf) {
		b.load(dataArgs + 8*flags)
		b.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 3, unix.O_CREAT|(unix.O_TMPFILE&^unix.O_DIRECTORY))
		b.load(dataArgs + 8*(flags+1))
		b.ifAny(unix.S_ISUID|unix.S_ISGID, deny)
		b.always(allow)
	}
}

// askMetadata has the kernel ask about calls that change the metadata of files.
// Extended attributes are refused. Without namespaces other processes of the
// user are within reach, so a thread may change the priority and the limits of
// itself alone.
func (r rules) askMetadata() {
	for n, mode := range map[uintptr]uint32{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2} {
		r.call(n, func(b *bpf) { setID(mode)(b); b.always(ask) })
	}
	r.all(ask, unix.SYS_UTIMENSAT, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT)
	r.all(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOTSUP),
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
		unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT)
	for n, arg := range map[uintptr]uint32{
		unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1, unix.SYS_SCHED_SETAFFINITY: 0,
		unix.SYS_SCHED_SETSCHEDULER: 0,
		unix.SYS_SCHED_SETPARAM:     0, unix.SYS_SCHED_SETATTR: 0, unix.SYS_PRLIMIT64: 0,
	} {
		r.call(n, func(b *bpf) { // of the calling thread alone: other processes of the user are within reach
			b.load(dataArgs + 8*arg)
			b.when(0, allow)
			if n == unix.SYS_PRLIMIT64 {
				b.load(dataArgs + 16)
				b.when(0, allow) // a question
			}
			b.always(deny)
		})
	}
}

// forbiddenCalls fail with EPERM: with ENOSYS programs would report that the
// kernel is too old.
var forbiddenCalls = []uintptr{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
	unix.SYS_CHROOT, unix.SYS_PTRACE, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_ADD_KEY,
	unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_SYSLOG, unix.SYS_CLOCK_SETTIME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
}

// socket allows the families that programs need and that namespaces separate. A
// netlink socket may list interfaces and routes.
func (f sysFilter) socket(b *bpf) {
	if f.local {
		askTCP(b, unix.AF_INET)
		askTCP(b, unix.AF_INET6)
	}
	b.load(dataArgs)
	if f.inet {
		b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 4, unix.AF_NETLINK)
		b.load(dataArgs + 16)
		b.when(unix.NETLINK_ROUTE, allow) // which interfaces there are
		b.always(deny)
	}
	b.load(dataArgs + 8)
	b.mask(0xf)
	b.when(unix.SOCK_RAW, deny)
	b.when(unix.SOCK_PACKET, deny)
	b.load(dataArgs)
	if f.unix {
		b.when(unix.AF_UNIX, allow)
	}
	if f.inet {
		b.when(unix.AF_INET, allow)
		b.when(unix.AF_INET6, allow)
	}
	b.always(deny)
}

// askTCP has the kernel ask about sockets of a family that are of TCP, and refuses the
// family's others.
func askTCP(b *bpf, family uint32) {
	var then bpf
	then.load(dataArgs + 8)
	then.mask(0xf)
	then.unless(unix.SOCK_STREAM, deny)
	then.load(dataArgs + 16)
	then.when(0, ask)
	then.when(unix.IPPROTO_TCP, ask)
	then.always(deny)
	b.load(dataArgs)
	b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, uint8(len(then)), family)
	*b = append(*b, then...)
}

// askLocal has the kernel ask about what makes a socket one that reaches others. Sending
// and connecting at once is refused.
func (r rules) askLocal() {
	r.all(ask, unix.SYS_CONNECT, unix.SYS_LISTEN)
	for n, flags := range map[uintptr]uint32{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		r.call(n, func(b *bpf) {
			b.load(dataArgs + 8*flags)
			b.ifAny(unix.MSG_FASTOPEN, unix.SECCOMP_RET_ERRNO|uint32(unix.EOPNOTSUPP))
		})
	}
}

// encoded returns the program as bubblewrap reads it: an array of struct
// sock_filter.
func (f sysFilter) encoded() ([]byte, error) {
	var b bytes.Buffer
	err := binary.Write(&b, binary.NativeEndian, f.program())
	return b.Bytes(), err
}
