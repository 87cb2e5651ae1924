// Package act is what a person may do in a session: rule on a call, answer a question,
// stop, go on, choose a mode, approve a plan. Each function takes the state of the session
// and what the person decided, checks it, and returns the body that records it. Every
// surface acts through this package. So the same decision is the same event, wherever the
// person made it, and what one surface refuses no other one takes.
//
// The functions append nothing: [Sessions] does that, and settles who decided first.
package act

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// ByPerson is who decided where a program has one person, who has no name.
const ByPerson = "person"

// A Kind says why a person cannot do something.
type Kind int

// The kinds of errors.
const (
	Invalid  Kind = iota // what the person wrote is wrong: other words may do
	Absent               // the session has no such call
	Conflict             // the session has moved on, or another decision came first
)

// An Error says why a person cannot do something. Its text is for that person.
type Error struct {
	Kind    Kind
	Field   string           // which part of the decision is wrong, such as "input"; "": none alone
	Subject string           // what Err goes on after, such as "the input"; "": Err is a sentence
	Event   *openmanus.Event // what decided the matter before, if something did
	Err     error
}

// Error implements error.
func (e *Error) Error() string { return strings.TrimPrefix(e.Subject+" "+e.Err.Error(), " ") }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// An ElsewhereError says that another host has the workspace of a session.
type ElsewhereError struct{ Workspace, Host string }

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("the workspace %s is in use at the host %s", e.Workspace, e.Host)
}

// invalid returns an error of a field. The text goes on after its name.
func invalid(field, format string, args ...any) error {
	return &Error{Field: field, Subject: "the " + field, Err: fmt.Errorf(format, args...)}
}

// conflict returns an error of how the session stands.
func conflict(format string, args ...any) error {
	return &Error{Kind: Conflict, Err: fmt.Errorf(format, args...)}
}

// Stop returns the event that stops a session: its calls are cancelled, and their results
// recorded. said is what had streamed of the reply. It does nothing to a session that has
// ended meanwhile.
func Stop(said string) openmanus.Interrupted { return openmanus.Interrupted{ID: ids.New(), Said: said} }

// Interrupt is [Stop] for a session that runs or waits. For another one it is an error.
func Interrupt(s *openmanus.State, said string) (openmanus.Interrupted, error) {
	switch now := s.Status(); now {
	case openmanus.Running, openmanus.Waiting:
		return Stop(said), nil
	default:
		return openmanus.Interrupted{}, conflict("there is nothing to interrupt: the session is %s", now)
	}
}

// Resume returns the event by which a session goes on with the limits in place of those
// that it had; those that are 0 stay.
func Resume(limits openmanus.Limits) openmanus.Resumed {
	return openmanus.Resumed{ID: ids.New(), Limits: limits}
}

// Continue is [Resume] for a session that failed or was stopped, and for one that has not
// ended and gets new limits. For another one it is an error.
func Continue(s *openmanus.State, limits openmanus.Limits) (openmanus.Resumed, error) {
	now := s.Status()
	ended := now == openmanus.Failed || now == openmanus.Halted
	if now == openmanus.Finished || !ended && limits == (openmanus.Limits{}) {
		return openmanus.Resumed{}, conflict("there is nothing to retry: the session is %s", now)
	}
	return Resume(limits), nil
}

// Sessions are those of a journal, in which people act.
type Sessions struct {
	Journal openmanus.Journal

	// View calls f with the state of a session, which f must not keep. nil loads it.
	View func(ctx context.Context, id string, f func(*openmanus.State) error) error

	// Wake makes the session go on after something was appended. nil does nothing.
	Wake func(ctx context.Context, id string) error

	Memory Memory // nil: no decision can be remembered

	// Note returns what an agent reads of a workspace before the first message of a
	// session, and who wrote that: see [openmanus.UserSaid]. nil: nothing.
	Note func(workspace string) (llm.Parts, []openmanus.Source)
}

// view calls f with the state of a session, and returns the error of f.
func (x Sessions) view(ctx context.Context, id string, f func(*openmanus.State) error) error {
	if x.View != nil {
		return x.View(ctx, id, f)
	}
	s, err := openmanus.Load(ctx, x.Journal, id)
	if err != nil {
		return err
	}
	return f(s)
}

// Append appends what a person did and wakes the session. It returns the number of the
// last event. Bodies that are there already, with the same keys and contents, count as
// appended, so that a surface can try again. The first decision about a call holds: another
// one is a [Conflict], and the error has the event of the first. Any other event with a key
// that exists and other contents is [openmanus.ErrConflict].
//
// Append wakes the session also if ctx ends meanwhile, as when a client leaves. The event
// may be stored by then, and no one else wakes the session for it.
func (x Sessions) Append(ctx context.Context, id string, bodies ...openmanus.Body) (int64, error) {
	evs, err := x.Journal.Append(ctx, id, bodies...)
	if errors.Is(err, openmanus.ErrConflict) && len(evs) == 1 && decides(evs[0].Body) {
		return 0, &Error{Kind: Conflict, Event: &evs[0], Err: errors.New("this has been decided differently already; the first decision holds")}
	}
	if errors.Is(err, openmanus.ErrExists) && !errors.Is(err, openmanus.ErrConflict) {
		err = nil
	}
	if err != nil && ctx.Err() == nil {
		return 0, err
	}
	if x.Wake != nil {
		err = errors.Join(err, x.Wake(context.WithoutCancel(ctx), id))
	}
	if err != nil || len(evs) == 0 {
		return 0, err
	}
	return evs[len(evs)-1].Seq, nil
}

// decides reports whether an event decides what waits for a person.
func decides(b openmanus.Body) bool {
	switch b.(type) {
	case openmanus.Ruled, openmanus.Answered:
		return true
	}
	return false
}

// Do appends what act returns for the state of a session, and wakes it.
func (x Sessions) Do(ctx context.Context, id string, act func(*openmanus.State) ([]openmanus.Body, error)) (seq int64, err error) {
	var bodies []openmanus.Body
	err = x.view(ctx, id, func(s *openmanus.State) error {
		bodies, err = act(s)
		return err
	})
	if err != nil || len(bodies) == 0 {
		return 0, err
	}
	return x.Append(ctx, id, bodies...)
}

// Interrupt stops a session: see [Interrupt].
func (x Sessions) Interrupt(ctx context.Context, id, said string) (int64, error) {
	return x.Do(ctx, id, func(s *openmanus.State) ([]openmanus.Body, error) { return one(Interrupt(s, said)) })
}

// Continue makes a session go on: see [Continue].
func (x Sessions) Continue(ctx context.Context, id string, limits openmanus.Limits) (int64, error) {
	return x.Do(ctx, id, func(s *openmanus.State) ([]openmanus.Body, error) { return one(Continue(s, limits)) })
}

// one returns a body as all that is appended.
func one[B openmanus.Body](b B, err error) ([]openmanus.Body, error) {
	if err != nil {
		return nil, err
	}
	return []openmanus.Body{b}, nil
}
