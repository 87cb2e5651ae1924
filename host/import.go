package host

import (
	"context"
	"io"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/sandbox"
)

// Import stores a session that was exported, here or elsewhere, in store, which
// must be an [openmanus.Restorer]; with the id to unless that is "". The session
// does nothing by itself: see tame. All of it is stored, or nothing. Import
// returns the id, and the session's state as it is stored and as it was in the
// export.
func (h *Host) Import(ctx context.Context, store interface {
	openmanus.Blobs
	openmanus.Restorer
}, r io.Reader, to string) (id string, now, was *openmanus.State, err error) {
	var mem journal.Memory // the session is known only when all of the export was read
	if id, err = journal.Import(ctx, &mem, store, to, r); err != nil {
		return "", nil, nil, err
	}
	now, was = new(openmanus.State), new(openmanus.State)
	var events []openmanus.Event
	for ev, err := range mem.Events(ctx, id, 0) {
		if err != nil {
			return "", nil, nil, err
		}
		events = append(events, ev)
		now.Apply(ev)
		was.Apply(ev)
	}
	for _, b := range tame(was) {
		ev := openmanus.Event{Seq: now.Seq + 1, Time: journal.Now(), Body: b}
		events = append(events, ev)
		now.Apply(ev)
	}
	return id, now, was, store.Restore(ctx, id, events)
}

// tame returns the events that keep an imported session in state s from doing
// anything by itself. Its open calls were allowed by another user, or may be
// running where it came from, so it is interrupted; and it gets an approval mode
// that asks and a sandbox, until the user who resumes it chooses otherwise.
func tame(s *openmanus.State) (bodies []openmanus.Body) {
	if st := s.Status(); st == openmanus.Running || st == openmanus.Waiting {
		bodies = append(bodies, openmanus.Interrupted{ID: ids.New()})
	}
	spec := SpecOf(s)
	bold := spec.Approve != openmanus.ApproveAsk && spec.Approve != openmanus.ApproveReadOnly
	if bold {
		spec.Approve = openmanus.ApproveAsk
	}
	if bold || spec.SandboxKind == string(sandbox.None) {
		spec.SandboxKind, spec.Limits = string(sandbox.Auto), s.Limits
		c := s.Config
		c.N, c.Spec, c.Sandbox = c.N+1, spec, ""
		bodies = append(bodies, c)
	}
	return bodies
}
