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

// says is a model that says words, and then fails, ends, or waits.
type says struct {
	words string
	err   error
	wait  time.Duration // between the words and the end
	memos *[]*llm.Memo
}

func (s says) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if s.memos != nil {
			*s.memos = append(*s.memos, req.Memo)
		}
		if s.words != "" && !yield(llm.Delta{Piece: llm.Text{Text: s.words}}, nil) {
			return
		}
		select {
		case <-time.After(s.wait):
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		if s.err != nil {
			yield(llm.Delta{}, s.err)
			return
		}
		yield(llm.Delta{Stop: llm.End}, nil)
	}
}

func TestFailover(t *testing.T) {
	fault := func(k llm.Kind, status int) error {
		return &llm.Error{Kind: k, Status: status, Err: errors.New(string(k))}
	}
	for _, tt := range []struct {
		name          string
		first, second says
		text, by      string
		kind          llm.Kind
		switched      bool
	}{
		{name: "well", first: says{words: "a"}, second: says{words: "b"}, text: "a"},
		{name: "down", first: says{err: fault(llm.Network, 503)}, second: says{words: "b"}, text: "b", by: "second", switched: true},
		{name: "out of credit", first: says{err: fault(llm.RateLimit, 429)}, second: says{words: "b"}, text: "b", by: "second", switched: true},
		{name: "broke off in mid-word", first: says{words: "aaa", err: fault(llm.Protocol, 0)}, second: says{words: "b"}, text: "b", by: "second", switched: true},
		{name: "both down", first: says{err: fault(llm.Network, 503)}, second: says{err: fault(llm.Timeout, 0)}, kind: llm.Timeout, by: "second", switched: true},
		{name: "a wrong key", first: says{err: fault(llm.Auth, 401)}, kind: llm.Auth},
		{name: "no such model", first: says{err: fault(llm.NoModel, 404)}, kind: llm.NoModel},
		{name: "too large", first: says{err: fault(llm.Context, 400)}, kind: llm.Context},
		{name: "a wrong request", first: says{err: fault(llm.Protocol, 400)}, kind: llm.Protocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var memos []*llm.Memo
			tt.second.memos = &memos
			var to string
			m := llm.Failover(tt.first, func(_ error, name string) { to = name }, llm.Named{Name: "second", Model: tt.second})
			resets := 0
			r, err := llm.Collect(t.Context(), m, &llm.Request{Memo: new(llm.Memo)}, func(d llm.Delta) {
				if d.Reset {
					resets++
				}
			})
			if (tt.kind == "") != (err == nil) || err != nil && llm.KindOf(err) != tt.kind {
				t.Fatal(err)
			}
			if r.Message.Text() != tt.text || r.By != tt.by || (to != "") != tt.switched {
				t.Errorf("%q by %q, switched to %q", r.Message.Text(), r.By, to)
			}
			if shown := tt.switched && tt.first.words != ""; (resets == 1) != shown {
				t.Errorf("%d resets", resets)
			}
			if tt.switched && memos[0] != nil {
				t.Error("the second model has the memory of the first")
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llm.Deadline(says{words: "slow", wait: time.Hour}, time.Minute)
		r, err := llm.Generate(t.Context(), m, &llm.Request{})
		if llm.KindOf(err) != llm.Timeout || !strings.Contains(err.Error(), "longer than 1m0s") || r.Message.Text() != "slow" {
			t.Errorf("%q, %v", r.Message.Text(), err)
		}
		m = llm.Deadline(says{words: "quick", wait: time.Second}, time.Minute)
		if r, err := llm.Generate(t.Context(), m, &llm.Request{}); err != nil || r.Message.Text() != "quick" {
			t.Errorf("%v", err)
		}
		tries := 0
		m = llm.Retry(says{wait: time.Hour}, llm.RetryOptions{Attempts: 2, IdleLimit: -1, Limit: time.Minute, OnRetry: func(error, time.Duration, int) { tries++ }})
		if _, err := llm.Generate(t.Context(), m, &llm.Request{}); llm.KindOf(err) != llm.Timeout || tries != 1 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}
