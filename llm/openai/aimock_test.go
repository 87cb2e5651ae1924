package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai"
)

const weather = `{"fixtures": [
	{"match": {"userMessage": "weather", "hasToolResult": false},
	 "response": {"content": "I look it up.", "toolCalls": [
		{"name": "weather", "arguments": "{\"city\": \"Köln\", \"unit\": \"°C\"}"},
		{"name": "weather", "arguments": "{\"city\": \"Rome\"}"}]}},
	{"match": {"userMessage": "weather", "hasToolResult": true, "toolResultContains": "rain"},
	 "response": {"content": "Rain in Rome, sun in Köln.", "usage": {"prompt_tokens": 120, "completion_tokens": 9}}}
]}`

// A server that we did not write understands what we send, and we understand
// how it streams a tool call.
func TestAimock(t *testing.T) {
	url := llmtest.Aimock(t, weather, "--chunk-size", "3")
	m := openai.New(openai.Options{Model: "gpt-4o", BaseURL: url + "/v1", Key: "mock"})
	defer m.Close()
	req := &llm.Request{
		System:   "You are terse.",
		Tools:    []llm.ToolSpec{{Name: "weather", Input: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
		Messages: []llm.Message{llm.Say(llm.User, "How is the weather?")},
		Memo:     new(llm.Memo),
	}
	var fragments int
	r, err := llm.Collect(t.Context(), m, req, func(llm.Delta) { fragments++ })
	if err != nil {
		t.Fatal(err)
	}
	calls := r.Message.Calls()
	if r.Stop != llm.ToolUse || r.Message.Text() != "I look it up." || len(calls) != 2 ||
		calls[0].Input != `{"city": "Köln", "unit": "°C"}` || calls[1].Input != `{"city": "Rome"}` || calls[0].ID == calls[1].ID {
		t.Fatalf("got %s", llmtest.Words(r))
	}
	if fragments < 10 || r.Usage.Input == 0 || r.Usage.Output == 0 {
		t.Errorf("%d fragments, %+v", fragments, r.Usage)
	}
	req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.Tool, Parts: llm.Parts{
		llm.Result{ID: calls[0].ID, Parts: llm.Parts{llm.Text{Text: "sun"}}},
		llm.Result{ID: calls[1].ID, Parts: llm.Parts{llm.Text{Text: "rain"}}}}})
	req.Fixed = len(req.Messages)
	r, err = llm.Generate(t.Context(), m, req)
	if err != nil || llmtest.Words(r) != "Rain in Rome, sun in Köln. (end)" {
		t.Fatalf("got %s, error %v", llmtest.Words(r), err)
	}

	_, err = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "something else")}})
	if llm.KindOf(err) != llm.Network || !strings.Contains(fmt.Sprint(err), "503") {
		t.Errorf("without a fixture: %v", err)
	}
}

// Its chaos, too, comes out as typed errors.
func TestAimockChaos(t *testing.T) {
	for flag, kind := range map[string]llm.Kind{
		"--chaos-drop":       llm.Network,
		"--chaos-ratelimit":  llm.RateLimit,
		"--chaos-disconnect": llm.Network,
		"--chaos-malformed":  llm.Protocol,
	} {
		m := openai.New(openai.Options{Model: "gpt-4o", BaseURL: llmtest.Aimock(t, weather, flag, "1") + "/v1"})
		_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "How is the weather?")}})
		var e *llm.Error
		if !asError(err, &e) || e.Kind != kind || !e.Temporary() || flag == "--chaos-ratelimit" && e.RetryAfter <= 0 {
			t.Errorf("%s: %+v, want %s", flag, err, kind)
		}
		m.Close()
	}
}
