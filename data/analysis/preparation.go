package analysis

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
)

const preparationDescription = `
Run Python code that prepares data for data_visualization, and see what it prints. With code_type "visualization" the code writes cleaned CSV files and a JSON list, [{"csvFilePath": "…", "chartTitle": "…"}], and prints the path of the list; with "insight" it writes [{"chartPath": "…", "insights_id": [1, 3]}]. The paths are relative to the workspace. Where the data is clean already, call data_visualization at once.`

const preparationSchema = `{
	"type": "object",
	"properties": {
		"code_type": {"type": "string", "enum": ["visualization", "insight"], "description": "What the list is for; visualization if not given."},
		"code": {"type": "string", "description": "The code to run; it prints the path of the JSON file."}
	},
	"required": ["code"],
	"additionalProperties": false
}`

// preparation is the tool visualization_preparation.
type preparation struct{ python openmanus.Tool }

// NewPreparation returns the tool visualization_preparation, which runs its
// code by python, a tool that takes code as python_execute does. The Detail of
// its results is that of python's.
func NewPreparation(python openmanus.Tool) openmanus.Tool { return &preparation{python} }

// Spec implements [openmanus.Tool]. What the code does, nobody can promise.
func (p *preparation) Spec() openmanus.ToolSpec {
	return toolspec.New("visualization_preparation", preparationDescription, preparationSchema, p.python.Spec().Hints,
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
