package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
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
	a := openmanus.Answered{Call: call.ID, N: q.N, Text: text, By: host.ByPerson}
	if len(q.Schema) > 0 {
		if a.Data, err = fitting(text, q.Schema); err != nil {
			return usage(err)
		}
	}
	evs, err := x.db.Append(ctx, x.id, a)
	if errors.Is(err, openmanus.ErrConflict) && len(evs) == 1 {
		return fmt.Errorf("it is decided already: %s", settled(evs[0]))
	}
	if err != nil && !errors.Is(err, openmanus.ErrExists) {
		return err
	}
	return x.done("answered %s of %s: %s", call.ID, x.id, termtext.OneLine(q.Question, 100))
}

// fitting returns the answer as JSON, or an error if it does not fit the schema.
func fitting(text string, schema json.RawMessage) (json.RawMessage, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the schema of the question: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of the question: %w", err)
	}
	var v any
	if err = json.Unmarshal([]byte(text), &v); err == nil {
		err = r.Validate(v)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer must be JSON that fits %s: %w", schema, err)
	}
	return json.RawMessage(text), nil
}
