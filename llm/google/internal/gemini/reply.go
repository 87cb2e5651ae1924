package gemini

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// A chunk is the part of a chunk of a stream, or of a whole response, that matters
// here.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage `json:"usageMetadata"`
}

// A candidate is a candidate of a chunk.
type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []gotPart `json:"parts"`
	} `json:"content"`
	Finish  string `json:"finishReason"`
	Message string `json:"finishMessage"`
}

// A gotPart is a part of a reply.
type gotPart struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// usage is usageMetadata. The thinking is not part of the candidates' tokens.
type usage struct {
	Prompt   wire.Count `json:"promptTokenCount"`
	ToolUse  wire.Count `json:"toolUsePromptTokenCount"`
	Cached   wire.Count `json:"cachedContentTokenCount"`
	Output   wire.Count `json:"candidatesTokenCount"`
	Thoughts wire.Count `json:"thoughtsTokenCount"`
}

// neutral returns u as [llm.Usage]; nil if there is none.
func (u *usage) neutral() *llm.Usage {
	if u == nil {
		return nil
	}
	in := u.Prompt + u.ToolUse
	return &llm.Usage{Input: int(in), Output: int(u.Output + u.Thoughts), Cached: int(min(u.Cached, in)), Reasoning: int(u.Thoughts)}
}

// A reply turns the chunks of a response into deltas.
type reply struct {
	wire.Voice
	model   string
	index   *int   // the number of the candidate that is read; nil: none has come
	calls   bool   // the reply contains a call
	finish  string // why it ended; "" until it has
	message string // in words
	usage   *llm.Usage
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(wire.Events(body), &reply{Voice: wire.Voice{Yield: yield}, model: model}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.finish != "", false }

// Add implements [wire.Reply]: data may be a list of chunks.
func (r *reply) Add(data []byte) error {
	if data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return wire.NoEvent(data, err)
		}
		for _, one := range list {
			if err := r.addOne(one); err != nil {
				return err
			}
		}
		return nil
	}
	return r.addOne(data)
}

// addOne decodes one chunk.
func (r *reply) addOne(data []byte) error {
	var c chunk
	if err := wire.Decode(data, &c, func() bool { return len(c.Candidates) > 0 }); err != nil {
		return err
	}
	if u := c.Usage.neutral(); u != nil {
		r.usage = u
	}
	if c.Feedback.Block != "" && r.finish == "" {
		r.finish = "SAFETY"
	}
	if r.index == nil && len(c.Candidates) > 0 { // one was asked for: the first, whatever its number
		least := slices.MinFunc(c.Candidates, func(a, b candidate) int { return a.Index - b.Index })
		r.index = &least.Index
	}
	for _, candidate := range c.Candidates {
		if candidate.Index != *r.index {
			continue
		}
		for _, p := range candidate.Content.Parts {
			r.say(p)
		}
		if stop := ending(candidate.Finish); candidate.Finish != "" && (r.finish == "" || !stop.Whole()) {
			r.finish, r.message = candidate.Finish, candidate.Message
		}
	}
	if r.finish == "" {
		return wire.ErrorBeside(data)
	}
	return nil
}

// say yields one part. Text and thinking extend the part before if that is of the
// same kind; a signature without text belongs to that part as well.
func (r *reply) say(p gotPart) {
	opaque := wire.Seal(sealed{p.Signature})
	switch {
	case p.Call != nil:
		r.calls = true
		r.Go(llm.Call{ID: p.Call.ID, Name: p.Call.Name, Input: wire.Arguments(p.Call.Args), Opaque: opaque, By: by(r.model, opaque)})
	case p.Thought && (p.Text != "" || opaque != nil):
		r.Go(llm.Thinking{Text: p.Text, Opaque: opaque, By: r.model})
	case p.Text != "" || opaque != nil:
		r.Go(llm.Text{Text: p.Text, Opaque: opaque, By: by(r.model, opaque)})
	}
}

// by returns model for a part with an Opaque, which is for that model alone.
func by(model string, opaque json.RawMessage) string {
	if opaque == nil {
		return ""
	}
	return model
}

// ending returns the meaning of a finishReason; "" for one that no reply ends with.
func ending(finish string) llm.Stop {
	switch finish {
	case "STOP", "FUNCTION_CALL": // the second from servers that imitate Google
		return llm.End
	case "MAX_TOKENS":
		return llm.Length
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return llm.Filter
	}
	return ""
}

// Last implements [wire.Reply].
func (r *reply) Last() (llm.Delta, error) {
	stop := ending(r.finish)
	switch {
	case r.finish == "":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without a finishReason")}
	case r.finish == "MALFORMED_FUNCTION_CALL", r.finish == "UNEXPECTED_TOOL_CALL", r.finish == "TOO_MANY_TOOL_CALLS",
		r.finish == "MALFORMED_RESPONSE", r.finish == "MISSING_THOUGHT_SIGNATURE", r.finish == "OTHER":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: fmt.Errorf("the provider could not parse what the model wrote: %s",
			wire.OneLine(cmp.Or(r.message, r.finish), 200))}
	case stop == "":
		if err := wire.Ended(r.finish, r.Began()); err != nil {
			return llm.Delta{}, err
		}
		stop = llm.End
	}
	if stop == llm.End && r.calls {
		stop = llm.ToolUse
	}
	return llm.Delta{Stop: stop, Usage: r.usage}, nil
}
