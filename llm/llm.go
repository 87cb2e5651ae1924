// Package llm is the vocabulary of programs that talk to language models:
// messages and their parts, requests, streamed replies, errors, and the
// one-method [Model] interface. It knows no provider, runs no tool, and reaches
// no network.
//
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		System:   "You are terse.",
//		Messages: []llm.Message{llm.Say(llm.User, "What is 2+2?")},
//	})
//
// Behaviour is added by functions from Model to Model: [Retry], [Failover],
// [Watchdog] and [Deadline] deal with failures, [PromptTools], [ReadImages],
// [SpareImages] and [SpareFields] make up for what a model lacks. Adapters for providers are in the packages
// below this one, and llm/providers lists them.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
)

// A Role is the author of a message.
type Role string

// The roles. Instructions are not a message: see [Request.System].
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // the results of the calls in the message before, in call order
)

// A Message is one message of a conversation.
type Message struct {
	Role  Role  `json:"role"`
	Parts Parts `json:"parts"`
}

// A Part is a piece of a message. The set is closed: [Text], [Thinking],
// [Blob], [Call], [Result] and [Unknown].
//
// Opaque, in parts that have it, is JSON that the provider of the part needs back
// unchanged, such as a signature or an id. By names the model that wrote the
// part. Other models ignore Opaque.
type Part interface{ part() }

// Text is text for people.
type Text struct {
	Text   string
	Opaque json.RawMessage
	By     string
	View   bool // in the result of a call: see [Result]
}

// Thinking is the model's reasoning. People see it, and it goes back to the model
// that wrote it, and to no other.
type Thinking struct {
	Text   string
	Opaque json.RawMessage
	By     string
}

// A Blob is an image or a file.
type Blob struct {
	MIME string
	Name string // a file name for people; may be ""
	Data []byte
	View bool // in the result of a call: see [Result]
}

// A Call is the model's request to run a tool.
type Call struct {
	ID     string
	Name   string
	Input  string // the arguments exactly as the model wrote them, which may be no JSON
	Opaque json.RawMessage
	By     string

	// Ran is the repaired arguments with which the call ran, in place of Input, or "".
	// Models read them. They are not part of the JSON: see [Parts].
	Ran string
}

// A Result is the result of the [Call] with the same ID.
//
// Its parts with View show what the tool works on as it is after the call, such as
// the page in a browser. A conversation keeps such a text with the last call of
// the tool in a message only, and shows such a blob only once. Adapters treat
// them like any other part.
type Result struct {
	ID      string
	Parts   Parts
	IsError bool
}

// Unknown is a part of a kind that this version does not know, such as one from a
// newer journal. It is encoded again unchanged, and sent to no model.
type Unknown struct{ Raw json.RawMessage }

func (Text) part()     {}
func (Thinking) part() {}
func (Blob) part()     {}
func (Call) part()     {}
func (Result) part()   {}
func (Unknown) part()  {}

// Parts is a list of parts. Its JSON is an array of objects with a type, and has all
// that a model has written; [Call].Ran is no part of that.
type Parts []Part

// Say returns a message of one text part.
func Say(role Role, text string) Message {
	return Message{Role: role, Parts: Parts{Text{Text: text}}}
}

// Text returns the prose of ps, joined without separators. Thinking, calls, results and
// blobs are left out.
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

// Calls returns the tool calls in m, in the order in which the model made them. Calls
// within results do not count.
func (m Message) Calls() []Call {
	var cs []Call
	for _, p := range m.Parts {
		if c, ok := p.(Call); ok {
			cs = append(cs, c)
		}
	}
	return cs
}

// HasBlobs reports whether m has an image or a file, also in a result of a call.
func (m Message) HasBlobs() bool { return hasBlobs(m.Parts) }

func hasBlobs(parts Parts) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		_, is := p.(Blob)
		r, _ := p.(Result)
		return is || hasBlobs(r.Parts)
	})
}

// CallNames returns the names of the tools that the last reply in messages calls, by
// the ids of the calls. Adapters need it where a result has to name its tool.
func CallNames(messages []Message) map[string]string {
	names := map[string]string{}
	for _, m := range slices.Backward(messages) {
		if m.Role == Assistant {
			for _, c := range m.Calls() {
				names[c.ID] = c.Name
			}
			break
		}
	}
	return names
}

// A ToolSpec describes a tool to the model.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"` // JSON Schema of the input, an object
}

// A Request is everything that a model needs to reply. Adapters do not change it.
type Request struct {
	System   string
	Messages []Message
	Tools    []ToolSpec
	Settings Settings

	// Fixed is the number of Messages that begin every later request with the
	// same Memo, unchanged. The messages after them, such as a nudge, are for
	// this request only, and an adapter does not keep them.
	Fixed int

	// Memo, if not nil, is where an adapter keeps the encoded messages of this
	// conversation, so that each is encoded once and the prefix of the prompt
	// stays the same byte for byte, which providers' caches need. System, Tools
	// and Settings, but for Settings.MaxTokens, do not change under one Memo.
	Memo *Memo

	// Without are fields that the provider refuses, by its names ([Error].Field). Adapters
	// leave them out of the settings that they send.
	Without []string

	// Attempts is how often [Retry] makes the request, at most, in place of its
	// own limit. 0: that limit.
	Attempts int

	// Requests is how many requests [Sound] makes for a reply, at most, because a budget
	// has no room for more. 0: its own limits.
	Requests int

	// Size is about how many tokens the provider counts in the request, going by what it
	// reported of those before. 0: it reported none.
	Size int
}

// A Memo keeps data of adapters between the requests of one conversation. The
// zero Memo is empty. It is safe for concurrent use.
type Memo struct {
	mu   sync.Mutex
	kept map[any]any
}

// Load returns the value stored under key, or nil. A nil Memo has no values. It is safe
// for concurrent use.
func (m *Memo) Load(key any) any {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[key]
}

// Store keeps value under key. Adapters choose keys that are theirs alone, such as
// a pointer to the adapter. Storing in a nil Memo does nothing.
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

// under returns a Memo that m keeps under key, which is for another form of the same
// conversation; nil if m is nil.
func (m *Memo) under(key any) *Memo {
	if m == nil {
		return nil
	}
	kept, _ := m.Load(key).(*Memo)
	if kept == nil {
		kept = new(Memo)
		m.Store(key, kept)
	}
	return kept
}

// Settings shape a reply. The zero value leaves everything to the provider. An
// adapter that cannot honour a setting does not ignore it: it returns an [Error]
// of kind [Protocol] that names the setting.
type Settings struct {
	MaxTokens   int             `json:"max_tokens,omitempty"`  // limit of the reply
	Temperature *float64        `json:"temperature,omitempty"` // nil: the model's own
	Effort      string          `json:"effort,omitempty"`      // of reasoning: "low", "medium", "high"
	ToolChoice  string          `json:"tool_choice,omitempty"` // "" or "auto", "none", "required", or "tool:NAME"
	Schema      json.RawMessage `json:"schema,omitempty"`      // the reply's text is JSON that fits this schema
}

// A Model replies to conversations. Implementations are safe for concurrent use,
// and carry nothing from one conversation to another. The suite in package
// llmtest checks an implementation against this contract.
type Model interface {
	// Stream sends req and yields the reply in fragments as they arrive.
	//
	// The sequence is single-use. It ends after the first error, which is an
	// [*Error], or ctx's own if ctx ended. A complete reply has a last delta
	// with Stop set; a stream that ends without one broke off. The request ends
	// when the caller breaks out of the loop or ctx ends, and nothing is left
	// running then.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// A Delta is the next fragment of a reply. The zero Delta is a sign of life: the
// provider is at work, and has nothing to say yet.
type Delta struct {
	// Part is the index in the reply of the part that Piece extends, or of
	// a new part: at most one past the last.
	Part int
	// Piece is a fragment of Text, of Thinking, or of a Call's Input; or a
	// whole part of any kind. ID, Name, Opaque and By replace what is there
	// when they are not empty.
	Piece Part
	// Reset says that everything streamed so far is void, and the reply begins
	// again.
	Reset bool
	// Stop says why the reply ended; only on the last delta.
	Stop Stop
	// Usage counts the tokens of the request; the last one in a stream counts.
	Usage *Usage
	// Aside is what another model used on the way, which Usage does not include.
	// All of them in a stream count, those before a Reset too.
	Aside []Aside
	// By names the model that writes from here on, if it is not the one that was
	// asked: see [Failover].
	By string
	// Read is how much of the request the model has read, in per cent, before it writes;
	// 0: it is not told. Such a delta is a sign of life, too.
	Read int
}

// idle reports whether d is a sign of life, and nothing else.
func (d Delta) idle() bool {
	return d.Piece == nil && !d.Reset && d.Stop == "" && d.Usage == nil && d.Aside == nil && d.By == ""
}

// An Aside is what a model used that was asked on the way to a reply: to read an
// image to the model that replies ([ReadImages]), or in vain, before another
// attempt ([Measure]).
type Aside struct {
	By    string // the model; "": the one that was asked for the reply
	Usage Usage
}

// Stop is the reason why a reply ended.
type Stop string

// The reasons. After [End] and [ToolUse] a reply is complete: see [Stop.Whole].
const (
	End     Stop = "end"
	ToolUse Stop = "tool_use"
	Length  Stop = "length"  // cut at the output limit
	Filter  Stop = "filter"  // withheld by the provider
	Refusal Stop = "refusal" // the model would not
)

// Whole reports whether a reply that ended for this reason is complete.
func (s Stop) Whole() bool { return s == End || s == ToolUse }

// Usage counts the tokens of a request. Input is all that the model read, and
// includes Cached and CacheWrite. Output is all that it wrote, and includes
// Reasoning. A count that a provider does not report is 0, or estimated: see
// [Measure].
type Usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	Cached     int `json:"cached_tokens,omitempty"`      // of Input: read from the provider's cache
	CacheWrite int `json:"cache_write_tokens,omitempty"` // of Input: written to it
	Reasoning  int `json:"reasoning_tokens,omitempty"`   // of Output
	// of Input and Output: counted by this program, because no provider reported them
	Estimated int `json:"estimated_tokens,omitempty"`
}

// Add returns the sum of u and v, field by field. Neither is changed.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached,
		u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning, u.Estimated + v.Estimated}
}

// Total returns all tokens, read and written.
func (u Usage) Total() int { return u.Input + u.Output }
