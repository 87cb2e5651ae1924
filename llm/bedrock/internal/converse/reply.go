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
	Index int `json:"contentBlockIndex"`
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
	blocks map[int]*begun
	calls  bool // the reply contains a call
	stop   string
	usage  *llm.Usage
	done   bool // the last event has arrived
}

// A begun is a block of the reply that has begun.
type begun struct {
	part int
	kind string // "text", "thought" or "call"
	said bool   // a fragment of it has arrived
}

// Read is a [wire.Reader] of a response in Amazon's framing of events.
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(frame.Events(body), &reply{Voice: wire.Voice{Yield: yield}, model: model, blocks: map[int]*begun{}}, finished)
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
		if t := e.Start.ToolUse; t != nil && r.blocks[e.Index] == nil {
			r.calls = true
			r.say(e.Index, "call", llm.Call{ID: t.ID, Name: t.Name})
		}
	case "contentBlockDelta":
		r.extend(e)
	case "contentBlockStop":
		r.close(e.Index)
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

// say yields a fragment of block i, and starts the block if necessary.
func (r *reply) say(i int, kind string, p llm.Part) {
	b := r.blocks[i]
	if b == nil {
		b = &begun{part: r.Part(), kind: kind}
		r.blocks[i] = b
	}
	if b.kind == kind {
		r.Say(b.part, p)
	}
}

// extend adds a fragment to a block.
func (r *reply) extend(e event) {
	d := e.Delta
	switch {
	case d.Text != nil && *d.Text != "":
		r.say(e.Index, "text", llm.Text{Text: *d.Text})
	case d.ToolUse != nil:
		r.calls = true
		r.say(e.Index, "call", llm.Call{Input: d.ToolUse.Input})
		if b := r.blocks[e.Index]; b.kind == "call" && d.ToolUse.Input != "" {
			b.said = true
		}
	case d.Reasoning != nil:
		r.say(e.Index, "thought", llm.Thinking{Text: d.Reasoning.Text, By: r.model,
			Opaque: wire.Seal(wire.Thought{Signature: d.Reasoning.Signature, Redacted: d.Reasoning.Redacted})})
	}
}

// close ends block i. A call without fragments has no arguments.
func (r *reply) close(i int) {
	if b := r.blocks[i]; b != nil && b.kind == "call" && !b.said {
		b.said = true
		r.say(i, "call", llm.Call{Input: "{}"})
	}
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
		for i := range r.blocks {
			r.close(i)
		}
		stop = llm.ToolUse
	case stop.Whole():
		stop = llm.End
	}
	return llm.Delta{Stop: stop, Usage: r.usage}, nil
}
