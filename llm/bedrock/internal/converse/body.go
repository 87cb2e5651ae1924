// Package converse is the format of Amazon Bedrock's Converse: requests to
// bytes, and bytes to replies. It sends nothing.
//
// See https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
package converse

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An Encoder is the [wire.Format] of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
//
// Roles must alternate. So each message leaves its list of blocks open: what
// the same side says next goes into it, and the other side closes it.
type Encoder struct {
	Model  string
	Caches bool // takes marks for the cache
	Thinks bool // takes a budget for thinking, as Claude does
}

// point marks the end of the prefix that Bedrock caches.
const point = `{"cachePoint":{"type":"default"}}`

// Join implements [wire.Joiner]: with a mark for the cache at the end of what
// stays, and where that ended in the request before this one.
func (m *Encoder) Join(req *llm.Request, b wire.Body) (wire.Segments, error) {
	if len(b.Fixed)+len(b.Fresh) == 0 {
		return nil, wire.Wrongf("there is nothing in the conversation that could be sent")
	}
	if !m.Caches {
		return wire.Segments{b.Head, b.Fixed, b.Fresh, b.Tail}, nil
	}
	return b.Marked(req.Messages, 0, 0, []byte(","+point)), nil
}

// Sees implements [wire.Seer].
func (m *Encoder) Sees() wire.Sees { return wire.Claude }

// Head implements [wire.Format].
func (m *Encoder) Head(req *llm.Request) ([]byte, error) {
	head := []byte{'{'}
	if tools, err := m.tools(req); err != nil {
		return nil, err
	} else if tools != nil {
		head = append(append(append(head, `"toolConfig":`...), tools...), ',')
	}
	system := req.System
	schema, err := wire.Schema(req)
	if err != nil {
		return nil, err
	}
	if schema != nil {
		system = strings.TrimSpace(system + "\n\nReply with nothing but JSON that fits this schema:\n" + string(schema))
	}
	if system != "" {
		head = append(append(head, `"system":[`...), wire.MustJSON(block{Text: &system})...)
		if m.Caches {
			head = append(head, ","+point...)
		}
		head = append(head, "],"...)
	}
	return append(head, `"messages":[`...), nil
}

// tools returns the tools and the tool choice. Converse has no choice of none: no
// tools are sent then.
func (m *Encoder) tools(req *llm.Request) ([]byte, error) {
	type spec struct {
		Name        string                     `json:"name"`
		Description string                     `json:"description,omitempty"`
		Schema      map[string]json.RawMessage `json:"inputSchema"`
	}
	mode, name, err := wire.ToolChoice(req)
	if err != nil || mode == "none" || len(req.Tools) == 0 {
		return nil, err
	}
	specs, err := wire.Tools(wire.Anthropic, req.Tools, func(t llm.ToolSpec, schema json.RawMessage) map[string]spec {
		return map[string]spec{"toolSpec": {t.Name, t.Description, map[string]json.RawMessage{"json": schema}}}
	})
	if err != nil {
		return nil, err
	}
	config := map[string]any{"tools": specs}
	switch mode {
	case "auto":
		config["toolChoice"] = map[string]any{"auto": struct{}{}}
	case "required":
		config["toolChoice"] = map[string]any{"any": struct{}{}}
	case "tool":
		config["toolChoice"] = map[string]any{"tool": map[string]string{"name": name}}
	}
	return wire.MustJSON(config), nil
}

// settings are the fields that follow the messages.
type settings struct {
	Inference  inference      `json:"inferenceConfig,omitzero"`
	Additional map[string]any `json:"additionalModelRequestFields,omitempty"`
}

// inference is inferenceConfig.
type inference struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// Tail implements [wire.Format].
func (m *Encoder) Tail(req *llm.Request) ([]byte, error) {
	set := req.Settings
	s := settings{Inference: inference{set.MaxTokens, set.Temperature}}
	if set.Effort != "" {
		if !m.Thinks {
			return nil, wire.Wrongf("the setting effort is %q, and %s takes none here: leave it out", set.Effort, m.Model)
		}
		budget, err := wire.Budget(set.Effort, 2048)
		if err != nil {
			return nil, err
		}
		if set.MaxTokens == 0 {
			s.Inference.MaxTokens = budget + 8192 // which has to be more
		}
		if budget = min(budget, s.Inference.MaxTokens-1024); budget >= 1024 && set.ToolChoice != "required" && !strings.HasPrefix(set.ToolChoice, "tool:") {
			s.Additional = map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": budget}}
			s.Inference.Temperature = nil
		}
	}
	return wire.Tail("]}]", s)
}

// A block is a piece of a message.
type block struct {
	Text      *string    `json:"text,omitempty"`
	Image     *file      `json:"image,omitempty"`
	Document  *file      `json:"document,omitempty"`
	ToolUse   *toolUse   `json:"toolUse,omitempty"`
	Result    *result    `json:"toolResult,omitempty"`
	Reasoning *reasoning `json:"reasoningContent,omitempty"`
}

// A file is an image or a document. A document needs a name, which must not be the
// user's: Bedrock warns of instructions in names.
type file struct {
	Format string            `json:"format"`
	Name   string            `json:"name,omitempty"`
	Source map[string]string `json:"source"`
}

// A toolUse is a call.
type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// A result is a toolResult.
type result struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitempty"`
}

// reasoning is thinking: text with a signature, or redacted.
type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted string         `json:"redactedContent,omitempty"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

// Message implements [wire.Format].
func (m *Encoder) Message(messages []llm.Message, i int) ([]byte, error) {
	blocks, err := m.blocks(messages[i])
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	list := wire.MustJSON(blocks)
	list = list[1 : len(list)-1]
	role, before := side(messages[i]), m.before(messages[:i])
	switch {
	case before == role:
		return append([]byte{','}, list...), nil
	case before != "":
		return append([]byte(`]},{"role":"`+role+`","content":[`), list...), nil
	}
	return append([]byte(`{"role":"`+role+`","content":[`), list...), nil
}

// side returns the role of msg in Converse, which has only two: results are the
// user's.
func side(msg llm.Message) string {
	if msg.Role == llm.Assistant {
		return "assistant"
	}
	return "user"
}

// before returns the side whose list of blocks is open; "" at the beginning.
func (m *Encoder) before(messages []llm.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if blocks, _ := m.blocks(messages[i]); len(blocks) > 0 {
			return side(messages[i])
		}
	}
	return ""
}

// blocks returns the blocks of a message; none if nothing of it can be sent.
func (m *Encoder) blocks(msg llm.Message) (blocks []block, err error) {
	for _, p := range msg.Parts {
		var b block
		ok := true
		switch p := p.(type) {
		case llm.Unknown:
			continue
		case llm.Text:
			b.Text, ok = &p.Text, strings.TrimSpace(p.Text) != ""
		case llm.Blob:
			if b, ok = blob(p); !ok {
				return nil, wire.CannotSend(p, m.Model, "PNG, JPEG, GIF and WebP images, PDF and text")
			}
		case llm.Thinking:
			b, ok = m.thought(p)
		case llm.Call:
			b.ToolUse = &toolUse{wire.CallID(p.ID), wire.CallName(p.Name), wire.CallInput(p)}
		case llm.Result:
			b.Result = outcome(p)
		default:
			return nil, fmt.Errorf("a message cannot hold a %T", p)
		}
		if ok {
			blocks = append(blocks, b)
		}
	}
	if n := len(blocks); n > 0 && msg.Role == llm.Assistant && blocks[n-1].Reasoning != nil {
		return nil, nil // thinking alone is refused at the end of a message
	}
	return blocks, nil
}

// thought returns t as a block; ok is false unless this model wrote it.
func (m *Encoder) thought(t llm.Thinking) (block, bool) {
	s := wire.Unseal[wire.Thought](t.Opaque, t.By, m.Model)
	if s.Redacted != "" {
		return block{Reasoning: &reasoning{Redacted: s.Redacted}}, true
	}
	return block{Reasoning: &reasoning{Text: &reasoningText{t.Text, s.Signature}}}, s.Signature != ""
}

// outcome encodes a result.
func outcome(r llm.Result) *result {
	out := &result{ID: wire.CallID(r.ID)}
	say := func(s string) {
		if strings.TrimSpace(s) != "" {
			out.Content = append(out.Content, block{Text: &s})
		}
	}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			say(p.Text)
		case llm.Blob:
			if b, ok := blob(p); ok {
				out.Content = append(out.Content, b)
			} else {
				say(wire.NotShown(p))
			}
		}
	}
	if out.Content == nil {
		say("(no output)")
	}
	if r.IsError {
		out.Status = "error"
	}
	return out
}

// blob returns b as a block; ok is false if the provider does not accept it.
func blob(b llm.Blob) (block, bool) {
	kind := wire.KindOf(b)
	source := map[string]string{"bytes": base64.StdEncoding.EncodeToString(b.Data)}
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return block{Image: &file{Format: strings.TrimPrefix(kind, "image/"), Source: source}}, true
	case "application/pdf":
		return block{Document: &file{Format: "pdf", Name: "document", Source: source}}, true
	}
	if wire.IsText(kind) {
		text := wire.FileText(b)
		return block{Text: &text}, true
	}
	return block{}, false
}
