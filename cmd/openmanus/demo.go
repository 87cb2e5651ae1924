package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openmanus-go/openmanus/host"
)

//go:embed demo/script.txtar
var demoScript []byte

//go:embed demo/sales.csv
var demoData []byte

const demoTask = "Read sales.csv, find the three best months, and write report.md with a table."

// demoCmd is openmanus demo.
type demoCmd struct {
	Keep bool `help:"Keep the workspace."`
	shown
}

// Run implements the command. The demo has a workspace and a store of its own, which it
// removes afterwards, and needs neither a key nor a network.
func (c *demoCmd) Run(ctx context.Context, t *terminal, g *globals) (err error) {
	fmt.Fprintln(t.err, "This is a demo: a script is speaking, not a model. The tools are real.")
	dir, err := os.MkdirTemp("", "openmanus-demo-")
	if err != nil {
		return err
	}
	if c.Keep {
		defer fmt.Fprintf(t.err, "The workspace: %s\n", filepath.Join(dir, "workspace"))
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	ws, script := filepath.Join(dir, "workspace"), filepath.Join(dir, "script.txtar")
	err = errors.Join(os.Mkdir(ws, 0o755),
		os.WriteFile(filepath.Join(ws, "sales.csv"), demoData, 0o644),
		os.WriteFile(script, demoScript, 0o644))
	if err != nil {
		return err
	}
	a, err := t.open(&globals{DataDir: filepath.Join(dir, "data"), NoColor: g.NoColor}, runFlags{
		Agent: "manus", Model: "scripted:" + script, Workspace: ws, Approve: "all", // its calls are those of the script
	}.flags())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	fmt.Fprintf(t.err, "The task: %s\n\n", demoTask)
	m, err := host.Message(t.dir, demoTask, nil)
	if err != nil {
		return err
	}
	spec, err := a.NewSpec(ctx, nil)
	if err != nil {
		return err
	}
	d, err := a.openSession(ctx, spec, &m, c.shown)
	if err != nil {
		return err
	}
	defer d.Close()
	d.passing = true
	return d.run(ctx)
}
