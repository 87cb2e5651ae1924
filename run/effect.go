package run

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/sight"
)

// An Effect is what a call would do with certain arguments.
type Effect struct {
	Shown string          // the preview, if the tool is an [openmanus.Previewer]
	Hints openmanus.Hints // of the call with these arguments
	Fails string          // why the call would fail; ""
}

// Effect returns what an open call of a session would do with other arguments than
// the model's. A person who edits a call sees it before allowing that. It changes
// nothing, and may be called while something drives the session. The error says that
// there is no such call; arguments that do not fit are in Effect.Fails.
func (w *Worker) Effect(ctx context.Context, session, call, input string) (e Effect, err error) {
	x, err := w.Load(ctx, session)
	if err != nil {
		return e, err
	}
	c := x.State.Call(call)
	if c == nil {
		return e, fmt.Errorf("session %s has no open call %q", session, call)
	}
	edited := *c
	edited.Input, edited.Ruled, edited.Ruling = input, nil, nil
	as, spec, err := w.prepare(x, &edited)
	if err != nil {
		return Effect{Fails: err.Error()}, nil
	}
	e.Hints = spec.Hints
	if e.Shown, err = w.preview(sight.With(ctx, previewSight(x.State, as)), x.Flow.Agent().Tool(edited.Name), as); err != nil {
		e.Fails = err.Error()
	}
	return e, nil
}
