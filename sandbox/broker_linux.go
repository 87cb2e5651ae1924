package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// No mount and no rule of Landlock keeps a name from being made. So a filter of
// system calls has the kernel ask a broker about each call by which a command
// makes, opens to write, renames or removes a file (SECCOMP_RET_USER_NOTIF). The
// broker finds the directory that the call means, decides by the nameRules, and
// makes the call itself; it hands the file that it opened to the command. It
// never lets such a call go on: the command could change the path between the
// decision and the call.
//
// The broker runs where commands cannot reach it: in this process if the sandbox
// is of bubblewrap, in the supervisor with Landlock. It finds files by the root
// directory of the process that calls, so mounts of the sandbox hold for it too,
// and it has no capability but that to look at processes. One thread makes all
// calls, one after the other, so what it decided on is still so when it acts.

// A broker answers for the calls of the processes with one filter. The caller sets
// the fields up to tell, calls start, and in the end Close. trusted and tell are
// called from the broker's thread, one call at a time; settle and Close may be
// called from any goroutine.
type broker struct {
	listener int // where the kernel asks
	stop     *os.File
	stopped  chan struct{}
	rules    *nameRules

	// writable are the directories in which files may be written, and devices
	// the files besides; nil if mounts decide.
	writable, devices []string

	// trusted reports whether a process is part of the sandbox, not of a
	// command: its calls go on. nil: none is.
	trusted func(pid int) bool

	// tell is called with a line about a call of pid that was refused: at most
	// once in five seconds for each line, and with a hundred lines before settle.
	tell func(pid int, line string)

	// alone says that the process serves one command, and has no mask of new files any more.
	alone bool

	// keeps returns why a directory with a path keeps its name and its place, as a phrase, or
	// "": something in it is hidden from commands by its path. open opens it. nil: none does.
	keeps func(path string, open func() (*os.Root, error)) string

	lock int // the directory above the workspace, or -1; see exclusive

	mu    sync.Mutex
	ports []int                // that are open: see local_linux.go
	told  map[string]time.Time // when a line was told last
	todos map[string]bool      // directories with lists of git's commands that were written
}

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

// A notifyFile is struct seccomp_notif_addfd of linux/seccomp.h: a descriptor
// that the process gets, as the result of the call.
type notifyFile struct {
	id           uint64
	flags        uint32
	from         uint32
	as, fileFlag uint32
}

// The requests SECCOMP_IOCTL_NOTIF_RECV, _SEND, _ID_VALID and _ADDFD of ioctl,
// and flags that package unix does not have.
const (
	notifyReceive  = 0xc0502100
	notifySend     = 0xc0182101
	notifyValid    = 0x40082102
	notifyAddFile  = 0x40182103
	notifyContinue = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	addFileSend    = 2 // SECCOMP_ADDFD_FLAG_SEND
)

// start starts the thread that answers. The fields other than mu, told, stop and
// stopped are set.
func (k *broker) start() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	k.stop, k.stopped = w, make(chan struct{})
	k.told, k.todos = make(map[string]time.Time), make(map[string]bool)
	above := filepath.Dir(k.rules.Workspace)
	if k.lock, err = unix.Open(above, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		k.lock = -1 // it may be entered and not read
	}
	ready := make(chan error, 1)
	onOwnThread(func() {
		defer close(k.stopped)
		defer unix.Close(k.lock)
		defer unix.Close(k.listener)
		defer r.Close()
		err := errors.Join(k.ownMask(), lessen(), deafen())
		if ready <- err; err == nil {
			k.serve(int(r.Fd()))
		}
	})
	if err := <-ready; err != nil {
		return errors.Join(fmt.Errorf("the broker of the sandbox cannot begin: %w", err), k.Close())
	}
	return nil
}

// Close ends the thread that answers the system calls of commands, and waits for it. Calls
// of commands fail from then on.
func (k *broker) Close() error {
	err := k.stop.Close()
	<-k.stopped
	return err
}

// ownMask takes from the calling thread the mask of new files, which is that of the command.
// The system call filter of a container may forbid it.
func (k *broker) ownMask() error {
	if k.alone {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("a thread with a mask of its own: %w", err)
	}
	unix.Umask(0)
	return nil
}

// lessen takes from the calling thread every capability that would let it write what the
// command may not.
func lessen() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	const keep = 1 << unix.CAP_SYS_PTRACE
	data[0] = unix.CapUserData{Effective: data[0].Permitted & keep, Permitted: data[0].Permitted & keep}
	data[1] = unix.CapUserData{}
	return unix.Capset(&header, &data[0])
}

// onOwnThread runs f on a thread that ends with it. That is not the first thread
// of the process: other processes see its attributes as those of the process,
// and the kernel judges signals to the process by it.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, unless it is unlocked
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		other := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(other)
			f()
		}()
		<-other
		runtime.UnlockOSThread()
	}()
}

// serve answers until stop is closed at its other end, or no process with the
// filter is left.
func (k *broker) serve(stop int) {
	fds := []unix.PollFd{{Fd: int32(k.listener), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || fds[1].Revents != 0 || fds[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notification
		if ioctl(k.listener, notifyReceive, unsafe.Pointer(&n)) == 0 { // else the process is dead
			k.answer(&n)
		}
	}
}

// ioctl returns 0 if the request succeeded. The thread has no signals: see deafen.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// deafen keeps signals from the calling thread, such as those by which Go's scheduler
// stops threads. A signal would interrupt an answer, and the process would never get
// it. An interrupted ADDFD is worse: it makes the call of the process return 0, as if
// it had opened its standard input, since the kernel counts the call as answered before
// the descriptor is there.
func deafen() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	return unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil)
}

// errAnswered is the error of a call that has its answer, or gets it later.
var errAnswered = errors.New("answered")

// answer answers one system call of a command: it carries the call out, lets the kernel do
// so, or refuses it. Calls of the sandbox's own programs go on unchanged.
func (k *broker) answer(n *notification) {
	if k.trusted != nil && k.trusted(int(n.pid)) {
		k.send(&notifyReply{id: n.id, flags: notifyContinue})
		return
	}
	err := k.handle(n)
	if errors.Is(err, errAnswered) {
		return
	}
	var no *protectedError
	if errors.As(err, &no) {
		k.report(int(n.pid), no.Error())
	}
	reply := notifyReply{id: n.id}
	var errno unix.Errno
	if errors.As(err, &errno) {
		reply.errno = -int32(errno)
	} else if err != nil {
		reply.errno = -int32(unix.EPERM)
	}
	k.send(&reply)
}

// send sends the answer; the process may be dead by now.
func (k *broker) send(r *notifyReply) { ioctl(k.listener, notifySend, unsafe.Pointer(r)) }

// report passes on a refusal, at most once in five seconds for the same one, and not
// without bound.
func (k *broker) report(pid int, line string) {
	if k.tell == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if last, ok := k.told[line]; ok && now.Sub(last) < 5*time.Second || len(k.told) > 100 {
		return
	}
	k.told[line] = now
	k.tell(pid, line)
}

// settle takes from the lists of rebases that a command began, and left, what is
// no step of git's own: "git rebase --continue" would run it. It is called when
// the command has ended, and only a person who continues such a rebase before
// would meet what it takes.
func (k *broker) settle() error {
	k.mu.Lock()
	dirs := sorted(k.todos)
	clear(k.todos)
	clear(k.told) // the next command is told again
	k.mu.Unlock()
	var errs []error
	for _, dir := range dirs {
		root, err := regular.OpenDir(dir)
		if err != nil {
			continue // the rebase is over, or somebody has put a link there
		}
		for _, name := range []string{"git-rebase-todo", "git-rebase-todo.backup", "todo"} {
			errs = append(errs, plainSteps(root, name))
		}
		root.Close()
	}
	return errors.Join(errs...)
}

// A brokered is a call that the broker makes for a process.
type brokered struct {
	*broker
	n    *notification
	root int // the root directory of the process
}

// exclusive keeps the brokers of other commands and sessions from acting on the
// workspace until the function that it returns is called: what one decides on,
// another must not change meanwhile. The lock is on the directory above the
// workspace, which commands cannot open. A session whose workspace that is could
// hold the lock, so this does not wait for ever.
func (k *broker) exclusive() (func(), error) {
	for range 1000 {
		err := unix.Flock(k.lock, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) { // without a lock there is one broker, most likely
			return func() { _ = unix.Flock(k.lock, unix.LOCK_UN) }, nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil, unix.EAGAIN
}

// handle makes the call. Its error is the result of the call: an errno, or what
// wraps one.
func (k *broker) handle(n *notification) error {
	if err := (&brokered{k, n, -1}).network(); !errors.Is(err, unix.ENOSYS) {
		return err
	}
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", n.pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.EPERM
	}
	defer unix.Close(root)
	free, err := k.exclusive()
	if err != nil {
		return err
	}
	defer free()
	c := &brokered{k, n, root}
	a, here := n.args, uint64(uint32(0xffffff9c)) // AT_FDCWD
	switch uintptr(uint32(n.nr)) {
	case unix.SYS_OPENAT:
		return c.open(a[0], a[1], int(uint32(a[2])), uint32(a[3]))
	case unix.SYS_MKDIRAT:
		return c.mkdir(a[0], a[1], uint32(a[2]))
	case unix.SYS_MKNODAT:
		return c.mknod(a[0], a[1], uint32(a[2]))
	case unix.SYS_UNLINKAT:
		return c.remove(a[0], a[1], int(uint32(a[2])))
	case unix.SYS_SYMLINKAT:
		return c.symlink(a[0], a[1], a[2])
	case unix.SYS_LINKAT:
		return c.link(a[0], a[1], a[2], a[3], int(uint32(a[4])))
	case unix.SYS_RENAMEAT:
		return c.rename(a[0], a[1], a[2], a[3], 0)
	case unix.SYS_RENAMEAT2:
		return c.rename(a[0], a[1], a[2], a[3], uint(uint32(a[4])))
	case unix.SYS_TRUNCATE:
		return c.truncate(here, a[0], int64(a[1]))
	}
	if err := c.legacy(here); !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return c.metadata()
}
