package run

import (
	"context"
	"iter"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// Agent runs an agent in a session of its own, in memory, and yields the stored
// events as they come. It ends when the session has ended or waits for the user:
// an agent without a gate asks about every call that changes something. Leaving
// the loop cancels the run. After an error, which it yields last, it ends.
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
	// Wake drives a session until nothing is left to do, because it has ended
	// or waits for the user. It returns at once if that is so already. Call it
	// after appending to a session. The session must exist.
	Wake(ctx context.Context, session string) error
}
