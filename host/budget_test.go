package host

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// TestDayBudget: all sessions of a day spend from one purse, and the next day
// begins with a full one.
func TestDayBudget(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
	p := dayBudget{dir: t.TempDir(), limit: openmanus.Dollar, now: func() time.Time { return now }}
	ask := func(about openmanus.Money, may bool) {
		t.Helper()
		if err := p.Reserve(t.Context(), about); (err == nil) != may {
			t.Errorf("for %.2f: %v", about.USD(), err)
		}
	}
	ask(openmanus.Dollar/4, true)
	if err := p.Settle(t.Context(), openmanus.Dollar/4, openmanus.Dollar/2); err != nil {
		t.Fatal(err)
	}
	ask(openmanus.Dollar*3/4, false)
	ask(openmanus.Dollar/4, true) // and is never answered
	if err := p.Reserve(t.Context(), openmanus.Dollar/2); err == nil || !strings.Contains(err.Error(), "(Current: 0.7500, Needed: 0.5000, Max: 1.0000 USD)") {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	ask(1, true)
}

// TestBudgetAtOnce: however many ask at once, no more get something than there is.
func TestBudgetAtOnce(t *testing.T) {
	p := dayBudget{dir: t.TempDir(), limit: 10, now: func() time.Time { return time.Unix(0, 0) }}
	var got atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if p.Reserve(t.Context(), 1) == nil {
				got.Add(1)
			}
		})
	}
	all.Wait()
	if n := got.Load(); n < 1 || n > 10 {
		t.Errorf("%d requests may be made with 10 left", n)
	}
}

// A day's budget of many processes is that of one, in their store.
func TestSharedBudget(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
	p := sharedBudget{purse: purses{}, limit: openmanus.Dollar, now: func() time.Time { return now }}
	if err := p.Reserve(t.Context(), openmanus.Dollar/4); err != nil {
		t.Fatal(err)
	}
	if err := p.Settle(t.Context(), openmanus.Dollar/4, openmanus.Dollar*3/4); err != nil {
		t.Fatal(err)
	}
	if err := p.Reserve(t.Context(), openmanus.Dollar/2); err == nil || !strings.Contains(err.Error(), "(Current: 0.7500, Needed: 0.5000, Max: 1.0000 USD)") {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	if err := p.Reserve(t.Context(), openmanus.Dollar); err != nil {
		t.Error(err)
	}
}

// purses is a [journal.Purse] of one goroutine.
type purses map[string]openmanus.Money

func (p purses) Spend(_ context.Context, name string, amount, most openmanus.Money) (openmanus.Money, bool, error) {
	if most >= 0 && p[name]+amount > most {
		return p[name], false, nil
	}
	p[name] += amount
	return p[name], true, nil
}
