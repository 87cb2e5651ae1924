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
	room, size := w.RequestBudget(), s.Size()
	if room == 0 || size <= w.threshold() {
		return Task{}, false
	}
	compact := Task{Do: Compact, Turn: s.Turn, Re: s.Seq}
	cut := s.CutFor(room, room/4)
	switch over := size > room; {
	case len(s.oldResults(room)) > 0:
		return Task{Do: Elide}, true
	case cut.Gain >= room/10:
		return compact, true
	case !over:
		return Task{}, false
	case len(s.largeResults()) > 0:
		return Task{Do: Elide}, true
	case cut.Gain > 0:
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

// Elidable returns the results that an [Elide] puts references in place of.
func (s *State) Elidable() []llm.Result {
	found := s.oldResults(s.Config.Window.RequestBudget())
	if len(found) == 0 {
		found = s.largeResults()
	}
	var results []llm.Result
	for _, w := range found {
		results = append(results, w.Result)
	}
	return results
}

// oldResults are the results that give way to references: the oldest of those
// that are large, as many as halve the request, but none of the last two
// turns. There are none if that brings little.
func (s *State) oldResults(room int) []weighed {
	last := len(s.Said)
	for last--; last >= 0 && s.Said[last].Role != llm.Tool; last-- {
	}
	var old []weighed
	gain, want := 0, s.Size()-room/2
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
	gain, want := 0, s.Size()-s.Config.Window.threshold()
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

// A CutPoint is where a compaction cuts, and what it brings. The zero CutPoint is none.
type CutPoint struct {
	UpTo int64   // the last reply that goes
	End  int     // messages of Said that go
	Keep []int64 // of those, what stays
	Gain int     // tokens, at least and about
}

// CutFor returns where to cut so that what stays at the end has tail tokens,
// or else as few as possible. It cuts before a reply, and never between calls
// and their results.
func (s *State) CutFor(room, tail int) CutPoint {
	var c CutPoint
	rest := s.pending
	for e := len(s.Said); e > 0; e-- {
		if e < len(s.Said) {
			rest += s.marks[e].weight
		}
		safe := e == len(s.Said) && len(s.Calls) == 0 || e < len(s.Said) && s.Said[e].Role == llm.Assistant
		if !safe {
			continue
		}
		if c.End > 0 && s.scaled(rest) > tail {
			break
		}
		if upTo, end := s.lastReply(e); end > 0 {
			c = CutPoint{UpTo: upTo, End: end}
		}
	}
	if c.End == 0 {
		return CutPoint{}
	}
	c.Keep = s.wordsToKeep(c.End, room/8)
	for _, m := range s.marks[:c.End] {
		if !m.person || !slices.Contains(c.Keep, m.seq) {
			c.Gain += m.weight
		}
	}
	c.Gain = s.scaled(c.Gain - s.summaryWeight(room))
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

// SummaryBytes is how long the words of a summary may be.
func SummaryBytes(room int) int { return min(max(room/5, 1000), 24_000) }

// summaryWeight is how many tokens the message that takes the place of what
// was cut has, at most.
func (s *State) summaryWeight(room int) int {
	n := SummaryBytes(room)
	n += n/4 + 1200 // what was looked at, references
	for _, text := range s.kept {
		n += len(text)
	}
	return (n + 1) / 2
}

// FindCall returns the call with the id, of all that the model still sees.
func (s *State) FindCall(id string) llm.Call {
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

	Elisions, Compactions int   // declared cuts so far
	wholes                []Ref // what was left out, by compactions
	TooLarge              bool  // the provider took a request for too large, since it last replied
}

// A mark is what is known of a message in [State].Said.
type mark struct {
	seq    int64 // of the reply, or of what was said; 0: results of calls
	person bool  // said it
	weight int   // in tokens
}

// RequestBudget is how many tokens a request may have; 0 if that is not known.
func (w Window) RequestBudget() int {
	reply := cmp.Or(w.Reply, w.Tokens/8)
	return w.Tokens - min(reply, w.Tokens/2)
}

// threshold is how many tokens a request may have before something is left
// out.
func (w Window) threshold() int { return w.RequestBudget() / 100 * cmp.Or(w.Share, 80) }

// Size is how many tokens the next request has.
func (s *State) Size() int {
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

// CountWith lets c count from now on.
func (s *State) CountWith(c llm.Counter) {
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

// elided puts references in place of results.
func (s *State) elided(e Elided) {
	if e.N != s.Elisions {
		return
	}
	s.Elisions++
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
	if e.N != s.Compactions {
		return
	}
	s.Compactions++
	s.TooLarge = s.TooLarge || e.Refused != ""
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

// likelyReply is how many tokens a reply is taken to have before it is there.
const likelyReply = 1000

// EstimateCost is roughly what the next request of s costs.
func (s *State) EstimateCost(p Prices) Money {
	return p.Cost(llm.Usage{Input: s.Size(), Output: likelyReply})
}

// Fits reports whether the first n messages fit into a request of their own.
func (s *State) Fits(n int) bool {
	weight := s.head + 500
	for _, m := range s.marks[:n] {
		weight += m.weight
	}
	room := s.Config.Window.RequestBudget()
	return room == 0 || s.scaled(weight) <= room
}

// Request returns what a session in state s sends to its model for the
// task t.
func (s *State) Request(t Task) *llm.Request {
	req := &llm.Request{System: s.Config.System, Messages: s.Transcript(t.Re), Settings: s.Config.Settings}
	req.Fixed = len(req.Messages)
	for _, spec := range s.Config.Tools {
		req.Tools = append(req.Tools, spec.ToolSpec)
	}
	if t.Nudge != "" {
		req.Messages = append(req.Messages, llm.Say(llm.User, t.Nudge))
	}
	return req
}
