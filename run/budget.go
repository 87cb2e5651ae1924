package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
)

// A Spending is what a request takes of a budget.
type Spending struct {
	Owner  string // the user who owns the session; "": no user does
	Cost   openmanus.Money
	Tokens int // of input and output
}

// A Budget bounds what many sessions spend together, in a day or a month. The
// worker reserves what a request may cost before it makes the request, so that
// concurrent requests count, and so do those whose process dies.
// Implementations are safe for concurrent use.
type Budget interface {
	// Reserve takes an estimate of what a request will cost out of the
	// budget. If less than that is left, it takes nothing and returns an
	// error for people that says which limit is reached; one that is an
	// [ErrNoTokens] is of tokens, others of money. A request may cost
	// more than its estimate.
	Reserve(ctx context.Context, estimate Spending) error

	// Settle returns what Reserve took for a request and takes out what the
	// request did cost. It is not called for a request whose cost is unknown,
	// because it was cancelled or its process died.
	Settle(ctx context.Context, estimate, spent Spending) error
}

// ErrNoTokens says that a budget of tokens is used up.
var ErrNoTokens = errors.New("no tokens are left")

// estimateOf returns what the next request of a session will take, at some prices.
func estimateOf(s *openmanus.State, p openmanus.Prices) Spending {
	u := s.EstimateUsage()
	return Spending{Owner: s.Opened.Owner, Cost: p.Cost(u), Tokens: u.Total()}
}

// spentBy returns what a request that was estimated took.
func (sp Spending) spentBy(own openmanus.ModelUse, aside []openmanus.ModelUse) Spending {
	spent := Spending{Owner: sp.Owner, Cost: own.Cost, Tokens: own.Usage.Total()}
	for _, u := range aside {
		spent.Cost += u.Cost
		spent.Tokens += u.Usage.Total()
	}
	return spent
}

// reserve reserves the estimate for a request. It returns the event that
// stops the session if the budget is used up.
func (w *Worker) reserve(ctx context.Context, t openmanus.Task, estimate Spending) openmanus.Body {
	if w.Budget == nil {
		return nil
	}
	err := w.Budget.Reserve(ctx, estimate)
	if err == nil {
		return nil
	}
	stopped := openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: openmanus.NoMoney, Error: err.Error()}
	if errors.Is(err, ErrNoTokens) {
		stopped.Reason = openmanus.NoTokens
	}
	return stopped
}

// settle settles what reserve reserved, even if ctx has ended.
func (w *Worker) settle(ctx context.Context, estimate, spent Spending) error {
	if w.Budget == nil || estimate == spent {
		return nil
	}
	if err := w.Budget.Settle(context.WithoutCancel(ctx), estimate, spent); err != nil {
		return fmt.Errorf("settling the budget: %w", err)
	}
	return nil
}
