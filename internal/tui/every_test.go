package tui

import (
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view/viewtest"
)

func TestEveryEventIsShown(t *testing.T) {
	viewtest.Every(t, map[string]string{}, func() func(openmanus.Event) string {
		p := newProgram(t.Context(), Options{Source: newFake(), Theme: Theme{Name: "none"}})
		p.id, p.width, p.height = "s1", 100, 100
		p.now = func() time.Time { return start.Add(time.Hour) }
		return func(ev openmanus.Event) string {
			p.event(ev)
			p.layout()
			return shownOf(p)
		}
	})
}
