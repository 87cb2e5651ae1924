package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// A backPlan is what going back does, with what it takes to do that.
type backPlan struct {
	act.Rewinding
	ops    []snapshot.Op
	before string // the tree now
}

// ErrNothingBack says that a session cannot go back as it was asked to: nothing was
// said or done.
var ErrNothingBack = errors.New("there is nothing to take back")

// GoBack takes a session back, and returns what it did. With Plan it only says what it would
// do, and stores what the workspace contains. Otherwise it holds the lease of the
// session, and interrupts it first if it is running. In a cluster it claims the workspace; one
// that another host has is an error. If agreed is not nil, it is asked
// with the plan, and GoBack does nothing unless it returns nil.
//
// If the process is killed meanwhile, the next one that drives the session, or takes it
// back, puts back what is missing.
func (h *Host) GoBack(ctx context.Context, session string, b act.Rewind, agreed func(*act.Rewinding) error) (*act.Rewinding, error) {
	x, err := h.loadBack(ctx, session)
	if err != nil {
		return nil, err
	}
	if b.Plan {
		if x.s.Unfinished != nil {
			return nil, fmt.Errorf("session %s went back and was interrupted before all files were put back: "+
				"openmanus sessions resume %s finishes that", session, session)
		}
		p, _, err := x.plan(ctx, b)
		return &p.Rewinding, err
	}
	leave, err := h.Enter(ctx, session)
	if err != nil {
		return nil, err
	}
	release, err := h.lease(ctx, session, true)
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	p, err := h.goBack(ctx, session, x.backs(), b, agreed)
	return p, errors.Join(err, release(), leave())
}

// backs returns how often the session went back.
func (x *back) backs() (n int) {
	for _, ev := range x.events {
		if _, ok := ev.Body.(openmanus.Rewound); ok {
			n++
		}
	}
	return n
}

// goBack does the work of GoBack, of a session that had gone back so many times.
func (h *Host) goBack(ctx context.Context, session string, times int, b act.Rewind, agreed func(*act.Rewinding) error) (*act.Rewinding, error) {
	if err := h.finishBack(ctx, session); err != nil {
		return nil, err
	}
	x, err := h.loadBack(ctx, session)
	if err != nil {
		return nil, err
	}
	if x.backs() != times {
		return nil, fmt.Errorf("session %s: %w: it has just gone back there", session, openmanus.ErrDriven)
	}
	p, first, err := x.plan(ctx, b)
	if err != nil {
		return nil, err
	}
	if agreed != nil {
		if err := agreed(&p.Rewinding); err != nil {
			return &p.Rewinding, err
		}
	}
	if p.Nothing {
		return &p.Rewinding, nil
	}
	p.Files = p.Files && p.before != ""
	e := openmanus.Rewound{ID: ids.New(), To: p.To, Files: p.Files, Talk: p.Talk, Redo: p.Redo, By: b.By, Kept: p.Kept}
	if p.Files {
		e.Before, e.Changes = p.before, p.Changes
	}
	if _, err := h.Store.Append(context.WithoutCancel(ctx), session, append(first, e)...); err != nil {
		return nil, err
	}
	if !p.Files {
		return &p.Rewinding, nil
	}
	snapped, err := h.restore(context.WithoutCancel(ctx), session, x.s, e, p.ops)
	if err != nil {
		return nil, fmt.Errorf("not all files are put back; the session finishes that when it goes on: %w", err)
	}
	p.Kept = append(p.Kept, snapped.Kept...)
	_, err = h.Store.Append(context.WithoutCancel(ctx), session, snapped)
	return &p.Rewinding, err
}

// finishBack puts back what a process that was killed did not.
func (h *Host) finishBack(ctx context.Context, session string) error {
	s, err := openmanus.Load(ctx, h.Store, session)
	if err != nil || s.Unfinished == nil {
		return err
	}
	snapped, err := h.follower.Restore(ctx, session, s)
	if err != nil {
		return fmt.Errorf("session %s went back before, and not all files are put back: %w", session, err)
	}
	_, err = h.Store.Append(ctx, session, snapped)
	if errors.Is(err, openmanus.ErrExists) {
		return nil
	}
	return err
}

// A back is a session that goes back.
type back struct {
	h       *Host
	session string
	s       *openmanus.State
	events  []openmanus.Event
}

func (h *Host) loadBack(ctx context.Context, session string) (*back, error) {
	x := &back{h: h, session: session, s: new(openmanus.State)}
	for ev, err := range h.Store.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		x.s.Apply(ev)
		x.events = append(x.events, ev)
	}
	if x.s.Seq == 0 {
		return nil, fmt.Errorf("session %q: %w", session, openmanus.ErrNoSession)
	}
	if x.s.Foreign != "" {
		return nil, fmt.Errorf("session %s has events of the type %q, which this version does not know", session, x.s.Foreign)
	}
	return x, nil
}

// plan returns the plan, and the events that are to be appended before the Rewound.
func (x *back) plan(ctx context.Context, b act.Rewind) (*backPlan, []openmanus.Body, error) {
	p := &backPlan{Rewinding: act.Rewinding{
		To: b.To, Files: b.Files, Talk: b.Talk, Messages: []string{}, Changes: []openmanus.FileChange{},
		Kept: []openmanus.Left{}, Unsure: []string{}, Outside: []act.OutsideCall{},
	}}
	if err := x.aim(p, b); err != nil {
		return new(backPlan), nil, err
	}
	var first []openmanus.Body
	st := x.s.Status()
	p.Running = st == openmanus.Running || st == openmanus.Waiting
	if p.Files {
		now, err := x.look(ctx, p.To)
		if err != nil {
			return new(backPlan), nil, err
		}
		if now != nil {
			first = append(first, now)
		}
	}
	if p.Running {
		first = append(first, openmanus.Interrupted{ID: ids.New()})
	}
	if p.Files {
		if err := x.planFiles(ctx, p); err != nil {
			return new(backPlan), nil, err
		}
	}
	x.planTalk(p)
	p.Nothing = len(p.Changes) == 0 && len(p.ops) == 0 && !p.Talk
	return p, first, x.outside(ctx, p)
}

// aim sets how far p goes.
func (x *back) aim(p *backPlan, b act.Rewind) error {
	switch {
	case b.Redo:
		r, seq := x.lastBack()
		if r == nil {
			return x.nothing("it did not go back, or goes on since")
		}
		p.To, p.Files, p.Talk, p.Redo = seq-1, r.Files, r.Talk, r.ID
	case b.Last:
		said := x.said(x.s.Seq)
		if len(said) == 0 {
			return x.nothing("there is no message of yours")
		}
		p.To = said[len(said)-1] - 1
	case b.To < 1 || b.To >= x.s.Seq:
		return &act.Error{Field: "to", Err: fmt.Errorf("session %s has the events 1 to %d: one goes back to an event before the last; "+
			"openmanus sessions log %s lists them", x.session, x.s.Seq, x.session)}
	}
	if p.Talk {
		to := x.s.Moment(p.To)
		if to == 0 {
			return &act.Error{Field: "to", Err: fmt.Errorf("event %d of session %s is before its first message: choose a later one", p.To, x.session)}
		}
		p.To = to
	}
	return nil
}

// nothing returns an [ErrNothingBack] with the reason.
func (x *back) nothing(why string) error {
	return &act.Error{Kind: act.Absent, Field: "to", Err: fmt.Errorf("session %s: %w: %s", x.session, ErrNothingBack, why)}
}

// lastBack returns the last Rewound that was not taken back, and its event, or nil: if
// there is none, or the session has gone on since with a message or calls.
func (x *back) lastBack() (*openmanus.Rewound, int64) {
	var stack []openmanus.Rewound
	seqs := make(map[string]int64)
	for _, ev := range x.events {
		switch b := ev.Body.(type) {
		case openmanus.UserSaid, openmanus.Resumed, openmanus.ModelSaid, openmanus.Called:
			stack = nil
		case openmanus.Rewound:
			seqs[b.ID] = ev.Seq
			if b.Redo == "" {
				stack = append(stack, b)
			} else {
				stack = slices.DeleteFunc(stack, func(r openmanus.Rewound) bool { return r.ID == b.Redo })
			}
		}
	}
	if len(stack) == 0 {
		return nil, 0
	}
	r := stack[len(stack)-1]
	return &r, seqs[r.ID]
}

// said returns the events of the messages of the person that are in the conversation
// after the event upTo.
func (x *back) said(upTo int64) (said []int64) {
	for _, ev := range x.events {
		if ev.Seq > upTo {
			break
		}
		switch b := ev.Body.(type) {
		case openmanus.UserSaid:
			said = append(said, ev.Seq)
		case openmanus.Rewound:
			if b.Talk {
				said = x.said(min(b.To, ev.Seq-1))
			}
		}
	}
	return said
}

// LastMessage returns the event of the last message of the person that is in the
// conversation.
func (h *Host) LastMessage(ctx context.Context, session string) (int64, error) {
	x, err := h.loadBack(ctx, session)
	if err != nil {
		return 0, err
	}
	said := x.said(x.s.Seq)
	if len(said) == 0 {
		return 0, errors.New("nothing was asked yet")
	}
	return said[len(said)-1], nil
}

// planTalk adds the messages that leave the conversation.
func (x *back) planTalk(p *backPlan) {
	if !p.Talk {
		return
	}
	stay := x.said(p.To)
	for _, seq := range x.said(x.s.Seq) {
		if !slices.Contains(stay, seq) {
			p.Messages = append(p.Messages, x.events[seq-1].Body.(openmanus.UserSaid).Message.Text())
		}
	}
}

// look returns what is to be recorded of the workspace before files are put back: what
// others changed since the last snapshot, or a call that was running. It also makes
// the state know it. It returns nil if that is recorded, or nothing was followed.
func (x *back) look(ctx context.Context, to int64) (openmanus.Body, error) {
	if x.s.Snapshot.Tree == "" {
		branches, err := x.branches(ctx, to, x.s.Seq)
		if err != nil || !slices.ContainsFunc(branches, branch.followed) {
			return nil, err
		}
	}
	var e openmanus.Body
	for _, c := range x.s.Calls {
		if c.Running && c.Done == nil && !c.Followed && !c.Hints.ReadOnly && !c.Hints.Internal && !c.Hints.Delegates {
			e = x.h.follower.Broken(ctx, x.session, x.s, c)
		}
	}
	if e == nil {
		w := x.h.follower.directory(x.s.Config.Workspace)
		taken, why := w.take(ctx, x.session, x.s.Snapshot.Tree, nil)
		if why != "" {
			return nil, fmt.Errorf("the workspace %s cannot be looked at: %s", x.s.Config.Workspace, why)
		}
		if !taken.Changed {
			return nil, nil
		}
		e = changedBetween("now/"+ids.New(), "", x.s.Snapshot.Tree, taken)
	}
	ev := openmanus.Event{Seq: x.s.Seq + 1, Time: time.Now(), Body: e}
	x.s.Apply(ev)
	x.events = append(x.events, ev)
	return e, nil
}

// planFiles adds what happens to files.
func (x *back) planFiles(ctx context.Context, p *backPlan) error {
	p.before = x.s.Snapshot.Tree
	p.Unfollowed = x.s.Snapshot.Error
	if p.before == "" {
		if x.s.Snapshot.Seq == 0 && !p.Talk {
			p.Unfollowed = "no call of the session that may change files was followed"
		}
		return nil
	}
	u, err := x.undo(ctx, p.To, x.s.Seq, p.before)
	if err != nil {
		return goneOf(ctx, x.h.Store, x.session, err)
	}
	p.ops = u.Ops
	p.Unfollowed = cmp.Or(u.unfollowed, p.Unfollowed)
	for _, op := range u.Ops {
		c, ok := fileChange(snapshot.Change{Name: op.Name, Was: op.From, Now: op.To})
		if ok && !op.From.Same(op.To) {
			p.Changes = append(p.Changes, c)
			if u.unsure[op.Name] {
				p.Unsure = append(p.Unsure, op.Name)
			}
		}
	}
	for _, op := range u.Conflicts {
		p.Kept = append(p.Kept, openmanus.Left{Name: op.Name, Why: "something else has changed it since"})
	}
	for _, op := range u.Lost {
		p.Kept = append(p.Kept, openmanus.Left{Name: op.Name, Why: "its earlier content was not kept"})
	}
	for _, name := range u.foreign {
		if !slices.ContainsFunc(p.Kept, func(l openmanus.Left) bool { return l.Name == name }) {
			p.Kept = append(p.Kept, openmanus.Left{Name: name, Why: "calls of another session ran at the same time and may have changed it"})
		}
	}
	return nil
}

// gone returns err with what to do if the history was pruned.
func gone(err error) error {
	if errors.Is(err, snapshot.ErrGone) {
		return fmt.Errorf("what the workspace contained then is not kept any more (openmanus sessions prune removes it): %w", err)
	}
	return err
}

// goneOf is gone for the workspace of a session, which may have come from elsewhere.
func goneOf(ctx context.Context, j openmanus.Journal, session string, err error) error {
	if !errors.Is(err, snapshot.ErrGone) {
		return err
	}
	if s, bad := openmanus.Load(ctx, j, session); bad == nil && s.Opened.From != nil && s.Opened.From.Foreign {
		return &elsewhereError{session, err}
	}
	return gone(err)
}

// An elsewhereError says that what is asked of a session's files is not here, since an
// import did not bring it.
type elsewhereError struct {
	session string
	err     error
}

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("session %s was imported, and the files of earlier events did not come along. "+
		"Choose an event after the import, or take only the conversation back (--talk)", e.session)
}

func (e *elsewhereError) Unwrap() error { return e.err }

// maxKept is how many names an event has of those that stay as they are.
const maxKept = 1000

// outside adds the calls since p.To whose effects do not come back: those that ran and
// could reach more than the workspace.
func (x *back) outside(ctx context.Context, p *backPlan) error {
	p.Kept = p.Kept[:min(len(p.Kept), maxKept)]
	p.Total, p.Changes = len(p.Changes), p.Changes[:min(len(p.Changes), maxKept)]
	if p.Redo != "" {
		return nil
	}
	branches, err := x.branches(ctx, p.To, x.s.Seq)
	if err != nil {
		return err
	}
	for _, b := range branches {
		calls := make(map[string]act.OutsideCall)
		for _, ev := range b.events {
			for _, c := range openmanus.CallsOf(ev.Body) {
				calls[c.ID] = act.OutsideCall{Session: b.session, Call: c.ID, Tool: c.Name, Input: c.Input}
			}
			switch e := ev.Body.(type) {
			case openmanus.Ruled:
				if c, ok := calls[e.Call]; ok {
					c.Reach = e.Hints.Reach
					calls[e.Call] = c
					if staysInside(e.Hints) {
						delete(calls, e.Call)
					}
				}
			case openmanus.CallStarted:
				if c, ok := calls[e.Call]; ok && ev.Seq > b.since && e.Attempt == 1 {
					c.Seq = ev.Seq
					p.Outside = append(p.Outside, c)
				}
			}
		}
	}
	return nil
}

// staysInside reports whether a call with these hints changes nothing but the
// workspace.
func staysInside(h openmanus.Hints) bool {
	return h.ReadOnly || h.Internal || h.Final || h.Delegates || h.Reach == "" && (h.Edits || h.Sandboxed)
}

// A branch is a session of which something is undone: the one that goes back, or one
// below it.
type branch struct {
	session string
	events  []openmanus.Event // up to the point from which one goes back
	since   int64             // the events after it are taken back
	dir     string            // the workspace
}

// followed reports whether the workspace of the branch was followed.
func (b branch) followed() bool {
	return slices.ContainsFunc(b.events, func(ev openmanus.Event) bool {
		e, ok := ev.Body.(openmanus.Snapped)
		return ok && e.Tree != ""
	})
}

// branches returns the session and those below it, with what happened after the event
// to and until upTo. The clocks of processes tell what happened first in two sessions.
func (x *back) branches(ctx context.Context, to, upTo int64) ([]branch, error) {
	root := branch{session: x.session, events: x.events[:upTo], since: to, dir: x.s.Config.Workspace}
	all := []branch{root}
	until := time.Time{} // sessions below may have gone on after the last event
	if upTo < int64(len(x.events)) {
		until = timeOf(x.events, upTo+1)
	}
	return all, x.below(ctx, root, timeOf(x.events, to), until, &all)
}

// timeOf returns when an event was stored.
func timeOf(events []openmanus.Event, seq int64) time.Time {
	if seq < 1 {
		return time.Time{}
	}
	return events[seq-1].Time
}

// below adds the sessions below a branch. If until is zero, there is no limit.
func (x *back) below(ctx context.Context, above branch, since, until time.Time, all *[]branch) error {
	for _, ev := range above.events {
		o, ok := ev.Body.(openmanus.ChildOpened)
		if !ok {
			continue
		}
		b := branch{session: o.Child}
		for ev, err := range x.h.Store.Events(ctx, o.Child, 0) {
			if errors.Is(err, openmanus.ErrNoSession) {
				break // it was announced, and never opened, or was deleted
			}
			if err != nil {
				return err
			}
			if !until.IsZero() && ev.Time.After(until) {
				break
			}
			if c, ok := ev.Body.(openmanus.Configured); ok {
				b.dir = c.Workspace
			}
			if !ev.Time.After(since) {
				b.since = ev.Seq
			}
			b.events = append(b.events, ev)
		}
		*all = append(*all, b)
		if err := x.below(ctx, b, since, until, all); err != nil {
			return err
		}
	}
	return nil
}

// An undo is a plan for files, and what is known of it.
type undo struct {
	snapshot.Plan
	unsure     map[string]bool // names that others may have changed
	foreign    []string        // names that are left because another session may have changed them
	unfollowed string          // why something is not in the plan; ""
}

// A done is what a call did, or what going back did.
type done struct {
	snapshot.Step
	session    string
	start, end time.Time
	with       []string
	broken     bool
}

// undo plans how to undo what the session and those below it did after the event to
// and until upTo, in a workspace that contains now.
func (x *back) undo(ctx context.Context, to, upTo int64, now string) (*undo, error) {
	branches, err := x.branches(ctx, to, upTo)
	if err != nil {
		return nil, err
	}
	ours := make(map[string]bool)
	for _, b := range branches {
		ours[b.session] = true
	}
	u := &undo{unsure: make(map[string]bool)}
	all, err := u.dones(branches, x.s.Config.Workspace)
	if err != nil {
		return nil, err
	}
	foreign := func(d done) bool {
		return d.Only == nil && slices.ContainsFunc(d.with, func(s string) bool { return !ours[s] })
	}
	var steps []snapshot.Step
	for _, d := range merged(slices.DeleteFunc(slices.Clone(all), foreign)) {
		steps = append(steps, d.Step)
	}
	for _, d := range all {
		if !foreign(d) && !d.broken {
			continue
		}
		for c, err := range x.h.reader.Diff(ctx, d.Before, d.After) {
			if err != nil {
				return nil, err
			}
			if _, isFile := fileChange(c); foreign(d) && isFile && !slices.Contains(u.foreign, c.Name) {
				u.foreign = append(u.foreign, c.Name)
			}
			u.unsure[c.Name] = u.unsure[c.Name] || d.broken
		}
	}
	tree, err := snapshot.ParseTree(now)
	if err != nil {
		return nil, err
	}
	u.Plan, err = x.h.reader.Undo(ctx, tree, steps)
	return u, err
}

// dones returns what is to be undone of branches in a workspace, in the order in which it ended.
func (u *undo) dones(branches []branch, workspace string) (all []done, err error) {
	for _, b := range branches {
		if !samePath(b.dir, workspace) {
			continue // it has files of its own
		}
		some, err := u.donesOf(b)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if len(branches) > 1 {
		slices.SortStableFunc(all, func(a, b done) int { return a.end.Compare(b.end) })
	}
	return all, nil
}

// donesOf returns what is to be undone of a branch, in order.
func (u *undo) donesOf(b branch) (all []done, err error) {
	started := make(map[string]time.Time)
	for _, ev := range b.events {
		switch e := ev.Body.(type) {
		case openmanus.CallStarted:
			started[e.Call] = ev.Time
		case openmanus.Rewound:
			started[e.ID] = ev.Time
		case openmanus.Snapped:
			if ev.Seq <= b.since {
				continue
			}
			if e.Error != "" {
				u.unfollowed = e.Error
			}
			if e.Call == "" && e.Rewound == "" || e.Before == "" || e.Tree == "" {
				continue
			}
			d := done{session: b.session, start: started[e.Call+e.Rewound], end: ev.Time, with: e.With, broken: e.Broken}
			if d.Before, err = snapshot.ParseTree(e.Before); err != nil {
				return nil, err
			}
			if d.After, err = snapshot.ParseTree(e.Tree); err != nil {
				return nil, err
			}
			if len(e.Names) > 0 {
				d.Only = func(name string) bool { return Named(e.Names, name) }
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// merged joins what calls of several sessions did at the same time, since no one can
// tell it apart: from what there was before the first of them to what there was after
// the last. The result is in order.
func merged(all []done) (steps []done) {
	for _, d := range all {
		for len(steps) > 0 {
			last := steps[len(steps)-1]
			together := slices.Contains(d.with, last.session) || slices.Contains(last.with, d.session)
			if !together || !d.start.Before(last.end) || d.Only != nil && last.Only != nil {
				break
			}
			steps = steps[:len(steps)-1]
			if last.start.Before(d.start) {
				d.Before, d.start = last.Before, last.start
			}
			d.with, d.Only = append(slices.Clip(d.with), last.with...), nil
		}
		steps = append(steps, d)
	}
	return steps
}

// samePath reports whether two paths lead to the same directory.
func samePath(a, b string) bool { return a == b || hostexec.RealPath(a) == hostexec.RealPath(b) }

// Restore implements [run.Follower]. It works out again what the rewind has to change,
// from the journal and the snapshots, and does the part that is missing: files that
// already have their final content stay. So it may be called again after a kill at any
// moment.
func (f *follower) Restore(ctx context.Context, session string, s *openmanus.State) (openmanus.Body, error) {
	x, err := f.h.loadBack(ctx, session)
	if err != nil {
		return nil, err
	}
	e := *s.Unfinished
	i := slices.IndexFunc(x.events, func(ev openmanus.Event) bool { return ev.Body.Key() == e.Key() })
	if i < 0 {
		return nil, fmt.Errorf("there is no event %s", e.Key())
	}
	u, err := x.undo(ctx, e.To, int64(i), e.Before)
	if err != nil {
		return nil, gone(err)
	}
	return f.h.restore(ctx, session, x.s, e, u.Ops)
}

// restore puts files back, and returns what is to be recorded then.
func (h *Host) restore(
	ctx context.Context, session string, s *openmanus.State, e openmanus.Rewound, ops []snapshot.Op,
) (r openmanus.Snapped, err error) {
	w := h.follower.directory(s.Config.Workspace)
	if w.root == nil {
		return r, fmt.Errorf("the workspace %s: %s", s.Config.Workspace, cmp.Or(w.why, fs.ErrClosed.Error()))
	}
	c := w.begin(session)
	defer w.end(c)
	outcomes, err := h.reader.Restore(ctx, w.root, ops)
	if err != nil {
		return r, gone(err)
	}
	r = openmanus.Snapped{ID: "rewound/" + e.ID, Rewound: e.ID, Before: e.Before, With: w.others(c)}
	for _, o := range outcomes {
		if !o.Done && len(r.Kept) < maxKept {
			r.Kept = append(r.Kept, openmanus.Left{Name: o.Name, Why: o.Why})
		}
	}
	after, why := w.take(ctx, session, e.Before, nil)
	switch {
	case why != "":
		r.Error = why
		return r, nil
	case !after.Changed:
		r.Tree = e.Before
		return r, nil
	}
	w.save()
	return snapped(r, after), nil
}
