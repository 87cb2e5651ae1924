package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// gvisorRuntime is the name under which the engine must know gVisor.
const gvisorRuntime = "runsc"

// engineTime is how long the engine may take to make or end a container.
const engineTime = 2 * time.Minute

// The labels of our containers: the private directory, whose lock is held as
// long as the process that made the container lives, and the mount namespace in
// which that directory can be seen.
const (
	labelCage  = "openmanus.cage"
	labelPlace = "openmanus.place"
)

// A container is a sandbox of containers. Every command has one of its own,
// whose first process is this program again (see [Main]), so that everything
// ends with the first process. Making one takes long, so the next is made before
// it is needed.
type container struct {
	*base
	kind   Kind
	engine *engine
	config map[string]any // what every container is created with
	user   string

	ready  sync.Mutex
	next   *preparation // the container for the next command; nil if none was begun
	used   bool         // a container was waited for: commands follow each other
	making sync.WaitGroup
}

// newContainer finds the engine, fetches the image if it is missing, and makes
// the first container.
func newContainer(ctx context.Context, o Options) (_ workspace.Cage, err error) {
	e, err := newEngine(ctx, o.Engine)
	if err != nil {
		return nil, err
	}
	c := &container{kind: o.Kind, engine: e}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := c.checkEngine(ctx, o); err != nil {
		return nil, err
	}
	o.Toolchains = nil // the image has its own
	if c.base, err = newBase(o); err != nil {
		return nil, err
	}
	if err := c.build(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// checkEngine returns an error if the engine cannot do what the options ask for: it must
// run Linux containers, with the users of this machine.
func (c *container) checkEngine(ctx context.Context, o Options) error {
	var info engineInfo
	if err := c.engine.call(ctx, "GET", "/info", nil, &info); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if info.OSType != "linux" {
		return fmt.Errorf("%w: the container engine runs %s, and Linux is needed", ErrNone, info.OSType)
	}
	for _, option := range info.SecurityOptions {
		if strings.Contains(option, "name=rootless") || strings.Contains(option, "name=userns") {
			return fmt.Errorf("%w: the container engine maps users to other numbers (%s), so commands could not "+
				"write your files: use an engine that does not, or --sandbox bubblewrap", ErrNone, option)
		}
	}
	if _, there := info.Runtimes[gvisorRuntime]; o.Kind == GVisor && !there {
		return fmt.Errorf("%w: the container engine does not know gVisor: install runsc "+
			"(https://gvisor.dev/docs/user_guide/install), then runsc install, and restart the engine", ErrNone)
	}
	return nil
}

// build makes the parts, and waits for the first container as a test: an engine
// can refuse what it is asked for in many ways, and the person should hear of
// that before a session begins. It may take minutes if the image has to be
// fetched.
func (c *container) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // an image may have to be fetched
	defer cancel()
	c.o.Image = cmp.Or(c.o.Image, DefaultImage)
	if err := c.chooseUser(); err != nil {
		return err
	}
	if err := c.engine.ensureImage(ctx, c.o.Image, c.o.Warn); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if err := c.sweep(ctx); err != nil {
		return fmt.Errorf("%w: cannot remove containers of killed processes: %w", ErrNone, err)
	}
	if err := c.configure(); err != nil {
		return err
	}
	c.next = c.preparation()
	select {
	case <-c.next.done:
		if c.next.err != nil {
			return fmt.Errorf("%w: cannot make a container: %w", ErrNone, c.next.err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chooseUser decides as which user commands run: as the user of this process, or
// if that is root as the owner of the workspace, because they must not be root.
// A root in a container is root outside in everything that is mounted from
// there.
func (c *container) chooseUser() error {
	v := c.view
	if v.uid == 0 {
		info, err := os.Stat(v.ws)
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*unixStat); ok {
			v.uid, v.gid = int(st.Uid), int(st.Gid)
		}
	}
	if v.uid == 0 {
		return fmt.Errorf("%w: commands in a container must not be root, and the workspace %s belongs to root: "+
			"run as an ordinary user, or give it to one (chown -R 1000:1000 %s)", ErrNone, v.ws, v.ws)
	}
	v.gid = cmp.Or(v.gid, v.uid)
	c.user = fmt.Sprintf("%d:%d", v.uid, v.gid)
	v.home, v.read, v.links = insideHome, v.asked, nil
	v.env = slices.DeleteFunc(v.env, func(kv string) bool { // the image has its own
		return strings.HasPrefix(kv, "SSL_CERT_FILE=") || strings.HasPrefix(kv, "SHELL=")
	})
	return nil
}

// sweep removes the containers of killed processes. Their first process ends
// when its input does; this is for those that could not notice, such as stopped
// ones or those that were made and never started. A container belongs to a
// process that is dead if this process could see its private directory and the
// lock in it is free.
func (c *container) sweep(ctx context.Context) error {
	found, err := c.engine.labelled(ctx, labelCage)
	if err != nil {
		return err
	}
	var errs []error
	for id, labels := range found {
		if labels[labelPlace] == mountNamespace() && unlocked(labels[labelCage]) {
			errs = append(errs, c.engine.end(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// unlocked reports whether no process holds the lock of a private directory.
func unlocked(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// Name implements [workspace.Cage].
func (c *container) Name() string { return string(c.kind) }

// Close implements [workspace.Cage]. It ends every container that carries the
// label of this sandbox, the one that was prepared for a next command included,
// and then removes the private directory that they mount. It also works on a
// sandbox that is half made.
func (c *container) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	var errs []error
	c.making.Wait()
	if c.next != nil && c.next.instance != nil {
		c.next.instance.conn.Close()
	}
	if c.base != nil {
		found, err := c.engine.labelled(ctx, labelCage+"="+c.private.dir)
		errs = append(errs, err)
		for id := range found {
			errs = append(errs, c.engine.end(ctx, id))
		}
		errs = append(errs, c.base.Close())
	}
	return errors.Join(append(errs, c.engine.Close())...)
}

// Start implements [workspace.Cage]. If the container that was ready has ended,
// because the engine was restarted perhaps, a second one is tried.
func (c *container) Start(cmd *workspace.Spawn) (workspace.Process, error) {
	order := insideCommand{
		Args: cmd.Args, Dir: cmd.Dir, Env: slices.Concat(c.env, c.wayOut(cmd), cmd.Env),
		Input: cmd.Stdin != nil, One: cmd.Stdout != nil && cmd.Stdout == cmd.Stderr,
	}
	if err := c.view.checkHidden(); err != nil {
		return nil, err
	}
	next := c.nextInstance
	if cmd.Networked && c.o.Network != AllNetwork {
		next = c.networkedInstance
	}
	b, err := next()
	if err == nil {
		if err = b.run(order); errors.Is(err, errGone) { // the next one is new
			b.conn.Close()
			if b, err = next(); err == nil {
				err = b.run(order)
			}
		}
		if err != nil && b != nil {
			b.conn.Close() // and so it ends
		}
	}
	var no *refusalError
	if errors.As(err, &no) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmd.Args[0], err)
	}
	return c.connect(b, cmd)
}
