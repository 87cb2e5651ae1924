package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// A Session is what people are shown of a session beside its conversation: how it stands,
// what waits for them, what it used. Its State is the fold by which the session is driven,
// so no surface works out by itself how a session stands; what only models read is left out
// of it. The zero Session has no events. It is not safe for concurrent use.
//
// A Session may begin with an event in the middle. It then knows what its events say, until
// [Session.Join] adds those before.
type Session struct {
	State   openmanus.State
	Answer  string                // the last words of the agent; the State forgets them at the next message
	Request int                   // tokens of the last request and its reply, with which the next one begins; 0: not known
	Lines   map[string]gist.Lines // of the files that calls changed, as far as it is known
	Plan    *tools.Plan           // the one in use; nil: none
	Backs   Backs                 // each time that it went back

	asked map[string]time.Time // when the calls of the last reply asked
	begun map[string]time.Time // and began to run
	tail  []openmanus.Event    // what a Session has that begins in the middle
	dark  bool                 // it begins in the middle, and no event has said how it stands
}

// A Question waits for the person.
type Question struct {
	openmanus.Asked
	Of    llm.Call // the call that asks, as the model made it
	Since time.Time
}

// Apply adds a stored event. One that is not newer than the last changes nothing.
func (s *Session) Apply(ev openmanus.Event) {
	st := &s.State
	if ev.Seq <= st.Seq {
		return
	}
	if ev.Seq > st.Seq+1 {
		s.dark, s.tail = true, []openmanus.Event{}
		st.Calls, st.Outcome, st.Inbox = nil, openmanus.Outcome{}, []openmanus.Note{{}}
	}
	if s.tail != nil {
		s.tail = append(s.tail, ev)
	}
	s.reach(ev.Body)
	s.note(ev)
	ev.Body = s.brief(ev.Body)
	st.Apply(ev)
	s.Answer = cmp.Or(st.Answer, s.Answer)
}

// Join adds what was before s, if s begins in the middle. The Session before has all events
// until then, and is not used any more.
func (s *Session) Join(before *Session) {
	if s.tail == nil {
		return
	}
	for _, ev := range s.tail {
		before.Apply(ev)
	}
	*s = *before
}

// reach brings the State to the turn in which an event happens, if events are missing.
func (s *Session) reach(b openmanus.Body) {
	turn, ends := openmanus.TurnOf(b)
	switch b.(type) {
	case openmanus.UserSaid, openmanus.Interrupted, openmanus.Resumed:
		s.dark = false
	}
	s.dark = s.dark && !ends
	if st := &s.State; s.tail != nil && ends && turn > st.Turn {
		st.Turn, st.Calls, st.Outcome = turn, nil, openmanus.Outcome{}
		if !st.Due() {
			st.Inbox = []openmanus.Note{{}} // what the turn answers
		}
	}
}

// note keeps what the State does not.
func (s *Session) note(ev openmanus.Event) {
	s.Backs = s.Backs.With(ev)
	switch b := ev.Body.(type) {
	case openmanus.ModelSaid:
		s.Request = b.Usage.Input + b.Usage.Output
		s.asked, s.begun = nil, nil
	case openmanus.Compacted, openmanus.Elided:
		s.Request = 0 // the next one is shorter
	case openmanus.Asked:
		s.asked = at(s.asked, b.Call, ev.Time)
		delete(s.begun, b.Call)
	case openmanus.CallStarted:
		s.begun = at(s.begun, b.Call, ev.Time)
	case openmanus.Rewound:
		if b.Files {
			for _, c := range b.Changes {
				delete(s.Lines, c.Path)
			}
		}
	case openmanus.CallDone:
		for name, n := range gist.LinesOf(b) {
			if s.Lines == nil {
				s.Lines = make(map[string]gist.Lines)
			}
			s.Lines[name] = s.Lines[name].Plus(n)
		}
		call := openmanus.Meant(s.State.FindCall(b.Call))
		if p := PlanIn(call, gist.SaysOf(s.State.Config.Tools, call.Name), b.Detail); p != nil {
			s.Plan = p
		}
	}
}

// at returns times with the one of a call.
func at(times map[string]time.Time, call string, t time.Time) map[string]time.Time {
	if times == nil {
		times = make(map[string]time.Time)
	}
	times[call] = t
	return times
}

// brief returns a body without what no person is shown beside the conversation: texts for
// the model, pictures, results.
func (s *Session) brief(b openmanus.Body) openmanus.Body {
	switch b := b.(type) {
	case openmanus.Configured:
		b.System, b.Sources, b.Tools = "", nil, slices.Clone(b.Tools)
		for i, t := range b.Tools {
			b.Tools[i] = openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: t.Name}, Hints: t.Hints, Deferred: t.Deferred, Says: t.Says}
		}
		return b
	case openmanus.UserSaid:
		return openmanus.UserSaid{ID: b.ID, Message: llm.Say(llm.User, b.Message.Text())}
	case openmanus.ModelSaid:
		b.Message.Parts = slices.DeleteFunc(slices.Clone(b.Message.Parts), func(p llm.Part) bool {
			switch p.(type) {
			case llm.Text, llm.Call:
				return false
			}
			return true
		})
		return b
	case openmanus.CallDone:
		b.Parts, b.Sources, b.Seen, b.Whole = nil, nil, nil, ""
		if c := s.State.Call(b.Call); c == nil || !c.Hints.Final {
			b.Detail = nil
		}
		return b
	}
	return b
}

// PlanIn returns the plan in use among those in the Detail of the result of a call, or nil:
// that of a tool that is not for plans has none, whatever it looks like.
func PlanIn(c llm.Call, says []openmanus.Saying, detail json.RawMessage) *tools.Plan {
	if gist.Kind(c, says...) != openmanus.ToolPlans {
		return nil
	}
	ps, err := tools.ReadPlans(detail)
	if err != nil || len(ps.Plans) == 0 {
		return nil
	}
	return cmp.Or(ps.Find(ps.Active), &ps.Plans[len(ps.Plans)-1])
}

// Title returns the title of the session: what it was called, or the first message.
func (s *Session) Title() string {
	if s.State.Title == "" && s.tail == nil && len(s.State.Requests) > 0 {
		return s.State.Requests[0]
	}
	return s.State.Title
}

// Status returns how the session stands; "" if that is known only after [Session.Join].
func (s *Session) Status() openmanus.Status {
	if s.dark {
		return ""
	}
	return s.State.Status()
}

// Working reports whether something is to be done that needs no person, here or in a
// session below.
func (s *Session) Working() bool {
	st := s.Status()
	return st == openmanus.Running || st == openmanus.Waiting && len(s.State.OpenChildren()) > 0
}

// Questions returns what waits for the person, in the order of the calls.
func (s *Session) Questions() (all []Question) {
	for _, c := range s.State.Pending() {
		all = append(all, Question{c.Question(), c.Call, s.asked[c.ID]})
	}
	return all
}

// Running returns the calls that run, and since when.
func (s *Session) Running() (calls []llm.Call, since []time.Time) {
	for _, c := range s.State.Calls {
		if at := s.begun[c.ID]; c.Done == nil && !c.Asking && !at.IsZero() {
			calls, since = append(calls, c.Call), append(since, at)
		}
	}
	return calls, since
}

// Unread returns how many messages of the person the agent has not read yet.
func (s *Session) Unread() (n int) {
	for _, note := range s.State.Inbox {
		if note.Person {
			n++
		}
	}
	return n
}

// Full returns how much of the model's window the next request fills, in percent; 0 if that
// is not known.
func (s *Session) Full() int {
	if s.State.Window().Tokens == 0 {
		return 0
	}
	return min(100, 100*s.Request/s.State.Window().Tokens)
}
