package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/cli"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/mcp"
)

// mcpCmd is openmanus mcp.
type mcpCmd struct {
	Add     mcpAddCmd     `cmd:"" help:"Add an MCP server: openmanus mcp add NAME -- COMMAND ARG…, or openmanus mcp add NAME URL. To add it is to approve it."`
	List    mcpListCmd    `cmd:"" help:"List the MCP servers that are configured."`
	Show    mcpShowCmd    `cmd:"" help:"Show what an MCP server runs, where, and how that is approved."`
	Test    mcpTestCmd    `cmd:"" help:"Connect to an MCP server, sign in if needed, and list its tools."`
	Approve mcpApproveCmd `cmd:"" help:"Approve an MCP server that was found in a workspace or runs something else than before, or tools that changed."`
	Serve   mcpServeCmd   `cmd:"" help:"Offer the tools, and the agent itself, to an MCP client."`
	Remove  mcpRemoveCmd  `cmd:"" help:"Remove an MCP server that was added, with its approvals and tokens."`
}

// mcpFlags are the flags of every command about MCP servers.
type mcpFlags struct {
	MCPConfig string `name:"mcp-config" help:"Read MCP servers from this file as well, before the others." placeholder:"FILE"`
}

func (f mcpFlags) load(t *terminal, g *globals) (*config.Config, []config.MCPServer, error) {
	cfg, err := t.load(g, flagsOf(f))
	if err != nil {
		return nil, nil, err
	}
	list, err := t.host().Servers(cfg)
	return cfg, list, err
}

// one returns the server with the name. The error lists the servers there are.
func (f mcpFlags) one(t *terminal, g *globals, name string) (*config.Config, config.MCPServer, error) {
	cfg, list, err := f.load(t, g)
	if err != nil {
		return nil, config.MCPServer{}, err
	}
	var names []string
	for _, s := range list {
		if s.Name == name {
			return cfg, s, nil
		}
		names = append(names, s.Name)
	}
	return nil, config.MCPServer{}, absent(fmt.Sprintf("MCP server %q", name), names, "openmanus mcp add NAME -- COMMAND ARG…")
}

// mcpAddCmd is openmanus mcp add.
type mcpAddCmd struct {
	Name   string   `arg:"" help:"The name. Its tools are called mcp_NAME_TOOL."`
	Target []string `arg:"" help:"The command and its arguments, after --; or the URL." passthrough:"partial"`
	mcpAddFlags
}

// mcpAddFlags are the flags of mcp add, which may stand after a URL as well.
type mcpAddFlags struct {
	Env    []string `help:"Give the command a variable: KEY=VALUE. A value such as \"${NAME}\" is read from your environment when it starts." placeholder:"KEY=VALUE" sep:"none"`
	Header []string `help:"Send a header with every request to the URL: KEY=VALUE." placeholder:"KEY=VALUE" sep:"none"`
	Sse    bool     `help:"The URL supports only the older transport."`
	Trust  bool     `help:"Trust its annotations: tools that it marks read-only need no approval."`
}

// An mcpEntry is an entry of an mcp.json file.
type mcpEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Trust   bool              `json:"trust,omitempty"`
}

// Run implements the command.
func (c *mcpAddCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	entry, err := c.entry(t)
	if err != nil {
		return usage(err)
	}
	path, err := config.MCPFile("", t.env)
	if err != nil {
		return usage(err)
	}
	if err := config.AddMCP(path, c.Name, entry); errors.Is(err, fs.ErrExist) {
		return usage(fmt.Errorf("%w; openmanus mcp remove %s removes it", err, c.Name))
	} else if err != nil {
		return usage(err)
	}
	cfg, s, err := mcpFlags{}.one(t, g, c.Name)
	if err != nil {
		return errors.Join(err, config.RemoveMCP(path, c.Name))
	}
	if err := host.ApproveServer(t.host(), cfg, s); err != nil {
		return err
	}
	b, err := host.ServerBound(t.host(), cfg, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "Added to %s and approved: %s\n", path, clip.Plain(b.Shown(host.ServerConfig(s))))
	st, err := t.try(ctx, cfg, s, nil)
	if err != nil {
		return err
	}
	if st.Err != nil {
		fmt.Fprintf(t.err, "openmanus: warning: it cannot be used yet: %s\n", clip.Plain(st.Err.Error()))
		return nil
	}
	fmt.Fprintf(t.out, "It has %s.\n", clip.Count(len(st.Tools), "tool"))
	return nil
}

// entry returns the entry to write.
func (c *mcpAddCmd) entry(t *terminal) (e mcpEntry, err error) {
	target := c.Target
	if len(target) > 0 && target[0] == "--" {
		target = target[1:]
	}
	if len(target) == 0 {
		return e, errors.New("the server is missing: openmanus mcp add NAME -- COMMAND ARG…, or openmanus mcp add NAME URL")
	}
	if strings.Contains(target[0], "://") {
		var more mcpAddFlags
		if _, err := cli.New("openmanus", "", &more).Parse(target[1:]); err != nil {
			return e, fmt.Errorf("after the URL: %w", err)
		}
		target = target[:1]
		c.Env, c.Header = append(c.Env, more.Env...), append(c.Header, more.Header...)
		c.Sse, c.Trust = c.Sse || more.Sse, c.Trust || more.Trust
	}
	if e.Env, err = pairs("--env", c.Env); err != nil {
		return e, err
	}
	if e.Headers, err = pairs("--header", c.Header); err != nil {
		return e, err
	}
	e.Trust = c.Trust
	if !strings.Contains(target[0], "://") {
		if len(e.Headers) > 0 || c.Sse {
			return e, errors.New("--header and --sse are for a server with a URL")
		}
		for i, w := range target { // it starts elsewhere
			info, err := os.Stat(filepath.Join(t.dir, w))
			isPath := err == nil && (info.Mode().IsRegular() || strings.HasPrefix(w, "."))
			if isPath && !filepath.IsAbs(w) {
				target[i] = filepath.Join(t.dir, w)
			}
		}
		e.Command, e.Args = target[0], target[1:]
		return e, nil
	}
	if len(e.Env) > 0 {
		return e, errors.New("--env is for a server that is a command")
	}
	e.URL = target[0]
	if c.Sse {
		e.Type = "sse"
	}
	return e, config.CheckMCPURL(e.URL)
}

// pairs parses the KEY=VALUE values of a flag.
func pairs(flag string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("%s %s: write KEY=VALUE", flag, kv)
		}
		m[k] = v
	}
	return m, nil
}

// try connects to one server, calls f with the connection unless f is nil, and
// returns the state of the server. The error is f's or of the program; that the
// server cannot be used is in the state.
func (t *terminal) try(ctx context.Context, cfg *config.Config, s config.MCPServer, f func(*mcp.Client) error) (mcp.Status, error) {
	ws, err := t.host().ServerWorkspace(ctx, cfg)
	if err != nil {
		return mcp.Status{}, err
	}
	defer ws.Close()
	full, err := t.host().Expand(cfg, s)
	if err != nil {
		return mcp.Status{}, usage(err)
	}
	o := t.host().ClientOptions(cfg, ws)
	o.Servers, o.Say = []mcp.ServerConfig{full}, nil
	o.SignIn.Show = t.showLink
	c := mcp.NewClient(o)
	defer c.Close()
	c.Start(ctx)
	if st := c.Status()[0]; st.Err != nil {
		return st, ctx.Err()
	}
	if f != nil {
		if err := f(c); err != nil {
			return mcp.Status{}, err
		}
	}
	return c.Status()[0], ctx.Err()
}

// mcpListCmd is openmanus mcp list.
type mcpListCmd struct {
	listing
	mcpFlags
}

// An mcpInfo is what the configuration and the approvals say about a server.
type mcpInfo struct {
	Name     string `json:"name"`
	State    string `json:"state"` // "approved", "not approved", "changed" or "disabled"
	Trust    bool   `json:"trust"`
	Shown    string `json:"shown"`
	Source   string `json:"source"`
	Identity string `json:"identity"`
}

// Run implements the command.
func (c *mcpListCmd) Run(_ context.Context, t *terminal, g *globals) error {
	cfg, list, err := c.load(t, g)
	if err != nil {
		return err
	}
	infos := []mcpInfo{}
	tb := &table{head: []string{"NAME", "STATE", "FROM", "WHAT IT IS"}}
	for _, s := range list {
		in, _, err := t.serverInfo(cfg, s)
		if err != nil {
			return err
		}
		infos = append(infos, in)
		tb.add(in.Name, in.State, in.Source, in.Shown)
	}
	return c.print(t, g, infos, tb, "There are no MCP servers. Add one: openmanus mcp add NAME -- COMMAND ARG…")
}

// serverInfo returns what is known of a server without connecting to it, and what it runs.
func (t *terminal) serverInfo(cfg *config.Config, s config.MCPServer) (mcpInfo, host.Bound, error) {
	sc := host.ServerConfig(s)
	in := mcpInfo{Name: s.Name, State: "approved", Trust: s.Trust, Shown: sc.Shown(), Source: s.Source.String(), Identity: sc.ID}
	ok, err := host.Approvals(cfg).Approved(sc.ID)
	if err != nil {
		return in, host.Bound{}, err
	}
	b, err := host.ServerBound(t.host(), cfg, s)
	switch {
	case s.Disabled:
		in.State = "disabled"
	case s.Found && !ok:
		in.State = "not approved"
	case b.Changed != "":
		in.State = "changed"
	}
	return in, b, err
}

// mcpShowCmd is openmanus mcp show.
type mcpShowCmd struct {
	Name string `arg:"" help:"The server."`
	JSON bool   `name:"json" help:"Print JSON."`
	mcpFlags
}

// An mcpShown is an [mcpInfo] with what the server runs.
type mcpShown struct {
	mcpInfo
	Where   string          `json:"where"` // "host", "sandbox" or "remote"
	Runs    []hostexec.Part `json:"runs"`
	Seen    bool            `json:"seen"`              // the person saw what it ran and said yes
	Changed string          `json:"changed,omitempty"` // how what it runs differs from that
}

// Run implements the command.
func (c *mcpShowCmd) Run(_ context.Context, t *terminal, g *globals) error {
	cfg, s, err := c.one(t, g, c.Name)
	if err != nil {
		return err
	}
	in, b, err := t.serverInfo(cfg, s)
	if err != nil {
		return err
	}
	shown := mcpShown{mcpInfo: in, Where: host.WhereRuns(cfg, s), Runs: append([]hostexec.Part{}, b.Parts...), Seen: b.Asked, Changed: b.Changed}
	if c.JSON {
		return t.printJSON(shown)
	}
	fmt.Fprintf(t.out, "%s: %s\n", clip.Plain(s.Name), clip.Plain(b.Shown(host.ServerConfig(s))))
	where := map[string]string{
		"remote": "it is asked over HTTP", "sandbox": "it runs in the sandbox, with the rights of commands", "host": "it runs with your rights, outside of the sandbox",
	}[shown.Where]
	fmt.Fprintf(t.out, "from %s; %s; %s\n", in.Source, where, in.State)
	switch {
	case shown.Changed != "":
		fmt.Fprintf(t.out, "It does not start until you approve it as it is now: openmanus mcp approve %s\n", clip.Plain(s.Name))
	case shown.Where == "host" && !shown.Seen && in.State == "approved":
		fmt.Fprintf(t.out, "You have not said yes to what it runs: a run at a terminal asks once, or: openmanus mcp approve %s\n", clip.Plain(s.Name))
	}
	return nil
}

// mcpTestCmd is openmanus mcp test.
type mcpTestCmd struct {
	Name string `arg:"" help:"The server."`
	listing
	mcpFlags
}

// An mcpTested is what a connection showed of a server.
type mcpTested struct {
	Name     string        `json:"name"`
	Software string        `json:"software"`
	Protocol string        `json:"protocol"`
	Millis   int64         `json:"connected_ms"`
	Tools    []mcpToolInfo `json:"tools"`
	Notes    []string      `json:"notes"`
}

type mcpToolInfo struct {
	Name        string `json:"name"`
	Original    string `json:"original"`
	Held        string `json:"held,omitempty"`
	Description string `json:"description"`
}

// Run implements the command.
func (c *mcpTestCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	cfg, s, err := c.one(t, g, c.Name)
	if err != nil {
		return err
	}
	sc := host.ServerConfig(s)
	if ok, err := host.Approvals(cfg).Approved(sc.ID); err != nil || s.Found && !ok {
		return errors.Join(err, usage(fmt.Errorf("%s was found in %s and is not approved: openmanus mcp approve %s\n  %s", s.Name, s.Source, s.Name, clip.Plain(sc.Shown()))))
	}
	st, err := t.try(ctx, cfg, s, nil)
	if err != nil {
		return err
	}
	if st.Err != nil {
		return fmt.Errorf("%s: %w", s.Name, st.Err)
	}
	seen := mcpTested{Name: s.Name, Software: st.Software, Protocol: st.Protocol, Millis: st.Took.Milliseconds(), Tools: []mcpToolInfo{}, Notes: append([]string{}, st.Notes...)}
	tb := &table{head: []string{"TOOL", "STATE", "DESCRIPTION"}}
	for _, tool := range st.Tools {
		seen.Tools = append(seen.Tools, mcpToolInfo{tool.Name, tool.Original, tool.Held, tool.Description})
		tb.add(tool.Name, map[bool]string{true: "held", false: "offered"}[tool.Held != ""], firstLine(tool.Description))
	}
	if !c.JSON {
		fmt.Fprintf(t.err, "%s: connected in %s to %s, which speaks MCP %s\n", clip.Plain(s.Name), st.Took.Round(time.Millisecond), clip.Plain(st.Software), clip.Plain(st.Protocol))
		for _, n := range st.Notes {
			fmt.Fprintf(t.err, "  %s\n", clip.Plain(n))
		}
	}
	return c.print(t, g, seen, tb, "It has no tools.")
}

// mcpApproveCmd is openmanus mcp approve.
type mcpApproveCmd struct {
	Name string `arg:"" help:"The server."`
	mcpFlags
}

// Run implements the command.
func (c *mcpApproveCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	cfg, s, err := c.one(t, g, c.Name)
	if err != nil {
		return err
	}
	b, err := host.ServerBound(t.host(), cfg, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s: %s\n", clip.Plain(s.Name), clip.Plain(b.Shown(host.ServerConfig(s))))
	if err := host.ApproveServer(t.host(), cfg, s); err != nil {
		return err
	}
	var held []mcp.ToolStatus
	st, err := t.try(ctx, cfg, s, func(client *mcp.Client) error {
		held = slices.DeleteFunc(client.Status()[0].Tools, func(tool mcp.ToolStatus) bool { return tool.Held == "" })
		return client.Approve(s.Name)
	})
	if err != nil {
		return err
	}
	if st.Err != nil {
		return fmt.Errorf("the server is approved, but its tools could not be listed: %w", st.Err)
	}
	for _, tool := range held {
		fmt.Fprintf(t.out, "  %s: %s. Now:\n    %s\n", clip.Plain(tool.Name), clip.Plain(tool.Held), strings.ReplaceAll(clip.Plain(tool.Description), "\n", "\n    "))
	}
	fmt.Fprintf(t.out, "Approved, with its %s as now offered.\n", clip.Count(len(st.Tools), "tool"))
	return nil
}

// mcpRemoveCmd is openmanus mcp remove.
type mcpRemoveCmd struct {
	Name string `arg:"" help:"The server."`
	mcpFlags
}

// Run implements the command.
func (c *mcpRemoveCmd) Run(_ context.Context, t *terminal, g *globals) error {
	cfg, s, err := c.one(t, g, c.Name)
	if err != nil {
		return err
	}
	if err := host.RevokeServer(cfg, s.Name); err != nil {
		return err
	}
	in := mcp.SignIn{Dir: host.Granted(cfg)}
	if err := in.Forget(host.ServerConfig(s)); err != nil {
		return err
	}
	if s.Found || s.Source.Name == cfg.MCP.File {
		_, err := fmt.Fprintf(t.out, "What was approved for %s is forgotten. It stands in %s, which is not ours to change.\n", clip.Plain(s.Name), s.Source)
		return err
	}
	if err := config.RemoveMCP(s.Source.Name, s.Name); err != nil {
		return usage(err)
	}
	fmt.Fprintf(t.out, "Removed %s from %s.\n", clip.Plain(s.Name), s.Source.Name)
	return nil
}
