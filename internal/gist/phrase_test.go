package gist

import (
	"testing"

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
		{"mcp_thing", `{"x":1}`, Done, "mcp_thing", "x: 1"},
	} {
		if verb, target := Phrase(llm.Call{Name: tt.name, Input: tt.input}, tt.tense); verb != tt.verb || target != tt.target {
			t.Errorf("%s %s: %q %q, want %q %q", tt.name, tt.input, verb, target, tt.verb, tt.target)
		}
	}
}
