package gate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// Options are what a [Gate] is made from.
type Options struct {
	Mode      openmanus.Mode // the zero Mode is [openmanus.ApproveAsk]
	Rules     Rules
	Workspace string // absolute; relative paths in rules and calls begin there
	Sandbox   string // in which Sandboxed calls run; "" or "none": there is none
	Network   bool   // Sandboxed calls can connect to other machines

	// Record means that calls are not asked about because of where their
	// arguments came from. The events record it all the same.
	Record bool

	// Local reports whether an address is that of a server on this machine or in a
	// private network, to which requests are refused for that alone, such as
	// [egress.Dialer.Local]. It is called with addresses that the user wrote. nil:
	// the user is not asked about such addresses.
	Local func(ctx context.Context, address string) (egress.Local, bool)

	// Serves reports whether a program of this machine listens at a port of its loopback
	// interface, such as [egress.Listens]. It is called with ports that the user wrote.
	// nil: the user is not asked about servers that commands name.
	Serves func(ctx context.Context, port int) bool

	// Memory holds remembered decisions. If it is nil, there are none.
	Memory *Memory
}

// A Gate is an [openmanus.Gate] that decides by rules, remembered decisions and
// a mode. It is safe for concurrent use, and its options do not change.
type Gate struct {
	o                Options
	deny, ask, allow []rule
}

// New returns a gate. The error names a rule that cannot be read.
func New(o Options) (*Gate, error) {
	g := &Gate{o: o}
	var err error
	if g.deny, err = readRules(o.Rules.Deny); err != nil {
		return nil, fmt.Errorf("deny: %w", err)
	}
	if g.ask, err = readRules(o.Rules.Ask); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	if g.allow, err = readRules(o.Rules.Allow); err != nil {
		return nil, fmt.Errorf("allow: %w", err)
	}
	return g, nil
}

// In implements [openmanus.ModalGate].
func (g *Gate) In(m openmanus.Mode) openmanus.Gate {
	if g.o.Mode == m {
		return g
	}
	in := *g // what it shares does not change
	in.o.Mode = m
	return &in
}

// DeniesPath reports whether a rule denies calls that read the file name, which is
// relative to the workspace. The host keeps such files from tools that come across
// them without naming them.
func (g *Gate) DeniesPath(name string) bool { return g.anyPath(g.deny, name, "path") }

// AsksAboutPath is like DeniesPath, for rules that ask.
func (g *Gate) AsksAboutPath(name string) bool { return g.anyPath(g.ask, name, "path") }

// DeniesEdit reports whether a rule denies calls that change the file name.
func (g *Gate) DeniesEdit(name string) bool { return g.anyPath(g.deny, name, "path", "edit") }

// HasPathRules reports whether any rule is about paths.
func (g *Gate) HasPathRules() bool {
	return slices.ContainsFunc(slices.Concat(g.deny, g.ask), func(r rule) bool { return r.kind == "path" || r.kind == "edit" })
}

// DeniesPaths reports whether any rule denies paths.
func (g *Gate) DeniesPaths() bool {
	return slices.ContainsFunc(g.deny, func(r rule) bool { return r.kind == "path" })
}

// anyPath reports whether one of the rules of these kinds is about a file. A
// pattern may be absolute although the file is in the workspace.
func (g *Gate) anyPath(rules []rule, name string, kinds ...string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return slices.Contains(kinds, r.kind) &&
			(r.fitsPath(name) || r.fitsPath(filepath.ToSlash(filepath.Join(g.o.Workspace, name))))
	})
}

// sandboxed reports whether Sandboxed calls of the session run in a sandbox.
func (g *Gate) sandboxed() bool { return g.o.Sandbox != "" && g.o.Sandbox != "none" }

// Rule implements [openmanus.Gate]. It asks, in this order: rules that deny,
// remembered decisions that deny, the modes that only look, where the arguments came from
// (see [RuleProvenance]), how far the call goes (see [RuleReach]), whether it
// goes to a server on this machine (see [RuleLocal]), rules that ask, remembered decisions that allow, rules that allow, and the mode. Calls that are Internal or Final change nothing but the
// session: only rules and the mode decide on them. An error comes from the memory:
// then nothing is allowed, because a decision that denies the call may be in there.
func (g *Gate) Rule(
	ctx context.Context, call openmanus.Call, spec openmanus.ToolSpec,
) (openmanus.Verdict, error) {
	h := spec.Hints
	f := look(g.o.Workspace, call, spec)
	if i := slices.IndexFunc(g.deny, func(r rule) bool { return r.touches(f) }); i >= 0 {
		name := "deny " + g.deny[i].text
		return denied(name, fmt.Sprintf("the rule %q denies it; find another way, or tell the person",
			name)), nil
	}
	if h.Internal || h.Final {
		if r := g.asking(f); r != nil {
			return *r, nil
		}
		return g.o.Mode.Rule(ctx, call, spec)
	}
	hash := openmanus.Fingerprint(call.Name, call.Input)
	past, known, err := g.o.Memory.Recall(key(g.o.Workspace, g.o.Sandbox, spec, hash))
	if err != nil {
		return openmanus.Verdict{}, err
	}
	if known && !past.Allow {
		return denied(past.rule(), "the person denied this call, now and for the future"), nil
	}
	looksOnly := g.o.Mode.LooksOnly()
	if looksOnly && h.Reach != "" {
		return denied(RuleReach, g.looking()+", so nothing runs "+h.Reach.Where()+": go on with what "+
			"the sandbox has, or tell the person which command to run"), nil
	}
	if looksOnly && !h.ReadOnly {
		return g.o.Mode.Rule(ctx, call, spec)
	}
	local := g.localOf(ctx, call, spec, f)
	if c := g.concernOf(call, spec, f, local != nil); c != nil && !g.o.Record {
		if looksOnly {
			return denied(RuleProvenance, g.looking()+", and "+c.who+" wants "+c.what), nil
		}
		return ask(RuleProvenance, c.question()), nil
	}
	if h.Reach != "" {
		v := ask(RuleReach, h.Reach.Question(call.Name)+sourcesOf(call.Provenance))
		v.Scoped, v.Owner = h.Reach == openmanus.ReachNetwork, true
		return v, nil
	}
	if local != nil {
		return *local, nil
	}
	if known {
		return allowed(past.rule()), nil
	}
	v := g.consider(f, h)
	if v.Ask {
		v.Reason += sourcesOf(call.Provenance)
	}
	return v, nil
}

// Places implements [openmanus.Placer].
func (g *Gate) Places(call openmanus.Call, spec openmanus.ToolSpec) ([]openmanus.Place, bool) {
	return look(g.o.Workspace, call, spec).places, true
}

// looking says that nothing is changed in the mode of the gate, and why.
func (g *Gate) looking() string {
	if g.o.Mode == openmanus.ApprovePlan {
		return "this session is in plan mode, in which nothing is changed before the person has approved a plan"
	}
	return "this session is read-only"
}

// asking returns the verdict of the first rule that asks about the call, or nil.
func (g *Gate) asking(f facts) *openmanus.Verdict {
	i := slices.IndexFunc(g.ask, func(r rule) bool { return r.touches(f) })
	if i < 0 {
		return nil
	}
	name := "ask " + g.ask[i].text
	return new(ask(name, fmt.Sprintf("%s (the rule %q asks.)", g.question(f), name)))
}

// consider decides on a call that no rule denies and no remembered decision is
// about, in a mode in which it could be allowed. Rules that ask come before
// rules that allow, so that a narrow "ask" can stand beside a broad "allow";
// the mode all overrides neither.
func (g *Gate) consider(f facts, h openmanus.Hints) openmanus.Verdict {
	if v := g.asking(f); v != nil {
		return *v
	}
	if f.unread && (hasKind(g.ask, "command") || hasKind(g.deny, "command")) &&
		g.o.Mode != openmanus.ApproveAll {
		return ask("a command that cannot be parsed",
			g.question(f)+" (It runs something that cannot be known before, and there are rules for "+
				"commands.)")
	}
	if f.badURL && (hasKind(g.ask, "host") || hasKind(g.deny, "host")) {
		return ask("an address that cannot be read", g.question(f)+
			" (It names an address whose host cannot be read, and there are rules for hosts.)")
	}
	for _, kind := range []string{"tool", "command", "path", "edit", "host"} {
		if r, ok := covers(g.allow, kind, f); ok && (kind != "command" || g.writesCovered(f)) {
			return allowed("allow " + r.text)
		}
	}
	mode := "mode " + string(cmp.Or(g.o.Mode, openmanus.ApproveAsk))
	switch {
	case h.ReadOnly || g.o.Mode == openmanus.ApproveAll:
		return allowed(mode)
	case g.sandboxed() && h.Sandboxed:
		return allowed("sandbox " + g.o.Sandbox)
	case f.edits && !f.protected && g.o.Mode == openmanus.ApproveEdits:
		return allowed(mode)
	case f.edits && !f.protected && g.sandboxed():
		return allowed("sandbox " + g.o.Sandbox + ", edits of the workspace")
	}
	v := ask(mode, g.question(f))
	v.Scoped, v.Owner = !f.protected, f.runs && !g.sandboxed()
	return v
}

func allowed(rule string) openmanus.Verdict { return openmanus.Verdict{Allow: true, Rule: rule} }

func denied(rule, reason string) openmanus.Verdict {
	return openmanus.Verdict{Rule: rule, Reason: reason}
}

func ask(rule, question string) openmanus.Verdict {
	return openmanus.Verdict{Ask: true, Rule: rule, Reason: question}
}

// writesCovered reports whether rules allow changes of all files into which a
// script redirects.
func (g *Gate) writesCovered(f facts) bool {
	return !slices.ContainsFunc(f.writes, func(name string) bool {
		return protected.Is(name) || !slices.ContainsFunc(g.allow, func(r rule) bool {
			return (r.kind == "path" || r.kind == "edit") && r.fitsPath(name)
		})
	})
}

func hasKind(rules []rule, kind string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.kind == kind })
}

// question is what a person is asked about a call. The surface shows the
// arguments beside it.
func (g *Gate) question(f facts) string {
	q := "May " + f.tool + " "
	switch {
	case f.protected:
		q += "change " + list(f.changed()) + ", from which programs outside the sandbox take orders"
	case f.edits && len(f.changed()) > 0:
		q += "change " + list(f.changed())
	case len(f.hosts) > 0 && !f.runs:
		q += "go to " + list(f.hosts)
	default:
		q += "run"
	}
	if f.runs && !g.sandboxed() {
		q += ", outside a sandbox"
	}
	return q + "?"
}

// list returns at most three of the names for a question, and says how many
// more there are.
func list(names []string) string {
	names = slices.Compact(slices.Clone(names))
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}
