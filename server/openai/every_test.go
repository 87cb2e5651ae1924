package openai

import (
	"fmt"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{
		"answered":     "nobody is asked",
		"asked":        "nobody is asked",
		"call_done":    "a call is a line when it runs",
		"call_late":    "a call is a line when it runs",
		"called":       "a call is a line when it runs",
		"child_done":   "a call is a line when it runs",
		"child_opened": "a call is a line when it runs",
		"ruled":        "nobody is asked",
		"user_said":    "the client has sent it",
	}, func() func(openmanus.Event) string {
		p := projector{since: 2, upTo: 3}
		shown := ""
		return func(ev openmanus.Event) string {
			for _, s := range p.apply(ev) {
				shown += fmt.Sprintln(s.begin, s.text, s.work, s.call, s.end != nil)
			}
			return shown
		}
	})
}
