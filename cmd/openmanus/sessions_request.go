package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal/audit"
	"github.com/openmanus-go/openmanus/llm"
)

// sessionsRequestCmd is openmanus sessions request.
type sessionsRequestCmd struct {
	oneSession
	Seq     int64 `arg:"" help:"The event with the outcome of the request, of the type model_said or model_failed."`
	Neutral bool  `help:"Print it before it is encoded for the provider."`
}

// on implements the command. Its output contains no key, because keys travel
// beside the body.
func (c *sessionsRequestCmd) on(ctx context.Context, x *session) error {
	req, conf, err := audit.Request(ctx, x.db, x.id, c.Seq)
	if errors.As(err, new(*audit.NoRequestError)) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if c.Neutral || strings.HasPrefix(conf.Model, "scripted:") {
		return x.t.printJSON(neutral(req))
	}
	model, err := x.wire(conf)
	if err != nil {
		return fmt.Errorf("%w\n--neutral prints the request without the model", err)
	}
	body, err := model.Body(req)
	if err != nil {
		return err
	}
	return x.t.writeJSON(body)
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
