package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
)

// The tools of an [EvaluateFlow].
const (
	copying = "copy_workspace"
	keeping = "keep_attempt"
)

// Evaluator returns the agent of an [EvaluateFlow] with these attempts. It has
// no model: the flow makes its calls. The caller sets its name, gate and limits.
func Evaluator(attempts []Attempt, c Copies) *openmanus.Agent {
	return &openmanus.Agent{
		Name:        "evaluate",
		Description: "Has a task attempted several times, and keeps the best attempt.",
		Tools:       []openmanus.Tool{newCopyTool(attempts, c), keepTool{c}},
		FlowEnds:    true,
	}
}

// newCopyTool returns copy_workspace, which starts a round.
func newCopyTool(attempts []Attempt, c Copies) openmanus.Tool {
	spec := openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{
			Name: copying, Description: "Copy the workspace, for the attempts that follow.",
			Input: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		},
		Hints: openmanus.Hints{Internal: true, Idempotent: true},
		Says:  toolspec.Says(": copy the workspace, copying the workspace, copied the workspace | 复制工作区, 正在复制工作区, 复制了工作区"),
	}
	return openmanus.Func(spec, func(ctx context.Context, call openmanus.Call, _ struct{}) (openmanus.Result, error) {
		r := Round{Attempts: attempts}
		if call.Last != nil {
			var last Round
			if err := json.Unmarshal(call.Last, &last); err != nil {
				return openmanus.Result{}, fmt.Errorf("the last round: %w", err)
			}
			r.Number = last.Number
		}
		r.Number++
		r.Dir = c.Dir(call.Session, r.Number)
		copied, err := c.begin(ctx, call.Session, r.Number)
		if err != nil {
			return openmanus.Result{}, err
		}
		r.Files, r.Bytes, r.Left = copied.Files, copied.Bytes, copied.Left
		res := openmanus.TextResult("Copied %s (%.1f MiB) to %s", clip.Count(r.Files, "file"), float64(r.Bytes)/(1<<20), r.Dir)
		if len(r.Left) > 0 {
			res = openmanus.TextResult("%s; left out: %s", res.Parts.Text(), strings.Join(r.Left, "; "))
		}
		res.Detail = r
		return res, nil
	})
}

// keepInput are the arguments of keep_attempt.
type keepInput struct {
	Attempt int    `json:"attempt"` // from 1
	Why     string `json:"why"`
}

// A keepTool is keep_attempt, which merges the changes of an attempt into the
// workspace.
type keepTool struct{ copies Copies }

// Spec implements [openmanus.Tool].
func (keepTool) Spec() openmanus.ToolSpec {
	return openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{
			Name: keeping, Description: "Merge the changes of an attempt into the workspace.",
			Input: json.RawMessage(`{"type":"object","properties":{"attempt":{"type":"integer","minimum":1},"why":{"type":"string"}},` +
				`"required":["attempt","why"],"additionalProperties":false}`),
		},
		Hints:     openmanus.Hints{Edits: true, Idempotent: true},
		Says:      toolspec.Says("writes: keep an attempt, keeping an attempt, kept an attempt | 采用方案, 正在采用方案, 采用了方案"),
		Arguments: []openmanus.Argument{{Name: "*", Kind: openmanus.TextArgument}},
	}
}

// Preview implements [openmanus.Previewer] with the differences between the workspace and
// the copy of the attempt. The arguments are those of Run.
func (t keepTool) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	in, round, err := t.arguments(call)
	if err != nil {
		return "", err
	}
	return t.copies.show(ctx, call.Session, round, in.Attempt)
}

// Run implements [openmanus.Tool]. It merges the changes of an attempt into the workspace.
// A file that both changed is a conflict, which stays as it is in the workspace; the
// result lists it. A merge that fails halfway is an error, and doing it again completes
// it. The detail of the result is a [Kept].
func (t keepTool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	in, round, err := t.arguments(call)
	if err != nil {
		return openmanus.Result{}, err
	}
	merged, err := t.copies.merge(call.Session, round, in.Attempt).Do(ctx)
	if err != nil {
		return openmanus.Result{}, fmt.Errorf("attempt %d was not merged completely: %w; openmanus sessions resume tries again, "+
			"the copies are in %s", in.Attempt, err, t.copies.Dir(call.Session, round))
	}
	k := Kept{
		Round: round, Attempt: in.Attempt, Why: in.Why, Merged: *merged,
		From: t.copies.attempt(call.Session, round, in.Attempt),
	}
	res := openmanus.TextResult("%s", k.String())
	res.Detail = k
	return res, nil
}

// arguments returns the arguments of a call and the round that it is about: the
// latest one in which an attempt of that number was opened.
func (t keepTool) arguments(call openmanus.Call) (in keepInput, round int, err error) {
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return in, 0, fmt.Errorf("arguments: %w", err)
	}
	for _, c := range call.Children {
		var r, n int
		if _, err := fmt.Sscanf(nameOf(c), "attempt-%d-%d", &r, &n); err == nil && n == in.Attempt {
			round = max(round, r)
		}
	}
	if round == 0 {
		return in, 0, fmt.Errorf("there is no attempt %d", in.Attempt)
	}
	return in, round, nil
}
