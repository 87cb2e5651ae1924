package host

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
)

// TestDayBudget: all sessions of a day spend from one purse, and the next day
// begins with a full one.
func TestDayBudget(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
	p := dayBudget{purse: filePurse{t.TempDir()}, all: openmanus.Dollar, now: func() time.Time { return now }}
	ask := func(about openmanus.Money, may bool) {
		t.Helper()
		if err := p.Reserve(t.Context(), run.Spending{Cost: about}); (err == nil) != may {
			t.Errorf("for %.2f: %v", about.USD(), err)
		}
	}
	ask(openmanus.Dollar/4, true)
	if err := p.Settle(t.Context(), run.Spending{Cost: openmanus.Dollar / 4}, run.Spending{Cost: openmanus.Dollar / 2}); err != nil {
		t.Fatal(err)
	}
	ask(openmanus.Dollar*3/4, false)
	ask(openmanus.Dollar/4, true) // and is never answered
	if err := p.Reserve(t.Context(), run.Spending{Cost: openmanus.Dollar / 2}); err == nil || !strings.Contains(err.Error(), "(Current: 0.7500, Needed: 0.5000, Max: 1.0000 USD)") {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	ask(1, true)
}

// TestBudgetAtOnce: however many ask at once, no more get something than there is.
func TestBudgetAtOnce(t *testing.T) {
	p := dayBudget{purse: filePurse{t.TempDir()}, all: 10, now: func() time.Time { return time.Unix(0, 0) }}
	var got atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if p.Reserve(t.Context(), run.Spending{Cost: 1}) == nil {
				got.Add(1)
			}
		})
	}
	all.Wait()
	if n := got.Load(); n < 1 || n > 10 {
		t.Errorf("%d requests may be made with 10 left", n)
	}
}

// Users have limits of their own, of money and of tokens, and what one limit refuses counts
// for none. A purse of many processes does the same as that of a directory.
func TestUsersBudgets(t *testing.T) {
	for name, purse := range map[string]journal.Purse{"a directory": filePurse{t.TempDir()}, "a store": purses{}} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
			p := dayBudget{purse: purse, all: 10 * openmanus.Dollar, now: func() time.Time { return now }, users: map[string]*config.User{
				"a/b": {DayCost: openmanus.Dollar}, "bob": {DayTokens: 1000}}}
			ask := func(owner string, cost openmanus.Money, tokens int, want string) {
				t.Helper()
				err := p.Reserve(t.Context(), run.Spending{Owner: owner, Cost: cost, Tokens: tokens})
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", owner, err, want)
				}
				if err != nil && errors.Is(err, run.ErrNoTokens) != strings.Contains(want, "tokens") {
					t.Errorf("%s: of tokens: %v", owner, err)
				}
			}
			ask("a/b", openmanus.Dollar/4, 5000, "")
			if err := p.Settle(t.Context(), run.Spending{Owner: "a/b", Cost: openmanus.Dollar / 4}, run.Spending{Owner: "a/b", Cost: openmanus.Dollar * 3 / 4}); err != nil {
				t.Fatal(err)
			}
			ask("a/b", openmanus.Dollar/2, 1, "which is of all sessions of a/b (Current: 0.7500, Needed: 0.5000, Max: 1.0000 USD): raise users.a/b.max_cost_per_day")
			ask("bob", openmanus.Dollar, 900, "")
			ask("bob", openmanus.Dollar, 200, "the tokens of the day, which is of all sessions of bob (Current: 900, Needed: 200, Max: 1000): raise users.bob.max_tokens_per_day")
			ask("bob", openmanus.Dollar, 100, "")
			ask("", openmanus.Dollar*7+openmanus.Dollar/4, 1, "") // what is left of 10: what was refused was given back
			ask("", openmanus.Dollar, 1, "which is of all sessions (Current: 10.0000")
			now = now.Add(time.Minute)
			ask("a/b", openmanus.Dollar, 1, "")
			ask("bob", 0, 1000, "")
		})
	}
}

// purses is a [journal.Purse] of one goroutine.
type purses map[string]int64

func (p purses) Spend(_ context.Context, name string, amount, most int64) (int64, bool, error) {
	if most >= 0 && p[name]+amount > most {
		return p[name], false, nil
	}
	p[name] += amount
	return p[name], true, nil
}
