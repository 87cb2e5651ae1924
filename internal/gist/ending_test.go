package gist_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/llm"
)

// A person sees how a call ended: the exit code, what an edit added and removed, and
// of a page what was done, or what went wrong, and where.
func TestEnd(t *testing.T) {
	page := llm.Text{Text: "\nURL: https://example.org/\nTitle: A\n[0]<a> One\n[1]<a> Two\n", View: true}
	text := func(s string) llm.Parts { return llm.Parts{llm.Text{Text: s}} }
	for _, tt := range []struct {
		done  openmanus.CallDone
		word  string
		bad   bool
		lines string
	}{
		{openmanus.CallDone{Parts: llm.Parts{llm.Text{Text: "Clicked"}, page}}, "done", false, "Clicked|URL: https://example.org/|Title: A|… 2 more lines …"},
		{openmanus.CallDone{Parts: llm.Parts{llm.Text{Text: "it is\ngone"}, page}, IsError: true}, "error", true, "it is|gone|URL: https://example.org/|Title: A|… 2 more lines …"},
		{openmanus.CallDone{Parts: llm.Parts{page}}, "done", false, "URL: https://example.org/|Title: A|… 2 more lines …"},
		{openmanus.CallDone{Parts: text("a\nb\n[exit code 0]"), Detail: json.RawMessage(`{"exit_code":0}`)}, "done", false, "a|b"},
		{openmanus.CallDone{Parts: text("no such file\n[exit code 2]"), Failed: true, Detail: json.RawMessage(`{"exit_code":2}`)}, "exit 2", true, "no such file"},
		{openmanus.CallDone{Parts: text("[exit code 2]\n[exit code 0]"), Detail: json.RawMessage(`{"exit_code":0}`)}, "done", false, "[exit code 2]"},
		{openmanus.CallDone{Parts: text("half"), IsError: true, Detail: json.RawMessage(`{"exit_code":-1,"timed_out":true}`)}, "out of time", true, "half"},
		{openmanus.CallDone{Parts: text("half"), IsError: true, Partial: true}, "interrupted", true, "half"},
		{openmanus.CallDone{Parts: text("5 of 7"), Failed: true}, "failed", true, "5 of 7"},
		{openmanus.CallDone{Parts: text("The file was edited."), Detail: json.RawMessage(`{"path":"a","diff":"--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n--- x\n-y\n+z\n\\ No newline at end of file\n"}`)}, "+1 −2", false, ""},
		{openmanus.CallDone{Parts: text("M a"), Detail: json.RawMessage(`{"diff":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+z\n","files":[{"path":"a"}]}`)}, "+1 −1", false, "M a"},
		{openmanus.CallDone{Parts: text(" \n")}, "done", false, ""},
		{openmanus.CallDone{Parts: text("x"), Detail: json.RawMessage(`[1]`)}, "done", false, "x"},
	} {
		e := gist.End(tt.done)
		if got := strings.Join(e.Lines, "|"); got != tt.lines || e.Word != tt.word || e.Bad != tt.bad {
			t.Errorf("%q %q %v, want %q %q %v", e.Word, got, e.Bad, tt.word, tt.lines, tt.bad)
		}
	}
}

// The end of a long result is shown, and the steps of a plan, counted from 1.
func TestTail(t *testing.T) {
	if tail, left := gist.Tail(strings.Split("1 2 3 4", " "), nil, 3); strings.Join(tail, "") != "234" || left != 1 {
		t.Errorf("%q, %d left", tail, left)
	}
	plan := strings.Split("Plan: x\nSteps:\n0. [ ] a\n1. [ ] b\n2. [ ] c", "\n")
	detail := json.RawMessage(`{"plans":[{"id":"p"}]}`)
	if tail, left := gist.Tail(plan, detail, 1); strings.Join(tail, "|") != "1. [ ] a|2. [ ] b|3. [ ] c" || left != 0 {
		t.Errorf("%q, %d left", tail, left)
	}
}

// A call is named by what it works on.
func TestCall(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"go test\n ./...","why":"x"}`:               "go test ./...",
		`{"command":"view","path":"a/b.go"}`:                    "view a/b.go",
		`{"url":"https://example.org/f.zip","save_to":"f.zip"}`: "https://example.org/f.zip to f.zip",
		`{"action":"click_element","index":15}`:                 "click_element, index: 15",
		`{"a":[1,{"b":null}]}`:                                  `a: [1,{"b":null}]`,
		`{}`:                                                    "",
		"not\nJSON":                                             "not JSON",
		`{"input":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}`: "add a",
	} {
		if got := gist.Call(llm.Call{Input: input}); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}
