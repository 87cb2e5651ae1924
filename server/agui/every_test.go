package agui

import (
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
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
