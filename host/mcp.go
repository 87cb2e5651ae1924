package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/workspace"
)

// Servers returns the MCP servers that the configuration and the files beside it name,
// approved or not. It connects to none. Parts that cannot be used go to Warn; a file that
// cannot be read at all is an error.
func (e Env) Servers(cfg *config.Config) ([]config.MCPServer, error) {
	list, warnings, err := config.MCPServers(cfg.MCP.File, e.Dir, e.lookup)
	if err != nil {
		return nil, mistake(err)
	}
	for _, w := range warnings {
		e.warnf("warning: %v", w)
	}
	return list, nil
}

// ServerConfig returns a server as package mcp has it, with its variables not
// replaced: as it is shown and approved.
func ServerConfig(s config.MCPServer) mcp.ServerConfig {
	c := mcp.ServerConfig{
		Name: s.Name, Source: s.Source.String(), Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers, Type: s.Type,
		ClientID: s.ClientID, ClientSecret: s.ClientSecret,
		Trust: s.Trust, Allow: s.Allow, Deny: s.Deny, Timeout: s.Timeout, StartTimeout: s.StartTimeout,
	}
	if s.Found && s.URL == "" {
		full, _ := s.Expanded(os.LookupEnv) // a variable that is not set keeps it from starting
		c.Resolved = resolved(full)
	}
	c.ID = mcp.Identity(c)
	return c
}

// Expand returns a server as it is started: with the values of its variables, the path of
// its program, and the directory in which it runs. Its identity is that of the server
// before.
func (e Env) Expand(cfg *config.Config, s config.MCPServer) (mcp.ServerConfig, error) {
	full, err := s.Expanded(e.lookup)
	if err != nil {
		return mcp.ServerConfig{}, err
	}
	c := ServerConfig(full)
	before := ServerConfig(s)
	c.ID, c.Resolved = before.ID, before.Resolved
	return e.started(cfg, full, c)
}

// Approvals returns the MCP servers that the user approved.
func Approvals(cfg *config.Config) *mcp.Approvals {
	return mcp.NewApprovals(filepath.Join(cfg.DataDir, "mcp", "approved.json"))
}

// Granted returns the directory with the tokens of MCP servers that the user
// signed in to.
func Granted(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "mcp", "granted") }

// ClientOptions are the options of every client of MCP servers. Servers that are
// programs run in runner; those with a URL are dialled directly, since the user
// configured the URL. Messages of servers about themselves go to Warn.
func (e Env) ClientOptions(cfg *config.Config, runner workspace.Runner) mcp.Options {
	o := mcp.Options{
		Runner: runner, Root: cfg.Run.Workspace, Approvals: Approvals(cfg), DeferAbove: cfg.MCP.DeferAbove, Version: e.Version,
		Dir: ownDir(runner), Check: e.startCheck(cfg, nil),
		SignIn: &mcp.SignIn{Dir: Granted(cfg), Show: e.ShowLink},
		Say:    func(line string) { e.warnf("mcp: %s", line) },
	}
	public, err := egress.New(egress.Policy{Mode: egress.Allow})
	if err != nil {
		panic(err) // a policy without entries is always one
	}
	o.Dial = public.DialContext
	return o
}

// ServerWorkspace opens what MCP servers that are programs run in: the workspace of
// the configuration, in a sandbox if it says so. The caller closes it.
func (e Env) ServerWorkspace(ctx context.Context, cfg *config.Config) (*workspace.Dir, error) {
	kind := string(sandbox.None)
	if cfg.MCP.Sandbox {
		kind = cfg.Sandbox.Kind
	}
	return e.openWorkspace(ctx, cfg, openmanus.Spec{Workspace: cfg.Run.Workspace, SandboxKind: kind})
}

// connect starts the servers that may be used.
func (h *Host) connect(ctx context.Context) (*mcp.Client, io.Closer, error) {
	servers, err := h.usable(ctx)
	if err != nil {
		return nil, nil, err
	}
	ws, err := h.ServerWorkspace(ctx, h.Config)
	if err != nil {
		return nil, nil, err
	}
	o := h.ClientOptions(h.Config, ws)
	o.Servers, o.Check = servers, h.startCheck(h.Config, h.CurrentServers)
	c := mcp.NewClient(o)
	c.Start(ctx)
	return c, closeAll{c, ws}, nil
}

// usable returns the servers that may be started. One that may not be, or that needs a
// variable that is not set, is left out with a warning.
func (h *Host) usable(ctx context.Context) ([]mcp.ServerConfig, error) {
	var list []mcp.ServerConfig
	for _, s := range h.CurrentServers() {
		if s.Disabled {
			continue
		}
		use, recorded, err := h.mayStart(ctx, s)
		if err != nil {
			return nil, err
		}
		if !use {
			continue
		}
		c, err := h.Expand(h.Config, s)
		if err != nil {
			h.warnf("mcp: %v; its tools are left out", err)
			continue
		}
		if !recorded {
			c.ID = "" // approved for this run alone
		}
		if !h.Env.askOnce(ctx, h.Config, s, c) {
			continue
		}
		list = append(list, c)
	}
	return list, nil
}

// mayStart reports whether a server may be used, and whether that is on record.
// A server that was found in a workspace must have been approved, or the user
// is asked to approve it now.
func (h *Host) mayStart(ctx context.Context, s config.MCPServer) (use, recorded bool, err error) {
	c := ServerConfig(s)
	if !s.Found {
		return true, true, nil
	}
	known := Approvals(h.Config)
	ok, err := known.Approved(c.ID)
	if err != nil {
		return false, false, err
	}
	switch {
	case ok:
		return true, true, nil
	case h.Config.Run.Approve == openmanus.ApproveAll:
		return true, false, nil
	case h.Ask == nil:
		h.warnf("mcp: %s was found in %s and is not approved; its tools are left out. To approve it: openmanus mcp approve %s\n  %s",
			s.Name, s.Source, s.Name, c.Shown())
		return false, false, nil
	}
	b, err := ServerBound(h.Env, h.Config, s)
	if err != nil {
		return false, false, err
	}
	line, err := h.Ask(ctx, fmt.Sprintf("%s wants to use the MCP server %s:\n  %s\n%sApprove it? [y/N] ", s.Source, s.Name, b.Shown(c), h.reach(c)))
	if err != nil || !IsYes(line) {
		return false, false, nil // the user did not say yes
	}
	return true, true, ApproveServer(h.Env, h.Config, s)
}

// reach says what the server can do if it is a program, for the question whether
// to approve it.
func (h *Host) reach(c mcp.ServerConfig) string {
	switch {
	case c.Command == "":
		return ""
	case caged(h.Config):
		return "It runs in the sandbox. "
	}
	return "It runs with your rights. "
}

// IsYes reports whether an answer to a question of [Env].Ask is yes.
func IsYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}

// secretNames matches the names of variables and headers whose values are taken
// for secrets. The values of others, such as a path, would make ordinary words
// unreadable in journals.
var secretNames = regexp.MustCompile(`(?i)key|token|secret|passw|auth|cred|cookie`)

// serverSecrets adds the secrets that MCP servers are given to secrets, by a
// name for their placeholders.
func (e Env) serverSecrets(servers []config.MCPServer, secrets map[string]string) {
	for _, s := range servers {
		full, _ := s.Expanded(e.lookup) // a missing variable is reported when the server is started
		for _, table := range []map[string]string{full.Env, full.Headers, {"client_secret": full.ClientSecret}} {
			for name, v := range table {
				if !secretNames.MatchString(name) {
					continue
				}
				if _, after, ok := strings.Cut(v, " "); ok && strings.EqualFold(name, "Authorization") {
					v = after // the scheme is not secret
				}
				secrets["mcp "+s.Name+" "+name] = v
			}
		}
	}
}

// deferTools has the requests of an agent leave out its rare tools, and more of them where
// its window is small, and returns them for [mcp.Client.Tools]. Tools that the agent does
// not have are passed over.
func deferTools(agent *openmanus.Agent, rare []agents.Rare) []mcp.Deferred {
	var list []mcp.Deferred
	for _, r := range slices.Concat(rare, spare(agent, rare)) {
		if t := agent.Tool(r.Tool); t != nil {
			agent.Deferred = append(agent.Deferred, r.Tool)
			list = append(list, mcp.Deferred{Spec: t.Spec(), For: r.For})
		}
	}
	return list
}

// addServerTools gives an agent the tools of the MCP servers and those by which it
// finds the rare ones of its own, and puts the gate of the servers before its own:
// it knows which servers the user trusts.
func (h *Host) addServerTools(agent *openmanus.Agent, rare []agents.Rare) error {
	c, err := h.connectedClient(context.Background())
	if err != nil {
		return err
	}
	deferred := deferTools(agent, rare)
	if n := len(deferred) - len(rare); n > 0 && agent.Window.Tokens > 0 {
		h.warnf("%s has a window of %d tokens: %d more tools of %s are offered on demand alone", agent.Spec.Model, agent.Window.Tokens, n, agent.Name)
	}
	ts := c.Tools(deferred...)
	if agent.Name == "mcp" && len(ts) == 0 {
		return mistake(errors.New("the agent mcp works with the tools of MCP servers, and none can be used: openmanus mcp add NAME -- COMMAND, or openmanus mcp list"))
	}
	agent.Tools = append(agent.Tools, ts...)
	agent.Gate = c.Gate(agent.Gate)
	return nil
}
