package sight

import "testing"

// A content was seen when every line of it was, in whichever order.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		what   string
		lines  []string
		whole  bool
		partly bool
	}{
		{what: "nothing"},
		{what: "all at once", lines: []string{""}, whole: true},
		{what: "the beginning", lines: []string{"1-100/300"}, partly: true},
		{what: "all but one line", lines: []string{"1-100/300", "102-300/300"}, partly: true},
		{what: "two halves", lines: []string{"101-300/300", "1-100/300"}, whole: true},
		{what: "overlapping", lines: []string{"50-200/300", "1-100/300", "150-300/300"}, whole: true},
		{what: "the middle last", lines: []string{"1-99/300", "201-300/300", "100-200/300"}, whole: true},
		{what: "a part of what has no lines", lines: []string{"0-0/0", "0-0/0"}, partly: true},
		{what: "something unreadable", lines: []string{"some"}},
	} {
		var m Memory
		for _, l := range c.lines {
			m.Note(File{Path: "a", Sum: "s", Lines: l})
		}
		copied := m.Clone()
		copied.Note(File{Path: "b", Sum: "s"})
		if m.Knows("s") != c.whole || m.Partly("s") != c.partly || m.KnowsPath("a") != (c.lines != nil) || m.KnowsPath("b") {
			t.Errorf("%s: whole %v, partly %v", c.what, m.Knows("s"), m.Partly("s"))
		}
	}
}
