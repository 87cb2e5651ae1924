package run

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
)

// A Budget bounds what many sessions spend together, in a day or a month. The
// worker reserves what a request may cost before it makes the request, so that
// concurrent requests count, and so do those whose process dies.
// Implementations are safe for concurrent use.
type Budget interface {
	// Reserve takes an estimate of what a request will cost out of the
	// budget. If less than that is left, it takes nothing and returns an
	// error for people that says which limit is reached. A request may cost
	// more than its estimate.
	Reserve(ctx context.Context, estimate openmanus.Money) error

	// Settle returns what Reserve took for a request and takes out what the
	// request did cost. It is not called for a request whose cost is unknown,
	// because it was cancelled or its process died.
	Settle(ctx context.Context, estimate, cost openmanus.Money) error
}

// reserveMoney reserves the estimate for a request. It returns the event that
// stops the session if the budget is used up.
func (w *Worker) reserveMoney(ctx context.Context, t openmanus.Task, estimate openmanus.Money) openmanus.Body {
	if w.Budget == nil {
		return nil
	}
	if err := w.Budget.Reserve(ctx, estimate); err != nil {
		return openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: openmanus.NoMoney, Error: err.Error()}
	}
	return nil
}

// settleMoney settles what reserveMoney reserved, even if ctx has ended.
func (w *Worker) settleMoney(ctx context.Context, estimate, cost openmanus.Money) error {
	if w.Budget == nil || estimate == cost {
		return nil
	}
	if err := w.Budget.Settle(context.WithoutCancel(ctx), estimate, cost); err != nil {
		return fmt.Errorf("settling the budget: %w", err)
	}
	return nil
}
