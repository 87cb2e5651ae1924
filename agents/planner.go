package agents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// Planner returns the agent of a [PlanFlow] whose steps these agents do. With
// critic set, steps with an acceptance sentence count as done only after a
// critic has confirmed it. The caller sets the name, the model and the limits.
func Planner(agents []tools.Assistant, critic bool) *openmanus.Agent {
	return &openmanus.Agent{
		Name:         "plan",
		Description:  "Makes a plan, has agents do its steps, and changes the plan when a step fails.",
		Instructions: prompt("plan.md"),
		Tools:        []openmanus.Tool{planTool{tools.NewPlanner(agents), critic}, tools.NewAskHuman()},
		FlowEnds:     true,
	}
}

// A planTool is the planning tool of a planner. It shows the statuses of the
// steps as the child sessions have them; the planner does not set them.
type planTool struct {
	openmanus.Tool
	critic bool
}

// Run implements [openmanus.Tool]. The plan that the tool sees has the status of the steps
// whose sessions have run, which the flow knows and the tool's own memory does not.
func (t planTool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	ps, err := tools.ReadPlans(call.Last)
	if err != nil {
		return openmanus.Result{}, err
	}
	f := PlanFlow{}
	if t.critic {
		f.Critic = "critic"
	}
	for i, p := range ps.Plans {
		ps.Plans[i] = f.progress(p, ps.Revision, call.Children).Plan
	}
	if call.Last, err = json.Marshal(ps); err != nil {
		return openmanus.Result{}, fmt.Errorf("the plans of this session: %w", err)
	}
	return t.Tool.Run(ctx, call)
}
