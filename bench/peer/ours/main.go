// Ours is openmanus as a library: an agent with one tool, driven by the local
// runtime; in memory, or with every event in SQLite and synced.
package main

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/llm"
)

func main() { peer.Main(run) }

func run(ctx context.Context, c peer.Config) (err error) {
	journal, closeJournal, err := open(c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeJournal()) }()
	agent := &openmanus.Agent{
		Name: "bench", Instructions: peer.Instructions, Model: model(c), ModelName: "openai/" + c.Model,
		Tools:  []openmanus.Tool{noop()},
		Gate:   openmanus.AllowAll,
		Limits: openmanus.Limits{Steps: c.Steps + 1, Tokens: -1, Money: -1},
	}
	local := &openmanus.Local{Worker: openmanus.Worker{Journal: journal, Flow: openmanus.Only(agent)}}
	const id = "bench"
	if err := openmanus.Open(ctx, journal, id, agent, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, peer.Prompt)}); err != nil {
		return err
	}
	return local.Wake(ctx, id) // the driver checks that all requests came, and the last one was the end
}

func noop() openmanus.Tool {
	spec := openmanus.Spec{Hints: openmanus.Hints{ReadOnly: true}}
	spec.Name, spec.Description = server.Tool, peer.ToolDescription
	return openmanus.Func(spec, func(_ context.Context, _ openmanus.Call, in peer.Input) (openmanus.Result, error) {
		return openmanus.TextResult("%s", server.Result(in.I, in.Size)), nil
	})
}
