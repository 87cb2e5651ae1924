package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Named is a model and the name by which replies of it are known.
type Named struct {
	Name  string
	Model Model
}

// Failover returns a Model that asks first, and when that fails though it did
// all that it could (see [Retry], which belongs inside), each of others in
// turn. What was shown of a reply that failed is void: a [Delta] that says
// Reset comes before the next one. Replies of others have their name in
// [Reply].By.
//
// A wrong key, a model that there is not, a request that is too large or was
// refused are no reason to ask another: they are for people to see. onSwitch,
// if it is not nil, is called before another is asked.
func Failover(first Model, onSwitch func(err error, to string), others ...Named) Model {
	return &failover{first, onSwitch, others}
}

type failover struct {
	first    Model
	onSwitch func(error, string)
	others   []Named
}

func (f *failover) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		m := Named{Model: f.first}
		shown := false
		for n := 0; ; n++ {
			begin := Delta{Reset: shown, By: m.Name}
			if (shown || m.Name != "") && !yield(begin, nil) {
				return
			}
			some, done, err := attemptOnce(ctx, m.Model, req, yield)
			if done {
				return
			}
			shown = shown || some
			if n == len(f.others) || ctx.Err() != nil || !worthAnother(err) {
				yield(Delta{}, err)
				return
			}
			m = f.others[n]
			req = elsewhere(req)
			if f.onSwitch != nil {
				f.onSwitch(err, m.Name)
			}
		}
	}
}

// worthAnother reports whether another model may do better.
func worthAnother(err error) bool {
	switch KindOf(err) {
	case RateLimit, Network, Timeout:
		return true
	case Protocol:
		var e *Error
		return errors.As(err, &e) && e.Status == 0 // a stream that broke, not a request that is wrong
	}
	return false
}

// elsewhere is req for another model: nothing is kept of it, so that the
// first one's memory of the conversation stays what it was.
func elsewhere(req *Request) *Request {
	other := *req
	other.Memo = nil
	return &other
}

// Deadline returns a Model that gives up on m, with an [Error] of kind
// [Timeout], when a reply is not whole after limit, which is above 0.
func Deadline(m Model, limit time.Duration) Model { return &deadline{m, limit} }

type deadline struct {
	model Model
	limit time.Duration
}

func (d *deadline) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		inner, cancel := context.WithTimeout(ctx, d.limit)
		defer cancel()
		stopped := false
		for delta, err := range d.model.Stream(inner, req) {
			if err != nil {
				yield(delta, d.reason(ctx, inner, err))
				return
			}
			stopped = stopped || delta.Stop != ""
			if !yield(delta, nil) {
				return
			}
		}
		if err := d.reason(ctx, inner, nil); err != nil && !stopped {
			yield(Delta{}, err)
		}
	}
}

// reason is err, unless the time was up.
func (d *deadline) reason(ctx, inner context.Context, err error) error {
	if inner.Err() != nil && ctx.Err() == nil {
		return &Error{Kind: Timeout, Err: fmt.Errorf("the reply took longer than %v", d.limit)}
	}
	return err
}
