package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace"
)

// doctorCmd is openmanus doctor.
type doctorCmd struct {
	listing
	clusterFlags
	Offline bool `help:"Ask no endpoint."`
	Cluster bool `help:"Check what several machines share: the database, the bucket, Temporal, the workers. Looks at nothing else."`
}

// Run implements the command. It fails if something essential is missing. It works with a
// configuration that is broken, and then says what is wrong with it.
func (c *doctorCmd) Run(ctx context.Context, t *terminal, g *globals) (err error) {
	flags := flagsOf(c.clusterFlags)
	if c.Cluster {
		return c.checkCluster(ctx, t, g, flags)
	}
	workspaces := []string{t.dir}
	if cfg, _, err := config.Load(t.sources(g, flags)); err == nil {
		workspaces = append(workspaces, cfg.Run.Workspace, cfg.Serve.Root)
	}
	m := doctor.This(t.env, workspaces...)
	m.Terminal = doctor.Terminal{In: isTerminal(t.in), Out: isTerminal(t.out), Err: isTerminal(t.err)}
	m.Store = func(dir string) error {
		db, err := store.Open(dir, nil)
		if err != nil {
			return err
		}
		return db.Close()
	}
	m.Uses = func(ctx context.Context, dir string) string { return t.storage(ctx, g, dir) }
	if c.Offline {
		m.Models = nil
	}
	setup := doctor.Setup{Dir: t.dir}
	setup.Config, setup.Warnings, setup.Err = config.Load(t.sources(g, flags))
	if setup.Err == nil && setup.Config.Store.Shared() {
		m.Uses = func(context.Context, string) string { return "sessions are in PostgreSQL: [store] url" }
		m.Store = func(string) error {
			db, err := openSessions(setup.Config, nil, "")
			if err != nil {
				return err
			}
			return db.Close()
		}
	}
	if setup.Err == nil {
		dir, e := os.MkdirTemp("", "openmanus-doctor-")
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if ws := t.doctorWorkspace(ctx, setup.Config, dir); ws != nil {
			m.Inside = inside(ws)
			defer func() { err = errors.Join(err, ws.Close()) }()
		}
	}
	return c.report(t, g, doctor.Check(ctx, m, setup))
}

// report prints findings. It fails if something essential is missing.
func (c *doctorCmd) report(t *terminal, g *globals, found []doctor.Finding) error {
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

// storage says what takes how much of the data directory, or "".
func (t *terminal) storage(ctx context.Context, g *globals, dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "journal.db")); err != nil {
		return "" // opening would make one
	}
	cfg, err := t.load(g, map[string]string{})
	if err != nil {
		return ""
	}
	db, err := store.Open(dir, nil)
	if err != nil {
		return ""
	}
	defer db.Close()
	h := &host.Host{Options: host.Options{Config: cfg, Store: db}} // it starts nothing
	s, err := h.Storage(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("events %s, contents %s, snapshots of workspaces %s of at most %s: openmanus sessions prune",
		sizeText(s.Database), sizeText(s.Blobs), sizeText(s.Snapshots), sizeText(s.MaxSize))
}

// doctorWorkspace opens the current directory as a session does, or where no session
// may work there the directory other. It returns nil if there is no sandbox: the check
// of bubblewrap says why.
func (t *terminal) doctorWorkspace(ctx context.Context, cfg *config.Config, other string) *workspace.Dir {
	e := t.host()
	e.Warn = nil // the findings say it
	for _, dir := range []string{t.dir, other} {
		ws, err := e.Workspace(ctx, cfg, dir, cfg.Sandbox.Kind)
		if err == nil && ws.Sandbox() != "" {
			return ws
		}
		if err == nil {
			_ = ws.Close() // nothing ran in it
			return nil
		}
	}
	return nil
}

// inside asks in ws.
func inside(ws *workspace.Dir) *doctor.Inside {
	run := func(ctx context.Context, args ...string) (string, error) {
		var out, said strings.Builder
		err := ws.Run(ctx, &workspace.Cmd{Args: args, Stdout: &out, Stderr: &said})
		if err != nil {
			err = doctor.Failed(err, said.String())
		}
		return strings.TrimSpace(out.String()), err
	}
	return &doctor.Inside{
		LookPath: func(name string) (string, error) {
			return run(context.Background(), "sh", "-c", `command -v -- "$1"`, "sh", name)
		},
		Run: func(ctx context.Context, name string, args ...string) (string, error) {
			return run(ctx, append([]string{name}, args...)...)
		},
	}
}

// printFindings prints each finding on a line, and its remedy below.
func (t *terminal) printFindings(g *globals, found []doctor.Finding) error {
	s := t.style(g)
	width := 0
	for _, f := range found {
		width = max(width, clip.Width(f.Name))
	}
	var b strings.Builder
	for _, f := range found {
		mark := s.Mark("ok     ")
		switch f.State {
		case doctor.Warn:
			mark = s.Bold("warn   ")
		case doctor.Missing:
			mark = s.Red("missing")
		}
		below := "\n" + strings.Repeat(" ", len("missing")+2+width+2)
		fmt.Fprintf(&b, "%s  %-*s  %s\n", mark, width, f.Name, strings.ReplaceAll(clip.Plain(f.Detail), "\n", below))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%s%s\n", below[1:], s.Dim("→ "+strings.ReplaceAll(clip.Plain(f.Remedy), "\n", below+"  ")))
		}
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}
