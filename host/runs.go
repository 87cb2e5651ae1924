package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/hooks"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/mcp"
)

// MCP servers and hooks start outside of the sandbox only while they run what they ran when
// the person said yes. A yes is bound to what their commands lead to
// ([hostexec.Finder.Runs]), and not to the words. A command that the person has written down
// without being asked is bound at its next start, and they are asked about it once, when
// there is a terminal.

// bindings returns what the commands ran that the person said yes to.
func bindings(cfg *config.Config) *hostexec.Book {
	return hostexec.NewBook(filepath.Join(cfg.DataDir, "programs.json"))
}

// serverKey returns the key of a server in the bindings. It is "" for one that is not bound:
// one with an address, one that runs in the sandbox, and one that an editor hands over,
// which answers for it each time.
func serverKey(cfg *config.Config, c mcp.ServerConfig) string {
	if c.Command == "" || c.Source == "" || c.ID == "" || caged(cfg) {
		return ""
	}
	return serverKeys(c.Name) + c.ID
}

// serverKeys is what the keys of a server begin with, however it is configured.
func serverKeys(name string) string { return fmt.Sprintf("mcp %q ", name) }

// WhereRuns returns where a server runs: "host" with the rights of the person, "sandbox", or
// "remote" for one with an address.
func WhereRuns(cfg *config.Config, s config.MCPServer) string {
	switch {
	case s.URL != "":
		return "remote"
	case caged(cfg):
		return "sandbox"
	}
	return "host"
}

// serverRuns returns a function that reads what the command of a server runs at this moment. c is the
// configuration with which the server starts.
func (e Env) serverRuns(cfg *config.Config, c mcp.ServerConfig) func(known []hostexec.Part) []hostexec.Part {
	f := hostexec.Outside(agentDirs(cfg, e.Dir)...)
	f.Projects = true
	started := hostexec.Started{Words: append([]string{c.Command}, c.Args...), Dir: c.Dir}
	if home, ok := e.lookup("HOME"); ok {
		started.Env = append(started.Env, "HOME="+home)
	}
	for name, v := range c.Env {
		started.Env = append(started.Env, name+"="+v)
	}
	return func(known []hostexec.Part) []hostexec.Part {
		started.Known = known
		return f.Runs(started)
	}
}

// A Bound is what an MCP server runs outside of the sandbox, beside what was approved. One
// that does not run there has no parts.
type Bound struct{ hostexec.Bound }

// ServerBound returns what a server runs now. It has no parts if a variable that the server
// needs is not set.
func ServerBound(e Env, cfg *config.Config, s config.MCPServer) (Bound, error) {
	e.Warn = nil // nothing starts
	c, err := e.Expand(cfg, s)
	if err != nil {
		return Bound{}, nil //nolint:nilerr // its start says which variable is missing
	}
	return e.bound(cfg, c)
}

func (e Env) bound(cfg *config.Config, c mcp.ServerConfig) (Bound, error) {
	key := serverKey(cfg, c)
	if key == "" {
		return Bound{}, nil
	}
	b, err := bindings(cfg).Compare(key, e.serverRuns(cfg, c))
	return Bound{b}, err
}

// Shown describes a server as the person approves it: [mcp.ServerConfig.Shown], and in lines
// of their own what it runs and how that has changed.
func (b Bound) Shown(c mcp.ServerConfig) string {
	text := c.Shown()
	for _, p := range b.Parts {
		if !strings.Contains(strings.Join(c.Resolved, "\n"), cmp.Or(p.Real, p.Name)) {
			text += "\n  " + p.String()
		}
	}
	if b.Changed != "" {
		text += "\n  since it was approved, this changed: " + b.Changed
	}
	return text
}

// Hash is another one for everything that a server runs.
func (b Bound) Hash(c mcp.ServerConfig) string {
	if len(b.Parts) == 0 {
		return c.ID
	}
	h := sha256.New()
	fmt.Fprintln(h, c.ID)
	for _, p := range b.Parts {
		p.Stamp = ""
		fmt.Fprintf(h, "%q\n", p)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// ApproveServer records the person's yes to a server, bound to its present configuration and to what its
// command runs at this moment. It leaves the approvals of its tools unchanged.
func ApproveServer(e Env, cfg *config.Config, s config.MCPServer) error {
	c := ServerConfig(s)
	ok, err := Approvals(cfg).Approved(c.ID)
	if err == nil && !ok {
		err = Approvals(cfg).Approve(c)
	}
	if err != nil {
		return err
	}
	full, err := e.Expand(cfg, s)
	if err != nil {
		return nil //nolint:nilerr // its start says which variable is missing
	}
	return e.bind(cfg, full)
}

// bind binds a server to what it runs now, which the person saw.
func (e Env) bind(cfg *config.Config, c mcp.ServerConfig) error {
	key := serverKey(cfg, c)
	if key == "" {
		return nil
	}
	return bindings(cfg).Bind(key, c.Shown(), e.serverRuns(cfg, c))
}

// RevokeServer forgets what was approved of the servers with a name.
func RevokeServer(cfg *config.Config, name string) error {
	return errors.Join(Approvals(cfg).Revoke(name), bindings(cfg).Forget(serverKeys(name)))
}

// askOnce asks the person about a server of theirs that was added before a yes was bound to
// what a command runs, and reports whether it may start. Without a terminal the
// server starts.
func (e Env) askOnce(ctx context.Context, cfg *config.Config, s config.MCPServer, c mcp.ServerConfig) bool {
	if e.Ask == nil {
		return true
	}
	b, err := e.bound(cfg, c)
	if err != nil || b.Asked || len(b.Parts) == 0 {
		return true // the check at its start says how it stands
	}
	line, err := e.Ask(ctx, fmt.Sprintf("%s has the MCP server %s, which starts with your rights:\n  %s\nStart it, as long as what it runs stays the same? [y/N] ",
		c.Source, c.Name, b.Shown(ServerConfig(s))))
	if err != nil || !IsYes(line) {
		e.warnf("mcp: the tools of %s are left out, since you did not say yes to what it runs", c.Name)
		return false
	}
	if err := e.bind(cfg, c); err != nil {
		e.warnf("mcp: %v", err)
		return false
	}
	return true
}

// hookRuns returns the key of a hook in the bindings, and a function with what it runs now
// for a session in dir, which is without links. The files of dir are left out: see
// [hooks.Content].
func (e Env) hookRuns(k hooks.Hook, dir string) (key string, runs func(known []hostexec.Part) []hostexec.Part) {
	key = fmt.Sprintf("hook %q %s", k.Name, gate.Key(k.Source, k.On, k.Run, k.Dir))
	return key, func(known []hostexec.Part) []hostexec.Part { return hooks.Runs(k, dir, e.lookup, known) }
}
