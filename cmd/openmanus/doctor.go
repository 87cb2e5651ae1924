package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/store"
)

// doctorCmd is openmanus doctor.
type doctorCmd struct {
	listing
	Offline bool `help:"Ask no endpoint."`
}

// Run implements the command. It fails if something essential is missing.
func (c *doctorCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	m := doctor.This(t.env)
	m.Terminal = doctor.Terminal{In: isTerminal(t.in), Out: isTerminal(t.out), Err: isTerminal(t.err)}
	m.Store = func(dir string) error {
		db, err := store.Open(dir, nil)
		if err != nil {
			return err
		}
		return db.Close()
	}
	if c.Offline {
		m.Models = nil
	}
	setup := doctor.Setup{Dir: t.dir}
	setup.Config, setup.Warnings, setup.Err = config.Load(t.sources(g, map[string]string{}))
	found := doctor.Check(ctx, m, setup)
	if c.JSON {
		if err := t.printJSON(found); err != nil {
			return err
		}
	} else if err := t.printFindings(g, found); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.State == doctor.Missing }) {
		return exit{code: exitFailed, err: errors.New("something that every task needs is missing")}
	}
	return nil
}

// printFindings prints each finding on a line, and its remedy below.
func (t *terminal) printFindings(g *globals, found []doctor.Finding) error {
	s := t.style(g)
	width := 0
	for _, f := range found {
		width = max(width, columns(f.Name))
	}
	var b strings.Builder
	for _, f := range found {
		mark := s.mark("ok     ")
		switch f.State {
		case doctor.Warn:
			mark = s.bold("warn   ")
		case doctor.Missing:
			mark = s.red("missing")
		}
		below := "\n" + strings.Repeat(" ", len("missing")+2+width+2)
		fmt.Fprintf(&b, "%s  %-*s  %s\n", mark, width, f.Name, strings.ReplaceAll(plain(f.Detail), "\n", below))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%s%s\n", below[1:], s.dim("→ "+strings.ReplaceAll(plain(f.Remedy), "\n", below+"  ")))
		}
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}
