package run

import (
	"context"
	"iter"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// Run runs a in a session of its own, in memory, and returns its stored
// events. It ends when the session does, or waits for a person: an agent
// without a gate asks about whatever changes something.
func Agent(ctx context.Context, a *openmanus.Agent, prompt string) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		const id = "main"
		l := &Local{Worker: Worker{Journal: new(journal.Memory), Flow: FlowsByName(a)}}
		ctx, cancel := context.WithCancel(ctx)
		var driving sync.WaitGroup
		defer driving.Wait()
		defer cancel()
		if err := openmanus.Open(ctx, l.Journal, id, a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, prompt)}); err != nil {
			yield(openmanus.Event{}, err)
			return
		}
		follow, stop := context.WithCancel(ctx)
		defer stop()
		var failed error
		driving.Go(func() {
			failed = l.Wake(ctx, id)
			stop()
		})
		last := int64(0)
		for ev, err := range l.Journal.Follow(follow, id, 0) {
			if !yield(ev, err) {
				return
			}
			last = ev.Seq
		}
		driving.Wait()
		for ev, err := range l.Journal.Events(ctx, id, last) {
			if !yield(ev, err) {
				return
			}
		}
		if failed != nil {
			yield(openmanus.Event{}, failed)
		}
	}
}

// A Runtime drives sessions.
type Runtime interface {
	// Wake sees to it that what the session calls for is done, and returns
	// when there is nothing left to do until someone speaks.
	Wake(ctx context.Context, session string) error
}
