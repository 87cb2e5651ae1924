package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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

// engineTime is how long the engine may take for a container.
const engineTime = 2 * time.Minute

// The labels of our containers: the private directory, whose lock is held as
// long as whoever made them lives, and what can see that directory.
const (
	labelCage  = "openmanus.cage"
	labelPlace = "openmanus.place"
)

// A container is a cage of containers: every command has one of its own, so
// that the end of its first process, which is this program again (see [Main]),
// is the end of all. The next one is made before it is needed.
type container struct {
	*house
	kind   Kind
	engine *engine
	config map[string]any // of every container
	user   string

	ready  sync.Mutex
	next   *hatch // what is being made, or ready; nil if there is none
	used   bool   // more than once
	making sync.WaitGroup
}

// A hatch is a container that is being made.
type hatch struct {
	done chan struct{}
	box  *box
	err  error
}

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
	if err := c.suits(ctx, o); err != nil {
		return nil, err
	}
	if c.house, err = newHouse(o); err != nil {
		return nil, err
	}
	if err := c.build(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// suits says why the engine cannot do what is asked.
func (c *container) suits(ctx context.Context, o Options) error {
	var info engineInfo
	if err := c.engine.call(ctx, "GET", "/info", nil, &info); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if info.OSType != "linux" {
		return fmt.Errorf("%w: the container engine runs containers of %s, and Linux is needed", ErrNone, info.OSType)
	}
	for _, option := range info.SecurityOptions {
		if strings.Contains(option, "name=rootless") || strings.Contains(option, "name=userns") {
			return fmt.Errorf("%w: the container engine gives users other numbers (%s), so commands could not write your files: use an engine without, or --sandbox bubblewrap", ErrNone, option)
		}
	}
	if _, there := info.Runtimes[gvisorRuntime]; o.Kind == GVisor && !there {
		return fmt.Errorf("%w: the container engine does not know gVisor: install runsc (https://gvisor.dev/docs/user_guide/install), then runsc install, and restart the engine", ErrNone)
	}
	return nil
}

// build makes the parts, and tries them.
func (c *container) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // an image may have to be fetched
	defer cancel()
	if c.o.Image == "" {
		c.o.Image = DefaultImage
	}
	if err := c.whose(); err != nil {
		return err
	}
	if err := c.engine.fetch(ctx, c.o.Image, c.o.Warn); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if err := c.sweep(ctx); err != nil {
		return fmt.Errorf("%w: containers that were left: %w", ErrNone, err)
	}
	if err := c.describe(); err != nil {
		return err
	}
	c.next = c.hatch()
	select {
	case <-c.next.done:
		if c.next.err != nil {
			return fmt.Errorf("%w: a container cannot be had: %w", ErrNone, c.next.err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whose finds out as whom commands run: as we do, or if we are root as the owner
// of the workspace, since they must not be root.
func (c *container) whose() error {
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
		return fmt.Errorf("%w: commands in a container must not be root, and the workspace %s is root's: run as an ordinary user, or give it to one (chown -R 1000:1000 %s)", ErrNone, v.ws, v.ws)
	}
	if v.gid == 0 {
		v.gid = v.uid
	}
	c.user = fmt.Sprintf("%d:%d", v.uid, v.gid)
	v.home, v.read, v.links = insideHome, v.asked, nil
	v.env = slices.DeleteFunc(v.env, func(kv string) bool { // the image has its own
		return strings.HasPrefix(kv, "PATH=") || strings.HasPrefix(kv, "SSL_CERT_FILE=") || strings.HasPrefix(kv, "SHELL=")
	})
	return nil
}

// describe writes down what every container is like.
func (c *container) describe() error {
	if err := c.furnish(); err != nil {
		return err
	}
	c.env = append(slices.Clone(c.view.env), "HOME="+c.view.home, "TMPDIR=/tmp")
	args := []string{insidePath}
	network := map[Network]string{NoNetwork: "none", Hosts: "none", AllNetwork: "bridge"}[c.o.Network]
	if c.o.Network == Hosts {
		c.env = append(c.env, proxyEnv()...)
		args = append(args, string(Hosts))
	}
	mounts, err := c.mounts()
	if err != nil {
		return err
	}
	runtime := ""
	if c.kind == GVisor {
		runtime = gvisorRuntime
	}
	c.config = map[string]any{
		"Image": c.o.Image, "Entrypoint": args, "Cmd": []string{}, "User": c.user, "WorkingDir": "/", "Hostname": "openmanus",
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "OpenStdin": true, "StdinOnce": true,
		"Labels":      map[string]string{labelCage: c.private.dir, labelPlace: place()},
		"Healthcheck": map[string]any{"Test": []string{"NONE"}},
		"HostConfig": map[string]any{
			"AutoRemove": true, "NetworkMode": network, "IpcMode": "private", "ReadonlyRootfs": true, "Privileged": false,
			"CapDrop": []string{"ALL"}, "SecurityOpt": []string{"no-new-privileges:true"}, "Runtime": runtime,
			"Memory": c.o.Memory, "MemorySwap": c.o.Memory, "NanoCpus": int64(c.o.CPUs * 1e9),
			"PidsLimit": c.o.Processes + 32, // the first process has threads
			"ShmSize":   256 << 20, "LogConfig": map[string]any{"Type": "none"}, "Mounts": mounts,
			"Ulimits": []map[string]any{
				{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "fsize", "Soft": c.o.FileSize, "Hard": c.o.FileSize},
			},
		},
	}
	return nil
}

// place is what can see our private directories: processes of this machine in
// this mount namespace.
func place() string {
	host, _ := os.Hostname()                      // what is not known is nobody else's either
	mounts, _ := os.Readlink("/proc/self/ns/mnt") // likewise
	return host + " " + mounts
}

// mounts are the workspace, private directories, and what else is to be seen.
func (c *container) mounts() ([]map[string]any, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	v, at := c.view, c.private.at
	var list []map[string]any
	var places []string
	mount := func(from, to string, readOnly bool) {
		list = append(list, map[string]any{"Type": "bind", "Source": from, "Target": to, "ReadOnly": readOnly})
		places = append(places, to)
	}
	mount(at("tmp"), "/tmp", false)
	mount(at("tmp"), "/var/tmp", false)
	mount(at("home"), v.home, false)
	mount(v.ws, v.ws, false)
	if dir := c.o.WorkDir; dir != "" && !within(dir, v.ws) && !within(v.ws, dir) {
		mount(v.ws, dir, false)
	}
	for _, name := range []string{"/etc/passwd", "/etc/group"} {
		mount(at(name), name, true)
	}
	mount(exe, insidePath, true)
	for _, dir := range v.read {
		mount(dir, dir, true)
	}
	for _, dir := range v.hide {
		mount(at("empty"), dir, true)
	}
	if c.o.Network == Hosts {
		if err := os.Chmod(at("proxy", proxyName), 0o666); err != nil { // nobody else comes as far
			return nil, err
		}
		mount(at("proxy"), proxyDir, false)
	}
	protected := c.guard.mounts()
	for _, name := range protected {
		mount(name, name, true)
	}
	return list, c.lay(places)
}

// lay makes the places to mount on that lie in private directories, or the
// engine would, as root, and hands the directories to whom commands run as.
func (c *container) lay(places []string) error {
	for _, place := range places {
		at := c.private.holds(c.view, place)
		if at == "" || within("/etc", place) || within(c.view.ws, place) && place != c.view.ws { // what is in the workspace comes with it
			continue
		}
		var err error
		if info, statErr := os.Stat(place); statErr == nil && !info.IsDir() {
			err = touch(at)
		} else {
			err = os.MkdirAll(at, 0o755)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(c.private.at("tmp"), 0o1777); err != nil || os.Getuid() != 0 {
		return err
	}
	return errors.Join(os.Chown(c.private.at("home"), c.view.uid, c.view.gid), os.Chown(c.private.at("home", ".gitconfig"), c.view.uid, c.view.gid))
}

// sweep removes the containers of those who were killed. Their first process
// ends when they do; this is for what could not.
func (c *container) sweep(ctx context.Context) error {
	found, err := c.engine.labelled(ctx, labelCage)
	if err != nil {
		return err
	}
	var errs []error
	for id, labels := range found {
		if labels[labelPlace] == place() && unlocked(labels[labelCage]) {
			errs = append(errs, c.engine.end(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// unlocked reports whether nobody holds the lock of a private directory.
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

// Close implements [workspace.Cage].
func (c *container) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	var errs []error
	c.making.Wait()
	if c.next != nil && c.next.box != nil {
		c.next.box.conn.Close()
	}
	if c.house != nil {
		found, err := c.engine.labelled(ctx, labelCage+"="+c.private.dir)
		errs = append(errs, err)
		for id := range found {
			errs = append(errs, c.engine.end(ctx, id))
		}
		errs = append(errs, c.house.Close())
	}
	return errors.Join(append(errs, c.engine.Close())...)
}

// hatch begins to make a container.
func (c *container) hatch() *hatch {
	h := &hatch{done: make(chan struct{})}
	c.making.Go(func() {
		defer close(h.done)
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		h.box, h.err = c.make(ctx)
	})
	return h
}

// take returns a container that is ready. From the second command on it has the
// next one made at once: who runs two runs more.
func (c *container) take() (*box, error) {
	c.ready.Lock()
	mine := c.next
	if mine == nil {
		mine = c.hatch()
		c.used = true
	}
	c.next = nil
	if c.used {
		c.next = c.hatch()
	}
	c.ready.Unlock()
	<-mine.done
	return mine.box, mine.err
}

// make makes a container, and waits until it is ready.
func (c *container) make(ctx context.Context) (*box, error) {
	id, err := c.engine.create(ctx, c.config)
	if err != nil {
		return nil, err
	}
	b := &box{engine: c.engine, id: id}
	if err := b.begin(ctx); err != nil {
		// What cannot be ended now, Close ends.
		return nil, errors.Join(err, c.engine.end(context.WithoutCancel(ctx), id))
	}
	return b, nil
}

// A box is a container whose first process waits for a command.
type box struct {
	engine *engine
	id     string
	conn   net.Conn
	from   *outputReader
	to     *frameWriter
}

func (b *box) begin(ctx context.Context) error {
	conn, r, err := b.engine.attach(ctx, b.id)
	if err != nil {
		return err
	}
	b.conn, b.from, b.to = conn, &outputReader{r: r}, &frameWriter{w: conn}
	if err = b.engine.call(ctx, "POST", "/containers/"+b.id+"/start", nil, nil); err == nil {
		err = b.greeted(ctx)
	}
	if err != nil {
		conn.Close()
	}
	return err
}

// greeted waits until the first process is ready.
func (b *box) greeted(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { b.conn.Close() })
	defer stop()
	kind, said, err := readFrame(b.from)
	switch {
	case err != nil:
		return fmt.Errorf("it does not start: %w: %s", err, b.from.said)
	case kind != frameReady:
		return fmt.Errorf("it does not start: %q", kind)
	case len(said) > 0:
		return errors.New(string(said))
	}
	return nil
}

// ask has the first process start a command.
func (b *box) ask(cmd insideCommand) error {
	if err := b.to.sendJSON(frameCommand, cmd); err != nil {
		return errors.Join(errGone, err)
	}
	kind, said, err := readFrame(b.from)
	switch {
	case err != nil:
		return errors.Join(errGone, err)
	case kind == frameRefused:
		return refusal(said)
	case kind != frameStarted:
		return fmt.Errorf("the container says %q", kind)
	}
	return nil
}

// errGone says that a container was not there any more when it was needed.
var errGone = errors.New("the container has ended")

// Start implements [workspace.Cage].
func (c *container) Start(x *exec.Cmd, cmd *workspace.Cmd, dir string) (workspace.Process, error) {
	order := insideCommand{
		Args: cmd.Args, Dir: dir, Env: slices.Concat(c.env, cmd.Env), Input: x.Stdin != nil, One: x.Stdout != nil && x.Stdout == x.Stderr,
	}
	b, err := c.take()
	if err == nil {
		if err = b.ask(order); errors.Is(err, errGone) { // the engine was restarted, perhaps: the next one is new
			b.conn.Close()
			if b, err = c.take(); err == nil {
				err = b.ask(order)
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
	return c.begin(b, x)
}
