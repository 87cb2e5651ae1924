package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// RetryOptions control [Retry]. The zero value is a good choice.
type RetryOptions struct {
	Attempts  int           // the most attempts; 0: 5
	Backoff   time.Duration // the first wait, doubled each time; 0: 1 s
	MaxWait   time.Duration // the longest wait, even if the provider asks for more; 0: 120 s
	IdleLimit time.Duration // of each attempt, see [Watchdog]; 0: 5 minutes; below 0: none
	Limit     time.Duration // of each attempt, see [Deadline]; 0 or below: none

	// Limiter, if not nil, is shared by all requests with the same key.
	Limiter *Limiter

	// OnRetry, if not nil, is called before each wait with the error of the
	// attempt that failed, counted from 1; once a minute while a server is loading.
	OnRetry func(err error, wait time.Duration, attempt int)
}

// Retry returns a Model that repeats a request to m after an error that is
// [Error.Temporary], and after a reply that broke off.
//
// It waits as long as the provider asks for, or else exponentially longer each
// time, with jitter. If the wait were longer than MaxWait, or than ctx's deadline
// allows, it fails at once, and the error says when to try again.
//
// If fragments of a failed reply were yielded, the next attempt begins with a
// [Delta] with Reset.
func Retry(m Model, opts RetryOptions) Model {
	opts.Attempts = cmp.Or(opts.Attempts, 5)
	opts.Backoff = cmp.Or(opts.Backoff, time.Second)
	opts.MaxWait = cmp.Or(opts.MaxWait, 120*time.Second)
	if opts.IdleLimit >= 0 {
		m = Watchdog(m, cmp.Or(opts.IdleLimit, 5*time.Minute))
	}
	if opts.Limit > 0 {
		m = Deadline(m, opts.Limit)
	}
	return &retrier{m, opts}
}

// A retrier is the Model of [Retry]. It keeps nothing between requests but what its
// Limiter does.
type retrier struct {
	model Model
	opts  RetryOptions
}

// Stream implements [Model]. Before a further attempt, a Reset tells the reader to drop
// what a failed one has streamed. Request.Attempts overrides the number of attempts. The
// limiter, which all requests with the same key share, delays the first attempt as well.
// Attempts at a server that is loading the model do not count for some minutes.
func (r *retrier) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		shown := false // fragments of a void reply were yielded
		most := r.opts.Attempts
		if req != nil && req.Attempts > 0 {
			most = req.Attempts
		}
		begun := time.Now()
		var told time.Time // when people heard last that the server is loading
		for attempt := 1; ; attempt++ {
			if shown && !yield(Delta{Reset: true}, nil) {
				return
			}
			if err := r.opts.Limiter.wait(ctx, r.opts.MaxWait); err != nil {
				yield(Delta{}, err)
				return
			}
			some, done, err := attemptOnce(ctx, r.model, req, yield)
			r.opts.Limiter.heard(err)
			if done {
				return
			}
			shown = shown || some
			var e *Error
			if errors.As(err, &e) && e.Loading && time.Since(begun) < loadTime && most > 1 {
				attempt = 0 // which is the next one's number less one
				if r.opts.OnRetry != nil && time.Since(told) >= time.Minute {
					told = time.Now()
					r.opts.OnRetry(err, loadPause, 1)
				}
				if err = sleep(ctx, loadPause); err == nil {
					continue
				}
			}
			if err = r.wait(ctx, err, attempt, most); err != nil {
				yield(Delta{}, err)
				return
			}
		}
	}
}

// A server that is loading a model is asked each loadPause, for loadTime: a large file on a
// slow disk takes minutes.
const loadTime, loadPause = 10 * time.Minute, 5 * time.Second

// attemptOnce passes on one reply. done reports whether the reply is complete or
// the consumer stopped; otherwise err says what failed. some reports whether
// anything was passed on.
func attemptOnce(ctx context.Context, m Model, req *Request, yield func(Delta, error) bool) (some, done bool, err error) {
	stopped := false
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return some, stopped, err
		}
		some = some || !d.idle()
		stopped = stopped || d.Stop != ""
		if !yield(d, nil) {
			return some, true, nil
		}
	}
	if !stopped {
		err = brokeOff(ctx)
	}
	return some, stopped, err
}

// wait returns nil when it is time for another attempt, of which there are most.
// Otherwise it returns the error to give up with.
func (r *retrier) wait(ctx context.Context, err error, attempt, most int) error {
	var e *Error
	if !errors.As(err, &e) || !e.Temporary() || ctx.Err() != nil {
		return err
	}
	if attempt >= most {
		return &Error{Kind: e.Kind, Status: e.Status, RetryAfter: e.RetryAfter,
			Err: fmt.Errorf("%w, in each of %d attempts", e.Err, attempt)}
	}
	wait := r.backoff(attempt)
	if e.RetryAfter > 0 { // and a little longer, so that not all clients return at once
		wait = e.RetryAfter + rand.N(min(e.RetryAfter/10, r.opts.Backoff)+1)
	}
	if limit, why := r.limit(ctx); wait > limit {
		return &Error{Kind: e.Kind, Status: e.Status, RetryAfter: e.RetryAfter, Err: fmt.Errorf(
			"%w; the next attempt would be in %v, which is more than %s: come back after %s",
			e.Err, wait.Round(time.Second), why, time.Now().Add(wait).Format(time.DateTime))}
	}
	if r.opts.OnRetry != nil {
		r.opts.OnRetry(err, wait, attempt)
	}
	return sleep(ctx, wait)
}

// limit returns the longest wait that makes sense, and its source for the error.
func (r *retrier) limit(ctx context.Context) (time.Duration, string) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < r.opts.MaxWait {
		return time.Until(deadline), "the time limit leaves"
	}
	return r.opts.MaxWait, fmt.Sprintf("the %v that are waited for at most", r.opts.MaxWait)
}

// backoff returns a random wait between half and all of the doubled one, which is
// never more than a quarter of MaxWait.
func (r *retrier) backoff(attempt int) time.Duration {
	d := r.opts.Backoff
	for range attempt - 1 {
		if d = 2 * d; d > r.opts.MaxWait/4 {
			d = r.opts.MaxWait / 4
			break
		}
	}
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d. It returns ctx's error if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
