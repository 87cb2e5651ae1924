//go:build unix

package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whatever a person did since, or between steps, stays; what a step changed and
// nobody else comes back.
func TestUndoLeavesWhatOthersChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		// The operations, in order: "step" and "person" begin what each does;
		// the rest is "FILE=CONTENT", or "FILE-" for its removal. An empty file
		// is a directory.
		does string
		want string // the files at the end
		lost string // the conflicts
	}{
		{"only a step", "person a=1 step a=2 b=1", "a=1", ""},
		{"two steps", "person a=1 step a=2 step a=3", "a=1", ""},
		{"removed", "person a=1 d/b=2 step a- d/b- d-", "a=1 d/b=2", ""},
		{"another file since", "person a=1 step a=2 person b=1", "a=1 b=1", ""},
		{"another file between", "person a=1 step a=2 person b=1 step c=1", "a=1 b=1", ""},
		{"the same file since", "person a=1 step a=2 person a=3", "a=3", "a"},
		{"the same file between", "person a=1 step a=2 person a=3 step a=4", "a=3", "a"},
		{"before the step", "person a=1 person a=2 step a=3", "a=2", ""},
		{"undone by the person", "person a=1 step a=2 person a=1", "a=1", ""},
		{"the person's file in a new directory", "step d/a=1 person d/mine=1", "d/mine=1", ""},
		{"the person's file where a directory was", "person d/a=1 step d/a- d- person d=mine", "d=mine", "d"},
		{"a file becomes a directory", "person a=1 step a- a/b=2", "a=1", ""},
		{"and the person puts one into it", "person a=1 step a- a/b=2 person a/mine=3", "a/mine=3", ""},
		{"a directory becomes a file", "person a/b=1 step a/b- a- a=2", "a/b=1", ""},
		{"a clone", "person a=1 step c/.git/objects/ab/c=1 c/.git/refs/heads/x=1 c/.git/HEAD=2 c/x=1", "a=1", ""},
		{"a commit of the person in it", "step c/.git/refs/heads/x=1 c/.git/HEAD=2 person c/.git/refs/heads/x=2", "c/.git/refs/heads/x=2", "c/.git/refs/heads/x"},
		{"a bare repository", "person r.git/refs/heads/x=1 r.git/HEAD=1 step r.git/objects/ab/c=1 r.git/refs/heads/x=2", "r.git/HEAD=1 r.git/objects/ab/c=1 r.git/refs/heads/x=1", ""},
		{"a log of git grows", "person .git/logs/HEAD=1 .git/HEAD=1 step .git/logs/HEAD=12 .git/HEAD=2", ".git/HEAD=1 .git/logs/HEAD=12", ""},
		{"new objects of git", "person .git/HEAD=1 step .git/objects/ab/c=1 .git/refs/heads/x=1 .git/HEAD=2 x=1", ".git/HEAD=1 .git/objects/ab/c=1 .git/refs/heads/x=1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, Options{})
			var steps []Step
			var before Tree
			step := false
			end := func() {
				if step {
					steps = append(steps, Step{Before: before, After: p.take().Tree})
				}
			}
			for word := range strings.FieldsSeq(c.does) {
				switch file, content, write := strings.Cut(word, "="); {
				case word == "step", word == "person":
					end()
					before, step = p.take().Tree, word == "step"
				case write:
					p.write(file, content)
				default:
					if err := os.Remove(filepath.Join(p.dir, strings.TrimSuffix(word, "-"))); err != nil {
						t.Fatal(err)
					}
				}
			}
			end()
			now := p.take().Tree
			plan, err := p.reader.Undo(t.Context(), now, steps)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.reader.Restore(t.Context(), p.root, plan.Ops); err != nil {
				t.Fatal(err)
			}
			if got := p.files(); got != c.want {
				t.Errorf("there is %s, not %s", got, c.want)
			}
			var lost []string
			for _, op := range plan.Conflicts {
				lost = append(lost, op.Name)
			}
			if got := strings.Join(lost, " "); got != c.lost {
				t.Errorf("conflicts %q, not %q", got, c.lost)
			}
		})
	}
}

// Where a person put a link in the place of a directory, nothing is written through it.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("d/a", "1")
	p.write("e/b", "1")
	before := p.take().Tree
	os.RemoveAll(filepath.Join(p.dir, "d"))
	after := p.take().Tree
	os.Symlink("e", filepath.Join(p.dir, "d"))
	plan, err := p.reader.Undo(t.Context(), p.take().Tree, []Step{{Before: before, After: after}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.reader.Restore(t.Context(), p.root, plan.Ops)
	if err != nil || len(plan.Conflicts) != 1 || len(out) != 1 || out[0].Why != "a link is in the place of its directory" {
		t.Errorf("conflicts %v, outcomes %v, %v", plan.Conflicts, out, err)
	}
	if got := p.files(); got != "e/b=1" {
		t.Errorf("there is %s", got)
	}
}

// A file whose permissions come back stays the same file, with all its names.
func TestOnlyThePermissionsOfAFile(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "1")
	if err := os.Link(filepath.Join(p.dir, "a"), filepath.Join(p.dir, "b")); err != nil {
		t.Fatal(err)
	}
	before := p.take().Tree
	os.Chmod(filepath.Join(p.dir, "a"), 0o700)
	after := p.take().Tree
	p.undo(after, Step{Before: before, After: after})
	a, err1 := p.root.Lstat("a")
	b, err2 := p.root.Lstat("b")
	if err1 != nil || err2 != nil || !os.SameFile(a, b) || a.Mode() != 0o644 {
		t.Errorf("%v %v, %v %v", a, err1, b, err2)
	}
}

// files returns the files of the place, as in the table above.
func (p *place) files() string {
	var files []string
	for name, what := range listing(p, p.root) {
		if _, content, ok := strings.Cut(what, `"`); ok {
			files = append(files, name+"="+strings.Trim(content, `"`))
		}
	}
	slices.Sort(files)
	return strings.Join(files, " ")
}

// dying is a context that ends when its end has been asked for n times.
type dying struct {
	context.Context
	n int
}

func (d *dying) Err() error {
	if d.n--; d.n < 0 {
		return context.Canceled
	}
	return nil
}

// A restore that ends in the middle is completed by the next, which also removes
// what it left.
func TestRestoreIsInterrupted(t *testing.T) {
	p := newPlace(t, Options{})
	for i := range 10 {
		p.write(fmt.Sprintf("d%d/file", i), fmt.Sprint("content ", i))
	}
	p.write("becomes/a", "directory")
	before := p.take().Tree
	want := p.files()
	for i := range 10 {
		p.write(fmt.Sprintf("d%d/file", i), fmt.Sprint("other ", i))
		if i%2 == 0 {
			os.RemoveAll(filepath.Join(p.dir, fmt.Sprint("d", i)))
		}
	}
	os.RemoveAll(filepath.Join(p.dir, "becomes"))
	p.write("becomes", "a file")
	p.write("new/one", "1")
	after := p.take().Tree
	changed := p.files()
	undo, err := p.reader.Undo(t.Context(), after, []Step{{Before: before, After: after}})
	if err != nil {
		t.Fatal(err)
	}
	redo, err := p.reader.Undo(t.Context(), before, []Step{{Before: after, After: before}})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		ctx := &dying{t.Context(), n}
		_, dead := p.reader.Restore(ctx, p.root, undo.Ops)
		p.write(fmt.Sprintf("d1/%sleft", tempPrefix), "by a kill")
		out, err := p.reader.Restore(t.Context(), p.root, undo.Ops)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if !o.Done {
				t.Errorf("after %d: %s: %s", n, o.Name, o.Why)
			}
		}
		if got := p.files(); got != want {
			t.Fatalf("after %d: %s, not %s", n, got, want)
		}
		if dead == nil {
			return
		}
		if _, err := p.reader.Restore(t.Context(), p.root, redo.Ops); err != nil {
			t.Fatal(err)
		}
		if got := p.files(); got != changed {
			t.Fatalf("redone after %d: %s, not %s", n, got, changed)
		}
	}
}

// All names of a file are put back, although to replace one changes the times of the others.
func TestRestoreOfHardLinks(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "1")
	for _, name := range []string{"b", "c"} {
		if err := os.Link(filepath.Join(p.dir, "a"), filepath.Join(p.dir, name)); err != nil {
			t.Skip(err) // a file system without links
		}
	}
	before := p.take().Tree
	p.write("a", "22") // in place, so that the others have it too
	after := p.take().Tree
	plan, err := p.reader.Undo(t.Context(), after, []Step{{Before: before, After: after}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.reader.Restore(t.Context(), p.root, plan.Ops)
	if err != nil || len(out) != 3 {
		t.Fatalf("%d outcomes, %v", len(out), err)
	}
	for _, o := range out {
		if data, err := os.ReadFile(filepath.Join(p.dir, o.Name)); !o.Done || string(data) != "1" || err != nil {
			t.Errorf("%s: done %v (%s), with %q, %v", o.Name, o.Done, o.Why, data, err)
		}
	}
}

// Files that cannot be changed are reported, and everything else is done.
func TestRestoreIsRefused(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "1")
	p.write("b", "1")
	p.write("c", "1")
	before := p.take().Tree
	for _, name := range []string{"a", "b", "c"} {
		p.write(name, "22")
	}
	after := p.take().Tree
	plan, err := p.reader.Undo(t.Context(), after, []Step{{Before: before, After: after}})
	if err != nil {
		t.Fatal(err)
	}
	p.write("a", "mine") // after the plan was made
	if err := os.Remove(filepath.Join(p.dir, "b")); err != nil {
		t.Fatal(err)
	}
	p.write("b/full", "")
	out, err := p.reader.Restore(t.Context(), p.root, plan.Ops)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"something else has changed it", "something else has changed it", ""} {
		if out[i].Why != want || out[i].Done != (want == "") {
			t.Errorf("%s: %v, %q", out[i].Name, out[i].Done, out[i].Why)
		}
	}
	if got := p.files(); got != "a=mine b/full= c=1" {
		t.Errorf("there is %s", got)
	}
}

// Names that were one file before a step wrote into it are one file again.
func TestRestoreKeepsNamesTogether(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("d/a", "old")
	a, b := filepath.Join(p.dir, "d/a"), filepath.Join(p.dir, "second")
	if err := os.Link(a, b); err != nil {
		t.Fatal(err)
	}
	before := p.take().Tree
	if err := os.WriteFile(b, []byte("new and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	now := p.take().Tree
	plan, err := p.reader.Undo(t.Context(), now, []Step{{Before: before, After: now}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.reader.Restore(t.Context(), p.root, plan.Ops); err != nil {
		t.Fatal(err)
	}
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	if err != nil || err2 != nil || !os.SameFile(one, other) || p.files() != "d/a=old second=old" {
		t.Errorf("%v, %v: %s, the same file: %v", err, err2, p.files(), os.SameFile(one, other))
	}
}
