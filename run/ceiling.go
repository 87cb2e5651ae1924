package run

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
)

// A Ceiling is the most that sessions of one user may do, whatever they were opened with and
// whatever was decided in them.
type Ceiling struct {
	Approve string // the widest mode; "": any

	// Guest means that the user does not own the machine. The rights of its owner
	// ([openmanus.Verdict].Owner, [openmanus.Ask].Owner) are denied without a question: the
	// user would answer it.
	Guest bool
}

// ceiling returns the ceiling of a session.
func (w *Worker) ceiling(x *Session) Ceiling {
	if w.Ceiling == nil {
		return Ceiling{}
	}
	return w.Ceiling(x.State.Opened.Owner)
}

// isGuest reports whether the user of a session does not own the machine.
func (w *Worker) isGuest(x *Session) bool { return w.ceiling(x).Guest }

// notForGuests is what the model reads of a call that only the owner of the machine may allow.
func notForGuests(call openmanus.Call, spec openmanus.ToolSpec) string {
	what := "it has to do with the machine of this server and not with the workspace alone"
	if r := spec.Hints.Reach; r != "" {
		what = "it would run " + r.Where()
	}
	return fmt.Sprintf("%s did not run: %s, and only an administrator of this server may allow that, not its users. "+
		"Find another way, or tell the person to ask an administrator", call.Name, what)
}

// beyond returns an error for the model if a call, as it is about to run, is not for the user
// of its session. The arguments may be others than those that were ruled on, and the ruling
// may be older than the ceiling.
func (w *Worker) beyond(
	ctx context.Context, x *Session, gate openmanus.Gate, call openmanus.Call, spec openmanus.ToolSpec,
) error {
	if !w.isGuest(x) {
		return nil
	}
	var known *openmanus.Provenance
	call.Provenance = func() *openmanus.Provenance {
		if known == nil {
			known = x.State.Provenance(call.Input)
		}
		return known
	}
	v, err := gate.Rule(ctx, call, spec)
	if err == nil && (v.Owner || spec.Hints.Reach != "") {
		err = fmt.Errorf("%s", notForGuests(call, spec))
	}
	return err
}
