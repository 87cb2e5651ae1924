package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A NoRequestError says that an event is not the outcome of a request.
type NoRequestError struct {
	Session  string
	Event    int64
	Outcomes []int64 // the last events of the session that are
}

func (e *NoRequestError) Error() string {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Outcomes), " ", ", "), "[]")
	return fmt.Sprintf("event %d of session %s is no outcome of asking the model; these are, the last of them: %s", e.Event, e.Session, list)
}

// Request returns the request to the model whose outcome is the event seq, and
// the configuration that it was made with. Requests depend only on the events
// before them (law 6 of docs/design.md), so it is made again from the journal.
func Request(ctx context.Context, j openmanus.Journal, session string, seq int64) (*llm.Request, openmanus.Configured, error) {
	var none openmanus.Configured
	turn, re, err := outcome(ctx, j, session, seq)
	if err != nil {
		return nil, none, err
	}
	var s openmanus.State
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return nil, none, err
		}
		if ev.Seq > re {
			break
		}
		s.Apply(ev)
	}
	// An agent's next tasks depend on the state alone, so an agent without
	// model and tools returns them too.
	for _, task := range new(openmanus.Agent).Next(&s) {
		switch task.Do {
		case openmanus.Elide, openmanus.Compact: // the request was made, so there was room for it
			task = openmanus.Task{Do: openmanus.Reply, Turn: s.Turn, Re: s.Seq, Nudge: s.Nudge()}
		}
		if task.Do == openmanus.Reply && task.Turn == turn && task.Re == re {
			return s.Request(task), s.Config, nil
		}
	}
	return nil, none, fmt.Errorf("the request to event %d cannot be made again: the session did not call for one after event %d", seq, re)
}

// maxOutcomes is how many events a [NoRequestError] lists.
const maxOutcomes = 10

// outcome returns the Turn and the Re of the outcome seq.
func outcome(ctx context.Context, j openmanus.Journal, session string, seq int64) (turn int, re int64, err error) {
	var others []int64
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return 0, 0, err
		}
		switch b := ev.Body.(type) {
		case openmanus.ModelSaid:
			turn, re = b.Turn, b.Re
		case openmanus.ModelFailed:
			turn, re = b.Turn, b.Re
		default:
			continue
		}
		if ev.Seq == seq {
			return turn, re, nil
		}
		others = append(others, ev.Seq)
	}
	if len(others) == 0 {
		return 0, 0, fmt.Errorf("session %s has asked no model yet", session)
	}
	return 0, 0, &NoRequestError{session, seq, others[max(0, len(others)-maxOutcomes):]}
}
