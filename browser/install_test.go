package browser

import (
	"context"
	"errors"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// TestInstall: a call that finds no browser asks whether one may be installed, and looks
// again after a yes. It does not explain other faults.
func TestInstall(t *testing.T) {
	ask, later := &openmanus.Ask{Question: "install it?"}, errors.New("it does not start")
	for _, c := range []struct {
		name           string
		starts         []error // what each start says
		install, want  error
		asked, started int
	}{
		{"it asks", []error{ErrNoBrowser}, ask, ask, 1, 1},
		{"it was installed", []error{ErrNoBrowser, later}, nil, later, 1, 2},
		{"it was not", []error{ErrNoBrowser, ErrNoBrowser}, nil, ErrNoBrowser, 1, 2},
		{"another reason", []error{later}, ask, later, 0, 1},
	} {
		asked, started := 0, 0
		tool := NewTool(Config{
			Start: func(context.Context) (*Browser, error) { started++; return nil, c.starts[started-1] },
			Install: func(_ context.Context, call openmanus.Call) error {
				if asked++; call.Session != "s" {
					t.Error("it is not the call")
				}
				return c.install
			},
		})
		_, err := tool.Run(t.Context(), openmanus.Call{Session: "s", Call: llm.Call{Input: `{"action":"go_to_url","url":"https://example.org"}`}})
		if !errors.Is(err, c.want) || asked != c.asked || started != c.started {
			t.Errorf("%s: %v, asked %d, started %d", c.name, err, asked, started)
		}
		if err := tool.Close(); err != nil {
			t.Error(err)
		}
	}
}
