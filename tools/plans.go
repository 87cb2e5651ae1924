package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Plans are the plans of a session: the Detail of every result of the
// planning tool, by which it remembers them.
type Plans struct {
	Active string `json:"active,omitempty"` // the ID of the plan that is meant where none is named
	Plans  []Plan `json:"plans"`            // in the order in which they were made

	Revision int `json:"revision,omitempty"` // how often steps were set, of a planner
	LastID   int `json:"last_id,omitempty"`  // the highest Step.ID so far, of a planner
}

// A Plan is a list of steps towards a goal.
type Plan struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Steps []Step `json:"steps"`
}

// A Step is one step of a plan. What comes after Notes only a planner says:
// see [NewPlanner].
type Step struct {
	Text   string     `json:"text"`
	Status StepStatus `json:"status"`
	Notes  string     `json:"notes,omitempty"`

	ID         int    `json:"id,omitempty"`         // from 1; no other step of the session ever has it
	Agent      string `json:"agent,omitempty"`      // who does it
	After      []int  `json:"after,omitzero"`       // the IDs of the steps that it needs; nil: all before it
	Acceptance string `json:"acceptance,omitempty"` // what is so when it is done
}

// StepStatus is how far a step is.
type StepStatus string

// The statuses of a step.
const (
	NotStarted StepStatus = "not_started"
	InProgress StepStatus = "in_progress"
	Completed  StepStatus = "completed"
	Blocked    StepStatus = "blocked"
)

// Mark is how a plan shows a status.
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

// ReadPlans returns the plans in the Detail of a result of the planning tool.
// No detail is no plans.
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

// Find returns the plan with the given ID, or nil.
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

// String returns the plan as the model reads it.
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

// setSteps replaces the steps. One whose text was there before keeps its
// status, notes and ID, wherever it moved. It returns the steps that are no
// longer there.
func (p *Plan) setSteps(steps []Step) (left []Step) {
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
	for j, s := range old {
		if !used[j] {
			left = append(left, s)
		}
	}
	return left
}
