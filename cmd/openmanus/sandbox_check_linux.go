package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/attempts"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// Run implements the command. It fails if an attempt got out or could not be
// made, or if this machine has no sandbox to try.
func (c *sandboxCheckCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	dialer, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{"allowed.example:*"}})
	if err != nil {
		return err
	}
	cfg, err := t.load(g, nil)
	if err != nil {
		return err
	}
	o := sandbox.Options{Proxy: (&egress.Proxy{Dialer: dialer}).Serve, Image: cfg.Sandbox.Image,
		Toolchains: []string{sandbox.AutoToolchains}}
	o.Engine, _ = t.env("DOCKER_HOST")
	// Each attempt makes a sandbox, which links every package that npm has kept: with
	// thousands that takes longer than the attempt, and no attempt is about them.
	none, err := os.MkdirTemp("", "openmanus-npm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(none)
	if err := errors.Join(os.Mkdir(filepath.Join(none, "_cacache"), 0o700), os.Setenv("NPM_CONFIG_CACHE", none)); err != nil {
		return err
	}
	all := attempts.All()
	tb := &table{head: []string{"SANDBOX", "CLASS", "ATTEMPT", "OUTCOME", "MS"}}
	var rows []checkRow
	var summary []string
	bad, available := 0, 0
	for _, kind := range c.kinds() {
		o.Kind = kind
		if err := attempts.Available(ctx, o); err != nil {
			summary = append(summary, fmt.Sprintf("%s: not available on this machine: %v", kind, err))
			continue
		}
		available++
		held := 0
		for _, r := range attempts.Run(ctx, o, all) {
			row := checkRow{string(kind), r.Class, r.Name, r.Tries, outcome(r), r.Took.Milliseconds()}
			rows = append(rows, row)
			tb.add(row.Sandbox, row.Class, row.Attempt, termtext.OneLine(row.Outcome, 200), fmt.Sprint(row.MS))
			if r.Held() {
				held++
			}
		}
		bad += len(all) - held
		summary = append(summary, fmt.Sprintf("%s: %d of %d attempts were held", kind, held, len(all)))
	}
	if err := c.print(t, g, rows, tb, ""); err != nil {
		return err
	}
	fmt.Fprintln(t.err, strings.Join(summary, "\n"))
	switch {
	case ctx.Err() != nil:
		return exit{code: exitInterrupted}
	case available == 0:
		return exit{code: exitFailed, err: errors.New("there is no sandbox on this machine")}
	case bad > 0:
		return exit{code: exitFailed, err: fmt.Errorf("%d attempts got out or could not be made", bad)}
	}
	return nil
}

// A checkRow is one attempt, as the command prints it.
type checkRow struct {
	Sandbox string `json:"sandbox"`
	Class   string `json:"class"`
	Attempt string `json:"attempt"`
	Tries   string `json:"tries"`
	Outcome string `json:"outcome"`
	MS      int64  `json:"ms"`
}

// kinds returns the sandboxes to try.
func (c *sandboxCheckCmd) kinds() []sandbox.Kind {
	if c.Sandbox != "" {
		return []sandbox.Kind{sandbox.Kind(c.Sandbox)}
	}
	return []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock}
}

// outcome returns what the table says about a result.
func outcome(r attempts.Result) string {
	switch {
	case r.Breach != nil:
		return "GOT OUT: " + r.Breach.Error()
	case r.Fault != nil:
		return "NOT TRIED: " + r.Fault.Error()
	}
	return "held"
}
