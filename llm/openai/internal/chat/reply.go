package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// A chunk is the part of a chunk of a stream, or of a whole completion, that
// matters here.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	// of llama.cpp, while it reads the prompt
	Progress struct {
		Total     wire.Count `json:"total"`
		Processed wire.Count `json:"processed"`
	} `json:"prompt_progress"`
}

// A choice is a choice of a chunk.
type choice struct {
	Index   int      `json:"index"`
	Delta   *message `json:"delta"`
	Message *message `json:"message"`
	Finish  string   `json:"finish_reason"`
}

// A message is a delta of a chunk, or the message of a completion.
type message struct {
	Content   content    `json:"content"`
	Refusal   string     `json:"refusal"`
	ToolCalls []callPart `json:"tool_calls"`

	thought string // reasoning between tags
	extra   extra
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *message) UnmarshalJSON(data []byte) error {
	type plain message
	err := json.Unmarshal(data, (*plain)(m))
	m.extra = extraOf(data)
	return err
}

// A callPart is a fragment of a call, or a whole call.
type callPart struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`

	extra extra
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *callPart) UnmarshalJSON(data []byte) error {
	type plain callPart
	err := json.Unmarshal(data, (*plain)(c))
	c.extra = extraOf(data)
	return err
}

// A function is the function of a call.
type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`

	extra extra
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *function) UnmarshalJSON(data []byte) error {
	type plain function
	err := json.Unmarshal(data, (*plain)(f))
	f.extra = extraOf(data)
	return err
}

// prose is text: a string, or a list of parts with text.
type prose string

// UnmarshalJSON implements [json.Unmarshaler].
func (p *prose) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, (*string)(p))
	}
	var parts []proseParts
	err := json.Unmarshal(data, &parts)
	for _, part := range parts {
		*p += part.Text + part.Summary + part.Thinking
	}
	return err
}

// proseParts is a part with text.
type proseParts struct {
	Text     prose `json:"text"`
	Summary  prose `json:"summary"`  // in reasoning_details
	Thinking prose `json:"thinking"` // in thinking_blocks, and in the content of Mistral, where it is a list
}

// A content is the content of a message: text, and reasoning where a server gives both in
// one list.
type content struct{ text, thought prose }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, &c.text)
	}
	var parts []proseParts
	err := json.Unmarshal(data, &parts)
	for _, part := range parts {
		c.text += part.Text + part.Summary
		c.thought += part.Thinking
	}
	return err
}

// arguments are an object, or an object in a string.
type arguments string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *arguments) UnmarshalJSON(data []byte) error {
	if data[0] == '"' || data[0] == 'n' {
		return json.Unmarshal(data, (*string)(a))
	}
	*a = arguments(data)
	return nil
}

// usage counts tokens, in the fields of OpenAI, DeepSeek and others.
type usage struct {
	Prompt        wire.Count `json:"prompt_tokens"`
	Completion    wire.Count `json:"completion_tokens"`
	Total         wire.Count `json:"total_tokens"`
	CacheHit      wire.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDetails struct {
		Cached wire.Count `json:"cached_tokens"`
		Write  wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// neutral returns u as [llm.Usage]; nil if there is none.
func (u *usage) neutral() *llm.Usage {
	if u == nil {
		return nil
	}
	cached, reasoning := max(u.PromptDetails.Cached, u.CacheHit), u.CompletionDetails.Reasoning
	out := u.Completion
	if u.Total == u.Prompt+u.Completion+reasoning || reasoning > out {
		out += reasoning // xAI counts it beside the completion
	}
	return &llm.Usage{
		Input: int(u.Prompt), Output: int(out), Cached: int(min(cached, u.Prompt)),
		CacheWrite: int(min(u.PromptDetails.Write, u.Prompt)), Reasoning: int(reasoning),
	}
}

// A reply turns the chunks of a response into deltas.
type reply struct {
	wire.Voice
	model    string
	text     int // the index of the part with the text; -1: there is none yet
	thinking int // the index of the part with the thinking; -1: there is none yet
	calls    []*call
	choice   *int // the number of the choice that is read; nil: none has come
	tags     tags
	thoughts strings.Builder // the text of the thinking
	tagged   bool            // some of it stood between tags
	extra    collector
	sealed   bool // the fields of the server so far were yielded

	finish  string // why it ended; "" until it has
	refused bool
	usage   *llm.Usage
	counted bool // a chunk with nothing but the usage came
	done    bool // [DONE] came
}

// A call is a call of the reply that has begun.
type call struct {
	part  int
	index *int
	id    string
	name  string
	input strings.Builder // its arguments

	extra, function collector
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(wire.Events(body), &reply{Voice: wire.Voice{Yield: yield}, model: model, text: -1, thinking: -1}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.finish != "", r.done }

// Add implements [wire.Reply].
func (r *reply) Add(data []byte) error {
	if bytes.Equal(data, []byte("[DONE]")) {
		r.done = true
		return nil
	}
	var c chunk
	if err := wire.Decode(data, &c, func() bool { return len(c.Choices) > 0 }); err != nil {
		return err
	}
	r.Progress(int(c.Progress.Processed), int(c.Progress.Total))
	if u := c.Usage.neutral(); u != nil {
		r.usage = u
		r.counted = r.counted || len(c.Choices) == 0
	}
	if r.choice == nil && len(c.Choices) > 0 { // one was asked for: the first, whatever its number
		least := slices.MinFunc(c.Choices, func(a, b choice) int { return a.Index - b.Index })
		r.choice = &least.Index
	}
	for _, choice := range c.Choices {
		if choice.Index != *r.choice {
			continue
		}
		if m := choice.Delta; m != nil {
			r.say(m, false)
		} else if m := choice.Message; m != nil {
			for i := range m.ToolCalls { // which are whole
				m.ToolCalls[i].Index = &i
			}
			r.say(m, true)
		}
		if choice.Finish != "" && r.tags.held != "" {
			r.say(r.tags.rest(), false)
		}
		if stop, _ := ending(choice.Finish); choice.Finish != "" && (r.finish == "" || !stop.Whole()) {
			r.finish = choice.Finish
		}
	}
	if r.finish == "" {
		return wire.ErrorBeside(data)
	}
	if !r.sealed {
		r.seal()
	}
	return nil
}

// imply ends a reply that has its end, [DONE] or the usage, and no finish_reason, which
// some servers leave out. It does not end one that is half a call or nothing.
func (r *reply) imply() {
	half := func(c *call) bool { return c.input.Len() > 0 && !json.Valid([]byte(c.input.String())) }
	if r.finish != "" || !r.done && !r.counted || r.text < 0 && len(r.calls) == 0 || slices.ContainsFunc(r.calls, half) {
		return
	}
	if r.tags.held != "" {
		r.say(r.tags.rest(), false)
	}
	r.finish = "stop"
	r.seal()
}

// seal yields the fields of the server with the parts to which they belong. Those of
// a chunk after the last one count, too.
func (r *reply) seal() {
	r.sealed = true
	if r.thinking >= 0 || !r.extra.silent() || r.extra.texts != nil && len(r.calls) > 0 {
		own := r.extra.seal(r.thoughts.String())
		if r.tagged {
			own.Text = append(own.Text, tagged)
		}
		if opaque := own.opaque(); opaque != nil {
			r.Say(r.at(&r.thinking), llm.Thinking{Opaque: opaque, By: r.model})
		}
	}
	for _, c := range r.calls {
		if opaque := (sealed{Fields: c.extra.all(), Function: c.function.all()}).opaque(); opaque != nil {
			r.Say(c.part, llm.Call{Opaque: opaque, By: r.model})
		}
	}
}

// say yields the text and the thinking of a delta, or of a whole message.
func (r *reply) say(m *message, whole bool) {
	r.sealed = false
	r.extra.add(m.extra, whole)
	between, text := r.tags.split(string(m.Content.text))
	for _, thought := range []string{m.extra.thought(), string(m.Content.thought), m.thought, between} {
		if thought != "" {
			r.thoughts.WriteString(thought)
			r.Say(r.at(&r.thinking), llm.Thinking{Text: thought, By: r.model})
		}
	}
	r.tagged = r.tagged || between != "" || m.thought != ""
	for _, s := range []string{text, m.Refusal} {
		if s != "" {
			r.Say(r.at(&r.text), llm.Text{Text: s})
		}
	}
	r.refused = r.refused || m.Refusal != ""
	for _, t := range m.ToolCalls {
		c, piece, news := r.call(t)
		if c.extra.add(t.extra, whole); news {
			r.Say(c.part, piece)
		}
		c.function.add(t.Function.extra, whole)
	}
}

// at returns the index of a part, and starts the part if the index is -1.
func (r *reply) at(part *int) int {
	if *part < 0 {
		*part = r.Part()
	}
	return *part
}

// call returns the call that a fragment extends, and what it adds; news is false if
// it adds nothing.
func (r *reply) call(t callPart) (c *call, piece llm.Call, news bool) {
	if c = r.repeated(t); c != nil {
		return c, piece, false
	}
	if c = r.find(t); c == nil {
		c, news = &call{part: r.Part(), index: t.Index}, true
		r.calls = append(r.calls, c)
	}
	piece.Input = string(t.Function.Arguments)
	if c.id == "" {
		c.id, piece.ID = t.ID, t.ID
	}
	if name := t.Function.Name; name != "" && name != c.name {
		if strings.HasPrefix(name, c.name) { // the whole name, or the name so far repeated
			c.name = ""
		}
		c.name += name
		piece.Name = c.name
	}
	c.input.WriteString(piece.Input)
	return c, piece, news || piece.Input != "" || piece.ID != "" || piece.Name != ""
}

// find returns the call that a fragment continues; nil if it begins a call. An index
// distinguishes calls, but some servers leave it out, some use the same index for all, some
// give a call two, and some give later fragments other ids.
func (r *reply) find(t callPart) *call {
	var last *call
	named := t.Function.Name != ""
	for _, c := range slices.Backward(r.calls) {
		if named && t.Function.Arguments != "" && c.whole(t.Function.Name) {
			continue // nothing can follow what is whole
		}
		if t.Index != nil && c.index != nil && *t.Index != *c.index {
			continue
		}
		if t.ID != "" && t.ID == c.id {
			return c
		}
		if last == nil {
			last = c
		}
	}
	switch {
	case last == nil && !named && t.ID == "" && len(r.calls) > 0: // an index that nobody has begun
		if c := r.calls[len(r.calls)-1]; !c.whole(c.name) {
			return c
		}
	case last == nil, named && t.ID != "" && last.id != "", named && t.Index == nil && last.input.Len() > 0:
		return nil
	}
	return last
}

// whole reports whether the arguments of a call are an object, with something in it if more
// may follow for the same tool: some servers begin with an empty one.
func (c *call) whole(name string) bool {
	text := strings.TrimSpace(c.input.String())
	return len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' && (len(text) > 2 || name != c.name) && json.Valid([]byte(text))
}

// repeated returns the call that a fragment says once more as a whole; nil if it does not.
func (r *reply) repeated(t callPart) *call {
	for _, c := range r.calls {
		same := t.ID != "" && t.ID == c.id && (t.Index == nil || c.index == nil || *t.Index == *c.index)
		if same && t.Function.Name == c.name && c.input.Len() > 1 && c.input.String() == string(t.Function.Arguments) && json.Valid([]byte(t.Function.Arguments)) {
			return c
		}
	}
	return nil
}

// ending returns the meaning of a finish_reason. Servers have more of them than
// OpenAI.
func ending(finish string) (stop llm.Stop, known bool) {
	switch strings.ToLower(finish) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence":
		return llm.End, true
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return llm.ToolUse, true
	case "length", "max_tokens", "model_length":
		return llm.Length, true
	case "content_filter", "safety", "sensitive", "recitation":
		return llm.Filter, true
	case "refusal":
		return llm.Refusal, true
	}
	return "", false
}

// Last implements [wire.Reply].
func (r *reply) Last() (llm.Delta, error) {
	r.imply()
	stop, known := ending(r.finish)
	switch {
	case r.finish == "":
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without a finish_reason")}
	case r.finish == "error" || r.finish == "network_error" || r.finish == "insufficient_system_resource":
		return llm.Delta{}, &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the provider gave up in the middle of the reply: %s", r.finish)}
	case !known:
		if err := wire.Ended(r.finish, r.text >= 0 || len(r.calls) > 0); err != nil {
			return llm.Delta{}, err
		}
		stop = llm.End
	}
	switch {
	case r.refused && stop.Whole():
		stop = llm.Refusal
	case stop.Whole() && len(r.calls) > 0:
		stop = llm.ToolUse
	}
	return llm.Delta{Stop: stop, Usage: r.usage}, nil
}
