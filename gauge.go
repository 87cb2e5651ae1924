package openmanus

import (
	"slices"

	"github.com/openmanus-go/openmanus/llm"
)

// A gauge says how large the next request will be. What a provider reported
// of a request wins over what was counted: the count of what was in it is
// scaled to that, and only what came later is counted alone.
type gauge struct {
	marks   []mark // of State.Said
	head    int    // tokens that come before the messages
	total   int    // of marks
	pending int    // of results and notes that the model has not seen

	counter llm.Counter
	exact   bool // the counter counts; until a count could matter, half the bytes do

	reported, counted int // of the last request whose usage is known: by the provider, and by us
	covered           int // of head and total: what was in that request or its reply, and still is there

	elisions, compactions int
	wholes                []Ref // what was left out, by compactions
	refused               bool  // the provider took a request for too large, since it last replied
}

// A mark is what is known of a message in [State].Said.
type mark struct {
	seq    int64 // of the reply, or of what was said; 0: results of calls
	person bool  // said it
	weight int   // in tokens
}

// room is how many tokens a request may have; 0 if that is not known.
func (w Window) room() int {
	reply := either(w.Reply, w.Tokens/8)
	return w.Tokens - min(reply, w.Tokens/2)
}

// threshold is how many tokens a request may have before something is left
// out.
func (w Window) threshold() int { return w.room() / 100 * either(w.Share, 80) }

// size is how many tokens the next request has.
func (s *State) size() int {
	return s.scaled(s.covered) + max(s.uncovered(), s.scaled(s.uncovered()))
}

// uncovered is what was counted and is not covered by a reported usage.
func (s *State) uncovered() int { return s.head + s.total + s.pending - s.covered }

// scaled is what a provider would count where we count n.
func (s *State) scaled(n int) int {
	if s.counted == 0 {
		return n
	}
	by := min(max(s.reported, s.counted/4), 4*s.counted) // beyond that, the report is not of this request
	return int(int64(n) * int64(by) / int64(s.counted))
}

func (s *State) weightOf(m llm.Message) int { return llm.Count(s.unit(), m) }

// unit is what counts, for now.
func (s *State) unit() llm.Counter {
	if s.exact {
		return s.counter
	}
	return llm.HalfTheBytes{}
}

// countWith lets c count from now on.
func (s *State) countWith(c llm.Counter) {
	if c != nil && s.counter == nil {
		s.counter = c
		s.weigh()
	}
}

// reweigh counts anew what a configuration says. What was reported of another
// one says nothing any more.
func (s *State) reweigh() {
	var tools []llm.ToolSpec
	for _, t := range s.Config.Tools {
		tools = append(tools, t.ToolSpec)
	}
	s.head = llm.CountHead(s.unit(), s.Config.System, tools)
	s.reported, s.counted, s.covered = 0, 0, 0
}

// weigh counts what the last event added.
func (s *State) weigh() {
	s.pending = 0
	for _, c := range s.Calls {
		if c.Done != nil && c.weight == 0 {
			c.weight = s.weightOf(llm.Message{Parts: llm.Parts{llm.Result{Parts: c.Done.Parts}}})
		}
		s.pending += c.weight
	}
	for i := range s.Inbox {
		n := &s.Inbox[i]
		if n.weight == 0 {
			n.weight = s.weightOf(n.Message)
		}
		s.pending += n.weight
	}
	if limit := s.Config.Window.Tokens / 2; s.counter != nil && !s.exact && limit > 0 && s.head+s.total+s.pending > limit {
		s.exact = true
		s.recount()
	}
}

// recount counts everything anew, since another counter counts.
func (s *State) recount() {
	s.reweigh()
	s.marks, s.total = slices.Clone(s.marks), 0
	for i := range s.marks {
		s.marks[i].weight = s.weightOf(s.Said[i])
		s.total += s.marks[i].weight
	}
	for i, c := range s.Calls { // those that are done may be another state's too
		again := *c
		again.weight = 0
		s.Calls[i] = &again
	}
	for i := range s.Inbox {
		s.Inbox[i].weight = 0
	}
	s.weigh()
}

// mark marks what [State.take] adds to Said.
func (s *State) mark(seq int64, e ModelSaid) {
	add := func(m mark) {
		s.marks = append(s.marks, m)
		s.total += m.weight
	}
	if len(s.Calls) > 0 {
		results := mark{}
		for _, c := range s.Calls {
			results.weight += c.weight
		}
		add(results)
	}
	for _, n := range s.Inbox {
		if n.Seq <= e.Re {
			add(mark{n.Seq, n.person, n.weight})
		}
	}
	sent := s.head + s.total
	add(mark{seq: seq, weight: s.weightOf(e.Message)})
	if e.Usage.Input > 0 {
		s.reported, s.counted, s.covered = e.Usage.Input, sent, s.head+s.total
	}
}
