package lawtest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// said returns what is said in the last request, a line for each message.
func said(a *actor) string {
	asked := a.asked()
	var lines []string
	for _, m := range asked[len(asked)-1].Messages {
		lines = append(lines, fmt.Sprintf("%s: %s", m.Role, strings.TrimSpace(m.Text())))
	}
	return strings.Join(lines, "\n")
}

func seqOf(t *testing.T, j openmanus.Journal, key string) int64 {
	t.Helper()
	for _, ev := range events(t, j, sess) {
		if ev.Body.Key() == key {
			return ev.Seq
		}
	}
	t.Fatalf("there is no event %s", key)
	return 0
}

// Messages after the point leave the conversation, earlier ones stay byte for byte,
// and undoing the rewind restores everything.
func TestGoingBackInTheConversation(t *testing.T) {
	a := lines(llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"), llmtest.Say("four"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: a}, "first")
	wake(t, l)
	put(t, j, userSays("second", "second"))
	before := wake(t, l)
	put(t, j, openmanus.Rewound{ID: "w1", To: seqOf(t, j, "user/second") - 1, Talk: true})
	s := load(t, j, sess)
	if s.Status() != openmanus.Finished || s.Answer != "one" || !reflect.DeepEqual(s.Requests, []string{"first"}) {
		t.Fatalf("it is %s with the answer %q after %q", s.Status(), s.Answer, s.Requests)
	}
	if s.Usage != before.Usage || s.Turn != before.Turn+1 {
		t.Errorf("usage %+v and turn %d became %+v and %d", before.Usage, before.Turn, s.Usage, s.Turn)
	}
	put(t, j, userSays("third", "third"))
	wake(t, l)
	if got := said(a); got != "user: first\nassistant: one\nuser: third" {
		t.Errorf("the model reads:\n%s", got)
	}
	put(t, j, openmanus.Rewound{ID: "w2", To: seqOf(t, j, "rewind/w1") - 1, Talk: true, Redo: "w1"}, userSays("fourth", "fourth"))
	wake(t, l)
	if got := said(a); got != "user: first\nassistant: one\nuser: second\nassistant: two\nuser: fourth" {
		t.Errorf("the model reads after the redo:\n%s", got)
	}
}

// A reply some of whose calls had not ended is undone as a whole, and a note says
// which files were put back.
func TestGoingBackAmidCalls(t *testing.T) {
	runs := 0
	work := tool("work", openmanus.Hints{}, func(_ context.Context, _ openmanus.Call) (openmanus.Result, error) {
		runs++
		return openmanus.TextResult("done %d", runs), nil
	})
	a := lines(llm.Message{Role: llm.Assistant, Parts: llm.Parts{
		llm.Call{ID: "1", Name: "work", Input: "{}"}, llm.Call{ID: "2", Name: "work", Input: "{}"},
	}}, llmtest.Say("done"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: a, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{work}}, "first")
	wake(t, l)
	at := seqOf(t, j, "done/c0-1")
	s := load(t, j, sess)
	if back := s.Moment(at); back != seqOf(t, j, "model/0")-1 {
		t.Errorf("amid the calls of event %d one goes back to %d", at, back)
	}
	if back := s.Moment(seqOf(t, j, "done/c0-2")); back != seqOf(t, j, "done/c0-2") {
		t.Errorf("after the last call one goes back to %d", back)
	}
	put(t, j, openmanus.Rewound{ID: "w", To: at, Talk: true, Files: true, Changes: []openmanus.FileChange{
		{Path: "a.txt", Change: openmanus.FileDeleted},
	}}, userSays("again", "again"))
	wake(t, l)
	want := "user: first\nuser: (The person has put files of the workspace back to an earlier state, " +
		"so look at them again before you rely on them: a.txt.)\nuser: again"
	if got := said(a); got != want {
		t.Errorf("the model reads:\n%s\nwant\n%s", got, want)
	}
}
