package openmanus

import (
	"fmt"
	"hash/fnv"

	"github.com/openmanus-go/openmanus/llm"
)

// A trace is what stuck detection remembers of a reply, as hashes. 0 stands
// for none, which equals nothing.
type trace struct {
	text    uint64
	calls   uint64 // names and arguments
	results uint64 // calls and what came of them
	errs    uint64 // the tools and their errors, if all failed
	empty   uint64 // 1 for a reply that said nothing
}

// maxPeriod is the longest cycle that it sees: A-B-C-A-B-C.
const maxPeriod = 3

// How many times [Limits].Stuck repetitions stop a session: with the same
// outcome, and by the words alone.
const (
	hardStop = 2
	softStop = 4
)

// lookBack is how many replies stuck detection remembers: enough to see the
// longest cycle as often as it takes to stop.
func (s *State) lookBack() int { return max(1, maxPeriod*softStop*s.Limits.Or(DefaultLimits()).Stuck) }

func traceOf(m llm.Message) trace {
	var t trace
	if text := m.Text(); text != "" {
		t.text = hash(text)
	}
	var words []string
	for _, c := range m.Calls() {
		words = append(words, c.Name, c.Input)
	}
	if words != nil {
		t.calls = hash(words...)
	} else if t.text == 0 {
		t.empty = 1
	}
	return t
}

// settle completes the trace of the last reply, once, when all of its calls
// have a result.
func (s *State) settle() {
	if s.settled || len(s.Calls) == 0 || len(s.past) == 0 || s.Open() {
		return
	}
	s.settled = true
	var results, errs []string
	failed := true
	for _, c := range s.Calls {
		text := c.Done.Parts.Text()
		results = append(results, c.Name, c.Input, text)
		errs = append(errs, c.Name, text)
		failed = failed && c.Done.IsError
	}
	t := &s.past[len(s.past)-1]
	t.results = hash(results...)
	if failed {
		t.errs = hash(errs...)
	}
}

func hash(words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0xff}) // in no UTF-8
	}
	return h.Sum64() | 1
}

// repeats returns how often the session has now done the same again: hard,
// with the same outcome; soft, by the words alone.
func (s *State) repeats() (hard, soft int) {
	for period := 1; period <= maxPeriod; period++ {
		for i, of := range []func(trace) uint64{
			func(t trace) uint64 { return t.results }, func(t trace) uint64 { return t.errs },
			func(t trace) uint64 { return t.empty },
			func(t trace) uint64 { return t.calls }, func(t trace) uint64 { return t.text },
		} {
			if r := cycles(s.past, period, of); i < 3 {
				hard = max(hard, r)
			} else {
				soft = max(soft, r)
			}
		}
	}
	return hard, soft
}

// cycles returns how often the last period traces stand at the end of past,
// one after the other.
func cycles(past []trace, period int, of func(trace) uint64) int {
	if len(past) == 0 {
		return 0
	}
	run := 0
	for k := len(past) - 1; k >= period; k-- {
		if v := of(past[k]); v == 0 || v != of(past[k-period]) {
			break
		}
		run++
	}
	return 1 + run/period
}

// Spent returns the limit that the session has reached, and a sentence that
// says so; or "".
func (s *State) Spent() (Reason, string) {
	l := s.Limits.Or(DefaultLimits())
	hard, soft := s.repeats()
	switch {
	case over(s.Steps, l.Steps):
		return NoSteps, fmt.Sprintf("reached max steps (%d)", l.Steps)
	case over(s.Usage.Total(), l.Tokens):
		return NoTokens, fmt.Sprintf("reached the token budget (%d of %d used)", s.Usage.Total(), l.Tokens)
	case over(s.Cost, l.Money):
		return NoMoney, fmt.Sprintf("reached the money budget (%.4f of %.4f USD spent)", s.Cost.USD(), l.Money.USD())
	case over(s.Active, l.Time):
		return NoTime, s.timeUp()
	case l.Stuck > 0 && (hard >= hardStop*l.Stuck || soft >= softStop*l.Stuck):
		return Stuck, fmt.Sprintf("does the same again and again (%d times)", max(hard, soft))
	}
	return "", ""
}

func (s *State) timeUp() string {
	return fmt.Sprintf("reached the time limit (%s)", s.Limits.Or(DefaultLimits()).Time)
}

func over[T ~int | ~int64](used, limit T) bool { return limit > 0 && used >= limit }

// Nudge returns a word of the moment for the next request, or "".
func (s *State) Nudge() string {
	l := s.Limits.Or(DefaultLimits())
	hard, soft := s.repeats()
	switch n := len(s.past); {
	case n > 0 && s.past[n-1].empty != 0:
		return "Your last reply was empty. Use a tool, or answer the person in words."
	case l.Stuck > 0 && max(hard, soft) >= l.Stuck:
		return "You have done the same several times, with no progress. Consider what you have learned, and try another way; if there is none, say so and end."
	case l.Steps > 1 && s.Steps == l.Steps-1:
		return "This is your last step: the limit is reached after it. Answer now with what you have."
	}
	return ""
}
