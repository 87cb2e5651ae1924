package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/internal/protected"
)

// The calls that a broker makes for a process. Each finds the directories that are
// meant (spot), asks whether the command may (may, mayOpen, mayMove), and acts on
// the descriptor that it found, never on a path again. The broker's thread is in
// the mount namespace of this process: what the kernel refuses to those who see a
// mount, such as renaming it, these functions refuse themselves (mounted).
//
// Some things differ from a call that the process makes itself: a terminal never
// becomes its controlling one; below /proc only its own descriptors can be opened
// to write, since the links there mean the process that follows them.

// A spot is a name in a directory.
type spot struct {
	dir  int    // a descriptor for the path alone
	path string // of dir, in the sandbox, without symbolic links
	base string // "." is dir itself
}

func (s spot) close() { unix.Close(s.dir) }

// opened opens the directory in which the name is, whatever is at its path by now.
func (s spot) opened() (*os.Root, error) { return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(s.dir)) }

// below opens the directory that has the name.
func (s spot) below() (*os.Root, error) {
	up, err := s.opened()
	if err != nil {
		return nil, err
	}
	defer up.Close()
	return up.OpenRoot(s.base)
}

// text reads the path at addr in the memory of the process. It is read once: a process
// that changes it afterwards changes nothing.
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

// memory reads at most n bytes of the memory of the process, and makes sure afterwards
// that the process still waits for this answer: its id could belong to another one by now.
func (c *brokered) memory(addr uint64, n int) ([]byte, error) {
	buf := make([]byte, n)
	read, err := unix.ProcessVMReadv(int(c.n.pid), []unix.Iovec{{Base: &buf[0], Len: uint64(n)}},
		[]unix.RemoteIovec{{Base: uintptr(addr), Len: n}}, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) { // the filter of a container forbids the call
		read, err = memoryFile(int(c.n.pid), addr, buf)
	}
	if err != nil {
		return nil, err
	}
	return buf[:read], c.valid()
}

// memoryFile reads memory of a process as a file, up to a page that is not there.
func memoryFile(pid int, addr uint64, buf []byte) (int, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return unix.Pread(fd, buf, int64(addr))
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

// spot finds the directory of an absolute path of the process, as a descriptor. From then
// on links and renames cannot lead elsewhere. The caller closes it.
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
	if err := c.rules.shut(s.path); err != nil {
		return err
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

// mode returns the mode of a new file: mode without the mask of the process, because the
// file is made by the broker.
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

// open opens a file to write, or makes it, and gives the process its descriptor. It
// follows links itself, one by one, because each of them is judged.
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

// openAt opens s, or returns the path to continue with if s is a link.
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
	full, reads := filepath.Join(s.path, s.base), flags&(unix.O_ACCMODE|unix.O_TRUNC) == 0
	if err := c.rules.shut(full); err != nil {
		if reads {
			return nil // it may be opened with O_CREAT, and is there
		}
		return err
	}
	if c.writable != nil && !withinAny(c.writable, full) && !withinAny(c.devices, full) {
		return unix.EACCES
	}
	if kind != unix.S_IFREG || reads {
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
	full := filepath.Join(s.path, s.base)
	if err := c.rules.shut(full); err != nil {
		return err
	}
	if c.writable != nil && !withinAny(c.writable, full) {
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
	onOwnThread(func() {
		if err := deafen(); err == nil {
			c.waitForReader(file, how)
		}
	})
	return errAnswered
}

// waitForReader opens a pipe to write as soon as a process reads from it, in a goroutine,
// so that other calls are answered meanwhile.
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
	defer func() { from.close() }() // it may be another one by then
	if flags&unix.AT_SYMLINK_FOLLOW != 0 {
		if to, err := readlinkOf(from); err == nil { // rare: a link is followed once
			if !strings.HasPrefix(to, "/") {
				to = from.path + "/" + to
			}
			target, err := c.spot(to)
			if err != nil {
				return err
			}
			from.close()
			from = target
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
	name := "/proc/self/fd/" + strconv.Itoa(file)
	return unix.Linkat(unix.AT_FDCWD, name, to.dir, to.base, unix.AT_SYMLINK_FOLLOW)
}

// rename gives a file or directory another name, or two each other's. Both names are
// judged, and for directories also every protected name below them.
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
	root, err := to.opened()
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
	if err == nil && op == opMoveDir && c.keeps != nil && within(c.rules.Workspace, a) {
		if why := c.keeps(a, from.below); why != "" {
			err = &protectedError{name: strings.TrimPrefix(a, c.rules.Workspace+"/"), why: why, kept: true}
		}
	}
	if err != nil || op != opMoveDir || !within(c.rules.Workspace, b) || !protected.Unhides(a, b) {
		return err
	}
	return c.mayMoveTree(from, b)
}

// maxMoved is how many files a directory may have that is moved to where its
// files may be protected.
const maxMoved = 20000

// mayMoveTree returns an error if a file below from would be protected below to. A tree
// that is too large to look at cannot be moved.
func (c *brokered) mayMoveTree(from spot, to string) error {
	root, err := from.below()
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
