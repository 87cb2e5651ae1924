package hooks

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestAnswersAreRead(t *testing.T) {
	for _, c := range []struct{ text, decision, reason, input, wrong string }{
		{`{"decision":"allow"}`, "allow", "", "", ""},
		{" {\"decision\":\"deny\",\"reason\":\"no\\u001b[31m\"}\n", "deny", "no", "", ""},
		{`{"decision":"ask","reason":"sure?","more":[1]}`, "ask", "sure?", "", ""},
		{`{"decision":"allow","input":{"a":1}}`, "allow", "", `{"a":1}`, ""},
		{`{"decision":"allow","input":null}`, "allow", "", "", ""},
		{``, "", "", "", "it answered nothing"},
		{" \n", "", "", "", "it answered nothing"},
		{`ok`, "", "", "", "not a JSON object"},
		{`"allow"`, "", "", "", "not a JSON object"},
		{`["allow"]`, "", "", "", "not a JSON object"},
		{`{"decision":"allow"`, "", "", "", "not a JSON object"},
		{`{"decision":"allow"} x`, "", "", "", "after the JSON object"},
		{`{"decision":"allow"}{"decision":"deny"}`, "", "", "", "after the JSON object"},
		{`{"decision":"deny","decision":"allow"}`, "", "", "", `"decision" twice`},
		{`{"Decision":"allow"}`, "", "", "", `no "decision"`},
		{`{}`, "", "", "", `no "decision"`},
		{`{"decision":"yes"}`, "", "", "", `the decision "yes"`},
		{`{"decision":true}`, "", "", "", `"decision" in its answer is no text`},
		{`{"decision":"allow","input":[1]}`, "", "", "", `"input" in its answer is no object`},
		{`{"decision":"allow","reason":7}`, "", "", "", `"reason" in its answer is no text`},
	} {
		a, err := ParseAnswer([]byte(c.text))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) || a.Decision == "allow" && err == nil {
				t.Errorf("%q: %+v, %v; want an error with %q", c.text, a, err, c.wrong)
			}
			continue
		}
		if err != nil || a.Decision != c.decision || !strings.HasPrefix(a.Reason, c.reason) || string(a.Input) != c.input {
			t.Errorf("%q: %+v, %v", c.text, a, err)
		}
	}
}

func TestAnswersOfClaudeHooksAreRead(t *testing.T) {
	edit := Event{Event: BeforeCall, Call: &Call{Tool: "str_replace_editor", Input: json.RawMessage(`{"command":"create","path":"/a","file_text":"x"}`)}}
	for _, c := range []struct{ text, decision, reason, input, wrong string }{
		{"", "allow", "", "", ""},
		{"all is well", "allow", "", "", ""},
		{`{"continue":true}`, "allow", "", "", ""},
		{`{"continue":false,"stopReason":"stop"}`, "deny", "stop", "", ""},
		{`{"decision":"approve"}`, "allow", "", "", ""},
		{`{"decision":"block","reason":"no"}`, "deny", "no", "", ""},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`, "deny", "no", "", ""},
		{`{"hookSpecificOutput":{"permissionDecision":"ask"}}`, "ask", "", "", ""},
		{`{"decision":"block","hookSpecificOutput":{"additionalContext":"x"}}`, "deny", "", "", ""},
		{`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"create","file_path":"/b","path":"/a","content":"x"}}}`,
			"allow", "", `{"command":"create","file_text":"x","path":"/b"}`, ""},
		{`{"decision":`, "", "", "", "not a JSON object"},
		{`{"decision":"perhaps"}`, "", "", "", "perhaps"},
		{`{"hookSpecificOutput":7}`, "", "", "", "not a JSON object"},
		{`{"continue":"no"}`, "", "", "", "true or false"},
	} {
		a, err := claudeAnswer([]byte(c.text), edit)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %+v, %v", c.text, a, err)
			}
			continue
		}
		if err != nil || a.Decision != c.decision || a.Reason != c.reason || c.input != "" && !strings.Contains(string(a.Input), `"path":"/b"`) {
			t.Errorf("%q: %+v %s, %v", c.text, a, a.Input, err)
		}
	}
}

// The parser returns an answer or an error, never both, and arguments are an
// object.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"decision":"allow","input":{"a":1},"reason":"x"}`))
	f.Add([]byte(`{"decision":"deny","decision":"allow"}`))
	f.Add([]byte(`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"file_path":"b"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		call := Event{Call: &Call{Tool: "str_replace_editor", Input: json.RawMessage(`{"path":"a"}`)}}
		for _, read := range []func([]byte) (Answer, error){
			ParseAnswer, func(b []byte) (Answer, error) { return claudeAnswer(b, call) },
		} {
			a, err := read(data)
			if err != nil {
				continue
			}
			if a.Decision != "allow" && a.Decision != "deny" && a.Decision != "ask" {
				t.Fatalf("the decision %q of %q", a.Decision, data)
			}
			if len(a.Input) > 0 && (!json.Valid(a.Input) || bytes.TrimSpace(a.Input)[0] != '{') {
				t.Fatalf("the input %q of %q", a.Input, data)
			}
			if len(a.Reason) > 4*maxReason+8 {
				t.Fatalf("a reason of %d bytes", len(a.Reason))
			}
		}
	})
}

// A file of Claude Code is read, or there is an error, and every hook of it can be run.
func FuzzClaude(f *testing.F) {
	f.Add([]byte(claudeFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, err := ParseClaude("f", data)
		for _, h := range list {
			if err != nil || h.Run == "" || h.Limit() <= 0 || h.Name == "" {
				t.Fatalf("%+v, %v", h, err)
			}
			h.Fits("bash")
		}
	})
}

const claudeFile = `{"permissions":{},"hooks":{
 "PreToolUse":[{"matcher":"Bash|mcp__.*","hooks":[{"type":"command","command":"a","timeout":5},{"type":"prompt","prompt":"x"}]},
               {"matcher":"^B.+$","hooks":[{"type":"command","command":"b"}]}],
 "UserPromptSubmit":[{"hooks":[{"type":"command","command":"c"}]}],
 "Stop":[{"matcher":"x","hooks":[{"type":"command","command":"d"}]}]}}`

func TestFilesOfClaudeCodeAreRead(t *testing.T) {
	list, remarks, err := ParseClaude("f", []byte(claudeFile))
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	a, b, d := list[0], list[1], list[2]
	if a.On != BeforeCall || !a.Fits("bash") || a.Fits("web_search") || a.Limit().Seconds() != 5 {
		t.Errorf("%+v", a)
	}
	if !b.Fits("web_search") || d.On != "finished" || d.Tools != "" {
		t.Errorf("%+v, %+v", b, d)
	}
	for i, want := range []string{`"prompt"`, "asked about all tools", "UserPromptSubmit are not used"} {
		if i >= len(remarks) || !strings.Contains(remarks[i], want) {
			t.Fatalf("%q", remarks)
		}
	}
}

func TestPatternsOfTools(t *testing.T) {
	for _, c := range []struct {
		pattern, tool string
		fits          bool
	}{
		{"", "bash", true}, {"*", "bash", true}, {"bash", "bash", true}, {"bash", "bash2", false}, {"web_*", "web_fetch", true},
		{"*_fetch", "web_fetch", true}, {"w*b*h", "web_fetch", true}, {"w*x*h", "web_fetch", false}, {"a | bash", "bash", true},
		{"mcp_*_delete*", "mcp_git_delete_all", true}, {"mcp_*_delete*", "mcp_git_add", false}, {"ab*ba", "aba", false},
	} {
		if got := (Hook{Tools: c.pattern}).Fits(c.tool); got != c.fits {
			t.Errorf("%q fits %q: %v", c.pattern, c.tool, got)
		}
	}
}
