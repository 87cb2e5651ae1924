package server

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Prompt is what a provider's cache sees of a request: the tools, the
// system text and the messages as they stand in the body, each value compacted.
// Sampling settings and the model's name are not part of it.
type Prompt struct {
	Values []Value
}

// A Value is one piece of a prompt.
type Value struct {
	Role string // of a message; "" for the tools and a system text of its own
	Raw  []byte
}

// ParsePrompt reads the prompt of a Chat Completions body, in the canonical
// order: tools, system, messages.
func ParsePrompt(body []byte) (Prompt, error) {
	var doc struct {
		Tools    json.RawMessage   `json:"tools"`
		System   json.RawMessage   `json:"system"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return Prompt{}, fmt.Errorf("a request body: %w", err)
	}
	var p Prompt
	for _, raw := range []json.RawMessage{doc.Tools, doc.System} {
		if raw != nil {
			p.Values = append(p.Values, Value{Raw: compact(raw)})
		}
	}
	for _, raw := range doc.Messages {
		var m struct {
			Role string `json:"role"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return Prompt{}, fmt.Errorf("a message: %w", err)
		}
		p.Values = append(p.Values, Value{m.Role, compact(raw)})
	}
	return p, nil
}

// compact drops white space between tokens. Nothing else changes: the order of
// keys and the spelling of strings count.
func compact(raw []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		panic(err) // raw came out of a decoder
	}
	return b.Bytes()
}

// Len is the number of bytes of p.
func (p Prompt) Len() int {
	n := 0
	for _, v := range p.Values {
		n += len(v.Raw)
	}
	return n
}

// Kept compares p with the prompt of the next request: how many of p's bytes
// it has at its beginning, out of how many that count. All count but those of
// p's last message, if it is of the user's or the system's role and is gone:
// that is the one message of the moment (a nudge, the budget that is left).
func (p Prompt) Kept(next Prompt) (kept, of int, moment bool) {
	of = p.Len()
	for i, v := range p.Values {
		if i < len(next.Values) && bytes.Equal(v.Raw, next.Values[i].Raw) {
			kept += len(v.Raw)
			continue
		}
		if i > 0 && i == len(p.Values)-1 && ofTheMoment(v.Role) {
			return kept, of - len(v.Raw), true
		}
		if i < len(next.Values) {
			kept += CommonPrefix(v.Raw, next.Values[i].Raw)
		}
		break
	}
	return kept, of, false
}

func ofTheMoment(role string) bool {
	return role == "user" || role == "system" || role == "developer"
}

// A Prefix sums up how much of each prompt was at the beginning of the next.
// A request for a summary is compared with the one before it alone: what
// comes after it goes on from that one.
type Prefix struct {
	Kept, Of int   // outside of declared cuts
	Breaks   []int // the requests, from 1, whose prompt was not wholly kept by the next, with no cut declared
	Cuts     []int // the same, where the next says that something was left out
	Moments  int   // the messages of the moment that were left out

	Summaries            int // requests for a summary
	SharedKept, SharedOf int // of their bytes before the asking: those at the beginning of the request before
}

// Ratio is Kept over Of; 1 if there was nothing to keep.
func (p Prefix) Ratio() float64 {
	if p.Of == 0 {
		return 1
	}
	return float64(p.Kept) / float64(p.Of)
}

// Prefix computes the cached-prefix ratio of a run. It decodes every body, so
// it is for afterwards.
func (r *Run) Prefix() (Prefix, error) {
	var sum Prefix
	var last Prompt
	n := 0
	for body := range r.Bodies() {
		p, err := ParsePrompt(body)
		if err != nil {
			return sum, fmt.Errorf("request %d: %w", n+1, err)
		}
		switch {
		case n > 0 && r.Records[n].Summary:
			sum.Summaries++
			kept, of := p.Before().In(last)
			sum.SharedKept, sum.SharedOf = sum.SharedKept+kept, sum.SharedOf+of
			n++
			continue
		case n > 0:
			sum.add(n, last, p)
		}
		last, n = p, n+1
	}
	return sum, nil
}

// add compares p, the prompt of request n, with the next.
func (sum *Prefix) add(n int, p, next Prompt) {
	kept, of, moment := p.Kept(next)
	if kept < of && p.leftOut() != next.leftOut() {
		sum.Cuts = append(sum.Cuts, n)
		return
	}
	sum.Kept, sum.Of = sum.Kept+kept, sum.Of+of
	if moment {
		sum.Moments++
	}
	if kept < of {
		sum.Breaks = append(sum.Breaks, n)
	}
}

// Before is p without its last message.
func (p Prompt) Before() Prompt { return Prompt{p.Values[:max(0, len(p.Values)-1)]} }

// In returns how many bytes p has, and how many of them are at the beginning
// of other.
func (p Prompt) In(other Prompt) (kept, of int) {
	kept, of, _ = Prompt{append(p.Values[:len(p.Values):len(p.Values)], Value{})}.Kept(other)
	return kept, of
}

// leftOut says what a declared cut left out of p: it differs before and after
// one.
func (p Prompt) leftOut() string {
	var places []byte
	for i, v := range p.Values {
		if bytes.Contains(v.Raw, []byte("left out to make room")) {
			places = fmt.Appendf(places, "%d:%d ", i, len(v.Raw))
		}
	}
	return string(places)
}
