// Package summary is what stores have in common: what they keep of the events of a session,
// so that no list reads them, and how sessions are named.
package summary

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A Summary is what the events of one append change in the index entry of
// their session. An append thus updates its entry without reading the session.
type Summary struct {
	Title, Words, Flow, Parent, Owner string                // "" changes nothing; the first Words of a session stay
	Configured                        *openmanus.Configured // nil changes nothing
	Usage                             llm.Usage             // to add
	Cost                              openmanus.Money       // to add
	Unpriced                          int                   // to add
	Tree                              string                // what the workspace contains now; "" changes nothing
	Active                            bool                  // there may be something to do, after that
}

// Add adds a body. The usage of child sessions, which their results contain, is
// left out: it is in the children's own entries.
func (s *Summary) Add(b openmanus.Body) {
	s.Active = s.Active || !openmanus.TypeOf(b).Quiet
	switch b := b.(type) {
	case openmanus.Opened:
		s.Flow, s.Parent, s.Owner = b.Flow, b.Parent, b.Owner
	case openmanus.Configured:
		s.Configured = &b
	case openmanus.UserSaid:
		if s.Words == "" {
			s.Words = firstWords(b.Message.Text())
		}
	case openmanus.Snapped:
		if b.Tree != "" {
			s.Tree = b.Tree
		}
	case openmanus.Titled:
		s.Title = firstWords(b.Title)
	}
	for _, u := range openmanus.ModelUses(b) {
		s.Usage, s.Cost, s.Unpriced = s.Usage.Add(u.Usage), s.Cost+u.Cost, s.Unpriced+u.Unpriced()
	}
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

// maxSearched is the most bytes of one message that are indexed.
const maxSearched = 64 << 10

// Searchable returns the text of an event that searches look at, or "": what people and
// models said, and what a model passed to tools.
func Searchable(b openmanus.Body) string {
	text := ""
	for f, v := range reflect.ValueOf(b).Fields() {
		if f.Tag.Get("search") == "" {
			continue
		}
		if m, ok := v.Interface().(llm.Message); ok {
			text = said(m)
		} else {
			text = v.String()
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), maxSearched)], "")
}

// said returns the text of a message, and after it the texts in the arguments of its
// calls, each on lines of its own.
func said(m llm.Message) string {
	var all []string
	if text := m.Text(); text != "" {
		all = append(all, text)
	}
	for _, c := range m.Calls() {
		var input any
		if json.Unmarshal([]byte(c.Input), &input) == nil { // what is no JSON runs nothing
			all = textsIn(input, all)
		}
	}
	return strings.Join(all, "\n")
}

// textsIn adds the texts in a JSON value to all, in the order of the names of members.
func textsIn(v any, all []string) []string {
	switch v := v.(type) {
	case string:
		return append(all, v)
	case []any:
		for _, e := range v {
			all = textsIn(e, all)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = textsIn(v[name], all)
		}
	}
	return all
}
