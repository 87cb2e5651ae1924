package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/server"
)

// serveHost makes for a server what its sessions need. It implements
// [server.Host], [server.Holder], [server.Cleaner], [server.Planner] and
// [server.Rememberer].
type serveHost struct{ *app }

// Open implements [server.Host].
func (h serveHost) Open(ctx context.Context, id string, n server.NewSession) error {
	tm, kind := h.team(n.Workspace), cmp.Or(n.Agent, h.cfg.Run.Agent)
	if k, ok := tm.find(kind); !ok || k.Hidden {
		return &server.FieldError{Field: "agent", Err: tm.noAgent(kind)}
	}
	b := blueprint{Agent: kind, Workspace: n.Workspace, Approve: cmp.Or(n.Approve, openmanus.ApproveAsk), Sandbox: h.cfg.Sandbox.Kind}
	var err error
	if b.Model, b.Endpoint, err = h.modelOf(ctx, n.Model); err != nil {
		return &server.FieldError{Field: "model", Err: err}
	}
	if n.Flow != nil {
		return h.openPlan(ctx, id, n, b)
	}
	if n.Evaluate != nil {
		return h.openEvaluation(ctx, id, n, b)
	}
	agent, err := h.begins(b)
	if err != nil {
		return err
	}
	one := *agent
	one.Limits = n.Limits.Or(agent.Limits)
	return openmanus.OpenFor(ctx, h.db, n.Owner, id, &one, nil)
}

// modelOf is a model by its name and its endpoint, or the one that is
// configured.
func (h serveHost) modelOf(ctx context.Context, name string) (string, string, error) {
	if name == "" {
		chosen, m, err := h.choose(ctx)
		return chosen, m.BaseURL, err
	}
	m, err := h.cfg.Model(name)
	return name, m.BaseURL, err
}

// openPlan opens a session of the planning flow, as openmanus flow does.
func (h serveHost) openPlan(ctx context.Context, id string, n server.NewSession, b blueprint) error {
	names, replans := n.Flow.Agents, agents.DefaultReplans
	if len(names) == 0 {
		names = []string{b.Agent}
	}
	if n.Flow.Replans != nil {
		replans = *n.Flow.Replans
	}
	var err error
	if b.Agent, err = planName(h.team(n.Workspace), names, cmp.Or(n.Flow.Parallel, 4), replans, n.Flow.Only); err != nil {
		return &server.FieldError{Field: "body.flow.agents", Err: err}
	}
	return h.openAs(ctx, id, n, b)
}

// openEvaluation opens a session of the evaluating flow, as openmanus evaluate
// does.
func (h serveHost) openEvaluation(ctx context.Context, id string, n server.NewSession, b blueprint) error {
	e := n.Evaluate
	attempts := cmp.Or(e.Attempts, max(len(e.Models), len(e.Hints)), 3)
	if most := max(len(e.Models), len(e.Hints)); most > attempts {
		return &server.FieldError{Field: "body.evaluate.attempts", Err: fmt.Errorf("%d are too few to try %d models or hints", attempts, most)}
	}
	for i, name := range e.Models {
		if _, err := h.cfg.Model(name); err != nil {
			return &server.FieldError{Field: fmt.Sprintf("body.evaluate.models[%d]", i), Err: err}
		}
	}
	for i, hint := range e.Hints {
		if len(hint) > maxHint {
			return &server.FieldError{Field: fmt.Sprintf("body.evaluate.hints[%d]", i), Err: fmt.Errorf("it has %d bytes, more than %d: put it into a file of the workspace and name that", len(hint), maxHint)}
		}
	}
	var err error
	if b.Agent, err = h.evaluation(h.team(n.Workspace), b.Agent, attempts, cmp.Or(e.Parallel, 4), maxCopyMiB, e.Models, e.Hints); err != nil {
		return err
	}
	return h.openAs(ctx, id, n, b)
}

// openAs opens a session of the flow of b.
func (h serveHost) openAs(ctx context.Context, id string, n server.NewSession, b blueprint) error {
	f, err := h.flowOf(b)
	if err != nil {
		return err
	}
	a := f.Agent() // made for this session
	a.Limits = n.Limits.Or(a.Limits)
	return openmanus.OpenFor(ctx, h.db, n.Owner, id, f, nil)
}

// Plan implements [server.Planner].
func (h serveHost) Plan(s *openmanus.State) *server.Plan {
	p := agents.Progress(s)
	if p == nil {
		return nil
	}
	plan := &server.Plan{Title: p.Title}
	for _, st := range p.Steps {
		step := server.Step{Text: st.Text, Status: string(st.Status), Notes: st.Notes, Agent: st.Agent}
		for _, c := range s.Children {
			if of, ok := agents.StepOf(c.Child); ok && of == st.ID {
				step.Session = c.Child
			}
		}
		plan.Steps = append(plan.Steps, step)
	}
	return plan
}

// Environment implements [server.Host].
func (h serveHost) Environment(dir string) llm.Parts { return h.environment(os.DirFS(dir), dir) }

// Catalogue implements [server.Host].
func (h serveHost) Catalogue(ctx context.Context) (c server.Catalogue, err error) {
	seen := make(map[string]bool)
	for _, k := range agents.Kinds() {
		if k.Hidden {
			continue
		}
		in := server.AgentInfo{Name: k.Name, Description: k.Description, Default: k.Name == h.cfg.Run.Agent}
		list, err := h.t.toolsOf(h.cfg, k)
		if err != nil {
			return c, err
		}
		for _, tool := range list {
			in.Tools = append(in.Tools, tool.Name)
			if !seen[tool.Name] {
				seen[tool.Name] = true
				c.Tools = append(c.Tools, server.ToolInfo{Name: tool.Name, Description: tool.Description, Hints: tool.Hints})
			}
		}
		c.Agents = append(c.Agents, in)
	}
	infos, _ := models(h.cfg, ollamaModels(ctx)) // that there is none is what the list says
	for _, m := range infos {
		name := m.Name
		if m.Default {
			name = m.Model
		}
		c.Models = append(c.Models, server.ModelInfo{Name: name, Default: m.Default})
	}
	return c, nil
}
