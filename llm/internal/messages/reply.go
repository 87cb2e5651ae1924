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
	Index   *int            `json:"index"`
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
	blocks wire.Blocks
	calls  bool // the reply contains a call

	ended string // why it ended; "" until it has
	usage *usage
	done  bool // message_stop has arrived
}

// part returns the kind of the block that a fragment extends; "" if it is of none that
// becomes a part.
func (d *delta) part() string {
	switch d.Type {
	case "text_delta":
		return "text"
	case "thinking_delta", "signature_delta":
		return "thinking"
	case "input_json_delta":
		return "tool_use"
	}
	return ""
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return ReadEvents(wire.Events(body), model, yield, finished)
}

// ReadEvents is [Read] for a response whose events arrive in another framing.
func ReadEvents(events iter.Seq2[[]byte, error], model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(events, &reply{Voice: wire.Voice{Yield: yield}, model: model}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.ended != "", r.done }

// Add implements [wire.Reply].
func (r *reply) Add(data []byte) error {
	var e event
	if err := wire.Decode(data, &e, func() bool { return e.Type != "error" && e.Type != "" }); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil && e.Message.Usage != nil {
			r.count(e.Message.Usage)
		}
	case "content_block_start":
		if e.Block != nil {
			if r.blocks.Announced(e.Block.key(e.Index)) == nil {
				r.begin(e.Index, *e.Block)
			}
		}
	case "content_block_delta":
		return r.extend(e.Index, e.Delta)
	case "content_block_stop":
		if b := r.blocks.Open(e.Index); b != nil {
			r.close(b)
		}
	case "message_delta":
		var d delta
		if err := json.Unmarshal(e.Delta, &d); err != nil && len(e.Delta) > 0 {
			return wire.NoEvent(data, err)
		}
		r.count(e.Usage)
		r.stopped(d.Stop)
	case "message_stop":
		r.done = r.ended != ""
	case "message": // whole
		for _, b := range e.Content {
			r.close(r.begin(nil, b))
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
	if stop, _ := ending(why); why != "" && (r.ended == "" || !stop.Whole()) {
		for _, b := range r.blocks { // those that were not closed
			if why == "tool_use" || why == "end_turn" {
				r.close(b)
			}
		}
		r.ended = why
	}
}

// key is what an event with the block says of it.
func (b *gotBlock) key(index *int) wire.Key { return wire.Key{Index: index, Call: b.ID, Kind: b.Type} }

// begin starts a block. Text and thinking become a part with their first word.
func (r *reply) begin(index *int, b gotBlock) *wire.Block {
	next := r.blocks.Begin(b.key(index))
	switch b.Type {
	case "text":
		if b.Text != "" {
			r.say(next, llm.Text{Text: b.Text})
		}
	case "thinking":
		if opaque := wire.Seal(wire.Thought{Signature: b.Signature}); b.Thinking != "" || opaque != nil {
			r.say(next, llm.Thinking{Text: b.Thinking, Opaque: opaque, By: r.model})
		}
	case "redacted_thinking":
		r.say(next, llm.Thinking{Opaque: wire.Seal(wire.Thought{Redacted: b.Data}), By: r.model})
	case "tool_use":
		next.Input, r.calls = b.Input, true
		r.say(next, llm.Call{ID: b.ID, Name: b.Name})
		next.Said = false // which is about the input
	default: // the work of tools that run at Anthropic, which are not asked for
		next.Foreign = true
	}
	return next
}

// say yields a fragment of a block.
func (r *reply) say(b *wire.Block, p llm.Part) {
	b.Said = true
	r.Extend(b, p)
}

// extend adds a fragment to a block, and starts the block if the server did not.
func (r *reply) extend(index *int, raw json.RawMessage) error {
	var d delta
	if err := json.Unmarshal(raw, &d); err != nil {
		return wire.NoEvent(raw, err)
	}
	if d.part() == "" || d.Text+d.Thinking+d.Signature+d.JSON == "" {
		return nil
	}
	b, stray := r.blocks.Find(wire.Key{Index: index, Kind: d.part()})
	switch {
	case stray && d.Type == "input_json_delta": // of no call that is known
		return nil
	case b == nil:
		b = r.begin(index, gotBlock{Type: d.part()})
	}
	switch {
	case b.Foreign:
	case d.Type == "text_delta":
		r.say(b, llm.Text{Text: d.Text})
	case d.Type == "thinking_delta":
		r.say(b, llm.Thinking{Text: d.Thinking, By: r.model})
	case d.Type == "signature_delta":
		r.say(b, llm.Thinking{Opaque: wire.Seal(wire.Thought{Signature: d.Signature}), By: r.model})
	case d.Type == "input_json_delta":
		r.say(b, llm.Call{Input: d.JSON})
	}
	return nil
}

// close ends a block. A call without fragments has the input that it began with.
func (r *reply) close(b *wire.Block) {
	if !b.Closed && b.Kind == "tool_use" && !b.Said {
		r.say(b, llm.Call{Input: wire.Arguments(b.Input)})
	}
	b.Closed = true
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
	stop, known := ending(r.ended)
	switch {
	case r.ended == "":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without a stop_reason")}
	case !known:
		if err := wire.Ended(r.ended, r.Began()); err != nil {
			return llm.Delta{}, err
		}
		stop = llm.End
	}
	if stop.Whole() && r.calls {
		stop = llm.ToolUse
	}
	last := llm.Delta{Stop: stop}
	if r.usage != nil {
		last.Usage = r.usage.neutral()
	}
	return last, nil
}
