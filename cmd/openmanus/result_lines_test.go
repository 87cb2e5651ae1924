package main

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Of a result with a page, people see what was done, or what went wrong, and where.
func TestResultLines(t *testing.T) {
	page := llm.Text{Text: "\nURL: https://example.org/\nTitle: A\n[0]<a> One\n[1]<a> Two\n", View: true}
	for _, tt := range []struct {
		parts llm.Parts
		want  string
	}{
		{llm.Parts{llm.Text{Text: "Clicked"}, page}, "Clicked|URL: https://example.org/|Title: A|… 2 lines …"},
		{llm.Parts{llm.Text{Text: "it is\ngone"}, page}, "it is|gone|URL: https://example.org/|Title: A|… 2 lines …"},
		{llm.Parts{page}, "URL: https://example.org/|Title: A|… 2 lines …"},
		{llm.Parts{llm.Text{Text: "a\nb"}}, "a|b"},
	} {
		if got := strings.Join(resultLines(openmanus.CallDone{Parts: tt.parts}), "|"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
