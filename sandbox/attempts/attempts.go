//go:build linux

// Package attempts tries to break out of a sandbox in every way that is known
// to have worked somewhere, and looks on the outside for what came of it. It is
// what `openmanus sandbox check` runs, and a suite for whoever makes a cage.
//
// An attempt that could not be made counts as failed: a cage is not safe
// because a tool was missing.
package attempts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// An Attempt is a way out.
type Attempt struct {
	Class string
	Name  string

	try func(t *try) error
}

// A Result is what came of an attempt.
type Result struct {
	Attempt
	Breach error // what it reached; nil if it was held
	Fault  error // why it could not be made
	Took   time.Duration
}

// Held reports whether the attempt was made, and the cage held.
func (r Result) Held() bool { return r.Breach == nil && r.Fault == nil }

// A Cage is what attempts are made on.
type Cage struct {
	Kind sandbox.Kind

	// Engine and Image are those of [sandbox.Options], for containers.
	Engine, Image string

	// Proxy filters what goes out, for attempts on the network "hosts"; it
	// lets through the host allowed.example alone.
	Proxy func(context.Context, net.Listener) error
}

// All are all attempts, class by class.
func All() []Attempt {
	var all []Attempt
	for _, class := range []struct {
		name     string
		attempts []Attempt
	}{
		{"writing outside", writing()},
		{"reading secrets", reading()},
		{"processes, IPC, network", reaching()},
		{"persistence", persisting()},
		{"kernel surface", kernel()},
		{"resources, survivors", resources()},
		{"file tools", fileTools()},
		{"the way out", wayOut()},
	} {
		for _, a := range class.attempts {
			a.Class = class.name
			all = append(all, a)
		}
	}
	return all
}

// Nothing is an attempt to do nothing: it fails where there is no such cage.
func Nothing() Attempt {
	return Attempt{Name: "nothing", try: func(t *try) error {
		_, err := t.open()
		return err
	}}
}

// Run makes the attempts, several at a time, and returns what came of them in
// their order.
func (c Cage) Run(ctx context.Context, all []Attempt) []Result {
	results := make([]Result, len(all))
	places := make(chan struct{}, 4)
	var running sync.WaitGroup
	for i, a := range all {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			results[i] = c.one(ctx, a)
		})
	}
	running.Wait()
	return results
}

// breach is an error that says what an attempt reached.
type breach struct{ text string }

func (b breach) Error() string { return b.text }

func reached(format string, a ...any) error { return breach{fmt.Sprintf(format, a...)} }

func (c Cage) one(ctx context.Context, a Attempt) (r Result) {
	r.Attempt = a
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	t := &try{ctx: ctx, cage: c}
	err := t.setUp()
	if err == nil {
		err = a.try(t)
	}
	err = errors.Join(err, t.tearDown())
	var b breach
	if errors.As(err, &b) {
		r.Breach = b
	} else {
		r.Fault = err
	}
	r.Took = time.Since(began)
	return r
}

// A try is what an attempt has at hand: a workspace, a directory outside with a
// canary in it, and a cage that is opened when it is needed.
type try struct {
	ctx     context.Context
	cage    Cage
	top     string
	dir     string // the workspace
	outside string
	canary  string // content of outside/canary

	options func(*sandbox.Options)
	ws      *workspace.Dir
	clean   []func()
}

func (t *try) setUp() (err error) {
	if t.top, err = os.MkdirTemp("", "openmanus-attempt-"); err != nil {
		return err
	}
	if t.top, err = filepath.EvalSymlinks(t.top); err != nil {
		return err
	}
	t.dir, t.outside = filepath.Join(t.top, "ws"), filepath.Join(t.top, "outside")
	t.canary = "canary-" + filepath.Base(t.top)
	return errors.Join(os.Mkdir(t.dir, 0o755), t.give(t.dir), os.Mkdir(t.outside, 0o755), t.plant("canary", t.canary))
}

// ordinary is a user who is not root.
const ordinary = 1000

// give gives a file of the workspace to whom commands run as. In containers
// they are not root, also where we are.
func (t *try) give(path string) error {
	if os.Getuid() != 0 || t.cage.Kind != sandbox.Docker && t.cage.Kind != sandbox.GVisor {
		return nil
	}
	return os.Lchown(path, ordinary, ordinary)
}

func (t *try) tearDown() error {
	var err error
	if t.ws != nil {
		err = t.ws.Close()
	}
	for i := len(t.clean) - 1; i >= 0; i-- {
		t.clean[i]()
	}
	return errors.Join(err, os.RemoveAll(t.top))
}

func (t *try) plant(name, content string) error {
	return os.WriteFile(filepath.Join(t.outside, name), []byte(content), 0o644)
}

// put makes a file in the workspace, from outside.
func (t *try) put(name, content string) error {
	path := filepath.Join(t.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
	for ; err == nil && path != t.dir; path = filepath.Dir(path) {
		err = t.give(path)
	}
	return err
}

// open opens the cage.
func (t *try) open() (*workspace.Dir, error) {
	if t.ws != nil {
		return t.ws, nil
	}
	o := sandbox.Options{Dir: t.dir, Kind: t.cage.Kind, Engine: t.cage.Engine, Image: t.cage.Image}
	if t.options != nil {
		t.options(&o)
	}
	var err error
	t.ws, err = sandbox.Open(t.ctx, o)
	return t.ws, err
}

// tried is what every script prints at its end: without it the attempt was not
// made.
const tried = "TRIED"

// run runs a script in the cage, with OUT as the directory outside, and returns
// what it printed.
func (t *try) run(program, script string, args ...string) (string, error) {
	ws, err := t.open()
	if err != nil {
		return "", err
	}
	out := new(limited)
	err = ws.Run(t.ctx, &workspace.Cmd{
		Args: append([]string{program, "-c", script}, args...), Env: []string{"OUT=" + t.outside}, Stdout: out, Stderr: out,
	})
	text := out.String()
	if !strings.Contains(text, tried) {
		return text, fmt.Errorf("the attempt could not be made: %w: %s", err, text)
	}
	return text, nil
}

// sh runs a shell script that goes on after errors.
func (t *try) sh(script string) (string, error) {
	return t.run("sh", script+"\necho "+tried)
}

// py runs a Python script; what raises is shown, and counts as made.
func (t *try) py(script string) (string, error) {
	body := "import traceback\ntry:\n  import sys,os,socket,ctypes,errno,time\n  OUT=os.environ['OUT']\n  libc=ctypes.CDLL(None,use_errno=True)\n  libc.syscall.restype=ctypes.c_long\n" +
		indent(script) + "\nexcept BaseException:\n  traceback.print_exc()\nprint('" + tried + "',flush=True)\n"
	return t.run("/usr/bin/python3", body)
}

func indent(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// untouched fails if anything outside is other than it was.
func (t *try) untouched() error {
	entries, err := os.ReadDir(t.outside)
	if err != nil {
		return reached("the directory outside is gone: %v", err)
	}
	for _, e := range entries {
		if e.Name() != "canary" {
			return reached("it made %s outside", e.Name())
		}
	}
	data, err := os.ReadFile(filepath.Join(t.outside, "canary"))
	if err != nil || string(data) != t.canary {
		return reached("it changed a file outside: %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(t.outside, "canary")); err != nil || info.Mode().Perm() != 0o644 {
		return reached("it changed the mode of a file outside")
	}
	return nil
}

// writes is an attempt to change what is outside by a shell script.
func writes(name, script string) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		if _, err := t.sh(script); err != nil {
			return err
		}
		return t.untouched()
	}}
}

// tells is an attempt whose output must not contain the canary.
func tells(name, script string, prepare func(t *try) error) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		if prepare != nil {
			if err := prepare(t); err != nil {
				return err
			}
		}
		out, err := t.sh(script)
		if err != nil {
			return err
		}
		if strings.Contains(out, t.canary) {
			return reached("it read a secret")
		}
		return t.untouched()
	}}
}

// calls is an attempt to use what the kernel offers: the script prints REACHED
// if it got there.
func calls(name, script string) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		out, err := t.py(script)
		if err != nil {
			return err
		}
		if strings.Contains(out, "REACHED") {
			return reached("the kernel let it: %s", strings.TrimSpace(out))
		}
		return t.untouched()
	}}
}

// limited keeps the beginning of what is written to it, and counts the rest.
type limited struct {
	mu  sync.Mutex
	buf bytes.Buffer
	n   int64
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += int64(len(p))
	if room := 1<<20 - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// listen plants a listener outside, and returns what says whether anybody came.
func (t *try) listen(network, address string) (net.Addr, func() error, error) {
	var mu sync.Mutex
	came := 0
	note := func() { mu.Lock(); came++; mu.Unlock() }
	var addr net.Addr
	if strings.HasPrefix(network, "udp") {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return nil, nil, err
		}
		t.clean = append(t.clean, func() { c.Close() })
		addr = c.LocalAddr()
		go func() {
			buf := make([]byte, 100)
			for {
				_, from, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				note()
				_, _ = c.WriteTo([]byte(t.canary), from) // it may have gone
			}
		}()
	} else {
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, nil, err
		}
		t.clean = append(t.clean, func() { l.Close() })
		addr = l.Addr()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				note()
				_, _ = io.WriteString(c, t.canary) // it may have hung up
				c.Close()
			}
		}()
	}
	return addr, func() error {
		// We come last: when we were answered, all others have been counted.
		c, err := net.Dial(network, addr.String())
		if err != nil {
			return err
		}
		defer c.Close()
		if strings.HasPrefix(network, "udp") {
			_, err = c.Write([]byte("x"))
		}
		if _, rerr := c.Read(make([]byte, 100)); err != nil || rerr != nil {
			return fmt.Errorf("the listener does not answer: %w", errors.Join(err, rerr))
		}
		mu.Lock()
		defer mu.Unlock()
		if came > 1 {
			return reached("it reached a listener outside: %s %s", network, addr)
		}
		return nil
	}, nil
}
