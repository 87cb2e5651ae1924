package agents

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// verdictName is the tool with which a critic answers.
const verdictName = tools.CompletionName

// A verdictTool is a critic's answer. That a claim is true counts only from a critic
// that has looked: before, at least one of its other calls has succeeded. A critic
// that has not gets one reminder; after that, the claim counts as not true.
type verdictTool struct{ openmanus.Tool }

// Run implements [openmanus.Tool]. A critic that calls a claim true without having looked
// at anything gets one error that says so; if it insists, the verdict is recorded as "not
// met". The tally of its calls says whether it looked.
func (t verdictTool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var v Verdict
	if json.Unmarshal([]byte(call.Input), &v) != nil || !v.Met || looked(call.Tally) {
		return t.Tool.Run(ctx, call)
	}
	if call.Tally[verdictName].Failed == 0 {
		return openmanus.Result{}, errors.New("you have looked at nothing yet, and what you have not seen is not true: " +
			"look at the files with your tools, and answer then. " +
			"If you answer \"met\" without having looked, it counts as not met")
	}
	v = Verdict{Reason: "the critic looked at nothing that shows it, and said: " + v.Reason}
	data, err := json.Marshal(v)
	if err != nil {
		return openmanus.Result{}, err
	}
	call.Input = string(data)
	return t.Tool.Run(ctx, call)
}

// looked reports whether a call besides the answer has succeeded.
func looked(tally map[string]openmanus.Tally) bool {
	for name, n := range tally {
		if name != verdictName && n.OK > 0 {
			return true
		}
	}
	return false
}
