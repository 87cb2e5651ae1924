package main

import (
	"strings"
	"testing"
)

// A run whose request would pass the budget of the day stops by money, and asks no model.
func TestBudgetOfTheDay(t *testing.T) {
	d := newDesk(t, map[string]string{"OPENMANUS_RUN_MAX_COST_PER_DAY": "0.02"})
	d.write("hi.txt", "-- any --\nHello!\n@usage input=15000 output=1000\n")
	d.write("prices.toml", "[models.scripted]\nprice_in = 1\nprice_out = 1\n")
	if out := d.must("--config", "prices.toml", "run", "--model", "scripted:hi.txt", "hi"); !strings.Contains(out, "Hello!") {
		t.Error(out)
	}
	out, stderr, code := d.run("--config", "prices.toml", "run", "--model", "scripted:hi.txt", "hi")
	if code != exitLimit || out != "" || !strings.Contains(stderr, "would pass the budget of the day, which is of all sessions (Current: 0.0160, Needed: ") {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
}
