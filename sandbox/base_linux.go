package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// watchTime is how often a cage with commands in it is looked at.
const watchTime = 100 * time.Millisecond

// A house is what cages on this machine have in common: a private directory, a
// view, limits, the guard of what is protected, and somebody who looks after
// the commands while there are any.
type base struct {
	o         Options
	private   *private
	reserve   int64 // bytes that must stay free on its disk
	view      *mountView
	limits    *limits
	guard     *guard
	env       []string           // of every command
	hostPaths map[string]string  // directories that are elsewhere inside: name, where it really is
	proxy     context.CancelFunc // ends it; nil if there is none
	serving   sync.WaitGroup

	mu       sync.Mutex
	commands map[watched]bool
	stop     chan struct{} // ends the watch
	watch    sync.WaitGroup
}

// A watched is a command that is looked after.
type watched interface {
	stopFor(why error)
	pids() []int // of its processes, as far as they are known here
}

func newBase(o Options) (_ *base, err error) {
	// What we were left by who started us is not for commands.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	b := &base{o: o, commands: make(map[watched]bool)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.view, err = newMountView(o); err != nil {
		return nil, err
	}
	if b.private, err = newPrivate(); err != nil {
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

// limit makes the limits of a cage whose processes are ours.
func (b *base) makeLimits() (err error) {
	if b.limits, err = newLimits(b.private.name(), b.o); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return b.limits.group.record(b.private.dir)
}

// Contained implements [workspace.Cage].
func (b *base) Contained() bool { return b.o.Network != AllNetwork }

// fill fills the private directory.
func (b *base) fillPrivate() error { return b.private.fill(b.view) }

// serve lets the proxy serve on a socket in the private directory.
func (b *base) serveProxy() error {
	if b.o.Network != Hosts {
		return nil
	}
	if err := os.Mkdir(b.private.path("proxy"), 0o755); err != nil {
		return err
	}
	l, err := net.Listen("unix", b.private.path("proxy", proxyName))
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

// Close implements [workspace.Cage].
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

// prepare checks that c can run in dir, and returns its environment.
func (b *base) prepare(c *workspace.Spawn) ([]string, error) {
	env, dir := slices.Concat(b.env, c.Env), c.Dir
	if err := b.checkVisible(dir); err != nil {
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

// withHostPath adds a PATH whose directories are where they really are.
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

// outside is where a path of the cage really is.
func (b *base) hostPath(path string) string {
	path = filepath.Clean(path)
	if within(b.view.ws, path) || slices.ContainsFunc(b.view.asked, func(dir string) bool { return within(dir, path) }) {
		return path
	}
	for inside, real := range b.hostPaths {
		if within(inside, path) {
			return filepath.Join(real, strings.TrimPrefix(path, inside))
		}
	}
	return path
}

// checkVisible says whether path is one that commands see.
func (b *base) checkVisible(path string) error {
	path = filepath.Clean(path)
	if b.view.visible(path) || slices.ContainsFunc(sorted(b.hostPaths), func(dir string) bool { return within(dir, path) }) ||
		slices.ContainsFunc([]string{"/etc", "/proc", "/dev"}, func(dir string) bool { return within(dir, path) }) || path == "/" {
		return nil
	}
	return fmt.Errorf("%s cannot be seen in the sandbox: %w", path, fs.ErrNotExist)
}

// lastWins keeps the last value of every variable, as exec would.
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

// running notes that p runs, and begins to look after it. What it returns is to
// be called when everything that belongs to p is dead.
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

// ended is called when everything that belongs to p is dead.
func (b *base) unregister(p watched) error {
	b.mu.Lock()
	delete(b.commands, p)
	if len(b.commands) == 0 && b.stop != nil {
		close(b.stop)
		b.stop = nil
	}
	b.mu.Unlock()
	return b.guard.restore(true)
}

// look looks after the commands until stop is closed: at what is protected, at
// the disk, and where there is no cgroup at their memory.
func (b *base) watchLoop(stop <-chan struct{}) {
	tick := time.NewTicker(watchTime)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if err := b.guard.restore(n%20 == 19); err != nil {
			b.stopAll(err)
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

// checkDisk says that a disk is full. What must stay free was said for that of
// the workspace; the private directory may be on another.
func (b *base) checkDisk() error {
	for dir, least := range map[string]int64{b.view.ws: b.o.Reserve, b.private.dir: min(b.o.Reserve, b.reserve)} {
		var room unix.Statfs_t
		if err := unix.Statfs(dir, &room); err != nil {
			continue // gone, or a lost network disk: commands will meet the error themselves
		}
		if free := int64(room.Bavail) * int64(room.Bsize); free < least {
			return fmt.Errorf("ended by the sandbox: less than %d MB are free on the disk of %s", least>>20, dir)
		}
	}
	return nil
}

func (b *base) checkMemory() error {
	var pids []int
	for _, p := range b.running() {
		pids = append(pids, p.pids()...)
	}
	if used := resident(pids); used > b.o.Memory {
		return fmt.Errorf("ended by the sandbox: the commands use %d MB of memory together, more than %d", used>>20, b.o.Memory>>20)
	}
	return nil
}

func (b *base) running() []watched {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []watched
	for p := range b.commands {
		list = append(list, p)
	}
	return list
}

func (b *base) stopAll(why error) {
	for _, p := range b.running() {
		p.stopFor(why)
	}
}
