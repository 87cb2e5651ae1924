package llm

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Sound returns a Model that notices replies of m that are none: nothing but white space,
// a call that is written as text, and a text that repeats itself, which it breaks off. It
// asks again, with a word of what was wrong, twice at most; after that such a reply is an
// [Error] of kind [Protocol].
//
// It goes on with a text that was cut at the output limit, four times at most, and the
// pieces are one reply. That needs more tokens than the request allows, so it is done only
// where the request has the limit most, which is the one that is configured.
//
// onFault, if not nil, is called with what was wrong before m is asked again.
func Sound(m Model, most int, onFault func(error)) Model { return &sound{m, most, onFault} }

// A sound is the Model of [Sound].
type sound struct {
	model   Model
	most    int
	onFault func(error)
}

// The most replies that are asked for in place of one, and the most pieces of one.
const (
	maxFaults = 3
	maxPieces = 5
)

const goOn = "Your reply was cut off at the limit of its length. Go on exactly where it stops, in the middle of the word if it stops there. Repeat nothing, and do not say that you go on."

// Stream implements [Model].
func (s *sound) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		told := *req
		for n := 1; ; n++ {
			h := &hearing{yield: yield, tools: req.Tools}
			last, err := h.whole(ctx, s, &told)
			if h.over {
				return
			}
			f := h.fault(last)
			if err != nil || f.what == "" {
				yield(last, err)
				return
			}
			if !yield(Delta{Usage: last.Usage}, nil) {
				return
			}
			why := &Error{Kind: Protocol, Permanent: true, Err: fmt.Errorf("the model's reply %s", f.what)}
			if n == maxFaults {
				why.Err = fmt.Errorf("%w, as the %d before it", why.Err, n-1)
				yield(Delta{}, why)
				return
			}
			if s.onFault != nil {
				s.onFault(fmt.Errorf("%w; it is asked again", why))
			}
			if !yield(Delta{Reset: true}, nil) {
				return
			}
			told.Messages = append(slices.Clip(req.Messages), Say(User, f.say))
		}
	}
}

// A fault is what is wrong with a reply, for people and for the model; "" if nothing is.
type fault struct{ what, say string }

// A hearing is what was heard of one reply. It passes everything on but the last delta.
type hearing struct {
	yield func(Delta, error) bool
	tools []ToolSpec
	over  bool // the consumer has stopped, or was told of an error

	reply  Reply
	usage  Usage
	tail   []byte // the end of the text or the thinking that grows
	fresh  int    // bytes of it that were not looked at
	kind   int    // of what grows: 1 is text, 2 is thinking
	repeat bool
}

// whole hears a reply, and what follows it where it was cut. It returns the last delta.
func (h *hearing) whole(ctx context.Context, s *sound, req *Request) (Delta, error) {
	told := *req
	var last Delta
	for n := 1; ; n++ {
		d, err := h.piece(ctx, s.model, &told)
		if err != nil && n > 1 && ctx.Err() == nil { // what was heard stays
			return last, nil
		}
		last.Stop = d.Stop
		if d.Usage != nil {
			h.usage = sum(h.usage, *d.Usage)
			u := h.usage
			last.Usage = &u
		}
		parts := h.reply.Message.Parts
		if err != nil || h.over || h.repeat || d.Stop != Length || n == maxPieces || req.Settings.MaxTokens != s.most || !endsInText(parts) {
			return last, err
		}
		told.Messages = append(slices.Clip(req.Messages), Message{Assistant, parts}, Say(User, goOn))
	}
}

// sum returns the usage of two requests of which the second has read again what the first
// has read: what was read counts once, and what was written twice.
func sum(a, b Usage) Usage {
	if a == (Usage{}) {
		return b
	}
	a.Output, a.Reasoning, a.Estimated = a.Output+b.Output, a.Reasoning+b.Reasoning, a.Estimated+b.Estimated
	return a
}

// endsInText reports whether a reply has no calls, and ends with text that says something.
func endsInText(parts Parts) bool {
	if len(parts) == 0 || len((Message{Parts: parts}).Calls()) > 0 {
		return false
	}
	t, ok := parts[len(parts)-1].(Text)
	return ok && strings.TrimSpace(t.Text) != ""
}

// piece hears the reply to one request, which goes on with what was heard before.
func (h *hearing) piece(ctx context.Context, m Model, req *Request) (last Delta, err error) {
	before := slices.Clone(h.reply.Message.Parts)
	at := map[int]int{} // the parts of this reply in the whole one; -1: it is left out
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return Delta{}, err
		}
		if d.Stop != "" {
			last = d
			continue
		}
		if d.Reset && len(before) > 0 {
			clear(at)
			if !h.pass(Delta{Reset: true, Aside: d.Aside}) {
				return Delta{}, nil
			}
			for i, p := range before {
				if !h.pass(Delta{Part: i, Piece: p}) {
					return Delta{}, nil
				}
			}
			d.Reset, d.Aside = false, nil
		}
		if d.Piece != nil && len(before) > 0 {
			if d.Part, d.Piece = h.place(at, d.Part, d.Piece, len(before)-1); d.Part < 0 {
				d.Part, d.Piece = 0, nil
			}
		}
		if !h.pass(d) {
			return Delta{}, nil
		}
		if h.repeat {
			return Delta{Stop: End, Usage: last.Usage}, nil
		}
	}
	if last.Stop == "" {
		return Delta{}, brokeOff(ctx)
	}
	return last, nil
}

// place returns where a piece of a reply that goes on with another one belongs: its first
// text extends the text that was cut, other parts follow, and thinking is left out.
func (h *hearing) place(at map[int]int, part int, p Part, cut int) (int, Part) {
	to, known := at[part]
	if !known {
		to = len(h.reply.Message.Parts)
		switch p.(type) {
		case Thinking:
			to = -1
		case Text:
			if to == cut+1 {
				to = cut
			}
		}
		at[part] = to
	}
	if t, is := p.(Text); is && to == cut {
		t.Opaque, t.By = nil, ""
		p = t
	}
	return to, p
}

// pass passes a delta on and looks for repetitions. It reports whether somebody listens.
func (h *hearing) pass(d Delta) bool {
	if err := h.reply.Add(d); err != nil {
		h.over = true
		h.yield(Delta{}, err)
		return false
	}
	if d.Reset {
		h.tail, h.fresh = nil, 0
	}
	switch p := d.Piece.(type) {
	case Text:
		h.look(1, p.Text)
	case Thinking:
		h.look(2, p.Text)
	}
	if !h.yield(d, nil) {
		h.over = true
	}
	return !h.over
}

// A text that is the same thing over and over for tailSize bytes is a loop: see periodic.
const tailSize = 8 << 10

// look looks at more of a text.
func (h *hearing) look(kind int, more string) {
	if kind != h.kind {
		h.kind, h.tail, h.fresh = kind, nil, 0
	}
	h.tail = append(h.tail, more...)
	h.fresh += len(more)
	if len(h.tail) < tailSize || h.fresh < tailSize/4 {
		return
	}
	h.fresh, h.tail = 0, slices.Clone(h.tail[len(h.tail)-tailSize:])
	h.repeat = h.repeat || periodic(h.tail)
}

// periodic reports whether text is one piece of at most a sixteenth of it, over and over.
func periodic(text []byte) bool {
	border := make([]int, len(text)) // the longest beginning that text[:i+1] ends with, too
	for i := 1; i < len(text); i++ {
		n := border[i-1]
		for n > 0 && text[i] != text[n] {
			n = border[n-1]
		}
		if text[i] == text[n] {
			n++
		}
		border[i] = n
	}
	return len(text)-border[len(text)-1] <= len(text)/16
}

// fault returns what is wrong with the reply that ended with last.
func (h *hearing) fault(last Delta) fault {
	m := h.reply.Message
	text := m.Text()
	switch {
	case h.repeat:
		return fault{"repeats itself without end", "You wrote the same thing over and over, and were stopped. Take another way, and be brief."}
	case !last.Stop.Whole() || len(m.Calls()) > 0:
		return fault{}
	case strings.TrimSpace(text) == "":
		return fault{"is empty", "Your last reply was empty. Use a tool, or answer the person in words."}
	case h.written(text):
		return fault{"has a call of a tool that is written as text", "You wrote the call of a tool as text, where nobody reads it. Make the call itself, with the tools that you are given."}
	}
	return fault{}
}

// callMarks matches how models begin calls that they write as text.
var callMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<tool_call>|<function=|<function_calls?>|<invoke name=|<\|?tool[_▁]calls?|\[TOOL_CALLS\]|<\|python_tag\|>|to=functions\.`)
})

// written reports whether text ends with the call of a tool that there is, outside of a
// block of code.
func (h *hearing) written(text string) bool {
	if len(h.tools) == 0 {
		return false
	}
	at := callMarks().FindStringIndex(text)
	if at == nil || strings.Count(text[:at[0]], "```")%2 == 1 || strings.Count(text[:at[0]], "`")%2 == 1 {
		return false
	}
	call := strings.TrimSpace(text[at[0]:])
	named := slices.ContainsFunc(h.tools, func(t ToolSpec) bool { return strings.Contains(call, t.Name) })
	return named && strings.ContainsAny(call[len(call)-1:], ">}])")
}
