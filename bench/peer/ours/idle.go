package main

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// idle holds n sessions of 20 messages, as the runtime leaves them when they
// wait for somebody to speak, and prints what one takes: held in memory, and
// in the store alone.
func idle(ctx context.Context, j openmanus.Journal, n int) error {
	a := &openmanus.Agent{Name: "bench", Instructions: peer.Instructions, Spec: openmanus.Spec{Model: "scripted:bench"}, Tools: []openmanus.Tool{noop()}, Gate: openmanus.AllowAll}
	local := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(a)}}
	before, routines := peer.Heap()
	for i := range n {
		if err := converse(ctx, j, a, fmt.Sprint(i)); err != nil {
			return err
		}
		if err := local.Wake(ctx, fmt.Sprint(i)); err != nil { // which finds nothing to do
			return err
		}
	}
	evicted, _ := peer.Heap()
	states := make([]*openmanus.State, n)
	for i := range n {
		var err error
		if states[i], err = openmanus.Load(ctx, j, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	warm, after := peer.Heap()
	for _, s := range states {
		if s.Status() != openmanus.Finished {
			return fmt.Errorf("a session is %s", s.Status())
		}
	}
	return peer.Tell(n, before, evicted, warm, after-routines)
}

func converse(ctx context.Context, j openmanus.Journal, a *openmanus.Agent, id string) error {
	if err := openmanus.Open(ctx, j, id, a, nil); err != nil {
		return err
	}
	var bodies []openmanus.Body
	for i := range peer.Messages / 2 {
		text := server.Result(i, peer.MessageSize)
		bodies = append(bodies, openmanus.UserSaid{ID: fmt.Sprint(i), Message: llm.Say(llm.User, text)},
			openmanus.ModelSaid{Turn: i, Re: int64(3 + 2*i), Stop: llm.End, Message: llm.Say(llm.Assistant, text)})
	}
	_, err := j.Append(ctx, id, bodies...)
	return err
}
