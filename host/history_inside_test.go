package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A frail store fails from an operation on, as if the process had been killed there.
type frail struct {
	*journal.Memory
	left   int    // operations until it fails; below 0: it does not
	onLock func() // may be nil
}

func (f *frail) Lock(ctx context.Context, id string) (openmanus.Lease, error) {
	l, err := f.Memory.Lock(ctx, id)
	if f.onLock != nil {
		f.onLock()
	}
	return l, err
}

var errKilled = errors.New("killed")

func (f *frail) use() error {
	if f.left == 0 {
		return errKilled
	}
	f.left--
	return nil
}

func (f *frail) Append(ctx context.Context, id string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	if err := f.use(); err != nil {
		return nil, err
	}
	return f.Memory.Append(ctx, id, bodies...)
}

func (f *frail) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	if err := f.use(); err != nil {
		return nil, err
	}
	return f.Memory.Get(ctx, ref)
}

func (*frail) Session(context.Context, string) (journal.SessionInfo, error) {
	return journal.SessionInfo{}, openmanus.ErrNoSession
}

func (*frail) Sessions(context.Context, journal.ListOptions) iter.Seq2[journal.SessionInfo, error] {
	return func(func(journal.SessionInfo, error) bool) {}
}

// A travel is a workspace with sessions whose calls a test carries out by hand.
type travel struct {
	t     *testing.T
	dir   string
	data  string
	store *frail
	h     *Host
	turns map[string]int
}

func newPast(t *testing.T) *travel {
	p := &travel{t: t, dir: t.TempDir(), data: t.TempDir(), store: &frail{Memory: new(journal.Memory), left: -1}, turns: make(map[string]int)}
	p.restart()
	return p
}

// restart begins another process.
func (p *travel) restart() {
	p.t.Helper()
	p.store.left = -1
	h, err := New(Options{Config: &config.Config{DataDir: p.data, History: config.History{Enabled: true}}, Store: p.store})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { h.Close() })
	p.h = h
}

func (p *travel) append(session string, bodies ...openmanus.Body) int64 {
	p.t.Helper()
	evs, err := p.store.Append(p.t.Context(), session, bodies...)
	if err != nil {
		p.t.Fatal(err)
	}
	return evs[len(evs)-1].Seq
}

func (p *travel) begin(session, parent string) {
	tools := []openmanus.ToolSpec{
		{ToolSpec: llm.ToolSpec{Name: "bash"}},
		{ToolSpec: llm.ToolSpec{Name: "edit"}, Hints: openmanus.Hints{Edits: true},
			Arguments: []openmanus.Argument{{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Writes}}},
	}
	p.append(session, openmanus.Opened{Flow: "a", Version: openmanus.FormatVersion, Parent: parent},
		openmanus.Configured{Spec: openmanus.Spec{Workspace: p.dir}, Tools: tools},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")})
}

func (p *travel) state(session string) *openmanus.State {
	p.t.Helper()
	s, err := openmanus.Load(p.t.Context(), p.store, session)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// start begins a call, and returns a function that ends it and returns its last event.
func (p *travel) start(session, tool, input string) func() int64 {
	p.t.Helper()
	s := p.state(session)
	id := fmt.Sprintf("c%d-1", s.Turn)
	hints := openmanus.Hints{Sandboxed: true}
	if spec, ok := s.ToolSpec(tool); ok && tool == "edit" {
		hints = spec.Hints
	}
	p.append(session, openmanus.ModelSaid{Turn: s.Turn, Re: s.Seq, Stop: llm.ToolUse, Message: llmtest.Use(id, tool, input)},
		openmanus.Ruled{Call: id, Allow: true, By: openmanus.ByGate, Hints: hints}, openmanus.CallStarted{Call: id, Attempt: 1})
	call := openmanus.Call{Call: llm.Call{ID: id, Name: tool, Input: input}}
	for range 3 {
		s = p.state(session)
		spec, _ := s.ToolSpec(tool)
		first, end := p.h.follower.Begin(p.t.Context(), session, s, call, spec, func(int) {})
		if first != nil {
			p.append(session, first)
			continue
		}
		return func() int64 {
			p.t.Helper()
			followed := end(p.t.Context())
			var bodies []openmanus.Body
			if followed.Snapped != nil {
				bodies = append(bodies, followed.Snapped)
			}
			return p.append(session, append(bodies, openmanus.CallDone{Call: id, Files: followed.Own, Meanwhile: followed.Meanwhile})...)
		}
	}
	p.t.Fatal("the call does not begin")
	return nil
}

// shell carries out a call that may change anything.
func (p *travel) shell(session string, do func()) int64 {
	p.t.Helper()
	end := p.start(session, "bash", `{}`)
	do()
	return end()
}

func (p *travel) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *travel) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
}

// files returns the files and what they have, by name.
func (p *travel) files() map[string]string {
	p.t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(os.DirFS(p.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, readErr := os.ReadFile(filepath.Join(p.dir, name))
			all[name], err = string(data), readErr
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *travel) back(session string, b act.Rewind) *act.Rewinding {
	p.t.Helper()
	plan, err := p.h.GoBack(p.t.Context(), session, b, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return plan
}

func mine(files map[string]string) map[string]string {
	some := maps.Clone(files)
	maps.DeleteFunc(some, func(name, _ string) bool { return strings.HasPrefix(name, "yours") })
	return some
}

func yours(files map[string]string) map[string]string {
	some := maps.Clone(files)
	maps.DeleteFunc(some, func(name, _ string) bool { return !strings.HasPrefix(name, "yours") })
	return some
}

// Whatever calls do, and a person beside them and between them: going back to an event
// brings the files of the session as they were then, and redo brings them again; those
// of the person stay as they are.
func TestGoingBackAmongPeople(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPast(t)
		p.write("mine/old.txt", "old")
		p.write("yours.txt", "yours")
		p.begin("s", "")
		person := func() {
			switch name := fmt.Sprintf("yours%d/%d.txt", r.IntN(3), r.IntN(3)); r.IntN(3) {
			case 0:
				p.remove(name)
			case 1:
				p.write(name, fmt.Sprint("yours ", r.IntN(10)))
			}
		}
		doing := func() {
			for range r.IntN(3) {
				name := fmt.Sprintf("mine%d/%d.txt", r.IntN(2), r.IntN(4))
				if r.IntN(3) == 0 {
					p.remove(name)
				} else {
					p.write(name, fmt.Sprint("mine ", r.IntN(20)))
				}
			}
		}
		at := map[int64]map[string]string{p.state("s").Seq: mine(p.files())}
		for range 12 {
			person()
			at[p.shell("s", doing)] = mine(p.files())
			if r.IntN(6) == 0 {
				p.h.Close()
				p.restart()
			}
		}
		seqs := slices.Sorted(maps.Keys(at))
		for range 5 {
			person()
			before := p.files()
			to := seqs[r.IntN(len(seqs)-1)]
			plan := p.back("s", act.Rewind{To: to, Files: true, Talk: r.IntN(2) == 0})
			after := p.files()
			if len(plan.Kept) > 0 || !maps.Equal(mine(after), at[to]) || !maps.Equal(yours(before), yours(after)) {
				t.Fatalf("seed %d, back to %d: kept %v\nbefore %v\nafter  %v\nwant   %v", seed, to, plan.Kept, before, after, at[to])
			}
			if plan.Nothing {
				continue
			}
			if r.IntN(2) == 0 {
				p.back("s", act.Rewind{Redo: true})
				if again := p.files(); !maps.Equal(again, before) {
					t.Fatalf("seed %d, redo:\n%v\nwant\n%v", seed, again, before)
				}
				continue
			}
			s := p.state("s")
			p.append("s", openmanus.UserSaid{ID: fmt.Sprint(s.Seq), Message: llm.Say(llm.User, "again")})
			seq := p.shell("s", doing)
			at[seq] = mine(p.files())
		}
		p.h.Close()
	}
}

// A process that is killed at any read or append of going back leaves a session that
// the next one finishes, whatever it does with it.
func TestGoingBackIsKilled(t *testing.T) {
	for n := 0; ; n++ {
		p := newPast(t)
		p.write("a.txt", "a")
		p.begin("s", "")
		to := p.state("s").Seq
		want := p.files()
		p.shell("s", func() { p.write("a.txt", "changed"); p.write("dir/b.txt", "new") })
		p.shell("s", func() { p.remove("a.txt"); p.write("dir/b.txt", "newer"); p.write("c.txt", "c") })
		p.write("yours.txt", "yours")
		want["yours.txt"] = "yours"
		p.h.Close()
		p.restart()
		p.store.left = n
		_, err := p.h.GoBack(t.Context(), "s", act.Rewind{To: to, Files: true}, nil)
		killed := p.store.left == 0
		if err == nil && !killed {
			if n < 5 {
				t.Fatalf("it took %d operations", n)
			}
			break
		}
		p.restart()
		s := p.state("s")
		if s.Unfinished != nil {
			snapped, err := p.h.follower.Restore(t.Context(), "s", s)
			if err != nil {
				t.Fatalf("after %d operations: %v", n, err)
			}
			p.append("s", snapped)
		} else if p.state("s").Snapshot.Seq > 0 && !maps.Equal(p.files(), want) {
			p.back("s", act.Rewind{To: to, Files: true})
		}
		if got := p.files(); !maps.Equal(got, want) || p.state("s").Unfinished != nil {
			t.Fatalf("after %d operations:\n%v\nwant\n%v", n, got, want)
		}
		p.h.Close()
	}
}

// If a person changed a file after the session did, both contents stay: the person's
// in place, the other one in the history. Edits of files that the arguments name are
// exact even if others change files meanwhile.
func TestGoingBackKeepsWhatOthersChanged(t *testing.T) {
	p := newPast(t)
	p.write("a.txt", "a")
	p.begin("s", "")
	to := p.state("s").Seq
	p.shell("s", func() { p.write("a.txt", "changed"); p.write("b.txt", "b") })
	p.write("b.txt", "the person's")
	end := p.start("s", "edit", `{"path":"c/d.txt"}`)
	p.write("c/d.txt", "mine")
	p.write("yours.txt", "yours")
	end()
	if own, meanwhile := p.state("s").Files(0); fmt.Sprint(own, meanwhile) != "[{a.txt modified} {b.txt created} {c/d.txt created}] [{yours.txt created}]" {
		t.Errorf("the session changed %v, and meanwhile %v", own, meanwhile)
	}
	plan := p.back("s", act.Rewind{To: to, Files: true})
	if fmt.Sprint(plan.Kept) != "[{b.txt something else has changed it since}]" || fmt.Sprint(plan.Changes) != "[{a.txt modified} {c/d.txt deleted}]" {
		t.Errorf("kept %v, changed %v", plan.Kept, plan.Changes)
	}
	if got := p.files(); !maps.Equal(got, map[string]string{"a.txt": "a", "b.txt": "the person's", "yours.txt": "yours"}) {
		t.Errorf("there is %v", got)
	}
}

// Changes of concurrent calls of several sessions are undone for the parent of all
// of them, and stay if one of them is a stranger.
func TestGoingBackAmongSessions(t *testing.T) {
	for _, parent := range []string{"s", ""} {
		p := newPast(t)
		p.write("a.txt", "a")
		p.begin("s", "")
		s := p.state("s")
		p.append("s", openmanus.ChildOpened{Child: "s.x"}, openmanus.ChildOpened{Child: "s.y"})
		p.begin("s.x", "s")
		p.begin("s.y", parent)
		one := p.start("s.x", "bash", `{}`)
		p.write("a.txt", "x")
		two := p.start("s.y", "bash", `{}`)
		p.write("a.txt", "y")
		p.write("b.txt", "y")
		two()
		p.write("b.txt", "x")
		one()
		p.shell("s.x", func() { p.write("c.txt", "alone") })
		who, to := "s", s.Seq
		if parent == "" {
			who, to = "s.x", 3
		}
		plan := p.back(who, act.Rewind{To: to, Files: true})
		want, kept := map[string]string{"a.txt": "a"}, 0
		if parent == "" {
			want, kept = map[string]string{"a.txt": "y", "b.txt": "x"}, 2
			want["a.txt"] = "y"
		}
		if got := p.files(); !maps.Equal(got, want) || len(plan.Kept) != kept {
			t.Errorf("parent %q: there is %v, want %v; kept %v", parent, got, want, plan.Kept)
		}
		p.h.Close()
	}
}

// A call that was running when its process was killed is undone, and said to be unsure.
func TestGoingBackFromABrokenCall(t *testing.T) {
	p := newPast(t)
	p.write("a.txt", "a")
	p.begin("s", "")
	to := p.state("s").Seq
	p.start("s", "bash", `{}`)
	p.write("a.txt", "half")
	p.restart()
	plan := p.back("s", act.Rewind{To: to, Files: true, Talk: true})
	if !slices.Equal(plan.Unsure, []string{"a.txt"}) || !plan.Running {
		t.Errorf("%+v", plan)
	}
	if got := p.files(); got["a.txt"] != "a" {
		t.Errorf("there is %v", got)
	}
	if s := p.state("s"); s.Status() != openmanus.Halted || len(s.Calls) != 0 {
		t.Errorf("it is %s, with %d calls", s.Status(), len(s.Calls))
	}
}

// A session whose work has just ended goes back as soon as its driver has given the
// lease back. One that goes back somewhere else does not, and says so at once.
func TestGoingBackWaitsForTheLease(t *testing.T) {
	p := newPast(t)
	p.begin("s", "")
	p.shell("s", func() { p.write("a.txt", "a") })
	p.append("s", openmanus.Interrupted{ID: "i"})
	held := func(after func(locks int, release func() error)) (locks int, err error) {
		lease, err := p.store.Lock(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		p.store.onLock = func() {
			locks++
			after(locks, lease.Release)
		}
		defer func() { p.store.onLock = nil }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err = p.h.GoBack(ctx, "s", act.Rewind{Last: true, Files: true, Talk: true}, func(*act.Rewinding) error {
			return errors.New("not agreed")
		})
		return locks, err
	}
	n, err := held(func(locks int, release func() error) {
		if locks == 2 { // the driver ends
			release()
		}
	})
	if n != 3 || err == nil || err.Error() != "not agreed" {
		t.Errorf("the lease was asked for %d times: %v", n, err)
	}
	p.append("s", openmanus.Rewound{ID: "r", Files: true, To: 1, Before: p.state("s").Snapshot.Tree})
	n, err = held(func(int, func() error) {})
	if n != 1 || !errors.Is(err, openmanus.ErrDriven) || !strings.Contains(err.Error(), "goes back there") {
		t.Errorf("while it goes back elsewhere, the lease was asked for %d times: %v", n, err)
	}
}

// If two programs go back at the same moment, one does, and the other says why not.
func TestTwoGoBackAtOnce(t *testing.T) {
	p := newPast(t)
	p.begin("s", "")
	p.shell("s", func() { p.write("a.txt", "a") })
	p.append("s", openmanus.Interrupted{ID: "i"})
	first := p.h
	p.restart() // beside it
	errs := make(chan error, 2)
	for _, h := range []*Host{first, p.h} {
		go func() {
			_, err := h.GoBack(t.Context(), "s", act.Rewind{Last: true, Files: true, Talk: true}, nil)
			errs <- err
		}()
	}
	one, other := <-errs, <-errs
	if one != nil {
		one, other = other, one
	}
	if one != nil || !errors.Is(other, openmanus.ErrDriven) && !errors.Is(other, ErrNothingBack) {
		t.Errorf("the errors are %v and %v", one, other)
	}
	if got := p.files(); len(got) != 0 {
		t.Errorf("there is %v", got)
	}
}

// A person who interrupts while the workspace is read does not wait for the rest, and
// nothing is recorded. The next call reads it.
func TestReadingAWorkspaceIsInterrupted(t *testing.T) {
	p := newPast(t)
	for i := range 100 {
		p.write(fmt.Sprintf("file%d", i), fmt.Sprint("content ", i))
	}
	p.begin("s", "")
	w := p.h.follower.directory(p.dir)
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	_, why := w.take(ctx, "s", "", func(files int) {
		read = files
		cancel()
	})
	if why == "" || read != 1 {
		t.Errorf("%d files were read after an interrupt: %q", read, why)
	}
	s := p.state("s")
	p.append("s", openmanus.ModelSaid{Turn: s.Turn, Re: s.Seq, Stop: llm.ToolUse, Message: llmtest.Use("c1-1", "bash", "{}")},
		openmanus.CallStarted{Call: "c1-1", Attempt: 1})
	first, end := p.h.follower.Begin(ctx, "s", p.state("s"), openmanus.Call{Call: llm.Call{ID: "c1-1", Name: "bash"}}, openmanus.ToolSpec{}, nil)
	if first != nil || end(ctx).Snapped != nil {
		t.Errorf("after an interrupt, %+v is recorded", first)
	}
	if taken, why := w.take(t.Context(), "s", "", nil); why != "" || taken.Tree.Files != 100 {
		t.Errorf("%+v, %s", taken, why)
	}
}

// While a workspace is read for long, that is said now and then, and when it is over.
func TestProgress(t *testing.T) {
	var told []int
	p := progress{tell: func(files int) { told = append(told, files) }, last: time.Now()}
	p.end()
	p.read(1)
	p.last = p.last.Add(-tellEvery)
	p.read(2)
	p.read(3)
	p.end()
	if !slices.Equal(told, []int{2, 0}) {
		t.Errorf("%v was told", told)
	}
}
