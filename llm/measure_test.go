package llm_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// A deltas model streams what it is given, and then the error.
type deltas struct {
	ds  []llm.Delta
	err error
}

func (m deltas) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range m.ds {
			if !yield(d, nil) {
				return
			}
		}
		if m.err != nil {
			yield(llm.Delta{}, m.err)
		}
	}
}

// Usage that a provider does not report is counted, and only that.
func TestMeasure(t *testing.T) {
	// half the bytes: 4 + 4 for the head, 4 + 10 for the message
	req := &llm.Request{System: "Be terse", Messages: []llm.Message{llm.Say(llm.User, "What is two plus two")}}
	const in = 4 + 4 + 4 + 10
	four := llm.Delta{Piece: llm.Text{Text: "It is four"}}
	end := llm.Delta{Stop: llm.End}
	reported := func(in, out int) llm.Delta {
		return llm.Delta{Stop: llm.End, Usage: &llm.Usage{Input: in, Output: out}}
	}
	for name, c := range map[string]struct {
		model deltas
		want  llm.Usage
		aside []llm.Aside
	}{
		"reported":       {deltas{ds: []llm.Delta{four, reported(9, 3)}}, llm.Usage{Input: 9, Output: 3}, nil},
		"none":           {deltas{ds: []llm.Delta{four, end}}, llm.Usage{Input: in, Output: 5, Estimated: in + 5}, nil},
		"zeros":          {deltas{ds: []llm.Delta{four, reported(0, 0)}}, llm.Usage{Input: in, Output: 5, Estimated: in + 5}, nil},
		"no output":      {deltas{ds: []llm.Delta{four, reported(9, 0)}}, llm.Usage{Input: 9, Output: 5, Estimated: 5}, nil},
		"no input":       {deltas{ds: []llm.Delta{four, reported(0, 3)}}, llm.Usage{Input: in, Output: 3, Estimated: in}, nil},
		"an empty reply": {deltas{ds: []llm.Delta{end}}, llm.Usage{Input: in, Estimated: in}, nil},
		"nothing heard":  {deltas{err: errors.New("refused")}, llm.Usage{}, nil},
		"it broke off":   {deltas{ds: []llm.Delta{four}}, llm.Usage{Input: in, Output: 5, Estimated: in + 5}, nil},
		"another attempt": {deltas{ds: []llm.Delta{four, {Reset: true}, four, reported(9, 3)}}, llm.Usage{Input: 9, Output: 3},
			[]llm.Aside{{Usage: llm.Usage{Input: in, Output: 5, Estimated: in + 5}}}},
		"an attempt of another model": {
			deltas{ds: []llm.Delta{{By: "a"}, four, {Usage: &llm.Usage{Input: 8, Output: 2}}, {Reset: true, By: "b"}, four, end}},
			llm.Usage{Input: in, Output: 5, Estimated: in + 5}, []llm.Aside{{By: "a", Usage: llm.Usage{Input: 8, Output: 2}}}},
		"another was asked on the way": {deltas{ds: []llm.Delta{{Aside: []llm.Aside{{By: "eye"}}}, four, reported(9, 3)}},
			llm.Usage{Input: 9, Output: 3}, []llm.Aside{{By: "eye"}}},
	} {
		r, _ := llm.Measure(t.Context(), c.model, nil, req, nil)
		same := len(r.Aside) == len(c.aside)
		for i := range min(len(r.Aside), len(c.aside)) {
			same = same && r.Aside[i] == c.aside[i]
		}
		if r.Usage != c.want || !same {
			t.Errorf("%s: %+v, aside %+v; want %+v, aside %+v", name, r.Usage, r.Aside, c.want, c.aside)
		}
	}
}
