// Package audit reads from a journal the outcome of every call that a model or a
// flow made: who or what let it run, under which rule, what it ran in, and how
// it ended. It reads only; the journal is the record.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Read returns the calls of a session and of those that it opened, each session
// in the order in which its calls were made, and a session before those below
// it. A session that does not exist has no calls.
func Read(ctx context.Context, j openmanus.Journal, session string) ([]*Call, error) {
	r := &reader{journal: j, calls: []*Call{}}
	err := r.session(ctx, session)
	return r.calls, err
}

// A Call is the outcome of one call. In JSON it is what openmanus sessions audit
// prints.
type Call struct {
	Arguments string `json:"-"` // as it ran or would run, as the model or a person wrote them

	Session string `json:"session"`
	Call    string `json:"call"`
	Tool    string `json:"tool"`
	Input   any    `json:"input"` // Arguments as JSON, or as a string if they are not JSON
	Seq     int64  `json:"seq"`   // the event in which the model made it

	Asked     *Question  `json:"asked"`    // null: it was not put before a person
	Decision  string     `json:"decision"` // "allowed" or "denied"; "": there was none
	By        string     `json:"by"`       // "gate", or a person
	Rule      string     `json:"rule"`     // the rule that decided, or how the person did, or the rule that asked
	Reason    string     `json:"reason"`   // what the model was told
	Changed   bool       `json:"changed"`  // a person changed the arguments
	Hash      string     `json:"hash"`     // of what was decided on
	DecidedAt *time.Time `json:"decided_at"`

	// Sources are where the arguments came from, as far as it was recorded.
	Sources []openmanus.ArgumentSource `json:"sources"`

	Answers []Answer `json:"answers"` // to questions that the call itself asked

	Approve  string     `json:"approve"` // the approval mode at that time
	Sandbox  string     `json:"sandbox"` // what calls ran in at that time; "": not recorded
	Runs     []Run      `json:"runs"`
	Outcome  string     `json:"outcome"` // "done", "error", "denied", "not run", "given up", "waiting", "running", "in doubt"
	Text     string     `json:"text"`    // of an outcome that is not "done"
	Source   string     `json:"source"`  // where the content of the result came from, if from outside
	EndedAt  *time.Time `json:"ended_at"`
	LateAt   *time.Time `json:"late_at"` // when a result came after the call was given up
	Children []string   `json:"children"`
}

// A Question is one that a person was asked about a call.
type Question struct {
	At       time.Time `json:"at"`
	Question string    `json:"question"`
}

// An Answer is one of a person to a question of a call.
type Answer struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Text string    `json:"text"`
}

// A Run is one time that a call began to run.
type Run struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Worker  string    `json:"worker"`
}

// A reader goes through the journals of a session and of those below it.
type reader struct {
	journal openmanus.Journal
	calls   []*Call
}

// session adds the calls of a session, and then those of its children.
func (r *reader) session(ctx context.Context, id string) error {
	s := new(openmanus.State)
	by := make(map[string]*Call)
	var open []*Call
	var children []string
	for ev, err := range r.journal.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		before := len(r.calls)
		ev.Body = withSources(s, ev.Body)
		s.Apply(ev)
		switch b := ev.Body.(type) {
		case openmanus.ModelSaid, openmanus.Called:
			for _, c := range openmanus.CallsOf(b) {
				by[c.ID] = &Call{Sources: []openmanus.ArgumentSource{}, Session: id, Call: c.ID, Tool: c.Name, Arguments: c.Input, Seq: ev.Seq, Approve: s.Config.Approve, Sandbox: s.Config.Sandbox,
					Answers: []Answer{}, Runs: []Run{}, Children: []string{}}
				r.calls = append(r.calls, by[c.ID])
			}
		case openmanus.ChildOpened:
			children = append(children, b.Child)
			if c := by[b.Call]; c != nil {
				c.Children = append(c.Children, b.Child)
			}
		default:
			note(by, ev)
		}
		open = giveUp(s, append(open, r.calls[before:]...), ev.Time)
	}
	for _, c := range open {
		c.now(s.Call(c.Call))
	}
	for _, c := range by {
		if c.Input = c.Arguments; json.Valid([]byte(c.Arguments)) {
			c.Input = json.RawMessage(c.Arguments)
		}
	}
	for _, child := range children {
		if err := r.session(ctx, child); err != nil {
			return fmt.Errorf("%s, which %s opened: %w", child, id, err)
		}
	}
	return nil
}

// withSources returns a ruling of the gate with the sources of the arguments, if it does
// not record them: it did not need them. They are a function of s, the state before.
func withSources(s *openmanus.State, b openmanus.Body) openmanus.Body {
	r, ok := b.(openmanus.Ruled)
	if c := s.Call(r.Call); ok && c != nil && r.By == openmanus.ByGate && len(r.Sources) == 0 {
		r.Sources = s.Provenance(cmp.Or(r.Input, c.Input)).Record()
		return r
	}
	return b
}

// note adds what an event says of a call. The first ruling and the first result
// of a call count: later ones are refused by the journal.
func note(by map[string]*Call, ev openmanus.Event) {
	at := ev.Time
	switch b := ev.Body.(type) {
	case openmanus.Asked:
		if c := by[b.Call]; c != nil && b.Kind == openmanus.AskRuling {
			c.Asked = &Question{at, b.Question}
			c.Arguments, c.Hash, c.Rule = cmp.Or(b.Input, c.Arguments), b.Hash, b.Rule
			c.Sources = append(c.Sources, b.Sources...)
		}
	case openmanus.Answered:
		if c := by[b.Call]; c != nil {
			c.Answers = append(c.Answers, Answer{at, b.By, cmp.Or(b.Text, string(b.Data))})
		}
	case openmanus.Ruled:
		if c := by[b.Call]; c != nil && c.Decision == "" {
			c.ruled(b, at)
		}
	case openmanus.CallStarted:
		if c := by[b.Call]; c != nil {
			c.Runs = append(c.Runs, Run{at, b.Attempt, b.Worker})
		}
	case openmanus.CallDone:
		if c := by[b.Call]; c != nil && c.Outcome == "" {
			c.ended(b, at)
		}
	case openmanus.CallLate:
		if c := by[b.Call]; c != nil {
			c.LateAt = &at
		}
	}
}

func (c *Call) ruled(b openmanus.Ruled, at time.Time) {
	c.Decision, c.By, c.Rule, c.Reason, c.DecidedAt = "allowed", b.By, cmp.Or(b.Rule, c.Rule), b.Reason, &at
	if c.Asked == nil {
		c.Sources = append(c.Sources, b.Sources...)
	}
	c.Hash = cmp.Or(b.Hash, c.Hash)
	if c.Asked != nil && b.Input != "" && b.Input != c.Arguments {
		c.Changed = true
	}
	c.Arguments = cmp.Or(b.Input, c.Arguments)
	if !b.Allow {
		c.Decision, c.Outcome, c.EndedAt = "denied", "denied", &at
	}
}

func (c *Call) ended(b openmanus.CallDone, at time.Time) {
	c.Outcome, c.Source, c.EndedAt = "done", b.Source, &at
	switch {
	case !b.IsError:
		return
	case len(c.Runs) == 0:
		c.Outcome = "not run"
	default:
		c.Outcome = "error"
	}
	c.Text = b.Parts.Text()
}

// giveUp gives an outcome to the calls that ended without an event of their own:
// an interrupt, for example, ends all open ones. It returns those still open.
func giveUp(s *openmanus.State, open []*Call, at time.Time) (left []*Call) {
	for _, c := range open {
		now := s.Call(c.Call)
		switch {
		case c.Outcome != "":
		case now != nil && now.Done == nil:
			left = append(left, c)
		default:
			c.Outcome, c.EndedAt = "given up", &at
			if now != nil {
				c.Text = now.Done.Parts.Text()
			}
			if len(c.Runs) == 0 {
				c.Outcome = "not run"
			}
		}
	}
	return left
}

// now sets the outcome of a call that is still open.
func (c *Call) now(s *openmanus.CallState) {
	switch {
	case s.Asking:
		c.Outcome = "waiting"
	case s.Running:
		c.Outcome = "running"
	default:
		c.Outcome = "not run yet"
	}
}
