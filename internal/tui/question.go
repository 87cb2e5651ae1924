package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// A question waits for the person.
type question struct {
	session string // that asks
	path    string // names it, if it is not the one on the screen
	call    llm.Call
	asked   openmanus.Asked
	at      time.Time
}

// questions returns what waits for the person in the session on the screen and those
// below it, the oldest first.
func (p *program) questions() (all []question) {
	collect := func(session, path string, s *view.Session) {
		for _, q := range s.Questions() {
			all = append(all, question{session, path, q.Of, q.Asked, q.Since})
		}
	}
	collect(p.id, "", p.session)
	for id, below := range p.below {
		path := id[strings.LastIndexByte(id, '.')+1:]
		if flow, _, _ := strings.Cut(below.State.Opened.Flow, "?"); flow != "" {
			path = flow + " " + path
		}
		collect(id, path, below.Session)
	}
	slices.SortFunc(all, func(a, b question) int {
		if d := a.at.Compare(b.at); d != 0 {
			return d
		}
		return strings.Compare(a.session+"\x00"+a.call.ID, b.session+"\x00"+b.call.ID)
	})
	return all
}
