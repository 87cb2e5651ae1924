package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace"
)

// An app is the program put together: configuration, store, agents.
type app struct {
	t         *terminal
	globals   *globals
	cfg       *config.Config
	db        *store.DB
	local     *run.Local
	answer    string // the JSON Schema of the answer, for a session that begins
	onScreen  bool   // standard output and standard error are both terminals
	retrying  func(err error, wait time.Duration)
	switching func(err error, to string)
	staff     string   // whom the agent of a session that begins may give work to, with commas between
	limiters  sync.Map // of llm.Limiter, by endpoint and key

	wrongEndpoint atomic.Bool // see noting

	mcpServers []config.MCPServer // as configured
	mcpOnce    sync.Once
	mcp        *mcp.Client // once mcpOnce is done
	mcpErr     error
	mcpClose   []io.Closer

	teamMu sync.Mutex
	teams  map[string]*team // by workspace

	mu      sync.Mutex
	made    map[blueprint]made
	keepers map[string]map[string]bool // of made, by workspace: the sessions that are to be let go of one by one
	close   []io.Closer

	// chosen are the models that were chosen in this run, by name and
	// endpoint: these get their key wherever they are, since somebody is
	// there who said so.
	chosen map[[2]string]config.Model
}

// sources are where the configuration comes from. flags are by the names of
// the command line.
func (t *terminal) sources(g *globals, flags map[string]string) config.Sources {
	if g.DataDir != "" {
		flags["data-dir"] = g.DataDir
	}
	return config.Sources{File: g.Config, Dir: t.dir, Env: t.env, EnvNames: t.envNames, Flags: flags, Trusted: t.trusts, Providers: providers.All()}
}

// load reads the configuration.
func (t *terminal) load(g *globals, flags map[string]string) (*config.Config, error) {
	cfg, warnings, err := config.Load(t.sources(g, flags))
	if err != nil {
		return nil, usage(err)
	}
	cfg.Catalogue = known
	if _, err := t.newGate(cfg, gate.Options{}); err != nil {
		return nil, err
	}
	for _, w := range warnings {
		fmt.Fprintf(t.err, "openmanus: warning: %v\n", w)
	}
	return cfg, nil
}

// open puts the program together. The caller closes the app.
func (t *terminal) open(g *globals, flags map[string]string) (*app, error) {
	cfg, err := t.load(g, flags)
	if err != nil {
		return nil, err
	}
	servers, err := t.servers(cfg)
	if err != nil {
		return nil, err
	}
	hidden := cfg.Secrets()
	t.mcpSecrets(servers, hidden)
	secrets := journal.NewSecrets(hidden)
	t.out, t.err = secrets.Writer(t.out), secrets.Writer(t.err) // whatever is said from here on
	db, err := store.Open(cfg.DataDir, &store.Options{Secrets: secrets})
	if err != nil {
		return nil, usage(err)
	}
	a := &app{t: t, globals: g, cfg: cfg, db: db, mcpServers: servers, onScreen: isTerminal(t.out) && isTerminal(t.err), made: make(map[blueprint]made), keepers: make(map[string]map[string]bool), chosen: make(map[[2]string]config.Model)}
	host, _ := os.Hostname() // an empty name is a name
	a.local = &run.Local{Worker: run.Worker{Journal: db, Flow: a.flow, Files: a.filesOf, Note: a.noteOf, Secrets: secrets, Name: fmt.Sprintf("%s/%d", host, os.Getpid())}}
	if cfg.Run.DayCost > 0 {
		a.local.Budget = dayPurse{dir: cfg.DataDir, limit: cfg.Run.DayCost, now: time.Now}
	}
	return a, nil
}

// Close ends what agents keep running, and closes the store.
func (a *app) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, m := range a.made {
		errs = append(errs, m.Close())
	}
	for _, c := range append(a.close, a.mcpClose...) {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, a.db.Close())...)
}

// agentOptions are what every agent of a workspace is made with.
func agentOptions(cfg *config.Config, ws workspace.Workspace) agents.Options {
	o := agents.Options{Workspace: ws, Timeout: cfg.Sandbox.Timeout}
	if p := cfg.Python.Interpreter; p != "" {
		o.Python = []string{p}
	}
	return o
}

// agent makes the agent of b, or returns the one that was made.
func (a *app) agent(b blueprint) (*openmanus.Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m, ok := a.made[b]; ok {
		return m.agent, nil
	}
	kind, ok := a.team(b.Workspace).find(flowName(b.Agent))
	if !ok {
		return nil, a.team(b.Workspace).noAgent(flowName(b.Agent))
	}
	_, m, err := a.model(b.Model, b.Endpoint)
	if err != nil {
		return nil, err
	}
	helpers, err := a.delegates(b)
	if err != nil {
		return nil, err
	}
	ws, err := a.workspace(b.Workspace, b.Sandbox)
	if err != nil {
		return nil, usage(err)
	}
	o := agentOptions(a.cfg, ws)
	o.Answer, o.Delegates, o.Skills = json.RawMessage(b.Answer), helpers, a.team(b.Workspace).skills
	web, err := newWebTools(a.cfg, ws, m.Info.Vision != nil && *m.Info.Vision)
	if err != nil {
		return nil, usage(errors.Join(err, ws.Close()))
	}
	o.Web = web.tools
	agent, closer, err := kind.Make(o)
	if err != nil {
		return nil, usage(errors.Join(err, web.Close(), ws.Close()))
	}
	agent.Sandbox = cmp.Or(ws.Sandbox(), string(sandbox.None))
	if err := a.outfit(agent, b); err != nil {
		return nil, errors.Join(err, closer.Close(), web.Close(), ws.Close())
	}
	if !kind.Hidden && (kind.File == nil || len(kind.File.Tools) == 0) {
		if err := a.withMCP(agent); err != nil {
			return nil, errors.Join(err, closer.Close(), web.Close(), ws.Close())
		}
	}
	a.made[b] = made{agent, []io.Closer{closer, web, ws}}
	return agent, nil
}

// choose is the model that is set up for a run: its name, as sessions record
// it, and what it is.
func (a *app) choose(ctx context.Context) (string, config.Model, error) {
	m, err := a.cfg.Choose(func(base string) ([]string, error) { return served(ctx, base) })
	if own := a.ownModel(a.cfg.Run.Agent); own != "" && !a.cfg.Set("run.model") {
		m, err = a.cfg.Model(own)
	}
	if err != nil {
		return "", m, usage(err)
	}
	for _, n := range m.Notes {
		fmt.Fprintf(a.t.err, "openmanus: %s\n", n)
	}
	name := cmp.Or(m.Profile, m.String())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chosen[[2]string{name, m.BaseURL}] = m
	return name, m, nil
}

// ownModel is the profile with the name of an agent, if there is one: its
// model, where nobody names another.
func (a *app) ownModel(agent string) string {
	if slices.Contains(a.cfg.ProfileNames(), agent) {
		return agent
	}
	return ""
}

// served returns the names of the models that the server at base has, if it
// answers soon.
func served(ctx context.Context, base string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return doctor.Models(ctx, base, "")
}

// find returns the session that id, or a beginning of it, names.
func (a *app) find(ctx context.Context, id string) (string, error) {
	full, err := a.db.Find(ctx, id)
	if err != nil {
		return "", usage(err)
	}
	return full, nil
}

// style is how text looks on standard error.
func (a *app) style() style {
	none, _ := a.t.env("NO_COLOR")
	return style{on: isTerminal(a.t.err) && none == "" && !a.globals.NoColor}
}

// abs makes a path that was given on the command line absolute.
func (t *terminal) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.dir, path)
}
