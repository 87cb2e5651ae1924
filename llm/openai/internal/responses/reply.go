package responses

import (
	"cmp"
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
	Index    *int            `json:"output_index"`
	ID       string          `json:"item_id"`
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
	items   wire.Blocks
	calls   bool // the reply contains a call
	refused bool

	why   string // "completed" or why it is incomplete, once it ended
	usage *llm.Usage
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(wire.Events(body), &reply{Voice: wire.Voice{Yield: yield}, model: model}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.why != "", r.why != "" }

// Add implements [wire.Reply].
func (r *reply) Add(data []byte) error {
	if string(data) == "[DONE]" { // of servers that are not OpenAI's
		return nil
	}
	var e event
	if err := wire.Decode(data, &e, func() bool { return e.Type != "error" && (e.Type != "" || e.Object == "response") }); err != nil {
		return err
	}
	switch e.Type {
	case "response.output_item.added":
		if e.Item != nil && r.items.Announced(e.Item.key(e.Index)) == nil {
			r.begin(e.Item.key(e.Index), *e.Item)
		}
	case "response.output_item.done":
		if e.Item != nil {
			r.close(r.ended(e.Index, *e.Item), *e.Item)
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

// key is what an event with the item says of it.
func (it *gotItem) key(index *int) wire.Key {
	return wire.Key{Index: index, ID: it.ID, Call: it.CallID, Kind: it.Type}
}

// begin starts an item.
func (r *reply) begin(k wire.Key, it gotItem) *wire.Block {
	b := r.items.Begin(k)
	switch it.Type {
	case "function_call":
		r.calls = true
		r.Extend(b, llm.Call{ID: it.CallID, Name: it.Name})
	case "reasoning":
		r.Extend(b, llm.Thinking{Opaque: wire.Seal(sealed{ID: it.ID, Encrypted: it.Encrypted}), By: r.model})
	case "message":
	default:
		b.Foreign = true
	}
	return b
}

// ended returns the item that an event ends, and starts it if nothing announced it.
func (r *reply) ended(index *int, it gotItem) *wire.Block {
	k := it.key(index)
	b, _ := r.items.Find(k)
	again := b != nil && b.Closed && (it.ID == "" || it.ID == b.ID) && (it.CallID == b.Call) && index != nil
	if b == nil || b.Closed && !again {
		return r.begin(k, it)
	}
	return b
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
	k := wire.Key{Index: e.Index, ID: e.ID, Kind: kind}
	b, stray := r.items.Find(k)
	if text == "" || stray && kind == "function_call" { // of no call that is known
		return nil
	}
	if b == nil {
		b = r.begin(k, gotItem{Type: kind, ID: e.ID})
	}
	if b.Foreign {
		return nil
	}
	b.Said = true
	switch kind {
	case "message":
		r.refused = r.refused || e.Type == "response.refusal.delta"
		r.Extend(b, llm.Text{Text: text})
	case "function_call":
		r.Extend(b, llm.Call{Input: text})
	case "reasoning":
		if e.Summary > b.Section {
			b.Section, text = e.Summary, "\n\n"+text
		}
		r.Extend(b, llm.Thinking{Text: text, By: r.model})
	}
	return nil
}

// close adds to an item the fields that only its end has, and its content if no
// fragments arrived.
func (r *reply) close(b *wire.Block, it gotItem) {
	if b.Closed {
		return
	}
	b.Closed = true
	switch it.Type {
	case "message":
		var texts []string
		for _, p := range it.Content {
			r.refused = r.refused || p.Refusal != ""
			texts = append(texts, p.Text+p.Refusal)
		}
		text := strings.Join(texts, "")
		if b.Said {
			text = ""
		}
		if opaque := wire.Seal(sealed{Phase: it.Phase}); text != "" || opaque != nil && b.Part >= 0 {
			r.Extend(b, llm.Text{Text: text, Opaque: opaque, By: r.model})
		}
	case "function_call":
		if !b.Said {
			r.Extend(b, llm.Call{ID: it.CallID, Name: it.Name, Input: wire.Arguments(it.Arguments)})
		}
	case "reasoning":
		var texts []string
		for _, p := range append(it.Summary, it.Content...) {
			texts = append(texts, p.Text)
		}
		text := strings.Join(texts, "\n\n")
		if b.Said {
			text = ""
		}
		r.Extend(b, llm.Thinking{Text: text, Opaque: wire.Seal(sealed{ID: it.ID, Encrypted: it.Encrypted}), By: r.model})
	}
}

// finish decodes the end of a response.
func (r *reply) finish(res response, status string) error {
	begun := map[string][]*wire.Block{}
	for _, b := range r.items {
		begun[b.Kind] = append(begun[b.Kind], b)
	}
	for _, it := range res.Output { // ids may be others here, the order is the same
		if known := begun[it.Type]; len(known) > 0 {
			r.close(known[0], it)
			begun[it.Type] = known[1:]
			continue
		}
		r.close(r.begin(it.key(nil), it), it)
	}
	r.usage = res.Usage.neutral()
	switch status {
	case "completed":
		r.why = status
	case "incomplete":
		r.why = res.Why.Reason
		r.why = cmp.Or(r.why, status)
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
	switch r.why {
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
