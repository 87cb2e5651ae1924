package acp

import (
	"encoding/json"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{
		"child_opened": "the call that delegates is shown, and those of the session below",
		"ruled":        "a call that may run is shown when it does",
	}, func() func(openmanus.Event) string {
		var s Story
		shown := ""
		return func(ev openmanus.Event) string {
			for _, u := range s.next("s", ev) {
				if u.SessionUpdate != "" {
					data, err := json.Marshal(u)
					if err != nil {
						t.Fatal(err)
					}
					shown += string(data)
				}
			}
			return shown
		}
	})
}
