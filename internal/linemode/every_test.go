package linemode_test

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{
		"asked":    "the question is put to the person, not printed",
		"answered": "the person has typed it",
		"called":   "a call is printed when it runs",
		"ruled":    "a call that may run is printed when it does",
	}, func() func(openmanus.Event) string {
		var b strings.Builder
		p := linemode.New(&b, linemode.Options{})
		return func(ev openmanus.Event) string {
			p.Event(ev)
			return b.String()
		}
	})
}
