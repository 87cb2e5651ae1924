package run

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// told is the state after events, from 1 on.
func told(bodies ...openmanus.Body) *openmanus.State {
	s := new(openmanus.State)
	for i, b := range append([]openmanus.Body{openmanus.Opened{Version: openmanus.FormatVersion}, openmanus.Configured{}}, bodies...) {
		s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
	}
	return s
}

// next is the state after one more event.
func next(s *openmanus.State, b openmanus.Body) *openmanus.State {
	s.Apply(openmanus.Event{Seq: s.Seq + 1, Body: b})
	return s
}

// asks, calls and done are a request of the person, a reply to it that calls a tool, and the
// result of that.
var (
	asks  = openmanus.UserSaid{Note: llm.Parts{llm.Text{Text: "(a note)"}}, Message: llm.Say(llm.User, "look at it")}
	calls = openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-1", Name: "look", Input: "{}"}}}}
	done  = []openmanus.Body{
		openmanus.Ruled{Call: "c0-1", Allow: true, By: openmanus.ByGate},
		openmanus.CallStarted{Call: "c0-1", Attempt: 1},
		openmanus.CallDone{Call: "c0-1", Parts: llm.Parts{llm.Text{Text: "a door"}}},
	}
)

// words returns what a request has, for comparison.
func words(s *openmanus.State) string {
	var b strings.Builder
	for _, m := range s.Transcript(s.Seq) {
		b.WriteString("\n" + string(m.Role) + ":")
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				b.WriteString(" " + p.Text)
			case llm.Call:
				b.WriteString(" call " + p.Name)
			case llm.Result:
				b.WriteString(" result " + p.Parts.Text())
			}
		}
	}
	return b.String()
}

// A conversation without calls is sent as it was: the same request is not repeated.
func TestNothingIsSoftenedInWords(t *testing.T) {
	if b := told(asks).Soften("no such setting"); b != nil {
		t.Errorf("%+v", b)
	}
	s := told(append([]openmanus.Body{asks, calls}, done...)...)
	if b := s.Soften("bad roles"); b == nil || !b.Plain {
		t.Errorf("%+v", b)
	}
}

// A session that goes back to a moment with calls as text has their results as text, too.
func TestGoingBackToASoftenedMoment(t *testing.T) {
	s := told(append([]openmanus.Body{asks, calls}, done...)...)
	next(s, openmanus.Softened{Plain: true, Refused: "bad roles"})
	was, at := words(s), s.Seq
	next(s, openmanus.UserSaid{Message: llm.Say(llm.User, "and then?")})
	next(s, openmanus.Rewound{ID: "back", To: at, Talk: true})
	if is := words(s); is != was || strings.Contains(is, "tool:") {
		t.Errorf("it was %s\n and is %s", was, is)
	}
}

// A failure takes nothing back that said that the workspace is another one.
func TestASoftenedSessionMoves(t *testing.T) {
	s := told(append([]openmanus.Body{asks, calls}, done...)...)
	next(s, openmanus.UserSaid{Message: llm.Say(llm.User, "and then?")})
	next(s, openmanus.Softened{Plain: true, Refused: "bad roles"})
	next(s, openmanus.Configured{N: 1, Spec: openmanus.Spec{Workspace: "/copy"}, CopyOf: "/work"})
	next(s, openmanus.ModelFailed{Turn: s.Turn, Re: s.Seq, Kind: llm.Protocol, Error: "bad roles"})
	if is := words(s); strings.Count(is, "and then?") != 1 || strings.Count(is, "in /copy") != 1 {
		t.Error(is)
	}
}

// The event after a refused request has what that request used, whichever event it is.
func TestARefusedRequestIsPaidFor(t *testing.T) {
	s := told(append([]openmanus.Body{asks, calls}, done...)...)
	f := openmanus.ModelFailed{Usage: llm.Usage{Input: 7}, Cost: 3, Aside: []openmanus.ModelUse{{By: "eye", Usage: llm.Usage{Input: 2}}}}
	soft := soften(s, f, &llm.Error{Kind: llm.Protocol, Status: 400, Err: errors.New("bad roles")})
	if soft == nil {
		t.Fatal("it is not softened")
	}
	for _, b := range []openmanus.Body{*soft, after(f, openmanus.Elided{}), after(f, openmanus.Compacted{})} {
		var all llm.Usage
		for _, u := range openmanus.ModelUses(b) {
			all = all.Add(u.Usage)
		}
		if all.Input != 9 {
			t.Errorf("%T: %+v", b, all)
		}
	}
}

// A guess that a request was too large is made once: results that were left out for it count.
func TestAGuessLeavesOutOnce(t *testing.T) {
	guess := &llm.Error{Kind: llm.Protocol, Status: 400, Err: errors.New("prompt too long")}
	s := told(append([]openmanus.Body{asks, calls}, done...)...)
	if !outgrown(s, guess) {
		t.Fatal("it is no guess")
	}
	next(s, openmanus.Elided{Refused: guess.Error(), Calls: []openmanus.Elision{{Call: "c0-1", Text: "gone"}}})
	if outgrown(s, guess) {
		t.Error("it guesses again")
	}
}

// A request says how many of its kind the budgets have room for, if not for all.
func TestBudgetsBoundRequests(t *testing.T) {
	for tokens, most := range map[int]int{0: 0, 5000: 1, 13_000: 2, 1_000_000_000: 0} {
		s := told(openmanus.Configured{N: 1, Spec: openmanus.Spec{Limits: openmanus.Limits{Tokens: tokens}}}, asks)
		if n := s.Request(openmanus.Task{Re: s.Seq}).Requests; n != most {
			t.Errorf("%d tokens: %d requests, want %d", tokens, n, most)
		}
	}
}

// A model that says nothing is asked for a summary of the text of the conversation.
func TestASummaryWithoutWords(t *testing.T) {
	s := told(append([]openmanus.Body{asks, calls}, done...)...)
	m := &mute{}
	a := &openmanus.Agent{Name: "a", Model: m}
	r, _, _, err := summarize(t.Context(), a, s, openmanus.CutPoint{End: 1}, 1000, false)
	if err != nil || r.Message.Text() != "It was a door." || m.asked != 2 {
		t.Errorf("%q after %d requests, %v", r.Message.Text(), m.asked, err)
	}
}

// A mute is a model whose first reply is none, as [llm.Sound] says.
type mute struct{ asked int }

func (m *mute) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.asked++; m.asked == 1 {
			yield(llm.Delta{}, &llm.Error{Kind: llm.Protocol, Permanent: true, NoReply: true, Err: errors.New("the model's reply is empty")})
			return
		}
		if yield(llm.Delta{Piece: llm.Text{Text: "It was a door."}}, nil) {
			yield(llm.Delta{Stop: llm.End}, nil)
		}
	}
}
