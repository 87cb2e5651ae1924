package run

import (
	"context"
	"iter"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// Agent runs an agent in a session of its own, in memory, and yields the stored
// events as they come. It ends when the session has ended or waits for the user:
// an agent without a gate asks about every call that changes something. Leaving
// the loop cancels the run.
//
// An error comes last. It is a [*Halt] if the session has not finished: if the model
// failed, a limit stopped it, or it waits for the user.
func Agent(ctx context.Context, a *openmanus.Agent, prompt string) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var driving sync.WaitGroup
		defer driving.Wait()
		defer cancel()
		l, err := ask(ctx, a, prompt)
		if err != nil {
			yield(openmanus.Event{}, err)
			return
		}
		follow, stop := context.WithCancel(ctx)
		defer stop()
		var failed error
		driving.Go(func() {
			failed = l.Wake(ctx, only)
			stop()
		})
		last := int64(0)
		for ev, err := range l.Journal.Follow(follow, only, 0) {
			if !yield(ev, err) {
				return
			}
			last = ev.Seq
		}
		driving.Wait()
		for ev, err := range l.Journal.Events(ctx, only, last) {
			if !yield(ev, err) {
				return
			}
		}
		if failed == nil {
			failed = Halted(ctx, l.Journal, only)
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
	// after appending to a session. The session must exist. How it ended is no
	// error: see [Halted].
	Wake(ctx context.Context, session string) error
}
