package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// watchTime is how often the commands of a sandbox are checked. A command can
// use too much for that long before it is stopped.
const watchTime = 100 * time.Millisecond

// A base is what every kind of sandbox on this machine has: a private directory,
// the view of the file system, limits, the guard of protected files, and a loop
// that checks running commands.
//
// The fields are set while the sandbox is made and do not change afterwards, but
// for those below mu. Commands may run at the same time.
type base struct {
	o         Options
	private   *private
	reserve   int64 // bytes that must stay free on the disk of the private directory
	view      *mountView
	limits    *limits
	guard     *guard
	env       []string           // of every command, before what the command adds
	hostPaths map[string]string  // directories inside that are elsewhere on this machine: path inside, path here
	proxy     context.CancelFunc // ends the proxy; nil if there is none
	prevents  bool               // commands cannot change what is protected, so the guard need not undo it
	serving   sync.WaitGroup

	mu       sync.Mutex
	commands map[watched]bool
	stop     chan struct{} // ends the watch
	watch    sync.WaitGroup
}

// A watched is a command that is running.
type watched interface {
	stopFor(why error) // stops it; its result is why
	pids() []int       // its processes on this machine, as far as they are known
}

// newBase makes the parts that all kinds share. The caller closes the base, also
// if what it does next fails.
func newBase(o Options) (_ *base, err error) {
	// Commands must not inherit descriptors that this process was started with.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil &&
		!errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	b := &base{o: o, commands: make(map[watched]bool), prevents: o.ReadOnly}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.view, err = newMountView(o); err != nil {
		return nil, err
	}
	// Whoever can write there makes the next sandbox: it has what is mounted, and the
	// sockets. So it is never where a command writes.
	parent, err := o.outside().Dir(o.Private)
	if err != nil {
		return nil, err
	}
	if b.private, err = newPrivate(parent); err != nil {
		return nil, err
	}
	if b.reserve, err = reserve(b.private.dir); err != nil {
		return nil, err
	}
	if b.guard, err = newGuard(b.view, o.Warn); err != nil {
		return nil, err
	}
	b.env = b.view.env
	return b, b.serveProxy()
}

// makeLimits makes the limits of a sandbox whose commands are children of this
// process. Containers have those of the engine instead.
func (b *base) makeLimits() (err error) {
	if b.limits, err = newLimits(b.private.name(), b.o); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return b.limits.group.record(b.private.dir)
}

// Contained implements [workspace.Cage]: a command with the network of this
// machine can reach anything.
func (b *base) Contained() bool { return b.o.Network != AllNetwork }

// ReadOnly is explained at [workspace.ReadOnly]. With Options.ReadOnly there is no
// network, and the kinds all mount or rule as it says.
func (b *base) ReadOnly() bool { return b.o.ReadOnly }

// Home returns the home directory of commands, as they see it: nothing outside of this
// sandbox writes it.
func (b *base) Home() string { return b.view.home }

// aside are the variables by which tools write into the temporary directory, {TMP},
// what they keep in a project otherwise. Where the workspace is read-only they could
// not run without, or would warn of it in every run.
var aside = []string{"CARGO_TARGET_DIR={TMP}/target", "PYTEST_ADDOPTS=-p no:cacheprovider",
	"MYPY_CACHE_DIR={TMP}/mypy", "RUFF_CACHE_DIR={TMP}/ruff", "COVERAGE_FILE={TMP}/coverage",
	"HYPOTHESIS_STORAGE_DIRECTORY={TMP}/hypothesis", "GIT_OPTIONAL_LOCKS=0"}

// ownDirs returns the variables that lead commands to their private directories.
func (b *base) ownDirs(home, tmp string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + tmp}
	if b.o.ReadOnly {
		for _, kv := range aside {
			env = append(env, strings.ReplaceAll(kv, "{TMP}", tmp))
		}
	}
	return env
}

// fillPrivate writes what commands find in the private directory.
func (b *base) fillPrivate() error { return b.private.fill(b.view) }

// serveProxy starts the proxy on a socket in the private directory, if the
// network is Hosts.
func (b *base) serveProxy() error {
	if b.o.Network != Hosts {
		return nil
	}
	if err := os.Mkdir(b.private.path("proxy"), 0o755); err != nil {
		return err
	}
	l, err := listenIn(b.private.path("proxy"), proxyName)
	if err != nil {
		return fmt.Errorf("the proxy's socket: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.proxy = cancel
	b.serving.Go(func() {
		if err := b.o.Proxy(ctx, l); err != nil && ctx.Err() == nil {
			b.o.Warn(fmt.Sprintf("the sandbox's proxy has ended: %v", err))
		}
		l.Close()
	})
	return nil
}

// listenIn listens on a socket in a directory, whose path may be longer than the address
// of a socket can be.
func listenIn(dir, name string) (net.Listener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the directory goes, and the descriptor means another by then
	return l, nil
}

// Close implements [workspace.Cage]. All commands have ended by then. It also
// works on a base that is half made.
func (b *base) Close() error {
	var errs []error
	if b.proxy != nil {
		b.proxy()
		b.serving.Wait()
	}
	b.watch.Wait()
	if b.guard != nil {
		errs = append(errs, b.guard.Close())
	}
	if b.limits != nil {
		errs = append(errs, b.limits.Close())
	}
	if b.private != nil {
		errs = append(errs, b.private.Close())
	}
	return errors.Join(errs...)
}

// prepare checks that c can run in dir, a path inside, and returns its
// environment. It reports a missing program or directory before anything is
// started, with the errors that a workspace promises: exec.ErrNotFound for a
// program, fs.ErrNotExist for the rest.
func (b *base) prepare(c *workspace.Spawn) ([]string, error) {
	env, dir := slices.Concat(b.toolEnv(c.Networked), b.env, b.wayOut(c), c.Env), c.Dir
	if err := errors.Join(b.view.checkHidden(), b.checkVisible(dir)); err != nil {
		return nil, err
	}
	if err := workspace.IsDir(b.hostPath(dir)); err != nil {
		return nil, fmt.Errorf("the working directory %s does not exist in the sandbox: %w", dir, fs.ErrNotExist)
	}
	prog := c.Args[0]
	if !strings.Contains(prog, "/") {
		_, err := workspace.LookPath(prog, b.withHostPath(env))
		return lastWins(env), err
	}
	if !filepath.IsAbs(prog) {
		prog = filepath.Join(dir, prog)
	}
	if _, err := os.Lstat(b.hostPath(prog)); err != nil || b.checkVisible(prog) != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], fs.ErrNotExist)
	}
	return lastWins(env), nil
}

// toolEnv returns the variables that lead a command to its tools. Containers have
// those of their image.
func (b *base) toolEnv(networked bool) []string {
	if b.limits == nil {
		return nil
	}
	return b.view.tools.environ(b.view.home, networked || b.o.Network == AllNetwork || b.o.Network == Hosts)
}

// withHostPath adds a PATH that names the same directories by their paths on
// this machine.
func (b *base) withHostPath(env []string) []string {
	for _, kv := range slices.Backward(env) {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs := filepath.SplitList(path)
			for i := range dirs {
				dirs[i] = b.hostPath(dirs[i])
			}
			return append(slices.Clip(env), "PATH="+strings.Join(dirs, ":"))
		}
	}
	return env
}

// hostPath returns where a path inside the sandbox is on this machine, such as for a file
// below the private /tmp.
func (b *base) hostPath(path string) string {
	path = filepath.Clean(path)
	if within(b.view.ws, path) || withinAny(b.view.asked, path) || withinAny(b.view.tooled, path) {
		return path
	}
	for inside, real := range b.hostPaths {
		if within(inside, path) {
			return filepath.Join(real, strings.TrimPrefix(path, inside))
		}
	}
	return path
}

// checkVisible returns an error if commands cannot see path.
func (b *base) checkVisible(path string) error {
	path = filepath.Clean(path)
	if path == "/" || b.view.visible(path) || withinAny(sorted(b.hostPaths), path) ||
		withinAny([]string{"/etc", "/proc", "/dev"}, path) {
		return nil
	}
	return fmt.Errorf("%s cannot be seen in the sandbox: %w", path, fs.ErrNotExist)
}

// lastWins keeps the last value of every variable, in the order of those values.
func lastWins(env []string) []string {
	seen := make(map[string]bool, len(env))
	var out []string
	for _, kv := range slices.Backward(env) {
		if name, _, _ := strings.Cut(kv, "="); !seen[name] {
			seen[name] = true
			out = append(out, kv)
		}
	}
	slices.Reverse(out)
	return out
}

// register notes that p is running, and starts the loop that checks commands
// with the first of them. The caller calls the function that it returns when
// every process of p is dead.
func (b *base) register(p watched) (after func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commands[p] = true
	if b.stop == nil {
		b.stop = make(chan struct{})
		stop := b.stop
		b.watch.Go(func() { b.watchLoop(stop) })
	}
	return func() error { return b.unregister(p) }
}

// unregister is what register returns. It ends the loop after the last command,
// and if nothing prevents changes of what is protected
// restores that.
func (b *base) unregister(p watched) error {
	b.mu.Lock()
	delete(b.commands, p)
	if len(b.commands) == 0 && b.stop != nil {
		close(b.stop)
		b.stop = nil
	}
	b.mu.Unlock()
	if b.prevents {
		return nil
	}
	return b.guard.restore(true)
}

// watchLoop checks the commands until stop is closed: that what is protected is
// as it was, that the disk has room, and where no cgroup does it that they do
// not use too much memory together. Directories that take long to search are
// searched every twentieth time.
func (b *base) watchLoop(stop <-chan struct{}) {
	tick := time.NewTicker(watchTime)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if !b.prevents {
			if err := b.guard.restore(n%20 == 19); err != nil {
				b.stopAll(err)
			}
		}
		if err := b.checkDisk(); err != nil {
			b.stopAll(err)
		}
		if b.limits != nil && b.limits.group == nil {
			if err := b.checkMemory(); err != nil {
				b.stopAll(err)
			}
		}
	}
}

// checkDisk returns an error if the disk of the workspace or of the private
// directory has too little room left. The option Reserve is meant for the first;
// the second, which may be another disk, gets a default.
func (b *base) checkDisk() error {
	disks := map[string]int64{b.view.ws: b.o.Reserve, b.private.dir: min(b.o.Reserve, b.reserve)}
	for dir, least := range disks {
		var room unix.Statfs_t
		if err := unix.Statfs(dir, &room); err != nil {
			continue // the disk is gone: commands get that error themselves
		}
		if free := int64(room.Bavail) * int64(room.Bsize); free < least {
			return fmt.Errorf("stopped by the sandbox: less than %d MB are free on the disk of %s", least>>20, dir)
		}
	}
	return nil
}

// checkMemory returns an error if the commands together use more memory than they may. It
// is for machines on which no cgroup limits them.
func (b *base) checkMemory() error {
	var pids []int
	for _, p := range b.running() {
		pids = append(pids, p.pids()...)
	}
	if used := resident(pids); used > b.o.Memory {
		return fmt.Errorf("stopped by the sandbox: the commands use %d MB of memory together, and %d MB are "+
			"allowed", used>>20, b.o.Memory>>20)
	}
	return nil
}

// running returns the commands that are running.
func (b *base) running() []watched {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.commands))
}

// stopAll stops every command for the same reason.
func (b *base) stopAll(why error) {
	for _, p := range b.running() {
		p.stopFor(why)
	}
}
