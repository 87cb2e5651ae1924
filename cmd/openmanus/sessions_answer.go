package main

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/termtext"
)

// sessionsAnswerCmd is openmanus sessions answer.
type sessionsAnswerCmd struct {
	oneSession
	Answer []string `arg:"" help:"[CALL] TEXT: the call that asks, unless it is the only one, and the answer. JSON, if the question has a schema."`
}

// callID matches the ids of calls.
var callID = regexp.MustCompile(`^c\d+-\d+$`)

// words returns the call, or "" if none was named, and the text.
func (c *sessionsAnswerCmd) words() (call, text string) {
	ws := c.Answer
	if len(ws) > 1 && callID.MatchString(ws[0]) {
		call, ws = ws[0], ws[1:]
	}
	return call, strings.TrimSpace(strings.Join(ws, " "))
}

// Run implements the command.
func (c *sessionsAnswerCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	id, text := c.words()
	if text == "" {
		return usage(errors.New(`the answer is empty: openmanus sessions answer ID "the answer"`))
	}
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	call, q, err := x.pending(ctx, id, openmanus.AskText)
	if err != nil {
		return err
	}
	if _, err := x.acts().Answer(ctx, x.id, act.Answer{Call: call.ID, By: act.ByPerson, Text: text, Nth: q.N + 1}); err != nil {
		return decided(err)
	}
	return x.done("answered %s of %s: %s", call.ID, x.id, termtext.OneLine(q.Question, 100))
}
