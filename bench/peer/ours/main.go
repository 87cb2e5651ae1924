// Ours is openmanus as a library: an agent with one tool, driven by the local
// runtime; in memory, or with every event in SQLite and synced.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

func main() { peer.Main(drive) }

func drive(ctx context.Context, c peer.Config) (err error) {
	journal, closeJournal, err := open(c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeJournal()) }()
	if c.Idle > 0 {
		return idle(ctx, journal, c.Idle)
	}
	agents := make(map[string]openmanus.Flow)
	for i := range max(1, c.Agents) {
		name := c.Model
		if c.Agents > 0 {
			name = fmt.Sprintf("%s#%d", c.Model, i)
		}
		agents[name] = agent(c, name)
	}
	flow := run.FlowsByName(slices.Collect(maps.Values(agents))...)
	local := &run.Local{Worker: run.Worker{Journal: journal, Flow: flow}}
	return c.Each(func(name string) error {
		if err := openmanus.Open(ctx, journal, name, agents[name], &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, peer.Prompt)}); err != nil {
			return err
		}
		return local.Wake(ctx, name) // the driver checks that all requests came, and the last one was the end
	})
}

func agent(c peer.Config, name string) *openmanus.Agent {
	c.Model = name
	return &openmanus.Agent{
		Name: name, Instructions: peer.Instructions, Model: model(c), Spec: openmanus.Spec{Model: "openai/" + name},
		Tools:  []openmanus.Tool{noop()},
		Gate:   openmanus.AllowAll,
		Limits: openmanus.Limits{Steps: c.Steps + 1, Tokens: -1, Money: -1},
	}
}

func noop() openmanus.Tool {
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{ReadOnly: true}}
	spec.Name, spec.Description = server.Tool, peer.ToolDescription
	return openmanus.Func(spec, func(_ context.Context, _ openmanus.Call, in peer.Input) (openmanus.Result, error) {
		return openmanus.TextResult("%s", server.Result(in.I, in.Size)), nil
	})
}
