package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// sessionsAuditCmd is openmanus sessions audit.
type sessionsAuditCmd struct {
	oneSession
	listing
}

// Help is more of the command.
func (sessionsAuditCmd) Help() string {
	return `Of every call, in this session and those that it opened: who or what let it run or not, when, and by which rule; what it ran in; and what came of it.`
}

// Run implements the command.
func (c *sessionsAuditCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	a := &audit{events: x.db.Events, calls: []*auditedCall{}}
	if err := a.session(ctx, x.id); err != nil {
		return err
	}
	if c.JSON {
		for _, call := range a.calls {
			call.Input = call.arguments()
		}
		return t.printJSON(a.calls)
	}
	return a.print(t.out, t.style(g), x.id)
}

// An auditedCall is what an audit says of one call.
type auditedCall struct {
	input   string
	Session string `json:"session"`
	Call    string `json:"call"`
	Tool    string `json:"tool"`
	Input   any    `json:"input"` // as it ran or would run
	Seq     int64  `json:"seq"`   // the event in which the model made it

	Asked     *auditedQuestion `json:"asked"`    // null: nobody was asked whether it may run
	Decision  string           `json:"decision"` // "allowed", "denied", "" where none was made
	By        string           `json:"by"`       // "gate", or who
	Rule      string           `json:"rule"`     // which rule, or how they decided
	Reason    string           `json:"reason"`   // what the model was told
	Changed   bool             `json:"changed"`  // a person changed the arguments
	Hash      string           `json:"hash"`     // of what was decided on
	DecidedAt *time.Time       `json:"decided_at"`
	Answers   []auditedAnswer  `json:"answers"` // to questions that the call itself asked

	Approve  string       `json:"approve"` // the mode at that time
	Sandbox  string       `json:"sandbox"` // what calls ran in at that time; "" where that was not recorded
	Runs     []auditedRun `json:"runs"`
	Outcome  string       `json:"outcome"` // "done", "error", "denied", "not run", "given up", "waiting", "running", "in doubt"
	Text     string       `json:"text"`    // of an outcome that is not "done"
	Source   string       `json:"source"`  // where the content of the result came from, if from outside
	EndedAt  *time.Time   `json:"ended_at"`
	LateAt   *time.Time   `json:"late_at"` // when a result came after all
	Children []string     `json:"children"`
}

type auditedQuestion struct {
	At       time.Time `json:"at"`
	Question string    `json:"question"`
}

type auditedAnswer struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Text string    `json:"text"`
}

type auditedRun struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Worker  string    `json:"worker"`
}

// An audit goes through the journals of a session and of those below it.
type audit struct {
	events func(context.Context, string, int64) iter.Seq2[openmanus.Event, error]
	calls  []*auditedCall
}

// session adds the calls of a session, in the order in which they were made.
func (a *audit) session(ctx context.Context, id string) error {
	s := new(openmanus.State)
	by := make(map[string]*auditedCall)
	var open []*auditedCall
	var children []string
	for ev, err := range a.events(ctx, id, 0) {
		if err != nil {
			return err
		}
		before := len(a.calls)
		s.Apply(ev)
		switch b := ev.Body.(type) {
		case openmanus.ModelSaid, openmanus.Called:
			for _, c := range openmanus.CallsOf(b) {
				by[c.ID] = &auditedCall{Session: id, Call: c.ID, Tool: c.Name, input: c.Input, Seq: ev.Seq, Approve: s.Config.Approve, Sandbox: s.Config.Sandbox,
					Answers: []auditedAnswer{}, Runs: []auditedRun{}, Children: []string{}}
				a.calls = append(a.calls, by[c.ID])
			}
		case openmanus.ChildOpened:
			children = append(children, b.Child)
			if c := by[b.Call]; c != nil {
				c.Children = append(c.Children, b.Child)
			}
		default:
			note(by, ev)
		}
		open = giveUp(s, append(open, a.calls[before:]...), ev.Time)
	}
	for _, c := range open {
		c.now(s.Call(c.Call))
	}
	for _, child := range children {
		if err := a.session(ctx, child); err != nil {
			return fmt.Errorf("%s, which %s opened: %w", child, id, err)
		}
	}
	return nil
}

// note notes what an event says of a call.
func note(by map[string]*auditedCall, ev openmanus.Event) {
	at := ev.Time
	switch b := ev.Body.(type) {
	case openmanus.Asked:
		if c := by[b.Call]; c != nil && b.Kind == openmanus.AskRuling {
			c.Asked = &auditedQuestion{at, b.Question}
			c.input, c.Hash = cmp.Or(b.Input, c.input), b.Hash
		}
	case openmanus.Answered:
		if c := by[b.Call]; c != nil {
			c.Answers = append(c.Answers, auditedAnswer{at, b.By, cmp.Or(b.Text, string(b.Data))})
		}
	case openmanus.Ruled:
		if c := by[b.Call]; c != nil && c.Decision == "" {
			c.ruled(b, at)
		}
	case openmanus.CallStarted:
		if c := by[b.Call]; c != nil {
			c.Runs = append(c.Runs, auditedRun{at, b.Attempt, b.Worker})
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

func (c *auditedCall) ruled(b openmanus.Ruled, at time.Time) {
	c.Decision, c.By, c.Rule, c.Reason, c.DecidedAt = "allowed", b.By, b.Rule, b.Reason, &at
	c.Hash = cmp.Or(b.Hash, c.Hash)
	if c.Asked != nil && b.Input != "" && b.Input != c.input {
		c.Changed = true
	}
	c.input = cmp.Or(b.Input, c.input)
	if !b.Allow {
		c.Decision, c.Outcome, c.EndedAt = "denied", "denied", &at
	}
}

func (c *auditedCall) ended(b openmanus.CallDone, at time.Time) {
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

// giveUp gives calls an outcome that got one without an event of their own: an
// interrupt, say, ends all. It returns those that are still open.
func giveUp(s *openmanus.State, open []*auditedCall, at time.Time) (left []*auditedCall) {
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

// now says how far an open call is.
func (c *auditedCall) now(s *openmanus.CallState) {
	switch {
	case s.Asking:
		c.Outcome = "waiting"
	case s.Running:
		c.Outcome = "running"
	default:
		c.Outcome = "not run yet"
	}
}

// print prints the audit for people.
func (a *audit) print(w io.Writer, s style, session string) error {
	var b strings.Builder
	if len(a.calls) == 0 {
		fmt.Fprintf(&b, "no calls were made in %s\n", session)
	}
	for i, c := range a.calls {
		if i > 0 {
			b.WriteString("\n")
		}
		where := ""
		if c.Session != session {
			where = s.dim(" of " + c.Session)
		}
		fmt.Fprintf(&b, "%s%s  %s  %s\n", s.bold(c.Call), where, s.mark(plain(c.Tool)), oneLine(brief(c.input), 160))
		for _, l := range c.lines() {
			fmt.Fprintf(&b, "  %-8s %s  %s\n", l.what, s.dim(l.at), oneLine(l.text, 300))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// brief is the argument that says most.
func brief(input string) string {
	return summary(llm.Call{Input: input})
}

type auditLine struct{ what, at, text string }

// lines are the life of a call, one line each.
func (c *auditedCall) lines() (ls []auditLine) {
	add := func(what string, at *time.Time, text ...string) {
		l := auditLine{what: what, at: strings.Repeat(" ", 19)}
		if at != nil {
			l.at = at.Local().Format("2006-01-02 15:04:05")
		}
		var said []string
		for _, t := range text {
			if t != "" {
				said = append(said, t)
			}
		}
		l.text = strings.Join(said, " · ")
		ls = append(ls, l)
	}
	if c.Asked != nil {
		add("asked", &c.Asked.At, c.Asked.Question)
	}
	if c.Decision != "" {
		changed := ""
		if c.Changed {
			changed = "with other arguments"
		}
		add(c.Decision, c.DecidedAt, "by "+c.By, c.Rule, changed, c.Reason)
	}
	for _, r := range c.Runs {
		again := ""
		if r.Attempt > 1 {
			again = fmt.Sprintf("attempt %d", r.Attempt)
		}
		add("ran", &r.At, "sandbox "+cmp.Or(c.Sandbox, "not recorded"), "approve "+cmp.Or(c.Approve, "not recorded"), again, "by "+cmp.Or(r.Worker, "nobody named"))
	}
	for _, q := range c.Answers {
		add("answered", &q.At, "by "+q.By, q.Text)
	}
	for _, child := range c.Children {
		add("opened", nil, child)
	}
	if c.Outcome != "denied" {
		source := ""
		if c.Source != "" {
			source = "from " + c.Source
		}
		add(c.Outcome, c.EndedAt, source, c.Text)
	}
	if c.LateAt != nil {
		add("late", c.LateAt, "a result came after all")
	}
	return ls
}

// arguments are the arguments as JSON, or as a text if that is not what they
// are.
func (c *auditedCall) arguments() any {
	if json.Valid([]byte(c.input)) {
		return json.RawMessage(c.input)
	}
	return c.input
}
