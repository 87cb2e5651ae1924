package llm

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Sound returns a Model that notices replies of m that are none: nothing but white space,
// a call that is written as text or does not come, and a text, a call or calls that repeat
// themselves, which it breaks off. It
// asks again, with a word of what was wrong, twice at most; after that such a reply is an
// [Error] of kind [Protocol].
//
// It goes on with a text that was cut at the output limit, four times at most, and the
// pieces are one reply. That needs more tokens than the request allows, so it is done only
// where the request has the limit most, which is the one that is configured, and not in the
// middle of a call that is written as text. [Reply].Usage is that of the first piece, and
// each other one is a [Reply].Aside. All requests together are [Request].Requests at most.
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
		left := cmp.Or(req.Requests, maxFaults*maxPieces)
		for n := 1; ; n++ {
			h := &hearing{yield: yield, tools: req.Tools, left: &left}
			last, err := h.whole(ctx, s, &told)
			if h.over {
				return
			}
			f := h.fault(last)
			if err != nil || f.what == "" {
				yield(last, err)
				return
			}
			if !yield(Delta{Usage: last.Usage, Aside: last.Aside}, nil) {
				return
			}
			why := &Error{Kind: Protocol, Permanent: true, NoReply: true, Err: fmt.Errorf("the model's reply %s", f.what)}
			if n == maxFaults || left == 0 {
				if n > 1 {
					why.Err = fmt.Errorf("%w, as the %d before it", why.Err, n-1)
				}
				if n < maxFaults {
					why.Err = fmt.Errorf("%w; the budget has no room to ask once more", why.Err)
				}
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
	left  *int // the requests that may follow
	over  bool // the consumer has stopped, or was told of an error

	reply  Reply
	tail   []byte // the end of the text or the thinking that grows
	fresh  int    // bytes of it that were not looked at
	runs   [4]int // how many of its last bytes are each the one that is 1, 2, 3 or 4 before them
	blank  int    // how many of its last bytes are white space
	kind   int    // of what grows: 1 is text, 2 is thinking, callKind and more are the calls
	repeat bool
}

// whole hears a reply, and what follows it where it was cut. It returns the last delta.
func (h *hearing) whole(ctx context.Context, s *sound, req *Request) (Delta, error) {
	told := *req
	var last Delta
	for n := 1; ; n++ {
		*h.left--
		d, err := h.piece(ctx, s.model, &told)
		if err != nil && n > 1 && ctx.Err() == nil { // what was heard stays
			return last, nil
		}
		last.Stop = d.Stop
		if n == 1 {
			last.Usage, last.Aside = d.Usage, d.Aside
		} else {
			last.Aside = append(append(last.Aside, d.Aside...), Aside{h.reply.By, used(d, &told)})
		}
		parts := h.reply.Message.Parts
		if err != nil || h.over || h.repeat || d.Stop != Length || n == maxPieces || *h.left <= 0 ||
			req.Settings.MaxTokens != s.most || !endsInText(parts) || h.inCall(h.reply.Message.Text()) {
			return last, err
		}
		// what follows changes the parts in place, and a request does not change
		told.Messages = append(slices.Clip(req.Messages), Message{Assistant, slices.Clone(parts)}, Say(User, goOn))
	}
}

// used returns what a request that went on with a reply has used: without a report, what
// it had is estimated. The reply is counted as one, with all that the model wrote.
func used(last Delta, req *Request) Usage {
	if last.Usage != nil {
		return *last.Usage
	}
	n := CountHead(nil, req.System, req.Tools)
	for _, m := range req.Messages {
		n += Count(nil, m)
	}
	return Usage{Input: n, Estimated: n}
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
		h.forget()
	}
	switch p := d.Piece.(type) {
	case Text:
		h.look(1, p.Text)
	case Thinking:
		h.look(2, p.Text)
	case Call:
		h.look(callKind+d.Part, p.Input)
		h.repeat = h.repeat || sameCalls(h.reply.Message.Parts)
	}
	if !h.yield(d, nil) {
		h.over = true
	}
	return !h.over
}

// A text that is the same thing over and over for tailSize bytes is a loop: see periodic.
// So are runSize bytes of white space, or of one thing of four bytes at most: a model that
// is broken writes these at a token a byte, and the whole reply has few.
// Files that calls write have more of it: they are loops at callLoops times as much, and so
// are maxSame calls that are the same.
const (
	tailSize  = 8 << 10
	runSize   = 2 << 10
	callLoops = 4
	maxSame   = 20
)

// callKind is the kind of what grows in the first part, if that is a call.
const callKind = 3

// sameCalls reports whether a reply ends with maxSame calls that are the same, before one
// that may grow.
func sameCalls(parts Parts) bool {
	n := len(parts) - 1 - maxSame
	if n < 0 {
		return false
	}
	first, is := parts[n].(Call)
	for _, p := range parts[n : len(parts)-1] {
		c, same := p.(Call)
		is = is && same && c.Name == first.Name && c.Input == first.Input
	}
	return is
}

// most returns how much of a text that grows is a loop.
func (h *hearing) most(bytes int) int {
	if h.kind >= callKind {
		return bytes * callLoops
	}
	return bytes
}

// forget forgets what was looked at.
func (h *hearing) forget() { h.tail, h.fresh, h.runs, h.blank = nil, 0, [4]int{}, 0 }

// look looks at more of a text.
func (h *hearing) look(kind int, more string) {
	if kind != h.kind {
		h.forget()
		h.kind = kind
	}
	for _, b := range []byte(more) {
		h.run(b)
	}
	h.fresh += len(more)
	size := h.most(tailSize)
	if len(h.tail) < size || h.fresh < size/4 {
		return
	}
	h.fresh, h.tail = 0, slices.Clone(h.tail[len(h.tail)-size:])
	h.repeat = h.repeat || periodic(h.tail)
}

// run adds a byte to the tail, and looks for runs.
func (h *hearing) run(b byte) {
	for k := range h.runs {
		h.runs[k]++
		if at := len(h.tail) - 1 - k; at < 0 || h.tail[at] != b {
			h.runs[k] = 0
		}
		h.repeat = h.repeat || h.runs[k] >= h.most(runSize)
	}
	h.blank++
	if !strings.ContainsRune(" \t\r\n", rune(b)) {
		h.blank = 0
	}
	h.repeat = h.repeat || h.blank >= h.most(runSize)
	h.tail = append(h.tail, b)
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
		if len(h.tools) == 0 {
			return fault{"is empty", "Your last reply was empty. Answer in words."}
		}
		return fault{"is empty", "Your last reply was empty. Do what you were asked last: answer in words, or use a tool if you may."}
	case last.Stop == ToolUse:
		return fault{"announces the call of a tool and has none", "You announced the call of a tool, and none came. Make the call, or answer in words."}
	case written(h.tools, text):
		return fault{"has a call of a tool that is written as text", "You wrote the call of a tool as text, where nobody reads it. Make the call itself, with the tools that you are given."}
	}
	return fault{}
}

// callMarks matches how models begin calls that they write as text.
var callMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<tool_call>|<function=|<function_calls?>|<invoke name=|<\|?tool[_▁]calls?|\[TOOL_(CALLS|REQUEST)\]|<\|python_tag\|>|to=functions\.|\(Here I called \w+ with`)
})

// callEnds matches how the calls end that callMarks begin.
var callEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`</tool_call>|</function>|</function_calls?>|</invoke>|[/_▁]calls?[_▁]end|</\|?tool_calls?|\[END_TOOL_REQUEST\]|\}\)`)
})

// inCode reports whether a text that goes on is in a block of code, or in a line of it.
func inCode(text string) bool {
	return strings.Count(text, "```")%2 == 1 || strings.Count(text, "`")%2 == 1
}

// inCall reports whether text stops in the middle of a call that is written as text: one of
// callMarks, or JSON that is all of it or in a block of code, and names a tool.
func (h *hearing) inCall(text string) bool {
	if len(h.tools) == 0 {
		return false
	}
	if all := callMarks().FindAllStringIndex(text, -1); len(all) > 0 {
		at := all[len(all)-1]
		if !inCode(text[:at[0]]) && !callEnds().MatchString(text[at[1]:]) {
			return true
		}
	}
	inside := strings.TrimSpace(text)
	if all := strings.Split(text, "```"); len(all)%2 == 0 {
		_, inside, _ = strings.Cut(all[len(all)-1], "\n")
		inside = strings.TrimSpace(inside)
	}
	return inside != "" && strings.Contains("{[", inside[:1]) &&
		slices.ContainsFunc(h.tools, func(t ToolSpec) bool { return strings.Contains(inside, `"`+t.Name+`"`) })
}

// written reports whether text ends with the call of one of the tools, outside of a block of
// code.
func written(tools []ToolSpec, text string) bool {
	if len(tools) == 0 {
		return false
	}
	at := callMarks().FindStringIndex(text)
	if at == nil || inCode(text[:at[0]]) {
		return false
	}
	call := strings.TrimSpace(text[at[0]:])
	named := slices.ContainsFunc(tools, func(t ToolSpec) bool { return strings.Contains(call, t.Name) })
	return named && strings.ContainsAny(call[len(call)-1:], ">}])")
}
