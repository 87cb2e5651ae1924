package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/tools"
)

// The names of the flows that are built in.
const (
	PlanFlow     = "plan"     // its settings are a [Plan]
	EvaluateFlow = "evaluate" // its settings are an [Evaluation]
)

// analyst is the agent that does steps of plans, too, if [runflow] says so.
const analyst = "data_analysis"

// A FlowMaker makes a flow from the spec of a session, whose Flow is not nil. It
// reads the settings with [Settings]. configure gives the agent of the flow its
// name and what spec says of models, approvals and limits; the maker calls it for
// the agent that the flow returns. It must not call the host: it is called while
// the host makes agents. The flow may be used for many sessions at once.
type FlowMaker func(spec openmanus.Spec, configure func(*openmanus.Agent) error) (openmanus.Flow, error)

// A Plan is the settings of the flow in which a planner makes a plan and
// agents do its steps.
type Plan struct {
	Agents   []string `json:"agents"`             // who does the steps; the first one does those that name none
	Parallel int      `json:"parallel,omitempty"` // steps at once; 0: 4
	Replans  int      `json:"replans"`            // how often the plan may change because a step is blocked
	Only     bool     `json:"only,omitempty"`     // the plan is the answer

	// Model and Endpoint are those of the steps, if the planner has a model of
	// its own; "": the session's.
	Model    string `json:"model,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
}

// An Evaluation is the settings of the flow in which a task is attempted
// several times and the best attempt is kept.
type Evaluation struct {
	Attempts []agents.Attempt `json:"attempts"`
	Parallel int              `json:"parallel,omitempty"` // attempts at once; 0: 4
	MaxMiB   int              `json:"max_mib,omitempty"`  // a larger workspace is not copied; 0: [MaxCopyMiB]
}

// The bounds of an evaluation.
const (
	MaxAttempts = 16
	MaxHint     = 2_000 // bytes of an attempt's hint
	MaxCopyMiB  = 1024  // of the workspace, unless the settings say otherwise

	maxCopyFiles = 200_000
)

// flowSpec returns a flow with its settings in canonical JSON: see canonical.
func flowSpec(name string, settings any) *openmanus.FlowSpec {
	data, err := json.Marshal(settings)
	if err == nil {
		data, err = canonical(data)
	}
	if err != nil {
		panic("host: " + err.Error()) // plain structs always encode
	}
	return &openmanus.FlowSpec{Name: name, Settings: data}
}

// WithPlan returns spec with the planning flow. [Host.Complete] checks the agents
// of the plan and completes their names.
func WithPlan(spec openmanus.Spec, p Plan) openmanus.Spec {
	spec.Flow = flowSpec(PlanFlow, p)
	return spec
}

// WithEvaluation returns spec with the evaluating flow. [Host.Complete] checks the
// models of the attempts.
func WithEvaluation(spec openmanus.Spec, e Evaluation) openmanus.Spec {
	spec.Flow = flowSpec(EvaluateFlow, e)
	return spec
}

// Attempts returns n attempts by the agent, with the models and the hints in
// turn.
func Attempts(n int, agent string, models, hints []string) []agents.Attempt {
	inTurn := func(list []string, i int) string {
		if len(list) == 0 {
			return ""
		}
		return list[i%len(list)]
	}
	var all []agents.Attempt
	for i := range n {
		all = append(all, agents.Attempt{Agent: agent, Model: inTurn(models, i), Hint: inTurn(hints, i)})
	}
	return all
}

// Settings reads the settings of a flow into v, a pointer to a struct. A setting
// that v does not have is an error, so that a misspelled one is not ignored.
func Settings(f *openmanus.FlowSpec, v any) error {
	d := json.NewDecoder(bytes.NewReader(f.Settings))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("the settings of the flow %s: %w", f.Name, err)
	}
	return nil
}

// PlanOf returns the settings of a session of the planning flow; false if it is
// of another flow.
func PlanOf(spec openmanus.Spec) (p Plan, ok bool) {
	ok = spec.Flow != nil && spec.Flow.Name == PlanFlow && Settings(spec.Flow, &p) == nil
	return p, ok
}

// Prefilled returns the event by which a session of the planning flow has a plan
// of the user from the beginning, by the person with that name: a reply in which
// the planner calls its tool with it. It comes right after the first message: see
// [Opening].Then. plan is JSON as the flow's answer has it, or a list with a step
// on each line.
func Prefilled(spec openmanus.Spec, plan []byte, by string) (openmanus.Body, error) {
	p, _ := PlanOf(spec)
	args, err := tools.ReadPlan(plan, p.Agents)
	if err != nil {
		return nil, mistake(err)
	}
	const afterOpening = 3 // Opened, Configured, UserSaid
	call := llm.Call{ID: "c0-1", Name: tools.PlanningName, Input: string(args)}
	return openmanus.ModelSaid{
		Turn: 0, Re: afterOpening, Stop: llm.ToolUse, By: by,
		Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}},
	}, nil
}

// completeFlow is [Host.Complete] for a spec with a flow. A flow of the program's
// own is checked when it is made.
func (h *Host) completeFlow(spec openmanus.Spec) (openmanus.Spec, error) {
	switch spec.Flow.Name {
	case PlanFlow:
		return h.completePlan(spec)
	case EvaluateFlow:
		return h.completeEvaluation(spec)
	}
	return spec, nil
}

// completePlan gives the agents of a plan their full names, and the planner the
// model of the profile of its name, if there is one.
func (h *Host) completePlan(spec openmanus.Spec) (openmanus.Spec, error) {
	var p Plan
	if err := Settings(spec.Flow, &p); err != nil {
		return spec, mistake(err)
	}
	if len(p.Agents) == 0 {
		p.Agents = []string{spec.Agent}
		if h.Config.Run.FlowAnalyst && spec.Agent != analyst {
			p.Agents = append(p.Agents, analyst)
		}
	}
	as, err := agents.Assistants(h.Team(spec.Workspace).Kinds, p.Agents)
	if err != nil {
		return spec, h.noSuch(spec, err)
	}
	p.Agents = nil
	for _, a := range as {
		p.Agents = append(p.Agents, a.Name)
	}
	if own := h.ownModel("planner"); own != "" && own != spec.Model {
		m, err := h.Config.Model(own)
		if err != nil {
			return spec, mistake(err)
		}
		p.Model, p.Endpoint = spec.Model, spec.Endpoint
		spec.Model, spec.Endpoint = own, m.BaseURL
	}
	return WithPlan(spec, p), nil
}

// noSuch adds the agents that there are to an error about one that there is not.
func (h *Host) noSuch(spec openmanus.Spec, err error) error {
	return mistake(fmt.Errorf("%w; there are %s", err, strings.Join(h.Team(spec.Workspace).Names(), ", ")))
}

// stepModel changes spec, that of a session, to the model that sessions below it
// begin with: a planner may have a model of its own.
func (h *Host) stepModel(spec *openmanus.Spec) error {
	if spec.Flow == nil || spec.Flow.Name != PlanFlow {
		return nil
	}
	var p Plan
	err := Settings(spec.Flow, &p)
	if p.Model != "" {
		spec.Model, spec.Endpoint = p.Model, p.Endpoint
	}
	return err
}

// completeEvaluation gives the models of the attempts the names that sessions
// record.
func (h *Host) completeEvaluation(spec openmanus.Spec) (openmanus.Spec, error) {
	var e Evaluation
	if err := Settings(spec.Flow, &e); err != nil {
		return spec, mistake(err)
	}
	for i, a := range e.Attempts {
		if a.Model == "" {
			continue
		}
		m, err := h.Config.Model(a.Model)
		if err != nil {
			return spec, mistake(fmt.Errorf("--models: %w", err))
		}
		e.Attempts[i].Model = cmp.Or(m.Profile, m.String())
	}
	return WithEvaluation(spec, e), nil
}

// sharedFlow returns the flow of spec, and makes it if it is not there.
func (h *Host) sharedFlow(spec openmanus.Spec) (openmanus.Flow, error) {
	key := string(encode(spec))
	h.mu.Lock()
	defer h.mu.Unlock()
	if f, ok := h.flows[key]; ok {
		return f, nil
	}
	f, err := h.makeFlow(spec)
	if err == nil {
		h.flows[key] = f
	}
	return f, err
}

// makeFlow makes the flow of spec. A flow keeps nothing running; the agents of
// its sessions do, and are made from their own specs. h.mu is held.
func (h *Host) makeFlow(spec openmanus.Spec) (openmanus.Flow, error) {
	configure := func(a *openmanus.Agent) error {
		a.Name = spec.Name()
		if spec.SandboxKind != string(sandbox.Auto) { // it runs nothing itself
			a.Sandbox = spec.SandboxKind
		}
		return h.configure(a, spec)
	}
	if make := h.Flows[spec.Flow.Name]; make != nil {
		return make(spec, configure)
	}
	switch spec.Flow.Name {
	case PlanFlow:
		return h.planFlow(spec, configure)
	case EvaluateFlow:
		return h.evaluateFlow(spec, configure)
	}
	return nil, mistake(fmt.Errorf("there is no flow %q; there are %s", spec.Flow.Name, strings.Join(h.flowNames(), ", ")))
}

// flowNames returns the names of all flows, sorted.
func (h *Host) flowNames() []string {
	names := slices.AppendSeq([]string{PlanFlow, EvaluateFlow}, maps.Keys(h.Flows))
	slices.Sort(names)
	return slices.Compact(names)
}

// planFlow makes the planning flow.
func (h *Host) planFlow(spec openmanus.Spec, configure func(*openmanus.Agent) error) (openmanus.Flow, error) {
	var p Plan
	if err := Settings(spec.Flow, &p); err != nil {
		return nil, mistake(err)
	}
	as, err := agents.Assistants(h.Team(spec.Workspace).Kinds, p.Agents)
	if err != nil {
		return nil, h.noSuch(spec, err)
	}
	f := plannedBy(agents.Planner(as, true), p)
	return f, configure(f.Planner)
}

// evaluateFlow makes the evaluating flow. It asks no model, but its session
// records the model that attempts have unless they name another.
func (h *Host) evaluateFlow(spec openmanus.Spec, configure func(*openmanus.Agent) error) (openmanus.Flow, error) {
	var e Evaluation
	if err := Settings(spec.Flow, &e); err != nil {
		return nil, mistake(err)
	}
	if n := len(e.Attempts); n < 1 || n > MaxAttempts {
		return nil, mistake(fmt.Errorf("an evaluation has from 1 to %d attempts, not %d", MaxAttempts, n))
	}
	f := evaluatedBy(agents.Evaluator(e.Attempts, h.copies(spec.Workspace, e.MaxMiB)), e)
	speaks, fallbacks := f.Evaluator.Model, f.Evaluator.Fallbacks
	err := configure(f.Evaluator)
	f.Evaluator.Model, f.Evaluator.Fallbacks = speaks, fallbacks
	return f, err
}

// copies returns where the copies of the workspace dir are for the attempts of
// evaluations, and their bounds: mib is the size of the largest workspace that is
// copied, 0 the default. The program's own directories are never copied.
func (h *Host) copies(dir string, mib int) agents.Copies {
	return agents.Copies{
		Home: filepath.Join(h.Config.DataDir, "attempts"), Workspace: dir, Protected: protected.Is,
		Skip:  h.Own(h.Config, dir),
		Open:  func(dir string) (*os.Root, error) { return openDir(h.Config, dir) },
		Bytes: int64(cmp.Or(mib, MaxCopyMiB)) << 20, Files: maxCopyFiles,
	}
}
