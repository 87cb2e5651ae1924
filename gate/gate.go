package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// Options say how a [Gate] rules.
type Options struct {
	Mode      openmanus.Mode // the zero Mode is ask
	Rules     Rules
	Workspace string // absolute
	Sandbox   string // what calls run in whose hints say so; "" or "none": nothing

	// Memory has what was decided for good. If nil, nothing was.
	Memory *Memory
}

// A Gate is an [openmanus.Gate] by rules, remembered decisions and a mode.
type Gate struct {
	o                Options
	deny, ask, allow []rule
}

// New returns a gate. The error says which rule is none.
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

// sandboxed reports whether calls of the session run in a sandbox.
func (g *Gate) sandboxed() bool { return g.o.Sandbox != "" && g.o.Sandbox != "none" }

// Rule implements [openmanus.Gate].
func (g *Gate) Rule(ctx context.Context, call openmanus.Call, spec openmanus.ToolSpec) (openmanus.Verdict, error) {
	h := spec.Hints
	if h.Internal || h.Final {
		return g.o.Mode.Rule(ctx, call, spec)
	}
	f := look(g.o.Workspace, call, spec)
	if i := slices.IndexFunc(g.deny, func(r rule) bool { return r.touches(f) }); i >= 0 {
		name := "deny " + g.deny[i].text
		return openmanus.Verdict{Rule: name, Reason: fmt.Sprintf("the rule %q is against it; find another way, or tell the person", name)}, nil
	}
	past, known, err := g.o.Memory.Recall(key(g.o.Workspace, g.o.Sandbox, spec, openmanus.Fingerprint(call.Name, call.Input)))
	if err != nil {
		return openmanus.Verdict{}, err
	}
	if known && !past.Allow {
		return openmanus.Verdict{Rule: past.rule(), Reason: "the person does not want it, now or later"}, nil
	}
	if g.o.Mode == openmanus.ApproveReadOnly && !h.ReadOnly {
		return g.o.Mode.Rule(ctx, call, spec)
	}
	if known {
		return openmanus.Verdict{Allow: true, Rule: past.rule()}, nil
	}
	return g.consider(f, h), nil
}

// consider rules on a call that is neither denied nor known.
func (g *Gate) consider(f facts, h openmanus.Hints) openmanus.Verdict {
	if i := slices.IndexFunc(g.ask, func(r rule) bool { return r.touches(f) }); i >= 0 {
		name := "ask " + g.ask[i].text
		return openmanus.Verdict{Ask: true, Rule: name, Reason: fmt.Sprintf("%s (the rule %q asks.)", g.question(f), name)}
	}
	if f.unread && (hasKind(g.ask, "command") || hasKind(g.deny, "command")) && g.o.Mode != openmanus.ApproveAll {
		return openmanus.Verdict{Ask: true, Rule: "a command that cannot be read", Reason: g.question(f) + " (It runs something that cannot be known before, and there are rules for commands.)"}
	}
	for _, kind := range []string{"tool", "command", "path", "edit", "host"} {
		if r, ok := covers(g.allow, kind, f); ok && (kind != "command" || g.writesCovered(f)) {
			return openmanus.Verdict{Allow: true, Rule: "allow " + r.text}
		}
	}
	mode := "mode " + string(cmp.Or(g.o.Mode, openmanus.ApproveAsk))
	yes := func(rule string) openmanus.Verdict { return openmanus.Verdict{Allow: true, Rule: rule} }
	switch {
	case h.ReadOnly || g.o.Mode == openmanus.ApproveAll:
		return yes(mode)
	case g.sandboxed() && h.Sandboxed:
		return yes("sandbox " + g.o.Sandbox)
	case f.edits && !f.protected && g.o.Mode == openmanus.ApproveEdits:
		return yes(mode)
	case f.edits && !f.protected && g.sandboxed():
		return yes("sandbox " + g.o.Sandbox + ", edits of the workspace")
	}
	return openmanus.Verdict{Ask: true, Rule: mode, Reason: g.question(f)}
}

// writesCovered reports whether the files that a script redirects into may be
// edited by a rule.
func (g *Gate) writesCovered(f facts) bool {
	return !slices.ContainsFunc(f.writes, func(name string) bool {
		return Protected(name) || !slices.ContainsFunc(g.allow, func(r rule) bool {
			return (r.kind == "path" || r.kind == "edit") && r.fitsPath(name)
		})
	})
}

func hasKind(rules []rule, kind string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.kind == kind })
}

// question is what a person is asked about a call. The arguments are shown
// beside it.
func (g *Gate) question(f facts) string {
	q := "May " + f.tool + " "
	switch {
	case f.protected:
		q += "change " + list(f.changed()) + ", which programs outside the sandbox obey"
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

func list(names []string) string {
	names = slices.Compact(slices.Clone(names))
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}
