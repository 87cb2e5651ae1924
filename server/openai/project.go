package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// A step is one thing that the client sees of a session. One field is set.
type step struct {
	begin bool             // the request was stored
	text  string           // a piece of the agent's text
	work  string           // a line about a call that the agent's own tools run, or what the program says
	call  *llm.Call        // the client is to run it
	end   *openmanus.State // the turn is over, with this state
}

// A projector says what a client sees of a turn: of the events of a session after the
// event since, up to the next outcome, or until nothing but the client's results can go
// on. It is a function of the events alone: pieces of replies that are not stored only
// say earlier what the stored ones say. It is used once.
type projector struct {
	since int64 // the last event before the turn
	upTo  int64 // the last event of the request
	cut   cutter

	state    openmanus.State
	began    openmanus.Event    // the first event of the request
	before   llm.Usage          // what was used before
	early    []openmanus.Typing // pieces that came before the request did
	streamed string             // the text of the present reply that was seen
	typed    string             // the text of the present reply, as far as it is known
	over     bool
}

// apply returns what an event adds. After the step with an end there is nothing more.
func (p *projector) apply(ev openmanus.Event) (steps []step) {
	add := func(text string) {
		if text = p.cut.add(text, false); text != "" && !p.structured() {
			steps = append(steps, step{text: text})
		}
	}
	switch b := ev.Body.(type) {
	case openmanus.Typing:
		switch {
		case p.state.Seq <= p.since:
			p.early = append(p.early, b)
		case !p.over:
			p.typing(b, add)
		}
		return steps
	case openmanus.ModelSaid:
		if p.state.Seq > p.since && !p.over {
			p.reply(b.Message, add)
		}
	}
	if ev.Seq == 0 || p.over {
		return nil
	}
	if ev.Seq == p.since+1 {
		p.before, p.began = p.state.Usage, ev
		steps = append(steps, step{begin: true})
	}
	p.state.Apply(ev)
	if ev.Seq <= p.since {
		return steps
	}
	for _, b := range p.early {
		p.typing(b, add)
	}
	p.early = nil
	if b, ok := ev.Body.(openmanus.CallStarted); ok {
		if c := p.state.Call(b.Call); c != nil && !p.clients(c) {
			steps = append(steps, step{work: c.Name + " " + clip.Text(c.Arguments(), 200)})
		}
	}
	if ev.Seq < p.upTo {
		return steps
	}
	if note, _ := view.Note(ev.Body); note != "" {
		steps = append(steps, step{work: view.Sentence(note)})
	}
	switch p.state.Status() {
	case openmanus.Running:
		return steps
	case openmanus.Waiting:
		if !p.leftToClient() {
			return steps
		}
	}
	return append(steps, p.finish()...)
}

// typing adds a piece of a reply. Pieces may come again from the beginning, after a reset;
// what was seen is not said twice. Text that was seen cannot be taken back: that of a reply
// that starts again with other words follows after a blank line.
func (p *projector) typing(b openmanus.Typing, add func(string)) {
	if b.Reset {
		p.typed = ""
	}
	for _, part := range b.Parts {
		if text, ok := part.(llm.Text); ok {
			p.typed += text.Text
		}
	}
	p.catchUp(add)
}

// catchUp adds what is known of the present reply and was not seen.
func (p *projector) catchUp(add func(string)) {
	if rest, ok := strings.CutPrefix(p.typed, p.streamed); ok {
		add(rest)
	} else if strings.HasPrefix(p.streamed, p.typed) {
		return
	} else {
		add("\n\n")
		add(p.typed)
	}
	p.streamed = p.typed
}

// reply adds what is left of a reply that is complete. A blank line separates it from what
// follows its calls.
func (p *projector) reply(m llm.Message, add func(string)) {
	text := m.Text()
	p.typed = text
	p.catchUp(add)
	if p.streamed, p.typed = "", ""; len(m.Calls()) > 0 && text != "" {
		add("\n\n")
	}
}

// finish ends the turn.
func (p *projector) finish() (steps []step) {
	p.over = true
	rest := p.cut.add("", true)
	if p.structured() {
		rest = p.answer()
	}
	if rest != "" {
		steps = append(steps, step{text: rest})
	}
	for _, c := range p.calls() {
		steps = append(steps, step{call: &llm.Call{ID: c.ID, Name: c.Name, Input: c.Arguments()}})
	}
	return append(steps, step{end: &p.state})
}

// structured reports whether the answer is JSON, so that no other text may be seen.
func (p *projector) structured() bool { return len(p.state.Config.Spec.Answer) > 0 }

// clients reports whether the client runs a call.
func (p *projector) clients(c *openmanus.CallState) bool { return p.state.ClientRuns(c.Name) }

// waitsForClient reports whether a call waits for the client's result.
func (p *projector) waitsForClient(c *openmanus.CallState) bool {
	return p.clients(c) && c.Question().Kind == openmanus.AskText
}

// leftToClient reports whether only the client's results can go on.
func (p *projector) leftToClient() bool {
	return !slices.ContainsFunc(p.state.Pending(), func(c *openmanus.CallState) bool { return !p.waitsForClient(c) })
}

// calls are those that the client is to run, when the turn is over.
func (p *projector) calls() []*openmanus.CallState {
	if p.state.Status() != openmanus.Waiting {
		return nil
	}
	return p.state.Pending()
}

// answer is the text of a response that is not streamed: the last one, not what was said
// on the way.
func (p *projector) answer() string {
	answer := p.state.Answer
	if len(p.calls()) > 0 {
		answer = p.lastReply()
	}
	if p.structured() {
		fits, err := args.Answer(p.state.Config.Spec.Answer, answer)
		if err != nil {
			return ""
		}
		return fits
	}
	c := p.cut.again()
	return c.add(answer, true)
}

// lastReply is the text beside the calls of the last reply.
func (p *projector) lastReply() string {
	for _, m := range slices.Backward(p.state.Said) {
		if m.Role == llm.Assistant {
			return m.Text()
		}
	}
	return ""
}

// used returns what the turn used.
func (p *projector) used() llm.Usage {
	u, b := p.state.Usage, p.before
	u.Input, u.Output, u.Cached, u.Reasoning = u.Input-b.Input, u.Output-b.Output, u.Cached-b.Cached, u.Reasoning-b.Reasoning
	u.CacheWrite -= b.CacheWrite
	return u
}

// limited reports whether the answer is less than the whole: a limit of the session or
// of the request was reached.
func (p *projector) limited() bool {
	if p.state.Outcome.Status == openmanus.Halted {
		return true
	}
	c := p.cut.again()
	c.add(p.state.Answer, true)
	return c.ended == byLength
}

// failure returns nil if the turn ended with an answer, if only up to a limit, or with
// calls for the client; and otherwise why it did not.
func (p *projector) failure() *Error {
	o, status := p.state.Outcome, p.state.Status()
	e := &Error{Status: 500, Code: string(o.Reason), Final: true}
	asks := p.state.Config.Spec.Client
	switch {
	case status == openmanus.Waiting:
		return nil
	case status == openmanus.Finished && asks != nil && asks.MustCall:
		e.Code, e.Message = "no_call", "the agent ended with words and called none of the tools: "+clip.Text(p.state.Answer, 200)
	case status == openmanus.Finished || status == openmanus.Halted && o.Reason != openmanus.ByPerson && p.state.Answer != "":
		if !p.structured() {
			return nil
		}
		if _, err := args.Answer(p.state.Config.Spec.Answer, p.state.Answer); err == nil {
			return nil
		} else {
			e.Code, e.Message = "no_json", "the agent's answer does not fit the schema: "+err.Error()
		}
	case o.Reason == openmanus.Reason(llm.RateLimit):
		// A client may try again what has changed nothing yet.
		e.Status, e.Final = 429, p.worked()
		e.Message = fmt.Sprintf("the model's provider refused: %s", o.Error)
	default:
		e.Message = fmt.Sprintf("the agent ended as %s (%s): %s", status, o.Reason, o.Error)
	}
	return e
}

// worked reports whether a call has run in the session.
func (p *projector) worked() bool { return len(p.state.Tally()) > 0 || len(p.state.Calls) > 0 }

// A cutter ends a text before one of the sequences in stop, and after max tokens, if that
// is not 0. Its output does not depend on the pieces in which the text comes.
type cutter struct {
	stop []string
	max  int

	held  string // may belong to what is cut off
	used  int
	ended string // byLength, or the sequence
}

const byLength = "length"

// again returns a new cutter like c.
func (c *cutter) again() *cutter { return &cutter{stop: c.stop, max: c.max} }

// add returns what is certain now of the text. last says that nothing follows.
func (c *cutter) add(text string, last bool) (out string) {
	if c.ended != "" {
		return ""
	}
	c.held += text
	first, found := len(c.held), ""
	for _, s := range c.stop {
		if i := strings.Index(c.held, s); i >= 0 && i < first {
			first, found = i, s
		}
	}
	sure := c.held[:first]
	if found == "" && !last {
		sure = c.held[:len(c.held)-c.doubt()]
	}
	if c.max > 0 {
		sure = c.within(sure, found != "" || last)
	}
	c.held = c.held[len(sure):]
	if found != "" && c.ended == "" {
		c.ended = found
	}
	return sure
}

// doubt is how much of the end of what is held may be the beginning of a sequence.
func (c *cutter) doubt() (n int) {
	for _, s := range c.stop {
		for k := min(len(s)-1, len(c.held)); k > n; k-- {
			if strings.HasSuffix(c.held, s[:k]) {
				n = k
			}
		}
	}
	return n
}

// counter counts as OpenAI's newest models do. It has no state that matters.
var counter = tokens.For(false, "")

// within returns the words of text that max leaves room for. A word ends where the next
// white space begins; one that may go on is kept back unless the text is whole.
func (c *cutter) within(text string, whole bool) string {
	n := 0
	for n < len(text) {
		end := strings.IndexAny(text[n+1:], " \n\t")
		if end < 0 && !whole {
			return text[:n]
		}
		word := text[n:]
		if end >= 0 {
			word = text[n : n+1+end]
		}
		if c.used += counter.Text(word); c.used > c.max {
			c.ended = byLength
			return text[:n]
		}
		n += len(word)
	}
	return text
}
