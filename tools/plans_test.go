package tools

import (
	"reflect"
	"slices"
	"testing"
)

// Steps are known by their text. If several have the same text, one in its old
// place keeps its status; the others are taken in their order, each once.
func TestStepsKeepTheirStatus(t *testing.T) {
	for _, tt := range []struct {
		name      string
		was, want []Step
	}{
		{"moved to the end", []Step{{Text: "a", Status: Completed, Notes: "x"}, {Text: "b", Status: Blocked, Notes: ""}}, []Step{{Text: "b", Status: Blocked, Notes: ""}, {Text: "a", Status: Completed, Notes: "x"}}},
		{"doubled", []Step{{Text: "a", Status: Completed, Notes: ""}}, []Step{{Text: "n", Status: NotStarted, Notes: ""}, {Text: "a", Status: Completed, Notes: ""}, {Text: "a", Status: NotStarted, Notes: ""}}},
		{"twins", []Step{{Text: "a", Status: Completed, Notes: ""}, {Text: "a", Status: InProgress, Notes: ""}}, []Step{{Text: "n", Status: NotStarted, Notes: ""}, {Text: "a", Status: InProgress, Notes: ""}, {Text: "a", Status: Completed, Notes: ""}}},
		{"twins that stay", []Step{{Text: "a", Status: Completed, Notes: ""}, {Text: "a", Status: InProgress, Notes: ""}}, []Step{{Text: "a", Status: Completed, Notes: ""}, {Text: "a", Status: InProgress, Notes: ""}}},
		{"other words", []Step{{Text: "a", Status: Completed, Notes: "x"}}, []Step{{Text: "A", Status: NotStarted, Notes: ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Plan{Steps: slices.Clone(tt.was)}
			var steps []Step
			for _, s := range tt.want {
				steps = append(steps, Step{Text: s.Text})
			}
			p.setSteps(steps)
			if !reflect.DeepEqual(p.Steps, tt.want) {
				t.Errorf("got %v, want %v", p.Steps, tt.want)
			}
		})
	}
}
