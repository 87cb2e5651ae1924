package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/openmanus-go/openmanus/llm"
)

// messageRules are the fields of Anthropic's Messages.
var messageRules = rules{}.
	takes(done, "model", "messages", "system", "max_tokens", "stream", "stop_sequences", "temperature", "tools", "tool_choice",
		"output_config", "output_format").
	takes(ignored, "metadata", "service_tier", "thinking", "cache_control", "inference_geo").
	takes(only("1", "1.0"), "top_p").takes(only(), "top_k", "container", "context_management", "mcp_servers")

type messagesRequest struct {
	Model       string             `json:"model"`
	Messages    []anthropicMessage `json:"messages"`
	System      json.RawMessage    `json:"system"`
	Max         int                `json:"max_tokens"`
	Stream      bool               `json:"stream"`
	Stop        []string           `json:"stop_sequences"`
	Temperature *float64           `json:"temperature"`
	Tools       []tool             `json:"tools"`
	Choice      choice             `json:"tool_choice"`
	Format      *form              `json:"output_format"`
	Output      struct {
		Format *form  `json:"format"`
		Effort string `json:"effort"`
	} `json:"output_config"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// decodeMessages reads a request in Anthropic's format. An error names the field. Images
// at addresses are fetched, which ctx bounds.
func decodeMessages(ctx context.Context, fetch fetcher, v *messagesRequest, session string) (*request, error) {
	q := &request{agent: v.Model, session: session, stream: v.Stream}
	format, at := v.Output.Format, "output_config.format"
	if format == nil {
		format, at = v.Format, "output_format"
	}
	if v.Max < 1 {
		return nil, bad("max_tokens", "it must be at least 1")
	}
	err := q.set(settings{tools: v.Tools, choice: v.Choice, format: format, formatAt: at, stop: v.Stop, stopAt: "stop_sequences",
		max: v.Max, maxAt: "max_tokens", temperature: v.Temperature, most: 1, effort: v.Output.Effort, effortAt: "output_config.effort"})
	if err != nil {
		return nil, err
	}
	r := reader{ctx: ctx, fetch: fetch}
	system, err := r.content("system", v.System)
	if err != nil {
		return nil, err
	}
	items := []item{{role: "system", parts: system}}
	if len(system) == 0 {
		items = nil
	}
	for i, m := range v.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		if m.Role != "user" && m.Role != "assistant" {
			return nil, bad(at+".role", "it must be user or assistant")
		}
		some, err := r.at(i, len(v.Messages), func(i int) string { return v.Messages[i].Role }).blocks(at, m)
		if err != nil {
			return nil, err
		}
		items = append(items, some...)
	}
	return q, q.say(items, "messages")
}

// blocks reads a message: results of tools are items of their own, before the text. at
// names the message in errors.
func (r reader) blocks(at string, m anthropicMessage) (items []item, err error) {
	blocks, err := partsOf(at+".content", m.Content)
	if err != nil {
		return nil, err
	}
	said := item{at: at, role: m.Role}
	for i, b := range blocks {
		at := fmt.Sprintf("%s.content[%d]", at, i)
		switch {
		case b.Type == "tool_use" && m.Role == "assistant":
			said.calls = append(said.calls, llm.Call{ID: b.ID, Name: b.Name, Input: string(b.Input)})
		case b.Type == "tool_result" && m.Role == "user":
			parts, err := r.content(at+".content", b.Content)
			if err != nil {
				return nil, err
			}
			items = append(items, item{at: at, role: "tool", call: b.Call, parts: parts})
		case b.Type == "thinking", b.Type == "redacted_thinking":
		default:
			p, err := r.part(at, b)
			if err != nil {
				return nil, err
			}
			said.parts = append(said.parts, p)
		}
	}
	if len(said.parts) > 0 || len(said.calls) > 0 || len(items) == 0 {
		items = append(items, said)
	}
	return items, nil
}

// messages serves POST /v1/messages.
func (a *API) messages(w http.ResponseWriter, r *http.Request) error {
	v, q, t, err := read(a, r, messageRules, decodeMessages)
	if err != nil {
		return err
	}
	return t.serve(w, r, q, &messageFormat{session: t.id, model: v.Model})
}

// A messageFormat writes Anthropic's messages. Calls of the agent's own tools are
// thinking, which has no signature.
type messageFormat struct {
	session, model string
	blocks         []any
	open           string // the type of the block in progress, or ""
	text           string // of it
	calls          []any
	work           string
}

// frames returns the events for a step. Blocks are opened and closed as needed: a block
// holds pieces of one kind.
func (f *messageFormat) frames(p *projector, s step, _ int) (all []frame) {
	add := func(typ string, v fields) {
		v["type"] = typ
		all = append(all, frame{event: typ, data: func(string, int) any { return v }})
	}
	piece := func(kind, key, text string) {
		if f.open != kind {
			all = append(all, f.close()...)
			f.open = kind
			block := fields{"type": kind, key: ""}
			if kind == "thinking" {
				block["signature"] = ""
			}
			add("content_block_start", fields{"index": len(f.blocks), "content_block": block})
		}
		n := len(f.blocks)
		f.text += text
		all = append(all, frame{event: "content_block_delta", text: text, data: func(text string, _ int) any {
			return fields{"type": "content_block_delta", "index": n, "delta": fields{"type": kind + "_delta", key: text}}
		}})
	}
	switch {
	case s.begin:
		add("message_start", fields{"message": f.object(p, []any{}, nil)})
	case s.text != "":
		piece("text", "text", s.text)
	case s.work != "":
		f.work += s.work + "\n"
		piece("thinking", "thinking", s.work+"\n")
	case s.call != nil:
		all = append(all, f.close()...)
		n, id := len(f.blocks), callID(f.session, s.call.ID)
		whole := fields{"type": "tool_use", "id": id, "name": s.call.Name, "input": json.RawMessage(s.call.Input)}
		add("content_block_start", fields{"index": n, "content_block": fields{"type": "tool_use", "id": id, "name": s.call.Name, "input": fields{}}})
		add("content_block_delta", fields{"index": n, "delta": fields{"type": "input_json_delta", "partial_json": s.call.Input}})
		add("content_block_stop", fields{"index": n})
		f.blocks, f.calls = append(f.blocks, whole), append(f.calls, whole)
	default:
		all = append(all, f.close()...)
		if e := p.failure(); e != nil {
			return append(all, frame{event: "error", data: func(string, int) any { return e.body(true) }})
		}
		reason, sequence := f.reason(p)
		add("message_delta", fields{"delta": fields{"stop_reason": reason, "stop_sequence": sequence}, "usage": anthropicUsage(p.used())})
		add("message_stop", fields{})
	}
	return all
}

// close returns the event that ends the block in progress, if there is one.
func (f *messageFormat) close() []frame {
	if f.open == "" {
		return nil
	}
	n := len(f.blocks)
	f.blocks = append(f.blocks, fields{"type": f.open, "text": f.text})
	f.open, f.text = "", ""
	return []frame{{event: "content_block_stop", data: func(string, int) any { return fields{"type": "content_block_stop", "index": n} }}}
}

// reason returns why the message ended, in Anthropic's words, and the stop sequence, or
// nil.
func (f *messageFormat) reason(p *projector) (reason string, sequence any) {
	c := p.cut.again()
	c.add(p.state.Answer, true)
	switch {
	case len(f.calls) > 0:
		return "tool_use", nil
	case p.limited():
		return "max_tokens", nil
	case slices.Contains(c.stop, c.ended):
		return "stop_sequence", c.ended
	}
	return "end_turn", nil
}

// whole returns the message of an answer that is not streamed. The agent's own work comes
// first, as thinking.
func (f *messageFormat) whole(p *projector) any {
	content := []any{}
	if f.work != "" {
		content = append(content, fields{"type": "thinking", "thinking": f.work, "signature": ""})
	}
	if text := p.answer(); text != "" {
		content = append(content, fields{"type": "text", "text": text})
	}
	reason, sequence := f.reason(p)
	o := f.object(p, append(content, f.calls...), reason)
	o["stop_sequence"] = sequence
	return o
}

func (f *messageFormat) object(p *projector, content []any, reason any) fields {
	return fields{"id": "msg_" + f.session + "_" + strconv.FormatInt(p.since, 10), "type": "message", "role": "assistant", "model": f.model,
		"content": content, "stop_reason": reason, "stop_sequence": nil, "usage": anthropicUsage(p.used())}
}

// anthropicUsage has the tokens as Messages count them: input without what came from or
// went to a cache.
func anthropicUsage(u llm.Usage) fields {
	return fields{"input_tokens": u.Input - u.Cached - u.CacheWrite, "output_tokens": u.Output,
		"cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.CacheWrite}
}
