package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// begin opens a session, which is not driven.
func (p *place) begin(h *host.Host, db *store.DB, id, parent string) {
	p.t.Helper()
	spec := p.spec(h, nil)
	opened := openmanus.Opened{Flow: spec.Name(), Parent: parent, Version: openmanus.FormatVersion}
	c := openmanus.Configured{Spec: spec}
	if err := openmanus.OpenWith(p.t.Context(), db, id, opened, c, says("1", "Do it.")); err != nil {
		p.t.Fatal(err)
	}
}

// A follower records what the workspace of a place contains, as a session does.
type follower struct {
	*place
	db      *store.DB
	tracker *snapshot.Tracker
}

func (p *place) follow(db *store.DB) *follower {
	root, err := os.OpenRoot(p.path("ws"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { root.Close() })
	tracker, err := snapshot.NewTracker(root, db, snapshot.Options{MaxFile: 1000})
	if err != nil {
		p.t.Fatal(err)
	}
	return &follower{p, db, tracker}
}

// snap records a snapshot in a session, and returns its event.
func (f *follower) snap(session, id string) int64 {
	f.t.Helper()
	was := f.tracker.Tree()
	taken, err := f.tracker.Take(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	evs, err := f.db.Append(f.t.Context(), session, openmanus.Snapped{
		ID: id, Before: was.String(), Tree: taken.Tree.String(), Packs: taken.Packs,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return evs[0].Seq
}

// files are the names and contents of the files in a directory.
func (p *place) files(dir string) string {
	p.t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all = append(all, rel+"="+strings.TrimSpace(string(data)))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// A fork has the files as they were after its event: by the snapshots of the session
// and of those below it, before and after.
func TestForkHasTheFilesOfItsEvent(t *testing.T) {
	p := newPlace(t, "-- 1 --\nDone.\n")
	h, db, _ := p.open()
	p.begin(h, db, "s", "")
	p.begin(h, db, "s.child", "s")
	f := p.follow(db)
	p.write("ws/a", "one")
	first := f.snap("s", openmanus.BeforeCall("c1", 1))
	p.write("ws/a", "two")
	p.write("ws/large", strings.Repeat("x", 1001))
	second := f.snap("s", "c1")
	p.write("ws/a", "three")
	f.snap("s.child", "c1")
	evs, err := db.Append(t.Context(), "s", openmanus.Noted{ID: "n", Text: "the child is done"})
	if err != nil {
		t.Fatal(err)
	}
	third := evs[0].Seq
	p.write("ws/a", "four")
	p.write("ws/large", strings.Repeat("y", 1002))
	large := "the snapshot does not have its content (it has 1001 bytes, more than the limit of 1000), " +
		"and the file has changed since"
	for _, test := range []struct {
		at          int64
		files, left string
	}{
		{3, "a=one", ""}, // before the first snapshot, and what that found
		{first, "a=one", ""},
		{second, "a=two", large},
		{third, "a=three", large}, // a child wrote it
		{0, "a=four large=" + strings.Repeat("y", 1002), ""},
	} {
		made, err := h.Fork(t.Context(), host.Fork{From: "s", At: test.at})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.files(made.Dir); got != test.files || !strings.HasPrefix(made.Dir, p.path("ws-")) {
			t.Errorf("at %d: %s has %.100s", test.at, made.Dir, got)
		}
		left := strings.Join(made.Copied.Left, "")
		if test.left == "" && left != "" || !strings.Contains(left, test.left) {
			t.Errorf("at %d: left out: %q", test.at, left)
		}
		s := p.load(db, made.ID)
		if s.Config.Workspace != made.Dir || s.Config.CopyOf != p.path("ws") || s.Opened.From.Session != "s" {
			t.Errorf("at %d: %+v, %+v", test.at, s.Config.Spec, s.Opened)
		}
		if n := len(s.Inbox); n != 2 || !strings.Contains(s.Inbox[0].Message.Text(), made.Dir) {
			t.Errorf("at %d: the model reads %+v", test.at, s.Inbox)
		}
		if st := s.Status(); st != openmanus.Halted {
			t.Errorf("at %d: it is %s", test.at, st)
		}
	}
	reply := llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c9", Name: "bash", Input: "{}"}}}
	for _, shared := range []bool{true, false} {
		made, err := h.Fork(t.Context(), host.Fork{From: "s", At: third, Unchanged: true})
		if err != nil || (made.Dir == p.path("ws")) != shared {
			t.Errorf("where nothing that was called has changed a file: %+v, %v", made, err)
		}
		if _, err := db.Append(t.Context(), "s", openmanus.ModelSaid{Turn: 0, Re: third, Message: reply}); shared && err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Fork(t.Context(), host.Fork{From: "s", At: 99}); !errors.As(err, new(*act.Error)) {
		t.Errorf("an event that is not there: %v", err)
	}
	if _, err := h.Fork(t.Context(), host.Fork{From: "none"}); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("a session that is not there: %v", err)
	}
	if _, err := h.Fork(t.Context(), host.Fork{From: "s", To: "s.child"}); !errors.Is(err, openmanus.ErrExists) {
		t.Errorf("a session that is there: %v", err)
	}
}

// mortal is a context that ends when its end has been asked for n times.
type mortal struct {
	context.Context
	n int
}

func (m *mortal) Err() error {
	if m.n--; m.n < 0 {
		return context.Canceled
	}
	return nil
}

// A fork that is interrupted leaves neither a session nor files.
func TestForkIsInterrupted(t *testing.T) {
	p := newPlace(t, "-- 1 --\nDone.\n")
	h, db, _ := p.open()
	p.begin(h, db, "s", "")
	p.write("ws/a", "one")
	p.write("ws/d/b", "two")
	at := p.follow(db).snap("s", "c1")
	before := p.names(p.dir)
	for _, at := range []int64{0, at} {
		for n := 0; ; n++ {
			made, err := h.Fork(&mortal{t.Context(), n}, host.Fork{From: "s", At: at, To: "t"})
			if err == nil {
				if made.Dir != p.path("ws-t") {
					t.Errorf("%+v", made)
				}
				break
			}
			if !errors.Is(err, context.Canceled) || n > 1000 {
				t.Fatal(n, err)
			}
			if got := p.names(p.dir); got != before {
				t.Fatalf("interrupted at %d: %s", n, got)
			}
			if _, err := db.Session(t.Context(), "t"); !errors.Is(err, openmanus.ErrNoSession) {
				t.Fatalf("interrupted at %d: there is a session: %v", n, err)
			}
		}
		if err := db.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if kept, err := h.RemoveForkFiles(t.Context(), "t", false); kept != "" || err != nil {
			t.Fatal(kept, err)
		}
		if got := p.names(p.dir); got != before {
			t.Fatalf("deleted: %s", got)
		}
	}
}

// names are the names in a directory, of which the program's data are not.
func (p *place) names(dir string) string {
	p.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// The next fork removes what a killed process left, whatever that had done, and not
// what a person put there.
func TestForkSweepsWhatWasKilled(t *testing.T) {
	p := newPlace(t, "-- 1 --\nDone.\n")
	h, db, _ := p.open()
	p.begin(h, db, "s", "")
	p.write("ws/a", "one")
	// Killed while it copied; before the session was stored; and then a person came.
	p.write(".openmanus-fork-one/a", "half")
	p.write("data/forks/one.json", `{"session":"one","temp":"`+p.path(".openmanus-fork-one")+`"}`)
	p.write("data/forks/damaged.json", "{")
	for _, id := range []string{"two", "three", "kept"} {
		if _, err := h.Fork(t.Context(), host.Fork{From: "s", To: id}); err != nil {
			t.Fatal(err)
		}
		if id != "kept" {
			if err := db.Delete(t.Context(), id); err != nil { // as if it had never been stored
				t.Fatal(err)
			}
		}
		if id == "three" {
			p.write("ws-three/mine", "mine")
		}
	}
	lease, err := db.Lock(t.Context(), "making") // another process is making it
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	p.write(".openmanus-fork-making/a", "half")
	p.write("data/forks/making.json", `{"session":"making","temp":"`+p.path(".openmanus-fork-making")+`"}`)
	if _, err := h.Fork(t.Context(), host.Fork{From: "s", To: "last"}); err != nil {
		t.Fatal(err)
	}
	want := ".openmanus-fork-making data home other.txt s.txt ws ws-kept ws-last ws-three"
	if got := p.names(p.dir); got != want {
		t.Errorf("there are %s", got)
	}
	if got := p.files(p.path("ws-three")); got != "a=one mine=mine" {
		t.Errorf("the person has %s", got)
	}
}

// A server puts the files of a fork below the directory of the user's workspaces.
func TestForkOfAServer(t *testing.T) {
	p := newPlace(t, "-- 1 --\nDone.\n")
	h, db, _ := p.open()
	p.begin(h, db, "s", "")
	p.write("ws/a", "one")
	s := served.Host{Host: h}
	for id, root := range map[string]string{"t": p.path("root"), "u": p.dir} {
		if err := s.Fork(t.Context(), "s", 0, id, root); err != nil {
			t.Fatal(err)
		}
	}
	for id, dir := range map[string]string{"t": p.path("root/ws-t"), "u": p.path("ws-u")} {
		if got := p.load(db, id).Config.Workspace; got != dir || p.files(dir) != "a=one" {
			t.Errorf("%s works in %s", id, got)
		}
		if err := errors.Join(db.Delete(t.Context(), id), s.Deleted(id)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is deleted, and its copy is there: %v", id, err)
		}
	}
	if err := os.RemoveAll(p.path("ws")); err != nil {
		t.Fatal(err)
	}
	wrong := new(server.FieldError)
	if err := s.Fork(t.Context(), "s", 0, "t", p.path("root")); !errors.As(err, &wrong) || wrong.Field != "share" {
		t.Errorf("without a workspace: %v", err)
	}
}
