package tui

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// A meter is what is known of a whole session beside its conversation. It needs a few
// bytes for each file and each call under way, however long the session is.
type meter struct {
	last  int64     // the last event that it has
	since time.Time // of that event

	model, mode, workspace, flow, title string

	flowEnds bool // a reply without calls does not end the session

	usage    llm.Usage
	cost     openmanus.Money
	unpriced int
	limits   openmanus.Limits

	request int    // tokens of the last request and its reply, which the next one begins with; 0: not known
	window  int    // tokens that the model reads and writes at once; 0: not known
	answer  string // the last words of the agent

	files map[string]string     // what calls changed: see [openmanus.FileChange]
	lines map[string]gist.Lines // of these files, as far as it is known
	plan  *tools.Plan           // the one in use; nil: none

	status  openmanus.Status
	reason  openmanus.Reason
	failure string // a sentence, if it failed or was stopped
	heard   int64  // the last message of the person
	pending []int64

	open  map[string]*openCall // calls without a result
	below []string             // sessions below that have not ended
	final map[string]bool      // tools that end the session
	backs view.Backs           // each time that it went back

	// of a meter that began in the middle: what it knows about the time before
	ended  map[string]bool // calls and sessions below that began before and have ended
	readTo int64           // messages up to there were read
	halted bool            // nothing of before is open any more
}

// An openCall is a call without a result.
type openCall struct {
	llm.Call
	begun time.Time        // zero: it does not run
	asked *openmanus.Asked // the question that waits; nil: none
	at    time.Time        // of the question
}

// newMeter returns the meter of a session after the event last, which it has not seen.
// Until it is joined with what was before, its status may be "".
func newMeter(last int64) *meter {
	m := &meter{
		last: last, ended: make(map[string]bool), files: make(map[string]string), lines: make(map[string]gist.Lines), open: make(map[string]*openCall),
		final: map[string]bool{"terminate": true},
	}
	if last == 0 {
		m.status = openmanus.Idle
	}
	return m
}

// apply adds a stored event.
func (m *meter) apply(ev openmanus.Event) {
	if ev.Seq <= m.last {
		return
	}
	m.last, m.since = ev.Seq, ev.Time
	for _, u := range openmanus.ModelUses(ev.Body) {
		m.use(u.Usage, u.Cost, u.Unpriced())
	}
	switch b := ev.Body.(type) {
	case openmanus.Opened:
		m.flow, _, _ = strings.Cut(b.Flow, "?")
	case openmanus.Configured:
		m.configured(b)
	case openmanus.ModeSet:
		m.mode = b.Mode
	case openmanus.Titled:
		m.title = b.Title
	case openmanus.UserSaid:
		m.status, m.reason, m.failure, m.heard = openmanus.Running, "", "", ev.Seq
		m.pending = append(m.pending, ev.Seq)
		if m.title == "" {
			m.title = b.Message.Text()
		}
	case openmanus.Resumed:
		m.status, m.reason, m.failure = openmanus.Running, "", ""
		m.limits = b.Limits.Or(m.limits)
	case openmanus.ModelSaid:
		m.read(b.Re)
		m.request = b.Usage.Input + b.Usage.Output
		m.answer = cmp.Or(b.Message.Text(), m.answer)
		calls := openmanus.CallsOf(b)
		for _, c := range calls {
			m.open[c.ID] = &openCall{Call: c}
		}
		if len(calls) == 0 && !m.flowEnds {
			m.end(b.Re, openmanus.Finished, "", "")
		}
	case openmanus.Called:
		for _, c := range openmanus.CallsOf(b) {
			m.open[c.ID] = &openCall{Call: c}
		}
	case openmanus.ModelFailed:
		m.end(b.Re, openmanus.Failed, openmanus.Reason(b.Kind), b.Error)
	case openmanus.Stopped:
		m.end(b.Re, openmanus.Halted, b.Reason, b.Error)
	case openmanus.Ended:
		m.end(b.Re, b.Status, b.Reason, b.Error)
	case openmanus.Interrupted:
		m.status, m.reason = openmanus.Halted, openmanus.ByPerson
		m.pending, m.halted = nil, true
		clear(m.open)
	case openmanus.Compacted, openmanus.Elided:
		m.request = 0 // the next request is shorter
	case openmanus.ChildOpened:
		m.below = append(m.below, b.Child)
	case openmanus.ChildDone:
		m.below = slices.DeleteFunc(m.below, func(id string) bool { return id == b.Child })
		m.use(b.Usage, b.Cost, b.Unpriced)
		delete(m.open, b.Call)
		m.ended[b.Call], m.ended[b.Child] = true, true
		for _, name := range b.Files {
			m.files[name] = openmanus.FileModified
		}
	case openmanus.Rewound:
		m.backs = append(m.backs, ev)
		if b.Talk {
			m.status, m.reason, m.pending = openmanus.Idle, "", nil
			clear(m.open)
		}
		if b.Files {
			for _, c := range b.Changes {
				delete(m.files, c.Path)
				delete(m.lines, c.Path)
			}
		}
	default:
		m.callEvent(ev)
	}
}

// use adds what was used of a model.
func (m *meter) use(u llm.Usage, cost openmanus.Money, unpriced int) {
	m.usage, m.cost, m.unpriced = m.usage.Add(u), m.cost+cost, m.unpriced+unpriced
}

// configured learns how the session is configured.
func (m *meter) configured(b openmanus.Configured) {
	m.model, m.mode, m.workspace, m.limits = b.Model, b.Approve, b.Workspace, b.Limits
	m.flowEnds, m.window = b.FlowEnds, b.Window.Tokens
	for _, t := range b.Tools {
		if t.Hints.Final {
			m.final[t.Name] = true
		}
	}
}

// end ends the session, unless the person said something after the event re.
func (m *meter) end(re int64, st openmanus.Status, why openmanus.Reason, failure string) {
	m.read(re)
	if len(m.pending) == 0 {
		m.status, m.reason, m.failure = st, why, failure
	}
}

// read notes that the agent has read the messages up to the event re.
func (m *meter) read(re int64) {
	m.readTo = max(m.readTo, re)
	m.pending = slices.DeleteFunc(m.pending, func(seq int64) bool { return seq <= re })
}

// callEvent learns about a call.
func (m *meter) callEvent(ev openmanus.Event) {
	switch b := ev.Body.(type) {
	case openmanus.Asked:
		c := m.open[b.Call]
		if c == nil { // it began before
			c = &openCall{Call: llm.Call{ID: b.Call, Input: b.Input}}
			m.open[b.Call] = c
		}
		c.asked, c.at, c.begun = &b, ev.Time, time.Time{}
	case openmanus.Answered:
		if c := m.open[b.Call]; c != nil {
			c.asked = nil
		}
	case openmanus.Ruled:
		if c := m.open[b.Call]; c != nil {
			c.asked = nil
		}
	case openmanus.CallStarted:
		if c := m.open[b.Call]; c != nil {
			c.begun, c.asked = ev.Time, nil
		}
	case openmanus.CallDone:
		if c := m.open[b.Call]; c != nil && m.final[c.Name] && !b.IsError && len(m.pending) == 0 {
			m.status = openmanus.Finished
		}
		delete(m.open, b.Call)
		m.ended[b.Call] = true
		for _, f := range b.Files {
			if m.files[f.Path] != openmanus.FileCreated || f.Change != openmanus.FileModified {
				m.files[f.Path] = f.Change
			}
		}
		for name, n := range gist.LinesOf(b) {
			m.lines[name] = m.lines[name].Plus(n)
		}
		if ps, err := tools.ReadPlans(b.Detail); err == nil && len(ps.Plans) > 0 {
			m.plan = &ps.Plans[len(ps.Plans)-1]
		}
	}
}

// join adds what was known before m began: the meter of all events before its first.
func (m *meter) join(before *meter) {
	m.use(before.usage, before.cost, before.unpriced)
	if m.model == "" {
		m.model, m.mode, m.workspace, m.limits = before.model, before.mode, before.workspace, before.limits
		m.flowEnds, m.window = before.flowEnds, before.window
	}
	if before.title != "" {
		m.title = before.title
	}
	m.flow = before.flow
	for name, change := range before.files {
		if m.files[name] == "" {
			m.files[name] = change
		}
	}
	for name, n := range before.lines {
		m.lines[name] = m.lines[name].Plus(n)
	}
	if m.plan == nil {
		m.plan = before.plan
	}
	m.answer = cmp.Or(m.answer, before.answer)
	m.backs = append(before.backs, m.backs...)
	m.joinOpen(before)
	for name := range before.final {
		m.final[name] = true
	}
}

// joinOpen adds what was under way before m began.
func (m *meter) joinOpen(before *meter) {
	if !m.halted {
		for id, c := range before.open {
			if now := m.open[id]; now != nil {
				now.Call = c.Call
			} else if !m.ended[id] {
				m.open[id] = c
			}
		}
		for _, seq := range before.pending {
			if seq > m.readTo {
				m.pending = append(m.pending, seq)
			}
		}
	}
	for _, id := range before.below {
		if !m.ended[id] {
			m.below = append(m.below, id)
		}
	}
	if m.status == "" {
		m.status, m.reason, m.failure = before.status, before.reason, before.failure
	}
	clear(m.ended)
}

// working reports whether something is to be done that needs no person.
func (m *meter) working() bool {
	if m.status != openmanus.Running {
		return false
	}
	if len(m.open) == 0 || len(m.below) > 0 {
		return true
	}
	for _, c := range m.open {
		if c.asked == nil {
			return true
		}
	}
	return false
}

// Standing sets how a session stands from its last events: status, reason and questions,
// without those of sessions below.
func Standing(s *Session, last iter.Seq2[openmanus.Event, error]) error {
	var m *meter
	for ev, err := range last {
		if err != nil {
			return err
		}
		if m == nil {
			m = newMeter(ev.Seq - 1)
		}
		m.apply(ev)
	}
	if m == nil {
		return nil
	}
	s.Status, s.Reason, s.Mode = string(m.status), string(m.reason), m.mode
	for _, c := range m.open {
		if c.asked != nil && m.status == openmanus.Running {
			s.Questions++
		}
	}
	return nil
}
