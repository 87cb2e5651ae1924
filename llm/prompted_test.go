package llm_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// writes is a model that writes text, cut into fragments of n bytes, and keeps
// what it was asked.
type writes struct {
	text  string
	n     int
	stop  llm.Stop
	asked *llm.Request
}

func (w *writes) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		w.asked = req
		for s := w.text; s != ""; {
			n := min(w.n, len(s))
			if !yield(llm.Delta{Piece: llm.Text{Text: s[:n]}}, nil) {
				return
			}
			s = s[n:]
		}
		yield(llm.Delta{Stop: w.stop, Usage: &llm.Usage{Input: 1, Output: 1}}, nil)
	}
}

var prompting = []llm.ToolSpec{
	{Name: "weather", Description: "The weather.", Input: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
	{Name: "bash"},
}

// The notations that models use, with prose around them, whole and letter by
// letter.
func TestPromptToolsReadsCalls(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"prose":                         {"It is sunny.", "It is sunny. (end)"},
		"nothing":                       {"", " (end)"},
		"the notation that is asked":    {"I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Köln\"}}\n</tool_call>", "I look.\n | weather {\"city\": \"Köln\"} #t1 (tool_use)"},
		"two calls":                     {"<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}</tool_call>", `weather {} #t1 | bash {"command":"ls"} #t2 (tool_use)`},
		"no closing tag":                {`<tool_call>{"name":"weather","arguments":{"city":"Rome"}}`, `weather {"city":"Rome"} #t1 (tool_use)`},
		"words after it":                {"<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>\nNow I wait.", "weather {} #t1 | \nNow I wait. (tool_use)"},
		"a fence":                       {"Let me see:\n```json\n{\"name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}}\n```", "Let me see:\n | weather {\"city\": \"Rome\"} #t1 (tool_use)"},
		"a fence in a tag":              {"<tool_call>\n```json\n{\"name\": \"weather\", \"arguments\": {}}\n```\n</tool_call>", "weather {} #t1 (tool_use)"},
		"a fence of an unknown tool":    {"Like so:\n```json\n{\"name\": \"Ann\", \"arguments\": {}}\n```\nDone.", "Like so:\n```json\n{\"name\": \"Ann\", \"arguments\": {}}\n```\nDone. (end)"},
		"a fence of code":               {"Run:\n```bash\nls\n```\nDone.", "Run:\n```bash\nls\n```\nDone. (end)"},
		"JSON alone":                    {`{"tool": "weather", "args": {"city": "Rome"}}`, `weather {"city": "Rome"} #t1 (tool_use)`},
		"a list alone":                  {`[{"name":"weather","arguments":{}},{"name":"bash","arguments":{"command":"ls"}}]`, `weather {} #t1 | bash {"command":"ls"} #t2 (tool_use)`},
		"JSON that is no call":          {`{"name": "Ann", "age": 3}`, `{"name": "Ann", "age": 3} (end)`},
		"a list that is no call":        {"[a link](http://x)", "[a link](http://x) (end)"},
		"Mistral":                       {`[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Rome"}}]`, `weather {"city": "Rome"} #t1 (tool_use)`},
		"Llama, name in the tag":        {`<function=weather>{"city": "Rome"}</function>`, `weather {"city": "Rome"} #t1 (tool_use)`},
		"Llama, token":                  {`<|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}<|eom_id|>`, `weather {"city": "Rome"} #t1 (tool_use)`},
		"Qwen Coder":                    {"<tool_call>\n<function=bash>\n<parameter=command>\necho \"a\"\nls\n</parameter>\n<parameter=timeout>\n5\n</parameter>\n</function>\n</tool_call>", `bash {"command":"echo \"a\"\nls","timeout":5} #t1 (tool_use)`},
		"as OpenAI has it":              {"```json\n{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"arguments\": \"{\\\"city\\\":\\\"Rome\\\"}\"}}\n```", `weather {"city":"Rome"} #t1 (tool_use)`},
		"arguments that are not JSON":   {`<tool_call>{"name": "weather", "arguments": {"city": Rome}}</tool_call>`, `weather {"city": Rome} #t1 (tool_use)`},
		"a tag with nothing to read":    {"<tool_call>weather in Rome</tool_call>", "tool_call weather in Rome #t1 (tool_use)"},
		"a tool that nobody offered":    {`<tool_call>{"name":"nosuch","arguments":{}}</tool_call>`, "nosuch {} #t1 (tool_use)"},
		"what looks like the beginning": {"a < b and <tool is not it", "a < b and <tool is not it (end)"},
		"backticks in a sentence":       {"Use `ls` and ``x``.", "Use `ls` and ``x``. (end)"},
	} {
		for _, n := range []int{1, 7, 1 << 20} {
			w := &writes{text: c.text, n: n, stop: llm.End}
			r, err := llm.Generate(t.Context(), llm.PromptTools(w), &llm.Request{Tools: prompting})
			if err != nil || llmtest.Words(r) != c.want {
				t.Errorf("%s, %d bytes at a time: %q, error %v\nwant %q", name, n, llmtest.Words(r), err, c.want)
			}
		}
	}
}

// A reply that was cut off calls nothing.
func TestPromptToolsOfAReplyThatWasCut(t *testing.T) {
	w := &writes{text: `Well. <tool_call>{"name":"bash","arguments":{"command":"rm`, n: 3, stop: llm.Length}
	r, err := llm.Generate(t.Context(), llm.PromptTools(w), &llm.Request{Tools: prompting})
	if err != nil || len(r.Message.Calls()) > 0 || r.Stop != llm.Length || r.Message.Text() != w.text {
		t.Errorf("%s, error %v", llmtest.Words(r), err)
	}
}

// Prose is shown as it comes.
func TestPromptToolsPassesTextOn(t *testing.T) {
	var shown []string
	w := &writes{text: "one two <tool_call>{}", n: 4, stop: llm.End}
	_, err := llm.Collect(t.Context(), llm.PromptTools(w), &llm.Request{Tools: prompting}, func(d llm.Delta) {
		if p, ok := d.Piece.(llm.Text); ok {
			shown = append(shown, p.Text)
		}
	})
	if got := strings.Join(shown, "|"); err != nil || got != "one |two " {
		t.Errorf("shown %q, error %v", got, err)
	}
}

// The request to the model has nothing that the model does not know, and loses
// nothing.
func TestPromptToolsTellsWhatHappened(t *testing.T) {
	w := &writes{text: "ok", n: 9, stop: llm.End}
	req := &llm.Request{System: "Be brief.", Tools: prompting, Fixed: 3, Memo: new(llm.Memo), Settings: llm.Settings{ToolChoice: "tool:weather"},
		Messages: []llm.Message{
			llm.Say(llm.User, "Weather?"),
			{Role: llm.Assistant, Parts: llm.Parts{llm.Text{Text: "I look."}, llm.Call{ID: "a", Name: "weather", Input: `{"city":"Rome"}`}, llm.Call{ID: "b", Name: "bash"}}},
			{Role: llm.Tool, Parts: llm.Parts{
				llm.Result{ID: "a", Parts: llm.Parts{llm.Text{Text: "sunny"}, llm.Blob{MIME: "image/png", Data: []byte("x")}}},
				llm.Result{ID: "b", IsError: true, Parts: llm.Parts{llm.Text{Text: "no such file"}}}}},
		}}
	if _, err := llm.Generate(t.Context(), llm.PromptTools(w), req); err != nil {
		t.Fatal(err)
	}
	got := w.asked
	for _, want := range []string{"Be brief.\n\n", `{"name":"weather","description":"The weather.","parameters":{"type":"object"`, "Use the tool weather"} {
		if !strings.Contains(got.System, want) {
			t.Errorf("the instructions have no %q:\n%s", want, got.System)
		}
	}
	if got.Tools != nil || got.Settings.ToolChoice != "" || got.Fixed != 3 || got.Memo != req.Memo || len(got.Messages) != 3 {
		t.Errorf("asked %+v", got)
	}
	if want := "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Rome\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {}}\n</tool_call>"; got.Messages[1].Text() != want {
		t.Errorf("the calls are told as\n%s", got.Messages[1].Text())
	}
	results := got.Messages[2]
	if _, ok := results.Parts[1].(llm.Blob); results.Role != llm.User || !ok ||
		results.Text() != "<tool_response name=\"weather\">\nsunny\n</tool_response>\n<tool_response name=\"bash\" status=\"error\">\nno such file\n</tool_response>\n" {
		t.Errorf("the results are told as %+v", results)
	}
}

// Whatever a model writes: nothing of the prose is lost, and it can be put
// together.
func FuzzPromptTools(f *testing.F) {
	f.Add("a <tool_call>{\"name\":\"weather\"}</tool_call> b ```json\n{}\n``` [TOOL_CALLS]", 3)
	f.Add("<function=weather><parameter=a>1</parameter>", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		w := &writes{text: text, n: max(n, 1), stop: llm.End}
		r, err := llm.Generate(t.Context(), llm.PromptTools(w), &llm.Request{Tools: prompting})
		if err != nil || r.Stop != llm.End && r.Stop != llm.ToolUse || (r.Stop == llm.ToolUse) != (len(r.Message.Calls()) > 0) {
			t.Fatalf("%s, error %v", llmtest.Words(r), err)
		}
		if len(r.Message.Calls()) == 0 && strings.TrimSpace(r.Message.Text()) != strings.TrimSpace(text) {
			t.Fatalf("%q became %q", text, r.Message.Text())
		}
		whole, _ := llm.Generate(t.Context(), llm.PromptTools(&writes{text: text, n: 1 << 30, stop: llm.End}), &llm.Request{Tools: prompting})
		if llmtest.Words(whole) != llmtest.Words(r) {
			t.Fatalf("in fragments %q, at once %q", llmtest.Words(r), llmtest.Words(whole))
		}
	})
}
