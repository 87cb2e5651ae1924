package openmanus

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// MakeRoom returns the task that must precede the next request, if that would be
// too large for the context window: first an [Elide] of old large results, then a
// [Compact] of older messages, at last a [Stop]. Each task leaves less to cut, so
// the sequence ends. It returns no task if the window is unknown.
func (s *State) MakeRoom() (t Task, full bool) {
	room, size := s.Window().RequestBudget(), s.Size()
	if room == 0 || size <= s.threshold() {
		return Task{}, false
	}
	compact := Task{Do: Compact, Turn: s.Turn, Re: s.Seq}
	cut := s.CutFor(room, false)
	switch over := size > room; {
	case len(s.oldResults(room)) > 0:
		return Task{Do: Elide}, true
	case cut.Gain >= s.worthwhile(room):
		return compact, true
	case !over, len(s.largeResults()) == 0 && size < s.told: // the provider knows better what fits than our count does
		return Task{}, false
	case len(s.largeResults()) > 0:
		return Task{Do: Elide}, true
	case cut.Gain > 0:
		return compact, true
	case len(s.ElidableCalls()) > 0, s.hasLeast():
		return Task{Do: Elide}, true
	}
	return Task{Do: Stop, Turn: s.Turn, Re: s.Seq, Reason: Reason(llm.Context), Error: s.tooLarge(room)}, true
}

// leastSpace is the fewest tokens for a conversation with which an agent gets anywhere.
const leastSpace = 500

// tooLarge says why no request fits, and what helps.
func (s *State) tooLarge(room int) string {
	head := s.scaled(s.head)
	text := fmt.Sprintf("the request is larger than the model's window: about %d tokens where %d fit, and nothing more can be left out", s.Size(), room)
	if room-head < leastSpace {
		return fmt.Sprintf("%s; the instructions and the tools alone have %d: use an agent with fewer tools, a model with a larger window "+
			"([models.%q] window says how large it is), or start its server with a larger one, such as llama-server -c 8192", text, head, s.Config.Model)
	}
	return fmt.Sprintf("%s; %d are left for the conversation: put long texts into files, which the agent reads in parts, "+
		"or use a model with a larger window ([models.%q] window says how large it is)", text, room-head, s.Config.Model)
}

// space returns what system prompt and tools leave of room, in tokens. The shares of a
// conversation are shares of that where it is little.
func (s *State) space(room int) int { return max(0, room-s.scaled(s.head)) }

// threshold returns the size above which something is left out of a request: a share
// of the window, or a larger one of what system prompt and tools leave of it, if that is
// less than half.
func (s *State) threshold() int {
	room := s.Window().RequestBudget()
	share, space := cmp.Or(s.Window().Share, 80), s.space(room)
	if space < room/2 { // each cut costs a request, and gains little
		return room - space*(100-share)/2/100
	}
	return room / 100 * share
}

// worthwhile returns how many tokens must be saved for something to be left out before
// it has to be.
func (s *State) worthwhile(room int) int { return max(1, min(room/10, s.space(room)/6)) }

// Ask returns the task by which a flow asks the model, with a nudge or "": a
// [Reply]; or what must come first, as [State.MakeRoom] has it; or a [Stop], if the
// session has reached a limit, or would pass a budget with the request.
func (s *State) Ask(nudge string) Task {
	reply, full := Task{Do: Reply, Turn: s.Turn, Re: s.Seq, Nudge: nudge}, false
	t := reply
	reason, why := s.Spent()
	if reason == "" {
		var first Task
		if first, full = s.MakeRoom(); full {
			t = first
		}
		if t.Do == Compact && s.Limits.Steps > 0 && s.Steps == s.Limits.Steps-1 { // which is a step itself
			if t = reply; s.Size() > s.Window().RequestBudget() {
				reason, why = NoSteps, s.stepsUsed()
			}
		}
		if reason == "" && (t.Do == Reply || t.Do == Compact) {
			reason, why = s.OverBudget()
		}
	}
	if reason != "" {
		return Task{Do: Stop, Turn: s.Turn, Re: s.Seq, Reason: reason, Error: why}
	}
	return t
}

const (
	refTokens  = 250           // the most tokens that a reference has
	largeFloor = 2 * refTokens // the fewest tokens for which a result is worth replacing
	smallFloor = refTokens + 50
)

// LeftOut is in each text that an [Elided] puts in the place of another.
const LeftOut = "left out to make room"

// hasLeast reports whether [State.ElidableLeast] has something.
func (s *State) hasLeast() bool {
	results, calls := s.ElidableLeast(s.Size() - s.Window().RequestBudget())
	return len(results)+len(calls) > 0
}

// ElidableLeast returns what references replace where nothing large is left to replace, to save
// so many tokens: smaller results, or else the arguments of calls, or else the pictures that
// the model was to see now.
func (s *State) ElidableLeast(want int) (results []llm.Result, calls []llm.Call) {
	for _, r := range s.resultsFor(want, smallFloor) {
		results = append(results, r.Result)
	}
	if len(results) > 0 {
		return results, nil
	}
	if calls = s.callsFor(want, smallFloor); len(calls) > 0 {
		return nil, calls
	}
	for _, c := range s.Calls {
		if c.pictures > 0 && want > 0 {
			results = append(results, llm.Result{ID: c.ID, Parts: c.Done.Parts})
			want -= s.scaled(c.pictures)
		}
	}
	return results, nil
}

// A sizedResult is a result and its size in tokens.
type sizedResult struct {
	llm.Result
	tokens int
}

// Elidable returns the results that an [Elide] task replaces by references now.
func (s *State) Elidable() []llm.Result {
	found := s.oldResults(s.Window().RequestBudget())
	if len(found) == 0 {
		found = s.largeResults()
	}
	var results []llm.Result
	for _, w := range found {
		results = append(results, w.Result)
	}
	return results
}

// ElidableNow returns the results that references replace when the provider has refused
// a request as too large, whatever is known of its window: the oldest large ones, as
// many as it takes to halve the request. The model may not have read some of them.
func (s *State) ElidableNow() []llm.Result {
	var results []llm.Result
	for _, w := range s.resultsFor(s.Size()/2, largeFloor) {
		results = append(results, w.Result)
	}
	return results
}

// ElidableCalls returns the calls with large arguments that an [Elide] task replaces by
// references when no result is left to replace: the oldest, as many as it takes to fit.
// All of them have a result, so that the model needs their arguments no more.
func (s *State) ElidableCalls() []llm.Call { return s.callsFor(s.Size()-s.threshold(), largeFloor) }

// ElidableCallsNow is [State.ElidableCalls] when the provider has refused a request as too
// large, whatever is known of its window.
func (s *State) ElidableCallsNow() []llm.Call { return s.callsFor(s.Size()/2, largeFloor) }

// callsFor returns the oldest calls whose arguments have floor tokens or more, as many as it
// takes to save so many tokens.
func (s *State) callsFor(want, floor int) (calls []llm.Call) {
	for i, m := range s.Said {
		if m.Role != llm.Assistant || s.marks[i].tokens < floor || i == len(s.Said)-1 && s.Open() {
			continue
		}
		for _, c := range m.Calls() {
			n := s.tokensOf(llm.Message{Parts: llm.Parts{c}})
			if n >= floor && want > 0 && (floor == largeFloor || !strings.Contains(c.Input, LeftOut)) {
				calls = append(calls, c)
				want -= s.scaled(n - refTokens)
			}
		}
	}
	return calls
}

// oldResults returns the oldest large results, as many as it takes to halve the
// request, but none of the last two turns. It returns none if the gain is small.
func (s *State) oldResults(room int) []sizedResult {
	last := len(s.Said)
	for last--; last >= 0 && s.Said[last].Role != llm.Tool; last-- {
	}
	var old []sizedResult
	gain, want := 0, s.Size()-room/2
	for i := 0; i < last && gain < want; i++ {
		for _, r := range s.resultsIn(i) {
			if r.tokens >= max(largeFloor, room/100) && gain < want {
				old = append(old, r)
				gain += s.scaled(r.tokens - refTokens)
			}
		}
	}
	if gain < s.worthwhile(room) {
		return nil
	}
	return old
}

// largeResults returns the large results, the oldest first, that must be replaced
// because nothing fits otherwise. The model may not have read some of them.
func (s *State) largeResults() []sizedResult {
	return s.resultsFor(s.Size()-s.threshold(), largeFloor)
}

// resultsFor returns the oldest results of floor tokens or more, as many as it takes to save
// so many tokens.
func (s *State) resultsFor(want, floor int) []sizedResult {
	var all []sizedResult
	for i := range s.Said {
		all = append(all, s.resultsIn(i)...)
	}
	for _, c := range s.Calls {
		if c.Done != nil {
			all = append(all, sizedResult{llm.Result{ID: c.ID, Parts: c.Done.Parts}, c.tokens})
		}
	}
	var large []sizedResult
	gain := 0
	for _, r := range all {
		if r.tokens >= floor && gain < want && (floor == largeFloor || !strings.Contains(r.Parts.Text(), LeftOut)) {
			large = append(large, r)
			gain += s.scaled(r.tokens - refTokens)
		}
	}
	return large
}

// resultsIn returns the results in the i-th message of Said, each with its share
// of the message's tokens.
func (s *State) resultsIn(i int) []sizedResult {
	m := s.Said[i]
	if m.Role != llm.Tool || s.marks[i].tokens < smallFloor {
		return nil
	}
	var rs []sizedResult
	sum := 0
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			n := llm.Count(nil, llm.Message{Parts: llm.Parts{r}})
			rs = append(rs, sizedResult{r, n})
			sum += n
		}
	}
	for k := range rs {
		rs[k].tokens = int(int64(rs[k].tokens) * int64(s.marks[i].tokens) / int64(sum))
	}
	return rs
}

// A CutPoint is where a compaction cuts. The zero CutPoint means that there is
// nothing to cut.
type CutPoint struct {
	UpTo int64   // the event of the last reply that is replaced
	End  int     // how many messages of Said are replaced
	Keep []int64 // the events of those messages of the user that stay
	Gain int     // about how many tokens are saved, at least
}

// CutFor returns the cut for requests of room tokens, after which a part of the
// conversation stays: a fourth of room, or a third of what system prompt and tools leave
// of it, whichever is less; half of that if the provider has refused a request; or as
// little more as possible. A cut lies before a reply, and never between calls and
// their results.
func (s *State) CutFor(room int, refused bool) CutPoint {
	tail := min(room/4, s.space(room)/3)
	if refused {
		tail /= 2
	}
	var c CutPoint
	rest := s.pending
	for e := len(s.Said); e > 0; e-- {
		if e < len(s.Said) {
			rest += s.marks[e].tokens
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
	c.Keep = s.wordsToKeep(c.End, min(room/8, s.space(room)/6))
	for _, m := range s.marks[:c.End] {
		if !m.person || !slices.Contains(c.Keep, m.seq) {
			c.Gain += m.tokens
		}
	}
	c.Gain = s.scaled(c.Gain - s.summaryTokens(room))
	return c
}

// lastReply returns the event of the last reply in the first n messages of Said,
// and how many messages there are up to the results of its calls.
func (s *State) lastReply(n int) (seq int64, end int) {
	for i := n - 1; i >= 0; i-- {
		if s.Said[i].Role == llm.Assistant {
			end := s.endOf(s.marks[i].seq)
			return s.marks[i].seq, end
		}
	}
	return 0, 0
}

// wordsToKeep returns the messages of the user, among the first n, that a
// compaction keeps word for word: the first, which is the task; the last, which is
// the current task; and the newest of the others, in at most so many tokens.
func (s *State) wordsToKeep(n, most int) (keep []int64) {
	var said []mark
	for _, m := range s.marks[:n] {
		if m.person {
			said = append(said, m)
		}
	}
	for i := len(said) - 1; i >= 0; i-- {
		if most -= s.scaled(said[i].tokens); i == 0 || i == len(said)-1 || most >= 0 {
			keep = append(keep, said[i].seq)
		}
	}
	slices.Sort(keep)
	return keep
}

// SummaryBytes returns how many bytes a summary may have if a request may have room
// tokens.
func (s *State) SummaryBytes(room int) int {
	return min(max(min(room/5, s.space(room)/3), 400), 24_000)
}

// refLines is how many references a summary has at most, to what it stands for.
const refLines = 8

// Recent returns the last of what compactions have replaced, with the newest: as many as a
// summary names. The text of each names the one before.
func (s *State) Recent(newest Ref) []Ref {
	refs := append(slices.Clip(s.wholes), newest)
	return refs[max(0, len(refs)-refLines):]
}

// summaryTokens returns how many tokens the message with the summary has, at
// most.
func (s *State) summaryTokens(room int) int {
	most := s.SummaryBytes(room)
	n := most + most/4 + 300 + 60*min(len(s.wholes)+1, refLines) // the list of files and addresses, and the references
	dense := 0                                                   // tokens of texts that have more than one in two bytes
	for name, text := range s.kept {
		most := min(len(text), s.KeptBytes(room))
		n += len(name) + 30 + most
		if most > 0 {
			all := s.tokensOf(llm.Say(llm.User, text))
			dense += max(0, int(int64(all)*int64(most)/int64(len(text)))-most/2)
		}
	}
	return (n+1)/2 + dense
}

// KeptBytes returns how many bytes of what a tool said last a compaction keeps.
func (s *State) KeptBytes(room int) int { return 1000 + 2*s.SummaryBytes(room) }

// FindCall returns a call that the model still sees, by its id. If there is none,
// the result has a name for people.
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

// A tokenCount estimates the size of the next request. Where a provider has
// reported the size of a request, that wins: our count of the messages in it is
// scaled to the report, and only later messages are counted alone.
type tokenCount struct {
	marks   []mark // of the messages in State.Said
	head    int    // tokens of the system prompt and the tools
	total   int    // tokens of the messages in Said
	pending int    // tokens of the results and notes that the model has not read

	counter llm.Counter
	// counter is in use; half the bytes are a good estimate until the window is half
	// full or a budget nearly used up
	exact bool

	reported, counted int // size of the last request with a known usage: by the provider, and by our count
	covered           int // the part of head and total that was in that request or its reply, and still is

	Elisions, Compactions int   // how many there were
	wholes                []Ref // the texts that compactions replaced
	TooLarge              bool  // the provider has refused a request as too large since the last reply
	told                  int   // the tokens of the window by a refusal under this configuration; 0: none named it
}

// A mark describes a message in [State].Said.
type mark struct {
	seq    int64 // the event of the reply or message; 0 for results of calls
	person bool  // a person wrote it
	tokens int   // by our count
}

// RequestBudget returns how many tokens a request may have: the window less the
// reply. It is 0 if the window is unknown.
func (w Window) RequestBudget() int {
	reply := cmp.Or(w.Reply, w.Tokens/8)
	return w.Tokens - min(reply, w.Tokens/2)
}

// Window returns the window of the session's model: as the session is configured, or as a
// refusal has named it since, if that is smaller.
func (s *State) Window() Window {
	w := s.Config.Window
	if s.told > 0 && (w.Tokens == 0 || s.told < w.Tokens) {
		w.Tokens = s.told
	}
	return w
}

// refused folds the words in which a provider refused the next request as too large; "" stands
// for none. If they name the window, it holds from now on, and the size of the request counts
// as reported: the one that they name, or else more than the window.
func (s *State) refused(text string) {
	if text == "" {
		return
	}
	s.TooLarge = true
	fit, had := llm.Overflow(text)
	if fit == 0 {
		return
	}
	if had == 0 && s.Size() <= fit {
		had = fit + 1
	}
	if s.told = fit; had > 0 {
		s.reported, s.counted, s.covered = had, s.head+s.total+s.pending, s.head+s.total
	}
}

// A ResultSize says how many bytes of text a model reads of the result of one call.
// [State.ResultSize] decides it, and nothing else does.
type ResultSize struct {
	// Output is for what commands print and searches find. A longer text loses
	// its middle, because the beginning and the end say most.
	Output int

	// Text is for documents, pages and files: see [Result].Reading.
	Text int
}

// ResultSize returns how long results may be for the model to read all of them. A text
// takes an eighth of a small window, at four bytes a token.
func (w Window) ResultSize() ResultSize {
	size := ResultSize{Output: 10_000, Text: 40_000}
	if w.Tokens > 0 {
		most := max(1000, w.Tokens/2)
		size = ResultSize{Output: min(size.Output, most), Text: min(size.Text, most)}
	}
	return size
}

// ResultSize is [Window.ResultSize], and less where system prompt and tools leave little:
// then a text takes an eighth of that.
func (s *State) ResultSize() ResultSize {
	size := s.Window().ResultSize()
	if room := s.Window().RequestBudget(); s.space(room) < room/2 {
		most := max(1000, s.space(room)/2)
		size = ResultSize{Output: min(size.Output, most), Text: min(size.Text, most)}
	}
	return size
}

// Size estimates how many tokens the next request has.
func (s *State) Size() int {
	return s.scaled(s.covered) + max(s.uncovered(), s.scaled(s.uncovered()))
}

// uncovered returns our count of what no reported usage covers.
func (s *State) uncovered() int { return s.head + s.total + s.pending - s.covered }

// scaled returns what the provider would count where our count is n.
func (s *State) scaled(n int) int {
	if s.counted == 0 {
		return n
	}
	// a report that is further off is not about this request
	by := min(max(s.reported, s.counted/4), 4*s.counted)
	return int(int64(n) * int64(by) / int64(s.counted))
}

// tokensOf returns the size of a message by the counter in use.
func (s *State) tokensOf(m llm.Message) int { return llm.Count(s.unit(), m) }

// unit returns the counter that is in use.
func (s *State) unit() llm.Counter {
	if s.exact {
		return s.counter
	}
	return llm.HalfTheBytes{}
}

// CountWith counts tokens with c from now on. A second counter is ignored.
func (s *State) CountWith(c llm.Counter) {
	if c != nil && s.counter == nil {
		s.counter = c
		s.estimate()
	}
}

// Offered returns the tools that requests describe: all but deferred ones.
func (c Configured) Offered() []llm.ToolSpec {
	var tools []llm.ToolSpec
	for _, t := range c.Tools {
		if !t.Deferred {
			tools = append(tools, t.ToolSpec)
		}
	}
	return tools
}

// recountHead counts the system prompt and the tools of a new configuration, and
// forgets what was reported under the one before.
func (s *State) recountHead() {
	s.head = llm.CountHead(s.unit(), s.Config.System, s.Config.Offered())
	s.reported, s.counted, s.covered = 0, 0, 0
}

// estimate counts what the last event has added.
func (s *State) estimate() {
	s.pending = 0
	for _, c := range s.Calls {
		if c.Done != nil && c.tokens == 0 {
			lasting := withoutPictures(c.Done.Parts)
			c.tokens = s.tokensOf(llm.Message{Parts: llm.Parts{llm.Result{Parts: lasting}}})
			if len(lasting) < len(c.Done.Parts) {
				c.pictures = s.tokensOf(llm.Message{Parts: llm.Parts{llm.Result{Parts: c.Done.Parts}}}) - c.tokens
			}
		}
		s.pending += c.tokens + c.pictures
	}
	for i := range s.Inbox {
		n := &s.Inbox[i]
		if n.tokens == 0 {
			n.tokens = s.tokensOf(n.Message)
		}
		s.pending += n.tokens
	}
	if s.counter == nil || s.exact {
		return
	}
	limit := s.Window().Tokens / 2
	near, _ := s.OverBudget()
	if limit > 0 && s.head+s.total+s.pending > limit || near != "" {
		s.exact = true
		s.recount()
	}
}

// recount counts everything again, with another counter.
func (s *State) recount() {
	s.recountHead()
	s.marks, s.total = slices.Clone(s.marks), 0
	for i := range s.marks {
		s.marks[i].tokens = s.tokensOf(s.Said[i])
		s.total += s.marks[i].tokens
	}
	for i, c := range s.Calls { // a clone may share those with a result
		again := *c
		again.tokens, again.pictures = 0, 0
		s.Calls[i] = &again
	}
	for i := range s.Inbox {
		s.Inbox[i].tokens = 0
	}
	s.estimate()
}

// mark adds the marks of the messages that [State.take] appends to Said.
func (s *State) mark(seq int64, e ModelSaid) {
	add := func(m mark) {
		s.marks = append(s.marks, m)
		s.total += m.tokens
	}
	pictures := 0
	if len(s.Calls) > 0 {
		results := mark{}
		for _, c := range s.Calls {
			results.tokens += c.tokens
			pictures += c.pictures
		}
		if s.plainCalls {
			results.tokens = s.tokensOf(s.results())
		}
		add(results)
	}
	for _, n := range s.Inbox {
		if n.Seq <= e.Re {
			add(mark{n.Seq, n.Person, n.tokens})
		}
	}
	sent := s.head + s.total + pictures
	add(mark{seq: seq, tokens: s.tokensOf(e.Message)})
	if e.Usage.Input > 0 && e.Usage.Estimated == 0 {
		s.reported, s.counted, s.covered = e.Usage.Input, sent, s.head+s.total
	}
}

// elided folds an elision.
func (s *State) elided(e Elided) {
	s.spend(e)
	if e.N != s.Elisions {
		return
	}
	s.Elisions++
	s.refused(e.Refused)
	s.soft.undo = false
	instead, inputs := make(map[string]llm.Parts), make(map[string]string)
	for _, x := range e.Calls {
		if x.Input {
			inputs[x.Call] = x.Text
			continue
		}
		instead[x.Call] = llm.Parts{llm.Text{Text: x.Text}}
	}
	for i, c := range s.Calls {
		if parts := instead[c.ID]; parts != nil && c.Done != nil {
			again, done := *c, *c.Done
			done.Parts, done.Whole = parts, ""
			again.Done, again.tokens, again.pictures = &done, 0, 0
			s.Calls[i] = &again
		}
	}
	s.Said, s.marks = slices.Clone(s.Said), slices.Clone(s.marks) // requests under way share the old ones
	for i, m := range s.Said {
		if parts, some := elide(m, instead, inputs); some {
			s.Said[i].Parts = parts
			s.replaceTokens(i, s.tokensOf(s.Said[i]))
		}
	}
}

// elide returns the parts of a message with some results and arguments replaced, and
// whether there were any.
func elide(m llm.Message, instead map[string]llm.Parts, inputs map[string]string) (parts llm.Parts, some bool) {
	parts = slices.Clone(m.Parts)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Result:
			if to := instead[p.ID]; to != nil {
				p.Parts = to
				parts[i], some = p, true
			}
		case llm.Call:
			if to := inputs[p.ID]; to != "" {
				p.Input, p.Ran = to, ""
				parts[i], some = p, true
			}
		}
	}
	return parts, some
}

// replaceTokens sets the size of the i-th message in Said.
func (s *State) replaceTokens(i, tokens int) {
	s.covered = max(0, s.covered-s.marks[i].tokens)
	s.total += tokens - s.marks[i].tokens
	s.marks[i].tokens = tokens
}

// compacted folds a compaction.
func (s *State) compacted(seq int64, e Compacted) {
	s.spend(e)
	if e.N != s.Compactions {
		return
	}
	s.Compactions++
	s.soft.undo = false
	if e.Step { // a model was asked
		s.Steps++
	}
	s.refused(e.Refused)
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
		s.covered = max(0, s.covered-m.tokens)
		s.total -= m.tokens
	}
	marks = append(marks, mark{seq: seq, tokens: s.tokensOf(summary)})
	s.total += marks[len(marks)-1].tokens
	s.Said = append(append(said, summary), s.Said[end:]...)
	s.marks = append(marks, s.marks[end:]...)
}

// endOf returns how many messages of Said there are up to and including the reply
// that is event seq and the results of its calls. It returns 0 if the reply is
// not there, or results are missing.
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

// likelyReply is the number of tokens that a reply is expected to have.
const likelyReply = 1000

// EstimateUsage returns about what the next request will use.
func (s *State) EstimateUsage() llm.Usage {
	return llm.Usage{Input: s.Size(), Output: likelyReply}
}

// Fits reports whether the first n messages of Said fit into a request of room tokens. They
// do if room is 0: then the window is not known.
func (s *State) Fits(n, room int) bool {
	tokens := s.head + 500
	for _, m := range s.marks[:n] {
		tokens += m.tokens
	}
	return room == 0 || s.scaled(tokens) <= room
}

// pictureNote precedes the pictures of a request. They stand in a message of the
// user, since not every provider takes pictures in results.
const pictureNote = "(a picture of how it looks now, made by the tool and not sent by the person)"

// Request returns the request for the task t, a [Reply]. The same state and task
// make the same request, byte for byte. Last come pictures of what tools work on,
// which only this request has: later ones begin with the messages before them.
func (s *State) Request(t Task) *llm.Request {
	req := &llm.Request{System: s.Config.System, Tools: s.Config.Offered(), Messages: s.Transcript(t.Re), Settings: s.Config.Settings,
		Attempts: max(0, s.Limits.Attempts)}
	req.Settings.MaxTokens = s.ReplyLimit(s.Size(), req.Settings.MaxTokens, s.Config.Prices)
	req.Requests = s.requestsWithin(s.Size(), req.Settings.MaxTokens)
	if s.counted > 0 {
		req.Size = s.scaled(s.head + s.total + s.pending) // Size is rather too large
	}
	req.Fixed = len(req.Messages)
	var last llm.Parts
	if pictures := s.pictures(); len(pictures) > 0 {
		last = append(llm.Parts{llm.Text{Text: pictureNote}}, pictures...)
	}
	if t.Nudge != "" {
		last = append(last, llm.Text{Text: t.Nudge})
	}
	if len(last) > 0 {
		req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: last})
	}
	return req
}

// requestsWithin returns how many requests of size tokens the budgets have room for, one at
// least, if the reply to each has most tokens and the next one has it too; 0 if there are
// budgets of neither tokens nor money, or room for more than anybody makes.
func (s *State) requestsWithin(size, most int) int {
	most = cmp.Or(most, s.Window().Reply, shortReply)
	var u llm.Usage
	for n := range 20 {
		u = u.Add(llm.Usage{Input: size + n*most, Output: most})
		tokens, money := s.Limits.Tokens, s.Limits.Money
		if tokens > 0 && s.Usage.Total()+u.Total() > tokens || money > 0 && s.Cost+s.Config.Prices.Cost(u) > money {
			return max(1, n)
		}
	}
	return 0
}

// A softening is what the last [Softened] events have changed since the last reply. A reply
// makes it last; without one it is taken back, because it did not help.
type softening struct {
	count int  // events since the last reply
	plain bool // one of them was Plain
	undo  bool // it can be taken back: this was the conversation before
	said  []llm.Message
	marks []mark
	calls []*CallState
	inbox []Note
}

// softened folds a softening: it changes what the model has not replied to, or everything
// if the session has another configuration since its last reply.
func (s *State) softened(e Softened) {
	s.spend(e)
	if e.N != s.Softenings || s.Open() {
		return
	}
	s.Softenings++
	if s.soft.count == 0 {
		s.soft = softening{undo: true, said: s.Said, marks: s.marks, calls: slices.Clone(s.Calls), inbox: slices.Clone(s.Inbox)}
	}
	s.soft.count++
	s.soft.plain = s.soft.plain || e.Plain
	s.Said, s.marks = slices.Clone(s.Said), slices.Clone(s.marks) // requests under way share the old ones
	names := map[string]string{}
	for i := s.firstNew(); i < len(s.Said); i++ {
		for _, c := range s.Said[i].Calls() {
			names[c.ID] = c.Name
		}
		if m := e.of(s.Said[i], names); !reflect.DeepEqual(m, s.Said[i]) {
			s.Said[i] = m
			s.replaceTokens(i, s.tokensOf(m))
		}
	}
	for i, c := range s.Calls {
		again, done := *c, *c.Done
		done.Parts = e.parts(done.Parts)
		again.Done, again.tokens, again.pictures = &done, 0, 0
		s.Calls[i] = &again
	}
	s.plainCalls = s.plainCalls || e.Plain && len(s.Calls) > 0
	for i, n := range s.Inbox {
		s.Inbox[i].Message, s.Inbox[i].tokens = e.of(n.Message, names), 0
	}
}

// firstNew returns the index in Said of the first message that no request had to which the
// model replied.
func (s *State) firstNew() int {
	for i, m := range slices.Backward(s.marks) {
		if m.seq != 0 && s.Said[i].Role == llm.Assistant {
			if m.seq < s.configured {
				return 0
			}
			return i
		}
	}
	return 0
}

// harden takes back a softening that did not help. Messages that came meanwhile stay.
func (s *State) harden() {
	if s.soft.undo {
		s.Said, s.marks, s.Calls = s.soft.said, slices.Clone(s.soft.marks), s.soft.calls
		s.Inbox = append(slices.Clone(s.soft.inbox), s.Inbox[min(len(s.Inbox), len(s.soft.inbox)):]...)
		s.plainCalls = false
		s.recount()
	}
	s.soft = softening{}
}

// TakenUpTo returns the last event to which the conversation can go back, and up to which a
// request had everything to which the model replied. It is 0 if there is none.
func (s *State) TakenUpTo() int64 {
	i := s.firstNew()
	if i >= len(s.marks) || s.Said[i].Role != llm.Assistant {
		return 0
	}
	if len(s.Calls) > 0 {
		return s.Moment(s.marks[i].seq - 1)
	}
	return s.Moment(s.marks[i].seq)
}

// Soften returns the next softening after a request was refused with an error, in the
// words of the provider: of one that changes something. It returns nil if there is none,
// or if there were two since the last reply.
func (s *State) Soften(refused string) *Softened {
	e := Softened{N: s.Softenings, Refused: refused, Thoughts: !wantsThoughts(refused), Plain: s.soft.plain || s.plainHelped}
	for ; s.soft.count < 2; e.Plain = true {
		then := s.Clone()
		then.Apply(Event{Seq: s.Seq + 1, Time: s.Updated, Body: e})
		if then.Softenings > s.Softenings && !reflect.DeepEqual(then.Transcript(s.Seq), s.Transcript(s.Seq)) {
			return &e
		}
		if e.Plain {
			break
		}
	}
	return nil
}

// wantsThoughts reports whether a refusal misses the reasoning of the model.
func wantsThoughts(refused string) bool {
	text := strings.ToLower(refused)
	about := strings.Contains(text, "reason") || strings.Contains(text, "think") || strings.Contains(text, "thought")
	for _, word := range []string{"missing", "must be passed", "required", "preserved", "must start with"} {
		if about && strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// of returns the form of m that requests have after e. names has the tool of each call by
// the id of the call.
func (e Softened) of(m llm.Message, names map[string]string) llm.Message {
	parts := e.parts(m.Parts)
	if e.Plain && (m.Role == llm.Tool || slices.ContainsFunc(m.Parts, isCall)) {
		var texts []string
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				texts = append(texts, p.Text)
			case llm.Call:
				texts = append(texts, fmt.Sprintf("(Here I called %s with %s)", p.Name, cmp.Or(p.Ran, p.Input)))
			case llm.Result:
				texts = append(texts, plainResult(names[p.ID], p.Parts, p.IsError))
			}
		}
		texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
		parts = nil
		if len(texts) > 0 {
			parts = llm.Parts{llm.Text{Text: strings.Join(texts, "\n\n")}}
		}
		if m.Role == llm.Tool {
			m.Role = llm.User
		}
	}
	m.Parts = parts
	return m
}

// plainResult returns the result of a call as text.
func plainResult(name string, parts llm.Parts, isError bool) string {
	how := "The result of"
	if isError {
		how = "The error of"
	}
	return fmt.Sprintf("(%s %s follows)\n%s", how, name, parts.Text())
}

// parts returns parts as they are sent after e: words in place of pictures and files, and
// nothing that only the provider can read.
func (e Softened) parts(parts llm.Parts) llm.Parts {
	var soft llm.Parts
	for _, p := range parts {
		switch was := p.(type) {
		case llm.Blob:
			if !strings.HasPrefix(was.MIME, "text/") {
				p = llm.Text{Text: fmt.Sprintf("[here was %s %q, which the provider may have refused; it is left out]", was.MIME, was.Name), View: was.View}
			}
		case llm.Thinking:
			if e.Thoughts || e.Plain {
				continue
			}
		case llm.Text:
			if e.Thoughts || e.Plain {
				was.Opaque, was.By = nil, ""
				p = was
			}
		case llm.Call:
			if e.Thoughts || e.Plain {
				was.Opaque, was.By = nil, ""
				p = was
			}
		case llm.Result:
			was.Parts = e.parts(was.Parts)
			p = was
		}
		soft = append(soft, p)
	}
	return soft
}
