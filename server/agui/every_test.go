package agui

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
	"github.com/openmanus-go/openmanus/llm"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{
		"answered":     "the client has sent it",
		"call_late":    "a call has one result",
		"call_started": "a call has a beginning and a result",
		"ruled":        "the client has sent it",
	}, func() func(openmanus.Event) string {
		p := New(Run{Session: "s", Start: 3}, Position{})
		shown := ""
		return func(ev openmanus.Event) string {
			for _, f := range p.Apply(ev) {
				shown += string(f.Data)
			}
			return shown
		}
	})
}

// A client is told how much of a prompt was read, until words come.
func TestReadingThePrompt(t *testing.T) {
	p := New(Run{Session: "s", Start: 2}, Position{})
	var told []string
	for i, b := range []openmanus.Body{
		openmanus.Configured{}, openmanus.UserSaid{ID: "m", Message: llm.Say(llm.User, "do it")}, openmanus.Typing{Read: 44},
		openmanus.Typing{Parts: llm.Parts{llm.Text{Text: "Yes"}}}, openmanus.Typing{Read: 90},
	} {
		ev := openmanus.Event{Body: b}
		if i < 2 {
			ev.Seq = int64(i + 1)
		}
		for _, f := range p.Apply(ev) {
			if strings.Contains(string(f.Data), "CUSTOM") {
				told = append(told, string(f.Data))
			}
		}
	}
	if want := `{"name":"reading_prompt","type":"CUSTOM","value":{"percent":44}}`; len(told) != 1 || told[0] != want {
		t.Errorf("%q, want %q", told, want)
	}
}
