package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

// reply asks the model and returns the outcome: a [openmanus.ModelSaid] or
// [openmanus.ModelFailed]; a [openmanus.Stopped], if the budget is used up; or a
// [openmanus.Compacted] or [openmanus.Elided], if the provider refused the request as
// too large.
func (w *Worker) reply(ctx context.Context, x *Session, t openmanus.Task) (openmanus.Body, error) {
	s, a := x.State, x.Flow.Agent()
	if a.Model == nil {
		return nil, fmt.Errorf("the agent %q has no model", a.Name)
	}
	if stop, err := w.refusedRequest(ctx, x, t); stop != nil || err != nil {
		return stop, err
	}
	estimate := estimateOf(s, s.Config.Prices)
	if stop := w.reserve(ctx, t, estimate); stop != nil {
		return stop, nil
	}
	req := s.Request(t)
	req.Memo = x.memo
	sent := w.sentOf(req)
	var indexing sync.WaitGroup
	defer indexing.Wait()
	indexing.Go(s.IndexPassages) // for the rulings on the calls of the reply
	stream := &replyStream{w: w, session: x.ID, turn: t.Turn}
	r, err := llm.Measure(ctx, a.Model, a.Counter, req, stream.delta)
	stream.end()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // the caller cancelled; the model did not fail
	}
	own, aside := usesOf(r, openmanus.Helper{Name: s.Config.Model, Prices: s.Config.Prices}, a.Fallbacks)
	if err := w.settle(ctx, estimate, estimate.spentBy(own, aside)); err != nil {
		return nil, err
	}
	if err != nil {
		return w.noReply(ctx, x, t, openmanus.ModelFailed{Turn: t.Turn, Re: t.Re,
			Usage: own.Usage, Cost: own.Cost, Free: own.Free, By: own.By, Aside: aside, Sent: sent}, err)
	}
	nameCalls(r.Message.Parts, t.Turn)
	reached := reachedBy(s, a, r.Message.Calls())
	return openmanus.ModelSaid{Turn: t.Turn, Re: t.Re, Stop: r.Stop, Message: r.Message, Unfit: unfit(&s.Config, r), Reached: reached,
		Usage: own.Usage, Cost: own.Cost, Free: own.Free, By: own.By, Aside: aside, Sent: sent}, nil
}

// reachedBy returns the ids of the calls of tools that the session has not, but that its
// use_tool reaches: models call what find_tools has described by its name.
func reachedBy(s *openmanus.State, a *openmanus.Agent, calls []llm.Call) (ids []string) {
	use, ok := a.Tool(openmanus.UseTool).(openmanus.Reacher)
	if !ok {
		return nil
	}
	for _, c := range calls {
		if _, known := s.ToolSpec(c.Name); !known && use.Reaches(c.Name) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// unfit returns why a reply in words is no answer by the schema of the session's answers, or "".
func unfit(c *openmanus.Configured, r *llm.Reply) string {
	text := r.Message.Text()
	if !c.Form || !r.Stop.Whole() || len(r.Message.Calls()) > 0 || strings.TrimSpace(text) == "" {
		return ""
	}
	if _, err := args.Answer(c.Answer, text); err != nil {
		return err.Error()
	}
	return ""
}

// sentOf returns what identifies a request.
func (w *Worker) sentOf(req *llm.Request) llm.Sent {
	if w.Sent != nil {
		return w.Sent(req)
	}
	return llm.SentOf(req)
}

// usesOf returns what a reply of the model asked used, and what was used on the way to
// it: by asked itself or by others.
func usesOf(r *llm.Reply, asked openmanus.Helper, others []openmanus.Helper) (own openmanus.ModelUse, aside []openmanus.ModelUse) {
	use := func(by string, u llm.Usage) openmanus.ModelUse {
		h := asked
		if by != "" && by != asked.Name {
			h = openmanus.Helper{Name: by}
			for _, o := range others {
				if o.Name == by {
					h = o
				}
			}
		}
		return openmanus.ModelUse{By: h.Name, Usage: u, Cost: h.Prices.Cost(u), Free: h.Prices.Free}
	}
	for _, a := range r.Aside {
		aside = append(aside, use(a.By, a.Usage))
	}
	return use(r.By, r.Usage), aside
}

// noReply returns the outcome of a request that failed with err: f with the
// error in it, or what makes the next one smaller if the request was too large.
func (w *Worker) noReply(
	ctx context.Context, x *Session, t openmanus.Task, f openmanus.ModelFailed, err error,
) (openmanus.Body, error) {
	f.Kind = llm.KindOf(err)
	if outgrown(x.State, err) {
		if b, e := w.shrink(ctx, x, t, err); b != nil || e != nil {
			return after(f, b), e
		}
		if f.Kind == llm.Context && x.State.TooLarge {
			err = &llm.Error{Kind: llm.Context, Err: fmt.Errorf("%w; older parts of the conversation have been left out already", err)}
		}
	}
	if b := soften(x.State, f, err); b != nil {
		return *b, nil
	}
	f.Error = err.Error()
	const back = "openmanus sessions rewind"
	if to := x.State.TakenUpTo(); refusesHistory(err) && to > 0 && !strings.Contains(f.Error, back) {
		f.Error += fmt.Sprintf("; everything up to event %d was taken, and the session can go back to there: %s %s --to %d --talk", to, back, x.ID, to)
	}
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		f.Status = e.Status
	}
	return f, nil
}

// refusesHistory reports whether a provider refused a request for what is in it, and not
// because it is too long.
func refusesHistory(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.Protocol && (e.Status == 400 || e.Status == 422 || e.Status >= 500 && e.Permanent)
}

// soften returns what is sent otherwise after a request that failed with err, which f
// records; nil if that cannot help.
func soften(s *openmanus.State, f openmanus.ModelFailed, err error) *openmanus.Softened {
	if !refusesHistory(err) {
		return nil
	}
	b := s.Soften(err.Error())
	if b != nil {
		b.Aside, b.Sent = openmanus.ModelUses(f), f.Sent
	}
	return b
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
