package openmanus

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A softening is what the last [Softened] events have changed since the last reply. A reply
// makes it last; without one it is taken back, because it did not help.
type softening struct {
	count int  // events since the last reply
	plain bool // one of them was Plain
	undo  bool // it can be taken back: this was the conversation before
	said  []llm.Message
	marks []mark
	calls []*CallState
	inbox []Note
}

// softened folds a softening: it changes what the model has not replied to, or everything
// if the session has another configuration since its last reply.
func (s *State) softened(e Softened) {
	s.spend(e)
	if e.N != s.Softenings || s.Open() {
		return
	}
	s.Softenings++
	if s.soft.count == 0 {
		s.soft = softening{undo: true, said: s.Said, marks: s.marks, calls: slices.Clone(s.Calls), inbox: slices.Clone(s.Inbox)}
	}
	s.soft.count++
	s.soft.plain = s.soft.plain || e.Plain
	s.Said, s.marks = slices.Clone(s.Said), slices.Clone(s.marks) // requests under way share the old ones
	names := map[string]string{}
	for i := s.firstNew(); i < len(s.Said); i++ {
		for _, c := range s.Said[i].Calls() {
			names[c.ID] = c.Name
		}
		if m := e.of(s.Said[i], names); !reflect.DeepEqual(m, s.Said[i]) {
			s.Said[i] = m
			s.replaceTokens(i, s.tokensOf(m))
		}
	}
	for i, c := range s.Calls {
		again, done := *c, *c.Done
		done.Parts = e.parts(done.Parts)
		again.Done, again.tokens, again.pictures = &done, 0, 0
		s.Calls[i] = &again
	}
	s.plainCalls = s.plainCalls || e.Plain && len(s.Calls) > 0
	for i, n := range s.Inbox {
		s.Inbox[i].Message, s.Inbox[i].tokens = e.of(n.Message, names), 0
	}
}

// firstNew returns the index in Said of the first message that no request had to which the
// model replied.
func (s *State) firstNew() int {
	for i, m := range slices.Backward(s.marks) {
		if m.seq != 0 && s.Said[i].Role == llm.Assistant {
			if m.seq < s.configured {
				return 0
			}
			return i
		}
	}
	return 0
}

// harden takes back a softening that did not help. Messages that came meanwhile stay.
func (s *State) harden() {
	if s.soft.undo {
		s.Said, s.marks, s.Calls = s.soft.said, slices.Clone(s.soft.marks), s.soft.calls
		s.Inbox = append(slices.Clone(s.soft.inbox), s.Inbox[min(len(s.Inbox), len(s.soft.inbox)):]...)
		s.plainCalls = false
		s.recount()
	}
	s.soft = softening{}
}

// TakenUpTo returns the last event to which the conversation can go back, and up to which a
// request had everything to which the model replied. It is 0 if there is none.
func (s *State) TakenUpTo() int64 {
	i := s.firstNew()
	if i >= len(s.marks) || s.Said[i].Role != llm.Assistant {
		return 0
	}
	if len(s.Calls) > 0 {
		return s.Moment(s.marks[i].seq - 1)
	}
	return s.Moment(s.marks[i].seq)
}

// Soften returns the next softening after a request was refused with an error, in the
// words of the provider: of one that changes something. It returns nil if there is none,
// or if there were two since the last reply.
func (s *State) Soften(refused string) *Softened {
	e := Softened{N: s.Softenings, Refused: refused, Thoughts: !wantsThoughts(refused), Plain: s.soft.plain || s.plainHelped}
	for ; s.soft.count < 2; e.Plain = true {
		then := s.Clone()
		then.Apply(Event{Seq: s.Seq + 1, Time: s.Updated, Body: e})
		if then.Softenings > s.Softenings && !reflect.DeepEqual(then.Transcript(s.Seq), s.Transcript(s.Seq)) {
			return &e
		}
		if e.Plain {
			break
		}
	}
	return nil
}

// wantsThoughts reports whether a refusal misses the reasoning of the model.
func wantsThoughts(refused string) bool {
	text := strings.ToLower(refused)
	about := strings.Contains(text, "reason") || strings.Contains(text, "think") || strings.Contains(text, "thought")
	for _, word := range []string{"missing", "must be passed", "required", "preserved", "must start with"} {
		if about && strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// of returns a message as it is sent after e. names are those of the tools of calls.
func (e Softened) of(m llm.Message, names map[string]string) llm.Message {
	parts := e.parts(m.Parts)
	if e.Plain {
		var texts []string
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				texts = append(texts, p.Text)
			case llm.Call:
				texts = append(texts, fmt.Sprintf("(Here I called %s with %s)", p.Name, cmp.Or(p.Ran, p.Input)))
			case llm.Result:
				texts = append(texts, plainResult(names[p.ID], p.Parts, p.IsError))
			}
		}
		texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
		parts = nil
		if len(texts) > 0 {
			parts = llm.Parts{llm.Text{Text: strings.Join(texts, "\n\n")}}
		}
		if m.Role == llm.Tool {
			m.Role = llm.User
		}
	}
	m.Parts = parts
	return m
}

// plainResult returns the result of a call as text.
func plainResult(name string, parts llm.Parts, isError bool) string {
	how := "The result of"
	if isError {
		how = "The error of"
	}
	return fmt.Sprintf("(%s %s follows)\n%s", how, name, parts.Text())
}

// parts returns parts as they are sent after e: words in place of pictures and files, and
// nothing that only the provider can read.
func (e Softened) parts(parts llm.Parts) llm.Parts {
	var soft llm.Parts
	for _, p := range parts {
		switch was := p.(type) {
		case llm.Blob:
			if !strings.HasPrefix(was.MIME, "text/") {
				p = llm.Text{Text: fmt.Sprintf("[here was %s %q, which the provider may have refused; it is left out]", was.MIME, was.Name), View: was.View}
			}
		case llm.Thinking:
			if e.Thoughts || e.Plain {
				continue
			}
		case llm.Text:
			if e.Thoughts || e.Plain {
				was.Opaque, was.By = nil, ""
				p = was
			}
		case llm.Call:
			if e.Thoughts || e.Plain {
				was.Opaque, was.By = nil, ""
				p = was
			}
		case llm.Result:
			was.Parts = e.parts(was.Parts)
			p = was
		}
		soft = append(soft, p)
	}
	return soft
}
