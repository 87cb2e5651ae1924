package view

import (
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// silent are the events that a page need not show: they are what a surface has in its head
// or beside the conversation, and what streams.
var silent = map[string]bool{"opened": true, "titled": true, "snapped": true, "typing": true, "output": true, "reading": true}

// Every event that is stored is a message, a note, or changes the item of its call, so that
// no surface leaves one out.
func TestEveryEventIsShown(t *testing.T) {
	calls := llm.Parts{llm.Call{ID: "c0-1", Name: "bash", Input: `{"command":"ls"}`}}
	samples := map[string]openmanus.Body{
		"configured": openmanus.Configured{N: 1}, "user_said": openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "hello")},
		"model_said": openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: calls}}, "called": openmanus.Called{Call: "f1", Name: "glob"},
		"asked": openmanus.Asked{Call: "c0-1"}, "answered": openmanus.Answered{Call: "c0-1"}, "ruled": openmanus.Ruled{Call: "c0-1"},
		"call_started": openmanus.CallStarted{Call: "c0-1"}, "call_done": openmanus.CallDone{Call: "c0-1"}, "call_late": openmanus.CallLate{Call: "c0-1"},
		"child_opened": openmanus.ChildOpened{Child: "s.1"}, "child_done": openmanus.ChildDone{Child: "s.1"},
		"noted": openmanus.Noted{Text: "a note"}, "ended": openmanus.Ended{Text: "the end"}, "interrupted": openmanus.Interrupted{},
	}
	for _, of := range openmanus.BodyTypes() {
		name, b := of.Name, of.Zero
		if s, ok := samples[name]; ok {
			b = s
		}
		p := NewPage(1)
		p.Apply(openmanus.Event{Seq: 1, Body: samples["model_said"]})
		p.Apply(openmanus.Event{Seq: 2, Body: samples["child_opened"]})
		revs := func() (n int) {
			for _, it := range p.Items {
				n += 1 + it.Rev
			}
			return n
		}
		before := revs()
		p.Apply(openmanus.Event{Seq: 3, Body: b})
		if shown := revs() > before; shown == silent[name] {
			t.Errorf("%s: shown %v", name, shown)
		}
	}
}

// A page that begins later keeps what it hears about calls of an earlier one, for that.
func TestEarlierPage(t *testing.T) {
	earlier, later := NewPage(1), NewPage(2)
	earlier.Apply(openmanus.Event{Seq: 1, Body: openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-1", Name: "bash"}}}}})
	later.Apply(openmanus.Event{Seq: 2, Body: openmanus.Ruled{Call: "c0-1", By: "person", Reason: "the person said no"}})
	later.Apply(openmanus.Event{Seq: 3, Body: openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "hello")}})
	if len(later.Loose) != 1 || len(later.Items) != 1 {
		t.Fatalf("%d events are kept, %d items", len(later.Loose), len(later.Items))
	}
	for _, ev := range later.Loose {
		earlier.ApplyToCall(ev)
	}
	if it := earlier.Items[0]; !it.Denied() || it.Call.Last().Words() != "not allowed: the person said no" {
		t.Errorf("the call is %+v", it.Call)
	}
}

// Events that were taken back are gone, and are there again once that was taken back, without what
// came in between; going back to a time at which something was gone does not bring it back.
func TestTaken(t *testing.T) {
	back := func(seq, to int64, redo string) openmanus.Event {
		return openmanus.Event{Seq: seq, Body: openmanus.Rewound{To: to, Talk: true, Redo: redo}}
	}
	files := openmanus.Event{Seq: 7, Body: openmanus.Rewound{To: 1, Files: true}}
	for name, c := range map[string]struct {
		backs Backs
		gone  string // which of the events 1 to 9
	}{
		"never":          {nil, "000000000"},
		"files alone":    {Backs{files}, "000000000"},
		"once":           {Backs{back(5, 2, "")}, "001100000"},
		"taken back":     {Backs{back(5, 2, ""), back(8, 4, "r1")}, "000011100"},
		"again":          {Backs{back(5, 2, ""), back(8, 6, "")}, "001100100"},
		"further back":   {Backs{back(5, 3, ""), back(8, 1, "")}, "011111100"},
		"to what's gone": {Backs{back(5, 2, ""), back(8, 3, "")}, "000111100"},
	} {
		got := ""
		for seq := int64(1); seq <= 9; seq++ {
			got += map[bool]string{true: "1", false: "0"}[c.backs.Taken(seq)]
		}
		if got != c.gone {
			t.Errorf("%s: %s, want %s", name, got, c.gone)
		}
	}
}
