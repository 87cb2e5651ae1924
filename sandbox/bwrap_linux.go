package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// A bubblewrap is a cage of namespaces.
type bubblewrap struct {
	*house
	program string   // bwrap
	args    []string // the same for every command
	filter  string   // the file with the seccomp program

	ready func() error // makes args, filter and what they mount, once
}

// insideID is the user and group that root's commands believe to be: programs
// that think they are root try what only root can do.
const insideID = 1000

// insideHome is the home directory of commands.
const insideHome = "/home/agent"

func newBubblewrap(ctx context.Context, o Options) (workspace.Cage, error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w: the program bwrap is not in PATH", ErrNone)
	}
	h, err := newHouse(o)
	if err != nil {
		return nil, err
	}
	h.view.home = insideHome
	b := &bubblewrap{house: h, program: program, filter: h.private.at("filter")}
	if err := b.limit(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := b.build(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// build makes the parts, and tries them: at once, or, if it is known that
// bubblewrap works here, when the first command is started.
func (b *bubblewrap) build(ctx context.Context) error {
	if b.view.uid == 0 {
		b.view.uid, b.view.gid = insideID, insideID
	}
	b.env = append(b.env, "HOME="+b.view.home, "TMPDIR=/tmp")
	if b.o.Network == Hosts {
		b.env = append(b.env, proxyEnv()...)
	}
	b.paths = map[string]string{"/tmp": b.private.at("tmp"), "/var/tmp": b.private.at("tmp"), b.view.home: b.private.at("home")}
	b.ready = sync.OnceValue(b.finish)
	if b.works().holds() {
		return nil
	}
	if err := b.ready(); err != nil {
		return err
	}
	if err := b.tryOut(ctx); err != nil {
		return err
	}
	b.works().keep()
	return nil
}

func (b *bubblewrap) works() memo { return memo{file: b.o.Memo, program: b.program} }

// finish makes what commands need.
func (b *bubblewrap) finish() error {
	if err := b.furnish(); err != nil {
		return err
	}
	filter, err := sysFilter{inet: true, unix: true, ipc: true}.encoded()
	if err == nil {
		err = os.WriteFile(b.filter, filter, 0o600)
	}
	if err == nil {
		b.args, err = b.arguments()
	}
	return err
}

// Name implements [workspace.Cage].
func (b *bubblewrap) Name() string { return string(Bubblewrap) }

// arguments are those of bwrap for every command. What is mounted last covers
// what was mounted before. The root is a directory of ours, which has the
// places to mount on: one mount instead of many steps.
func (b *bubblewrap) arguments() ([]string, error) {
	v, root := b.view, b.private.at("root")
	args := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "openmanus",
		"--uid", strconv.Itoa(v.uid), "--gid", strconv.Itoa(v.gid),
		"--seccomp", "3", "--info-fd", "4", "--block-fd", "5",
		"--ro-bind", root, "/",
	}
	if b.o.Network != AllNetwork {
		args = append(args, "--unshare-net")
	}
	var places []string
	mount := func(how, from, to string) {
		args = append(args, how, from, to)
		places = append(places, to)
	}
	places = append(places, "/proc", "/dev", "/var", "/run")
	for _, dir := range v.read {
		if b.private.holds(v, dir) == "" {
			mount("--ro-bind", dir, dir)
		}
	}
	mount("--ro-bind", b.private.at("etc"), "/etc")
	for _, dir := range etcMounts {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			args = append(args, "--ro-bind", dir, dir)
			if err := os.MkdirAll(b.private.at(dir), 0o755); err != nil {
				return nil, err
			}
		}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--size", "268435456", "--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--remount-ro", "/proc")
	mount("--bind", b.private.at("tmp"), "/tmp")
	mount("--bind", b.private.at("home"), v.home)
	for _, dir := range v.read { // those that the private directories would cover
		if b.private.holds(v, dir) != "" {
			mount("--ro-bind", dir, dir)
		}
	}
	mount("--bind", v.ws, v.ws)
	for _, dir := range v.hide {
		args = append(args, "--ro-bind", b.private.at("empty"), dir)
	}
	if b.o.Network == AllNetwork {
		for _, name := range []string{"/etc/resolv.conf", "/etc/hosts"} {
			if data, err := os.ReadFile(name); err == nil {
				if err := os.WriteFile(b.private.at(name), data, 0o644); err != nil {
					return nil, err
				}
			}
		}
	}
	if b.o.Network == Hosts {
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		mount("--bind", b.private.at("proxy"), proxyDir)
		mount("--ro-bind", exe, forwarderPath)
	}
	return args, b.lay(root, places)
}

// lay makes the places to mount on below root.
func (b *bubblewrap) lay(root string, places []string) error {
	for link, target := range b.view.links {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	for _, place := range places {
		if b.covered(place) {
			continue
		}
		at := b.private.holds(b.view, place)
		if at == "" {
			at = filepath.Join(root, place)
		}
		if info, err := os.Stat(place); err == nil && !info.IsDir() || place == forwarderPath {
			if err := touch(at); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("/tmp", filepath.Join(b.private.at("root"), "var/tmp")); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Chmod(b.private.at("tmp"), 0o1777)
}

// covered reports whether the place is there by being in a directory that is
// visible.
func (b *bubblewrap) covered(place string) bool {
	return slices.ContainsFunc(b.view.read, func(dir string) bool { return place != dir && within(dir, place) })
}

func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

// Start implements [workspace.Cage].
func (b *bubblewrap) Start(c *workspace.Spawn) (workspace.Process, error) {
	if err := b.ready(); err != nil {
		return nil, fmt.Errorf("cannot make the sandbox: %w", err)
	}
	env, err := b.prepare(c)
	if err != nil {
		return nil, err
	}
	x := c.Cmd(b.program)
	ends, err := b.ends(x)
	if err != nil {
		return nil, err
	}
	x.Env, x.Dir = env, "/"
	x.Args = slices.Concat([]string{"bwrap"}, b.args, b.protect(), []string{"--chdir", c.Dir, "--"}, b.wrapped(c.Args))
	p, err := begin(b.limits.starter, x)
	closeAll(ends.theirs)
	if err == nil {
		if err = b.release(p, ends); err != nil {
			b.works().forget()
		}
	}
	ends.close()
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Args[0], err)
	}
	p.after = b.running(p)
	return p, nil
}

// protect are the arguments that make read-only what is protected.
func (b *bubblewrap) protect() []string {
	var args []string
	for _, at := range b.guard.mounts() {
		args = append(args, "--ro-bind", at, at)
	}
	return args
}

// ends are the descriptors beside the standard ones: the filter, where bwrap
// tells the process id of the cage, and what the cage waits for.
type ends struct {
	theirs []*os.File
	info   *os.File
	block  *os.File
}

func (e *ends) close() { closeAll([]*os.File{e.info, e.block}) }

func (b *bubblewrap) ends(x *exec.Cmd) (*ends, error) {
	filter, err := os.Open(b.filter)
	if err != nil {
		return nil, err
	}
	infoR, infoW, err := os.Pipe()
	if err != nil {
		filter.Close()
		return nil, err
	}
	blockR, blockW, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{filter, infoR, infoW})
		return nil, err
	}
	x.ExtraFiles = []*os.File{filter, infoW, blockR}
	return &ends{theirs: x.ExtraFiles, info: infoR, block: blockW}, nil
}

// release gets hold of the cage, gives it its limits, and lets the command
// begin.
func (b *bubblewrap) release(p *process, e *ends) error {
	var info struct {
		Child int `json:"child-pid"`
	}
	err := json.NewDecoder(e.info).Decode(&info)
	if err != nil || info.Child <= 0 {
		p.abandon()
		return fmt.Errorf("bubblewrap could not make the sandbox (%v); what it said stands in the command's error output", err)
	}
	if err = p.hold(info.Child); err == nil {
		err = b.limits.impose(info.Child)
	}
	if err == nil {
		_, err = e.block.Write([]byte{1})
	}
	if err != nil {
		p.abandon()
	}
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// tryOut runs a command.
func (b *bubblewrap) tryOut(ctx context.Context) error {
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
	_, _ = said.ReadFrom(r) // what was said is for the error below
	r.Close()
	if err != nil {
		return fmt.Errorf("%w: bwrap does not work here: %s", ErrNone, strings.TrimSpace(said.String()+" ("+err.Error()+")"))
	}
	return nil
}

// sorted is for what people read.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
