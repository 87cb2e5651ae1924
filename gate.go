package openmanus

import (
	"cmp"
	"context"
)

// A Gate rules on calls before they run. Implementations are safe for concurrent
// use and return quickly: to have the user decide, they return a [Verdict] with
// Ask, and do not wait.
type Gate interface {
	// Rule rules on a call, whose arguments are valid. spec.Hints are those
	// of this call. An error is a fault of the program: it ends the run, and
	// the call is ruled on again when the session is woken.
	Rule(ctx context.Context, call Call, spec ToolSpec) (Verdict, error)
}

// ByGate is the By of a [Ruled] by a gate.
const ByGate = "gate"

// A Verdict is the ruling of a gate. The zero value denies the call.
type Verdict struct {
	Allow  bool
	Ask    bool   // let the user decide; Reason is the question
	Rule   string // which rule decided; it is recorded
	Reason string // for the model if the call is denied, for the user if Ask
}

// GateFunc is a [Gate] that is a function.
type GateFunc func(context.Context, Call, ToolSpec) (Verdict, error)

// Rule implements [Gate].
func (f GateFunc) Rule(ctx context.Context, c Call, s ToolSpec) (Verdict, error) { return f(ctx, c, s) }

// The modes of [Mode].
const (
	ApproveAsk      = "ask"      // ask about calls that change something outside a sandbox
	ApproveEdits    = "edits"    // allow edits of the workspace's files, ask about other changes
	ApproveAll      = "all"      // allow everything
	ApproveReadOnly = "readonly" // deny every call that changes something
)

// AllowAll is a gate that allows every call.
var AllowAll Gate = Mode(ApproveAll)

// A Mode is a gate with one setting. All modes allow calls that are ReadOnly,
// Internal or Final. The zero Mode is [ApproveAsk].
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
