package main

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace"
)

// An app is the program put together: configuration, store, agents.
type app struct {
	t        *terminal
	cfg      *config.Config
	db       *store.DB
	local    *openmanus.Local
	onScreen bool // standard output and standard error are both terminals
	plain    bool // --no-color
	retrying func(err error, wait time.Duration)

	mu    sync.Mutex
	made  map[blueprint]*openmanus.Agent
	close []io.Closer
}

// load reads the configuration. flags are by the names of the command line.
func (t *terminal) load(g *globals, flags map[string]string) (*config.Config, error) {
	if g.DataDir != "" {
		flags["data-dir"] = g.DataDir
	}
	cfg, warnings, err := config.Load(config.Sources{File: g.Config, Dir: t.dir, Env: t.env, EnvNames: t.envNames, Flags: flags})
	if err != nil {
		return nil, usage(err)
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
	db, err := store.Open(cfg.DataDir, &store.Options{Secrets: openmanus.NewSecrets(cfg.Secrets())})
	if err != nil {
		return nil, usage(err)
	}
	a := &app{t: t, cfg: cfg, db: db, plain: g.NoColor, onScreen: isTerminal(t.out) && isTerminal(t.err), made: make(map[blueprint]*openmanus.Agent)}
	host, _ := os.Hostname() // an empty name is a name
	a.local = &openmanus.Local{Worker: openmanus.Worker{Journal: db, Flow: a.flow, Name: fmt.Sprintf("%s/%d", host, os.Getpid())}}
	return a, nil
}

// Close ends what agents keep running, and closes the store.
func (a *app) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, c := range a.close {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, a.db.Close())...)
}

// A blueprint is what an agent is made from: what a session's journal says of
// it.
type blueprint struct {
	Agent, Model, Endpoint, Workspace, Approve string
}

func blueprintOf(s *openmanus.State) blueprint {
	c := s.Config
	return blueprint{s.Opened.Flow, c.Model, c.Endpoint, c.Workspace, c.Approve}
}

// flow is the agent of a session that exists: as its journal says, whatever is
// configured today.
func (a *app) flow(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
	return a.agent(blueprintOf(s))
}

// agent makes the agent of b, or returns the one that was made.
func (a *app) agent(b blueprint) (*openmanus.Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if made := a.made[b]; made != nil {
		return made, nil
	}
	kind, ok := agents.Find(b.Agent)
	if !ok {
		return nil, usage(fmt.Errorf("there is no agent %q; openmanus agents lists them", b.Agent))
	}
	model, m, err := a.model(b.Model, b.Endpoint)
	if err != nil {
		return nil, err
	}
	ws, err := workspace.NewDir(b.Workspace)
	if err != nil {
		return nil, usage(err)
	}
	o := agents.Options{Workspace: ws}
	if p := a.cfg.Python.Interpreter; p != "" {
		o.Python = []string{p}
	}
	agent, closer := kind.Make(o)
	agent.Model, agent.ModelName, agent.Endpoint = model, b.Model, b.Endpoint
	agent.Prices, agent.Settings = m.Prices(), m.Settings()
	agent.Limits, agent.Gate, agent.Approve = a.cfg.Limits(m), openmanus.Mode(b.Approve), b.Approve
	a.made[b] = agent
	a.close = append(a.close, closer, ws)
	return agent, nil
}

// model makes the model with the given name, PROVIDER/NAME, at an endpoint.
func (a *app) model(name, endpoint string) (llm.Model, config.Model, error) {
	cfg := *a.cfg
	cfg.Run.BaseURL = endpoint
	m, err := cfg.Model(name)
	if err != nil {
		return nil, m, usage(err)
	}
	if m.Provider == "scripted" {
		script, err := scripted.Open(m.Name)
		if err != nil {
			return nil, m, usage(err)
		}
		return script.Model(), m, nil
	}
	model := openai.New(openai.Options{Model: m.Name, BaseURL: m.BaseURL, Key: m.Key})
	return llm.Retry(model, llm.RetryOptions{OnRetry: func(err error, wait time.Duration, _ int) {
		if a.retrying != nil {
			a.retrying(err, wait)
		}
	}}), m, nil
}

// newID returns an id that no other session or message has.
func newID() string {
	var b [5]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// newSession returns an id for a session, which sorts by time.
func newSession() string {
	return time.Now().Format("20060102-1504-") + newID()[:5]
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
	return style{on: isTerminal(a.t.err) && none == "" && !a.plain}
}

// abs makes a path that was given on the command line absolute.
func (t *terminal) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.dir, path)
}
