package tools

import (
	"slices"
	"testing"
)

// Steps are known by their text. Of several with the same text, one that is
// where it was keeps what it had; the others are taken in their order, each
// once.
func TestStepsKeepTheirStatus(t *testing.T) {
	for _, tt := range []struct {
		name      string
		was, want []Step
	}{
		{"moved to the end", []Step{{"a", Completed, "x"}, {"b", Blocked, ""}}, []Step{{"b", Blocked, ""}, {"a", Completed, "x"}}},
		{"doubled", []Step{{"a", Completed, ""}}, []Step{{"n", NotStarted, ""}, {"a", Completed, ""}, {"a", NotStarted, ""}}},
		{"twins", []Step{{"a", Completed, ""}, {"a", InProgress, ""}}, []Step{{"n", NotStarted, ""}, {"a", InProgress, ""}, {"a", Completed, ""}}},
		{"twins that stay", []Step{{"a", Completed, ""}, {"a", InProgress, ""}}, []Step{{"a", Completed, ""}, {"a", InProgress, ""}}},
		{"other words", []Step{{"a", Completed, "x"}}, []Step{{"A", NotStarted, ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Plan{Steps: slices.Clone(tt.was)}
			var texts []string
			for _, s := range tt.want {
				texts = append(texts, s.Text)
			}
			p.setSteps(texts)
			if !slices.Equal(p.Steps, tt.want) {
				t.Errorf("got %v, want %v", p.Steps, tt.want)
			}
		})
	}
}
