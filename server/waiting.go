package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Waiting is a call that waits for the user.
type Waiting struct {
	Session  string `json:"session" doc:"The session to send the decision to: this one or a child."`
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	Kind     string `json:"kind" enum:"ruling,text" doc:"ruling: may the call run? text: the call asks a question."`
	Question string `json:"question"`
	Input    string `json:"input" doc:"The arguments that the call would run with."`
	Scope    string `json:"scope,omitempty" doc:"What can be allowed for the rest of the session, such as a web site: see scope of a ruling."`
	Schema   any    `json:"schema,omitempty" doc:"The JSON Schema of the answer, if it has one."`
	Shown    string `json:"shown,omitempty" doc:"A preview of what the call would do, such as a diff."`
	Picture  string `json:"picture,omitempty" doc:"The blob of a picture of what the call would act on, such as an element of a page."`
	Rule     string `json:"rule,omitempty" doc:"Which rule asks. provenance: the decision holds this once and cannot be remembered."`

	Hints   openmanus.Hints            `json:"hints,omitzero" doc:"What the call may do, as its tool declares it."`
	Sources []openmanus.ArgumentSource `json:"sources,omitempty" doc:"Where the arguments came from."`
}

// A viewer calls f with the state of a session. f does not retain it. The
// error is [openmanus.ErrNoSession] if there is no such session.
type viewer func(ctx context.Context, id string, f func(*openmanus.State) error) error

// standing returns the status of the session id with the state st, and the
// calls that wait for the user: its own first, then those of its descendants,
// which view shows. A session that only delegates is waiting if all its open
// children are, and no call of its own or of theirs can proceed. The session's
// own status would be running, since its calls to delegate are; but nothing
// happens until the user decides, which is what a client wants to know.
func standing(ctx context.Context, view viewer, id string, st *openmanus.State) (openmanus.Status, []Waiting, error) {
	status := st.Status()
	var waiting []Waiting
	for _, c := range st.Pending() {
		q := c.Question()
		w := Waiting{
			Session: id, Call: c.ID, Tool: c.Name, Kind: string(q.Kind), Question: q.Question,
			Input: c.Arguments(), Shown: q.Shown, Picture: string(q.Picture), Scope: q.Scope, Rule: q.Rule,
			Hints: q.Hints, Sources: q.Sources,
		}
		if len(q.Schema) > 0 {
			w.Schema = q.Schema
		}
		waiting = append(waiting, w)
	}
	if status != openmanus.Running && status != openmanus.Waiting {
		return status, waiting, nil
	}
	blocked := onlyDelegates(st)
	for _, c := range st.OpenChildren() {
		childStatus := openmanus.Idle // if the child is recorded here and not opened yet
		err := view(ctx, c.Child, func(child *openmanus.State) (err error) {
			var more []Waiting
			childStatus, more, err = standing(ctx, view, c.Child, child)
			waiting = append(waiting, more...)
			return err
		})
		if err != nil && !errors.Is(err, openmanus.ErrNoSession) {
			return status, waiting, err
		}
		blocked = blocked && childStatus == openmanus.Waiting
	}
	if blocked && len(waiting) > 0 {
		status = openmanus.Waiting
	}
	return status, waiting, nil
}

// onlyDelegates reports whether the session itself has nothing to do but to
// wait for its children: neither the model nor a call of its own is due.
func onlyDelegates(st *openmanus.State) bool {
	for _, t := range st.CallTasks() {
		if t.Do != openmanus.Delegate {
			return false
		}
		if c := st.Call(t.Call); c == nil || !c.Running {
			return false // the child is about to be opened
		}
	}
	return st.Config.FlowEnds || !st.Due() // a flow that ends by itself need not ask the model
}

// wait returns when a session does not run, when a call in it or below it
// waits for the user, or after the timeout.
func (s *Server) wait(ctx context.Context, id string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.eachStanding(ctx, id, func(_ int64, status openmanus.Status, waiting []Waiting) bool {
		return status == openmanus.Running && len(waiting) == 0
	})
}

// eachStanding calls f with how a session stands, and what waits in it and below it,
// after the event seq: now and whenever something has changed, here or below. It
// returns when f returns false or ctx has ended, which is no error.
func (s *Server) eachStanding(
	ctx context.Context, id string, f func(seq int64, status openmanus.Status, waiting []Waiting) bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	fo := &follower{store: s.Store, changed: make(chan struct{}, 1), followed: make(map[string]bool)}
	defer fo.following.Wait()
	defer cancel()
	// view follows each session that is looked at, from where it was then.
	view := func(ctx context.Context, id string, fn func(*openmanus.State) error) error {
		var seq int64
		err := s.states.view(ctx, id, func(st *openmanus.State) error {
			seq = st.Seq
			return fn(st)
		})
		fo.follow(ctx, id, seq)
		return err
	}
	for ctx.Err() == nil {
		var seq int64
		var status openmanus.Status
		var waiting []Waiting
		err := view(ctx, id, func(st *openmanus.State) (err error) {
			seq = st.Seq
			status, waiting, err = standing(ctx, view, id, st)
			return err
		})
		if ctx.Err() == nil && (err != nil || !f(seq, status, waiting)) {
			return err
		}
		select {
		case <-fo.changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// heard is an event of a session or, without one, the news of what waits.
type heard struct {
	event   openmanus.Event
	waiting []Waiting // nothing goes on in the session and below it before the user decides these
	seq     int64     // the session's last event when that was so
	err     error
}

// followUntil calls do with what happens in a session, from its first event on, until
// do returns true or an error, or ctx ends. News of what waits, or that nothing does any
// more, come when all events before them have come, and may come again. Meanwhile it calls alive, if that is not nil, so that
// proxies see that the connection lives.
func (s *Server) followUntil(
	ctx context.Context, alive func() error, id string, do func(heard) (done bool, err error),
) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	news := make(chan heard)
	tell := func(h heard) bool {
		select {
		case news <- h:
			return true
		case <-ctx.Done():
			return false
		}
	}
	all.Go(func() { every(ctx, keepAlive, alive) })
	all.Go(func() {
		for ev, err := range s.Local.Watch(ctx, id, 0) {
			if !tell(heard{event: ev, err: err}) {
				return
			}
		}
	})
	all.Go(func() {
		err := s.eachStanding(ctx, id, func(seq int64, status openmanus.Status, waiting []Waiting) bool {
			if status != openmanus.Waiting {
				waiting = nil
			}
			return tell(heard{waiting: waiting, seq: seq})
		})
		if err != nil {
			tell(heard{err: err})
		}
	})
	var seq int64
	var last heard // the last news about what waits
	for {
		var h heard
		select {
		case h = <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
		done, err := false, h.err
		switch {
		case err != nil:
		case h.event.Body == nil:
			last = h
		default:
			seq = max(seq, h.event.Seq)
			done, err = do(h)
		}
		if err == nil && !done && seq > 0 && last.seq == seq {
			done, err = do(last)
		}
		if done || err != nil {
			return err
		}
	}
}

// A follower reports changes in any of several sessions.
type follower struct {
	store     openmanus.Journal
	changed   chan struct{} // holds one value if a session changed
	followed  map[string]bool
	following sync.WaitGroup
}

// follow reports events of a session after seq until ctx ends. The session
// need not exist yet. The first call for a session counts.
func (f *follower) follow(ctx context.Context, id string, seq int64) {
	if f.followed[id] {
		return
	}
	f.followed[id] = true
	f.following.Go(func() {
		for range f.store.Follow(ctx, id, seq) { // after an error, the next look at the session reports it
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
	})
}
