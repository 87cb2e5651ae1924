package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai"
)

var tools = []llm.ToolSpec{
	{Name: "bash", Description: "Runs a <command> & more.", Input: json.RawMessage(`{"type": "object",  "properties": {"command": {"type": "string"}}, "required": ["command"]}`)},
	{Name: "nothing"},
}

// picture is a PNG with so many pixels.
func picture(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// conversation is n turns of everything that a conversation can hold.
func conversation(n int) []llm.Message {
	var ms []llm.Message
	for i := range n {
		id := fmt.Sprintf("c%d-0", i)
		ms = append(ms,
			llm.Message{Role: llm.User, Parts: llm.Parts{
				llm.Text{Text: fmt.Sprintf("step %d: <b> & \u2028 é \xff", i)},
				llm.Blob{MIME: "image/png", Name: "a.png", Data: picture(i+1, 1)},
				llm.Blob{MIME: "text/x-go", Name: "a.go", Data: []byte("package a\n")}}},
			llm.Message{Role: llm.Assistant, Parts: llm.Parts{
				llm.Thinking{Text: "hm", By: "m"},
				llm.Call{ID: id, Name: "bash", Input: `{"command": "a && b > c`}}},
			llm.Message{Role: llm.Tool, Parts: llm.Parts{llm.Result{ID: id, IsError: i%2 == 0, Parts: llm.Parts{
				llm.Text{Text: "out"}, llm.Blob{MIME: "image/gif", Data: picture(1, i+1)}}}}},
			llm.Say(llm.Assistant, ""), // says nothing: not sent
			llm.Say(llm.Assistant, "done"),
		)
	}
	return ms
}

func body(t testing.TB, m *openai.Model, req *llm.Request) []byte {
	t.Helper()
	b, err := m.Body(req)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Fatalf("not JSON: %s", b)
	}
	return b
}

// A conversation that grows, with a trailing message of the moment in every
// request, and restarts on the way: the bytes are those of a request that is
// encoded anew, and each begins with all that was fixed in the one before.
func TestBodyIsTheSameWithAndWithoutMemo(t *testing.T) {
	for _, system := range []string{"You are <Manus>.", ""} {
		for _, options := range []openai.Options{{Model: "gpt-4o"}, {Model: "o3"}, {Model: "m", Thoughts: "reasoning_content"}, {Model: "mistral-large"}} {
			m := openai.New(options)
			all := conversation(10)
			memo := new(llm.Memo)
			var before []byte
			for n := range len(all) + 1 {
				nudge := llm.Say(llm.User, fmt.Sprintf("%d steps are left", n))
				req := llm.Request{System: system, Tools: tools, Messages: append(all[:n:n], nudge), Fixed: n, Memo: memo}
				got := body(t, m, &req)
				if n%7 == 6 { // a restart
					memo = new(llm.Memo)
				}
				req.Memo = nil
				if fresh := body(t, m, &req); !bytes.Equal(got, fresh) {
					t.Fatalf("%s, %d messages: with memo\n%s\nwithout\n%s", options.Model, n, got, fresh)
				}
				if n > 0 && !bytes.Contains(got, []byte("<b> & \\u2028 é")) {
					t.Fatalf("letters were escaped that need not be: %s", got)
				}
				if !bytes.HasPrefix(got, before) {
					t.Fatalf("%s, %d messages: the prefix changed:\n%s\nbefore:\n%s", options.Model, n, got, before)
				}
				before = nil
				for _, begin := range []string{`{"role":"user","content":"`, `\n\n`, `{"type":"text","text":"`} { // after a user's message it is joined to that
					if i := bytes.LastIndex(got, []byte(begin+fmt.Sprint(n)+` steps`)); i >= 0 {
						before = bytes.TrimSuffix(got[:i], []byte(","))
						before = bytes.TrimSuffix(before, []byte(`,{"role":"assistant","content":"I have the results."}`)) // Mistral's
					}
				}
				if before == nil {
					t.Fatalf("%s, %d messages: where is the nudge? %s", options.Model, n, got)
				}
			}
		}
	}
}

// A message that is fixed in one request and of the moment in the next is
// that of the next.
func TestBodyWhenLessIsFixed(t *testing.T) {
	m := openai.New(openai.Options{Model: "m"})
	memo := new(llm.Memo)
	all := conversation(2)
	body(t, m, &llm.Request{Messages: all, Fixed: len(all), Memo: memo})
	req := &llm.Request{Messages: append(all[:3:3], llm.Say(llm.User, "else")), Fixed: 3, Memo: memo}
	got := body(t, m, req)
	req.Memo = nil
	if want := body(t, m, req); !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The request on the wire has the bytes that Body returns, and their length.
func TestBodyIsWhatIsSent(t *testing.T) {
	p := &llmtest.Peer{Answers: []string{hello}}
	defer p.Wait()
	client := p.Client()
	defer client.CloseIdleConnections()
	m := open(client).(*openai.Model)
	req := &llm.Request{System: "s", Tools: tools, Messages: conversation(3), Fixed: 4, Memo: new(llm.Memo)}
	for range 2 {
		if _, err := llm.Generate(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	want := body(t, m, req)
	for _, s := range p.Seen() {
		if !bytes.Equal(s.Body, want) {
			t.Errorf("sent:\n%s\nBody:\n%s", s.Body, want)
		}
		if s.Header.Get("Content-Length") != fmt.Sprint(len(want)) || s.Header.Get("Content-Type") != "application/json" {
			t.Errorf("header %v, want a length of %d", s.Header, len(want))
		}
		if s.Path != "/v1/chat/completions" || s.Header.Get("Authorization") != "Bearer sk-test-0123456789" {
			t.Errorf("path %s, header %v", s.Path, s.Header)
		}
	}
}

// A step of a long conversation costs what is new in it: what was kept is
// neither encoded nor copied again.
func TestStepsOfALongConversationStayCheap(t *testing.T) {
	m := openai.New(openai.Options{Model: "m"})
	memo := new(llm.Memo)
	var all []llm.Message
	for i := range 1300 {
		all = append(all, llm.Say([]llm.Role{llm.User, llm.Assistant}[i%2], strings.Repeat("x", 1000)))
	}
	body(t, m, &llm.Request{Messages: all, Fixed: len(all), Memo: memo})
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n != r.ContentLength || n < 1_300_000 {
			t.Errorf("sent %d bytes, said %d", n, r.ContentLength)
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(hello[strings.Index(hello, "\n\n"):]))}, nil
	})
	m = openai.New(openai.Options{Model: "m", BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: transport}})
	step := func() {
		if _, err := llm.Generate(t.Context(), m, &llm.Request{Messages: all, Fixed: len(all), Memo: memo}); err != nil {
			t.Fatal(err)
		}
	}
	step()
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			step()
		}
	})
	if n := r.AllocedBytesPerOp(); n > 200_000 {
		t.Errorf("a step allocates %d bytes, of a conversation of 1.3 MB", n)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const hello = `HTTP/1.1 200 OK
Content-Type: text/event-stream

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]
`

// The types of the official SDK read what we write, and write the same.
func TestBodyIsWhatTheSDKWouldSend(t *testing.T) {
	half := 0.5
	for name, s := range map[string]llm.Settings{
		"plain":    {},
		"settings": {MaxTokens: 9, Temperature: &half, Effort: "low", ToolChoice: "auto"},
		"schema":   {ToolChoice: "required", Schema: json.RawMessage(`{"type":"object"}`)},
	} {
		m := openai.New(openai.Options{Model: "gpt-4o"})
		b := body(t, m, &llm.Request{System: "s", Tools: tools, Messages: conversation(2), Settings: s})
		var params sdk.ChatCompletionNewParams
		if err := json.Unmarshal(b, &params); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		theirs, err := json.Marshal(params)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var ours, same map[string]any
		json.Unmarshal(b, &ours)
		json.Unmarshal(theirs, &same)
		delete(ours, "stream") // is no parameter of the SDK's: its method sets it
		for _, msg := range ours["messages"].([]any) {
			if msg := msg.(map[string]any); msg["content"] == nil {
				delete(msg, "content") // the SDK leaves it out
			}
		}
		if !reflect.DeepEqual(ours, same) {
			t.Errorf("%s: ours\n%s\ntheirs\n%s", name, b, theirs)
		}
	}
}

// Case 19 of the catalogue, and what else depends on a model's name.
func TestSettings(t *testing.T) {
	half, yes, no := 0.5, true, false
	settings := llm.Settings{MaxTokens: 100, Temperature: &half, Effort: "high"}
	plain := `{"max_tokens": 100, "max_completion_tokens": "<absent>", "temperature": 0.5, "reasoning_effort": "high"}`
	reasons := `{"max_tokens": "<absent>", "max_completion_tokens": 100, "temperature": "<absent>", "reasoning_effort": "high"}`
	for name, want := range map[string]string{
		"gpt-4o": plain, "gpt-4.1-mini": plain, "gpt-3.5-turbo": plain, "gpt-oss-120b": plain, "deepseek-reasoner": plain,
		"ollama/qwen3": plain, "olmo-3": plain, "gpt-": plain, "o": plain, "": "",
		"o1": reasons, "o1-mini": reasons, "o3": reasons, "o3-mini": reasons, "o4-mini-high": reasons,
		"gpt-5": reasons, "gpt-5-mini": reasons, "gpt-5.1": reasons, "gpt-10": reasons, "openai/o3": reasons, "openrouter/openai/gpt-5": reasons,
	} {
		m := openai.New(openai.Options{Model: name})
		b, err := m.Body(&llm.Request{Settings: settings})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "no model is named") {
				t.Errorf("no model: error %v", err)
			}
			continue
		}
		if diff := llmtest.Missing(want, string(b)); err != nil || diff != "" {
			t.Errorf("%s: %s, error %v", name, diff, err)
		}
	}
	for _, c := range []struct {
		opts openai.Options
		want string
	}{
		{openai.Options{Model: "my-deployment", Reasoning: &yes}, reasons},
		{openai.Options{Model: "o3", Reasoning: &no}, plain},
		{openai.Options{Model: "m", NoUsage: true}, `{"stream": true, "stream_options": "<absent>"}`},
	} {
		b := body(t, openai.New(c.opts), &llm.Request{Settings: settings})
		if diff := llmtest.Missing(c.want, string(b)); diff != "" {
			t.Errorf("%+v: %s", c.opts, diff)
		}
	}
}

// OpenAI takes "strict" only for schemas that leave nothing open.
func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                    true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                 false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`:                                     false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`:                                    false,
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`:                                                   false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:           false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],"additionalProperties":false,"$defs":{"x":{"type":"object"}}}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],"additionalProperties":false,"$defs":{"x":{"type":"null"}}}`:   true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"object"}]}},"required":["a"],"additionalProperties":false}`:        false,
		`true`: false,
	} {
		b := body(t, openai.New(openai.Options{Model: "m"}), &llm.Request{Settings: llm.Settings{Schema: json.RawMessage(schema)}})
		if diff := llmtest.Missing(fmt.Sprintf(`{"response_format":{"json_schema":{"strict":%v}}}`, want), string(b)); diff != "" {
			t.Errorf("%s: %s", schema, diff)
		}
	}
}

// A setting that cannot be honoured is an error that names it, and that is
// not tried again.
func TestSettingsThatCannotBe(t *testing.T) {
	nan := 0.0
	nan /= nan
	for want, req := range map[string]*llm.Request{
		`tool_choice is "required", and there are no tools`:   {Settings: llm.Settings{ToolChoice: "required"}},
		`tool_choice is "tool:x", and there is no such tool`:  {Tools: tools, Settings: llm.Settings{ToolChoice: "tool:x"}},
		`tool_choice is "maybe": it is auto, none, required`:  {Tools: tools, Settings: llm.Settings{ToolChoice: "maybe"}},
		"the setting schema is not JSON":                      {Settings: llm.Settings{Schema: json.RawMessage("{")}},
		"settings: json: unsupported value: NaN":              {Settings: llm.Settings{Temperature: &nan}},
		"the schema of the tool t is not JSON":                {Tools: []llm.ToolSpec{{Name: "t", Input: json.RawMessage("x")}}},
		`message 1: the file "a.zip" (application/zip, 4 B)`:  {Messages: []llm.Message{{Role: llm.User, Parts: llm.Parts{llm.Blob{Name: "a.zip", Data: []byte("PK\x03\x04")}}}}},
		`message 2: there is no role "system"`:                {Messages: []llm.Message{llm.Say(llm.User, ""), llm.Say("system", "x")}, Fixed: 2},
		"a message of the user's cannot hold a llm.Call":      {Messages: []llm.Message{{Role: llm.User, Parts: llm.Parts{llm.Call{}}}}},
		"a message of the assistant's cannot hold a llm.Blob": {Messages: []llm.Message{{Role: llm.Assistant, Parts: llm.Parts{llm.Blob{}}}}},
		"a message of tools cannot hold a llm.Text":           {Messages: []llm.Message{{Role: llm.Tool, Parts: llm.Parts{llm.Text{}}}}},
	} {
		req.Memo = new(llm.Memo)
		for range 2 { // the memo must not remember half of it
			_, err := llm.Generate(t.Context(), openai.New(openai.Options{Model: "m"}), req)
			var e *llm.Error
			if llm.KindOf(err) != llm.Protocol || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			} else if asError(err, &e); e.Temporary() {
				t.Errorf("%v would be tried again", err)
			}
		}
	}
	// auto and none without tools mean nothing, and are left out
	for _, choice := range []string{"auto", "none", ""} {
		b := body(t, openai.New(openai.Options{Model: "m"}), &llm.Request{Settings: llm.Settings{ToolChoice: choice}})
		if diff := llmtest.Missing(`{"tool_choice": "<absent>", "messages": []}`, string(b)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMessages(t *testing.T) {
	parts := func(ps ...llm.Part) llm.Parts { return ps }
	for _, c := range []struct {
		name string
		opts openai.Options
		msg  llm.Message
		want string
	}{
		{"texts are one string", openai.Options{}, llm.Message{Role: llm.User, Parts: parts(llm.Text{Text: "a"}, llm.Text{}, llm.Text{Text: "b"})},
			`[{"role": "user", "content": "a\n\nb"}]`},
		{"nothing is left out", openai.Options{}, llm.Say(llm.User, ""), `[]`},
		{"unknown parts are left out", openai.Options{}, llm.Message{Role: llm.Tool, Parts: parts(llm.Unknown{})}, `[]`},
		{"no arguments are an empty object", openai.Options{}, llm.Message{Role: llm.Assistant, Parts: parts(llm.Call{ID: "a", Name: "f", Input: " "})},
			`[{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]`},
		{"a call without thoughts has the field", openai.Options{Thoughts: "reasoning_content"}, llm.Message{Role: llm.Assistant, Parts: parts(llm.Call{ID: "a", Name: "f"})},
			`[{"role": "assistant", "reasoning_content": " ", "tool_calls": [{"id": "a"}]}]`},
		{"thoughts of which nobody said how they came", openai.Options{}, llm.Message{Role: llm.Assistant, Parts: parts(llm.Thinking{Text: "a", By: "m"}, llm.Text{Text: "c"})},
			`[{"role": "assistant", "content": "c", "reasoning_content": "<absent>"}]`},
		{"a picture that is damaged", openai.Options{}, llm.Message{Role: llm.User, Parts: parts(llm.Blob{MIME: "image/png", Name: "a.png", Data: picture(9, 9)[:40]})},
			`[{"content": "[the image \"a.png\" (image/png, 40 B) cannot be shown to you: it is damaged: unexpected EOF]"}]`},
		{"thoughts go back to whom they came from", openai.Options{Thoughts: "reasoning_content"},
			llm.Message{Role: llm.Assistant, Parts: parts(llm.Thinking{Text: "a", By: "m"}, llm.Thinking{Text: "b", By: "other"}, llm.Text{Text: "c"})},
			`[{"role": "assistant", "content": "c", "reasoning_content": "a"}]`},
		{"no output", openai.Options{}, llm.Message{Role: llm.Tool, Parts: parts(llm.Result{ID: "a"}, llm.Result{ID: "b", IsError: true})},
			`[{"role": "tool", "tool_call_id": "a", "content": "(no output)"}, {"role": "tool", "tool_call_id": "b", "content": "Error: (no output)"}]`},
		{"an error that says so already", openai.Options{}, llm.Message{Role: llm.Tool, Parts: parts(llm.Result{ID: "a", IsError: true, Parts: parts(llm.Text{Text: "Error: x"})})},
			`[{"content": "Error: x"}]`},
		{"a file that a tool gave", openai.Options{}, llm.Message{Role: llm.Tool, Parts: parts(llm.Result{ID: "a", Parts: parts(llm.Blob{MIME: "audio/wav", Name: "a.wav", Data: []byte("RIFF")})})},
			`[{"content": "[the file \"a.wav\" (audio/wav, 4 B) cannot be shown to you]"}]`},
		{"JSON is text", openai.Options{}, llm.Message{Role: llm.User, Parts: parts(llm.Blob{MIME: "application/json; charset=utf-8", Name: "a.json", Data: []byte("{}")})},
			`[{"content": "<file name=\"a.json\">\n{}\n</file>"}]`},
		{"SVG is text", openai.Options{}, llm.Message{Role: llm.User, Parts: parts(llm.Blob{MIME: "image/svg+xml", Name: "a.svg", Data: []byte("<svg/>")})},
			`[{"content": "<file name=\"a.svg\">\n<svg/>\n</file>"}]`},
		{"text of no type", openai.Options{}, llm.Message{Role: llm.User, Parts: parts(llm.Blob{Name: "README", Data: []byte("hi")})},
			`[{"content": "<file name=\"README\">\nhi\n</file>"}]`},
		{"PDF at OpenAI", openai.Options{}, llm.Message{Role: llm.User, Parts: parts(llm.Blob{MIME: "application/pdf", Name: "a.pdf", Data: []byte("%PDF-1")})},
			`[{"content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0x"}}]}]`},
		{"PDF where it is said to work", openai.Options{BaseURL: "http://localhost", PDF: true}, llm.Message{Role: llm.User, Parts: parts(llm.Blob{MIME: "application/pdf", Data: []byte("%PDF-1")})},
			`[{"content": [{"type": "file", "file": {"filename": "file.pdf"}}]}]`},
		{"Mistral's ids", openai.Options{Model: "Devstral-small"}, llm.Message{Role: llm.Tool, Parts: parts(llm.Result{ID: "c12-0"})},
			`[{"tool_call_id": "FVE81UUH8"}]`},
	} {
		if c.opts.Model == "" {
			c.opts.Model = "m"
		}
		b := body(t, openai.New(c.opts), &llm.Request{Messages: []llm.Message{c.msg}})
		if diff := llmtest.Missing(`{"messages": `+c.want+`}`, string(b)); diff != "" {
			t.Errorf("%s: %s\n%s", c.name, diff, b)
		}
	}
}
