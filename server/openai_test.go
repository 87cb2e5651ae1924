package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

// docs/openapi.json is the description that the server serves.
func TestOpenAPIIsCheckedIn(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	status, served := x.send(annsToken, "GET", "/api/v1/openapi.json", nil)
	if status != 200 {
		t.Fatalf("%d %s", status, served)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, served, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	file := filepath.Join("..", "docs", "openapi.json")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(kept, b.Bytes()) {
		t.Errorf("%s is not what the server serves (%v): go test ./server -run OpenAPI -update", file, err)
	}
}

func chat(text string) map[string]any {
	return map[string]any{"model": "manus", "messages": []any{map[string]any{"role": "user", "content": text}}}
}

// saves returns a model that writes a file and says so.
func saves() llm.Model {
	return llmtest.Script(
		llm.Message{Role: llm.Assistant, Parts: append(llmtest.Say("I will write it.").Parts, llmtest.Use("", "file_saver", map[string]any{"file_path": "x", "content": "y"}).Parts...)},
		llmtest.Say("It is written."),
	)
}

func TestChatCompletion(t *testing.T) {
	x := open(t, t.TempDir(), saves())
	out := x.call("POST", "/v1/chat/completions", chat("write"), 200)
	choice := out["choices"].([]any)[0].(map[string]any)
	if choice["message"].(map[string]any)["content"] != "It is written." || choice["finish_reason"] != "stop" || out["object"] != "chat.completion" {
		t.Errorf("got %v", out)
	}
	items := x.call("GET", "/api/v1/sessions", nil, 200)["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["approve"] != "all" {
		t.Errorf("the sessions are %v", items)
	}
}

// A call that needs approval is denied, and the agent continues.
func TestChatCompletionRefusesWhatNeedsAPerson(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(
		llmtest.Use("", "file_saver", map[string]any{"file_path": "x", "content": "y"}),
		llmtest.Use("", "ask_human", map[string]any{"inquire": "may I?"}),
		llmtest.Say("I could not."),
	))
	out := x.callAs(bobsToken, "POST", "/v1/chat/completions", chat("write"), 200)
	if got := out["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"]; got != "I could not." {
		t.Errorf("got %v", out)
	}
	if files, _ := filepath.Glob(filepath.Join(x.dir, "bob", "*", "x")); len(files) > 0 {
		t.Errorf("it wrote %v", files)
	}
}

func TestChatCompletionFails(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Use("", "terminate", map[string]any{"status": "failure"})))
	out := x.call("POST", "/v1/chat/completions", chat("write"), 500)
	if msg := out["error"].(map[string]any)["message"].(string); !strings.Contains(msg, "failed") {
		t.Errorf("got %v", out)
	}
}

// An answer in words that is to be JSON is asked for again, once.
func TestChatCompletionAsksAgainForJSON(t *testing.T) {
	for name, c := range map[string]struct {
		replies []string
		status  int
		want    string
	}{
		"words and then JSON":           {[]string{"It is 7.", `{"degrees":7}`}, 200, `{"degrees":7}`},
		"the wrong JSON, then a fence":  {[]string{`{"degrees":"warm"}`, "```json\n{\"degrees\":7}\n```"}, 200, `{"degrees":7}`},
		"JSON at once":                  {[]string{`{"degrees":7}`}, 200, `{"degrees":7}`},
		"words, and words once more":    {[]string{"It is 7.", "I said 7."}, 500, "it is not JSON"},
		"words, and then the wrong key": {[]string{"It is 7.", `{"x":7}`}, 500, "degrees"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			x := open(t, t.TempDir(), &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
				n++
				if said := strings.Contains(fmt.Sprint(req.Messages), "your last reply does not have it"); said != (n > 1) || n > len(c.replies) {
					t.Errorf("request %d: %v", n, req.Messages)
				}
				return llmtest.Say(c.replies[min(n, len(c.replies))-1])
			}})
			asks := chat("The weather?")
			asks["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "weather", "schema": map[string]any{
				"type": "object", "properties": map[string]any{"degrees": map[string]any{"type": "integer"}}, "required": []string{"degrees"}, "additionalProperties": false}}}
			out := fmt.Sprint(x.call("POST", "/v1/chat/completions", asks, c.status))
			if !strings.Contains(out, c.want) || n != len(c.replies) {
				t.Errorf("%d requests, %s", n, out)
			}
		})
	}
}

// A client keeps its own history and changes the model: the calls of another maker, with
// ids of any form, become a part of what the new session is told.
func TestChatCompletionGoesOnFromAnothersCalls(t *testing.T) {
	for _, id := range []string{"call_abc123", "call_00_AbC", "toolu_01A", "chatcmpl-tool-9", "f:0", "call_20261122-1314-ok2vzdul_c1"} {
		x := open(t, t.TempDir(), &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
			return llmtest.Say(fmt.Sprintf("It rains: %t.", strings.Contains(fmt.Sprint(req.Messages), "rain, 7 °C")))
		}})
		out := x.call("POST", "/v1/chat/completions", map[string]any{"model": "manus", "messages": []any{
			map[string]any{"role": "user", "content": "The weather?"},
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
				map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "weather", "arguments": `{"city":"Bonn"}`}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": "rain, 7 °C"},
		}}, 200)
		if got := out["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"]; got != "It rains: true." {
			t.Errorf("%s: got %v", id, out)
		}
	}
}
