package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/journal"
)

// A shelf is a host with a workspace, and a session with children.
type shelf struct {
	*testing.T
	*Host
	ws string
	s  *openmanus.State
}

// memory is a store without an index.
type memory struct {
	*journal.Memory
	journal.Index
}

func newShelf(t *testing.T) *shelf {
	dir := t.TempDir()
	b := &shelf{T: t, ws: filepath.Join(dir, "ws"), s: new(openmanus.State)}
	cfg := &config.Config{DataDir: filepath.Join(dir, "data")}
	b.Host = &Host{Options: Options{Config: cfg, Store: memory{Memory: new(journal.Memory)}}}
	b.follower.h = b.Host
	b.write(b.ws, "a", "a")
	spec := openmanus.Spec{Agent: "manus", Workspace: b.ws, Copies: true}
	bodies := []openmanus.Body{
		openmanus.Opened{Flow: "manus"}, openmanus.Configured{Spec: spec},
		openmanus.ChildOpened{Child: "s.one"}, openmanus.ChildOpened{Child: "s.two"},
	}
	for i, body := range bodies {
		b.s.Apply(openmanus.Event{Seq: int64(i + 1), Body: body})
	}
	return b
}

func (b *shelf) write(dir, name, text string) {
	b.Helper()
	path := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err := errors.Join(err, os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.Fatal(err)
	}
}

// place returns where the session s.one is to work.
func (b *shelf) place(change func(*openmanus.Spec)) string {
	b.Helper()
	spec := openmanus.Spec{Workspace: b.ws, Copies: true}
	if change != nil {
		change(&spec)
	}
	spec, err := b.placeBeside(b.Context(), "s", b.s, openmanus.Task{Child: "one"}, spec)
	if err != nil {
		b.Fatal(err)
	}
	return spec.Workspace
}

// Only a session that may write while another may has a copy.
func TestWhoWorksInACopy(t *testing.T) {
	b := newShelf(t)
	for _, change := range []func(*openmanus.Spec){
		func(s *openmanus.Spec) { s.Copies = false },
		func(s *openmanus.Spec) { s.Approve = openmanus.ApproveReadOnly },
		func(s *openmanus.Spec) { s.SandboxReadOnly = true },
	} {
		if got := b.place(change); got != b.ws {
			t.Errorf("a session that needs none has %s", got)
		}
	}
	open := func(approve string) {
		t.Helper()
		c := openmanus.Configured{Spec: openmanus.Spec{Agent: "swe", Approve: approve}}
		if err := openmanus.OpenWith(t.Context(), b.Store, "s.two", openmanus.Opened{Flow: "swe"}, c, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.place(nil); !strings.HasSuffix(got, "data/attempts/s/beside-one/work") {
		t.Errorf("beside one that is announced: %s", got)
	}
	b.write(b.place(nil), "mine", "begun")
	if data, err := os.ReadFile(filepath.Join(b.place(nil), "mine")); string(data) != "begun" {
		t.Errorf("a copy that is there is made again: %q, %v", data, err)
	}
	open(openmanus.ApproveReadOnly)
	if got := b.place(nil); got != b.ws {
		t.Errorf("beside one that only reads: %s", got)
	}
	b.s.Apply(openmanus.Event{Seq: 5, Body: openmanus.ChildDone{Child: "s.two", Status: openmanus.Finished}})
	if got := b.place(nil); got != b.ws {
		t.Errorf("beside one that has ended: %s", got)
	}
}

// merged merges the copy of s.one and returns its report.
func (b *shelf) merged(ctx context.Context, work string) (openmanus.ChildDone, []openmanus.Body, error) {
	d := openmanus.ChildDone{Child: "s.one", Status: openmanus.Finished, Text: "It is in " + work + "/new."}
	c := openmanus.Configured{Spec: openmanus.Spec{Workspace: work}, CopyOf: b.ws}
	bodies, err := b.mergeChild(ctx, "s", b.s, c, &d)
	return d, bodies, err
}

// A merge that is interrupted is repeated, and one that was done is not done again.
func TestMergeIsRepeated(t *testing.T) {
	b := newShelf(t)
	work := b.place(nil)
	b.write(work, "new", "new")
	b.write(work, "a", "changed")
	b.write(work, ".git/refs/heads/main", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.merged(ctx, work); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	want := "It is in " + b.ws + "/new.\n\n(It worked in a copy of the workspace. 2 changes are merged." +
		"\nIts commits are in the git repository " + work + ".)"
	d, _, err := b.merged(t.Context(), work)
	if err != nil || d.Text != want {
		t.Errorf("%q, %v", d.Text, err)
	}
	b.write(b.ws, "a", "changed again by a person")
	if d, bodies, err := b.merged(t.Context(), work); err != nil || d.Text != want || len(bodies) > 0 {
		t.Errorf("again: %q, %v, %v", d.Text, bodies, err)
	}
	if data, err := os.ReadFile(filepath.Join(b.ws, "a")); string(data) != "changed again by a person" {
		t.Errorf("a has %q, %v", data, err)
	}
	// A session that works elsewhere has nothing to merge.
	if d, bodies, err := b.merged(t.Context(), b.ws); err != nil || bodies != nil || strings.Contains(d.Text, "copy") {
		t.Errorf("%q, %v, %v", d.Text, bodies, err)
	}
}
