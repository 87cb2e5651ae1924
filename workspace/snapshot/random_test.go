//go:build unix

package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
)

// An actor changes files of a directory at random, as a program or a person does.
type actor struct {
	r       *rand.Rand
	root    *os.Root
	names   []string        // that it may touch
	touched map[string]bool // that it has changed, or tried to, and all above and below
}

func (a *actor) name() string {
	n := a.names[a.r.IntN(len(a.names))]
	for p := n; p != "."; p = path.Dir(p) {
		a.touched[p] = true
		if to, err := a.root.Readlink(p); err == nil { // through which it may write
			a.touched[path.Join(path.Dir(p), to)] = true
		}
	}
	return n
}

// act makes one change. A refused operation is no change.
func (a *actor) act() {
	n := a.name()
	dir := path.Dir(n)
	switch a.r.IntN(14) {
	case 0, 1, 2:
		a.root.MkdirAll(dir, 0o755)
		a.root.WriteFile(n, fmt.Appendf(nil, "%d %s", a.r.IntN(5), strings.Repeat("x", a.r.IntN(3000))), 0o644)
	case 3: // in place, which keeps the inode
		if f, err := a.root.OpenFile(n, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			fmt.Fprint(f, "more", a.r.IntN(3))
			f.Close()
		}
	case 4:
		a.root.Remove(n)
	case 5:
		a.remove(n)
	case 6: // also over another kind
		to := a.name()
		a.below(n)
		a.below(to)
		a.root.Rename(n, to)
		a.below(to)
	case 7:
		mode := []fs.FileMode{0o644, 0o755, 0o600, 0o444}[a.r.IntN(4)]
		if info, err := a.root.Lstat(n); err == nil && info.IsDir() && os.Geteuid() != 0 {
			mode |= 0o700 // the test looks into it, which only root can without
		}
		a.root.Chmod(n, mode)
	case 8:
		a.root.MkdirAll(dir, 0o755)
		a.root.Symlink("target"+strconv.Itoa(a.r.IntN(3)), n)
	case 9: // a file becomes a directory
		a.remove(n)
		a.root.MkdirAll(n, 0o750)
		a.root.WriteFile(n+"/in", []byte("inside"), 0o644)
		a.touched[n+"/in"] = true
	case 10: // a rename to the same name in other case
		base := path.Base(n)
		to := path.Join(dir, strings.ToUpper(base))
		a.below(n)
		a.below(to)
		a.touched[to] = true
		a.root.Rename(n, to)
		a.below(to)
	case 12:
		if a.r.IntN(3) == 0 { // it takes long to start
			a.shell(n)
		}
	case 13:
		if a.r.IntN(40) == 0 { // that even longer
			a.python(n)
		}
	case 11:
		from := a.name()
		if data, err := a.root.ReadFile(from); err == nil {
			a.root.MkdirAll(dir, 0o755)
			a.root.WriteFile(n, data, 0o644)
		}
	}
}

// shell lets a command of the shell change n.
func (a *actor) shell(n string) {
	to := a.name()
	a.below(n)
	a.below(to)
	command := []string{
		`echo "$RANDOM" > "$1"`,
		`sed -i s/x/y/ "$1"`,
		`mkdir -p "$(dirname "$2")" && mv "$1" "$2"`,
		`mkdir -p "$(dirname "$2")" && cp -a "$1" "$2"`,
		`ln -sfn "$2" "$1"`,
		`mkdir -p "$(dirname "$2")" && ln -f "$1" "$2"`,
		`rm -rf "$1" && mkdir -p "$1" && cd "$1" && seq 9 | while read i; do echo $i > f$i; done`,
		`find "$1" -type f -delete`,
		`truncate -s 100000 "$1" && printf end >> "$1"`,
		`touch -d 2001-01-01 "$1"`,
		`test -d "$1" && chmod 500 "$1" || chmod 400 "$1"`,
		`dd if=/dev/urandom of="$1" bs=1000 count=3 status=none`,
		`mkfifo "$1"; rm -f "$1"`,
		`cat "$2" >> "$1"`,
	}[a.r.IntN(14)]
	a.run(n, to, "sh", "-c", command, "sh", "./"+n, "./"+to)
}

// python lets a program in Python change n.
func (a *actor) python(n string) {
	to := a.name()
	a.below(n)
	a.below(to)
	program := []string{
		`import pathlib, sys; pathlib.Path(sys.argv[1]).write_text("from Python\n" * 99)`,
		`import os, sys; os.replace(sys.argv[1], sys.argv[2])`,
		`import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)`,
		`import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2], symlinks=True, dirs_exist_ok=True)`,
		`import sys; f = open(sys.argv[1], "r+b"); f.seek(5); f.write(b"in the middle")`,
		`import os, sys; os.chmod(sys.argv[1], 0o4711)`,
	}[a.r.IntN(6)]
	a.run(n, to, "python3", "-c", program, "./"+n, "./"+to)
}

// run runs a program in the directory, which may change n and to. If it fails, it has
// changed a part or nothing.
func (a *actor) run(n, to, program string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.Dir = a.root.Name()
	_ = cmd.Run()
	a.below(n)
	a.below(to)
	a.below(path.Join(to, path.Base(n)))
}

func (a *actor) remove(n string) {
	a.below(n)
	a.root.RemoveAll(n)
}

// below notes everything in a directory as touched.
func (a *actor) below(n string) {
	walkNames(a.root, n, func(name string) error {
		a.touched[name] = true
		return nil
	})
}

// walkNames calls each with the names in a directory n of root, and with n. Unlike
// [fs.WalkDir], it takes names with any bytes.
func walkNames(root *os.Root, n string, each func(name string) error) error {
	return filepath.WalkDir(filepath.Join(root.Name(), n), func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		name, err = filepath.Rel(root.Name(), name)
		return errors.Join(err, each(name))
	})
}

// listing returns what a directory contains, for people and for comparison.
func listing(t testing.TB, root *os.Root) map[string]string {
	m := make(map[string]string)
	err := walkNames(root, ".", func(name string) error {
		if name == "." {
			return nil
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := root.Readlink(name)
			m[name] = "link to " + to
			return err
		case info.IsDir():
			m[name] = info.Mode().String()
		default:
			data, err := root.ReadFile(name)
			m[name] = fmt.Sprintf("%v %q", info.Mode(), data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var (
	sessionNames = []string{
		"a", "b", "d/a", "d/b", "d/e/a", "d/e/f/b", "s", "s/t", ".git/HEAD", ".git/index", "-rf", "with blanks/\n",
		"not\xffutf-8/\xfe", "\u00fc", "u\u0308",
	}
	personNames = []string{"mine", "p/a", "p/b", "d/mine", "d/e/mine", "p/\x80", "p/-"}
	sharedNames = append(append([]string{}, sessionNames...), personNames...)
)

// A history is a random program: steps of a session, and a person in between.
type history struct {
	root    *os.Root
	tracker *Tracker
	reader  *Reader
	session *actor
	person  *actor
	steps   []Step
	lists   []map[string]string // before each step
}

func newHistory(t testing.TB, seed uint64, sessionMay, personMay []string) *history {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		root.Close()
		_ = exec.Command("chmod", "-R", "u+rwx", dir).Run() // for the removal of the directory
	})
	blobs := new(journal.Memory)
	tracker, err := NewTracker(root, blobs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 7))
	h := &history{
		root: root, tracker: tracker, reader: NewReader(blobs),
		session: &actor{r, root, sessionMay, make(map[string]bool)},
		person:  &actor{r, root, personMay, make(map[string]bool)},
	}
	h.reader.volatile = true
	for range 10 {
		may := sessionMay
		if r.IntN(3) == 0 {
			may = personMay
		}
		(&actor{r, root, may, make(map[string]bool)}).act() // links are among the names of one
	}
	for range 2 + r.IntN(8) {
		for range r.IntN(3) {
			h.person.act()
		}
		before := h.take(t)
		h.lists = append(h.lists, listing(t, root))
		for range 1 + r.IntN(4) {
			h.session.act()
		}
		h.steps = append(h.steps, Step{Before: before, After: h.take(t)})
	}
	for range r.IntN(3) {
		h.person.act()
	}
	return h
}

func (h *history) take(t testing.TB) Tree {
	taken, err := h.tracker.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return taken.Tree
}

// programs is how many random programs a test runs: PROGRAMS, or a few.
func programs() int {
	if n, err := strconv.Atoi(os.Getenv("PROGRAMS")); err == nil {
		return n
	}
	return 100
}

// A session's steps are undone and redone, to the byte, and a person's files that
// the session did not touch stay.
func TestUndoAndRedo(t *testing.T) {
	for i := range programs() / testbed.Slower {
		seed := i + int(testbed.Seed()%1_000_000)
		h := newHistory(t, uint64(seed), sessionNames, personNames)
		to := h.session.r.IntN(len(h.steps))
		now := h.take(t)
		was := listing(t, h.root)
		plan, err := h.reader.Undo(t.Context(), now, h.steps[to:])
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		h.restore(t, seed, plan)
		undone := h.take(t)
		got := listing(t, h.root)
		h.compare(t, seed, "undone", got, h.lists[to], was)
		redo, err := h.reader.Undo(t.Context(), undone, []Step{{Before: now, After: undone}})
		if err != nil {
			t.Fatal(err)
		}
		h.restore(t, seed, redo)
		h.compare(t, seed, "redone", listing(t, h.root), was, was)
		if t.Failed() {
			return
		}
	}
}

func (h *history) restore(t testing.TB, seed int, p Plan) {
	t.Helper()
	out, err := h.reader.Restore(t.Context(), h.root, p.Ops)
	if err != nil {
		t.Fatal(seed, err)
	}
	for _, o := range out {
		if !o.Done && !h.person.touched[o.Name] {
			t.Errorf("program %d: %s: %s", seed, o.Name, o.Why)
		}
	}
}

// compare compares what there is with what there should be: what the person never
// touched as in want, and the person's own as it was.
func (h *history) compare(t testing.TB, seed int, what string, got, want, was map[string]string) {
	t.Helper()
	names := make(map[string]bool)
	for _, m := range []map[string]string{got, want, was} {
		for n := range m {
			names[n] = true
		}
	}
	for n := range names {
		should := want[n]
		if h.person.touched[n] {
			if h.session.touched[n] {
				continue // both did: conflicts have tests of their own
			}
			should = was[n]
		} else if _, kind := inGit(n); kind != "" {
			continue
		}
		if got[n] != should {
			t.Errorf("program %d, %s: %s is %.60s, not %.60s", seed, what, n, got[n], should)
		}
	}
}
