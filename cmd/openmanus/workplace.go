package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/openmanus-go/openmanus/host"
)

// workplace returns the flags of a command that begins a session. Where no session may work
// in the workspace that they name, such as the home directory, it offers a new directory
// before anything is asked of the user; where nobody can answer, or wants it, the refusal is
// the error.
func (t *terminal) workplace(ctx context.Context, g *globals, flags map[string]string) (map[string]string, error) {
	e := t.host()
	e.Warn = nil // opening says it
	cfg, err := e.Load(t.sources(g, flags))
	if err != nil {
		return flags, err
	}
	other, why := e.Elsewhere(cfg, time.Now())
	switch {
	case why == nil:
		return flags, nil
	case other == "":
		return nil, why
	case e.Ask == nil:
		return nil, fmt.Errorf("%w; a new directory would do: --workspace %s, once it is made", why, other)
	}
	line, err := e.Ask(ctx, fmt.Sprintf("%v.\nWork in the new directory %s? [Y/n] ", why, other))
	if err != nil {
		return nil, err
	}
	if line != "" && !host.IsYes(line) {
		return nil, why
	}
	if err := os.MkdirAll(other, 0o755); err != nil {
		return nil, err
	}
	flags["workspace"] = other
	return flags, nil
}
