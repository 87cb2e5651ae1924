package a2a_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/server/a2a"
)

// story makes events of bodies; those that stream have no number.
func story(bodies ...openmanus.Body) (all []openmanus.Event) {
	seq := int64(0)
	for _, b := range bodies {
		ev := openmanus.Event{Time: time.Unix(0, 0), Body: b}
		if b.Key() != "" {
			seq++
			ev.Seq = seq
		}
		all = append(all, ev)
	}
	return all
}

// lines are events in a few words.
func lines(events []a2a.Event) (all []string) {
	for _, e := range events {
		switch {
		case e.Status != nil:
			text := ""
			if m := e.Status.Status.Message; m != nil {
				text = " " + *m.Parts[0].Text
			}
			all = append(all, e.ID+" "+strings.ToLower(strings.TrimPrefix(string(e.Status.Status.State), "TASK_STATE_"))+text)
		case e.Artifact != nil:
			all = append(all, fmt.Sprintf("%s %s append=%t last=%t %q", e.ID, e.Artifact.Artifact.ID, e.Artifact.Append, e.Artifact.Last, *e.Artifact.Artifact.Parts[0].Text))
		}
	}
	return all
}

func words(turn int, reset bool, text string) openmanus.Typing {
	return openmanus.Typing{Turn: turn, Reset: reset, Parts: llm.Parts{llm.Text{Text: text}}}
}

func replies(turn int, re int64, parts ...llm.Part) openmanus.ModelSaid {
	return openmanus.ModelSaid{Turn: turn, Re: re, Message: llm.Message{Role: llm.Assistant, Parts: parts}}
}

var task = []openmanus.Body{
	openmanus.Configured{},
	openmanus.UserSaid{ID: "m", Message: llm.Say(llm.User, "do it")},
}

// The words of a reply come as they are written, never half a character; those that
// begin anew take the place of those before, and the whole answer does at the end. Words
// that were no answer are taken back.
func TestWordsOfReplies(t *testing.T) {
	for name, c := range map[string]struct {
		bodies []openmanus.Body
		want   []string
	}{
		"an answer": {
			[]openmanus.Body{words(0, false, "Grü"), words(0, false, "n \xe4"), words(0, false, "\xb8\xad"), replies(0, 2, llm.Text{Text: "Grün 中"})},
			[]string{
				"2.1 working",
				` answer append=false last=false "Grü"`, ` answer append=true last=false "n "`, ` answer append=true last=false "中"`,
				`3.1 answer append=false last=true "Grün 中"`, "3.2 completed",
			},
		},
		"begun anew": {
			[]openmanus.Body{words(0, false, "One"), words(0, true, "Two"), replies(0, 2, llm.Text{Text: "Two"})},
			[]string{
				"2.1 working", ` answer append=false last=false "One"`, ` answer append=false last=false "Two"`,
				`3.1 answer append=false last=true "Two"`, "3.2 completed",
			},
		},
		"a prompt that is read": {
			[]openmanus.Body{openmanus.Typing{Read: 44}, words(0, false, "Yes"), openmanus.Typing{Read: 90}, replies(0, 2, llm.Text{Text: "Yes"})},
			[]string{
				"2.1 working", " working The model is reading the prompt, 44 %.", ` answer append=false last=false "Yes"`,
				`3.1 answer append=false last=true "Yes"`, "3.2 completed",
			},
		},
		"of another turn": {[]openmanus.Body{words(7, false, "No")}, []string{"2.1 working"}},
		"no answer": {
			[]openmanus.Body{words(0, false, "Perhaps"), openmanus.Stopped{Turn: 0, Re: 2, Reason: "steps", Error: "enough"}},
			[]string{"2.1 working", ` answer append=false last=false "Perhaps"`, `3.1 answer append=false last=true ""`, "3.2 failed enough"},
		},
	} {
		p := &a2a.Projector{Session: "s", Context: "c"}
		var got []a2a.Event
		for _, ev := range story(append(task[:2:2], c.bodies...)...) {
			got = append(got, p.Apply(ev)...)
		}
		if g, w := strings.Join(lines(got), "\n"), strings.Join(c.want, "\n"); g != w {
			t.Errorf("%s:\n%s\nnot\n%s", name, g, w)
		}
	}
}

// A waiting child session interrupts the task: each question once, also a second one
// without an event of this session between, and the task goes on when nothing waits any
// more. A client that returns after any event gets those after it.
func TestWhatWaitsBelow(t *testing.T) {
	p := &a2a.Projector{Session: "s", Context: "c"}
	var whole []a2a.Event
	for _, ev := range story(task...) {
		whole = append(whole, p.Apply(ev)...)
	}
	for _, text := range []string{"", "which colour?", "which colour?", "which size?", "", ""} {
		whole = append(whole, p.Wait(text)...)
	}
	var got []string
	for _, line := range lines(whole) {
		_, after, _ := strings.Cut(line, " ")
		got = append(got, after)
	}
	if want := "working|input_required which colour?|input_required which size?|working"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	ids := map[string]bool{}
	for _, e := range whole {
		if ids[e.ID] {
			t.Errorf("two events are %s", e.ID)
		}
		ids[e.ID] = true
	}
	// who was shown the second question is told only that nothing waits any more
	p = &a2a.Projector{Session: "s", Context: "c"}
	p.From, _ = a2a.ParseEventID(whole[2].ID)
	var rest []a2a.Event
	for _, ev := range story(task...) {
		rest = append(rest, p.After(p.Apply(ev))...)
	}
	rest = append(rest, p.After(p.Wait("which size?"))...)
	if len(rest) > 0 {
		t.Errorf("told again: %q", lines(rest))
	}
	if rest = p.After(p.Wait("")); len(rest) != 1 || rest[0].Status.Status.State != a2a.Working {
		t.Errorf("not told that it goes on: %q", lines(rest))
	}
}

func FuzzParseEventID(f *testing.F) {
	for _, s := range []string{"1.2", "3.4.abc", "", "1", "-1.2", "1.2.", "1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := a2a.ParseEventID(text)
		if err != nil {
			return
		}
		if again, err := a2a.ParseEventID(id.String()); err != nil || again != id {
			t.Errorf("%q is %v, and %q %v: %v", text, id, id.String(), again, err)
		}
	})
}
