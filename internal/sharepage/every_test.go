package sharepage

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{
		"call_started": "when a call began is no news afterwards",
		"child_opened": "how it ended is",
	}, func() func(openmanus.Event) string {
		var events []openmanus.Event
		return func(ev openmanus.Event) string {
			events = append(events, ev)
			all := func(yield func(openmanus.Event, error) bool) {
				for _, ev := range events {
					if !yield(ev, nil) {
						return
					}
				}
			}
			var b strings.Builder
			if err := Write(t.Context(), &b, Session{Events: all}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
	})
}
