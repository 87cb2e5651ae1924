package run

import (
	"errors"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Arguments are checked once, unless they or the configuration have changed since,
// and until they pass.
func TestArgumentsAreCheckedOnce(t *testing.T) {
	var m checkedInputs
	checks := 0
	check := func(config int, c *openmanus.CallState) string {
		t.Helper()
		fit, err := m.once(config, c.ID, c.Arguments(), func() (string, error) {
			if checks++; c.Arguments() == "bad" {
				return "", errors.New("they do not fit")
			}
			return c.Arguments() + " repaired", nil
		})
		if (err != nil) != (c.Arguments() == "bad") {
			t.Fatalf("%q: %v", c.Arguments(), err)
		}
		return fit
	}
	call := func(id, input string) *openmanus.CallState {
		return &openmanus.CallState{Call: llm.Call{ID: id, Input: input}}
	}
	byPerson := call("a", "x")
	byPerson.Ruled = &openmanus.Ruled{Input: "y"}
	repaired := call("a", "x")
	repaired.Ruled = &openmanus.Ruled{Input: "x repaired"}
	for i, step := range []struct {
		config int
		c      *openmanus.CallState
		fit    string
		checks int // so far
	}{
		{0, call("a", "x"), "x repaired", 1},
		{0, call("a", "x"), "x repaired", 1},
		{0, repaired, "x repaired", 1},
		{0, call("b", "x"), "x repaired", 2},
		{1, call("a", "x"), "x repaired", 3},
		{1, byPerson, "y repaired", 4},
		{1, call("c", "bad"), "", 5},
		{1, call("c", "bad"), "", 6},
	} {
		if fit := check(step.config, step.c); fit != step.fit || checks != step.checks {
			t.Errorf("step %d: %q after %d checks; want %q after %d", i, fit, checks, step.fit, step.checks)
		}
	}
	for i := range 3 * maxChecked {
		check(1, call(string(rune('A'+i)), "x"))
	}
	if len(m.calls) > maxChecked {
		t.Errorf("%d calls are remembered", len(m.calls))
	}
}
