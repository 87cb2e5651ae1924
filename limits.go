package openmanus

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/openmanus-go/openmanus/llm"
)

// Limits bound a session. In a [Spec], 0 means the default of [DefaultLimits],
// and -1 no limit. [State].Limits has the limits in force: none of them is 0.
type Limits struct {
	Steps  int           `json:"steps,omitempty"`   // replies of the model to one request, and summaries
	Tokens int           `json:"tokens,omitempty"`  // input and output, of the session and its children
	Money  Money         `json:"money,omitempty"`   // cost, likewise
	Time   time.Duration `json:"time_ns,omitempty"` // active on one request; waiting for people does not count
	Depth  int           `json:"depth,omitempty"`   // ancestors of a child session
	FanOut int           `json:"fan_out,omitempty"` // open child sessions
	// repetitions after which the model is nudged; twice as many stop the session
	Stuck int `json:"stuck,omitempty"`
	// how often a request to the model is made while it fails; 0, also in a
	// [State]: the default of [llm.Retry]
	Attempts int `json:"attempts,omitempty"`
}

// DefaultLimits returns the limits that are in force unless others are set.
func DefaultLimits() Limits {
	return Limits{Steps: 50, Tokens: 10_000_000, Money: 20 * Dollar, Time: time.Hour, Depth: 3, FanOut: 8, Stuck: 3}
}

// Or returns l with the fields that are 0 taken from m.
func (l Limits) Or(m Limits) Limits {
	return Limits{
		Steps: cmp.Or(l.Steps, m.Steps), Tokens: cmp.Or(l.Tokens, m.Tokens), Money: cmp.Or(l.Money, m.Money),
		Time: cmp.Or(l.Time, m.Time), Depth: cmp.Or(l.Depth, m.Depth), FanOut: cmp.Or(l.FanOut, m.FanOut),
		Stuck: cmp.Or(l.Stuck, m.Stuck), Attempts: cmp.Or(l.Attempts, m.Attempts),
	}
}

// Within returns l with each limit lowered to that of m where it allows more.
func (l Limits) Within(m Limits) Limits {
	return Limits{
		Steps: less(l.Steps, m.Steps), Tokens: less(l.Tokens, m.Tokens), Money: less(l.Money, m.Money),
		Time: less(l.Time, m.Time), Depth: less(l.Depth, m.Depth), FanOut: less(l.FanOut, m.FanOut),
		Stuck: less(l.Stuck, m.Stuck), Attempts: less(l.Attempts, m.Attempts),
	}
}

// less returns the lower of two limits. 0 and less mean no limit.
func less[T ~int | ~int64](a, b T) T {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Money is an amount in billionths of a US dollar, so that the price of a single
// token is a whole number.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e9

// USD returns m in dollars, for display.
func (m Money) USD() float64 { return float64(m) / float64(Dollar) }

// KnownUSD returns m in dollars, or nil if nothing is known of it: m is 0, and some
// tokens have no known price.
func KnownUSD(m Money, unpriced int) *float64 {
	if m == 0 && unpriced > 0 {
		return nil
	}
	usd := m.USD()
	return &usd
}

// Prices are what a model costs per token. The zero value means that the prices
// are unknown: what such a model costs is recorded as 0, and its tokens count as
// [State].Unpriced.
type Prices struct {
	Input      Money `json:"input,omitempty"`
	Output     Money `json:"output,omitempty"`
	Cached     Money `json:"cached,omitempty"`      // read from the provider's cache; 0: as Input
	CacheWrite Money `json:"cache_write,omitempty"` // written to it; 0: as Input
	Free       bool  `json:"free,omitempty"`        // the model is known to cost nothing

	// The prices of all tokens of a request that has more than Above tokens, the fewest first.
	Tiers []Prices `json:"tiers,omitempty"`
	Above int      `json:"above,omitempty"` // in Tiers
}

// Cost returns the price of u, what one request used.
func (p Prices) Cost(u llm.Usage) Money {
	p = p.at(u.Input)
	cached, written := cmp.Or(p.Cached, p.Input), cmp.Or(p.CacheWrite, p.Input)
	return Money(u.Input-u.Cached-u.CacheWrite)*p.Input + Money(u.Cached)*cached + Money(u.CacheWrite)*written + Money(u.Output)*p.Output
}

// at returns the prices of a request of so many tokens.
func (p Prices) at(input int) Prices {
	for _, t := range slices.Backward(p.Tiers) {
		if input > t.Above {
			return t
		}
	}
	return p
}

// A Window is the size of a model's context window, in tokens. If it is zero, the
// size is unknown: nothing is left out until the provider refuses a request.
type Window struct {
	Tokens int `json:"tokens,omitempty"` // of a request together with its reply
	Reply  int `json:"reply,omitempty"`  // of the reply, at most; 0: an eighth of Tokens
	// percent of the budget for requests above which something is left out; 0: 80
	Share int `json:"share,omitempty"`
}

// A trace is what the detection of repetitions remembers of a reply, as hashes.
// The hash 0 means that there is nothing, which equals nothing else.
type trace struct {
	text    uint64
	calls   uint64 // names and arguments
	results uint64 // the calls and their results
	errs    uint64 // the tools and their errors, if all failed
	kinds   uint64 // the tools and the kinds of their errors, if all failed: see errorKind
	failed  uint64 // 1 if all calls failed, whatever the error
	bad     uint64 // the tools and the kinds of what they report, if all failed or ran what failed
	empty   uint64 // 1 for an empty reply
	waited  bool   // a call waited: the reply may be the same again without being stuck
}

// maxPeriod is the length of the longest cycle that is detected: A-B-C-A-B-C.
const maxPeriod = 3

// How many times [Limits].Stuck a repetition must be seen before it stops the
// session: if the results repeat, too, and if only the words do.
const (
	hardStop = 2
	softStop = 4
)

// lookBack returns how many replies are remembered: enough to see the longest
// cycle as often as it takes to stop the session.
func (s *State) lookBack() int { return max(1, maxPeriod*softStop*s.Limits.Stuck) }

// traceOf returns the trace of a reply, without the results of its calls: see
// [State.settle].
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

// settle adds the results to the trace of the last reply, once, when all of its
// calls have a result.
func (s *State) settle() {
	if s.settled || len(s.Calls) == 0 || len(s.past) == 0 || s.Open() {
		return
	}
	s.settled = true
	var results, errs, kinds []string
	failed, bad, waited := true, true, false
	for _, c := range s.Calls {
		text := c.Done.Parts.Text()
		results = append(results, c.Name, c.Input, text)
		errs = append(errs, c.Name, text)
		waited = waited || c.Done.Waited
		failed, bad = failed && c.Done.IsError, bad && (c.Done.IsError || c.Done.Failed)
		if bad {
			kinds = append(kinds, c.Name+" "+errorKind(text, c.Input))
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds) // the same twice at once is of the same kind
	t := &s.past[len(s.past)-1]
	t.results, t.waited = hash(results...), waited
	if failed {
		t.errs, t.kinds, t.failed = hash(errs...), hash(kinds...), 1
	}
	if bad {
		t.bad = hash(kinds...)
	}
}

// kindBytes is how much of a text its errorKind looks at, from either end.
const kindBytes = 400

// errorKind returns the words of an error that do not depend on the arguments of the
// call: those of letters only that do not stand in the arguments. So the errors of
// calls whose arguments change, and that fail for the same reason, are equal.
func errorKind(text, input string) string {
	if len(text) > 2*kindBytes {
		text = text[:kindBytes] + " " + text[len(text)-kindBytes:]
	}
	input = strings.ToLower(input)
	var words []string
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		w = strings.Trim(w, ".,:;!?()[]{}<>\"'`")
		letters := w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
		if letters && !strings.Contains(input, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// hash returns a hash of words that is never 0. Different lists of words have
// different hashes, also if their concatenations are equal.
func hash(words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0xff}) // in no UTF-8
	}
	return h.Sum64() | 1
}

// repeats returns how often the last replies repeat: hard counts repetitions with
// the same results, soft those of the words alone. A reply that waited repeats none, unless
// waits says so.
func (s *State) repeats(waits bool) (hard, soft int) {
	for period := 1; period <= maxPeriod; period++ {
		for i, of := range []func(trace) uint64{
			func(t trace) uint64 { return t.results }, func(t trace) uint64 { return t.errs },
			func(t trace) uint64 { return t.empty }, func(t trace) uint64 { return t.kinds },
			func(t trace) uint64 { return t.calls }, func(t trace) uint64 { return t.text },
			func(t trace) uint64 { return t.failed }, func(t trace) uint64 { return t.bad },
		} {
			if r := cycles(s.past, period, waits, of); i < 4 {
				hard = max(hard, r)
			} else {
				soft = max(soft, r)
			}
		}
	}
	return hard, soft
}

// cycles returns how often the last period traces occur at the end of past, one
// after the other.
func cycles(past []trace, period int, waits bool, of func(trace) uint64) int {
	if len(past) == 0 {
		return 0
	}
	run := 0
	for k := len(past) - 1; k >= period; k-- {
		if v := of(past[k]); v == 0 || v != of(past[k-period]) || past[k].waited && !waits {
			break
		}
		run++
	}
	return 1 + run/period
}

// Spent returns the limit that the session has reached, with a sentence for
// people, or "".
func (s *State) Spent() (Reason, string) {
	l := s.Limits
	hard, soft := s.repeats(false)
	switch {
	case over(s.Steps, l.Steps):
		return NoSteps, s.stepsUsed()
	case over(s.Usage.Total(), l.Tokens):
		return NoTokens, fmt.Sprintf("reached the token budget (%d of %d used)", s.Usage.Total(), l.Tokens)
	case over(s.Cost, l.Money):
		return NoMoney, fmt.Sprintf("reached the money budget (%.4f of %.4f USD spent)", s.Cost.USD(), l.Money.USD())
	case over(s.Active, l.Time):
		return NoTime, s.TimeUp()
	case l.Stuck > 0 && (hard >= hardStop*l.Stuck || soft >= softStop*l.Stuck):
		return Stuck, fmt.Sprintf("does the same again and again (%d times)", max(hard, soft))
	}
	return "", ""
}

// stepsUsed returns the sentence for people that there are no more steps.
func (s *State) stepsUsed() string { return fmt.Sprintf("reached max steps (%d)", s.Limits.Steps) }

// TimeUp returns the sentence for people that the time limit is reached.
func (s *State) TimeUp() string {
	return fmt.Sprintf("reached the time limit (%s)", s.Limits.Time)
}

// minReply is the fewest tokens that a reply is asked for: providers refuse less.
const minReply = 16

// OverBudget returns the budget that the next request would pass, with a sentence
// for people, or "". Such a request is not sent: its size is known before.
func (s *State) OverBudget() (Reason, string) {
	size := s.Size()
	used, needs := s.Usage.Total(), size+minReply
	cost := s.Config.Prices.Cost(llm.Usage{Input: size, Output: minReply})
	switch l := s.Limits; {
	case l.Tokens > 0 && used+needs > l.Tokens:
		return NoTokens, fmt.Sprintf("the next request would pass the token budget (Current: %d, Needed: %d, Max: %d)",
			used, needs, l.Tokens)
	case l.Money > 0 && s.Cost+cost > l.Money:
		return NoMoney, fmt.Sprintf("the next request would pass the money budget (Current: %.4f, Needed: %.4f, Max: %.4f USD)",
			s.Cost.USD(), cost.USD(), l.Money.USD())
	}
	return "", ""
}

// ReplyLimit returns how many tokens a reply to a request of size tokens may have
// at the prices p: at most most, and at most what the budgets leave. 0 stands for no
// limit but the model's own, both in most and in the result.
func (s *State) ReplyLimit(size, most int, p Prices) int {
	left := math.MaxInt
	p = p.at(size)
	if l := s.Limits.Tokens; l > 0 {
		left = l - s.Usage.Total() - size
	}
	if l := s.Limits.Money; l > 0 && p.Output > 0 {
		left = min(left, int((l-s.Cost-p.Cost(llm.Usage{Input: size}))/p.Output))
	}
	// a limit beyond what the model can write would be refused
	if left >= cmp.Or(most, s.Window().Reply, shortReply) {
		return most
	}
	return max(left, minReply)
}

// shortReply is a number of tokens that every model can write at once.
const shortReply = 4096

// over reports whether a limit is reached. 0 and less are no limit.
func over[T ~int | ~int64](used, limit T) bool { return limit > 0 && used >= limit }

// Nudge returns the nudge for the next request, or "": a hint to a model whose
// reply was empty, that repeats itself, or that has one step left.
func (s *State) Nudge() string {
	l := s.Limits
	hard, soft := s.repeats(true)
	switch n := len(s.past); {
	case n > 0 && s.past[n-1].empty != 0:
		return "Your last reply was empty. Use a tool, or answer the person in words."
	case l.Stuck > 0 && max(hard, soft) >= max(2, l.Stuck) && s.past[n-1].waited:
		return "You have waited several times, and the answer was the same. Wait longer in one call, for instance with sleep 300 and a timeout above that, or with the shell's wait; if what you wait for does not run any more, say so and go on."
	case l.Stuck > 0 && max(hard, soft) >= max(2, l.Stuck):
		return "You have done the same several times, with no progress. Consider what you have learned, and try another way; if there is none, say so and end."
	case l.Steps > 1 && s.Steps == l.Steps-1:
		return "This is your last step: the limit is reached after it. Answer now with what you have."
	}
	return ""
}
