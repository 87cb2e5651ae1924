package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/egress"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// servers are the MCP servers that are configured.
func (t *terminal) servers(cfg *config.Config) ([]config.MCPServer, error) {
	list, warnings, err := config.MCPServers(cfg.MCP.File, t.dir, t.env)
	if err != nil {
		return nil, usage(err)
	}
	for _, w := range warnings {
		fmt.Fprintf(t.err, "openmanus: warning: %v\n", w)
	}
	return list, nil
}

// serverConfig is a server as package mcp knows it, before its variables are
// replaced.
func serverConfig(s config.MCPServer) mcp.ServerConfig {
	c := mcp.ServerConfig{
		Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers, Type: s.Type,
		ClientID: s.ClientID, ClientSecret: s.ClientSecret,
		Trust: s.Trust, Allow: s.Allow, Deny: s.Deny, Timeout: s.Timeout, StartTimeout: s.StartTimeout,
	}
	c.ID = mcp.Identity(c)
	return c
}

// expanded is a server as it is started: with the values of the variables
// that it names.
func (t *terminal) expanded(s config.MCPServer) (mcp.ServerConfig, error) {
	full, err := s.Expanded(t.env)
	c := serverConfig(full)
	c.ID = serverConfig(s).ID
	return c, err
}

// mcpDir is where what was approved and granted is kept.
func mcpDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "mcp") }

func approvals(cfg *config.Config) *mcp.Approvals {
	return mcp.NewApprovals(filepath.Join(mcpDir(cfg), "approved.json"))
}

// mcpOptions are those of every client of MCP servers.
func (t *terminal) mcpOptions(cfg *config.Config, runner workspace.Runner) mcp.Options {
	o := mcp.Options{
		Runner: runner, Approvals: approvals(cfg), DeferAbove: cfg.MCP.DeferAbove, Version: thisBuild().Version,
		SignIn: &mcp.SignIn{Dir: filepath.Join(mcpDir(cfg), "granted")},
		Say:    func(line string) { fmt.Fprintf(t.err, "openmanus: mcp: %s\n", plain(line)) },
	}
	if isTerminal(t.err) && isTerminal(t.in) {
		o.SignIn.Show = t.showLink
	}
	public, err := egress.New(egress.Policy{Mode: egress.Allow})
	if err != nil {
		panic(err) // a policy without entries is always one
	}
	o.Dial = public.DialContext
	return o
}

// showLink shows a person where to sign in.
func (t *terminal) showLink(server, link string) {
	fmt.Fprintf(t.err, "openmanus: mcp: %s wants you to sign in. Open this page:\n  %s\n", plain(server), plain(link))
}

// mcpClient is the client that all agents of this program share. It is made
// and connected when the first of them is.
func (a *app) mcpClient(ctx context.Context) (*mcp.Client, error) {
	a.mcpOnce.Do(func() { a.mcp, a.mcpErr = a.connectMCP(ctx) })
	return a.mcp, a.mcpErr
}

// serverPlace is where servers that are programs run: in the sandbox, if the
// configuration says so.
func (t *terminal) serverPlace(ctx context.Context, cfg *config.Config) (*workspace.Dir, error) {
	kind := string(sandbox.None)
	if cfg.MCP.Sandbox {
		kind = cfg.Sandbox.Kind
	}
	o, err := t.cage(cfg, t.dir, kind)
	if err != nil {
		return nil, usage(err)
	}
	ws, err := sandbox.Open(ctx, o)
	return ws, asUsage(err)
}

func (a *app) connectMCP(ctx context.Context) (*mcp.Client, error) {
	ws, err := a.t.serverPlace(ctx, a.cfg)
	if err != nil {
		return nil, err
	}
	o := a.t.mcpOptions(a.cfg, ws)
	for _, s := range a.mcpServers {
		if s.Disabled {
			continue
		}
		use, recorded, err := a.mayStart(ctx, s)
		if err != nil {
			ws.Close()
			return nil, err
		}
		if !use {
			continue
		}
		c, err := a.t.expanded(s)
		if err != nil {
			o.Say(err.Error() + "; its tools are left out")
			continue
		}
		if !recorded {
			c.ID = "" // approved for this run alone
		}
		o.Servers = append(o.Servers, c)
	}
	c := mcp.NewClient(o)
	a.mcpClose = append(a.mcpClose, c, ws)
	c.Start(ctx)
	return c, nil
}

// mayStart reports whether the server may be used: one that was found in a
// workspace must have been approved, or be approved now.
func (a *app) mayStart(ctx context.Context, s config.MCPServer) (use, recorded bool, err error) {
	c := serverConfig(s)
	if !s.Found {
		return true, true, nil
	}
	known := approvals(a.cfg)
	ok, err := known.Approved(c.ID)
	if err != nil {
		return false, false, err
	}
	switch {
	case ok:
		return true, true, nil
	case a.cfg.Run.Approve == "all":
		return true, false, nil
	case !isTerminal(a.t.in) || !isTerminal(a.t.err):
		fmt.Fprintf(a.t.err, "openmanus: mcp: %s was found in %s and nobody approved it; its tools are left out. To approve it: openmanus mcp approve %s\n  %s\n",
			plain(s.Name), s.Source, plain(s.Name), plain(c.Shown()))
		return false, false, nil
	}
	line, err := a.t.ask(ctx, fmt.Sprintf("%s wants to use the MCP server %s:\n  %s\n%sApprove it? [y/N] ", s.Source, plain(s.Name), plain(c.Shown()), a.reach(c)))
	if err != nil || !isYes(line) {
		return false, false, nil // nobody said yes
	}
	return true, true, known.Approve(c)
}

// reach says what the server can do, if it is a program.
func (a *app) reach(c mcp.ServerConfig) string {
	switch {
	case c.Command == "":
		return ""
	case a.cfg.MCP.Sandbox && a.cfg.Sandbox.Kind != string(sandbox.None):
		return "It runs in the sandbox. "
	}
	return "It runs with your rights. "
}

func isYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}

// telling are the names of variables and headers whose values are secrets.
var telling = regexp.MustCompile(`(?i)key|token|secret|passw|auth|cred|cookie`)

// mcpSecrets adds the secrets that MCP servers are given to secrets.
func (t *terminal) mcpSecrets(servers []config.MCPServer, secrets map[string]string) {
	for _, s := range servers {
		full, _ := s.Expanded(t.env) // what is missing is said when it is used
		for _, table := range []map[string]string{full.Env, full.Headers, {"client_secret": full.ClientSecret}} {
			for name, v := range table {
				if !telling.MatchString(name) {
					continue
				}
				if _, after, ok := strings.Cut(v, " "); ok && strings.EqualFold(name, "Authorization") {
					v = after // the scheme is none
				}
				secrets["mcp "+s.Name+" "+name] = v
			}
		}
	}
}

// withMCP gives an agent the tools of the MCP servers.
func (a *app) withMCP(agent *openmanus.Agent) error {
	c, err := a.mcpClient(context.Background())
	if err != nil {
		return err
	}
	ts := c.Tools()
	if agent.Name == "mcp" && len(ts) == 0 {
		return usage(errors.New("the agent mcp works with the tools of MCP servers, and none can be used: openmanus mcp add NAME -- COMMAND, or openmanus mcp list"))
	}
	agent.Tools = append(agent.Tools, ts...)
	agent.Gate = c.Gate(agent.Gate)
	return nil
}
