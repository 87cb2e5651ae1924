package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// A Fork says how to copy a session. The zero value of all but From is useful.
type Fork struct {
	From string // the session
	At   int64  // the last event to copy; 0: all, and the files as they are now
	To   string // the id of the new session; "": a new one

	// Share says that both sessions work in the same directory. Otherwise the new one
	// gets a copy of the files.
	Share bool
	// Unchanged is Share if no call after At may have changed files: then the new
	// session finds them as they were.
	Unchanged bool
	// Dir is where the copy of the files goes: a directory that does not exist. If it
	// is "", the copy stands beside the workspace and has its name with the id of the
	// new session; or else in Within, where no files can be put beside it.
	Dir string
	// Within is a directory that the copy must be in; "": any that the workspace of a
	// session may be.
	Within string
	MaxMiB int // a larger workspace is not copied; 0: [MaxCopyMiB]
}

// Forked describes a new session.
type Forked struct {
	ID   string
	Seq  int64  // the last event that was copied
	Was  string // the workspace of the old session
	Dir  string // that of the new one; the same, if it is shared
	Text string // a sentence or more about the files, for people; "": they are shared

	Copied CopiedFiles
}

// Fork copies a session up to an event into a new one, which is stopped, and gives
// it a copy of the workspace as that was then: from the snapshots of the session, or
// from the present workspace if there are none. The model of the new session
// reads where its files are. Sessions without a workspace share nothing.
//
// All of it is there afterwards, or nothing but what the next Fork removes. The
// error is an [*act.Error] if another call could succeed, [openmanus.ErrExists] if the new
// session exists, and [openmanus.ErrNoSession] if the old one does not.
func (h *Host) Fork(ctx context.Context, f Fork) (Forked, error) {
	f.To = cmp.Or(f.To, ids.Session())
	past, err := h.past(ctx, f.From, f.At)
	if err != nil {
		return Forked{}, err
	}
	spec := SpecOf(past.state)
	out := Forked{ID: f.To, Seq: past.state.Seq, Was: spec.Workspace, Dir: spec.Workspace}
	if _, err := h.Store.Session(ctx, f.To); err == nil {
		return out, fmt.Errorf("fork to %s: %w", f.To, openmanus.ErrExists)
	}
	if f.Share || f.Unchanged && !past.changed || spec.Workspace == "" {
		return out, journal.Fork(ctx, h.Store, f.From, f.At, f.To)
	}
	// The lease of the new session tells another Fork that this one is under way.
	if l, ok := h.Store.(openmanus.Locker); ok {
		lease, err := l.Lock(ctx, f.To)
		if err != nil {
			return out, err
		}
		defer lease.Release()
	}
	h.sweepForks(ctx)
	made, err := h.copyFiles(ctx, f, past, spec.Workspace)
	if err != nil {
		return out, err
	}
	out.Dir, out.Text, out.Copied = made.dir, made.text(), made.CopiedFiles
	c := past.state.Config
	if err := h.adoptWorktree(ctx, f.From, &made.record, &spec); err != nil {
		_, ferr := h.forgetFork(made.record, true)
		return out, errors.Join(err, ferr)
	}
	c.Spec = spec
	c.N, c.Limits, c.Workspace, c.CopyOf = c.N+1, past.state.Limits, made.dir, spec.Workspace
	err = journal.Fork(ctx, h.Store, f.From, f.At, f.To, c, openmanus.Noted{ID: "files-" + f.To, Text: out.Text})
	if err != nil {
		_, ferr := h.forgetFork(made.record, true)
		return out, errors.Join(err, ferr)
	}
	return out, nil
}

// A past is a session up to an event, and what is known of its files then.
type past struct {
	state *openmanus.State
	tree  string // as [openmanus.Snapped] has it; "": there is none
	now   bool   // the files as they are now are wanted

	changed bool // calls after that may have changed files
}

// past returns the session up to the event at, or all of it if that is 0.
func (h *Host) past(ctx context.Context, session string, at int64) (past, error) {
	p := past{state: new(openmanus.State), now: at == 0}
	last := int64(0)
	for ev, err := range h.Store.Events(ctx, session, 0) {
		if err != nil {
			return p, err
		}
		if last = ev.Seq; at == 0 || ev.Seq <= at {
			p.state.Apply(ev)
			continue
		}
		if _, ok := ev.Body.(openmanus.ChildOpened); ok {
			p.changed = true
		}
		for _, c := range openmanus.CallsOf(ev.Body) {
			spec, ok := p.state.ToolSpec(c.Name)
			p.changed = p.changed || !ok || !spec.Hints.ReadOnly && !spec.Hints.Internal && !spec.Hints.Final
		}
	}
	switch {
	case last == 0:
		return p, fmt.Errorf("session %q: %w", session, openmanus.ErrNoSession)
	case at < 0 || at > last:
		return p, mistake(fmt.Errorf("session %s has %d events, and no event %d", session, last, at))
	}
	if p.now {
		return p, nil
	}
	t := treeSearch{at: p.state.Updated, workspace: SpecOf(p.state).Workspace}
	err := h.searchTrees(ctx, session, &t)
	p.tree = cmp.Or(t.before, t.after)
	return p, err
}

// A treeSearch looks for the snapshot that says what a workspace contained at a time.
type treeSearch struct {
	at        time.Time
	workspace string

	before, after         string // the last tree until then, and else what the first one after it began with
	beforeTime, afterTime time.Time
}

// searchTrees searches the snapshots of a session and of those below it, which may
// work in the same directory. A snapshot is stored together with the result of the
// call that it is of, and has its time.
func (h *Host) searchTrees(ctx context.Context, session string, t *treeSearch) error {
	workspace := ""
	for ev, err := range h.Store.Events(ctx, session, 0) {
		if err != nil {
			return err
		}
		if c, ok := ev.Body.(openmanus.Configured); ok {
			workspace = c.Workspace
		}
		if workspace == t.workspace {
			t.see(ev.Time, ev.Body)
		}
	}
	for child, err := range h.Store.Sessions(ctx, journal.ListOptions{Parent: session}) {
		if err == nil && child.Created.After(t.at) && t.before != "" {
			continue
		}
		if err == nil {
			err = h.searchTrees(ctx, child.ID, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// see takes a snapshot into account, if that is what an event is.
func (t *treeSearch) see(at time.Time, b openmanus.Body) {
	first, last := treesIn(b)
	switch {
	case last == "":
	case !at.After(t.at):
		if !at.Before(t.beforeTime) {
			t.before, t.beforeTime = last, at
		}
	case first != "" && (t.after == "" || at.Before(t.afterTime)):
		t.after, t.afterTime = first, at
	}
}

// newIDs matches the ids that [ids.Session] makes; what differs between two is the
// end.
var newIDs = regexp.MustCompile(`^\d{8}-\d{4}-[a-z2-7]{8}$`)

// forkName returns the name of the directory of a fork of the workspace.
func forkName(workspace, id string) string {
	if newIDs.MatchString(id) {
		id = id[strings.LastIndexByte(id, '-')+1:]
	}
	return workspace + "-" + id
}

// refuse returns err as what a user can mend, with what to try.
func refuse(format string, a ...any) error { return mistake(fmt.Errorf(format, a...)) }

// isThere reports whether there is anything at path.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// treesIn returns what an event says that the workspace contained before it and after it, or
// "" where it does not say.
func treesIn(b openmanus.Body) (before, after string) {
	switch b := b.(type) {
	case openmanus.Snapped:
		if b.Before == "" && b.Call == "" {
			return b.Tree, b.Tree // before the first call that may change it
		}
		return b.Before, b.Tree
	case openmanus.Rewound:
		return b.Before, b.Before
	}
	return "", ""
}
