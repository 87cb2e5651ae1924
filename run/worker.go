package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A Worker carries out the tasks of sessions. It keeps no session between two
// tasks, so any number of workers, in any number of processes, may share a
// journal. It is safe for concurrent use. Set its fields before use.
//
// A runtime calls a Worker like this, for each task of a session:
//
//  1. [Worker.Load] folds the journal.
//  2. [Worker.Do] carries out a task and returns the events that record it.
//  3. If that event is an [openmanus.CallStarted], the runtime appends it with
//     [Worker.Append], which claims the call, and calls Do again, which runs it. It
//     does likewise with a lone [openmanus.Snapped], which precedes a call.
//  4. [Worker.Record] appends the outcome.
//
// [Local] is such a runtime. It keeps the state between tasks, and appends what
// several tasks return in one commit. Every step may be repeated after a crash:
// an event has an idempotency key, so that the journal refuses the second
// answer to a question.
type Worker struct {
	Journal openmanus.Journal

	// Flow returns the flow that decides in a session in state s, by
	// s.Opened.Flow or the spec in s.Config. It returns the same flow for the
	// same session. Before a session is opened, s has only Opened and the spec.
	Flow func(ctx context.Context, s *openmanus.State) (openmanus.Flow, error)

	// Child, if not nil, returns the spec of the session that the given one,
	// in state parent, opens for the task t, without its limits. If it is
	// nil, that spec has the name of the task's flow and nothing else.
	Child func(ctx context.Context, session string, parent *openmanus.State, t openmanus.Task) (openmanus.Spec, error)

	// Blobs keeps large values. If it is nil, the journal does, if it
	// implements [openmanus.Blobs].
	Blobs openmanus.Blobs

	// Secrets are redacted in blobs that calls write, and in what streams
	// from replies and calls. The journal redacts them in events.
	Secrets *journal.Secrets

	// Hooks, if not nil, are asked before calls and requests.
	Hooks Hooks

	// Budget, if not nil, bounds what all sessions spend together.
	Budget Budget

	// Ceiling, if not nil, returns the most that sessions of a user may do, by the owner in
	// [openmanus.Opened]. It is called often, and from several goroutines.
	Ceiling func(owner string) Ceiling

	// Name says in the journal which worker ran a call, such as a host and a
	// process.
	Name string

	// Changes, if not nil, follows what calls change in the workspaces of sessions.
	Changes Follower

	// Note, if not nil, returns the environment message that precedes the
	// first prompt of a child session: see [openmanus.UserSaid].
	Note func(ctx context.Context, c openmanus.Configured) (llm.Parts, error)

	// Ended, if not nil, is called when the child session of d has ended, whose
	// last configuration is c, before its parent, in state s, hears of it. It may
	// change the text and the files of d, and returns what is recorded before d. If
	// the process ends before that is stored, it is called again.
	Ended func(
		ctx context.Context, parent string, s *openmanus.State, c openmanus.Configured, d *openmanus.ChildDone,
	) ([]openmanus.Body, error)

	// Sent, if not nil, identifies requests in place of [llm.SentOf]. It is called by
	// one goroutine of a session at a time.
	Sent func(*llm.Request) llm.Sent

	// Spool, if not nil, keeps what running calls print.
	Spool Spool

	// Live, if not nil, receives the provisional events of a session as they
	// come, from several goroutines. It must not block.
	Live func(session string, b openmanus.Body)

	schemas sync.Map // JSON Schema as a string → *args.Schema
	modes   sync.Map // the id of a session that has children → *modeReader
}

// FlowsByName returns a function for [Worker].Flow that knows these flows, by
// the names of their agents.
func FlowsByName(flows ...openmanus.Flow) func(context.Context, *openmanus.State) (openmanus.Flow, error) {
	return func(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
		for _, f := range flows {
			if f.Agent().Name == s.Opened.Flow {
				return f, nil
			}
		}
		return nil, fmt.Errorf("there is no flow %q", s.Opened.Flow)
	}
}

// A Session is a session as one worker sees it: its state, the flow that
// decides in it, and the calls that this worker has claimed. The tasks of the
// session are Flow.Next(State). It is not safe for concurrent use.
type Session struct {
	ID    string
	State *openmanus.State
	Flow  openmanus.Flow

	claims  map[string]int        // the attempt of each call that was claimed here
	checked *checkedInputs        // shared by clones; nil: every call is checked whenever it is prepared
	memo    *llm.Memo             // what adapters remember of the requests so far
	prefix  [5]int                // the configuration and the cuts that memo belongs to
	made    [2]int                // what Flow was made from: see specOf
	applied func(openmanus.Event) // called after each event was folded; may be nil
}

// ErrNewer says that a session cannot be driven by this version, because a newer one has
// written it.
var ErrNewer = errors.New("it can be read and exported, not driven")

// Load folds the journal of a session. A session that does not exist is an
// error that is [openmanus.ErrNoSession]. One of a newer version of the format,
// or with events of types that this version does not know, is an [ErrNewer]:
// such a session can be read and exported, but not driven.
func (w *Worker) Load(ctx context.Context, session string) (*Session, error) {
	s, err := openmanus.Load(ctx, w.Journal, session)
	if err != nil {
		return nil, err
	}
	if v := s.Opened.Version; v > openmanus.FormatVersion {
		return nil, fmt.Errorf("session %s has version %d of the journal format, and this program knows versions up to %d: %w",
			session, v, openmanus.FormatVersion, ErrNewer)
	}
	if s.Foreign != "" {
		return nil, fmt.Errorf("session %s has events of the type %q, which this version does not know: %w", session, s.Foreign, ErrNewer)
	}
	f, err := w.Flow(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", session, err)
	}
	s.CountWith(f.Agent().Counter)
	return &Session{ID: session, State: s, Flow: f, made: specOf(s)}, nil
}

// specOf returns what changes with the spec of a session.
func specOf(s *openmanus.State) [2]int { return [2]int{s.Config.N, s.ModeSets} }

// refresh makes the flow of x anew if its spec has changed since, such as its mode.
func (w *Worker) refresh(ctx context.Context, x *Session) error {
	now := specOf(x.State)
	if x.made == now {
		return nil
	}
	f, err := w.Flow(ctx, x.State)
	if err != nil {
		return fmt.Errorf("session %s: %w", x.ID, err)
	}
	x.Flow, x.made = f, now
	return nil
}

// Do carries out one task of x and returns the events that record what
// happened, for the caller to append in one commit. It returns none if there is
// nothing to record: the task is out of date, or its child session has not ended. It
// returns the context's error if ctx ended first; events that it returns nevertheless
// are to be appended.
//
// Do changes neither x nor the journal of x. For [openmanus.Use] it returns a
// claim first, and runs the call once x holds the claim; if what the workspace
// contains is not known, it returns only an [openmanus.Snapped] before that. For
// [openmanus.Delegate] it first reserves the child's share of the limits; then
// it opens the child session, if that does not exist, and reports on it, if
// that has ended. Driving the child is up to the runtime.
func (w *Worker) Do(ctx context.Context, x *Session, t openmanus.Task) ([]openmanus.Body, error) {
	if t.Do == openmanus.Use {
		if x.claimed(t.Call) {
			return w.use(ctx, x, t.Call)
		}
		return w.claim(ctx, x, t.Call)
	}
	if t.Do == openmanus.Delegate && x.State.Child(openmanus.ChildID(x.ID, t.Child)) != nil {
		return w.delegate(ctx, x, t)
	}
	b, err := w.do(ctx, x, t)
	if b == nil {
		return nil, err
	}
	return []openmanus.Body{b}, err
}

// do is Do for all tasks that one event records: those but [openmanus.Use], and
// [openmanus.Delegate] to a session that is announced.
func (w *Worker) do(ctx context.Context, x *Session, t openmanus.Task) (openmanus.Body, error) {
	s := x.State
	switch t.Do {
	case openmanus.Rule:
		return w.rule(ctx, x, t.Call)
	case openmanus.Delegate:
		return reserve(x.ID, s, t, delegations(x)), nil
	case openmanus.Elide:
		results, calls := s.Elidable(), []llm.Call(nil)
		if len(results) == 0 {
			calls = s.ElidableCalls()
		}
		if len(results)+len(calls) == 0 {
			results, calls = s.ElidableLeast(s.Size() - s.Window().RequestBudget())
		}
		return w.elide(context.WithoutCancel(ctx), s, results, calls)
	}
	if t.Turn != s.Turn { // all others are outcomes of a turn
		return nil, nil
	}
	switch t.Do {
	case openmanus.Reply:
		return w.reply(ctx, x, t)
	case openmanus.Compact:
		return w.compact(ctx, x.Flow.Agent(), s, t, nil)
	case openmanus.MakeCall:
		return openmanus.Called{Turn: t.Turn, Re: t.Re, Call: callID(t.Turn, 1), Name: t.Name, Input: t.Input}, nil
	case openmanus.End:
		return openmanus.Ended{Turn: t.Turn, Re: t.Re, Status: t.Status, Reason: t.Reason, Error: t.Error, Text: t.Text}, nil
	case openmanus.Stop:
		// reads as a failure, which is what the provider would have said
		if t.Reason == openmanus.Reason(llm.Context) {
			return openmanus.ModelFailed{Turn: t.Turn, Re: t.Re, Kind: llm.Context, Error: t.Error}, nil
		}
		return openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: t.Reason, Error: t.Error}, nil
	}
	return nil, fmt.Errorf("session %s: there is no verb %q", x.ID, t.Do)
}

// recordOnly reports whether Do needs neither a model nor a tool nor another
// session for t: it decides, and the event that it returns is all there is to
// do. The driver appends such events together.
func (x *Session) recordOnly(t openmanus.Task) bool {
	switch t.Do {
	case openmanus.Reply, openmanus.Compact:
		return false
	case openmanus.Use:
		return !x.claimed(t.Call)
	case openmanus.Delegate:
		return x.State.Child(openmanus.ChildID(x.ID, t.Child)) == nil
	}
	return true
}

// recordsAlone is recordOnly, but for rulings that ask hooks: these take time, in which
// the driver goes on with the rest.
func (d *driver) recordsAlone(x *Session, t openmanus.Task) bool {
	return x.recordOnly(t) && !(t.Do == openmanus.Rule && d.l.asksHooks(x, t.Call))
}

// claimed reports whether x holds the claim to the running attempt of a call.
func (x *Session) claimed(call string) bool {
	c := x.State.Call(call)
	return c != nil && c.Running && c.Attempts == x.claims[call]
}

// clone returns a copy of x that can be folded further, or read by another
// goroutine, while x goes on.
func (x *Session) clone() *Session {
	c := *x
	c.State, c.applied = x.State.Clone(), nil
	c.claims = maps.Clone(x.claims)
	return &c
}

// ahead returns a copy of x for one look ahead, see [openmanus.State.Ahead].
func (x *Session) ahead() *Session {
	c := *x
	c.State, c.applied = x.State.Ahead(), nil
	c.claims = maps.Clone(x.claims)
	return &c
}

// foresee folds an event that is about to be appended, as if it had been.
func (x *Session) foresee(b openmanus.Body) {
	x.fold(openmanus.Event{Seq: x.State.Seq + 1, Time: x.State.Updated, Body: b})
	x.hold(b)
}

// fold folds an event.
func (x *Session) fold(ev openmanus.Event) {
	x.State.Apply(ev)
	switch ev.Body.(type) {
	case openmanus.ModelSaid, openmanus.Called:
		clear(x.claims) // the calls before have ended
	}
}

// hold notes the claims in bodies, which have been folded.
func (x *Session) hold(bodies ...openmanus.Body) {
	for _, b := range bodies {
		if c, ok := b.(openmanus.CallStarted); ok {
			if x.claims == nil {
				x.claims = make(map[string]int)
			}
			x.claims[c.Call] = c.Attempt
		}
	}
}

// remember sets the memo for the requests that begin with the same messages as
// those before: a new configuration or a cut begins another one.
func (x *Session) remember() {
	now := [5]int{x.State.Config.N, x.State.Elisions, x.State.Compactions, x.State.Rewinds, x.State.Softenings}
	if x.memo == nil || x.prefix != now {
		x.memo, x.prefix = new(llm.Memo), now
	}
}

// Append appends bodies to the journal of x in one commit, even if ctx has
// ended, and folds them into x together with whatever others appended before
// them. If one of them has been answered already, it appends nothing, leaves x
// as it was, and returns an error that is [openmanus.ErrExists].
//
// To append an [openmanus.CallStarted] is to claim the call for x.
func (w *Worker) Append(ctx context.Context, x *Session, bodies ...openmanus.Body) error {
	events, err := w.Journal.Append(context.WithoutCancel(ctx), x.ID, bodies...)
	if errors.Is(err, openmanus.ErrExists) && len(events) > 0 {
		return fmt.Errorf("%s: %w", events[0].Body.Key(), err)
	}
	if err != nil {
		return err
	}
	if events[0].Seq == x.State.Seq+1 {
		for _, ev := range events {
			x.apply(ev)
		}
	} else if err := w.catchUp(ctx, x); err != nil {
		return err
	}
	x.hold(bodies...)
	return nil
}

// apply folds an event and passes it on.
func (x *Session) apply(ev openmanus.Event) {
	x.fold(ev)
	if x.applied != nil {
		x.applied(ev)
	}
}

// catchUp folds the events that the journal has and x lacks.
func (w *Worker) catchUp(ctx context.Context, x *Session) error {
	for ev, err := range w.Journal.Events(context.WithoutCancel(ctx), x.ID, x.State.Seq) {
		if err != nil {
			return err
		}
		x.apply(ev)
	}
	if x.State.Foreign != "" {
		return fmt.Errorf("session %s has got an event of the type %q, which this version does not know", x.ID, x.State.Foreign)
	}
	return nil
}

// Record appends the outcome of a task, even if ctx has ended. It is no error
// if another worker recorded one first: then this one is dropped, except that
// the result of a call that already has a different one is stored as
// [openmanus.CallLate], and shown to the model as a note.
func (w *Worker) Record(ctx context.Context, session string, b openmanus.Body) error {
	ctx = context.WithoutCancel(ctx)
	_, err := w.Journal.Append(ctx, session, b)
	if d, ok := b.(openmanus.CallDone); ok && errors.Is(err, openmanus.ErrConflict) && !d.IsError {
		_, err = w.Journal.Append(ctx, session, openmanus.CallLate{Call: d.Call, Parts: d.Parts, Sources: d.Sources})
	}
	if errors.Is(err, openmanus.ErrExists) {
		return nil
	}
	return err
}

// blobs returns where calls keep large values, with secrets redacted: in Blobs, or in
// the journal, or, if neither has blobs, nowhere that outlives the call.
func (w *Worker) blobs() openmanus.Blobs {
	if w.Blobs != nil {
		return w.Secrets.Blobs(w.Blobs)
	}
	if b, ok := w.Journal.(openmanus.Blobs); ok {
		return w.Secrets.Blobs(b)
	}
	return new(journal.Memory)
}
