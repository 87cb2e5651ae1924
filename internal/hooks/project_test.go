package hooks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// TestProjector: a call that changed files and a limit that was reached are events of their
// own; a person's stop reaches no limit.
func TestProjector(t *testing.T) {
	for reason, want := range map[openmanus.Reason]string{
		openmanus.NoMoney: "5 after_call, 5 files, 6 budget, 6 failed, 6 session_end", openmanus.NoSteps: "5 after_call, 5 files, 6 budget, 6 failed, 6 session_end",
		openmanus.ByPerson: "5 after_call, 5 files, 6 failed, 6 session_end",
	} {
		var p Projector
		var got []string
		for i, body := range []openmanus.Body{
			openmanus.Opened{Flow: "manus"}, openmanus.UserSaid{ID: "m", Message: llm.Say(llm.User, "write")},
			openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-1", Name: "bash", Input: "{}"}}}},
			openmanus.CallStarted{Call: "c0-1"},
			openmanus.CallDone{Call: "c0-1", Parts: llm.Parts{llm.Text{Text: "ok"}}, Files: []openmanus.FileChange{{Path: "a.txt", Change: openmanus.FileCreated}}},
			openmanus.Stopped{Turn: 1, Re: 2, Reason: reason},
		} {
			for _, e := range p.Events("s", openmanus.Event{Seq: int64(i + 1), Body: body}) {
				got = append(got, fmt.Sprint(e.Seq, " ", e.Event))
				if e.Event == "files" && (len(e.Files) != 1 || e.Files[0].Path != "a.txt") {
					t.Errorf("%+v", e)
				}
			}
		}
		if s := strings.Join(got, ", "); s != want || !p.Ended() {
			t.Errorf("%s: %s", reason, s)
		}
	}
}
