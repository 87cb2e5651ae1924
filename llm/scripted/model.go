package scripted

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// Model returns a model that plays the script.
func (s *Script) Model() llm.Model { return &model{script: s} }

// A model plays a script.
type model struct {
	script *Script
	tried  sync.Map // of requests without a Memo: tryKey -> int
}

// Stream implements [llm.Model]. The section that it plays follows from the request alone:
// from the number of replies in it, and from the conditions of the script. So a resumed
// session goes on at the right place. A request for which the script has no section is an
// error that says so.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := 1
		for _, msg := range req.Messages {
			if msg.Role == llm.Assistant {
				n++
			}
		}
		sec, err := m.script.find(req, n)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		p := &player{ctx: ctx, yield: yield, sec: sec, turn: n, left: -1}
		if sec.from != sec.to {
			p.n = strconv.Itoa(n)
		}
		p.play(req, m.tries(req, sec, n))
	}
}

// covers reports whether sec gives the n-th reply.
func (sec *section) covers(n int) bool {
	return n >= sec.from && (sec.to == 0 || n <= sec.to) && (n-sec.from)%sec.step == 0
}

// find returns the section that gives the n-th reply.
func (s *Script) find(req *llm.Request, n int) (*section, error) {
	var misses []string
search:
	for _, sec := range s.sections {
		if !sec.covers(n) {
			continue
		}
		for _, c := range sec.when {
			if got, ok := c.holds(req, strconv.Itoa(n)); !ok {
				misses = append(misses, fmt.Sprintf("\n%s:%d: %s", s.name, c.line, c.explain(got)))
				continue search
			}
		}
		for _, c := range sec.expect {
			if got, ok := c.holds(req, strconv.Itoa(n)); !ok {
				return nil, s.errorf(":%d: reply %d expects %s", c.line, n, c.explain(got))
			}
		}
		return sec, nil
	}
	if len(misses) > 0 {
		return nil, s.errorf(": no reply %d fits this conversation:%s", n, strings.Join(misses, ""))
	}
	return nil, s.errorf(": the script is over: it has no reply %d", n)
}

// errorf returns the error that the script has no reply to a conversation.
func (s *Script) errorf(format string, a ...any) error {
	return &llm.Error{Kind: llm.ScriptOver, Err: errors.New(s.name + fmt.Sprintf(format, a...))}
}

// tries returns how often this reply was attempted before, if that matters: if a step
// of the section fails a number of times. It counts in the memo of the request, or,
// without one, for all requests with the same messages.
func (m *model) tries(req *llm.Request, sec *section, n int) int {
	counted := false
	for _, s := range sec.steps {
		switch s := s.(type) {
		case fail:
			counted = counted || s.times > 0
		case cut:
			counted = counted || s.times > 0
		}
	}
	if !counted {
		return 0
	}
	counts, key := &m.tried, fmt.Sprintf("%d/%d", sec.line, n)
	if req.Memo == nil {
		data, _ := json.Marshal(req.Messages)
		key += fmt.Sprintf("/%x", sha256.Sum256(data))
	} else if kept, ok := req.Memo.Load(m).(*sync.Map); ok {
		counts = kept
	} else {
		counts = new(sync.Map)
		req.Memo.Store(m, counts)
	}
	for {
		before, _ := counts.LoadOrStore(key, 0)
		if counts.CompareAndSwap(key, before, before.(int)+1) {
			return before.(int)
		}
	}
}

// player streams one reply.
type player struct {
	ctx   context.Context
	yield func(llm.Delta, error) bool
	sec   *section
	n     string // the text for {{n}}; "": it is not replaced
	turn  int

	left   int // bytes until the reply breaks off; -1: it does not
	parts  int
	calls  int
	output int  // bytes that were sent
	over   bool // the consumer stopped, or the reply broke off
}

// play streams the steps of the section.
func (p *player) play(req *llm.Request, tries int) {
	for _, s := range p.sec.steps {
		if c, ok := s.(cut); ok && c.after >= 0 && due(c.times, &tries) {
			p.left = c.after
		}
	}
	for _, s := range p.sec.steps {
		switch s := s.(type) {
		case text:
			p.say(p.put(string(s)), func(f string) llm.Part { return llm.Text{Text: f} }, firstWord)
		case thinking:
			p.say(p.put(string(s)), func(f string) llm.Part { return llm.Thinking{Text: f, By: "scripted"} }, firstWord)
		case call:
			p.call(s)
		case fail:
			if due(s.times, &tries) {
				err := s.err
				p.yield(llm.Delta{}, &err)
				return
			}
		case cut:
			if s.after < 0 && due(s.times, &tries) {
				return
			}
		}
		if p.over {
			return
		}
	}
	if p.left >= 0 { // the reply is shorter than the cut
		return
	}
	p.yield(llm.Delta{Stop: p.stop(), Usage: p.usage(req)}, nil)
}

// due reports whether a step that happens the first times happens this time, and
// uses up that many attempts.
func due(times int, tries *int) bool {
	if times == 0 || *tries < times {
		*tries = 0
		return true
	}
	*tries -= times
	return false
}

// put returns s with the number of the reply in place of {{n}}.
func (p *player) put(s string) string {
	if p.n == "" {
		return s
	}
	return strings.ReplaceAll(s, "{{n}}", p.n)
}

// call streams a call.
func (p *player) call(c call) {
	p.calls++
	id := fmt.Sprintf("call_%d_%d", p.turn, p.calls)
	if c.id != nil {
		id = *c.id
	}
	if p.left == 0 || !p.send(llm.Call{ID: id, Name: c.name}) {
		p.over = true
		return
	}
	p.say(p.put(c.input), func(f string) llm.Part { return llm.Call{Input: f} }, few)
}

// say streams s as a part, in fragments whose length next returns.
func (p *player) say(s string, part func(string) llm.Part, next func(string) int) {
	for s != "" && !p.over {
		n := next(s)
		if p.left >= 0 && n >= p.left {
			n = p.left
			p.over = true // after this one
		}
		if n > 0 && !p.send(part(s[:n])) {
			p.over = true
		}
		p.output += n
		if p.left >= 0 {
			p.left -= n
		}
		s = s[n:]
	}
	p.parts++
}

// send yields a delta. It reports whether the reply continues.
func (p *player) send(piece llm.Part) bool {
	if p.sec.pace > 0 {
		t := time.NewTimer(p.sec.pace)
		defer t.Stop()
		select {
		case <-t.C:
		case <-p.ctx.Done():
		}
	}
	if err := p.ctx.Err(); err != nil {
		p.yield(llm.Delta{}, err)
		return false
	}
	return p.yield(llm.Delta{Part: p.parts, Piece: piece}, nil)
}

// firstWord returns the length of the first word of s with the space after it.
func firstWord(s string) int {
	spaced := false
	for i, r := range s {
		if spaced && !unicode.IsSpace(r) || i >= 32 {
			return i
		}
		spaced = unicode.IsSpace(r)
	}
	return len(s)
}

// few returns the length of the first few letters of s.
func few(s string) int {
	n := min(12, len(s))
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// stop returns the reason why the reply ends: the script's, or the one that follows from
// its calls.
func (p *player) stop() llm.Stop {
	switch {
	case p.sec.stop != "":
		return p.sec.stop
	case p.calls > 0:
		return llm.ToolUse
	}
	return llm.End
}

// usage returns the usage in the script, or an estimate of four bytes to a token.
func (p *player) usage(req *llm.Request) *llm.Usage {
	if p.sec.usage != nil {
		u := *p.sec.usage
		return &u
	}
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, m := range req.Messages {
		n += size(m.Parts)
	}
	return &llm.Usage{Input: n / 4, Output: (p.output + 3) / 4}
}

// size returns the number of bytes of text in parts, for the estimate of the usage.
func size(parts llm.Parts) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			n += len(p.Text)
		case llm.Thinking:
			n += len(p.Text)
		case llm.Call:
			n += len(p.Name) + len(p.Input)
		case llm.Blob:
			n += len(p.Data)
		case llm.Result:
			n += size(p.Parts)
		}
	}
	return n
}
