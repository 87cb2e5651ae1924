package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// MaxPlanSteps is how many steps a planner's plan may have.
const MaxPlanSteps = 50

// NewPlanner returns the planning tool of an agent that plans for others. Steps
// have agents, dependencies and acceptance sentences, and the planner cannot
// set their status. The results are those of the planning tool; their Detail is
// a [Plans] whose steps have IDs. It panics without an agent, which is a
// programmer's mistake.
func NewPlanner(agents []Assistant) openmanus.Tool {
	if len(agents) == 0 {
		panic("tools.NewPlanner: no agents")
	}
	names, fill := roster(agents)
	spec := filledSpec(PlanningName, "planner", fill,
		openmanus.Hints{Internal: true, Idempotent: true}, onlyText)
	return openmanus.Func(spec, func(
		_ context.Context, call openmanus.Call, in planningInput,
	) (openmanus.Result, error) {
		plans, err := ReadPlans(call.Last)
		if err != nil {
			return openmanus.Result{}, err
		}
		text, err := plans.plan(in, names)
		if err != nil {
			return openmanus.Result{}, err
		}
		res := openmanus.TextResult("%s", text)
		res.Detail = plans
		return res, nil
	})
}

// A newStep is a step as a model writes it: a string, or an object.
type newStep struct {
	Text       string `json:"text"`
	Agent      string `json:"agent"`
	DependsOn  []int  `json:"depends_on"` // indices; nil: all steps before it
	Acceptance string `json:"acceptance"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A step is an object, or a string that is
// its text.
func (s *newStep) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.Text)
	}
	type object newStep
	return json.Unmarshal(data, (*object)(s))
}

// stepsOf returns the steps with their texts alone.
func stepsOf(news []newStep) []Step {
	var steps []Step
	for _, n := range news {
		steps = append(steps, Step{Text: n.Text})
	}
	return steps
}

// plan carries out a planner's command. The error is for the model.
func (ps *Plans) plan(in planningInput, agents []string) (string, error) {
	if in.PlanID == "" && in.Command == "update" {
		in.PlanID = ps.Active
	}
	if err := checkSteps(in.Steps, agents); err != nil {
		return "", err
	}
	p := ps.Find(in.PlanID)
	if in.Command != "update" || p == nil {
		text, err := ps.run(in)
		if p := ps.Find(in.PlanID); in.Command == "create" && err == nil {
			ps.arrange(p, in.Steps)
			text = fmt.Sprintf("Plan created successfully with ID: %s\n\n%s", p.ID, p)
		}
		return text, err
	}
	was := slices.Clone(p.Steps)
	if _, err := p.update(in); err != nil {
		return "", err
	}
	if in.Steps != nil {
		ps.arrange(p, in.Steps)
		p.keepDone(was)
	}
	ps.Active = p.ID
	return fmt.Sprintf("Plan updated successfully: %s\n\n%s", p.ID, p), nil
}

// arrange gives the steps of p their IDs, and the agents, dependencies and
// acceptance sentences of news. The two have the same order.
func (ps *Plans) arrange(p *Plan, news []newStep) {
	ps.Revision++
	for i := range p.Steps {
		if p.Steps[i].ID == 0 {
			ps.LastID++
			p.Steps[i].ID = ps.LastID
		}
		if p.Steps[i].Status == Blocked { // a blocked step that stays is tried again
			p.Steps[i].Status, p.Steps[i].Notes = NotStarted, ""
		}
	}
	for i, n := range news {
		s := &p.Steps[i]
		s.Agent, s.Acceptance, s.After = n.Agent, n.Acceptance, nil
		if n.DependsOn == nil {
			continue
		}
		s.After = []int{}
		for _, j := range n.DependsOn {
			s.After = append(s.After, p.Steps[j].ID)
		}
	}
}

// keepDone puts completed steps of was that are missing in the plan at its
// beginning.
func (p *Plan) keepDone(was []Step) {
	var kept []Step
	for _, s := range was {
		if s.Status == Completed && !slices.ContainsFunc(p.Steps, func(n Step) bool { return n.ID == s.ID }) {
			kept = append(kept, s)
		}
	}
	p.Steps = append(kept, p.Steps...)
}

// Step returns the step with the ID, or nil.
func (p *Plan) Step(id int) *Step {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	return nil
}

// terms returns a line about who does step i, after what, and when it is done;
// or "".
func (p *Plan) terms(i int) string {
	s := p.Steps[i]
	var terms []string
	if s.Agent != "" {
		terms = append(terms, "by "+s.Agent)
	}
	if s.After != nil {
		var after []string
		for _, id := range s.After {
			at := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == id })
			after = append(after, fmt.Sprint(at))
		}
		terms = append(terms, "after "+cmp.Or(strings.Join(after, ", "), "nothing"))
	}
	if s.Acceptance != "" {
		terms = append(terms, "done when "+s.Acceptance)
	}
	if len(terms) == 0 {
		return ""
	}
	return "   (" + strings.Join(terms, "; ") + ")\n"
}

// checkSteps refuses steps that cannot be carried out: too many, empty ones, unknown
// agents, and conditions that form a circle. The error is for the model.
func checkSteps(news []newStep, agents []string) error {
	if len(news) > MaxPlanSteps {
		return refuse("The plan has %d steps; at most %d are possible. Combine steps.", len(news),
			MaxPlanSteps)
	}
	for i, n := range news {
		if strings.TrimSpace(n.Text) == "" {
			return refuse("Step %d is empty: say what is to be done.", i)
		}
		if n.Agent != "" && !slices.Contains(agents, n.Agent) {
			return refuse("Step %d is for the agent '%s', which does not exist. The agents are: %s",
				i, n.Agent, strings.Join(agents, ", "))
		}
		for _, j := range n.DependsOn {
			if j < 0 || j >= len(news) || j == i {
				return refuse("Step %d depends on step %d. It can depend on the others of 0 to %d.", i, j,
					len(news)-1)
			}
		}
	}
	return cycle(news)
}

// cycle refuses steps that wait for each other. It removes, again and again,
// the steps that depend on none of those that are left.
func cycle(news []newStep) error {
	left := make(map[int]bool)
	for i := range news {
		left[i] = true
	}
	free := func(i int) bool {
		if news[i].DependsOn == nil {
			for j := range i {
				if left[j] {
					return false
				}
			}
			return true
		}
		return !slices.ContainsFunc(news[i].DependsOn, func(j int) bool { return left[j] })
	}
	for grew := true; grew; {
		grew = false
		for i := range news {
			if left[i] && free(i) {
				delete(left, i)
				grew = true
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	var names []string
	for i := range news {
		if left[i] {
			names = append(names, fmt.Sprint(i))
		}
	}
	return refuse("The steps %s wait for each other: change depends_on. "+
		"A step without depends_on waits for all before it.", strings.Join(names, ", "))
}
