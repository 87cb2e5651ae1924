package run

import (
	"context"
	"errors"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// A modeReader knows the mode of a session that has children, without holding its
// state: reading all of it for each call of a child would take longer than the call.
type modeReader struct {
	mu     sync.Mutex
	seq    int64 // the last event that was read
	mode   string
	parent string
}

// noteMode remembers the mode of x, whose state is at hand, so that its children need
// not read all of its journal.
func (w *Worker) noteMode(x *Session) {
	v, _ := w.modes.LoadOrStore(x.ID, new(modeReader))
	r := v.(*modeReader)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seq < x.State.Seq {
		r.seq, r.mode, r.parent = x.State.Seq, x.State.Config.Approve, x.State.Opened.Parent
	}
}

// modeNow returns the mode of a session as its journal has it now, and its parent.
func (w *Worker) modeNow(ctx context.Context, session string) (mode, parent string, err error) {
	v, _ := w.modes.LoadOrStore(session, new(modeReader))
	r := v.(*modeReader)
	r.mu.Lock()
	defer r.mu.Unlock()
	for ev, err := range w.Journal.Events(ctx, session, r.seq) {
		if err != nil {
			return "", "", err
		}
		r.seq = ev.Seq
		switch b := ev.Body.(type) {
		case openmanus.Opened:
			r.parent = b.Parent
		case openmanus.Configured:
			r.mode = b.Approve
		case openmanus.ModeSet:
			r.mode = b.Mode
		}
	}
	return r.mode, r.parent, nil
}

// mode returns the mode in which calls of x run: its own, or that of a session above
// it or the widest one of its user, if that is stricter at this moment.
func (w *Worker) mode(ctx context.Context, x *Session) (string, error) {
	mode := x.State.Config.Approve
	for id := x.State.Opened.Parent; id != ""; {
		above, parent, err := w.modeNow(ctx, id)
		if errors.Is(err, openmanus.ErrNoSession) {
			break // deleted, or never there: x is a copy
		}
		if err != nil {
			return "", err
		}
		if mode != "" || openmanus.Mode(above).LooksOnly() { // a gate of its own has no mode
			mode = openmanus.Stricter(mode, above)
		}
		id = parent
	}
	if most := w.ceiling(x).Approve; mode != "" || openmanus.Mode(most).LooksOnly() {
		mode = openmanus.Stricter(mode, most)
	}
	return mode, nil
}

// gateOf returns the gate that rules on the calls of x at this moment.
func (w *Worker) gateOf(ctx context.Context, x *Session) (openmanus.Gate, error) {
	gate := x.Flow.Agent().Gate
	if gate == nil {
		gate = openmanus.Mode(openmanus.ApproveAsk)
	}
	mode, err := w.mode(ctx, x)
	if err != nil || mode == "" {
		return gate, err
	}
	_, modal := gate.(openmanus.ModalGate)
	if modal || mode == openmanus.ApprovePlan || mode != x.State.Config.Approve || x.State.ModeSets > 0 {
		return openmanus.GateIn(gate, openmanus.Mode(mode)), nil
	}
	return gate, nil // of a program's own, which was begun in this mode
}

// heldBack says why a call of x that was allowed does not start: a session above x is in
// a mode by now in which nothing is changed. Calls that the mode of x itself keeps from
// running have a result already. A call that has started goes on.
func (w *Worker) heldBack(ctx context.Context, x *Session, c *openmanus.CallState) (string, error) {
	if x.State.Opened.Parent == "" || c.Attempts > 0 || !mayChange(c.Hints) || c.Hints.Delegates {
		return "", nil
	}
	mode, err := w.mode(ctx, x)
	if err != nil || mode == x.State.Config.Approve || !openmanus.Mode(mode).LooksOnly() {
		return "", err
	}
	return "not run: the session that gave you this work is in the mode " + mode + " now, in which nothing is changed", nil
}
