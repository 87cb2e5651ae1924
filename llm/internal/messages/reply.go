package messages

import (
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An event is the part of an event of a stream, or of a whole message, that
// matters here.
type event struct {
	Type    string          `json:"type"`
	Message *event          `json:"message"`
	Index   int             `json:"index"`
	Block   *gotBlock       `json:"content_block"`
	Content []gotBlock      `json:"content"`
	Delta   json.RawMessage `json:"delta"`
	Stop    string          `json:"stop_reason"`
	Usage   *usage          `json:"usage"`
}

// A gotBlock is a block of a reply.
type gotBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// A delta is what an event adds to a block, or the end of the message.
type delta struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	JSON      string `json:"partial_json"`
	Stop      string `json:"stop_reason"`
}

// usage counts tokens. Those read from and written to the cache are not part of
// Input.
type usage struct {
	Input   wire.Count `json:"input_tokens"`
	Write   wire.Count `json:"cache_creation_input_tokens"`
	Read    wire.Count `json:"cache_read_input_tokens"`
	Output  wire.Count `json:"output_tokens"`
	Details struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// add replaces the counts that v has: each event has the sums so far.
func (u *usage) add(v usage) {
	u.Input, u.Output = max(u.Input, v.Input), max(u.Output, v.Output)
	u.Read, u.Write = max(u.Read, v.Read), max(u.Write, v.Write)
	u.Details.Thinking = max(u.Details.Thinking, v.Details.Thinking)
}

// neutral returns u as [llm.Usage].
func (u usage) neutral() *llm.Usage {
	return &llm.Usage{Input: int(u.Input + u.Read + u.Write), Output: int(u.Output), Cached: int(u.Read),
		CacheWrite: int(u.Write), Reasoning: int(min(u.Details.Thinking, u.Output))}
}

// A reply turns the events of a response into deltas.
type reply struct {
	wire.Voice
	model  string
	blocks map[int]*begun
	calls  bool // the reply contains a call

	stop  string // why it ended; "" until it has
	usage *usage
	done  bool // message_stop has arrived
}

// A begun is a block of the reply that has begun.
type begun struct {
	part int // the index of its part; -1: it is none
	kind string
	raw  json.RawMessage // the input that a call began with
	said bool            // a fragment of its input has arrived
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return ReadEvents(wire.Events(body), model, yield, finished)
}

// ReadEvents is [Read] for a response whose events arrive in another framing.
func ReadEvents(events iter.Seq2[[]byte, error], model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(events, &reply{Voice: wire.Voice{Yield: yield}, model: model, blocks: map[int]*begun{}}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.stop != "", r.done }

// Add implements [wire.Reply].
func (r *reply) Add(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.Type == "error" || e.Type == "" {
		if e := wire.InBand(data); e != nil {
			return e
		}
		if err != nil {
			return wire.NoEvent(data, err)
		}
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil && e.Message.Usage != nil {
			r.count(e.Message.Usage)
		}
	case "content_block_start":
		if e.Block != nil {
			r.begin(e.Index, *e.Block)
		}
	case "content_block_delta":
		return r.extend(e.Index, e.Delta)
	case "content_block_stop":
		r.close(r.blocks[e.Index])
	case "message_delta":
		var d delta
		if err := json.Unmarshal(e.Delta, &d); err != nil && len(e.Delta) > 0 {
			return wire.NoEvent(data, err)
		}
		r.count(e.Usage)
		r.stopped(d.Stop)
	case "message_stop":
		r.done = r.stop != ""
	case "message": // whole
		for i, b := range e.Content {
			r.begin(i, b)
			r.close(r.blocks[i])
		}
		r.count(e.Usage)
		r.stopped(e.Stop)
	}
	return nil
}

// count notes the tokens that an event reports.
func (r *reply) count(u *usage) {
	if u != nil && r.usage == nil {
		r.usage = new(usage)
	}
	if u != nil {
		r.usage.add(*u)
	}
}

// stopped notes the reason why the reply ended: the first, unless a later one is
// worse.
func (r *reply) stopped(why string) {
	if stop, _ := ending(why); why != "" && (r.stop == "" || !stop.Whole()) {
		for i := range len(r.blocks) { // those that were not closed
			if why == "tool_use" || why == "end_turn" {
				r.close(r.blocks[i])
			}
		}
		r.stop = why
	}
}

// begin starts block i.
func (r *reply) begin(i int, b gotBlock) {
	if r.blocks[i] != nil {
		return
	}
	next := &begun{part: -1, kind: b.Type}
	r.blocks[i] = next
	var p llm.Part
	switch b.Type {
	case "text":
		p = llm.Text{Text: b.Text}
	case "thinking":
		p = llm.Thinking{Text: b.Thinking, Opaque: wire.Seal(wire.Thought{Signature: b.Signature}), By: r.model}
	case "redacted_thinking":
		p = llm.Thinking{Opaque: wire.Seal(wire.Thought{Redacted: b.Data}), By: r.model}
	case "tool_use":
		next.raw, r.calls = b.Input, true
		p = llm.Call{ID: b.ID, Name: b.Name}
	default: // the work of tools that run at Anthropic, which are not asked for
		return
	}
	if t, ok := p.(llm.Text); ok && t.Text == "" {
		return // until it has some: see extend
	}
	next.part = r.Part()
	r.Say(next.part, p)
}

// extend adds a fragment to block i, and starts the block if the server did not.
func (r *reply) extend(i int, raw json.RawMessage) error {
	var d delta
	if err := json.Unmarshal(raw, &d); err != nil {
		return wire.NoEvent(raw, err)
	}
	b := r.blocks[i]
	if b == nil { // a server that leaves out the beginning
		kind := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}[d.Type]
		r.begin(i, gotBlock{Type: kind})
		b = r.blocks[i]
	}
	if b.kind == "text" && b.part < 0 && d.Text != "" {
		b.part = r.Part()
	}
	if b.part < 0 {
		return nil
	}
	switch {
	case d.Type == "text_delta" && b.kind == "text" && d.Text != "":
		r.Say(b.part, llm.Text{Text: d.Text})
	case d.Type == "thinking_delta" && b.kind == "thinking":
		r.Say(b.part, llm.Thinking{Text: d.Thinking})
	case d.Type == "signature_delta" && b.kind == "thinking":
		r.Say(b.part, llm.Thinking{Opaque: wire.Seal(wire.Thought{Signature: d.Signature})})
	case d.Type == "input_json_delta" && b.kind == "tool_use" && d.JSON != "":
		b.said = true
		r.Say(b.part, llm.Call{Input: d.JSON})
	}
	return nil
}

// close ends a block. A call without fragments has the input that it began with.
func (r *reply) close(b *begun) {
	if b == nil || b.kind != "tool_use" || b.said {
		return
	}
	b.said = true
	text := string(b.raw)
	if text == "" || text == "null" {
		text = "{}"
	}
	var s string
	if json.Unmarshal(b.raw, &s) == nil && s != "" { // the text of it, from a server that is not Anthropic's
		text = s
	}
	r.Say(b.part, llm.Call{Input: text})
}

// ending returns the meaning of a stop_reason; known is false for one of a later
// version.
func ending(why string) (stop llm.Stop, known bool) {
	switch why {
	case "end_turn", "stop_sequence":
		return llm.End, true
	case "tool_use":
		return llm.ToolUse, true
	case "max_tokens", "model_context_window_exceeded":
		return llm.Length, true
	case "refusal":
		return llm.Refusal, true
	}
	return "", false
}

// Last implements [wire.Reply].
func (r *reply) Last() (llm.Delta, error) {
	stop, known := ending(r.stop)
	switch {
	case r.stop == "":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without a stop_reason")}
	case !known:
		if err := wire.Ended(r.stop, r.Began()); err != nil {
			return llm.Delta{}, err
		}
		stop = llm.End
	}
	switch {
	case stop.Whole() && r.calls:
		stop = llm.ToolUse
	case stop.Whole():
		stop = llm.End
	}
	last := llm.Delta{Stop: stop}
	if r.usage != nil {
		last.Usage = r.usage.neutral()
	}
	return last, nil
}
