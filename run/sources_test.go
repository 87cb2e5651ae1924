package run

import (
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// The addresses of a user stay the user's in a task for a child, although a page that
// the session has read repeats them within a longer text.
func TestAddressesOfTheUserInATask(t *testing.T) {
	for _, port := range []string{"34959", "36147", "8000", "18999", "5173"} {
		s := new(openmanus.State)
		address := "http://127.0.0.1:" + port + "/"
		for i, b := range []openmanus.Body{
			openmanus.Opened{Version: openmanus.FormatVersion}, openmanus.Configured{},
			openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, "Test my shop (127.0.0.1:"+port+").")},
			openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-1", Name: "read", Input: "{}"}}}},
			openmanus.Ruled{Call: "c0-1", Allow: true, By: openmanus.ByGate},
			openmanus.CallStarted{Call: "c0-1", Attempt: 1},
			openmanus.CallDone{Call: "c0-1", Parts: llm.Parts{llm.Text{Text: "URL: " + address + " http://127.0.0.1:22/"}}, Sources: []openmanus.Source{{From: address}}},
		} {
			s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
		}
		var person []string
		for _, src := range taskSources("s", s, "Child: read "+address+" and http://127.0.0.1:22/") {
			if src.From == openmanus.FromPerson {
				person = append(person, src.Words...)
			}
		}
		if !slices.Contains(person, "127.0.0.1:"+port) || slices.ContainsFunc(person, func(w string) bool { return w == "http://127.0.0.1:22/" }) {
			t.Errorf("port %s: the user's words are %q", port, person)
		}
	}
}
