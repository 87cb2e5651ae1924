package responses

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An event is the part of an event of a stream, or of a whole response, that
// matters here.
type event struct {
	Type     string          `json:"type"`
	Object   string          `json:"object"`
	Index    int             `json:"output_index"`
	Summary  int             `json:"summary_index"`
	Delta    json.RawMessage `json:"delta"`
	Item     *gotItem        `json:"item"`
	Response *response       `json:"response"`
}

// A response is the object at the end of a stream, or a whole response.
type response struct {
	Object string          `json:"object"`
	Status string          `json:"status"`
	Error  json.RawMessage `json:"error"`
	Output []gotItem       `json:"output"`
	Why    struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *usage `json:"usage"`
}

// A gotItem is an item of a reply.
type gotItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Phase     string          `json:"phase"`
	Arguments json.RawMessage `json:"arguments"`
	Encrypted string          `json:"encrypted_content"`
	Content   []gotPart       `json:"content"`
	Summary   []gotPart       `json:"summary"`
}

// A gotPart is a part of an item's content.
type gotPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// usage counts tokens.
type usage struct {
	Input   wire.Count `json:"input_tokens"`
	Output  wire.Count `json:"output_tokens"`
	Details struct {
		Cached wire.Count `json:"cached_tokens"`
		Write  wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// neutral returns u as [llm.Usage]; nil if there is none.
func (u *usage) neutral() *llm.Usage {
	if u == nil {
		return nil
	}
	return &llm.Usage{Input: int(u.Input), Output: int(u.Output), Cached: int(min(u.Details.Cached, u.Input)),
		CacheWrite: int(min(u.Details.Write, u.Input)), Reasoning: int(min(u.OutputDetails.Reasoning, u.Output))}
}

// A reply turns the events of a response into deltas.
type reply struct {
	wire.Voice
	model   string
	items   map[int]*begun
	calls   bool // the reply contains a call
	refused bool

	ended string // "completed" or why it is incomplete, once it ended
	usage *llm.Usage
}

// A begun is an item of the reply that has begun.
type begun struct {
	part    int // the index of its part; -1: it has none yet
	kind    string
	said    bool // a fragment of it has arrived
	closed  bool
	summary int // the index of the last summary of its reasoning
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(wire.Events(body), &reply{Voice: wire.Voice{Yield: yield}, model: model, items: map[int]*begun{}}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.ended != "", r.ended != "" }

// Add implements [wire.Reply].
func (r *reply) Add(data []byte) error {
	if string(data) == "[DONE]" { // of servers that are not OpenAI's
		return nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.Type == "error" || e.Type == "" && e.Object != "response" {
		if e := wire.InBand(data); e != nil {
			return e
		}
		if err != nil {
			return wire.NoEvent(data, err)
		}
	}
	switch e.Type {
	case "response.output_item.added":
		if e.Item != nil {
			r.begin(e.Index, *e.Item)
		}
	case "response.output_item.done":
		if e.Item != nil {
			r.begin(e.Index, *e.Item)
			r.close(r.items[e.Index], *e.Item)
		}
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response == nil {
			return wire.NoEvent(data, errors.New("there is no response in it"))
		}
		return r.finish(*e.Response, strings.TrimPrefix(e.Type, "response."))
	case "":
		var whole response
		if err := json.Unmarshal(data, &whole); err != nil {
			return wire.NoEvent(data, err)
		}
		if e.Object == "response" {
			return r.finish(whole, whole.Status)
		}
	default:
		return r.extend(e)
	}
	return nil
}

// begin starts item i, unless it has started.
func (r *reply) begin(i int, it gotItem) {
	if r.items[i] != nil {
		return
	}
	b := &begun{part: -1, kind: it.Type}
	r.items[i] = b
	switch it.Type {
	case "function_call":
		r.calls = true
		r.say(b, llm.Call{ID: it.CallID, Name: it.Name})
	case "reasoning":
		r.say(b, llm.Thinking{Opaque: wire.Seal(sealed{ID: it.ID, Encrypted: it.Encrypted}), By: r.model})
	}
}

// say yields a fragment of an item, and starts its part if necessary.
func (r *reply) say(b *begun, p llm.Part) {
	if b.part < 0 {
		b.part = r.Part()
	}
	r.Say(b.part, p)
}

// extend adds a fragment to an item.
func (r *reply) extend(e event) error {
	kind := map[string]string{"response.output_text.delta": "message", "response.refusal.delta": "message",
		"response.function_call_arguments.delta": "function_call", "response.reasoning_summary_text.delta": "reasoning",
		"response.reasoning_text.delta": "reasoning"}[e.Type]
	if kind == "" {
		return nil
	}
	var text string
	if err := json.Unmarshal(e.Delta, &text); err != nil {
		return wire.NoEvent(e.Delta, err)
	}
	r.begin(e.Index, gotItem{Type: kind})
	b := r.items[e.Index]
	if text == "" || b.kind != kind {
		return nil
	}
	b.said = true
	switch kind {
	case "message":
		r.refused = r.refused || e.Type == "response.refusal.delta"
		r.say(b, llm.Text{Text: text})
	case "function_call":
		r.say(b, llm.Call{Input: text})
	case "reasoning":
		if e.Summary > b.summary {
			b.summary, text = e.Summary, "\n\n"+text
		}
		r.say(b, llm.Thinking{Text: text, By: r.model})
	}
	return nil
}

// close adds to an item the fields that only its end has, and its content if no
// fragments arrived.
func (r *reply) close(b *begun, it gotItem) {
	if b.closed || b.kind != it.Type {
		return
	}
	b.closed = true
	switch it.Type {
	case "message":
		var texts []string
		for _, p := range it.Content {
			r.refused = r.refused || p.Refusal != ""
			texts = append(texts, p.Text+p.Refusal)
		}
		text := strings.Join(texts, "")
		if b.said {
			text = ""
		}
		if opaque := wire.Seal(sealed{Phase: it.Phase}); text != "" || opaque != nil && b.part >= 0 {
			r.say(b, llm.Text{Text: text, Opaque: opaque, By: r.model})
		}
	case "function_call":
		if !b.said {
			r.say(b, llm.Call{ID: it.CallID, Name: it.Name, Input: wire.Arguments(it.Arguments)})
		}
	case "reasoning":
		var texts []string
		for _, p := range append(it.Summary, it.Content...) {
			texts = append(texts, p.Text)
		}
		text := strings.Join(texts, "\n\n")
		if b.said {
			text = ""
		}
		r.say(b, llm.Thinking{Text: text, Opaque: wire.Seal(sealed{ID: it.ID, Encrypted: it.Encrypted}), By: r.model})
	}
}

// finish decodes the end of a response.
func (r *reply) finish(res response, status string) error {
	for i, it := range res.Output { // for items that no event announced
		r.begin(i, it)
		r.close(r.items[i], it)
	}
	r.usage = res.Usage.neutral()
	switch status {
	case "completed":
		r.ended = status
	case "incomplete":
		r.ended = res.Why.Reason
		if r.ended == "" {
			r.ended = status
		}
	case "failed", "cancelled":
		if err := wire.InBand(append(append([]byte(`{"type":"error","error":`), orNull(res.Error)...), '}')); err != nil {
			return err
		}
	}
	return nil
}

// orNull returns raw, or null if it is empty.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// Last implements [wire.Reply].
func (r *reply) Last() (llm.Delta, error) {
	last := llm.Delta{Usage: r.usage}
	switch r.ended {
	case "":
		return last, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without response.completed")}
	case "completed":
		switch last.Stop = llm.End; {
		case r.refused:
			last.Stop = llm.Refusal
		case r.calls:
			last.Stop = llm.ToolUse
		}
	case "max_output_tokens":
		last.Stop = llm.Length
	case "content_filter":
		last.Stop = llm.Filter
	default: // why it is incomplete, in a word of a later version
		last.Stop = llm.Length
	}
	return last, nil
}
