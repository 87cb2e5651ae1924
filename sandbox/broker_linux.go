package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/internal/protected"
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

// A broker answers for the calls of the processes with one filter.
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

	// tell is called with a line about a call that was refused.
	tell func(pid int, line string)

	lock int // the directory above the workspace, or -1; see exclusive

	mu    sync.Mutex
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
	if k.lock, err = unix.Open(filepath.Dir(k.rules.Workspace), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		k.lock = -1 // it may be entered and not read
	}
	onOwnThread(func() {
		defer close(k.stopped)
		defer unix.Close(k.lock)
		defer unix.Close(k.listener)
		defer r.Close()
		if err := lessen(); err != nil {
			return // the listener is closed, and calls fail
		}
		k.serve(int(r.Fd()))
	})
	return nil
}

// Close ends the thread. Calls of commands fail from then on.
func (k *broker) Close() error {
	err := k.stop.Close()
	<-k.stopped
	return err
}

// lessen takes from the calling thread the mask of new files, which is that of
// the command, and every capability that would let it write what the command may
// not.
func lessen() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	unix.Umask(0)
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

// ioctl returns 0 if the request succeeded.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// errAnswered is the error of a call that has its answer, or gets it later.
var errAnswered = errors.New("answered")

// answer answers for one call.
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

// report tells about a refusal, unless it has just told the same.
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
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue // the rebase is over
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

// A spot is a name in a directory.
type spot struct {
	dir  int    // a descriptor for the path alone
	path string // of dir, in the sandbox, without symbolic links
	base string // "." is dir itself
}

func (s spot) close() { unix.Close(s.dir) }

// text reads the path at addr in the memory of the process.
func (c *brokered) text(addr uint64) (string, error) {
	buf, err := c.memory(addr, unix.PathMax)
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(buf, 0)
	switch {
	case end < 0:
		return "", unix.ENAMETOOLONG
	case end == 0:
		return "", unix.ENOENT
	}
	return string(buf[:end]), nil
}

// memory reads at most n bytes of the memory of the process.
func (c *brokered) memory(addr uint64, n int) ([]byte, error) {
	buf := make([]byte, n)
	read, err := unix.ProcessVMReadv(int(c.n.pid), []unix.Iovec{{Base: &buf[0], Len: uint64(n)}},
		[]unix.RemoteIovec{{Base: uintptr(addr), Len: n}}, 0)
	if err != nil {
		return nil, err
	}
	return buf[:read], c.valid()
}

// valid returns an error if the process is dead. Then what was learned of it may
// be another process's of the same number.
func (c *brokered) valid() error {
	if ioctl(c.listener, notifyValid, unsafe.Pointer(&c.n.id)) != 0 {
		return unix.ESRCH
	}
	return nil
}

// absolute returns the path text of the process, which may be relative to the
// descriptor dir.
func (c *brokered) absolute(dir uint64, text string) (string, error) {
	if strings.HasPrefix(text, "/") {
		return text, nil
	}
	from := fmt.Sprintf("/proc/%d/cwd", c.n.pid)
	if fd := int32(uint32(dir)); fd != unix.AT_FDCWD {
		from = fmt.Sprintf("/proc/%d/fd/%d", c.n.pid, fd)
	}
	at, err := os.Readlink(from)
	switch {
	case err != nil:
		return "", unix.EBADF
	case !strings.HasPrefix(at, "/"):
		return "", unix.ENOTDIR
	}
	return at + "/" + text, c.valid()
}

// spot finds the directory of an absolute path of the process.
func (c *brokered) spot(path string) (spot, error) {
	trimmed := strings.TrimRight(path, "/")
	i := strings.LastIndexByte(trimmed, '/')
	dir, base := trimmed[:i+1], trimmed[i+1:]
	if base == "" || base == "." || base == ".." {
		dir, base = path, "."
	}
	fd, err := c.find(dir, unix.O_DIRECTORY)
	if err != nil {
		return spot{}, err
	}
	real, err := pathOf(fd)
	if err != nil {
		unix.Close(fd)
		return spot{}, err
	}
	return spot{fd, real, base}, nil
}

// at finds the directory of a path that is in the memory of the process.
func (c *brokered) at(dir, addr uint64) (spot, error) {
	text, err := c.text(addr)
	if err == nil {
		text, err = c.absolute(dir, text)
	}
	if err != nil {
		return spot{}, err
	}
	return c.spot(text)
}

// find opens an absolute path of the process, without rights to the file. The
// kernel keeps it below the root of the process.
func (c *brokered) find(path string, flags uint64) (int, error) {
	for {
		fd, err := unix.Openat2(c.root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags,
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) { // something was renamed meanwhile
			return fd, err
		}
	}
}

// pathOf returns the path of an open file.
func pathOf(fd int) (string, error) { return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)) }

// may returns an error if the command may not do op with s.
func (c *brokered) may(s spot, op nameOp) error {
	if s.base == "." {
		return unix.EBUSY
	}
	if c.writable != nil && !withinAny(c.writable, s.path) {
		return unix.EACCES
	}
	if base := filepath.Base(s.path); base == "rebase-merge" || base == "sequencer" {
		c.mu.Lock()
		c.todos[s.path] = true
		c.mu.Unlock()
	}
	return c.rules.judge(s.path, s.base, op)
}

// mode returns the mode of a new file: mode without the mask of the process.
func (c *brokered) mode(mode uint32) (uint32, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.n.pid))
	if err != nil {
		return 0, unix.EPERM
	}
	_, rest, _ := strings.Cut(string(data), "\nUmask:\t")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(line, 8, 32)
	if err != nil {
		return 0, unix.EPERM
	}
	return mode &^ uint32(mask), nil
}

// hand gives the process a file as the result of its call, and closes it here.
func (c *brokered) hand(fd, flags int) error {
	defer unix.Close(fd)
	f := notifyFile{id: c.n.id, flags: addFileSend, from: uint32(fd), fileFlag: uint32(flags & unix.O_CLOEXEC)}
	if errno := ioctl(c.listener, notifyAddFile, unsafe.Pointer(&f)); errno != 0 {
		return errno
	}
	return errAnswered
}

// maxLinks is how many symbolic links a path may end in, one after the other.
const maxLinks = 40

// open opens a file to write, or makes it.
func (c *brokered) open(dir, addr uint64, flags int, mode uint32) error {
	path, err := c.text(addr)
	if err == nil {
		path, err = c.absolute(dir, path)
	}
	if err != nil {
		return err
	}
	for range maxLinks {
		if fd, ok := ownDescriptor(path); ok {
			return c.reopenOwn(fd, flags)
		}
		s, err := c.spot(path)
		if err != nil {
			return err
		}
		path, err = c.openAt(s, strings.HasSuffix(path, "/"), flags, mode)
		s.close()
		if err != nil {
			return err
		}
	}
	return unix.ELOOP
}

// openAt opens s, or returns the path to go on with.
func (c *brokered) openAt(s spot, slash bool, flags int, mode uint32) (string, error) {
	file, err := unix.Openat(s.dir, s.base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) && flags&unix.O_CREAT != 0 && !slash {
		return s.path + "/" + s.base, c.create(s, flags, mode)
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(file)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return "", err
	}
	kind := st.Mode & unix.S_IFMT
	switch {
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return "", unix.EEXIST
	case kind == unix.S_IFLNK && flags&unix.O_NOFOLLOW != 0:
		return "", unix.ELOOP
	case kind == unix.S_IFLNK:
		to, err := readlinkAt(file)
		if err == nil && !strings.HasPrefix(to, "/") {
			to = s.path + "/" + to
		}
		return to, err
	case flags&tmpFile == tmpFile:
		return "", c.unnamed(s, file, flags, mode)
	case kind == unix.S_IFDIR:
		return "", unix.EISDIR
	case slash:
		return "", unix.ENOTDIR
	}
	if err := c.mayOpen(s, kind, flags); err != nil {
		return "", err
	}
	return "", c.reopen(file, &st, flags)
}

// tmpFile are the bits of O_TMPFILE.
const tmpFile = unix.O_TMPFILE

// mayOpen returns an error if the command may not open the file s, which exists.
func (c *brokered) mayOpen(s spot, kind uint32, flags int) error {
	if full := filepath.Join(s.path, s.base); c.writable != nil && !withinAny(c.writable, full) &&
		!withinAny(c.devices, full) {
		return unix.EACCES
	}
	if kind != unix.S_IFREG || flags&(unix.O_ACCMODE|unix.O_TRUNC) == 0 {
		return nil // no program reads orders from it, or it is only read
	}
	return c.rules.judge(s.path, s.base, opWrite)
}

// create makes the file s and opens it. It returns nil if there is a file of that
// name by now.
func (c *brokered) create(s spot, flags int, mode uint32) error {
	if err := c.may(s, opMakeFile); err != nil {
		return err
	}
	mode, err := c.mode(mode)
	if err != nil {
		return err
	}
	fd, err := unix.Openat(s.dir, s.base, flags|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, mode)
	if errors.Is(err, unix.EEXIST) && flags&unix.O_EXCL == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return c.hand(fd, flags)
}

// unnamed makes a file without a name in the directory dir.
func (c *brokered) unnamed(s spot, dir, flags int, mode uint32) error {
	if c.writable != nil && !withinAny(c.writable, filepath.Join(s.path, s.base)) {
		return unix.EACCES
	}
	mode, err := c.mode(mode)
	if err != nil {
		return err
	}
	fd, err := unix.Openat(dir, ".", flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	return c.hand(fd, flags)
}

// reopen opens a file that was found to write. /dev/tty would be the terminal of
// this process, and a command must not get one as its own by opening it. The
// writer of a pipe waits for a reader, and no other call waits with it.
func (c *brokered) reopen(file int, st *unix.Stat_t, flags int) error {
	if st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(5, 0) {
		return unix.ENXIO
	}
	name := "/proc/self/fd/" + strconv.Itoa(file)
	how := flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW) | unix.O_NOCTTY | unix.O_CLOEXEC
	if st.Mode&unix.S_IFMT != unix.S_IFIFO || flags&(unix.O_ACCMODE|unix.O_NONBLOCK) != unix.O_WRONLY {
		fd, err := unix.Open(name, how, 0)
		if err != nil {
			return err
		}
		return c.hand(fd, flags)
	}
	file, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	go c.waitForReader(file, how)
	return errAnswered
}

// waitForReader opens a pipe to write as soon as a process reads from it.
func (c *brokered) waitForReader(file, how int) {
	defer unix.Close(file)
	for c.valid() == nil {
		fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(file), how|unix.O_NONBLOCK, 0)
		if errors.Is(err, unix.ENXIO) {
			time.Sleep(2 * time.Millisecond) // the kernel tells no one that a reader came
			continue
		}
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, how&^unix.O_CLOEXEC)
		}
		if err == nil {
			err = c.hand(fd, how)
		}
		var errno unix.Errno
		if errors.As(err, &errno) {
			c.send(&notifyReply{id: c.n.id, errno: -int32(errno)})
		}
		return
	}
}

// ownDescriptor returns the descriptor that a path names by /proc or /dev: the
// links there mean the process that follows them.
func ownDescriptor(path string) (int, bool) {
	path = filepath.Clean(path)
	for i, name := range []string{"/dev/stdin", "/dev/stdout", "/dev/stderr"} {
		if path == name {
			return i, true
		}
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"} {
		if rest, ok := strings.CutPrefix(path, dir); ok {
			fd, err := strconv.ParseUint(rest, 10, 31)
			return int(fd), err == nil
		}
	}
	return 0, false
}

// own opens the file of a descriptor of the process, without rights to it.
func (c *brokered) own(fd int) (int, error) {
	file, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", c.n.pid, fd), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		err = c.valid()
	}
	return file, err
}

// reopenOwn opens the file of one of its own descriptors to write.
func (c *brokered) reopenOwn(fd, flags int) error {
	file, err := c.own(fd)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return err
	}
	at, err := pathOf(file)
	if err == nil && strings.HasPrefix(at, "/") {
		err = c.mayOpen(spot{path: filepath.Dir(at), base: filepath.Base(at)}, st.Mode&unix.S_IFMT, flags)
	}
	if err == nil && flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
		err = unix.EEXIST
	}
	if err != nil {
		return err
	}
	return c.reopen(file, &st, flags)
}

// readlinkAt returns the target of an open symbolic link.
func readlinkAt(link int) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(link, "", buf)
	return string(buf[:max(n, 0)]), err
}

func (c *brokered) mkdir(dir, addr uint64, mode uint32) error {
	s, err := c.at(dir, addr)
	if err != nil {
		return err
	}
	defer s.close()
	if unix.Faccessat(s.dir, s.base, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EEXIST
	}
	if err := c.may(s, opMakeDir); err != nil {
		return err
	}
	if mode, err = c.mode(mode); err != nil {
		return err
	}
	return unix.Mkdirat(s.dir, s.base, mode)
}

// mknod makes a pipe, a socket or a file: the filter refuses devices.
func (c *brokered) mknod(dir, addr uint64, mode uint32) error {
	s, err := c.at(dir, addr)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.may(s, opMakeFile); err != nil {
		return err
	}
	if mode, err = c.mode(mode); err != nil {
		return err
	}
	if kind := mode & unix.S_IFMT; kind == unix.S_IFCHR || kind == unix.S_IFBLK {
		return unix.EPERM
	}
	return unix.Mknodat(s.dir, s.base, mode, 0)
}

func (c *brokered) remove(dir, addr uint64, flags int) error {
	s, err := c.at(dir, addr)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.may(s, opRemove); err != nil {
		if no := (*protectedError)(nil); errors.As(err, &no) &&
			unix.Faccessat(s.dir, s.base, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return unix.ENOENT
		}
		if flags&unix.AT_REMOVEDIR != 0 && s.full() {
			return unix.ENOTEMPTY // git tries that, and goes on
		}
		return err
	}
	if err := s.mounted(); err != nil {
		return err
	}
	return unix.Unlinkat(s.dir, s.base, flags)
}

// full reports whether s is a directory with something in it.
func (s spot) full() bool {
	fd, err := unix.Openat(s.dir, s.base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Getdents(fd, make([]byte, 4096))
	return err == nil && n > 64 // more than the entries "." and ".."
}

// mounted returns an error if something is mounted at s. The kernel refuses to
// remove or rename that to the processes that see the mount, and the broker is
// none of these.
func (s spot) mounted() error {
	var st unix.Statx_t
	err := unix.Statx(s.dir, s.base, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0:
		return unix.EBUSY
	}
	return err
}

func (c *brokered) symlink(target, dir, addr uint64) error {
	to, err := c.text(target)
	if err != nil {
		return err
	}
	s, err := c.at(dir, addr)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.may(s, opMakeLink); err != nil {
		return err
	}
	return unix.Symlinkat(to, s.dir, s.base)
}

// link gives a file a second name. A protected file gets none, since the file
// could be written by it.
func (c *brokered) link(dir, addr, newDir, newAddr uint64, flags int) error {
	path, err := c.text(addr)
	if err == nil {
		path, err = c.absolute(dir, path)
	}
	if err != nil {
		return err
	}
	to, err := c.at(newDir, newAddr)
	if err != nil {
		return err
	}
	defer to.close()
	if err := c.may(to, opMakeFile); err != nil {
		return err
	}
	if fd, ok := ownDescriptor(path); ok && flags&unix.AT_SYMLINK_FOLLOW != 0 {
		return c.linkOpen(fd, to)
	}
	from, err := c.spot(path)
	if err != nil {
		return err
	}
	defer from.close()
	if flags&unix.AT_SYMLINK_FOLLOW != 0 {
		if to, err := readlinkOf(from); err == nil { // rare: a link is followed once
			from.close()
			if !strings.HasPrefix(to, "/") {
				to = from.path + "/" + to
			}
			if from, err = c.spot(to); err != nil {
				return err
			}
		}
	}
	if err := c.may(from, opMoveOut); err != nil {
		return err
	}
	return unix.Linkat(from.dir, from.base, to.dir, to.base, 0)
}

func readlinkOf(s spot) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(s.dir, s.base, buf)
	return string(buf[:max(n, 0)]), err
}

// linkOpen gives a name to the file of a descriptor of the process.
func (c *brokered) linkOpen(fd int, to spot) error {
	file, err := c.own(fd)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	if at, err := pathOf(file); err != nil {
		return err
	} else if !strings.HasSuffix(at, " (deleted)") {
		if err := c.may(spot{path: filepath.Dir(at), base: filepath.Base(at)}, opMoveOut); err != nil {
			return err
		}
	}
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file), to.dir, to.base, unix.AT_SYMLINK_FOLLOW)
}

// rename gives a file or directory another name, or two each other's.
func (c *brokered) rename(dir, addr, newDir, newAddr uint64, flags uint) error {
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return unix.EINVAL
	}
	from, err := c.at(dir, addr)
	if err != nil {
		return err
	}
	defer from.close()
	to, err := c.at(newDir, newAddr)
	if err != nil {
		return err
	}
	defer to.close()
	err = c.mayMove(from, to)
	if err == nil && flags&unix.RENAME_EXCHANGE != 0 {
		err = c.mayMove(to, from)
	}
	if errors.Is(err, errOnlyData) || errors.Is(err, errOnlyPaths) {
		return c.renameChecked(from, to, flags, err)
	}
	if err != nil {
		return err
	}
	return unix.Renameat2(from.dir, from.base, to.dir, to.base, flags)
}

// renameChecked gives a configuration or an index of git its name if git may read
// it. Both come from a file beside them.
func (c *brokered) renameChecked(from, to spot, flags uint, only error) error {
	index := errors.Is(only, errOnlyPaths)
	name := strings.TrimPrefix(filepath.Join(to.path, to.base), c.rules.Workspace+"/")
	if from.path != to.path || flags != 0 || !index && from.base != "config.lock" {
		return &protectedError{name: name, why: "git takes orders from it", git: true}
	}
	root, err := os.OpenRoot(to.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if index {
		err = putIndex(root, from.base, to.base)
	} else {
		err = putConfig(root, from.base, errors.Is(only, errOnlyBranches))
	}
	if no := (*protectedError)(nil); errors.As(err, &no) {
		no.name, no.git = name, true
	}
	return err
}

// mayMove returns an error if the command may not give from the name to.
func (c *brokered) mayMove(from, to spot) error {
	var st unix.Stat_t
	if err := unix.Fstatat(from.dir, from.base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	op := opMoveIn
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		op = opMoveDir
	case unix.S_IFLNK:
		op = opMakeLink
	}
	err := c.may(from, opMoveOut)
	if err == nil {
		err = c.may(to, op)
	}
	if err == nil {
		err = from.mounted()
	}
	if err == nil {
		err = to.mounted()
	}
	a, b := filepath.Join(from.path, from.base), filepath.Join(to.path, to.base)
	if err != nil || op != opMoveDir || !within(c.rules.Workspace, b) || !protected.Unhides(a, b) {
		return err
	}
	return c.mayMoveTree(a, b)
}

// maxMoved is how many files a directory may have that is moved to where its
// files may be protected.
const maxMoved = 20000

// mayMoveTree returns an error if a file below from would be protected below to.
func (c *brokered) mayMoveTree(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	count := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if count++; err != nil || count > maxMoved {
			return unix.EACCES
		}
		if rel, ok := strings.CutPrefix(filepath.Join(to, name), c.rules.Workspace+"/"); ok {
			if rule, _ := protected.Find(rel); rule.Protected && rule.Class != protected.Git {
				return &protectedError{name: rel, why: rule.Reason}
			}
		}
		return nil
	})
	return err
}

// truncate cuts a file by its path.
func (c *brokered) truncate(dir, addr uint64, size int64) error {
	path, err := c.text(addr)
	if err == nil {
		path, err = c.absolute(dir, path)
	}
	if err != nil {
		return err
	}
	file, err := c.find(path, 0)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	at, err := pathOf(file)
	if err == nil {
		err = c.mayOpen(spot{path: filepath.Dir(at), base: filepath.Base(at)}, unix.S_IFREG, unix.O_WRONLY)
	}
	if err != nil {
		return err
	}
	return unix.Truncate("/proc/self/fd/"+strconv.Itoa(file), size)
}
