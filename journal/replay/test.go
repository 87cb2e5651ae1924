package replay

import (
	"context"
	"fmt"
	"os"

	"github.com/openmanus-go/openmanus"
)

// A TB is what [Test] needs of a [testing.T].
type TB interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}

// Test replays the recording in a file, and fails the test with the first event that
// is another one today. The flows are those of the program, found by the names of
// their agents; without any, agents decide as the file says. Instructions, tools and
// settings of a flow's agent must be those that were recorded. Neither its model nor
// its tools are used, so both may be missing keys, or a network.
func Test(t TB, file string, flows ...openmanus.Flow) *Result {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := Read(t.Context(), f)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", file, err))
		return nil
	}
	find := func(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
		for _, f := range flows {
			if f.Agent().Name == s.Opened.Flow {
				return f, nil
			}
		}
		if len(flows) > 0 {
			return nil, fmt.Errorf("there is no flow %q", s.Opened.Flow)
		}
		return nil, nil
	}
	o := Options{Flow: find}
	if len(flows) > 0 {
		o.Today = func(ctx context.Context, s *openmanus.State) (*openmanus.Agent, error) {
			f, err := find(ctx, s)
			if err != nil {
				return nil, err
			}
			return f.Agent(), nil
		}
	}
	r, err := Run(t.Context(), rec, o)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", file, err))
	}
	return r
}
