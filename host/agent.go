package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/tokens"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

// An agentInstance is an agent with what it keeps running: shells, browsers, the
// proxy of its browser, its workspace. It is shared by all sessions whose specs
// differ in nothing but limits, so its tools tell sessions apart by their ids.
type agentInstance struct {
	agent   *openmanus.Agent
	browser *browser.Tool // or nil
	close   []io.Closer   // in this order: tools before the workspace they work in
}

// Close ends everything that the agent keeps running, even if a part of it fails, and
// returns the errors, joined.
func (m agentInstance) Close() error {
	var errs []error
	for _, c := range m.close {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// closing is how many agents are closed at once: each waits for its processes and removes
// the files of its sandbox.
const closing = 16

// closeAgents closes agents.
func closeAgents(all []agentInstance) []error {
	errs, slots := make([]error, len(all)), make(chan struct{}, closing)
	var done sync.WaitGroup
	for i, m := range all {
		slots <- struct{}{}
		done.Go(func() {
			errs[i] = m.Close()
			<-slots
		})
	}
	done.Wait()
	return errs
}

// closeSessions ends what the agent keeps running for the sessions.
func (m agentInstance) closeSessions(ids []string) error {
	var errs []error
	for _, t := range m.agent.Tools {
		if t, ok := t.(openmanus.SessionCloser); ok {
			for _, id := range ids {
				errs = append(errs, t.CloseSession(id))
			}
		}
	}
	return errors.Join(errs...)
}

// flow is the [run.Worker].Flow: it makes the flow of a session from its spec.
func (h *Host) flow(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
	return h.Flow(SpecOf(s))
}

// Flow returns what decides in sessions with the spec. It is the only function
// that makes agents; sessions whose specs differ in their limits alone share
// what it makes. The result lives until Close, or until the sessions that
// [Host.Hold] was called for are released.
//
// The error is an [*act.Error] that names the agent, model, sandbox or flow if
// there is no such one, or the workspace if it is refused.
func (h *Host) Flow(spec openmanus.Spec) (openmanus.Flow, error) {
	if err := checkKind(spec); err != nil {
		return nil, err
	}
	if spec.Workspace != "" {
		if err := h.checkOwnUser(h.Config, spec.Workspace); err != nil {
			return nil, err
		}
	}
	if spec.Flow != nil {
		return h.sharedFlow(spec)
	}
	shared, err := h.sharedAgent(spec)
	if err != nil {
		return nil, err
	}
	agent := *shared
	agent.Name, agent.Spec = spec.Name(), spec
	agent.Gate = openmanus.GateIn(agent.Gate, openmanus.Mode(spec.Approve))
	if kind, ok := h.Team(spec.Workspace).Find(spec.Agent); ok && kind.Wrap != nil {
		return kind.Wrap(&agent), nil
	}
	return &agent, nil
}

// sharedAgent returns the agent of spec, but for its limits and its mode, and makes it
// if it is not there. A session that only looks has an agent of its own, because it has
// other tools or other walls around them. Two sessions that need the same agent at the same time wait for
// one of them to make it: an agent is never made twice.
func (h *Host) sharedAgent(spec openmanus.Spec) (*openmanus.Agent, error) {
	spec.Limits = openmanus.Limits{}
	if !openmanus.Mode(spec.Approve).LooksOnly() {
		spec.Approve = openmanus.ApproveAsk
	}
	key := string(encode(spec))
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, ok := h.agents[key]; ok {
		return m.agent, nil
	}
	m, err := h.makeAgent(spec)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	h.agents[key] = m
	return m.agent, nil
}

// makeAgent makes the agent of spec. If it fails, the caller closes what was
// made until then. h.mu is held.
//
// The order matters: the model is looked up before the sandbox is opened, since a
// mistake in the configuration is found at once, and a container takes seconds.
func (h *Host) makeAgent(spec openmanus.Spec) (m agentInstance, err error) {
	tm := h.Team(spec.Workspace)
	kind, ok := tm.Find(spec.Agent)
	if !ok {
		return m, tm.NoAgent(spec.Agent)
	}
	_, model, err := h.model(spec.Model, spec.Endpoint)
	if err != nil {
		return m, err
	}
	ws, err := h.workspaceOf(context.Background(), h.Config, spec)
	if err != nil {
		return m, err
	}
	m.close = []io.Closer{ws}
	h.hooksIn(spec.Workspace) // which may ask the user
	o, n := agentOptions(h.Config, ws), h.needsOf(spec, ws.Sandbox())
	n.add(&o)
	if h.Buffers != nil {
		o.Workspace = workspace.WithBuffers(ws, h.Buffers)
	}
	o.Answer, o.Skills = spec.Answer, tm.Skills
	if o.Delegates, err = delegates(tm, spec.Delegates); err != nil {
		return m, err
	}
	judge, err := h.Gate(h.Config, gate.Options{})
	if err != nil {
		return m, err
	}
	web, err := newWebTools(h.Config, ws, judge.CheckHost, model.Info.Vision != nil && *model.Info.Vision, n.browser)
	if err != nil {
		return m, mistake(err)
	}
	web.running = &h.browsers
	web.tool.OnChange(h.screens.change)
	m.browser, m.close = web.tool, append([]io.Closer{web}, m.close...)
	o.Web = web.tools
	agent, closer, err := kind.Make(o)
	if err != nil {
		return m, mistake(err)
	}
	m.agent, m.close = agent, append([]io.Closer{closer}, m.close...)
	if f := kind.File; f != nil && f.From == "workspace" {
		src := openmanus.FileSource(f.Path)
		src.Words = []string{f.Text}
		agent.Sources = append(agent.Sources, src)
	}
	agent.Sandbox = cmp.Or(ws.Sandbox(), string(sandbox.None))
	if err := h.configure(agent, spec); err != nil {
		return m, err
	}
	if err := addClient(agent, spec.Client); err != nil {
		return m, err
	}
	// An agent whose file lists its tools has these and no others, and those that
	// only check the work of others have no use for more.
	if !kind.Hidden && kind.Wrap == nil && (kind.File == nil || len(kind.File.Tools) == 0) {
		return m, h.addServerTools(agent, kind.Rare)
	}
	return m, nil
}

// agentOptions are what every agent of a workspace is made with, whatever its
// spec says besides.
func agentOptions(cfg *config.Config, ws workspace.Workspace) agents.Options {
	o := agents.Options{Workspace: ws, Timeout: cfg.Sandbox.Timeout}
	if p := cfg.Python.Interpreter; p != "" {
		o.Python = []string{p}
	}
	return o
}

// delegates returns the agents with these names, as an agent that gives them
// work reads of them.
func delegates(tm *Team, names []string) ([]tools.Assistant, error) {
	if len(names) == 0 {
		return nil, nil
	}
	as, err := agents.Assistants(tm.Kinds, names)
	if err != nil {
		return nil, mistake(errors.New(err.Error() + " to give work to; openmanus agents lists them"))
	}
	for _, a := range as {
		if k, _ := tm.Find(a.Name); k.Refused != nil {
			return nil, mistake(k.Refused)
		}
	}
	return as, nil
}

// configure gives an agent its spec and what follows from it: model, gate, prices
// and window. agent.Sandbox is set before, because the gate depends on it: what
// is harmless in a sandbox is asked about outside of one.
func (h *Host) configure(agent *openmanus.Agent, spec openmanus.Spec) error {
	model, m, err := h.model(spec.Model, spec.Endpoint)
	if err != nil {
		return err
	}
	agent.Spec, agent.Model = spec, model
	agent.Prices, agent.Settings, agent.Window = m.Prices(), m.Settings, h.Config.Window(m)
	if err := h.addHelpers(agent, m); err != nil {
		return err
	}
	agent.Gate, err = h.gateOf(agent)
	return err
}

// gateOf returns what rules on the calls of an agent.
func (h *Host) gateOf(a *openmanus.Agent) (openmanus.Gate, error) {
	record := h.Config.Provenance == "record"
	if record {
		h.recording.Do(func() {
			h.warnf(`[provenance] mode = "record": you are not asked about calls that others want, such as to send private files away`)
		})
	}
	web, err := webDialer(h.Config)
	if err != nil {
		return nil, mistake(err)
	}
	return h.Gate(h.Config, gate.Options{
		Mode: openmanus.Mode(a.Spec.Approve), Workspace: a.Spec.Workspace, Sandbox: a.Sandbox,
		Network: h.Config.Sandbox.Network != "none" && !commandsLook(a.Spec), Record: record, Local: web.Local, Serves: egress.Listens,
	})
}

// addHelpers gives an agent, whose model is m, the models beside its own: those
// that are asked when it fails, and the one that writes summaries.
func (h *Host) addHelpers(agent *openmanus.Agent, m config.Model) error {
	agent.Counter = tokens.For(m.Provider.OwnServer(), m.Name)
	others, err := h.fallbacks(m)
	if err != nil {
		return err
	}
	for _, o := range others {
		agent.Fallbacks = append(agent.Fallbacks, openmanus.Helper{Name: o.String(), Prices: o.Prices()})
	}
	if eye, err := h.Config.Model("vision"); err == nil && slices.Contains(h.Config.ProfileNames(), "vision") {
		agent.Fallbacks = append(agent.Fallbacks, openmanus.Helper{Name: eye.String(), Prices: eye.Prices()})
	}
	name := h.Config.Context.Summarizer
	if name == "" {
		return nil
	}
	model, s, err := h.model(name, "")
	if err != nil {
		return mistake(errors.New("context.summarizer: " + err.Error()))
	}
	agent.Summarizer = openmanus.Helper{Model: model, Name: s.String(), Prices: s.Prices(), Window: h.Config.Window(s)}
	return nil
}

// Shown returns an agent for display, as it is made in e.Dir, without MCP servers.
// All that its tools would keep running is closed, so they cannot be run.
func (h Env) Shown(cfg *config.Config, kind agents.Kind) (*openmanus.Agent, error) {
	ws, err := workspace.NewDir(h.Dir)
	if err != nil {
		return nil, mistake(err)
	}
	defer ws.Close()
	web, err := newWebTools(cfg, ws, nil, false, nil)
	if err != nil {
		return nil, mistake(err)
	}
	defer web.Close()
	o := agentOptions(cfg, ws)
	o.Web = web.tools
	a, closer, err := kind.Make(o)
	if err != nil {
		return nil, err
	}
	if !kind.Hidden && kind.Wrap == nil {
		a.Tools = append(a.Tools, mcp.NewClient(mcp.Options{}).Tools(deferTools(a, kind.Rare)...)...)
	}
	return a, closer.Close()
}

// HeadTokens returns how many tokens the instructions and tools of an agent take in
// every request, as OpenAI's newest models count.
func HeadTokens(a *openmanus.Agent) int {
	return llm.CountHead(tokens.For(false, ""), a.Instructions, a.Configured(0).Offered())
}

// BareAgent makes the agent of spec without model and MCP servers, for a surface
// that offers the agent's tools to somebody else's model. The caller closes what it
// keeps running.
func (h *Host) BareAgent(spec openmanus.Spec) (*openmanus.Agent, io.Closer, error) {
	kind, err := h.Team(spec.Workspace).Choose(spec.Agent)
	if err != nil {
		return nil, nil, err
	}
	ws, err := h.workspaceOf(context.Background(), h.Config, spec)
	if err != nil {
		return nil, nil, err
	}
	o := agentOptions(h.Config, ws)
	judge, err := h.Gate(h.Config, gate.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, ws.Close())
	}
	web, err := newWebTools(h.Config, ws, judge.CheckHost, false, nil)
	if err != nil {
		return nil, nil, mistake(errors.Join(err, ws.Close()))
	}
	web.running = &h.browsers
	o.Web = web.tools
	agent, closer, err := kind.Make(o)
	if err != nil {
		return nil, nil, mistake(errors.Join(err, web.Close(), ws.Close()))
	}
	m := agentInstance{agent: agent, close: []io.Closer{closer, web, ws}}
	agent.Spec, agent.Sandbox = spec, ws.Sandbox()
	if agent.Gate, err = h.gateOf(agent); err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return agent, m, nil
}
