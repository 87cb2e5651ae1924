package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Watchdog returns a Model with an idle timeout: it ends a request to m with an
// [Error] of kind [Timeout] if no fragment and no sign of life arrives for idle, which
// is above 0. The time that the consumer takes for a fragment does not count. Signs of
// life alone count for no longer than twelve times idle; that error is Permanent.
func Watchdog(m Model, idle time.Duration) Model {
	return &timed{model: m, limit: idle, idle: true, late: fmt.Sprintf("the model sent nothing for %v", idle)}
}

// Deadline returns a Model that ends a request to m with an [Error] of kind
// [Timeout] if the reply is not complete after limit, which is above 0.
func Deadline(m Model, limit time.Duration) Model {
	return &timed{model: m, limit: limit, late: fmt.Sprintf("the reply took longer than %v", limit)}
}

// A timed is the Model of [Watchdog] and [Deadline]. It ends a request by ending
// the context of m, so that m's error, whatever it is, means that time was up.
type timed struct {
	model Model
	limit time.Duration
	idle  bool   // limit is the time to the next fragment, not that of the whole reply
	late  string // the text of the error
}

// Stream implements [Model]. The end of ctx is ctx's error, not a timeout; and a
// reply that is complete stays one, even if its stream is still open when the time
// is up.
func (t *timed) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := time.AfterFunc(t.limit, cancel)
		defer timer.Stop()
		stopped, heard := false, time.Now()
		for d, err := range t.model.Stream(inner, req) {
			if t.idle {
				timer.Stop()
			}
			if err != nil {
				yield(d, t.reason(ctx, inner, heard, err))
				return
			}
			stopped = stopped || d.Stop != ""
			if !yield(d, nil) {
				return
			}
			if !d.idle() {
				heard = time.Now()
			}
			if t.idle {
				timer.Reset(min(t.limit, max(0, aliveLimits*t.limit-time.Since(heard))))
			}
		}
		if err := t.reason(ctx, inner, heard, nil); err != nil && !stopped {
			yield(Delta{}, err)
		}
	}
}

// aliveLimits is how many times the idle limit signs of life count.
const aliveLimits = 12

// reason returns err, or the error of the limit if that ended the request. heard is when
// there was more than a sign of life.
func (t *timed) reason(ctx, inner context.Context, heard time.Time, err error) error {
	if inner.Err() != nil && ctx.Err() == nil {
		if most := aliveLimits * t.limit; t.idle && time.Since(heard) >= most {
			return &Error{Kind: Timeout, Permanent: true, Err: fmt.Errorf("the model's server showed signs of life for %v, and no word of a reply: look at the server, or raise llm.idle_timeout", most)}
		}
		return &Error{Kind: Timeout, Err: errors.New(t.late)}
	}
	return err
}
