package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
)

// Plans are the plans of a session. They are the Detail of every result of the
// planning tool, by which the tool remembers them.
type Plans struct {
	Active string `json:"active,omitempty"` // ID of the plan that is meant where none is named
	Plans  []Plan `json:"plans"`            // in the order in which they were made

	// Set by a planner: see [NewPlanner].
	Revision int `json:"revision,omitempty"` // how many times steps were set
	LastID   int `json:"last_id,omitempty"`  // the highest Step.ID so far
}

// A Plan is a list of steps towards a goal.
type Plan struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Steps []Step `json:"steps"`
}

// A Step is one step of a plan. The fields after Notes are set by a planner:
// see [NewPlanner].
type Step struct {
	Text   string     `json:"text"`
	Status StepStatus `json:"status"`
	Notes  string     `json:"notes,omitempty"`

	ID         int    `json:"id,omitempty"`         // from 1; unique in the session, and never reused
	Agent      string `json:"agent,omitempty"`      // the agent that does it
	After      []int  `json:"after,omitzero"`       // IDs of the steps that it depends on; nil: all before it
	Acceptance string `json:"acceptance,omitempty"` // a sentence that is true when it is done
}

// A StepStatus says how far a step is.
type StepStatus string

// The statuses of a step.
const (
	NotStarted StepStatus = "not_started"
	InProgress StepStatus = "in_progress"
	Completed  StepStatus = "completed"
	Blocked    StepStatus = "blocked"
)

// Mark returns the sign of a status in a plan.
func (s StepStatus) Mark() string {
	switch s {
	case InProgress:
		return "[→]"
	case Completed:
		return "[✓]"
	case Blocked:
		return "[!]"
	}
	return "[ ]"
}

// KeepsPlans reports whether spec is that of a tool whose results have [Plans] as
// their Detail: one with the argument plan_id.
func KeepsPlans(spec openmanus.ToolSpec) bool {
	var schema struct {
		Properties struct {
			ID json.RawMessage `json:"plan_id"`
		}
	}
	return json.Unmarshal(spec.Input, &schema) == nil && len(schema.Properties.ID) > 0
}

// ReadPlans returns the plans in the Detail of a result of the planning tool.
// No detail means no plans.
func ReadPlans(detail json.RawMessage) (*Plans, error) {
	ps := &Plans{Plans: []Plan{}}
	if len(detail) == 0 {
		return ps, nil
	}
	if err := json.Unmarshal(detail, ps); err != nil {
		return nil, fmt.Errorf("the plans of this session cannot be read: %w", err)
	}
	return ps, nil
}

// Find returns the plan with the given ID, or nil. The pointer is into ps.
func (ps *Plans) Find(id string) *Plan {
	i := slices.IndexFunc(ps.Plans, func(p Plan) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &ps.Plans[i]
}

// Count returns how many steps have the given status.
func (p *Plan) Count(s StepStatus) int {
	n := 0
	for _, st := range p.Steps {
		if st.Status == s {
			n++
		}
	}
	return n
}

// String returns the plan as the model reads it: title, progress, and the steps with their
// status, conditions and notes. The format is that of OpenManus.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Plan: %s (ID: %s)\n", p.Title, p.ID)
	b.WriteString(strings.Repeat("=", utf8.RuneCountInString(b.String())) + "\n\n")
	done, all := p.Count(Completed), len(p.Steps)
	fmt.Fprintf(&b, "Progress: %d/%d steps completed ", done, all)
	if all > 0 {
		fmt.Fprintf(&b, "(%.1f%%)\n", float64(done)/float64(all)*100)
	} else {
		b.WriteString("(0%)\n")
	}
	fmt.Fprintf(&b, "Status: %d completed, %d in progress, %d blocked, %d not started\n\nSteps:\n",
		done, p.Count(InProgress), p.Count(Blocked), p.Count(NotStarted))
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "%d. %s %s\n", i, s.Status.Mark(), s.Text)
		b.WriteString(p.terms(i))
		if s.Notes != "" {
			fmt.Fprintf(&b, "   Notes: %s\n", s.Notes)
		}
	}
	return b.String()
}

// setSteps replaces the steps. A step whose text was there before keeps its
// status, notes and ID, wherever it moved.
func (p *Plan) setSteps(steps []Step) {
	old, used := p.Steps, make([]bool, len(p.Steps))
	steps = slices.Clone(steps)
	take := func(i, j int) {
		used[j] = true
		steps[i].Status, steps[i].Notes, steps[i].ID = old[j].Status, old[j].Notes, old[j].ID
	}
	stays := func(i int) bool { return i < len(old) && old[i].Text == steps[i].Text }
	for i := range steps {
		steps[i].Status = NotStarted
		if stays(i) {
			take(i, i)
		}
	}
	for i := range steps {
		if stays(i) {
			continue
		}
		for j := range old {
			if !used[j] && old[j].Text == steps[i].Text {
				take(i, j)
				break
			}
		}
	}
	p.Steps = steps
}
