package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/internal/acp"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/workspace"
)

// acpCmd is openmanus acp.
type acpCmd struct {
	Agent        string   `help:"The agent (openmanus agents lists them)." placeholder:"NAME"`
	Model        string   `help:"The model of new sessions." placeholder:"PROVIDER/NAME"`
	BaseURL      string   `help:"The endpoint of that model." placeholder:"URL"`
	AnyWorkspace bool     `help:"Allow a workspace with keys or the settings of programs, such as your home directory."`
	MCPConfig    string   `name:"mcp-config" help:"Read MCP servers from this file as well, before the others." placeholder:"FILE"`
	Sandbox      string   `help:"What commands run in: auto, bubblewrap, landlock, docker, gvisor, or none." enum:",auto,bubblewrap,landlock,docker,gvisor,none" default:"" placeholder:"KIND"`
	Delegate     []string `help:"Agents that the agent may give work to." placeholder:"NAME,…"`
	Approve      string   `help:"The mode of new sessions: ask, edits, all, plan, readonly." enum:",ask,edits,all,plan,readonly" default:"" placeholder:"MODE"`
	V2           bool     `name:"v2" help:"Let an editor ask for version 2 of the protocol, which is a draft."`
	limitFlags
}

// Help is more of the command.
func (acpCmd) Help() string {
	return `An editor starts this program and speaks the Agent Client Protocol with it, on standard input and output: docs/editors.md shows how to set up Zed, JetBrains' editors, Neovim, VS Code and Emacs.

Sessions work in the directory that the editor names, and are the same ones that the other commands list and continue. MCP servers that the editor hands over run like those of your own configuration.`
}

// Run implements the command. Standard output belongs to the protocol, so all messages go
// to standard error. It ends when the editor closes standard input, or at a signal, and
// interrupts the sessions that it drives.
func (c *acpCmd) Run(ctx context.Context, t *terminal, g *globals) (err error) {
	f := runFlags{Agent: c.Agent, Model: c.Model, BaseURL: c.BaseURL, AnyWorkspace: c.AnyWorkspace, MCPConfig: c.MCPConfig, Sandbox: c.Sandbox,
		Delegate: c.Delegate, Approve: c.Approve, limitFlags: c.limitFlags}
	a, err := t.open(g, f.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	out, ok := bare(t.out).(io.Writer)
	if !ok {
		return errors.New("standard output cannot be written to")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	say := func(text string) { fmt.Fprintln(t.err, "openmanus: "+clip.Plain(text)) }
	all := &acpSources{app: a, ctx: ctx, say: say, o: local.Options{
		Host: a.Host, Store: a.db, Tell: func(text string, _ bool) { say(text) }, Delegates: c.Delegate, Endpoint: c.BaseURL,
	}}
	defer func() { err = errors.Join(err, all.Close()) }()
	if isTerminal(t.in) {
		say("speaking the Agent Client Protocol on standard input and output; an editor starts this program itself")
	}
	err = acp.Serve(ctx, t.in, out, acp.Options{Version: thisBuild().Version, With: all.with, Log: say, V2: c.V2})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// acpSources are the sessions of this program, by the MCP servers that their agents have
// besides the configured ones.
type acpSources struct {
	*app
	ctx context.Context
	say func(text string)
	o   local.Options

	mu    sync.Mutex
	made  map[string]*local.Source
	hosts []*host.Host
}

// with returns the sessions with these servers, and the texts of the editor. A server that an editor hands over is one
// that the person has set up there, so it needs no other approval than one of their own
// configuration. Calls of its tools are ruled on like all others.
func (s *acpSources) with(servers []acp.Server, texts workspace.Buffers) (acp.Source, error) {
	name, err := json.Marshal(servers)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if src := s.made[string(name)]; src != nil {
		return src, nil
	}
	o := s.o
	if s.made == nil { // before anything is made; the hosts below have it from this one
		s.made = make(map[string]*local.Source)
		o.Host.Buffers = texts
	}
	if len(servers) > 0 {
		var list []config.MCPServer
		for _, v := range servers {
			list = append(list, s.server(v))
		}
		if o.Host, err = s.WithServers(list); err != nil {
			return nil, err
		}
		s.hosts = append(s.hosts, o.Host)
	}
	src := local.New(s.ctx, o)
	s.made[string(name)] = src
	return src, nil
}

// server returns a server of an editor as one of the configuration. Characters of its name
// that tool names cannot have become hyphens. It runs in the workspace.
func (s *acpSources) server(v acp.Server) config.MCPServer {
	plain := func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}
	c := config.MCPServer{Name: strings.Map(plain, v.Name), Type: v.Type, Command: v.Command, Args: v.Args, Dir: s.Config.Run.Workspace, URL: v.URL}
	c.Env, c.Headers = make(map[string]string), make(map[string]string)
	for _, p := range v.Env {
		c.Env[p.Name] = p.Value
	}
	for _, p := range v.Headers {
		c.Headers[p.Name] = p.Value
	}
	return c
}

// Close interrupts the sessions that it drives, which can be continued later, and then
// ends the MCP servers of the editor.
func (s *acpSources) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, src := range s.made {
		errs = append(errs, src.Close())
	}
	for _, h := range s.hosts {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}
