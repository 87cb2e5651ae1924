package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// sessionsRequestCmd is openmanus sessions request.
type sessionsRequestCmd struct {
	oneSession
	Seq     int64 `arg:"" help:"The event with the outcome of the request, of the type model_said or model_failed."`
	Neutral bool  `help:"Print it before it is encoded for the provider."`
}

// Run implements the command. What it prints has no key in it: keys travel
// beside the body.
func (c *sessionsRequestCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	req, conf, err := x.requestOf(ctx, c.Seq)
	if err != nil {
		return err
	}
	if c.Neutral || strings.HasPrefix(conf.Model, "scripted:") {
		return t.printJSON(neutral(req))
	}
	model, err := x.wire(conf)
	if err != nil {
		return fmt.Errorf("%w\n--neutral prints the request without the model", err)
	}
	body, err := model.Body(req)
	if err != nil {
		return err
	}
	return t.writeJSON(body)
}

// requestOf returns the request whose outcome is the event seq, and the
// configuration that it was made with. Requests depend only on the events before
// them (law 6 of docs/design.md), so it is made again from the journal.
func (x *session) requestOf(ctx context.Context, seq int64) (*llm.Request, openmanus.Configured, error) {
	var none openmanus.Configured
	turn, re, err := x.outcome(ctx, seq)
	if err != nil {
		return nil, none, err
	}
	var s openmanus.State
	for ev, err := range x.db.Events(ctx, x.id, 0) {
		if err != nil {
			return nil, none, err
		}
		if ev.Seq > re {
			break
		}
		s.Apply(ev)
	}
	// What an agent does next depends on the state alone, so one without model
	// and tools says it too.
	for _, task := range new(openmanus.Agent).Next(&s) {
		switch task.Do {
		case openmanus.Elide, openmanus.Compact: // that the request was made shows that there was room
			task = openmanus.Task{Do: openmanus.Reply, Turn: s.Turn, Re: s.Seq, Nudge: s.Nudge()}
		}
		if task.Do == openmanus.Reply && task.Turn == turn && task.Re == re {
			return s.Request(task), s.Config, nil
		}
	}
	return nil, none, fmt.Errorf("the request to event %d cannot be made again: the session did not call for one after event %d", seq, re)
}

// outcome returns the turn and the Re of the request whose outcome is seq.
func (x *session) outcome(ctx context.Context, seq int64) (turn int, re int64, err error) {
	var asked []string
	for ev, err := range x.db.Events(ctx, x.id, 0) {
		if err != nil {
			return 0, 0, err
		}
		switch b := ev.Body.(type) {
		case openmanus.ModelSaid:
			turn, re = b.Turn, b.Re
		case openmanus.ModelFailed:
			turn, re = b.Turn, b.Re
		default:
			continue
		}
		if ev.Seq == seq {
			return turn, re, nil
		}
		asked = append(asked, fmt.Sprint(ev.Seq))
	}
	if len(asked) == 0 {
		return 0, 0, fmt.Errorf("session %s has asked no model yet", x.id)
	}
	return 0, 0, usage(fmt.Errorf("event %d of session %s is no outcome of asking the model; these are, the last of them: %s", seq, x.id, strings.Join(asked[max(0, len(asked)-10):], ", ")))
}

// An encoder returns the exact bytes that a model sends for a request.
type encoder interface {
	Body(*llm.Request) ([]byte, error)
}

// wire returns the encoder of the model that the session's requests went to.
func (x *session) wire(c openmanus.Configured) (encoder, error) {
	m, err := x.Config.ModelAt(c.Model, c.Endpoint)
	if err != nil { // such as a key that is not set, which a body does not need
		bare, wrong := x.Config.Unkeyed(c.Model, c.Endpoint)
		if wrong != nil {
			return nil, err
		}
		m = bare
	}
	model, err := m.Open()
	if err != nil {
		return nil, err
	}
	e, ok := model.(encoder)
	if !ok {
		return nil, errors.New(c.Model + " is a script, to which nothing is sent")
	}
	return e, nil
}

// neutral returns a request in a form of no provider, for JSON.
func neutral(req *llm.Request) any {
	return struct {
		System   string         `json:"system"`
		Tools    []llm.ToolSpec `json:"tools"`
		Messages []llm.Message  `json:"messages"`
		Settings llm.Settings   `json:"settings"`
	}{req.System, req.Tools, req.Messages, req.Settings}
}
