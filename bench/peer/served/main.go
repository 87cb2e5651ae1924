// Served is the server of openmanus over a database, with an agent that has no
// tools: what a model says comes out as events of a session.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

func main() { peer.Main(drive) }

// many is more sessions and streams than are measured.
const many = 10_000

func drive(ctx context.Context, c peer.Config) (err error) {
	db, err := store.Open(c.DB, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h := host{db, &openmanus.Agent{
		Name: "bench", Instructions: peer.Instructions, Gate: openmanus.AllowAll, Spec: openmanus.Spec{Model: "openai/" + c.Model},
		Model: llm.Retry(openai.New(openai.Options{Model: c.Model, BaseURL: c.URL, Key: peer.Key}), llm.RetryOptions{}),
	}}
	root, err := os.MkdirTemp(c.DB, "workspaces-")
	if err != nil {
		return err
	}
	s, err := server.New(ctx, server.Options{
		Store: db, Host: h, Local: &run.Local{Worker: run.Worker{Journal: db, Flow: run.FlowsByName(h.agent)}},
		Users: []server.User{{Name: "bench", Token: peer.Token, Root: root, Quota: server.Quota{Running: many, Streams: many, Hourly: many, Kept: many}}},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	return peer.Serve(ctx, s)
}

type host struct {
	db    *store.DB
	agent *openmanus.Agent
}

func (h host) Open(ctx context.Context, id string, n server.NewSession) error {
	return openmanus.OpenFor(ctx, h.db, n.Owner, id, h.agent, nil)
}

func (host) Environment(string) (llm.Parts, []openmanus.Source) { return nil, nil }

func (host) Catalogue(context.Context) (server.Catalogue, error) { return server.Catalogue{}, nil }
