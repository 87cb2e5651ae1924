package store

import (
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A summary is what the events of one append change in the index entry of
// their session. An append thus updates its entry without reading the session.
type summary struct {
	title, words, flow, parent, owner string                // "" changes nothing
	configured                        *openmanus.Configured // nil changes nothing
	usage                             llm.Usage             // to add
	cost                              openmanus.Money       // to add
	unpriced                          int                   // to add
	active                            bool                  // there may be something to do, after that
}

// add adds a body. The usage of child sessions, which their results contain, is
// left out: it is in the children's own entries.
func (s *summary) add(b openmanus.Body) {
	switch b.(type) {
	case openmanus.Opened, openmanus.Configured, openmanus.Titled, openmanus.Noted:
	default:
		s.active = true
	}
	switch b := b.(type) {
	case openmanus.Opened:
		s.flow, s.parent, s.owner = b.Flow, b.Parent, b.Owner
	case openmanus.Configured:
		s.configured = &b
	case openmanus.UserSaid:
		if s.words == "" {
			s.words = firstWords(b.Message.Text())
		}
	case openmanus.Titled:
		s.title = firstWords(b.Title)
	}
	for _, u := range openmanus.ModelUses(b) {
		s.usage, s.cost, s.unpriced = s.usage.Add(u.Usage), s.cost+u.Cost, s.unpriced+u.Unpriced()
	}
}

// storeUsage adds what models used for the events to the sums of their days.
func storeUsage(q *queries, id int64, events []openmanus.Event) error {
	for _, ev := range events {
		for _, m := range openmanus.ModelUses(ev.Body) {
			u := m.Usage
			_, err := q.exec("add_usage", id, ev.Time.Unix()/86400, m.By, u.Input, u.Output, u.Cached, u.CacheWrite,
				u.Reasoning, u.Estimated, m.Unpriced(), int64(m.Cost))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// store writes the summary to the session with the row id, whose last event is
// given.
func (s *summary) store(q *queries, id int64, last openmanus.Event, typ string) error {
	if *s == (summary{active: true}) { // as after most calls
		_, err := q.exec("move_head", id, last.Time.UnixMicro(), last.Seq, typ)
		return err
	}
	var model, workspace string
	if s.configured != nil {
		model, workspace = s.configured.Model, s.configured.Workspace
	}
	u := s.usage
	_, err := q.exec("add_summary", id, last.Time.UnixMicro(), last.Seq, typ, s.title, s.words, s.flow, s.parent,
		s.configured != nil, model, workspace, u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning, int64(s.cost), s.owner, s.active, u.Estimated, s.unpriced)
	return err
}

// lineWidth is the most characters of a title, and of the words that replace it.
const lineWidth = 80

// firstWords returns the start of a text as one line.
func firstWords(text string) string {
	text = strings.TrimSpace(text)
	text = strings.ToValidUTF8(text[:min(len(text), 64*lineWidth)], "") // enough even with many blanks
	line := []rune(strings.Join(strings.Fields(strings.Map(printable, text)), " "))
	if len(line) > lineWidth {
		return strings.TrimSpace(string(line[:lineWidth-1])) + "…"
	}
	return string(line)
}

// printable replaces control characters, which could control a terminal, with
// blanks.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
