package analysis

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openmanus-go/openmanus"
)

// preparation is the tool visualization_preparation.
type preparation struct{ python openmanus.Tool }

// NewPreparation returns the tool visualization_preparation. It runs its code
// with python, a tool whose argument is "code", as python_execute's is, and
// returns python's results.
func NewPreparation(python openmanus.Tool) openmanus.Tool { return &preparation{python} }

// Spec implements [openmanus.Tool]. The code may do whatever python may.
func (p *preparation) Spec() openmanus.ToolSpec {
	return specOf("visualization_preparation", p.python.Spec().Hints,
		openmanus.Argument{Name: "code", Kind: openmanus.CodeArgument, Does: openmanus.Runs})
}

// Run implements [openmanus.Tool].
func (p *preparation) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var in struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return openmanus.Result{}, fmt.Errorf("arguments: %w", err)
	}
	input, err := json.Marshal(in)
	if err != nil {
		return openmanus.Result{}, err
	}
	call.Input = string(input)
	return p.python.Run(ctx, call)
}
