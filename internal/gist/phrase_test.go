package gist

import (
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

func TestPhrase(t *testing.T) {
	for _, tt := range []struct {
		name, input  string
		tense        Tense
		verb, target string
	}{
		{"bash", `{"command":"go test ./..."}`, Done, "Ran", "go test ./..."},
		{"bash", `{"command":"go test ./..."}`, Running, "Running", "go test ./..."},
		{"bash", `{"command":"go test ./..."}`, Waiting, "Wants to run", "go test ./..."},
		{"bash", `{"command":"go test ./..."}`, Never, "Wanted to run", "go test ./..."},
		{"str_replace_editor", `{"command":"create","path":"a.go"}`, Done, "Wrote", "a.go"},
		{"str_replace_editor", `{"command":"insert","path":"a\nb.go"}`, Done, "Edited", "a b.go"},
		{"str_replace_editor", `{"command":`, Done, "Edited", `{"command":`},
		{"browser_use", `{"action":"go_to_url","url":"https://example.org/"}`, Done, "Opened", "https://example.org/"},
		{"browser_use", `{"action":"wait","seconds":3}`, Done, "Used the browser", "wait, seconds: 3"},
		{"planning", `{"command":"create","title":"The\nwork","steps":["a"]}`, Running, "Planning", "The work"},
		{"planning", `{"command":"mark_step","step_index":0}`, Never, "Wanted to change the plan", ""},
		{"planning", `{"command":"mark_step","step_index":0,"step_status":"completed","step_notes":"12 rows"}`, Done, "Finished step 1", "12 rows"},
		{"delegate", `{"agent":"swe","task":"Fix it.\nAll of it."}`, Waiting, "Wants to give work to swe", "Fix it. All of it."},
		{"mcp_thing", `{"x":1}`, Done, "mcp_thing", "x: 1"},
	} {
		if verb, target := Phrase(llm.Call{Name: tt.name, Input: tt.input}, tt.tense); verb != tt.verb || target != tt.target {
			t.Errorf("%s %s: %q %q, want %q %q", tt.name, tt.input, verb, target, tt.verb, tt.target)
		}
	}
}

// A tool that a program brings has its own words, whatever it is called; words that have not
// three forms are none.
func TestPhraseOfASpec(t *testing.T) {
	says := []openmanus.Saying{
		{If: "how=whole|all", Kind: openmanus.ToolReads, Words: map[string]string{"en": "take, taking, took"}},
		{Kind: openmanus.ToolFinds, Words: map[string]string{"en": "count, counting, counted"}, On: []string{"shelf", "items"}},
	}
	for _, tt := range []struct {
		input        string
		says         []openmanus.Saying
		verb, target string
		kind         openmanus.ToolKind
	}{
		{`{"items":["apple","pear"]}`, says, "Counted", "apple", openmanus.ToolFinds},
		{`{"shelf":7,"items":["apple"]}`, says, "Counted", "7", openmanus.ToolFinds},
		{`{"how":"all","query":"apple"}`, says, "Took", "apple", openmanus.ToolReads},
		{`{"query":"apple"}`, says[1:], "Counted", "", openmanus.ToolFinds},
		{`{"query":"apple"}`, says[:1], "bash", "apple", ""},
		{`{"query":"apple"}`, []openmanus.Saying{{Kind: openmanus.ToolFinds, Words: map[string]string{"en": "count"}}}, "bash", "apple", openmanus.ToolFinds},
	} {
		c := llm.Call{Name: "bash", Input: tt.input}
		if verb, target := Phrase(c, Done, tt.says...); verb != tt.verb || target != tt.target {
			t.Errorf("%s: %q %q, want %q %q", tt.input, verb, target, tt.verb, tt.target)
		}
		if kind := Kind(c, tt.says...); kind != tt.kind {
			t.Errorf("%s: %q, want %q", tt.input, kind, tt.kind)
		}
	}
}
