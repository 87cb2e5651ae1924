package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// A planningInput has the arguments of both planning tools. The one of
// [NewPlanning] takes only strings as steps.
type planningInput struct {
	Command    string     `json:"command"`
	PlanID     string     `json:"plan_id"`
	Title      string     `json:"title"`
	Steps      []newStep  `json:"steps"`
	StepIndex  *int       `json:"step_index"`
	StepStatus StepStatus `json:"step_status"`
	StepNotes  *string    `json:"step_notes"`
}

// PlanningName is the name of the tool that keeps plans.
const PlanningName = "planning"

// NewPlanning returns the planning tool, by which an agent keeps plans and the
// status of their steps. The Detail of its results is a [Plans].
func NewPlanning() openmanus.Tool {
	return openmanus.Func(
		specOf(PlanningName, openmanus.Hints{Internal: true, Idempotent: true, Keep: true},
			onlyText),
		func(_ context.Context, call openmanus.Call, in planningInput) (openmanus.Result, error) {
			plans, err := ReadPlans(call.Last)
			if err != nil {
				return openmanus.Result{}, err
			}
			text, err := plans.run(in)
			if err != nil {
				return openmanus.Result{}, err
			}
			res := openmanus.TextResult("%s", text)
			res.Detail = plans
			return res, nil
		})
}

var planCommands = []string{"create", "update", "list", "get", "set_active", "mark_step", "delete"}

// run carries out a command. The error is for the model.
func (ps *Plans) run(in planningInput) (string, error) {
	switch in.Command {
	case "create":
		return ps.create(in)
	case "list":
		return ps.list(), nil
	case "update", "set_active", "delete":
		if in.PlanID == "" {
			return "", required("plan_id", in.Command)
		}
	case "get", "mark_step":
		if in.PlanID == "" {
			in.PlanID = ps.Active
		}
		if in.PlanID == "" {
			return "", ps.none()
		}
	default:
		return "", refuse("Unrecognized command: %s. Allowed commands are: %s", in.Command,
			strings.Join(planCommands, ", "))
	}
	p := ps.Find(in.PlanID)
	if p == nil {
		return "", refuse("No plan found with ID: %s", in.PlanID)
	}
	switch in.Command {
	case "update":
		return p.update(in)
	case "mark_step":
		return p.markStep(in)
	case "set_active":
		ps.Active = p.ID
		return fmt.Sprintf("Plan '%s' is now the active plan.\n\n%s", p.ID, p), nil
	case "delete":
		return ps.delete(p.ID), nil
	}
	return p.String(), nil
}

// create adds a plan and makes it the active one.
func (ps *Plans) create(in planningInput) (string, error) {
	switch {
	case in.PlanID == "":
		return "", required("plan_id", "create")
	case ps.Find(in.PlanID) != nil:
		return "", refuse("A plan with ID '%s' already exists. Use 'update' to modify existing plans.",
			in.PlanID)
	case in.Title == "":
		return "", required("title", "create")
	case len(in.Steps) == 0:
		return "", refuse("Parameter `steps` must be a non-empty list of strings for command: create")
	}
	p := Plan{ID: in.PlanID, Title: in.Title}
	p.setSteps(stepsOf(in.Steps))
	ps.Plans = append(ps.Plans, p)
	ps.Active = p.ID
	return fmt.Sprintf("Plan created successfully with ID: %s\n\n%s", p.ID, &p), nil
}

// none is the refusal of a command for the active plan if there is none.
func (ps *Plans) none() error {
	if len(ps.Plans) == 0 {
		return refuse("There is no plan yet: the command create makes one.")
	}
	return refuse("No active plan. Please specify a plan_id or set an active plan.")
}

// list returns a line for each plan.
func (ps *Plans) list() string {
	if len(ps.Plans) == 0 {
		return "No plans available. Create a plan with the 'create' command."
	}
	var b strings.Builder
	b.WriteString("Available plans:\n")
	for _, p := range ps.Plans {
		active := ""
		if p.ID == ps.Active {
			active = " (active)"
		}
		fmt.Fprintf(&b, "• %s%s: %s - %d/%d steps completed\n", p.ID, active, p.Title, p.Count(Completed),
			len(p.Steps))
	}
	return b.String()
}

// delete removes the plan. If it was the active one, none is active.
func (ps *Plans) delete(id string) string {
	ps.Plans = slices.DeleteFunc(ps.Plans, func(p Plan) bool { return p.ID == id })
	if ps.Active == id {
		ps.Active = ""
	}
	return fmt.Sprintf("Plan '%s' has been deleted.", id)
}

// update replaces the title or the steps, or both.
func (p *Plan) update(in planningInput) (string, error) {
	switch {
	case in.Steps != nil && len(in.Steps) == 0:
		return "", refuse("Parameter `steps` must be a non-empty list of strings for command: update")
	case in.Title == "" && in.Steps == nil:
		return "", refuse("Parameter `title` or `steps` is required for command: update")
	}
	if in.Title != "" {
		p.Title = in.Title
	}
	if in.Steps != nil {
		p.setSteps(stepsOf(in.Steps))
	}
	return fmt.Sprintf("Plan updated successfully: %s\n\n%s", p.ID, p), nil
}

// markStep sets the status or the notes of a step, or both.
func (p *Plan) markStep(in planningInput) (string, error) {
	switch {
	case in.StepIndex == nil:
		return "", required("step_index", "mark_step")
	case *in.StepIndex < 0 || *in.StepIndex >= len(p.Steps):
		return "", refuse("Invalid step_index: %d. Valid indices range from 0 to %d.", *in.StepIndex,
			len(p.Steps)-1)
	case in.StepStatus == "" && in.StepNotes == nil:
		return "", refuse("Parameter `step_status` or `step_notes` is required for command: mark_step")
	}
	s := &p.Steps[*in.StepIndex]
	if in.StepStatus != "" {
		s.Status = in.StepStatus
	}
	if in.StepNotes != nil {
		s.Notes = *in.StepNotes
	}
	return fmt.Sprintf("Step %d updated in plan '%s'.\n\n%s", *in.StepIndex, p.ID, p), nil
}
