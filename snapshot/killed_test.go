package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// childEnv is what a child gets as JSON: an order.
const childEnv = "OPENMANUS_SNAPSHOT_CHILD"

// An order tells a child to undo a step.
type order struct {
	Dir, Blobs    string
	Before, After Tree
	Kill          int    // it kills itself at this write, counted from 1; 0: it does not
	Largest       uint64 // no file may be larger; 0: no limit
}

// filesOf are blobs in a directory, so that another process can read them.
type filesOf string

func (d filesOf) Put(_ context.Context, data []byte) (openmanus.Ref, error) {
	ref := openmanus.RefOf(data)
	return ref, os.WriteFile(filepath.Join(string(d), string(ref)), data, 0o644)
}

func (d filesOf) Get(_ context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), string(ref)))
}

// child does what the order says, and writes the outcomes that are not done.
func child() {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(childEnv)), &o); err != nil {
		panic(err)
	}
	n := 0
	beforeWrite = func() {
		if n++; n == o.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if o.Largest > 0 {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: o.Largest, Max: o.Largest}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}
	out, err := o.undo(context.Background())
	if err != nil {
		panic(err)
	}
	for _, o := range out {
		if !o.Done {
			fmt.Printf("%s: %s\n", o.Name, o.Why)
		}
	}
}

// undo undoes the step, in this process. It plans as a process must that knows the
// trees alone.
func (o *order) undo(ctx context.Context) ([]Outcome, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := NewReader(filesOf(o.Blobs))
	plan, err := r.Undo(ctx, o.After, []Step{{Before: o.Before, After: o.After}})
	if err != nil {
		return nil, err
	}
	return r.Restore(ctx, root, plan.Ops)
}

// run lets a child do it. It returns what the child wrote, and whether it was killed.
func (o order) run(t *testing.T) (out string, killed bool) {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(data))
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if killed = status.Signaled() && status.Signal() == syscall.SIGKILL; err != nil && !killed {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	return b.String(), killed
}

// everything is what a step does that is hard to undo. Each line is run by sh.
const everything = `
echo changed > d1/file; chmod 600 d1/file
rm -r d2
echo in place >> d3/file
rm d4/file; mkdir d4/file; echo a >d4/file/a
rm -r becomes; echo a file > becomes
mkdir -p new/deep; echo 1 > new/one; echo 2 > new/deep/two; chmod 555 new/deep new
chmod 755 locked; echo 2 > locked/file; rm locked/gone; chmod 555 locked
ln -sfn elsewhere link
rm sparse
chmod 700 script
mkdir .git/refs/heads/x; echo 2 > .git/HEAD
`

const beforeEverything = `
mkdir d1 d2 d3 d4 becomes locked .git .git/refs .git/refs/heads
for i in 1 2 3 4; do echo content $i > d$i/file; done
mkdir -m 550 d2/closed; echo a > becomes/a; ln -s nowhere link; echo script > script; chmod 751 script
echo 1 > locked/file; echo 1 > locked/gone; chmod 555 locked
dd if=/dev/zero of=sparse bs=1 count=1 seek=3000000 status=none
echo 1 > .git/HEAD
`

// shell runs a script in the place.
func (p *place) shell(script string) {
	p.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%v:\n%s", err, out)
	}
}

// newOrder returns a place where a step was made, and the order to undo it.
func newOrder(t *testing.T, before, step string) (*place, order, map[string]string) {
	p := newPlace(t, Options{})
	o := order{Dir: p.dir, Blobs: t.TempDir()}
	var err error
	if p.tracker, err = NewTracker(p.root, filesOf(o.Blobs), Options{}); err != nil {
		t.Fatal(err)
	}
	p.shell(before)
	o.Before = p.take().Tree
	was := listing(t, p.root)
	p.shell(step)
	o.After = p.take().Tree
	t.Cleanup(func() { // for the removal of the directory
		p.shell("chmod -R u+rwx .")
	})
	return p, o, was
}

// A restore whose process is killed at any write is completed when it is repeated. With
// OPENMANUS_PROGRAMS, it is every write, otherwise every fourth.
func TestKilled(t *testing.T) {
	step := 4
	if os.Getenv("OPENMANUS_PROGRAMS") != "" {
		step = 1
	}
	for n := 1; ; n += step {
		p, o, want := newOrder(t, beforeEverything, everything)
		o.Kill = n
		out, killed := o.run(t)
		if !killed && out != "" {
			t.Errorf("not killed: %s", out)
		}
		if killed && n%8 == 5 { // and once more
			o.Kill = n / 2
			o.run(t)
		}
		again, err := o.undo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range again {
			if !c.Done {
				t.Errorf("killed at %d: %s: %s", n, c.Name, c.Why)
			}
		}
		compareListings(t, fmt.Sprint("killed at ", n), listing(t, p.root), want)
		if !killed {
			if n < 40 {
				t.Errorf("there were only %d writes", n)
			}
			return
		}
		if t.Failed() {
			return
		}
	}
}

// compareListings compares everything but what stays in git directories.
func compareListings(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	for name := range got {
		if _, kind := inGit(name); want[name] == "" && kind == "" {
			t.Errorf("%s: there is %s", when, name)
		}
	}
	for name, should := range want {
		if got[name] != should {
			t.Errorf("%s: %s is %.60s, not %.60s", when, name, cmp.Or(got[name], "not there"), should)
		}
	}
}

// Where the disk is full, what fits is put back, the rest stays as it is, and another
// try does the rest.
func TestDiskIsFull(t *testing.T) {
	p, o, want := newOrder(t,
		"printf %100000s x > large; echo 1 > small; mkdir d; printf %100000s y > d/gone",
		"echo 2 > large; echo 2 > small; rm -r d; echo 3 > new")
	o.Largest = 50000
	out, _ := o.run(t)
	if !strings.Contains(out, "large: file too large") || !strings.Contains(out, "d/gone: file too large") {
		t.Errorf("it says %s", out)
	}
	got := listing(t, p.root)
	partly := map[string]string{"large": `-rw-r--r-- "2\n"`, "small": want["small"], "d": want["d"]}
	compareListings(t, "with a full disk", got, partly)
	if _, err := o.undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	compareListings(t, "with room", listing(t, p.root), want)
}

// A program that has a file open while it is put back writes into what it opened.
func TestFileIsOpen(t *testing.T) {
	p, o, want := newOrder(t, "echo 1 > a; echo 1 > b", "echo 2 > a; rm b")
	f, err := p.root.OpenFile("a", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := o.undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "more")
	compareListings(t, "with an open file", listing(t, p.root), want)
}

// changing are blobs that change a file when something is stored.
type changing struct {
	openmanus.Blobs
	change func()
}

func (c *changing) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	if c.change != nil {
		c.change()
	}
	return c.Blobs.Put(ctx, data)
}

// A file that changes while it is read is right in the next snapshot, and each
// snapshot can be read.
func TestFilesChangeWhileTheyAreRead(t *testing.T) {
	random := make([]byte, 12<<20) // more than a pack
	for i, x := 0, uint32(1); i < len(random); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		random[i] = byte(x)
	}
	for name, change := range map[string]func(string) error{
		"truncated": func(f string) error { return os.Truncate(f, 10) },
		"replaced": func(f string) error {
			return errors.Join(os.Remove(f), os.WriteFile(f, []byte("other"), 0o600))
		},
		"removed": os.Remove,
		"a directory": func(f string) error {
			return errors.Join(os.Remove(f), os.Mkdir(f, 0o700))
		},
		"overwritten": func(f string) error {
			return os.WriteFile(f, bytes.Repeat([]byte("z"), len(random)), 0o600)
		},
		"longer": func(f string) error {
			w, err := os.OpenFile(f, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = w.Write(random)
			return errors.Join(err, w.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, Options{})
			blobs := &changing{Blobs: p.blobs}
			var err error
			if p.tracker, err = NewTracker(p.root, blobs, Options{}); err != nil {
				t.Fatal(err)
			}
			p.write("a", string(random))
			p.write("b", "stays")
			n := 0
			blobs.change = func() {
				if n++; n == 1 {
					if err := change(filepath.Join(p.dir, "a")); err != nil {
						t.Error(err)
					}
				}
			}
			first := p.take().Tree
			if n == 0 {
				t.Fatal("it was not read in parts")
			}
			second := p.take().Tree
			for _, tree := range []Tree{first, second} {
				for c, err := range p.reader.Diff(t.Context(), Tree{}, tree) {
					if err != nil {
						t.Fatal(err)
					}
					if c.Now.Kind == File && c.Now.Content != nil {
						err = p.reader.WriteTo(t.Context(), io.Discard, c.Now)
					}
					if err != nil {
						t.Errorf("%s: %v", c.Name, err)
					}
				}
			}
			want, err := os.ReadFile(filepath.Join(p.dir, "a"))
			switch e, err2 := p.reader.Lookup(t.Context(), second, "a"); {
			case errors.Is(err, fs.ErrNotExist):
				if !errors.Is(err2, fs.ErrNotExist) {
					t.Errorf("it is there: %v, %v", e, err2)
				}
			case err != nil: // a directory
				if err2 != nil || e.Kind != Dir {
					t.Errorf("%v, %v", e, err2)
				}
			case p.cat(second, "a") != string(want):
				t.Error("the second snapshot has another content")
			}
		})
	}
}
