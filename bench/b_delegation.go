package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/stats"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/tools"
)

// delegated is how many sessions are delegated at once.
const delegated = 100

// delegation measures how much longer a session takes that delegates to many
// at once than the slowest of those takes: by the times in the journal, whose
// children think for one to two seconds.
func (b *bench) delegation(ctx context.Context) error {
	t := &table{head: []string{"what", "runs", "parent / slowest child (median, 95 %)", "p90", "target", "met", "-"}}
	for _, stored := range []bool{false, true} {
		name := fmt.Sprintf("%d sessions at once, in memory", delegated)
		if stored {
			name = fmt.Sprintf("%d sessions at once, in SQLite, synced", delegated)
		}
		var ratios []float64
		for n := range b.pairs {
			r, err := b.delegateOnce(ctx, stored, n)
			if err != nil {
				return err
			}
			ratios = append(ratios, r)
		}
		e := stats.Estimated(ratios)
		t.row(name, len(ratios), interval(e, "%.3f"), fmt.Sprintf("%.3f", stats.Quantile(ratios, 0.9)), "<= 1.2", e.AtMost(1.2), "-")
	}
	t.print(b.out, "Delegation")
	return nil
}

// delegateOnce has one session delegate, and returns how much longer than the
// slowest child it took.
func (b *bench) delegateOnce(ctx context.Context, stored bool, n int) (ratio float64, err error) {
	var j openmanus.Journal = new(journal.Memory)
	if stored {
		dir := filepath.Join(b.dir, fmt.Sprint("delegation-", n))
		db, err := store.Open(dir, nil)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, db.Close(), os.RemoveAll(dir)) }()
		j = db
	}
	clock := new(slowest)
	hand := &openmanus.Agent{Name: "hand", Model: thinker{clock}}
	boss := &openmanus.Agent{
		Name: "boss", Model: boss{}, Limits: openmanus.Limits{FanOut: delegated},
		Tools: []openmanus.Tool{tools.NewDelegate([]tools.Assistant{{Name: "hand", Description: "works"}})},
	}
	m := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}
	if err := openmanus.Open(ctx, j, "s", boss, &m); err != nil {
		return 0, err
	}
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(boss, hand)}}
	start := time.Now()
	if err := l.Wake(ctx, "s"); err != nil {
		return 0, err
	}
	took := time.Since(start)
	s, err := openmanus.Load(ctx, j, "s")
	if err != nil {
		return 0, err
	}
	if s.Status() != openmanus.Finished || len(s.Children) != delegated {
		return 0, fmt.Errorf("it is %s, with %d children", s.Status(), len(s.Children))
	}
	return took.Seconds() / clock.max().Seconds(), nil
}

// slowest remembers the longest time.
type slowest struct {
	mu   sync.Mutex
	most time.Duration
}

func (s *slowest) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, d)
}

func (s *slowest) max() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// boss delegates once to all, and ends.
type boss struct{}

func (boss) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if len(req.Messages) > 1 {
			if yield(llm.Delta{Piece: llm.Text{Text: "done"}}, nil) {
				yield(llm.Delta{Stop: llm.End, Usage: &llm.Usage{Input: 1, Output: 1}}, nil)
			}
			return
		}
		for i := range delegated {
			if !yield(llm.Delta{Part: i, Piece: llm.Call{ID: fmt.Sprint(i), Name: "delegate", Input: `{"agent":"hand","task":"think"}`}}, nil) {
				return
			}
		}
		yield(llm.Delta{Stop: llm.ToolUse, Usage: &llm.Usage{Input: 1, Output: 1}}, nil)
	}
}

// thinker thinks for one to two seconds, and answers.
type thinker struct{ clock *slowest }

func (t thinker) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		start := time.Now()
		select {
		case <-time.After(time.Second + rand.N(time.Second)):
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		t.clock.add(time.Since(start))
		if yield(llm.Delta{Piece: llm.Text{Text: "thought"}}, nil) {
			yield(llm.Delta{Stop: llm.End, Usage: &llm.Usage{Input: 1, Output: 1}}, nil)
		}
	}
}
