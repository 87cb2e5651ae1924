package llm

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Limiter is shared by all requests with one key: if the provider asks one of
// them to wait, all wait. It can also keep requests apart in time. The zero
// Limiter is ready to use. It is safe for concurrent use, and must not be copied.
type Limiter struct {
	// Apart is the least time between the beginnings of two requests.
	Apart time.Duration

	// Told, if not nil, is called when the provider has asked to wait until a time that is
	// later than what was known. It is for others with the same key: see Pause. It must not
	// block.
	Told func(until time.Time)

	mu    sync.Mutex
	next  time.Time // when the next request may begin
	pause time.Time // until when all wait
}

// wait returns when a request may begin, or ctx's error. It does not wait longer
// than most: the request then begins, and the provider's refusal is the error.
func (l *Limiter) wait(ctx context.Context, most time.Duration) error {
	if l == nil {
		return nil
	}
	for {
		d := l.reserve(most)
		if d <= 0 {
			return nil
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// reserve lets a request begin if its time has come, and returns 0 then. Otherwise
// it returns how long to wait before calling it again.
func (l *Limiter) reserve(most time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if d := l.pause.Sub(now); d > 0 && d <= most {
		return d
	}
	if d := l.next.Sub(now); d > 0 {
		return d
	}
	l.next = now.Add(l.Apart)
	return 0
}

// heard notes how long the provider asks to wait.
func (l *Limiter) heard(err error) {
	var e *Error
	if l == nil || !errors.As(err, &e) || e.Kind != RateLimit || e.RetryAfter <= 0 {
		return
	}
	until := time.Now().Add(e.RetryAfter)
	if l.Pause(until) && l.Told != nil {
		l.Told(until)
	}
}

// Pause lets requests wait until a time, as if the provider had asked for it. It reports
// whether they would not have waited as long without it.
func (l *Limiter) Pause(until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !until.After(l.pause) {
		return false
	}
	l.pause = until
	return true
}
