package postgres

import (
	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// A column is a value for each of some rows that a statement is given.
type column struct {
	name, kind string // kind is the type of a value
	all        any    // a slice of them
	first      any    // set if there is one row
}

func columnOf[T any](name, kind string, all []T) column {
	c := column{name: name, kind: kind, all: all}
	if len(all) == 1 {
		c.first = all[0]
	}
	return c
}

// usageColumns are those of a session, and of what a model used in it, that are summed.
var usageColumns = []string{"input", "output", "cached", "written", "reasoning", "estimated", "unpriced", "cost"}

// usageValues returns the values of usageColumns.
func usageValues(m openmanus.ModelUse, unpriced int) [8]int64 {
	u := m.Usage
	return [8]int64{int64(u.Input), int64(u.Output), int64(u.Cached), int64(u.CacheWrite), int64(u.Reasoning),
		int64(u.Estimated), int64(unpriced), int64(m.Cost)}
}

// heads are what entries change in the rows of their sessions: one row for each entry.
type heads struct {
	name   []string
	fence  []int64
	n      []int64 // of events
	last   []string
	active []bool

	described                            bool // there is anything in these
	title, words, model, workspace, tree []string
	configured                           []bool // model and workspace are to be set

	used  bool // there is anything in this
	usage [][]int64
}

func headsOf(all []*entry) (h heads) {
	h.usage = make([][]int64, len(usageColumns))
	for _, e := range all {
		s := e.Summary
		h.name, h.fence, h.n = append(h.name, e.Session), append(h.fence, e.fence), append(h.n, int64(len(e.Stored)))
		h.last, h.active = append(h.last, text(e.Stored[len(e.Stored)-1].Type)), append(h.active, s.Active)
		h.title, h.words, h.tree = append(h.title, text(s.Title)), append(h.words, text(s.Words)), append(h.tree, text(s.Tree))
		model, workspace := "", ""
		if s.Configured != nil {
			model, workspace = text(s.Configured.Model), text(s.Configured.Workspace)
		}
		h.model, h.workspace, h.configured = append(h.model, model), append(h.workspace, workspace), append(h.configured, s.Configured != nil)
		h.described = h.described || s.Configured != nil || s.Title != "" || s.Words != "" || s.Tree != ""
		for i, n := range usageValues(openmanus.ModelUse{Usage: s.Usage, Cost: s.Cost}, s.Unpriced) {
			h.usage[i] = append(h.usage[i], n)
			h.used = h.used || n != 0
		}
	}
	return h
}

// columns returns those that are needed. The rest changes nothing.
func (h *heads) columns() []column {
	all := []column{
		columnOf("name", "text", h.name), columnOf("fence", "bigint", h.fence), columnOf("n", "bigint", h.n),
		columnOf("last", "text", h.last), columnOf("active", "boolean", h.active),
	}
	if h.described {
		all = append(all,
			columnOf("title", "text", h.title), columnOf("words", "text", h.words), columnOf("configured", "boolean", h.configured),
			columnOf("model", "text", h.model), columnOf("workspace", "text", h.workspace), columnOf("tree", "text", h.tree))
	}
	if h.used {
		all = append(all, usage(h.usage)...)
	}
	return all
}

func usage(columns [][]int64) (all []column) {
	for i, name := range usageColumns {
		all = append(all, columnOf(name, "bigint", columns[i]))
	}
	return all
}

// In the rows of events and what belongs to them, "of" is the number of the entry, from 1,
// and "n" that of the event in it, from 1.

// eventsOf returns the events of entries.
func eventsOf(all []*entry) []column {
	var of, n []int64
	var types []string
	var digests, keys, bodies [][]byte
	for i, e := range all {
		for j, st := range e.Stored {
			of, n, types = append(of, int64(i)+1), append(n, int64(j)+1), append(types, text(st.Type))
			digests, keys, bodies = append(digests, digest(st.Key)), append(keys, []byte(st.Key)), append(bodies, st.Body)
		}
	}
	return []column{
		columnOf("of", "bigint", of), columnOf("n", "bigint", n), columnOf("type", "text", types),
		columnOf("digest", "bytea", digests), columnOf("key", "bytea", keys), columnOf("body", "bytea", bodies),
	}
}

// refsOf returns the blobs of which events speak, or nil.
func refsOf(all []*entry) []column {
	var of []int64
	var refs []string
	for i, e := range all {
		for _, ref := range e.Refs {
			of, refs = append(of, int64(i)+1), append(refs, string(ref))
		}
	}
	if refs == nil {
		return nil
	}
	return []column{columnOf("of", "bigint", of), columnOf("ref", "text", refs)}
}

// saidIn returns what was said in events, to search in, or nil.
func saidIn(all []*entry) []column {
	var of, n []int64
	var said []string
	for i, e := range all {
		for j, ev := range e.Events {
			if words := summary.Searchable(ev.Body); words != "" {
				of, n, said = append(of, int64(i)+1), append(n, int64(j)+1), append(said, text(words))
			}
		}
	}
	if said == nil {
		return nil
	}
	return []column{columnOf("of", "bigint", of), columnOf("n", "bigint", n), columnOf("text", "text", said)}
}

// usesOf returns what models used for events, or nil. The usage of restored events counted
// elsewhere.
func usesOf(all []*entry) []column {
	var of []int64
	var by []string
	columns := make([][]int64, len(usageColumns))
	for i, e := range all {
		for _, ev := range e.Events {
			if e.times != nil {
				break
			}
			for _, m := range openmanus.ModelUses(ev.Body) {
				of, by = append(of, int64(i)+1), append(by, text(m.By))
				for c, n := range usageValues(m, m.Unpriced()) {
					columns[c] = append(columns[c], n)
				}
			}
		}
	}
	if of == nil {
		return nil
	}
	return append([]column{columnOf("of", "bigint", of), columnOf("by", "text", by)}, usage(columns)...)
}
