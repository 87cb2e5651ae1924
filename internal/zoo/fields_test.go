package zoo_test

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/llm"
)

// A server that refuses a setting, or tools, is asked once more without it, and never with
// it again; people read its words. Tools are then words, and calls come back all the same.
func TestARefusedFieldIsLeftOut(t *testing.T) {
	warm := 0.2
	for _, c := range []struct {
		server, says, sign string // it refuses what has the sign
		status             int
		keeps              string // of the request that it takes
	}{
		{"OpenAI Chat Completions", "Unrecognized request argument supplied: stream_options", `"stream_options"`, 400, `"temperature"`},
		{"OpenAI Chat Completions", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.", `"temperature"`, 400, `"stream_options"`},
		{"OpenAI Chat Completions", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", `"max_tokens"`, 400, `"max_completion_tokens":9000`},
		{"OpenAI Chat Completions", "Unsupported value: 'reasoning_effort' does not support 'low' with this model.", `"reasoning_effort"`, 400, `"temperature"`},
		{"OpenAI Chat Completions", "max_tokens is too large: 9000. This model supports at most 512 completion tokens.", `"max_`, 400, `"temperature"`},
		{"OpenAI Responses", "Unsupported parameter: 'reasoning.effort' is not supported with this model.", `"effort"`, 400, `"max_output_tokens"`},
		{"Mistral", "Extra inputs are not permitted: body, stream_options", `"stream_options"`, 422, `"temperature"`},
		{"xAI", "Model grok-4 does not support parameter reasoningEffort.", `"reasoning_effort"`, 400, `"temperature"`},
		{"DeepSeek", "This response_format type is unavailable now", `"response_format"`, 400, `"temperature"`},
		{"Anthropic", "`temperature` is deprecated for this model.", `"temperature"`, 400, `"max_tokens"`},
		{"Anthropic", "adaptive thinking is not supported on this model", `"thinking"`, 400, `"max_tokens"`},
		{"Gemini", "Thinking level is not supported for this model.", `"thinkingConfig"`, 400, `"maxOutputTokens"`},
		{"Ollama", `"qwen3" does not support thinking`, `"think"`, 400, `"num_predict"`},
		{"Ollama", "registry.ollama.ai/library/gemma3:latest does not support tools", `"tools"`, 400, `"think"`},
		{"vLLM", `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, `"tools"`, 400, `"temperature"`},
		{"llama.cpp", "tools param requires --jinja flag", `"tools"`, 500, `"temperature"`},
		{"OpenRouter", "No endpoints found that support tool use. Try disabling \"look\".", `"tools"`, 404, `"temperature"`},
		{"Groq", "`tool calling` is not supported with this model", `"tools"`, 400, `"temperature"`},
		{"Gemini", "Function calling is not enabled for models/gemma-3-27b-it", `"tools"`, 400, `"maxOutputTokens"`},
	} {
		t.Run(c.server+": "+c.says, func(t *testing.T) {
			o := named(t, c.server).Open(t.Cleanup, func(int, string) zoo.Turn {
				if c.sign == `"tools"` {
					return zoo.Turn{Text: "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"a\": 1}}\n</tool_call>"}
				}
				return zoo.Turn{Text: "Seen."}
			})
			o.Status, o.Refuse = c.status, func(body string) string {
				if strings.Contains(body, c.sign) && strings.Contains(body, `"max_completion_tokens"`) {
					return strings.Replace(c.says, "max_tokens", "max_completion_tokens", 1)
				}
				if strings.Contains(body, c.sign) {
					return c.says
				}
				return ""
			}
			var told []string
			found := map[string]string{}
			refused := &llm.Refusals{OnFound: func(field string, err error) { found[field] = err.Error() }}
			m := llm.SpareFields(plain(t, o), refused, func(err error) { told = append(told, err.Error()) })
			req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}, Fixed: 1, Memo: new(llm.Memo),
				Tools:    []llm.ToolSpec{{Name: "look", Description: "It looks."}},
				Settings: llm.Settings{MaxTokens: 9000, Temperature: &warm}}
			switch {
			case c.server == "Anthropic" && c.sign == `"temperature"`:
			case c.sign == `"response_format"`:
				req.Settings.Schema = []byte(`{"type":"object"}`)
			default:
				req.Settings.Effort = "low"
			}
			for n := range 3 {
				reply, err := llm.Generate(t.Context(), m, req)
				if err != nil {
					t.Fatal(err)
				}
				if calls := reply.Message.Calls(); c.sign == `"tools"` && (len(calls) != 1 || calls[0].Name != "look" || calls[0].Input != `{"a": 1}`) {
					t.Errorf("reply %d has the calls %+v", n, calls)
				}
			}
			for _, body := range o.Bodies() {
				if !strings.Contains(body, c.keeps) {
					t.Errorf("%s is gone, too: %s", c.keeps, body)
				}
			}
			most := 1
			if c.sign == `"max_` { // under either name
				most = 2
			}
			if len(o.Refusals()) != most || len(told) != most || len(found) != most || !strings.Contains(told[0], c.says) || !strings.Contains(told[0], "it is asked again with") {
				t.Errorf("%d refusals, told %q, found %v", len(o.Refusals()), told, found)
			}
		})
	}
}

// A refusal that is about the conversation, or names nothing that was sent, takes nothing away.
func TestOtherRefusalsLeaveFieldsAlone(t *testing.T) {
	for _, says := range []string{
		"messages.1.content.0: Invalid `signature` in `thinking` block", "Invalid 'messages[1].tool_calls[0].function.name': unsupported temperature",
		"the word so is not allowed", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
	} {
		o := named(t, "OpenAI Chat Completions").Open(t.Cleanup, func(int, string) zoo.Turn { return zoo.Turn{Text: "Seen."} })
		o.Refuse = func(string) string { return says }
		refused := new(llm.Refusals)
		_, err := llm.Generate(t.Context(), llm.SpareFields(plain(t, o), refused, nil), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}})
		if err == nil || !strings.Contains(err.Error(), says) || len(o.Refusals()) != 1 || len(refused.Fields()) != 0 {
			t.Errorf("%q: %d refusals, %v, %v", says, len(o.Refusals()), refused.Fields(), err)
		}
	}
}

// named returns the server with a name.
func named(t *testing.T, name string) zoo.Server {
	for _, s := range zoo.Servers() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no %s", name)
	return zoo.Server{}
}
