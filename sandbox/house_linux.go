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
type house struct {
	o       Options
	private *private
	reserve int64 // bytes that must stay free on its disk
	view    *view
	limits  *limits
	guard   *guard
	env     []string           // of every command
	paths   map[string]string  // directories that are elsewhere inside: name, where it really is
	proxy   context.CancelFunc // ends it; nil if there is none
	serving sync.WaitGroup

	mu    sync.Mutex
	procs map[watched]bool
	stop  chan struct{} // ends the watch
	watch sync.WaitGroup
}

// A watched is a command that is looked after.
type watched interface {
	stopFor(why error)
	pids() []int // of its processes, as far as they are known here
}

func newHouse(o Options) (_ *house, err error) {
	// What we were left by who started us is not for commands.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	h := &house{o: o, procs: make(map[watched]bool)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.view, err = newView(o); err != nil {
		return nil, err
	}
	if h.private, err = newPrivate(); err != nil {
		return nil, err
	}
	if h.reserve, err = reserve(h.private.dir); err != nil {
		return nil, err
	}
	if h.guard, err = newGuard(h.view, o.Warn); err != nil {
		return nil, err
	}
	h.env = h.view.env
	return h, h.serve()
}

// limit makes the limits of a cage whose processes are ours.
func (h *house) limit() (err error) {
	if h.limits, err = newLimits(h.private.name(), h.o); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return h.limits.group.note(h.private.dir)
}

// Contained implements [workspace.Cage].
func (h *house) Contained() bool { return h.o.Network != AllNetwork }

// furnish fills the private directory.
func (h *house) furnish() error { return h.private.furnish(h.view) }

// serve lets the proxy serve on a socket in the private directory.
func (h *house) serve() error {
	if h.o.Network != Hosts {
		return nil
	}
	if err := os.Mkdir(h.private.at("proxy"), 0o755); err != nil {
		return err
	}
	l, err := net.Listen("unix", h.private.at("proxy", proxyName))
	if err != nil {
		return fmt.Errorf("the proxy's socket: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.proxy = cancel
	h.serving.Go(func() {
		if err := h.o.Proxy(ctx, l); err != nil && ctx.Err() == nil {
			h.o.Warn(fmt.Sprintf("the sandbox's proxy has ended: %v", err))
		}
		l.Close()
	})
	return nil
}

// Close implements [workspace.Cage].
func (h *house) Close() error {
	var errs []error
	if h.proxy != nil {
		h.proxy()
		h.serving.Wait()
	}
	h.watch.Wait()
	if h.guard != nil {
		errs = append(errs, h.guard.Close())
	}
	if h.limits != nil {
		errs = append(errs, h.limits.Close())
	}
	if h.private != nil {
		errs = append(errs, h.private.Close())
	}
	return errors.Join(errs...)
}

// prepare checks that c can run in dir, and returns its environment.
func (h *house) prepare(c *workspace.Spawn) ([]string, error) {
	env, dir := slices.Concat(h.env, c.Env), c.Dir
	if err := h.reachable(dir); err != nil {
		return nil, err
	}
	if err := workspace.IsDir(h.outside(dir)); err != nil {
		return nil, fmt.Errorf("the working directory %s does not exist in the sandbox: %w", dir, fs.ErrNotExist)
	}
	prog := c.Args[0]
	if !strings.Contains(prog, "/") {
		_, err := workspace.LookPath(prog, h.withOutside(env))
		return dedup(env), err
	}
	if !filepath.IsAbs(prog) {
		prog = filepath.Join(dir, prog)
	}
	if _, err := os.Lstat(h.outside(prog)); err != nil || h.reachable(prog) != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], fs.ErrNotExist)
	}
	return dedup(env), nil
}

// withOutside adds a PATH whose directories are where they really are.
func (h *house) withOutside(env []string) []string {
	for _, kv := range slices.Backward(env) {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs := filepath.SplitList(path)
			for i := range dirs {
				dirs[i] = h.outside(dirs[i])
			}
			return append(slices.Clip(env), "PATH="+strings.Join(dirs, ":"))
		}
	}
	return env
}

// outside is where a path of the cage really is.
func (h *house) outside(path string) string {
	path = filepath.Clean(path)
	if within(h.view.ws, path) || slices.ContainsFunc(h.view.asked, func(dir string) bool { return within(dir, path) }) {
		return path
	}
	for inside, real := range h.paths {
		if within(inside, path) {
			return filepath.Join(real, strings.TrimPrefix(path, inside))
		}
	}
	return path
}

// reachable says whether path is one that commands see.
func (h *house) reachable(path string) error {
	path = filepath.Clean(path)
	if h.view.visible(path) || slices.ContainsFunc(sorted(h.paths), func(dir string) bool { return within(dir, path) }) ||
		slices.ContainsFunc([]string{"/etc", "/proc", "/dev"}, func(dir string) bool { return within(dir, path) }) || path == "/" {
		return nil
	}
	return fmt.Errorf("%s cannot be seen in the sandbox: %w", path, fs.ErrNotExist)
}

// dedup keeps the last value of every variable, as exec would.
func dedup(env []string) []string {
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
func (h *house) running(p watched) (after func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.procs[p] = true
	if h.stop == nil {
		h.stop = make(chan struct{})
		stop := h.stop
		h.watch.Go(func() { h.look(stop) })
	}
	return func() error { return h.ended(p) }
}

// ended is called when everything that belongs to p is dead.
func (h *house) ended(p watched) error {
	h.mu.Lock()
	delete(h.procs, p)
	if len(h.procs) == 0 && h.stop != nil {
		close(h.stop)
		h.stop = nil
	}
	h.mu.Unlock()
	return h.guard.restore(true)
}

// look looks after the commands until stop is closed: at what is protected, at
// the disk, and where there is no cgroup at their memory.
func (h *house) look(stop <-chan struct{}) {
	tick := time.NewTicker(watchTime)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if err := h.guard.restore(n%20 == 19); err != nil {
			h.stopAll(err)
		}
		if err := h.roomLeft(); err != nil {
			h.stopAll(err)
		}
		if h.limits != nil && h.limits.group == nil {
			if err := h.memoryLeft(); err != nil {
				h.stopAll(err)
			}
		}
	}
}

// roomLeft says that a disk is full. What must stay free was said for that of
// the workspace; the private directory may be on another.
func (h *house) roomLeft() error {
	for dir, least := range map[string]int64{h.view.ws: h.o.Reserve, h.private.dir: min(h.o.Reserve, h.reserve)} {
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

func (h *house) memoryLeft() error {
	var pids []int
	for _, p := range h.all() {
		pids = append(pids, p.pids()...)
	}
	if used := resident(pids); used > h.o.Memory {
		return fmt.Errorf("ended by the sandbox: the commands use %d MB of memory together, more than %d", used>>20, h.o.Memory>>20)
	}
	return nil
}

func (h *house) all() []watched {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []watched
	for p := range h.procs {
		list = append(list, p)
	}
	return list
}

func (h *house) stopAll(why error) {
	for _, p := range h.all() {
		p.stopFor(why)
	}
}
