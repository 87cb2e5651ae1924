package converse

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/bedrock/internal/frame"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An event is the part of an event, of any type, that matters here.
type event struct {
	Index *int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    *string `json:"text"`
		ToolUse *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
			Redacted  string `json:"redactedContent"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	Stop  string `json:"stopReason"`
	Usage *usage `json:"usage"`
}

// usage counts tokens. Those read from and written to the cache are not part of
// Input.
type usage struct {
	Input  wire.Count `json:"inputTokens"`
	Output wire.Count `json:"outputTokens"`
	Read   wire.Count `json:"cacheReadInputTokens"`
	Write  wire.Count `json:"cacheWriteInputTokens"`
}

// A reply turns the events of a response into deltas.
type reply struct {
	wire.Voice
	model  string
	blocks wire.Blocks
	calls  bool // the reply contains a call
	stop   string
	usage  *llm.Usage
	done   bool // the last event has arrived
}

// Read is a [wire.Reader] of a response in Amazon's framing of events.
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(frame.Events(body), &reply{Voice: wire.Voice{Yield: yield}, model: model}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.stop != "", r.done }

// Add implements [wire.Reply].
func (r *reply) Add(f frame.Event) error {
	var e event
	if err := json.Unmarshal(f.Payload, &e); err != nil {
		return wire.NoEvent(f.Payload, err)
	}
	switch f.Kind {
	case "contentBlockStart":
		if t := e.Start.ToolUse; t != nil {
			if k := (wire.Key{Index: e.Index, Call: t.ID, Kind: "call"}); r.blocks.Announced(k) == nil {
				r.calls = true
				r.Extend(r.blocks.Begin(k), llm.Call{ID: t.ID, Name: t.Name})
			}
		}
	case "contentBlockDelta":
		r.extend(e)
	case "contentBlockStop":
		if b := r.blocks.Open(e.Index); b != nil {
			r.close(b)
		}
	case "messageStop":
		if stop, _ := ending(e.Stop); r.stop == "" || !stop.Whole() {
			r.stop = e.Stop
		}
	case "metadata":
		if u := e.Usage; u != nil {
			r.usage = &llm.Usage{Input: int(u.Input + u.Read + u.Write), Output: int(u.Output), Cached: int(u.Read), CacheWrite: int(u.Write)}
		}
		r.done = r.stop != ""
	}
	return nil
}

// extend adds a fragment to a block, and starts the block if the server did not.
func (r *reply) extend(e event) {
	d, kind := e.Delta, ""
	var p llm.Part
	switch {
	case d.Text != nil && *d.Text != "":
		kind, p = "text", llm.Text{Text: *d.Text}
	case d.ToolUse != nil:
		kind, p = "call", llm.Call{Input: d.ToolUse.Input}
	case d.Reasoning != nil:
		kind, p = "thought", llm.Thinking{Text: d.Reasoning.Text, By: r.model,
			Opaque: wire.Seal(wire.Thought{Signature: d.Reasoning.Signature, Redacted: d.Reasoning.Redacted})}
	default:
		return
	}
	b, stray := r.blocks.Find(wire.Key{Index: e.Index, Kind: kind})
	switch {
	case stray && kind == "call": // of no call that is known
		return
	case b == nil:
		b = r.blocks.Begin(wire.Key{Index: e.Index, Kind: kind})
	}
	r.calls = r.calls || kind == "call"
	b.Said = b.Said || kind == "call" && d.ToolUse.Input != ""
	r.Extend(b, p)
}

// close ends a block. A call without fragments has no arguments.
func (r *reply) close(b *wire.Block) {
	if !b.Closed && b.Kind == "call" && !b.Said {
		r.Extend(b, llm.Call{Input: "{}"})
	}
	b.Closed = true
}

// ending returns the meaning of a stopReason; known is false for one of a later
// version.
func ending(why string) (stop llm.Stop, known bool) {
	switch why {
	case "end_turn", "stop_sequence":
		return llm.End, true
	case "tool_use":
		return llm.ToolUse, true
	case "max_tokens", "model_context_window_exceeded":
		return llm.Length, true
	case "guardrail_intervened", "content_filtered":
		return llm.Filter, true
	}
	return "", false
}

// Last implements [wire.Reply].
func (r *reply) Last() (llm.Delta, error) {
	stop, known := ending(r.stop)
	switch {
	case r.stop == "":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without a stopReason")}
	case r.stop == "malformed_model_output", r.stop == "malformed_tool_use":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("Bedrock cannot parse what the model wrote: " + r.stop)}
	case !known:
		if err := wire.Ended(r.stop, r.Began()); err != nil {
			return llm.Delta{}, err
		}
		stop = llm.End
	}
	switch {
	case stop.Whole() && r.calls:
		for _, b := range r.blocks {
			r.close(b)
		}
		stop = llm.ToolUse
	case stop.Whole():
		stop = llm.End
	}
	return llm.Delta{Stop: stop, Usage: r.usage}, nil
}
