package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// leastABI is the version of Landlock that is needed: that of Linux 6.12, the
// first which keeps commands from sending signals outside.
const leastABI = 6

// A landlock is a sandbox without namespaces. For each command this process
// starts a supervisor, which is this program again (see [Main]), sets its
// limits, and sends it what to run. The supervisor restricts one of its threads,
// starts the command from that thread, and at the end kills everything that the
// command started.
//
// What has no namespace of its own is refused instead. /proc is not readable but
// for a few files about the machine, so commands see no other process; the
// scopes of Landlock keep signals and abstract sockets inside; the filter of
// system calls allows no sockets of the internet unless commands may use the
// network; System V IPC and POSIX queues are refused. Without a network
// namespace commands cannot even connect to themselves.
type landlock struct {
	*base
	rules landlockRules
}

// landlockRules say what a command may do. The supervisor reads them as JSON.
type landlockRules struct {
	Read   []string  // directories and files that may be read
	Write  []string  // directories that may be written
	Device []string  // files that may be written
	Net    bool      // may have sockets of the internet
	Inode  [2]uint64 // the device and inode of the workspace
	Names  nameRules
}

// A supervisedCommand is what the supervisor is to run: this process writes it
// as JSON to descriptor 3 of the supervisor, after its limits have been set.
type supervisedCommand struct {
	landlockRules
	Args []string
	Path string // of the program
}

// newLandlock makes the sandbox. Landlock rules on what is there, so it can
// neither hide a part of the workspace nor give commands a network of their own;
// such options are refused.
func newLandlock(_ context.Context, o Options) (workspace.Cage, error) {
	if abi := landlockABI(); abi < leastABI {
		return nil, fmt.Errorf("%w: this kernel has version %d of Landlock, and %d is needed (Linux 6.12, with "+
			"landlock among its security modules)", ErrNone, abi, leastABI)
	}
	if o.Network == Hosts {
		return nil, fmt.Errorf(`%w: the network "hosts" needs namespaces, which Landlock does not make: `+
			"install bubblewrap", ErrNone)
	}
	h, err := newBase(o)
	if err != nil {
		return nil, err
	}
	l := &landlock{base: h}
	if err := errors.Join(l.makeLimits(), l.build()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// build decides what commands may read and write. They find private directories
// under their real paths, by TMPDIR and HOME.
func (l *landlock) build() error {
	if l.o.Deny != nil {
		return fmt.Errorf("%w: rules deny paths, and Landlock cannot hide them from commands: install bubblewrap",
			ErrNone)
	}
	if len(l.view.hide) > 0 {
		return fmt.Errorf("%w: %s is in the workspace, and Landlock cannot hide it: choose another workspace, or "+
			"install bubblewrap", ErrNone, l.view.hide[0])
	}
	l.view.home = l.private.path("home")
	if err := os.WriteFile(l.private.path("home", ".gitconfig"), []byte(gitConfig()), 0o644); err != nil {
		return err
	}
	if err := l.view.tools.write(l.view.home); err != nil {
		return err
	}
	own := []string{l.private.path("tmp"), l.view.home}
	l.env = append(append(l.env, l.ownDirs(l.view.home, l.private.path("tmp"))...), "GIT_CONFIG_NOSYSTEM=1")
	l.rules = landlockRules{
		Read:   append(l.view.read, etcFiles()...),
		Write:  append([]string{l.view.ws}, own...),
		Device: []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
		Net:    l.o.Network == AllNetwork,
		Names:  l.guard.rules(),
	}
	if st, ok := l.o.root.Sys().(*syscall.Stat_t); ok {
		l.rules.Inode = [2]uint64{uint64(st.Dev), st.Ino}
	}
	if l.o.ReadOnly {
		l.rules.Read, l.rules.Write, l.rules.Names.Free = append(l.rules.Read, l.view.ws), own, own
	}
	l.prevents = true
	for _, name := range []string{"cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems",
		"sys"} {
		l.rules.Read = append(l.rules.Read, "/proc/"+name)
	}
	l.rules.Read = append(l.rules.Read, "/sys/devices/system/cpu")
	if l.rules.Net {
		l.rules.Read = append(l.rules.Read, resolverFiles...)
	}
	l.hostPaths = map[string]string{l.private.path("tmp"): l.private.path("tmp"), l.view.home: l.view.home}
	return nil
}

// etcFiles returns what may be read in /etc: what other sandboxes have copies
// of, and the accounts, which cannot be replaced here.
func etcFiles() []string {
	var found []string
	for _, pattern := range append([]string{"passwd", "group", "nsswitch.conf", "hosts", "shells"},
		etcNames...) {
		names, _ := filepath.Glob("/etc/" + pattern) // the patterns are right
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o004 != 0 {
				found = append(found, name)
			}
		}
	}
	return append(found, etcMounts...)
}

// Name implements [workspace.Cage].
func (l *landlock) Name() string { return string(Landlock) }

// Start implements [workspace.Cage]. The command is sent only when the limits of
// the supervisor hold, which the command inherits.
func (l *landlock) Start(c *workspace.Spawn) (workspace.Process, error) {
	env, err := l.prepare(c)
	if err != nil {
		return nil, err
	}
	path := c.Args[0]
	if !strings.Contains(path, "/") {
		if path, err = workspace.LookPath(path, env); err != nil {
			return nil, err
		}
	}
	rules := l.rules
	if c.Networked {
		rules.Net, rules.Read = true, slices.Concat(rules.Read, resolverFiles)
	}
	spec, err := json.Marshal(supervisedCommand{rules, c.Args, path})
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	w, r := os.NewFile(uintptr(pair[0]), "supervisor"), os.NewFile(uintptr(pair[1]), "supervisor")
	x := c.Cmd("/proc/self/exe") // this very program, whatever is at its path by now
	x.Args, x.Env, x.Dir = []string{supervisorName}, env, c.Dir
	x.ExtraFiles = []*os.File{r}
	p, err := startProcess(l.limits.starter, x)
	r.Close()
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], err)
	}
	p.supervised = true
	if err = p.setRoot(x.Process.Pid); err == nil {
		err = l.limits.apply(x.Process.Pid)
	}
	if err == nil {
		_, err = w.Write(spec)
	}
	if err != nil {
		w.Close()
		p.discard()
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], err)
	}
	if l.Opens() && !rules.Net {
		p.opens = (&portList{to: w, count: make(map[int]int)}).forward
	}
	unregister := l.register(p)
	p.after = func() error { return errors.Join(unregister(), w.Close()) }
	return p, nil
}

// landlockABI returns the version of Landlock that this kernel has, or 0.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// What Landlock can rule on, as bits: reading, everything with a file,
// everything with what is below a directory, and all that the sandbox handles. A
// right that is handled and not given is refused.
const (
	lockRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_EXECUTE
	lockFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	lockWrite = lockRead | lockFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	lockAll = lockWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// restrict restricts the calling thread and everything that it starts. That
// cannot be undone. It returns the descriptor at which the kernel asks about
// calls that change the metadata of files; see notify_linux.go.
//
// All rights that version 6 knows are handled, so whatever no rule gives is
// refused. Device files can be written but not made, and ioctl on devices is
// never allowed. Without a right to a network port, TCP cannot be bound or
// connected, in case the filter of system calls lets a socket through.
func (c landlockRules) restrict() (int, error) {
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: lockAll,
		Scoped:            unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL,
	}
	if !c.Net {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	const size = 24 // of the attributes that version 6 has
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, rule := range []struct {
		names  []string
		access uint64
	}{{c.Read, lockRead}, {c.Write, lockWrite}, {c.Device,
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE}} {
		for _, name := range rule.names {
			inode := [2]uint64{} // any
			if name == c.Names.Workspace {
				inode = c.Inode
			}
			if err := allowPath(int(fd), name, rule.access, inode); err != nil {
				return -1, fmt.Errorf("landlock: %s: %w", name, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return -1, fmt.Errorf("landlock: %w", errno)
	}
	if err := dropCapabilities(); err != nil {
		return -1, err
	}
	return install(sysFilter{inet: c.Net, local: !c.Net, names: true, metadata: true}.program(), true)
}

// allowPath adds a rule for name and everything below it. A name that does not
// exist needs no rule. It must be the given device and inode, unless these are 0.
func allowPath(ruleset int, name string, access uint64, inode [2]uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // there is nothing to allow
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if inode != [2]uint64{} && inode != [2]uint64{uint64(st.Dev), st.Ino} {
		return &workspace.ReplacedError{Path: name}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= lockFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// dropCapabilities takes every capability from the calling thread, and the right
// to get them back from root's programs.
func dropCapabilities() error {
	for c := 0; c <= 63; c++ {
		if unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) != nil {
			break // there are no more, or this thread may drop none
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// install sets a filter for the calling thread and everything that it starts. If
// asks is true it returns the descriptor at which the kernel asks, else -1. The
// thread must have no_new_privs set. A process that waits for an answer can only
// be killed (since Linux 5.19): a signal would have it make the call twice.
func install(program []unix.SockFilter, asks bool) (int, error) {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	flags := uintptr(0)
	if asks {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | waitKillable
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	if !asks {
		return -1, nil
	}
	return int(fd), nil
}

// waitKillable is SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV of linux/seccomp.h.
const waitKillable = 1 << 5
