package llm_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// attempts is a model whose n-th attempt is the n-th stream, or the last.
type attempts struct {
	streams []stream
	asked   int
}

func (a *attempts) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	a.asked++
	return a.streams[min(a.asked, len(a.streams))-1].Stream(ctx, req)
}

var good = stream{deltas: []llm.Delta{text(0, "all "), text(0, "well"), {Stop: llm.End}}}

func fails(e llm.Error) stream {
	e.Err = errors.New("no luck")
	return stream{err: &e}
}

func TestRetry(t *testing.T) {
	busy := llm.Error{Kind: llm.RateLimit, Status: 429}
	in := func(d time.Duration) llm.Error {
		return llm.Error{Kind: llm.RateLimit, Status: 429, RetryAfter: d}
	}
	for _, c := range []struct {
		name     string
		streams  []stream
		opts     llm.RetryOptions
		deadline time.Duration

		wantErr  string // "": the good reply
		asked    int
		min, max time.Duration // that it took
	}{
		{name: "at once", streams: []stream{good}, asked: 1},
		{name: "once busy", streams: []stream{fails(busy), good}, asked: 2, min: time.Second / 2, max: time.Second},
		{name: "exponential", streams: []stream{fails(busy), fails(busy), fails(busy), good},
			asked: 4, min: 3500 * time.Millisecond, max: 7 * time.Second},
		{name: "never", streams: []stream{fails(busy)}, wantErr: "in each of 5 attempts", asked: 5, min: 7500 * time.Millisecond, max: 15 * time.Second},
		{name: "attempts", streams: []stream{fails(busy)}, opts: llm.RetryOptions{Attempts: 1}, wantErr: "in each of 1 attempts", asked: 1},
		{name: "as told", streams: []stream{fails(in(50 * time.Second)), good}, asked: 2, min: 50 * time.Second, max: 51 * time.Second},
		{name: "told too long", streams: []stream{fails(in(time.Hour))}, wantErr: "come back after", asked: 1},
		{name: "longer than the deadline leaves", streams: []stream{fails(in(30 * time.Second))}, deadline: 20 * time.Second,
			wantErr: "more than the time limit leaves", asked: 1},
		{name: "deadline leaves enough", streams: []stream{fails(in(30 * time.Second)), good}, deadline: time.Minute,
			asked: 2, min: 30 * time.Second, max: 31 * time.Second},
		{name: "wrong key", streams: []stream{fails(llm.Error{Kind: llm.Auth, Status: 401})}, wantErr: "no luck (HTTP 401)", asked: 1},
		{name: "out of credit", streams: []stream{fails(llm.Error{Kind: llm.RateLimit, Permanent: true})}, wantErr: "no luck", asked: 1},
		{name: "broke off without a word", streams: []stream{{deltas: good.deltas[:1]}, good}, asked: 2, min: time.Second / 2, max: time.Second},
		{name: "not ours", streams: []stream{{err: errors.New("a bug")}}, wantErr: "a bug", asked: 1},
		{name: "an error after the end", streams: []stream{{deltas: good.deltas, err: errors.New("late")}}, asked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				waits := 0
				c.opts.OnRetry = func(err error, wait time.Duration, attempt int) {
					if waits++; attempt != waits || wait <= 0 || err == nil {
						t.Errorf("OnRetry(%v, %v, %d) at wait %d", err, wait, attempt, waits)
					}
				}
				begin := time.Now()
				m := &attempts{streams: c.streams}
				r, err := llm.Generate(ctx, llm.Retry(m, c.opts), nil)
				if took := time.Since(begin); took < c.min || took > max(c.max, c.min) {
					t.Errorf("took %v, want %v to %v", took, c.min, c.max)
				}
				if m.asked != c.asked || waits != c.asked-1 {
					t.Errorf("asked %d times and waited %d times, want to ask %d times", m.asked, waits, c.asked)
				}
				switch {
				case c.wantErr == "" && (err != nil || r.Message.Text() != "all well"):
					t.Errorf("got %+v, error %v", r, err)
				case c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)):
					t.Errorf("error %v, want one with %q", err, c.wantErr)
				}
			})
		})
	}
}

// The shown part of a reply that failed is reset before the next one begins,
// and only then.
func TestRetryTakesBackWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := stream{deltas: good.deltas[:1], err: &llm.Error{Kind: llm.Network, Err: errors.New("cut")}}
		silent := fails(llm.Error{Kind: llm.Network})
		m := &attempts{streams: []stream{silent, broken, silent, broken, good}}
		var seen []string
		r, err := llm.Collect(t.Context(), llm.Retry(m, llm.RetryOptions{}), nil, func(d llm.Delta) {
			switch {
			case d.Reset:
				seen = append(seen, "reset")
			case d.Piece != nil:
				seen = append(seen, d.Piece.(llm.Text).Text)
			}
		})
		if err != nil || r.Message.Text() != "all well" {
			t.Fatalf("got %+v, error %v", r, err)
		}
		if got, want := strings.Join(seen, "|"), "all |reset|reset|all |reset|all |well"; got != want {
			t.Errorf("seen %s, want %s", got, want)
		}
	})
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &attempts{streams: []stream{fails(llm.Error{Kind: llm.RateLimit, RetryAfter: time.Minute})}}
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		if _, err := llm.Generate(ctx, llm.Retry(m, llm.RetryOptions{}), nil); err != context.Canceled {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begin); took != time.Second || m.asked != 1 {
			t.Errorf("took %v and asked %d times", took, m.asked)
		}
	})
}

func TestRetryStopsWhenNobodyListens(t *testing.T) {
	m := &attempts{streams: []stream{good}}
	for range llm.Retry(m, llm.RetryOptions{}).Stream(t.Context(), nil) {
		break
	}
	if m.asked != 1 {
		t.Errorf("asked %d times", m.asked)
	}
}

// slow is a model that waits before each delta.
type slow struct {
	gaps  []time.Duration
	quiet bool // ends without an error when its context ends
}

func (s slow) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, gap := range s.gaps {
			select {
			case <-time.After(gap):
			case <-ctx.Done():
				if !s.quiet {
					yield(llm.Delta{}, ctx.Err())
				}
				return
			}
			if !yield(text(0, "tick "), nil) {
				return
			}
		}
		yield(llm.Delta{Stop: llm.End}, nil)
	}
}

func TestWatchdog(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		model slow
		want  string
		text  string
	}{
		"steady":           {slow{gaps: []time.Duration{4 * m, 4 * m, 4 * m}}, "", "tick tick tick "},
		"silent":           {slow{gaps: []time.Duration{6 * m}}, "the model sent nothing for 5m0s", ""},
		"falls silent":     {slow{gaps: []time.Duration{m, 6 * m}}, "the model sent nothing for 5m0s", "tick "},
		"ends when it may": {slow{gaps: []time.Duration{6 * m}, quiet: true}, "the model sent nothing for 5m0s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := llm.Collect(t.Context(), llm.Watchdog(c.model, 5*m), nil, func(llm.Delta) {
					time.Sleep(time.Hour) // the reader's time is its own
				})
				if r.Message.Text() != c.text {
					t.Errorf("said %q, want %q", r.Message.Text(), c.text)
				}
				if c.want == "" && err != nil || c.want != "" && (llm.KindOf(err) != llm.Timeout || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("error %v, want %q", err, c.want)
				}
			})
		})
	}
}

func TestWatchdogLeavesTheContextsEndAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := llm.Generate(ctx, llm.Watchdog(slow{gaps: []time.Duration{time.Hour}}, 5*time.Minute), nil)
		if err != context.DeadlineExceeded {
			t.Errorf("error %v", err)
		}
	})
}
