package openmanus

import (
	"slices"

	"github.com/openmanus-go/openmanus/llm"
)

// elided puts references in place of results.
func (s *State) elided(e Elided) {
	if e.N != s.elisions {
		return
	}
	s.elisions++
	instead := make(map[string]llm.Parts)
	for _, x := range e.Calls {
		instead[x.Call] = llm.Parts{llm.Text{Text: x.Text}}
	}
	for i, c := range s.Calls {
		if parts := instead[c.ID]; parts != nil && c.Done != nil {
			again, done := *c, *c.Done
			done.Parts, done.Whole = parts, ""
			again.Done, again.weight = &done, 0
			s.Calls[i] = &again
		}
	}
	s.Said, s.marks = slices.Clone(s.Said), slices.Clone(s.marks) // requests on their way have the old ones
	for i, m := range s.Said {
		if parts, some := elide(m, instead); some {
			s.Said[i].Parts = parts
			s.replaceWeight(i, s.weightOf(s.Said[i]))
		}
	}
}

// elide returns the parts of a message with what stands instead of some
// results.
func elide(m llm.Message, instead map[string]llm.Parts) (parts llm.Parts, some bool) {
	if m.Role != llm.Tool {
		return nil, false
	}
	parts = slices.Clone(m.Parts)
	for i, p := range parts {
		if r, ok := p.(llm.Result); ok && instead[r.ID] != nil {
			r.Parts = instead[r.ID]
			parts[i], some = r, true
		}
	}
	return parts, some
}

// replaceWeight gives the i-th message of Said another weight.
func (s *State) replaceWeight(i, weight int) {
	s.covered = max(0, s.covered-s.marks[i].weight)
	s.total += weight - s.marks[i].weight
	s.marks[i].weight = weight
}

// compacted puts a summary in place of what was said.
func (s *State) compacted(seq int64, e Compacted) {
	s.spend(e.Usage, e.Cost)
	if e.N != s.compactions {
		return
	}
	s.compactions++
	s.refused = s.refused || e.Refused != ""
	end := s.endOf(e.UpTo)
	if end == 0 {
		return
	}
	if e.Whole != "" {
		s.wholes = append(slices.Clip(s.wholes), e.Whole)
	}
	summary := llm.Say(llm.User, e.Summary)
	var said []llm.Message
	var marks []mark
	for i, m := range s.marks[:end] {
		if m.person && slices.Contains(e.Keep, m.seq) {
			said, marks = append(said, s.Said[i]), append(marks, m)
			continue
		}
		s.covered = max(0, s.covered-m.weight)
		s.total -= m.weight
	}
	marks = append(marks, mark{seq: seq, weight: s.weightOf(summary)})
	s.total += marks[len(marks)-1].weight
	s.Said = append(append(said, summary), s.Said[end:]...)
	s.marks = append(marks, s.marks[end:]...)
}

// endOf returns how many messages of Said there are up to and with the reply
// that was event seq and the results of its calls, or 0 if it is not there or
// not all of them are.
func (s *State) endOf(seq int64) int {
	for i, m := range s.marks {
		if m.seq != seq || s.Said[i].Role != llm.Assistant {
			continue
		}
		switch {
		case len(s.Said[i].Calls()) == 0:
			return i + 1
		case i+1 < len(s.Said) && s.Said[i+1].Role == llm.Tool:
			return i + 2
		}
		return 0
	}
	return 0
}
