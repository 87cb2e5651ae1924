package openmanus

import (
	"context"
	"fmt"
)

// A Purse bounds what many sessions spend together, such as in a day.
// Implementations are safe for concurrent use.
type Purse interface {
	// Empty returns nil, or an error that says which limit is reached.
	Empty(ctx context.Context) error

	// Spend takes out what a request cost, which may be more than is left.
	Spend(ctx context.Context, m Money) error
}

// broke returns the stop of a session that may spend nothing more, or nil.
func (w *Worker) broke(ctx context.Context, t Task) Body {
	if w.Purse == nil {
		return nil
	}
	if err := w.Purse.Empty(ctx); err != nil {
		return Stopped{Turn: t.Turn, Re: t.Re, Reason: NoMoney, Error: err.Error()}
	}
	return nil
}

// pay takes what was spent out of the purse.
func (w *Worker) pay(ctx context.Context, m Money) error {
	if w.Purse == nil || m == 0 {
		return nil
	}
	if err := w.Purse.Spend(context.WithoutCancel(ctx), m); err != nil {
		return fmt.Errorf("writing down what was spent: %w", err)
	}
	return nil
}
