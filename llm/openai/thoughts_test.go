package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
)

// answer is a transport that answers every request with the same body.
type answer string

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// told has a model reply with a body, and returns its reply after a journal has kept it.
func told(t *testing.T, opts openai.Options, body string) llm.Message {
	t.Helper()
	opts.HTTPClient = &http.Client{Transport: answer(body)}
	r, err := llm.Generate(t.Context(), openai.New(opts), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	kept, err := json.Marshal(r.Message)
	var again llm.Message
	if err != nil || json.Unmarshal(kept, &again) != nil {
		t.Fatalf("%v: %s", err, kept)
	}
	return again
}

// turnOf returns the assistant's message of the next request.
func turnOf(t *testing.T, opts openai.Options, said llm.Message) map[string]any {
	t.Helper()
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go"), said}}
	var sent struct{ Messages []map[string]any }
	if err := json.Unmarshal(body(t, openai.New(opts), req), &sent); err != nil || len(sent.Messages) != 2 {
		t.Fatalf("%v, %d messages", err, len(sent.Messages))
	}
	return sent.Messages[1]
}

const aCall = `{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`

// The fields that a server gives with a turn go back with it, under the names under which
// they came: from a stream and whole, and to the same model only.
func TestWhatAServerGaveGoesBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		deltas []string // of the stream
		back   string   // the fields of the message, and of the message that is not streamed
		shown  string   // the reasoning that people see
	}{
		{"DeepSeek", []string{`{"content":null,"reasoning_content":"I "}`, `{"reasoning_content":"see."}`, `{"reasoning_content":null,"tool_calls":[` + aCall + `]}`},
			`{"reasoning_content":"I see."}`, "I see."},
		{"vLLM", []string{`{"reasoning":"I "}`, `{"reasoning":"see."}`, `{"tool_calls":[` + aCall + `]}`}, `{"reasoning":"I see."}`, "I see."},
		{"two names", []string{`{"reasoning":"I ","reasoning_content":"I "}`, `{"reasoning":"see.","reasoning_content":"see.","tool_calls":[` + aCall + `]}`},
			`{"reasoning":"I see.","reasoning_content":"I see."}`, "I see."},
		{"an empty field", []string{`{"reasoning_content":""}`, `{"tool_calls":[` + aCall + `]}`}, `{"reasoning_content":""}`, ""},
		{"OpenRouter", []string{
			`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","index":0,"format":"anthropic-claude-v1"}]}`,
			`{"reasoning":"see.","reasoning_details":[{"type":"reasoning.text","text":"see.","index":0,"format":"anthropic-claude-v1"}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0,"format":"anthropic-claude-v1"}]}`,
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"eA==","id":"t1","index":1},{"type":"reasoning.encrypted","data":"eQ==","id":"t2","index":1}]}`,
			`{"tool_calls":[` + aCall + `]}`},
			`{"reasoning":"I see.","reasoning_details":[{"type":"reasoning.text","text":"I see.","signature":"c2ln","index":0,"format":"anthropic-claude-v1"},
			{"type":"reasoning.encrypted","data":"eA==","id":"t1","index":1},{"type":"reasoning.encrypted","data":"eQ==","id":"t2","index":1}]}`, "I see."},
		{"MiniMax", []string{`{"reasoning_details":[{"type":"reasoning.text","text":"I "}]}`, `{"reasoning_details":[{"type":"reasoning.text","text":"see."}]}`, `{"tool_calls":[` + aCall + `]}`},
			`{"reasoning_details":[{"type":"reasoning.text","text":"I see."}]}`, "I see."},
		{"GitHub", []string{`{"reasoning_text":"I see.","reasoning_opaque":"b3BhcXVl"}`, `{"tool_calls":[` + aCall + `]}`}, `{"reasoning_text":"I see.","reasoning_opaque":"b3BhcXVl"}`, "I see."},
		{"LiteLLM", []string{
			`{"reasoning_content":"I ","thinking_blocks":[{"type":"thinking","thinking":"I "}]}`,
			`{"reasoning_content":"see.","thinking_blocks":[{"type":"thinking","thinking":"see.","signature":"c2ln"}]}`, `{"tool_calls":[` + aCall + `]}`},
			`{"reasoning_content":"I see.","thinking_blocks":[{"type":"thinking","thinking":"I see.","signature":"c2ln"}]}`, "I see."},
		{"Gemini's signature of a call", []string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`},
			`{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`, ""},
		{"a signature of the function", []string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}","thought_signature":"c2ln"}}]}`},
			`{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}","thought_signature":"c2ln"}}]}`, ""},
		{"Gemini's signature of a text", []string{`{"content":"Hello."}`, `{"extra_content":{"google":{"thought_signature":"c2ln"}}}`},
			`{"content":"Hello.","extra_content":{"google":{"thought_signature":"c2ln"}}}`, ""},
		{"tags in the text", []string{`{"content":"<think>\nI see."}`, `{"content":"</think>\n\nHello."}`}, `{"content":"<think>\nI see.</think>\n\nHello."}`, "I see."},
		{"nothing", []string{`{"content":"Hello.","refusal":null,"reasoning_content":null,"annotations":[]}`}, `{"content":"Hello."}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var back map[string]any
			if err := json.Unmarshal([]byte(c.back), &back); err != nil {
				t.Fatal(err)
			}
			var streamed bytes.Buffer
			for _, d := range c.deltas {
				fmt.Fprintf(&streamed, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
			}
			streamed.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			message := map[string]any{"role": "assistant", "content": nil}
			if strings.Contains(streamed.String(), `"tool_calls"`) {
				message["tool_calls"] = json.RawMessage("[" + aCall + "]")
			}
			for name, value := range back {
				message[name] = value
			}
			whole, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}}})
			for how, response := range map[string]string{"streamed": streamed.String(), "whole": string(whole)} {
				said := told(t, openai.Options{Model: "m"}, response)
				var thought string
				for _, p := range said.Parts {
					if p, ok := p.(llm.Thinking); ok {
						thought += p.Text
					}
				}
				if thought != c.shown {
					t.Errorf("%s: people see %q", how, thought)
				}
				turn := turnOf(t, openai.Options{Model: "m"}, said)
				for name, want := range back {
					if !reflect.DeepEqual(turn[name], want) {
						t.Errorf("%s: %s goes back as %v, want %v", how, name, turn[name], want)
					}
				}
				for name := range turn {
					if _, ours := message[name]; !ours {
						t.Errorf("%s: %s goes along, which never came", how, name)
					}
				}
				for name := range turnOf(t, openai.Options{Model: "other"}, said) {
					if name != "role" && name != "content" && name != "tool_calls" {
						t.Errorf("%s: another model gets %s", how, name)
					}
				}
				if text, _ := json.Marshal(turnOf(t, openai.Options{Model: "other"}, said)); bytes.Contains(text, []byte("c2ln")) || bytes.Contains(text, []byte("I see")) {
					t.Errorf("%s: another model gets %s", how, text)
				}
				if turn := turnOf(t, openai.Options{Model: "m", Thoughts: "none"}, said); turn["reasoning_content"] != nil || turn["reasoning"] != nil || turn["reasoning_details"] != nil {
					t.Errorf("%s: with none it gets %v", how, turn)
				}
				if turn := turnOf(t, openai.Options{Model: "m", Thoughts: "musings"}, said); c.shown != "" && turn["musings"] != c.shown || turn["reasoning"] != nil {
					t.Errorf("%s: in a field of its own it gets %v", how, turn)
				}
			}
		})
	}
}

// A name in a journal from elsewhere takes no field of the message itself.
func TestNoFieldOfTheMessageIsOverwritten(t *testing.T) {
	said := llm.Message{Role: llm.Assistant, Parts: llm.Parts{
		llm.Thinking{Text: "x", By: "m", Opaque: json.RawMessage(`{"text":["role"],"fields":{"tool_call_id":"y","content":"z"}}`)}, llm.Text{Text: "Hello."}}}
	if turn := turnOf(t, openai.Options{Model: "m"}, said); turn["role"] != "assistant" || turn["content"] != "Hello." || len(turn) != 2 {
		t.Errorf("%v", turn)
	}
}
