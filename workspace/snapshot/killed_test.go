//go:build unix

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
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// childEnv is what a child gets as JSON: an order.
const childEnv = "SNAPSHOT_TEST_CHILD"

// An order tells a child to undo a step.
type order struct {
	Dir, Blobs    string
	Before, After Tree
	Kill          int    // it kills itself at this write, counted from 1; 0: it does not
	Largest       uint64 // no file may be larger; 0: no limit

	before func() error // the beforeWrite of the reader
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
	o.before = func() error {
		if n++; n == o.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
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
	r.beforeWrite, r.volatile = o.before, true
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
dd if=/dev/zero of=sparse bs=1 count=1 seek=200000 status=none
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

// errEnded is where a restore ends that a test ends.
var errEnded = errors.New("the process is no more")

// ended does what the order says, in this process, until the change number n, at which it
// ends as a process does that is killed: nothing is cleaned up. It reports whether that
// came to pass.
func (o order) ended(t *testing.T, n int) (is bool) {
	t.Helper()
	o.before = func() error {
		switch n--; {
		case n == 0:
			panic(errEnded)
		case n < 0: // by what is deferred
			return errEnded
		}
		return nil
	}
	defer func() {
		if r := recover(); r != nil && r != any(errEnded) {
			panic(r)
		} else if r != nil {
			is = true
		}
	}()
	_, err := o.undo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// copied returns the order for a copy of the directory as it is after the step.
func (o order) copied(t *testing.T) (order, *os.Root) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", o.Dir, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	t.Cleanup(func() { // for the removal of the directory
		_ = exec.Command("chmod", "-R", "u+rwx", dir).Run()
	})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	o.Dir = dir
	return o, root
}

// completed checks that another restore does what is missing.
func (o order) completed(t *testing.T, when string, root *os.Root, want map[string]string) {
	t.Helper()
	again, err := o.undo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range again {
		if !c.Done {
			t.Errorf("%s: %s: %s", when, c.Name, c.Why)
		}
	}
	compareListings(t, when, listing(t, root), want)
}

// eitherContent checks that a file that was to be replaced is in one of both states, and
// that no other was touched.
func eitherContent(t *testing.T, when string, now, after, before map[string]string) {
	t.Helper()
	for name, what := range now {
		switch {
		case strings.Contains(name, tempPrefix), strings.HasPrefix(what, "d"): // directories are opened for a while
		case what != after[name] && what != before[name] && contentOf(what) != contentOf(after[name]):
			t.Errorf("%s: %s is %.60s, neither %.60s nor %.60s", when, name, what, after[name], before[name])
		}
	}
}

// contentOf returns what a listing says of a file without its permissions.
func contentOf(what string) string {
	_, content, _ := strings.Cut(what, " ")
	return content
}

// skipRoot skips a test that TestAsAnOrdinaryUser runs: for root, less can go wrong.
func skipRoot(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "linux" && os.Getuid() == 0 {
		t.Skip("TestAsAnOrdinaryUser runs it")
	}
}

// A restore that ends at any of its changes is completed when it is repeated, also if
// that one ends, too.
func TestEndedAtEveryWrite(t *testing.T) {
	skipRoot(t)
	template, o, want := newOrder(t, beforeEverything, everything)
	after := listing(t, template.root)
	for n := 1; ; n++ {
		o, root := o.copied(t)
		is := o.ended(t, n)
		when := fmt.Sprint("ended at ", n)
		eitherContent(t, when, listing(t, root), after, want)
		if is && n%4 == 1 {
			o.ended(t, n/2+1)
		}
		o.completed(t, when, root, want)
		if !is && n < 60 {
			t.Errorf("there were only %d changes", n)
		}
		if !is || t.Failed() {
			return
		}
	}
}

// Where the disk is full from any change on, each file has either content, and what is
// missing can be done later.
func TestFullAtEveryWrite(t *testing.T) {
	skipRoot(t)
	template, o, want := newOrder(t, beforeEverything, everything)
	after := listing(t, template.root)
	for n := 1; ; n++ {
		o, root := o.copied(t)
		left, full := n, false
		o.before = func() error {
			if left--; left < 0 {
				full = true
				return syscall.ENOSPC
			}
			return nil
		}
		when := fmt.Sprint("full at ", n)
		out, err := o.undo(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		said := slices.ContainsFunc(out, func(c Outcome) bool { return !c.Done && c.Why == syscall.ENOSPC.Error() })
		now := listing(t, root)
		eitherContent(t, when, now, after, want)
		o.before = nil
		o.completed(t, when, root, want)
		if done := maps.Equal(now, want); !said && !done && full {
			t.Errorf("%s: it does not say so: %v", when, out)
		}
		if !full || t.Failed() {
			return
		}
	}
}

// The same with a process that is killed: at the beginning, in the middle, and near the
// end.
func TestKilled(t *testing.T) {
	_, o, want := newOrder(t, beforeEverything, everything)
	for _, n := range []int{1, 20, 55} {
		o, root := o.copied(t)
		o.Kill = n
		if out, killed := o.run(t); !killed {
			t.Errorf("not killed: %s", out)
		}
		o.completed(t, fmt.Sprint("killed at ", n), root, want)
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
