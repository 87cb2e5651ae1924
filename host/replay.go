package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/llm/tokens"
	"github.com/openmanus-go/openmanus/mcp"
)

// Replaying returns with what recorded sessions are replayed: the flows that their
// specs name, without models and tools. It needs no key, and starts nothing. With
// check, what today's agents say to models is compared with what was said: their
// instructions, tools and settings.
func (h *Host) Replaying(check bool) replay.Options {
	o := replay.Options{Flow: h.decides}
	if check {
		o.Today = h.today
	}
	return o
}

// decides is the [replay.Options].Flow. Its agents have a name and count tokens.
func (h *Host) decides(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
	spec := SpecOf(s)
	configure := func(a *openmanus.Agent) error {
		a.Name = spec.Name()
		if m, err := h.named(spec.Model, spec.Endpoint); err == nil {
			a.Counter = tokens.For(m.Provider.OwnServer(), m.Name)
		}
		if name := h.Config.Context.Summarizer; name != "" {
			if m, err := h.named(name, ""); err == nil {
				a.Summarizer = openmanus.Helper{Name: m.String(), Prices: m.Prices(), Window: h.Config.Window(m)}
			}
		}
		return nil
	}
	agent := new(openmanus.Agent)
	if err := configure(agent); err != nil {
		return nil, err
	}
	if spec.Flow == nil {
		return agent, nil
	}
	if make := h.Flows[spec.Flow.Name]; make != nil {
		return make(spec, configure)
	}
	switch spec.Flow.Name {
	case PlanFlow:
		var p Plan
		err := Settings(spec.Flow, &p)
		return plannedBy(agent, p), err
	case EvaluateFlow:
		var e Evaluation
		err := Settings(spec.Flow, &e)
		return evaluatedBy(agent, e), err
	}
	return nil, mistake(fmt.Errorf("there is no flow %q; there are %s", spec.Flow.Name, strings.Join(h.flowNames(), ", ")))
}

// named returns a model by its name, also if its key is not there.
func (h *Host) named(name, endpoint string) (config.Model, error) {
	m, err := h.Config.ModelAt(name, endpoint)
	if err != nil {
		return h.Config.Unkeyed(name, endpoint)
	}
	return m, nil
}

// today is the [replay.Options].Today: it makes the agent of a session as it would be
// made now, without a model and without MCP servers, whose tools are not this
// program's. Tools depend on the sandbox, so that is opened. All that the agent keeps
// running is closed before it is returned.
func (h *Host) today(ctx context.Context, s *openmanus.State) (*openmanus.Agent, error) {
	spec := SpecOf(s)
	tm := h.Team(spec.Workspace)
	m, err := h.named(spec.Model, spec.Endpoint)
	if err != nil {
		return nil, mistake(err)
	}
	if spec.Flow != nil {
		return h.todaysFlow(tm, spec, m)
	}
	kind, ok := tm.Find(spec.Agent)
	if !ok {
		return nil, tm.NoAgent(spec.Agent)
	}
	if _, err := os.Stat(spec.Workspace); err != nil {
		spec.Workspace = h.Dir // no file of it is read
	}
	ws, err := h.openWorkspace(ctx, h.Config, spec)
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	o := agentOptions(h.Config, ws)
	o.Answer, o.Skills = spec.Answer, tm.Skills
	if o.Delegates, err = delegates(tm, spec.Delegates); err != nil {
		return nil, err
	}
	judge, err := h.Gate(h.Config, gate.Options{})
	if err != nil {
		return nil, err
	}
	web, err := newWebTools(h.Config, ws, judge.CheckHost, m.Info.Vision != nil && *m.Info.Vision, nil)
	if err != nil {
		return nil, mistake(err)
	}
	defer web.Close()
	o.Web = web.tools
	agent, closer, err := kind.Make(o)
	if err != nil {
		return nil, mistake(err)
	}
	agent.Settings, agent.Window, agent.Counter, agent.Spec = m.Settings, s.Config.Window, tokens.For(m.Provider.OwnServer(), m.Name), spec
	if err := addClient(agent, spec.Client); err != nil {
		return nil, err
	}
	deferTools(agent, kind.Rare)
	finders := mcp.NewClient(mcp.Options{}).Tools(mcp.Deferred{})
	for _, spec := range s.Config.Tools { // they describe what the servers of that time had
		if slices.ContainsFunc(finders, func(t openmanus.Tool) bool { return t.Spec().Name == spec.Name }) {
			agent.Tools = append(agent.Tools, describedTool{spec})
		}
	}
	return agent, closer.Close()
}

// todaysFlow is today for the agent of a flow. An evaluation asks no model.
func (h *Host) todaysFlow(tm *Team, spec openmanus.Spec, m config.Model) (*openmanus.Agent, error) {
	p, ok := PlanOf(spec)
	if !ok {
		return nil, nil
	}
	as, err := agents.Assistants(tm.Kinds, p.Agents)
	if err != nil {
		return nil, mistake(err)
	}
	planner := agents.Planner(as, true)
	planner.Settings = m.Settings
	return planner, nil
}

// plannedBy returns the planning flow with a planner.
func plannedBy(planner *openmanus.Agent, p Plan) *agents.PlanFlow {
	return &agents.PlanFlow{
		Planner: planner, Agents: p.Agents, Critic: "critic",
		Parallel: p.Parallel, Replans: p.Replans, PlanOnly: p.Only,
	}
}

// evaluatedBy returns the evaluating flow with an evaluator.
func evaluatedBy(evaluator *openmanus.Agent, e Evaluation) *agents.EvaluateFlow {
	return &agents.EvaluateFlow{Evaluator: evaluator, Attempts: e.Attempts, Judge: "judge", Parallel: e.Parallel}
}

// A describedTool is a tool that is only described.
type describedTool struct{ spec openmanus.ToolSpec }

func (t describedTool) Spec() openmanus.ToolSpec { return t.spec }

func (t describedTool) Run(context.Context, openmanus.Call) (openmanus.Result, error) {
	return openmanus.Result{}, errors.New(t.spec.Name + " is only described here")
}
