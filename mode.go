package openmanus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A Mode says which calls run without a question. It is the [Spec].Approve of a
// session, which a [ModeSet] changes at any time, and it is a gate with this one
// setting. All modes allow calls that are ReadOnly, Internal or Final. None allows a
// call that has a Reach: the user is asked, or in the modes that only look it is
// denied. The zero Mode is [ApproveAsk].
type Mode string

// The modes.
const (
	ApproveAsk      = "ask"      // ask about calls that change something outside a sandbox
	ApproveEdits    = "edits"    // allow edits of the workspace's files, ask about other changes
	ApproveAll      = "all"      // allow everything
	ApproveReadOnly = "readonly" // deny every call that changes something

	// ApprovePlan denies every call that changes something, too. The agent looks, with
	// commands that can change nothing where there is a sandbox, and ends its turn with
	// a plan: see [State.Proposal].
	ApprovePlan = "plan"
)

// Modes are all modes, the strictest first. Both of the first two deny what changes
// something.
var Modes = []string{ApproveReadOnly, ApprovePlan, ApproveAsk, ApproveEdits, ApproveAll}

// AllowAll is a gate that allows every call.
var AllowAll Gate = Mode(ApproveAll)

// A ModalGate is a [Gate] that depends on the mode of the session. Of others
// see [GateIn].
type ModalGate interface {
	Gate
	// In returns the gate for sessions in another mode.
	In(Mode) Gate
}

// GateIn returns the gate g for a session in the given mode. A gate that is no
// [ModalGate] decides on what the mode admits: in a mode that only looks, no call that
// changes something comes before it.
func GateIn(g Gate, m Mode) Gate {
	if g, ok := g.(ModalGate); ok {
		return g.In(m)
	}
	return within{g, m}
}

// A within is a gate that knows no modes, in one of them.
type within struct {
	Gate
	mode Mode
}

// Rule implements [Gate].
func (g within) Rule(ctx context.Context, c Call, spec ToolSpec) (Verdict, error) {
	if g.mode.LooksOnly() {
		if v, err := g.mode.Rule(ctx, c, spec); err != nil || !v.Allow {
			return v, err
		}
	}
	return g.Gate.Rule(ctx, c, spec)
}

// In implements [ModalGate].
func (g within) In(m Mode) Gate { return within{g.Gate, m} }

// In implements [ModalGate].
func (m Mode) In(now Mode) Gate { return now }

// LooksOnly reports whether the mode denies every call that changes something.
func (m Mode) LooksOnly() bool { return m == ApproveReadOnly || m == ApprovePlan }

// Rule implements [Gate].
func (m Mode) Rule(_ context.Context, call Call, spec ToolSpec) (Verdict, error) {
	h := spec.Hints
	v := Verdict{Rule: "mode " + string(cmp.Or(m, ApproveAsk))}
	switch {
	case h.Reach != "" && !m.LooksOnly():
		v.Ask, v.Scoped, v.Reason = true, h.Reach == ReachNetwork, h.Reach.Question(call.Name)
	case h.ReadOnly || h.Internal || h.Final, m == ApproveAll, m == ApproveEdits && h.Edits:
		v.Allow = true
	case m == ApprovePlan:
		v.Reason = "this session is in plan mode: " + call.Name + " changes something, and nothing changes before " +
			"the person has approved a plan. Go on looking, or end your turn with the plan"
	case m == ApproveReadOnly:
		v.Reason = "this session is read-only: " + call.Name + " changes something"
	case h.Sandboxed:
		v.Allow, v.Rule = true, v.Rule+": in the sandbox"
	default:
		v.Ask, v.Scoped, v.Reason = true, true, "May "+call.Name+" run?"
	}
	return v, nil
}

// Stricter returns the one of two modes that allows less. A mode that is not among
// [Modes] counts as one that allows nothing, save for "", which gives way.
func Stricter(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	if slices.Index(Modes, b) < slices.Index(Modes, a) {
		return b
	}
	return a
}

// changes reports whether a call with these hints may change anything but its session.
func (h Hints) changes() bool { return !h.ReadOnly && !h.Internal && !h.Final && !h.Delegates }

// holdsBack reports whether the mode of the session keeps c from running, whatever was
// ruled. Only modes that the user chose do: what a gate of its own allows in a session
// that was begun as read-only, and never changed, stays allowed.
func (s *State) holdsBack(c *CallState) bool {
	m := Mode(s.Config.Approve)
	return m.LooksOnly() && c.Hints.changes() && (m == ApprovePlan || s.ModeSets > 0)
}

// heldBack is what the model reads of a call that holdsBack is about.
func (s *State) heldBack() string {
	return fmt.Sprintf("not run: the mode of the session is %s now, in which nothing is changed", s.Config.Approve)
}

// modeSet folds a change of the mode. Calls that were asked about or allowed before and
// have not started do not run in a mode that only looks. After plan mode no call goes
// on that was ruled on in it: its tool works without the walls now, within which it was
// harmless. The model makes it again if it still wants to.
func (s *State) modeSet(seq int64, e ModeSet) {
	if !slices.Contains(Modes, e.Mode) {
		return // of no version so far
	}
	was := s.Config.Approve
	s.Config.Approve = e.Mode
	s.ModeSets++
	for _, c := range s.Calls {
		judged := c.Ruled != nil || c.Ruling != nil
		switch {
		case c.Done != nil || !judged || c.Hints.Internal || c.Hints.Final || c.Hints.Delegates:
		case was == ApprovePlan && e.Mode != ApprovePlan:
			s.giveUp(c, "not run, or not to its end: plan mode is over; make the call again if it is still right")
		case s.holdsBack(c) && !c.Running:
			s.giveUp(c, s.heldBack())
		}
	}
	s.modeNote = e.Note
	if st := s.Status(); st == Running || st == Waiting {
		s.tellMode(seq)
	}
}

// tellMode has the model read what is to be said of the mode, with the event seq.
func (s *State) tellMode(seq int64) {
	if s.modeNote != "" {
		s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Say(llm.User, s.modeNote)})
		s.modeNote = ""
	}
}

// Proposal returns the plan that waits for the user's approval: that with which an
// agent has ended its turn in plan mode. It is the agent's last text, and what its
// tools keep of a plan, such as the planning tool, if they were used in this turn. ok is
// false if none waits.
func (s *State) Proposal() (text string, ok bool) {
	if s.Config.Approve != ApprovePlan || s.Outcome.Status != Finished {
		return "", false
	}
	parts := []string{strings.TrimSpace(s.Answer)}
	for _, name := range slices.Sorted(maps.Keys(s.kept)) {
		if s.last[name].seq > s.Since {
			parts = append(parts, strings.TrimSpace(s.kept[name]))
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, "\n\n"), len(parts) > 0
}
