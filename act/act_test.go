package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// remembers is a memory of decisions about calls of which nothing depends on the moment.
type remembers struct{ kept []string }

func (m *remembers) Lasting(session string, s *openmanus.State, c *openmanus.CallState) (func(bool, string) error, error) {
	if c.Name == "save" {
		return nil, errors.New("the file may be another one then")
	}
	return func(allow bool, by string) error {
		verb := "denied "
		if allow {
			verb = "allowed "
		}
		m.kept = append(m.kept, session+": "+verb+c.ID+" by "+by)
		return nil
	}, nil
}

// first is the number of the last event of waiting.
const first = 15

// waiting is a session in which the call c0-1 waits for approval, c0-2 asks for text, c0-3
// asks for JSON with a number n, c0-4 for one of two words, c0-5 is of a tool whose effect
// depends on the moment, and c0-6 waits for nothing.
func waiting(t *testing.T) (act.Sessions, *remembers) {
	t.Helper()
	j, m := new(journal.Memory), new(remembers)
	object := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	var parts llm.Parts
	for i, name := range []string{"pay", "ask", "ask", "ask", "save", "pay"} {
		parts = append(parts, llm.Call{ID: fmt.Sprint("c0-", i+1), Name: name, Input: `{"n":1}`})
	}
	record := func(bodies ...openmanus.Body) {
		t.Helper()
		if _, err := j.Append(t.Context(), "s", bodies...); err != nil {
			t.Fatal(err)
		}
	}
	record(openmanus.Opened{Version: openmanus.FormatVersion})
	record(openmanus.Configured{Spec: openmanus.Spec{Agent: "a"}, Tools: []openmanus.ToolSpec{
		{ToolSpec: llm.ToolSpec{Name: "pay", Input: object}}, {ToolSpec: llm.ToolSpec{Name: "ask"}}, {ToolSpec: llm.ToolSpec{Name: "save"}},
	}})
	record(openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Pay Ann.")})
	record(openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: parts}})
	record(openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May pay run?", Hash: "h1", Scope: "the bank"})
	for _, call := range []string{"c0-2", "c0-3", "c0-4"} {
		record(openmanus.Ruled{Call: call, Allow: true, By: openmanus.ByGate}, openmanus.CallStarted{Call: call, Attempt: 1})
	}
	record(openmanus.Asked{Call: "c0-2", Kind: openmanus.AskText, Question: "Which Ann?"})
	record(openmanus.Asked{Call: "c0-3", Kind: openmanus.AskText, Question: "How much?", Schema: object})
	record(openmanus.Asked{Call: "c0-4", Kind: openmanus.AskText, Question: "How?", Schema: json.RawMessage(`{"type":"string","enum":["cash","5"]}`)})
	record(openmanus.Asked{Call: "c0-5", Kind: openmanus.AskRuling, Question: "May save run?", Hash: "h5"})
	return act.Sessions{Journal: j, Memory: m}, m
}

func TestDecisions(t *testing.T) {
	for name, c := range map[string]struct {
		d     act.Decision
		want  openmanus.Ruled
		kept  string
		field string // of the error, with what it says
	}{
		"allow":            {d: act.Decision{Call: "c0-1", Allow: true}, want: openmanus.Ruled{Allow: true}},
		"deny":             {d: act.Decision{Call: "c0-1"}, want: openmanus.Ruled{Reason: "the person said no"}},
		"deny, why":        {d: act.Decision{Call: "c0-1", Reason: " too much\n"}, want: openmanus.Ruled{Reason: "the person said: too much"}},
		"deny, space":      {d: act.Decision{Call: "c0-1", Reason: " \n"}, want: openmanus.Ruled{Reason: "the person said no"}},
		"what was seen":    {d: act.Decision{Call: "c0-1", Allow: true, Hash: "h0"}, want: openmanus.Ruled{Allow: true, Hash: "h0"}},
		"other arguments":  {d: act.Decision{Call: "c0-1", Allow: true, Input: `{"n":2}`}, want: openmanus.Ruled{Allow: true, Input: `{"n":2}`}},
		"the same ones":    {d: act.Decision{Call: "c0-1", Allow: true, Input: `{"n":1}`}, want: openmanus.Ruled{Allow: true}},
		"number in quotes": {d: act.Decision{Call: "c0-1", Allow: true, Input: `{"n":"2"}`}, want: openmanus.Ruled{Allow: true, Input: `{"n":2}`}},
		"scope":            {d: act.Decision{Call: "c0-1", Allow: true, Scope: "the bank"}, want: openmanus.Ruled{Allow: true, Scope: "the bank"}},
		"always":           {d: act.Decision{Call: "c0-1", Allow: true, Remember: true}, want: openmanus.Ruled{Allow: true, Rule: act.ForGood}, kept: "s: allowed c0-1 by Ann"},
		"never":            {d: act.Decision{Call: "c0-1", Remember: true}, want: openmanus.Ruled{Reason: "the person said no", Rule: act.ForGood}, kept: "s: denied c0-1 by Ann"},

		"no JSON":              {d: act.Decision{Call: "c0-1", Allow: true, Input: `{"n":`}, field: "input: the input is not valid JSON"},
		"no such argument":     {d: act.Decision{Call: "c0-1", Allow: true, Input: `{}`}, field: "input: the input does not fit pay"},
		"arguments for no":     {d: act.Decision{Call: "c0-1", Input: `{"n":2}`}, field: "input: the input is for a call that is allowed"},
		"reason for yes":       {d: act.Decision{Call: "c0-1", Allow: true, Reason: "why not"}, field: "reason: the reason is for a call that is denied"},
		"long reason":          {d: act.Decision{Call: "c0-1", Reason: strings.Repeat("é", act.MaxReason+1)}, field: "reason: the reason has more than 10000 characters"},
		"another scope":        {d: act.Decision{Call: "c0-1", Allow: true, Scope: "all banks"}, field: "scope: the scope must be that of the question, the bank"},
		"no scope":             {d: act.Decision{Call: "c0-5", Allow: true, Scope: "the disk"}, field: "scope: this call cannot be allowed for the session"},
		"scope for no":         {d: act.Decision{Call: "c0-1", Scope: "the bank"}, field: "scope: "},
		"scope and arguments":  {d: act.Decision{Call: "c0-1", Allow: true, Scope: "the bank", Input: `{"n":2}`}, field: "scope: "},
		"scope and always":     {d: act.Decision{Call: "c0-1", Allow: true, Scope: "the bank", Remember: true}, field: "scope: "},
		"always and arguments": {d: act.Decision{Call: "c0-1", Allow: true, Input: `{"n":2}`, Remember: true}, field: "remember: this decision cannot be remembered: it is for the call"},
		"depends on a moment":  {d: act.Decision{Call: "c0-5", Allow: true, Remember: true}, field: "remember: this decision cannot be remembered: the file may be"},
		"no such call":         {d: act.Decision{Call: "c9-1", Allow: true}, field: `call: "c9-1" is none`},
		"a question for words": {d: act.Decision{Call: "c0-2", Allow: true}, field: ": call c0-2 waits for an answer"},
		"nothing asked":        {d: act.Decision{Call: "c0-6", Allow: true}, field: ": call c0-6 does not wait"},
	} {
		t.Run(name, func(t *testing.T) {
			x, m := waiting(t)
			woken := 0
			x.Wake = func(context.Context, string) error { woken++; return nil }
			c.d.By = "Ann"
			seq, err := x.Rule(t.Context(), "s", c.d)
			if c.field != "" {
				var e *act.Error
				if !errors.As(err, &e) || !strings.HasPrefix(e.Field+": "+e.Error(), c.field) || woken > 0 {
					t.Fatalf("%v, want %q", err, c.field)
				}
				if evs := journaled(t, x, first); len(evs) > 0 {
					t.Errorf("it was refused, and recorded %v", evs)
				}
				return
			}
			if err != nil || seq != first+1 || woken != 1 {
				t.Fatalf("event %d, woken %d, %v", seq, woken, err)
			}
			c.want.Call, c.want.By = c.d.Call, "Ann"
			if c.want.Hash == "" {
				c.want.Hash = "h1"
			}
			same(t, journaled(t, x, first)[0], c.want)
			if got := strings.Join(m.kept, ", "); got != c.kept {
				t.Errorf("remembered %q, want %q", got, c.kept)
			}
			// The same again changes nothing; another decision comes too late.
			if again, err := x.Rule(t.Context(), "s", c.d); again != seq || err != nil {
				t.Errorf("the same again: event %d, %v", again, err)
			}
			_, err = x.Rule(t.Context(), "s", act.Decision{Call: "c0-1", Allow: !c.d.Allow, By: "Bob"})
			var late *act.Error
			if !errors.As(err, &late) || late.Kind != act.Conflict || late.Event == nil || late.Event.Seq != seq {
				t.Errorf("another decision: %v", err)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		a           act.Answer
		text, data  string
		field, says string // of the error
	}{
		"text":             {a: act.Answer{Call: "c0-2", Text: "Ann Lee"}, text: "Ann Lee"},
		"no text":          {a: act.Answer{Call: "c0-2", Text: " "}, field: "answer", says: "must be text, and not empty"},
		"JSON for text":    {a: act.Answer{Call: "c0-2", Data: json.RawMessage(`{"n":1}`)}, field: "answer", says: "must be text"},
		"JSON":             {a: act.Answer{Call: "c0-3", Text: `{"n": 5}`}, text: `{"n": 5}`, data: `{"n": 5}`},
		"JSON as such":     {a: act.Answer{Call: "c0-3", Data: json.RawMessage(`{"n": 5}`)}, text: `{"n": 5}`, data: `{"n": 5}`},
		"in quotes":        {a: act.Answer{Call: "c0-3", Text: `{"n":"5"}`}, text: `{"n":5}`, data: `{"n":5}`},
		"no JSON":          {a: act.Answer{Call: "c0-3", Text: "five"}, field: "answer", says: "must be JSON that fits"},
		"does not fit":     {a: act.Answer{Call: "c0-3", Text: `{"n":true}`}, field: "answer", says: "must be JSON that fits"},
		"word":             {a: act.Answer{Call: "c0-4", Text: "cash"}, text: `"cash"`, data: `"cash"`},
		"word in quotes":   {a: act.Answer{Call: "c0-4", Text: `"cash"`}, text: `"cash"`, data: `"cash"`},
		"word like number": {a: act.Answer{Call: "c0-4", Text: "5"}, text: `"5"`, data: `"5"`},
		"another word":     {a: act.Answer{Call: "c0-4", Text: "gold"}, field: "answer", says: "must be JSON that fits"},
		"approval":         {a: act.Answer{Call: "c0-1", Text: "yes"}, says: "call c0-1 waits for a ruling"},
		"no such call":     {a: act.Answer{Call: "c7-1", Text: "yes"}, field: "call", says: "is none that the session has open"},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := waiting(t)
			c.a.By = "Ann"
			_, err := x.Answer(t.Context(), "s", c.a)
			if c.says != "" {
				var e *act.Error
				if !errors.As(err, &e) || e.Field != c.field || !strings.Contains(e.Error(), c.says) {
					t.Errorf("%v, want %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := openmanus.Answered{Call: c.a.Call, Text: c.text, By: "Ann"}
			if c.data != "" {
				want.Data = json.RawMessage(c.data)
			}
			same(t, journaled(t, x, first)[0], want)
			if _, err := x.Answer(t.Context(), "s", act.Answer{Call: c.a.Call, Nth: 2, Text: c.a.Text, Data: c.a.Data}); err == nil {
				t.Error("a question that was not asked has an answer")
			}
		})
	}
}

// journaled returns the bodies after an event.
func journaled(t *testing.T, x act.Sessions, after int64) (all []openmanus.Body) {
	t.Helper()
	for ev, err := range x.Journal.Events(t.Context(), "s", after) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev.Body)
	}
	return all
}

// same compares bodies as the journal has them.
func same(t *testing.T, got, want openmanus.Body) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("recorded %s, want %s", g, w)
	}
}
