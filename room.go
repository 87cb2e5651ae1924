package openmanus

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus/llm"
)

// MakeRoom returns the task that comes before the next request, if that would
// be too large: law 6 knows two declared cuts. Results that are old and large
// give way to references first; then what is older to a summary. Each task
// leaves less to be cut, so that there is an end to it.
func (s *State) MakeRoom() (t Task, full bool) {
	w := s.Config.Window
	room, size := w.room(), s.size()
	if room == 0 || size <= w.threshold() {
		return Task{}, false
	}
	compact := Task{Do: Compact, Turn: s.Turn, Re: s.Seq}
	cut := s.cutFor(room, room/4)
	switch over := size > room; {
	case len(s.oldResults(room)) > 0:
		return Task{Do: Elide}, true
	case cut.gain >= room/10:
		return compact, true
	case !over:
		return Task{}, false
	case len(s.largeResults()) > 0:
		return Task{Do: Elide}, true
	case cut.gain > 0:
		return compact, true
	}
	return Task{Do: Stop, Turn: s.Turn, Re: s.Seq, Reason: Reason(llm.Context), Error: fmt.Sprintf(
		"the request is larger than the model's window: about %d tokens where %d fit, and nothing more can be left out", size, room)}, true
}

const (
	refWeight  = 250           // of a reference, in tokens, at most
	largeFloor = 2 * refWeight // from which on a result is worth replacing
)

// A weighed is a result and how much it weighs.
type weighed struct {
	llm.Result
	weight int
}

// oldResults are the results that give way to references: the oldest of those
// that are large, as many as halve the request, but none of the last two
// turns. There are none if that brings little.
func (s *State) oldResults(room int) []weighed {
	last := len(s.Said)
	for last--; last >= 0 && s.Said[last].Role != llm.Tool; last-- {
	}
	var old []weighed
	gain, want := 0, s.size()-room/2
	for i := 0; i < last && gain < want; i++ {
		for _, r := range s.resultsIn(i) {
			if r.weight >= max(largeFloor, room/100) && gain < want {
				old = append(old, r)
				gain += s.scaled(r.weight - refWeight)
			}
		}
	}
	if gain < room/10 {
		return nil
	}
	return old
}

// largeResults are the results that have to go since else nothing fits, also
// those that the model has not seen: the oldest first.
func (s *State) largeResults() []weighed {
	var all []weighed
	for i := range s.Said {
		all = append(all, s.resultsIn(i)...)
	}
	for _, c := range s.Calls {
		if c.Done != nil {
			all = append(all, weighed{llm.Result{ID: c.ID, Parts: c.Done.Parts}, c.weight})
		}
	}
	var large []weighed
	gain, want := 0, s.size()-s.Config.Window.threshold()
	for _, r := range all {
		if r.weight >= largeFloor && gain < want {
			large = append(large, r)
			gain += s.scaled(r.weight - refWeight)
		}
	}
	return large
}

// resultsIn returns the results in the i-th message of Said, each with its
// share of the message's weight.
func (s *State) resultsIn(i int) []weighed {
	m := s.Said[i]
	if m.Role != llm.Tool || s.marks[i].weight < largeFloor {
		return nil
	}
	var rs []weighed
	sum := 0
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			n := llm.Count(nil, llm.Message{Parts: llm.Parts{r}})
			rs = append(rs, weighed{r, n})
			sum += n
		}
	}
	for k := range rs {
		rs[k].weight = int(int64(rs[k].weight) * int64(s.marks[i].weight) / int64(sum))
	}
	return rs
}

// A cut is where a compaction cuts, and what it brings. The zero cut is none.
type cut struct {
	upTo int64
	end  int     // messages of Said that go
	keep []int64 // of those, what stays
	gain int     // tokens, at least and about
}

// cutFor returns where to cut so that what stays at the end has tail tokens,
// or else as few as possible. It cuts before a reply, and never between calls
// and their results.
func (s *State) cutFor(room, tail int) cut {
	var c cut
	rest := s.pending
	for e := len(s.Said); e > 0; e-- {
		if e < len(s.Said) {
			rest += s.marks[e].weight
		}
		safe := e == len(s.Said) && len(s.Calls) == 0 || e < len(s.Said) && s.Said[e].Role == llm.Assistant
		if !safe {
			continue
		}
		if c.end > 0 && s.scaled(rest) > tail {
			break
		}
		if upTo, end := s.lastReply(e); end > 0 {
			c = cut{upTo: upTo, end: end}
		}
	}
	if c.end == 0 {
		return cut{}
	}
	c.keep = s.wordsToKeep(c.end, room/8)
	for _, m := range s.marks[:c.end] {
		if !m.person || !slices.Contains(c.keep, m.seq) {
			c.gain += m.weight
		}
	}
	c.gain = s.scaled(c.gain - s.summaryWeight(room))
	return c
}

// lastReply returns the last reply in the first n messages of Said, and where
// it ends with the results of its calls.
func (s *State) lastReply(n int) (seq int64, end int) {
	for i := n - 1; i >= 0; i-- {
		if s.Said[i].Role == llm.Assistant {
			end := s.endOf(s.marks[i].seq)
			return s.marks[i].seq, end
		}
	}
	return 0, 0
}

// wordsToKeep returns what people said in the first n messages and what stays
// word for word: the first, which is the task; the last, which is the task of
// the moment; and of the others the newest that have no more than some tokens.
func (s *State) wordsToKeep(n, most int) (keep []int64) {
	var said []mark
	for _, m := range s.marks[:n] {
		if m.person {
			said = append(said, m)
		}
	}
	for i := len(said) - 1; i >= 0; i-- {
		if most -= s.scaled(said[i].weight); i == 0 || i == len(said)-1 || most >= 0 {
			keep = append(keep, said[i].seq)
		}
	}
	slices.Sort(keep)
	return keep
}

// summaryBytes is how long the words of a summary may be.
func summaryBytes(room int) int { return min(max(room/5, 1000), 24_000) }

// summaryWeight is how many tokens the message that takes the place of what
// was cut has, at most.
func (s *State) summaryWeight(room int) int {
	n := summaryBytes(room)
	n += n/4 + 1200 // what was looked at, references
	for _, text := range s.kept {
		n += len(text)
	}
	return (n + 1) / 2
}

// callOf returns the call with the id, of all that the model still sees.
func (s *State) callOf(id string) llm.Call {
	if c := s.Call(id); c != nil {
		return c.Call
	}
	for _, m := range s.Said {
		for _, c := range m.Calls() {
			if c.ID == id {
				return c
			}
		}
	}
	return llm.Call{ID: id, Name: cmp.Or(s.gone[id], "a call")}
}
