package run

import (
	"context"
	"fmt"
	"github.com/openmanus-go/openmanus"
)

// A Purse bounds what many sessions spend together, such as in a day. What a
// request may cost is set aside before it is made, so that requests that are
// made at the same time, or whose process dies, are counted.
// Implementations are safe for concurrent use.
type Budget interface {
	// Reserve takes out about, which is roughly what a request will cost, or
	// takes nothing and returns an error that says which limit is reached. A
	// request may cost more than is left.
	Reserve(ctx context.Context, about openmanus.Money) error

	// Settle puts back what was reserved for a request and takes out what it
	// cost. It is not called if nobody knows what it cost.
	Settle(ctx context.Context, reserved, cost openmanus.Money) error
}

// broke returns the stop of a session that may spend nothing more, or nil
// when what it is about to spend was reserved.
func (w *Worker) broke(ctx context.Context, t openmanus.Task, about openmanus.Money) openmanus.Body {
	if w.Budget == nil {
		return nil
	}
	if err := w.Budget.Reserve(ctx, about); err != nil {
		return openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: openmanus.NoMoney, Error: err.Error()}
	}
	return nil
}

// pay settles what was reserved.
func (w *Worker) pay(ctx context.Context, reserved, cost openmanus.Money) error {
	if w.Budget == nil || reserved == cost {
		return nil
	}
	if err := w.Budget.Settle(context.WithoutCancel(ctx), reserved, cost); err != nil {
		return fmt.Errorf("writing down what was spent: %w", err)
	}
	return nil
}
