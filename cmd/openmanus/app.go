package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
)

// An app is a host with the store behind it and the terminal before it.
type app struct {
	*host.Host
	t        *terminal
	globals  *globals
	db       sessionStore
	onScreen bool // standard output and standard error are both terminals
	worktree bool // new sessions get a git worktree of their own

	status func(line string) // shows what runs, see [linemode.Options]; or nil
}

// acts returns the sessions, for the person to act in.
func (a *app) acts() act.Sessions { return act.Sessions{Journal: a.db, Memory: a.Host} }

// host returns what a host has of the terminal. Nothing is asked, and no link
// shown, unless a user is there to answer.
func (t *terminal) host() host.Env {
	e := host.Env{
		Lookup: t.env, Dir: t.dir, Version: thisBuild().Version,
		Warn: func(text string) { fmt.Fprintf(t.err, "openmanus: %s\n", clip.Plain(text)) },
	}
	if t.asks != nil || isTerminal(t.err) && isTerminal(t.in) {
		e.Ask = func(ctx context.Context, question string) (string, error) { return t.ask(ctx, clip.Visible(question)) }
		e.ShowLink = t.showLink
	}
	return e
}

// showLink shows the user where to sign in to an MCP server.
func (t *terminal) showLink(server, link string) {
	fmt.Fprintf(t.err, "openmanus: mcp: %s wants you to sign in. Open this page:\n  %s\n", clip.Plain(server), clip.Plain(link))
}

// sources returns where the configuration comes from. flags are by the names
// of the command line; nil is none.
func (t *terminal) sources(g *globals, flags map[string]string) config.Sources {
	all := map[string]string{}
	maps.Copy(all, flags)
	if g.DataDir != "" {
		all["data-dir"] = g.DataDir
	}
	return t.host().Sources(config.Sources{File: g.Config, EnvNames: t.envNames, Flags: all})
}

// load reads the configuration.
func (t *terminal) load(g *globals, flags map[string]string) (*config.Config, error) {
	return t.host().Load(t.sources(g, flags))
}

// open puts the program together. The caller closes the app. From here on,
// whatever the terminal prints has its secrets replaced.
func (t *terminal) open(g *globals, flags map[string]string) (*app, error) {
	return t.openWith(g, flags, "", func(*host.Options, sessionStore) error { return nil })
}

// openWith is open for a process that others call name. change is called before the host is
// made of the options.
func (t *terminal) openWith(
	g *globals, flags map[string]string, name string, change func(o *host.Options, db sessionStore) error,
) (*app, error) {
	cfg, err := t.load(g, flags)
	if err != nil {
		return nil, err
	}
	if m, err := cfg.Model(""); flags["base-url"] != "" && err == nil && m.Provider.Script {
		return nil, usage(fmt.Errorf("--base-url: %s is a script, which has no endpoint", m))
	}
	servers, err := t.host().Servers(cfg)
	if err != nil {
		return nil, err
	}
	secrets := t.host().Secrets(cfg, servers)
	t.out, t.err = secrets.Writer(t.out), secrets.Writer(t.err)
	db, err := openSessions(cfg, secrets, name)
	if err != nil {
		return nil, usage(err)
	}
	o := host.Options{Env: t.host(), Config: cfg, Store: db, Secrets: secrets, Servers: servers}
	if err := change(&o, db); err != nil {
		return nil, errors.Join(usage(err), db.Close())
	}
	h, err := host.New(o)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &app{Host: h, t: t, globals: g, db: db, onScreen: isTerminal(t.out) && isTerminal(t.err)}, nil
}

// Close ends what agents keep running, and closes the store.
func (a *app) Close() error {
	return errors.Join(a.Host.Close(), a.db.Close())
}

// find returns the id of the session that id, or the beginning of one, names.
func (a *app) find(ctx context.Context, id string) (string, error) {
	full, err := a.db.Find(ctx, id)
	if err != nil {
		return "", usage(err)
	}
	return full, nil
}

// style returns how text looks on standard error.
func (a *app) style() termtext.Style {
	return a.t.styleOf(a.t.err, a.globals)
}

// abs makes a path that was given on the command line absolute.
func (t *terminal) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.dir, path)
}
