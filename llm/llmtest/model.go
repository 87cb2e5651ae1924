// Package llmtest is for tests of what talks to models: [Model] is a model
// that is a function, and [Run] is the suite that every adapter passes.
//
//	m := llmtest.Script(
//		llmtest.Use("a", "grep", map[string]any{"pattern": "x"}),
//		llmtest.Say("There are three."),
//	)
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/openmanus-go/openmanus/llm"
)

// A Model replies with what a function of the request returns, so that the
// same conversation always gets the same reply, however often it is asked.
//
// It stops for [llm.ToolUse] if the reply has calls, else for [llm.End], and
// says that each reply cost 10 tokens of input and 5 of output. Like a real
// model, it streams text in two fragments and a call's name before its input.
type Model struct {
	Reply func(req *llm.Request) llm.Message // safe for concurrent use
	Asked atomic.Int64                       // how often it was asked
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.Asked.Add(1)
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		msg := m.Reply(req)
		for i, p := range msg.Parts {
			for _, piece := range pieces(p) {
				if !yield(llm.Delta{Part: i, Piece: piece}, nil) {
					return
				}
			}
		}
		stop := llm.End
		if len(msg.Calls()) > 0 {
			stop = llm.ToolUse
		}
		yield(llm.Delta{Stop: stop, Usage: &llm.Usage{Input: 10, Output: 5}}, nil)
	}
}

// pieces returns the fragments in which a part is streamed.
func pieces(p llm.Part) []llm.Part {
	switch p := p.(type) {
	case llm.Text:
		if half := len(p.Text) / 2; half > 0 {
			return []llm.Part{llm.Text{Text: p.Text[:half]}, llm.Text{Text: p.Text[half:], Opaque: p.Opaque, By: p.By}}
		}
	case llm.Call:
		begin := p
		begin.Input = ""
		return []llm.Part{begin, llm.Call{Input: p.Input}}
	}
	return []llm.Part{p}
}

// Script returns a model that gives the n-th reply to a conversation in which
// the assistant has spoken n times. After the last reply it says that the
// script is over.
func Script(replies ...llm.Message) *Model {
	return &Model{Reply: func(req *llm.Request) llm.Message {
		n := Spoken(req)
		if n >= len(replies) {
			return Say(fmt.Sprintf("(the script is over: no reply %d)", n))
		}
		return replies[n]
	}}
}

// Spoken returns how many messages of req are the assistant's.
func Spoken(req *llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

// Say returns a reply in prose.
func Say(text string) llm.Message { return llm.Say(llm.Assistant, text) }

// Use returns a reply that calls a tool. An input that is a string is the
// arguments as they are; anything else is encoded as JSON. It panics if that
// cannot be done.
func Use(id, name string, input any) llm.Message {
	s, ok := input.(string)
	if !ok {
		b, err := json.Marshal(input)
		if err != nil {
			panic(fmt.Sprintf("llmtest.Use: input of %s: %v", name, err))
		}
		s = string(b)
	}
	return llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: id, Name: name, Input: s}}}
}

// Calls returns one reply with all parts of messages, such as several calls,
// or a sentence and a call.
func Calls(messages ...llm.Message) llm.Message {
	all := llm.Message{Role: llm.Assistant}
	for _, m := range messages {
		all.Parts = append(all.Parts, m.Parts...)
	}
	return all
}
