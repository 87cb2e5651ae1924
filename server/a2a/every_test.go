package a2a

import (
	"encoding/json"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{
		"call_done":    "a task has no calls",
		"call_late":    "a task has no calls",
		"call_started": "a task has no calls",
		"called":       "a task has no calls",
		"child_done":   "a task has no calls",
		"child_opened": "a task has no calls",
	}, func() func(openmanus.Event) string {
		p := &Projector{Session: "s"}
		shown := ""
		return func(ev openmanus.Event) string {
			if events := p.Apply(ev); events != nil {
				shown += asJSON(t, events)
			}
			return shown + asJSON(t, p.Last())
		}
	})
}

func asJSON(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
