package run

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A Halt is the error of a session that has not finished what it was asked: the model
// could not be reached or the agent gave up, a limit or a person stopped it, or it waits
// for the user.
type Halt struct {
	Session string
	Status  openmanus.Status // Failed, Halted or Waiting
	Reason  openmanus.Reason // "" for Waiting
	Text    string           // a sentence for people: that of the [openmanus.Outcome], or the question
}

// Error says how the session stands, and why.
func (h *Halt) Error() string {
	text := string(h.Status)
	if h.Reason != "" {
		text += " (" + string(h.Reason) + ")"
	}
	return text + ": " + h.Text
}

// Halted returns nil if a session has finished what it was asked, and otherwise a [*Halt].
// Call it when [Local.Wake] has returned: that is no error because the session failed,
// stopped or waits, which another message or an answer may change.
func Halted(ctx context.Context, j openmanus.Journal, session string) error {
	_, err := halted(ctx, j, session)
	return err
}

// halted is Halted, with the state of the session.
func halted(ctx context.Context, j openmanus.Journal, session string) (*openmanus.State, error) {
	nodes, err := Tree(ctx, j, session)
	if err != nil {
		return nil, err
	}
	s := nodes[0].State
	h := &Halt{Session: session, Status: s.Status(), Reason: s.Outcome.Reason, Text: s.Outcome.Error}
	if qs := QuestionsIn(nodes); len(qs) > 0 && s.Outcome.Status == "" {
		q := qs[0].Call.Question()
		h.Status, h.Text = openmanus.Waiting, q.Question
		if q.Kind == openmanus.AskRuling && s.Config.Approve == "" {
			h.Text += " (an agent without a Gate asks about each call that changes something; openmanus.AllowAll asks about none)"
		}
		if more := len(qs) - 1; more > 0 {
			h.Text += fmt.Sprintf(" (and %d more)", more)
		}
	}
	switch h.Status {
	case openmanus.Finished:
		return s, nil
	case openmanus.Idle, openmanus.Running:
		h.Text = "there is still something to do: wake it"
	}
	return s, h
}

// Answer runs an agent in a session of its own, in memory, and returns what it answers. The
// error is a [*Halt] if the agent has not finished; the text is then what it said last.
func Answer(ctx context.Context, a *openmanus.Agent, prompt string) (string, error) {
	l, err := ask(ctx, a, prompt)
	if err != nil {
		return "", err
	}
	if err := l.Wake(ctx, only); err != nil {
		return "", err
	}
	s, err := halted(ctx, l.Journal, only)
	if s == nil {
		return "", err
	}
	return s.Answer, err
}

// only is the session of [Agent] and [Answer].
const only = "main"

// ask opens the session only in memory, with a prompt.
func ask(ctx context.Context, a *openmanus.Agent, prompt string) (*Local, error) {
	l := &Local{Worker: Worker{Journal: new(journal.Memory), Flow: FlowsByName(a)}}
	return l, openmanus.Open(ctx, l.Journal, only, a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, prompt)})
}
