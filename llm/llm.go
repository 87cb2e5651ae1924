// Package llm is the vocabulary of everything that talks to a language model:
// messages and their parts, requests, streamed replies, errors, and the
// one-method [Model] interface. It knows no provider, and it does not know
// that tools can run.
//
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		System:   "You are terse.",
//		Messages: []llm.Message{llm.Say(llm.User, "What is 2+2?")},
//	})
//
// Retry, failover, recording and the like are functions from Model to Model.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
)

// A Role says who speaks.
type Role string

// The roles. Instructions are not a message: see [Request.System].
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // the results of the calls in the message before, in call order
)

// A Message is one turn of a conversation.
type Message struct {
	Role  Role  `json:"role"`
	Parts Parts `json:"parts"`
}

// A Part is a piece of a message. The set is closed: [Text], [Thinking],
// [Blob], [Call], [Result] and [Unknown].
//
// Where a part has Opaque, it is what the provider that made the part needs
// back unchanged (a signature, its own id), as JSON; By names the model it
// came from. Other providers ignore Opaque.
type Part interface{ part() }

// Text is prose.
type Text struct {
	Text   string
	Opaque json.RawMessage
	By     string
}

// Thinking is the model's reasoning. It is shown to people and sent back only
// to the model that made it.
type Thinking struct {
	Text   string
	Opaque json.RawMessage
	By     string
}

// A Blob is an image or a file.
type Blob struct {
	MIME string
	Name string // a file name for people, if it has one
	Data []byte
}

// A Call asks for a tool to be used.
type Call struct {
	ID     string
	Name   string
	Input  string // exactly as the model wrote it, whether or not it is JSON
	Opaque json.RawMessage
	By     string
}

// A Result answers the [Call] with the same ID.
type Result struct {
	ID      string
	Parts   Parts
	IsError bool
}

// Unknown is a part of a kind that this version does not know. It is kept and
// encoded again unharmed, and sent to no model.
type Unknown struct{ Raw json.RawMessage }

func (Text) part()     {}
func (Thinking) part() {}
func (Blob) part()     {}
func (Call) part()     {}
func (Result) part()   {}
func (Unknown) part()  {}

// Parts is a list of parts that knows how to encode itself as JSON.
type Parts []Part

// Say returns a message of one text part.
func Say(role Role, text string) Message {
	return Message{Role: role, Parts: Parts{Text{Text: text}}}
}

// Text returns the prose of ps, without thinking, calls and results.
func (ps Parts) Text() string {
	var b strings.Builder
	for _, p := range ps {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Text returns the prose of m, without thinking and calls.
func (m Message) Text() string { return m.Parts.Text() }

// Calls returns the tool calls in m, in order.
func (m Message) Calls() []Call {
	var cs []Call
	for _, p := range m.Parts {
		if c, ok := p.(Call); ok {
			cs = append(cs, c)
		}
	}
	return cs
}

// A ToolSpec tells the model what a tool is for.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"` // JSON Schema of the input, an object
}

// A Request is everything that a model needs to reply.
//
// Adapters read a Request and never change it.
type Request struct {
	System   string
	Messages []Message
	Tools    []ToolSpec
	Settings Settings

	// Fixed is how many of Messages will stand unchanged at the head of
	// every later request with the same Memo. What follows is of the moment
	// (a nudge) and must not be kept.
	Fixed int

	// Memo, if not nil, is where an adapter keeps what it encoded for this
	// conversation, so that each message is encoded once. System, Tools and
	// Settings do not change under one Memo.
	Memo *Memo
}

// A Memo is what adapters remember of one conversation between its requests.
// The zero Memo is empty. It is safe for concurrent use.
type Memo struct {
	mu   sync.Mutex
	kept map[any]any
}

// Load returns what was stored under key, or nil.
func (m *Memo) Load(key any) any {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[key]
}

// Store keeps value under key. Keys are the adapter's own, such as a pointer
// to itself. Storing in a nil Memo does nothing.
func (m *Memo) Store(key, value any) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = make(map[any]any)
	}
	m.kept[key] = value
}

// Settings shape a reply. The zero value leaves everything to the provider.
// An adapter that cannot honour a setting returns an [Error] of kind
// [Protocol] that names it, rather than dropping it.
type Settings struct {
	MaxTokens   int             `json:"max_tokens,omitempty"`  // limit of the reply
	Temperature *float64        `json:"temperature,omitempty"` // nil: the model's own
	Effort      string          `json:"effort,omitempty"`      // of reasoning: "low", "medium", "high"
	ToolChoice  string          `json:"tool_choice,omitempty"` // "" or "auto", "none", "required", or "tool:NAME"
	Schema      json.RawMessage `json:"schema,omitempty"`      // the reply's text is JSON that fits this schema
}

// A Model replies to conversations. Implementations are safe for concurrent
// use and keep nothing of one conversation for another.
type Model interface {
	// Stream sends req and returns the reply in fragments as they arrive.
	// The sequence is single-use and ends after the first error, which is
	// an [*Error] or the context's. A reply that ended properly has a last
	// delta with Stop set; without one it broke off. Breaking out of the
	// loop, or ending ctx, ends the request.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// A Delta is the next fragment of a reply.
type Delta struct {
	// Part is the index in the reply of the part that Piece extends, or of
	// a new part: at most one past the last.
	Part int
	// Piece is a fragment of Text, of Thinking, or of a Call's Input; or a
	// whole part of any kind. ID, Name, Opaque and By replace what is there
	// when they are not empty.
	Piece Part
	// Reset says that what was streamed so far is void and begins again.
	Reset bool
	// Stop says why the reply ended; only on the last delta.
	Stop Stop
	// Usage counts the tokens of the request; the last one given counts.
	Usage *Usage
	// By is which model speaks from here on, if it is not the one that was
	// asked: see [Failover].
	By string
}

// Stop is why a reply ended.
type Stop string

// The reasons. Only [End] and [ToolUse] are good ends: see [Stop.Whole].
const (
	End     Stop = "end"
	ToolUse Stop = "tool_use"
	Length  Stop = "length"  // cut at the output limit
	Filter  Stop = "filter"  // withheld by the provider
	Refusal Stop = "refusal" // the model would not
)

// Whole reports whether a reply that ended so says all that it was to say.
func (s Stop) Whole() bool { return s == End || s == ToolUse }

// Usage counts tokens. Input is everything that was read and includes Cached;
// Output is everything that was written and includes Reasoning.
type Usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	Cached     int `json:"cached_tokens,omitempty"`      // of Input: read from the provider's cache
	CacheWrite int `json:"cache_write_tokens,omitempty"` // of Input: written to it
	Reasoning  int `json:"reasoning_tokens,omitempty"`   // of Output
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached,
		u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning}
}

// Total is all tokens, read and written.
func (u Usage) Total() int { return u.Input + u.Output }
