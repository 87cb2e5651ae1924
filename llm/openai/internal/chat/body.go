// Package chat is the format of Chat Completions: requests to bytes, and bytes
// to replies and errors. It sends nothing.
package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm"
)

// Segments are the body of a request, one after the other. Their bytes never
// change, since a transport may read them after the request has ended.
type Segments [][]byte

// Size is how many bytes there are.
func (s Segments) Size() (n int64) {
	for _, b := range s {
		n += int64(len(b))
	}
	return n
}

// Open returns a reader of all bytes, as [http.Request].GetBody wants it.
func (s Segments) Open() (io.ReadCloser, error) {
	readers := make([]io.Reader, len(s))
	for i, b := range s {
		readers[i] = bytes.NewReader(b)
	}
	return io.NopCloser(io.MultiReader(readers...)), nil
}

// Bytes are all bytes in one piece.
func (s Segments) Bytes() []byte { return bytes.Join(s, nil) }

// An Encoder makes the bodies of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
type Encoder struct {
	Model    string
	Reasons  bool // takes max_completion_tokens, and no temperature
	ShortIDs bool // takes only ids of nine letters and digits
	PDF      bool // takes PDF files
	Thoughts bool // wants its reasoning_content back
	NoUsage  bool // refuses stream_options
}

// kept is what a [llm.Memo] holds of a conversation.
type kept struct {
	mu   sync.Mutex
	head []byte // up to and with the system message
	text []byte // the fixed messages, each with a comma before it; only ever appended to
	ends []int  // where each of them ends in text
}

// Encode returns the body for req: what stays the same first, then the
// messages, then what is constant, so that the prompt grows only at its end.
func (m *Encoder) Encode(req *llm.Request) (Segments, error) {
	k, _ := req.Memo.Load(m).(*kept)
	if k == nil {
		k = new(kept)
		req.Memo.Store(m, k)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.head == nil {
		head, err := m.head(req)
		if err != nil {
			return nil, err
		}
		k.head = head
	}
	fixed := min(max(req.Fixed, 0), len(req.Messages))
	if err := m.keep(k, req.Messages[:fixed]); err != nil {
		return nil, err
	}
	var old, fresh []byte
	if fixed > 0 {
		old = k.text[:k.ends[fixed-1]:k.ends[fixed-1]]
	}
	for i, msg := range req.Messages[fixed:] {
		b, err := m.message(msg)
		if err != nil {
			return nil, Wrongf("message %d: %w", fixed+i+1, err)
		}
		fresh = append(fresh, b...)
	}
	if req.System == "" { // the first message has no comma
		if len(old) > 0 {
			old = old[1:]
		} else if len(fresh) > 0 {
			fresh = fresh[1:]
		}
	}
	tail, err := m.tail(req)
	return Segments{k.head, old, fresh, tail}, err
}

// keep encodes those of the fixed messages that were not encoded before.
func (m *Encoder) keep(k *kept, fixed []llm.Message) error {
	for i := len(k.ends); i < len(fixed); i++ {
		b, err := m.message(fixed[i])
		if err != nil {
			return Wrongf("message %d: %w", i+1, err)
		}
		k.text = append(k.text, b...)
		k.ends = append(k.ends, len(k.text))
	}
	return nil
}

func (m *Encoder) head(req *llm.Request) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	head := append([]byte(`{"model":`), mustEncode(m.Model)...)
	var tools []tool
	for _, t := range req.Tools {
		schema := t.Input
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !json.Valid(schema) {
			return nil, Wrongf("the schema of the tool %s is not JSON", t.Name)
		}
		tools = append(tools, tool{"function", function{t.Name, t.Description, schema}})
	}
	if len(tools) > 0 {
		head = append(append(head, `,"tools":`...), mustEncode(tools)...)
	}
	head = append(head, `,"messages":[`...)
	if req.System != "" {
		head = append(head, mustEncode(wireMessage{Role: "system", Content: req.System})...)
	}
	return head, nil
}

// settings are the fields that follow the messages.
type settings struct {
	MaxTokens           int      `json:"max_tokens,omitempty"`
	MaxCompletionTokens int      `json:"max_completion_tokens,omitempty"`
	Temperature         *float64 `json:"temperature,omitempty"`
	Effort              string   `json:"reasoning_effort,omitempty"`
	ToolChoice          any      `json:"tool_choice,omitempty"`
	ResponseFormat      any      `json:"response_format,omitempty"`
	Stream              bool     `json:"stream"`
	StreamOptions       any      `json:"stream_options,omitempty"`
}

func (m *Encoder) tail(req *llm.Request) ([]byte, error) {
	s := settings{MaxTokens: req.Settings.MaxTokens, Temperature: req.Settings.Temperature,
		Effort: req.Settings.Effort, Stream: true}
	if m.Reasons { // which knows no temperature but its own
		s.MaxTokens, s.MaxCompletionTokens, s.Temperature = 0, s.MaxTokens, nil
	}
	var err error
	if s.ToolChoice, err = toolChoice(req); err != nil {
		return nil, err
	}
	if schema := req.Settings.Schema; len(schema) > 0 {
		if !json.Valid(schema) {
			return nil, Wrongf("the setting schema is not JSON")
		}
		s.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "reply", "schema": schema, "strict": strict(schema)}}
	}
	if !m.NoUsage {
		s.StreamOptions = map[string]bool{"include_usage": true}
	}
	b, err := encode(s)
	if err != nil { // a temperature that is no number
		return nil, Wrongf("settings: %w", err)
	}
	return append([]byte("],"), b[1:]...), nil
}

func toolChoice(req *llm.Request) (any, error) {
	choice := req.Settings.ToolChoice
	name, named := strings.CutPrefix(choice, "tool:")
	switch {
	case choice == "" || len(req.Tools) == 0 && (choice == "auto" || choice == "none"):
		return nil, nil
	case choice == "auto" || choice == "none":
		return choice, nil
	case choice == "required" && len(req.Tools) > 0:
		return choice, nil
	case choice == "required":
		return nil, Wrongf("the setting tool_choice is %q, and there are no tools", choice)
	case named && slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == name }):
		return map[string]any{"type": "function", "function": map[string]string{"name": name}}, nil
	case named:
		return nil, Wrongf("the setting tool_choice is %q, and there is no such tool", choice)
	}
	return nil, Wrongf("the setting tool_choice is %q: it is auto, none, required or tool:NAME", choice)
}

// strict reports whether schema is within what OpenAI enforces to the letter:
// each object names all its properties as required and allows no others.
func strict(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional any                        `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
		Type       any                        `json:"type"`
		Ref        string                     `json:"$ref"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type == nil && s.Ref == "" && s.AnyOf == nil {
		return false
	}
	if s.Type == "object" && (s.Additional != false || len(s.Required) != len(s.Properties)) {
		return false
	}
	inner := slices.Clone(s.AnyOf)
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
		inner = append(inner, p)
	}
	for _, d := range s.Defs {
		inner = append(inner, d)
	}
	if s.Items != nil {
		inner = append(inner, s.Items)
	}
	return !slices.ContainsFunc(inner, func(s json.RawMessage) bool { return !strict(s) })
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mustEncode is for what can always be encoded.
func mustEncode(v any) []byte {
	b, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("chat: encode %T: %v", v, err))
	}
	return b
}
