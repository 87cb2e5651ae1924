package main

import (
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// TestDayPurse: all sessions of a day spend from one purse, and the next day
// begins with a full one.
func TestDayPurse(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
	p := dayPurse{dir: t.TempDir(), limit: openmanus.Dollar, now: func() time.Time { return now }}
	for i, want := range []bool{true, true, false} {
		if err := p.Empty(t.Context()); (err == nil) != want {
			t.Errorf("before request %d: %v", i, err)
		}
		if err := p.Spend(t.Context(), openmanus.Dollar/2); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Empty(t.Context()); err == nil || !strings.Contains(err.Error(), "1.5000 of 1.0000 USD") {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	if err := p.Empty(t.Context()); err != nil {
		t.Error(err)
	}
}

// A run that finds the purse empty stops by money, and asks no model.
func TestBudgetOfTheDay(t *testing.T) {
	d := newDesk(t, map[string]string{"OPENMANUS_RUN_MAX_COST_PER_DAY": "0.001"})
	d.write("hi.txt", "-- any --\nHello!\n@usage input=1000 output=1000\n")
	d.write("prices.toml", "[models.scripted]\nprice_in = 1\nprice_out = 1\n")
	if out := d.must("--config", "prices.toml", "run", "--model", "scripted:hi.txt", "hi"); !strings.Contains(out, "Hello!") {
		t.Error(out)
	}
	out, stderr, code := d.run("--config", "prices.toml", "run", "--model", "scripted:hi.txt", "hi")
	if code != exitLimit || out != "" || !strings.Contains(stderr, "reached the budget of the day") {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
}
