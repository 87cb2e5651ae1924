package llm_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// busy refuses the first request for ten seconds, and notes when it is asked.
type busy struct {
	mu    sync.Mutex
	start time.Time
	at    []time.Duration
}

func (b *busy) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		b.mu.Lock()
		b.at = append(b.at, time.Since(b.start).Truncate(time.Second))
		first := len(b.at) == 1
		b.mu.Unlock()
		if first {
			yield(llm.Delta{}, &llm.Error{Kind: llm.RateLimit, Status: 429, RetryAfter: 10 * time.Second, Err: errors.New("slow down")})
			return
		}
		yield(llm.Delta{Stop: llm.End}, nil)
	}
}

// When one is told to wait, all who have the same limiter wait.
func TestLimiterIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := new(llm.Limiter), &busy{start: time.Now()}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				m := llm.Retry(b, llm.RetryOptions{Limiter: l})
				if _, err := llm.Generate(t.Context(), m, &llm.Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(b.at) != 6 || b.at[0] != 0 || slices.ContainsFunc(b.at[1:], func(d time.Duration) bool { return d < 10*time.Second }) {
			t.Errorf("asked after %v", b.at)
		}
	})
}

func TestLimiterKeepsRequestsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &llm.Limiter{Apart: 3 * time.Second}, &busy{start: time.Now(), at: []time.Duration{-1}}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := llm.Generate(t.Context(), llm.Retry(b, llm.RetryOptions{Limiter: l}), &llm.Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if want := []time.Duration{-1, 0, 3 * time.Second, 6 * time.Second, 9 * time.Second}; !slices.Equal(b.at, want) {
			t.Errorf("asked after %v", b.at)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := llm.Generate(ctx, llm.Retry(b, llm.RetryOptions{Limiter: l}), &llm.Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
