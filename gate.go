package openmanus

import (
	"cmp"
	"context"
)

// A Gate rules on calls before they run. Implementations are safe for
// concurrent use and answer quickly: a person is asked by [Verdict].Ask, not
// by waiting.
type Gate interface {
	// Rule says whether call may run. spec.Hints are those of this call. An
	// error is the program's, and halts the run.
	Rule(ctx context.Context, call Call, spec ToolSpec) (Verdict, error)
}

// ByGate is [Ruled].By of what no person ruled on.
const ByGate = "gate"

// A Verdict is what a gate says. The zero value denies.
type Verdict struct {
	Allow  bool
	Ask    bool   // let a person decide; Reason is the question
	Rule   string // which rule says so, for the record
	Reason string // for the model if the call may not run, for the person if asked
}

// GateFunc is a [Gate] that is a function.
type GateFunc func(context.Context, Call, ToolSpec) (Verdict, error)

// Rule implements [Gate].
func (f GateFunc) Rule(ctx context.Context, c Call, s ToolSpec) (Verdict, error) { return f(ctx, c, s) }

// The modes of [Mode].
const (
	ApproveAsk      = "ask"      // whatever changes something outside a sandbox is asked about
	ApproveEdits    = "edits"    // edits of the workspace's files are allowed, the rest is asked about
	ApproveAll      = "all"      // everything is allowed
	ApproveReadOnly = "readonly" // whatever changes something is denied
)

// AllowAll is the gate that is open.
var AllowAll Gate = Mode(ApproveAll)

// A Mode is a gate by one of the modes. Calls that are ReadOnly or Internal
// are always allowed. The zero Mode is [ApproveAsk].
type Mode string

// Rule implements [Gate].
func (m Mode) Rule(_ context.Context, call Call, spec ToolSpec) (Verdict, error) {
	h := spec.Hints
	v := Verdict{Rule: "mode " + string(cmp.Or(m, ApproveAsk))}
	switch {
	case h.ReadOnly || h.Internal || h.Final, m == ApproveAll, m == ApproveEdits && h.Edits:
		v.Allow = true
	case m == ApproveReadOnly:
		v.Reason = "this session is read-only: " + call.Name + " changes something"
	case h.Sandboxed:
		v.Allow, v.Rule = true, v.Rule+": in the sandbox"
	default:
		v.Ask, v.Reason = true, "May "+call.Name+" run?"
	}
	return v, nil
}
