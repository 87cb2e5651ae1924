package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/workspace"
)

// A bubblewrap is a sandbox of namespaces, which the program bwrap makes anew
// for each command. A command starts in four steps:
//
//  1. This process starts bwrap in the cgroup of the sandbox. bwrap makes the
//     namespaces, mounts the file system and sets the filter of system calls.
//  2. bwrap writes the process id of the first process of the sandbox to a pipe,
//     and that process waits.
//  3. This process opens a descriptor of it, which no later process of the same
//     number can take, and sets its limits.
//  4. It writes to the pipe that the first process waits for, which then runs
//     the command.
//
// The first process of a PID namespace takes everything in it along when it
// dies, so that descriptor is all that is needed to end a command for certain.
type bubblewrap struct {
	*base
	program string   // the path of bwrap
	args    []string // of bwrap, the same for every command; set by ready
	filter  []byte   // of system calls, as bwrap reads it; set by ready

	ready func() error // makes args, the filter and what is mounted; the first call does the work

	names    *broker      // nil: this kernel has no way to ask
	starting atomic.Int32 // commands that are being started
	thread   int          // that starts them
}

// insideID is the user and group that root's commands have inside. Programs that
// believe to be root try what only root can do.
const insideID = 1000

// insideHome is the home directory of commands.
const insideHome = "/home/agent"

// newBubblewrap makes the sandbox, and runs a command in it unless it is known
// that bubblewrap works on this machine.
func newBubblewrap(ctx context.Context, o Options) (workspace.Cage, error) {
	program, err := o.outside().Look("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	h, err := newBase(o)
	if err != nil {
		return nil, err
	}
	h.view.home = insideHome
	if within(insideHome, realOr(os.Getenv("HOME"))) {
		h.view.home += "-inside" // the person's is of that name, and toolchains in it are shown
	}
	b := &bubblewrap{base: h, program: program}
	if err := b.makeLimits(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := errors.Join(b.makeBroker(), b.build(ctx)); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close implements [workspace.Cage].
func (b *bubblewrap) Close() error {
	err := b.base.Close() // and so ends the thread that has the filter
	if b.names != nil {
		err = errors.Join(err, b.names.Close())
	}
	return err
}

// makeBroker sets the filter that has the kernel ask about names, for bwrap and
// so for all commands, on the thread that starts them. On kernels before Linux
// 5.19, and with a bwrap that has the set-user-ID bit, which would lose it, there
// is none, and the guard undoes what it can.
func (b *bubblewrap) makeBroker() error {
	if info, err := os.Stat(b.program); err != nil || info.Mode()&fs.ModeSetuid != 0 {
		return err
	}
	rules := b.guard.rules()
	k := &broker{rules: &rules, trusted: b.isOurs, tell: b.tell, keeps: b.keeps}
	err := b.limits.starter.do(func() (err error) {
		b.thread = unix.Gettid()
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			k.listener, err = install(namesProgram(), true)
		}
		return err
	})
	if errors.Is(err, unix.EINVAL) {
		b.o.Warn("this kernel is older than Linux 5.19, so what commands do to protected files is undone and not " +
			"prevented")
		return nil
	}
	if err == nil {
		err = k.start()
	}
	if err == nil {
		b.names, b.prevents = k, true
	}
	return err
}

// isOurs reports whether a process with the filter runs nothing of a command: the
// thread that starts commands, bwrap, or bwrap's first process in the sandbox.
// bwrap makes files before the command is there. Nothing of a command can become
// a child of this process or of bwrap.
func (b *bubblewrap) isOurs(pid int) bool {
	if pid == b.thread {
		return true
	}
	for _, w := range b.running() {
		if p, ok := w.(*process); ok && (pid == p.cmd.Process.Pid || pid == p.root && p.alive()) {
			return true
		}
	}
	if b.starting.Load() == 0 {
		return false
	}
	parent, ok := parentOf(pid)
	if ok && parent != os.Getpid() {
		parent, ok = parentOf(parent)
	}
	return ok && parent == os.Getpid()
}

// tell writes a line to the error output of the command that a process is part
// of.
func (b *bubblewrap) tell(pid int, line string) {
	roots := make(map[int]*process)
	for _, w := range b.running() {
		if p, ok := w.(*process); ok {
			roots[p.root] = p
		}
	}
	for ok := true; ok && pid > 1; pid, ok = parentOf(pid) {
		if p := roots[pid]; p != nil {
			p.tell(line)
			return
		}
	}
}

// build prepares the sandbox. If the probe cache says that bubblewrap works
// here, the rest is made when the first command starts: until then nothing slow
// happens. Otherwise a command is run now.
func (b *bubblewrap) build(ctx context.Context) error {
	if b.view.uid == 0 {
		b.view.uid, b.view.gid = insideID, insideID
	}
	tmp := "/tmp"
	if b.o.ReadOnly && within(b.view.ws, tmp) {
		tmp = b.view.home // the workspace is mounted there
	}
	b.env = append(b.env, b.ownDirs(b.view.home, tmp)...)
	b.hostPaths = map[string]string{"/tmp": b.private.path("tmp"), "/var/tmp": b.private.path("tmp"),
		b.view.home: b.private.path("home")}
	b.ready = sync.OnceValue(b.finish)
	if b.probeCache().hit() {
		return nil
	}
	if err := b.ready(); err != nil {
		return err
	}
	if err := b.probe(ctx); err != nil {
		return err
	}
	b.probeCache().store()
	return nil
}

// probeCache returns the memory of the last probe.
func (b *bubblewrap) probeCache() probeCache {
	return probeCache{file: b.o.ProbeCache, program: b.program}
}

// finish makes what commands need. It is called once, by ready.
func (b *bubblewrap) finish() error {
	if err := errors.Join(b.fillPrivate(), b.copyResolver(), b.view.tools.write(b.private.path("home"))); err != nil {
		return err
	}
	var err error
	if b.filter, err = (sysFilter{inet: true, unix: true, ipc: true}).encoded(); err == nil {
		b.args, err = b.arguments()
	}
	return err
}

// resolverFiles are what says how this machine resolves names.
var resolverFiles = []string{"/etc/resolv.conf", "/etc/hosts"}

// copyResolver lets commands with the network of this machine resolve names as
// this machine does. If not all commands have it, there are places to mount the
// files for those that do: see argsFor.
func (b *bubblewrap) copyResolver() error {
	var errs []error
	for _, name := range resolverFiles {
		data, err := os.ReadFile(name)
		if b.o.Network != AllNetwork {
			if _, there := os.Lstat(b.private.path(name)); there == nil {
				continue
			}
			data = nil
		}
		if err == nil {
			errs = append(errs, os.WriteFile(b.private.path(name), data, 0o644))
		}
	}
	return errors.Join(errs...)
}

// argsFor returns the arguments of bwrap for a command, but for what may change from
// command to command.
func (b *bubblewrap) argsFor(c *workspace.Spawn) []string {
	if !c.Networked || b.o.Network == AllNetwork {
		return b.args
	}
	args := slices.DeleteFunc(slices.Clone(b.args), func(a string) bool { return a == unshareNet })
	for _, name := range resolverFiles {
		if _, err := os.Lstat(b.private.path(name)); err == nil {
			args = append(args, "--ro-bind-try", name, name)
		}
	}
	return args
}

// unshareNet has bwrap make a network namespace.
const unshareNet = "--unshare-net"

// Name implements [workspace.Cage].
func (b *bubblewrap) Name() string { return string(Bubblewrap) }

// arguments returns the arguments of bwrap that are the same for every command,
// and makes what they mount. Each command adds the protected files that exist
// when it starts, and its working directory.
//
// The network namespace is left out only if commands may use the network of this
// machine. Users and groups are mapped so that the workspace belongs to the user
// inside. The descriptors 3 to 5 are those of the type ends.
func (b *bubblewrap) arguments() ([]string, error) {
	program, err := b.ownProgram(b.o.Network == Hosts)
	if err != nil {
		return nil, err
	}
	list := b.view.mounts(b.private, b.o.Network, program,
		slices.DeleteFunc(slices.Clone(etcMounts), func(dir string) bool {
			return workspace.IsDir(dir) != nil
		}))
	root := b.private.path("root")
	if err := b.makeRoot(root, list); err != nil {
		return nil, err
	}
	args := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "openmanus",
		"--uid", strconv.Itoa(b.view.uid), "--gid", strconv.Itoa(b.view.gid),
		"--seccomp", "3", "--info-fd", "4", "--block-fd", "5",
	}
	if b.o.Network != AllNetwork {
		args = append(args, unshareNet)
	}
	return append(args, bwrapArgs(list)...), nil
}

// makeRoot makes the root, which commands see read-only: the mount points of the
// list, and links as this machine has them.
func (b *bubblewrap) makeRoot(root string, list []mount) error {
	for link, target := range b.view.links {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir(filepath.Join(root, "run"), 0o755), b.mkMountPoints(root, list), b.linkAlso(root))
}

// linkAlso makes the other path of the workspace a link to it, unless something is there.
func (b *bubblewrap) linkAlso(root string) error {
	also := b.o.also
	if also == "" || within(b.view.ws, also) || within(also, b.view.ws) || b.view.covers(also) {
		return nil
	}
	at := b.private.locate(b.view, also)
	if at == "" {
		at = filepath.Join(root, also)
	}
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(b.view.ws, at))
}

// Start implements [workspace.Cage]. If bwrap fails where it once worked, the
// probe cache is dropped, so that the next Open reports the reason.
func (b *bubblewrap) Start(c *workspace.Spawn) (workspace.Process, error) {
	if err := b.ready(); err != nil {
		return nil, fmt.Errorf("cannot make the sandbox: %w", err)
	}
	env, err := b.prepare(c)
	if err != nil {
		return nil, err
	}
	denied, err := b.guard.denied(b.private, b.o.Deny)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], err)
	}
	x := c.Cmd(b.program)
	ends, err := b.ends(x, slices.Concat(b.argsFor(c), bwrapArgs(readOnlyAt(b.guard.mountPoints())), bwrapArgs(denied),
		[]string{"--chdir", c.Dir}))
	if err != nil {
		return nil, err
	}
	x.Env, x.Dir = env, "/"
	x.Args = slices.Concat([]string{"bwrap", "--args", "6", "--"}, b.wrapped(c))
	b.starting.Add(1)
	defer b.starting.Add(-1)
	p, err := startProcess(b.limits.starter, x)
	closeAll(ends.theirs)
	var unregister func() error
	if err == nil {
		if unregister, err = b.unblock(p, ends); err != nil {
			b.probeCache().drop()
		}
	}
	ends.close()
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], err)
	}
	if b.Opens() {
		p.opens = func(ports []int) (func(), error) { return b.forward(p, ports) }
	}
	p.after = func() error {
		if b.names == nil {
			return unregister()
		}
		return errors.Join(unregister(), b.names.settle())
	}
	return p, nil
}

// The ends are this process's ends of the pipes to bwrap, beside those of the
// command: descriptors 3 to 6 of bwrap are the filter, where it writes the
// process id of the sandbox, what the sandbox reads from before the command
// starts, and its options: commands can read the arguments of bwrap, and must not
// learn from them what there is outside.
type ends struct {
	theirs []*os.File
	info   *os.File
	block  *os.File
}

func (e *ends) close() { closeAll([]*os.File{e.info, e.block}) }

// ends makes the pipes and the list of options, and gives bwrap's ends to x. The caller closes both
// sides.
func (b *bubblewrap) ends(x *exec.Cmd, options []string) (_ *ends, err error) {
	var made []*os.File
	defer func() {
		if err != nil {
			closeAll(made)
		}
	}()
	filter, err := inMemory("filter", b.filter)
	if err != nil {
		return nil, err
	}
	made = append(made, filter)
	args, err := inMemory("options", []byte(strings.Join(options, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	made = append(made, args)
	infoR, infoW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	made = append(made, infoR, infoW)
	blockR, blockW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	x.ExtraFiles = []*os.File{filter, infoW, blockR, args}
	return &ends{theirs: x.ExtraFiles, info: infoR, block: blockW}, nil
}

// inMemory returns a file of that content, which has no name and which nobody can change.
func inMemory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.WriteAt(content, 0); err == nil { // the reader begins at the beginning
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ownProgram returns the path of this program, which runs in the sandbox as well. A
// command could put something else in its place if it is in the workspace: then it is
// refused if it is needed.
func (b *base) ownProgram(needed bool) (string, error) {
	program, err := os.Executable()
	if err != nil || !needed {
		return program, err
	}
	if in := hostexec.Outside(b.view.ws).Within(program); in != "" && !b.o.ReadOnly {
		return "", fmt.Errorf("this program, %s, is in the workspace %s, where commands could exchange it: start one "+
			"that is elsewhere", program, in)
	}
	return program, nil
}

// unblock learns the first process of the sandbox, sets its limits, registers the command
// and lets it start. The command runs nothing before its limits hold.
func (b *bubblewrap) unblock(p *process, e *ends) (unregister func() error, err error) {
	var info struct {
		Child int `json:"child-pid"`
	}
	err = json.NewDecoder(e.info).Decode(&info)
	if err != nil || info.Child <= 0 {
		p.discard()
		return nil, fmt.Errorf("%w (%v)", errNotMade, err)
	}
	if err = p.setRoot(info.Child); err == nil {
		err = b.limits.apply(info.Child)
	}
	if err == nil {
		err = b.checkShown(p, info.Child)
	}
	if err == nil {
		unregister = b.register(p) // the broker tells commands that are registered what it refuses
		_, err = e.block.Write([]byte{1})
	}
	if err != nil {
		p.discard()
	}
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPIPE) {
		err = errNotMade
	}
	if err != nil && unregister != nil {
		err = errors.Join(err, unregister())
	}
	return unregister, err
}

// errNotMade is the error of a command whose sandbox bwrap began to make, and
// could not.
var errNotMade = errors.New("bubblewrap could not make the sandbox: the error output of the command has the " +
	"reason")

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// probe runs a command, to find out whether bubblewrap works here: a kernel or a
// container may forbid it namespaces.
func (b *bubblewrap) probe(ctx context.Context) error {
	var said bytes.Buffer
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p, err := b.Start(&workspace.Spawn{Args: []string{"true"}, Dir: b.view.ws, Stderr: w})
	w.Close()
	if err == nil {
		stop := context.AfterFunc(ctx, p.Stop)
		p.Wait()
		stop()
		err = errors.Join(p.Kill(), p.Status())
	}
	_, _ = said.ReadFrom(r) // whatever it is, it is part of the error below
	r.Close()
	if err != nil {
		return fmt.Errorf("%w: bwrap does not work on this machine: %s", ErrNone,
			strings.TrimSpace(said.String()+" ("+err.Error()+")"))
	}
	return nil
}

// sorted returns the keys of m in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
