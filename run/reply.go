package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// reply asks the model and returns the outcome: a [openmanus.ModelSaid] or
// [openmanus.ModelFailed]; a [openmanus.Stopped], if the budget is used up; or a
// [openmanus.Compacted], if the provider refused the request as too large, but
// not twice in a row.
func (w *Worker) reply(ctx context.Context, x *Session, t openmanus.Task) (openmanus.Body, error) {
	s, a := x.State, x.Flow.Agent()
	if a.Model == nil {
		return nil, fmt.Errorf("the agent %q has no model", a.Name)
	}
	estimate := s.EstimateCost(s.Config.Prices)
	if stop := w.reserveMoney(ctx, t, estimate); stop != nil {
		return stop, nil
	}
	req := s.Request(t)
	req.Memo = x.memo
	var indexing sync.WaitGroup
	defer indexing.Wait()
	indexing.Go(s.IndexPassages) // for the rulings on the calls of the reply
	stream := &replyStream{w: w, session: x.ID, turn: t.Turn}
	r, err := llm.Collect(ctx, a.Model, req, stream.delta)
	stream.end()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // the caller cancelled; the model did not fail
	}
	by, prices := s.Config.Model, s.Config.Prices
	for _, h := range a.Fallbacks {
		if h.Name == r.By {
			by, prices = h.Name, h.Prices
		}
	}
	cost := prices.Cost(r.Usage)
	if err := w.settleMoney(ctx, estimate, cost); err != nil {
		return nil, err
	}
	if err != nil {
		return w.noReply(ctx, x, t, openmanus.ModelFailed{Turn: t.Turn, Re: t.Re, Usage: r.Usage, Cost: cost}, err)
	}
	nameCalls(r.Message.Parts, t.Turn)
	return openmanus.ModelSaid{
		Turn: t.Turn, Re: t.Re, Stop: r.Stop, Message: r.Message, Usage: r.Usage, Cost: cost, By: by,
	}, nil
}

// noReply returns the outcome of a request that failed with err: f with the
// error in it, or a compaction if the request was too large.
func (w *Worker) noReply(
	ctx context.Context, x *Session, t openmanus.Task, f openmanus.ModelFailed, err error,
) (openmanus.Body, error) {
	f.Kind = llm.KindOf(err)
	switch {
	case f.Kind != llm.Context:
	case x.State.TooLarge:
		err = &llm.Error{Kind: llm.Context, Err: fmt.Errorf("%w; older parts of the conversation have been left out already", err)}
	default:
		if b, e := w.compact(ctx, x.Flow.Agent(), x.State, t, err); b != nil || e != nil {
			return b, e
		}
	}
	f.Error = err.Error()
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		f.Status = e.Status
	}
	return f, nil
}

// nameCalls gives the calls of a reply ids that are unique in the session.
// Providers repeat theirs, or send none.
func nameCalls(parts llm.Parts, turn int) {
	n := 0
	for i, p := range parts {
		if c, ok := p.(llm.Call); ok {
			n++
			c.ID = callID(turn, n)
			parts[i] = c
		}
	}
}

// callID returns the id of the n-th call of a turn, from 1. It is unique in the
// session, because each turn has one outcome.
func callID(turn, n int) string { return fmt.Sprintf("c%d-%d", turn, n) }
