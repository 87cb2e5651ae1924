// Package workspacetest is the conformance suite of [workspace.Workspace].
// Every implementation runs it:
//
//	func TestDir(t *testing.T) {
//		workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace {
//			d, err := workspace.NewDir(dir)
//			if err != nil {
//				t.Fatal(err)
//			}
//			return d
//		})
//	}
//
// It needs what every POSIX system has in its PATH (sh, sleep, mkfifo, cat) and
// setsid, inside the workspace. It knows processes by the pipe that they hold
// open and never by their ids, which may differ between inside and outside.
package workspacetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// limit is how long a test waits for something that happens at once, before it
// takes it for not happening.
const limit = 30 * time.Second

// A box is a workspace under test.
type box struct {
	*testing.T

	ws      workspace.Workspace
	dir     string // its root
	outside string // a directory that it must not reach
}

// Run runs the suite. open returns a new workspace whose root is dir; the suite
// closes it.
func Run(t *testing.T, open func(t *testing.T, dir string) workspace.Workspace) {
	for _, c := range append(files(), commands()...) {
		t.Run(c.name, func(t *testing.T) {
			c.test(newBox(t, open))
		})
	}
}

type testCase struct {
	name string
	test func(b *box)
}

func newBox(t *testing.T, open func(t *testing.T, dir string) workspace.Workspace) *box {
	outer, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{T: t, dir: filepath.Join(outer, "ws"), outside: filepath.Join(outer, "outside")}
	for _, dir := range []string{b.dir, b.outside} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	b.ws = open(t, b.dir)
	t.Cleanup(func() {
		if err := b.ws.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

// put makes a file behind the workspace's back.
func (b *box) put(path, content string) {
	b.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

// has fails unless the file at path has that content.
func (b *box) has(path, content string) {
	b.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		b.Error(err)
	} else if string(got) != content {
		b.Errorf("%s contains %q, want %q", path, got, content)
	}
}

// at is a path below the root.
func (b *box) at(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}

func (b *box) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// within calls do and fails if it hangs.
func (b *box) within(what string, do func()) {
	b.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		b.Fatalf("%s hangs", what)
	}
}

// sh runs a script and returns what it printed.
func (b *box) sh(script string) (string, error) {
	var out strings.Builder
	err := b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
	return out.String(), err
}

// code is the exit code in err, or -1.
func code(err error) int {
	var x *workspace.ExitError
	if errors.As(err, &x) {
		return x.Code
	}
	return -1
}

// A life is a pipe that processes of the workspace hold open. It tells when the
// last of them is dead.
type life struct {
	b    *box
	dead chan error
}

// life makes the pipe NAME in the root. Processes hold it once they have run
// `exec 9>NAME`, which waits until both sides are there.
func (b *box) life(name string) *life {
	b.Helper()
	if out, err := b.sh("mkfifo " + name); err != nil {
		b.Fatalf("mkfifo: %v: %s", err, out)
	}
	l := &life{b, make(chan error, 1)}
	go func() {
		f, err := os.Open(b.at(name))
		if err == nil {
			_, err = f.Read(make([]byte, 1))
			f.Close()
		}
		l.dead <- err
	}()
	return l
}

// over fails unless every process that held the pipe is dead.
func (l *life) over() {
	l.b.Helper()
	select {
	case err := <-l.dead:
		if err == nil {
			l.b.Error("a process wrote into the pipe")
		}
	case <-time.After(limit):
		l.b.Fatal("a process that the command started is still alive")
	}
}

// A signalWriter closes seen when the text has been written to it.
type signalWriter struct {
	text string
	got  strings.Builder
	seen chan struct{}
}

func newSignalWriter(text string) *signalWriter {
	return &signalWriter{text: text, seen: make(chan struct{})}
}

func (w *signalWriter) Write(p []byte) (int, error) {
	before := strings.Contains(w.got.String(), w.text)
	w.got.Write(p)
	if !before && strings.Contains(w.got.String(), w.text) {
		close(w.seen)
	}
	return len(p), nil
}

// wait waits for the text.
func (w *signalWriter) wait(b *box) {
	b.Helper()
	select {
	case <-w.seen:
	case <-time.After(limit):
		b.Fatalf("the command did not print %q", w.text)
	}
}

// until runs a script, and calls stop once it has printed "ready". It returns
// what Run returned.
func (b *box) until(script string, grace time.Duration, stop func(cancel context.CancelFunc)) (string, error) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	out := newSignalWriter("ready")
	done := make(chan error, 1)
	go func() {
		done <- b.ws.Run(ctx, &workspace.Cmd{Args: []string{"sh", "-c", script}, Stdout: out, Stderr: out, Grace: grace})
	}()
	out.wait(b)
	stop(cancel)
	select {
	case err := <-done:
		return out.got.String(), err
	case <-time.After(limit):
		b.Fatal("Run does not return")
		return "", nil
	}
}
