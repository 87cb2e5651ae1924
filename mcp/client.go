package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/workspace"
)

// A ServerConfig says how to reach one server, and what it may do. It has
// either a Command or a URL.
type ServerConfig struct {
	Name   string
	ID     string // what it is approved as: see [Identity]; "": nothing is recorded of it, or held
	Source string // the file that has it, for people; "": none

	Command string            // a program that speaks MCP over its standard input and output
	Args    []string          // its arguments
	Env     map[string]string // added to the environment of the Runner
	Dir     string            // its working directory, absolute; "": that of the Options

	// Resolved says what the command line stands for, in clauses: the program that was
	// found, files that it names with their content. It is part of the [Identity].
	Resolved []string

	URL     string
	Headers map[string]string // sent with every request to the host of the URL
	Type    string            // "sse": the older transport; "http": the newer one; "": the one that works

	ClientID, ClientSecret string // of OAuth, if this client is registered at the server

	Trust        bool          // its hints count, and tools that it adds need no approval
	Allow        []string      // the tools that are offered, by the names of the server; none: all
	Deny         []string      // the tools that are not offered
	Timeout      time.Duration // idle timeout of a call; 0 means 60 s
	StartTimeout time.Duration // within which it must have connected; 0 means 30 s
}

// Options are what a [Client] is made from.
type Options struct {
	Servers []ServerConfig
	Runner  workspace.Runner // starts servers that are programs, in a sandbox if it has one

	// Root is the directory that servers which are programs are offered as a root: that in
	// which agents work. Absolute; "": they are offered none.
	Root string

	// Dir is where servers that are programs start if their configuration does not say
	// it. "": where the Runner starts programs.
	Dir string

	// Check, if not nil, is called before a server that is a program is started, each
	// time. It returns why it may not.
	Check func(context.Context, ServerConfig) error

	// Approvals say which tools a person approved. If nil, every tool is
	// offered.
	Approvals *Approvals

	// DeferAbove is the number of tools above which agents do not get their
	// descriptions, but find_tools, which searches them. 0 means 40.
	DeferAbove int

	// Dial opens HTTP connections to hosts that the configuration does not
	// name. If nil, a [net.Dialer] does.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// SignIn signs in to servers that want OAuth. If nil, these servers fail.
	SignIn *SignIn

	// Say, if not nil, is called with lines that a person should read. It may be
	// called by several goroutines at once.
	Say func(line string)

	Version string // of this program, for the servers
}

// A Client is connected to servers and offers their tools to agents. It is safe
// for concurrent use.
type Client struct {
	opts Options

	life   context.Context // canceled by Close
	ending context.CancelFunc
	work   sync.WaitGroup // goroutines that Close waits for

	setting sync.Mutex // held by Set

	mu      sync.Mutex        // guards the fields below
	list    []*link           // by name; the slice is replaced, never changed
	names   map[origin]string // names of tools; a tool keeps its name
	taken   map[string]origin // the reverse
	flights map[callKey]*flight
	told    map[string]map[string]bool // the tools that a session knows of
	closed  bool
}

// NewClient returns a client of the servers. It connects to them in
// [Client.Start], or to one when that is needed. It panics if two servers have
// the same name, which is a programmer's mistake.
func NewClient(o Options) *Client {
	c := &Client{
		opts: o, names: map[origin]string{}, taken: map[string]origin{},
		flights: map[callKey]*flight{}, told: map[string]map[string]bool{},
	}
	c.opts.DeferAbove = cmp.Or(o.DeferAbove, 40)
	c.life, c.ending = context.WithCancel(context.Background())
	c.list, _, _ = c.relink(o.Servers)
	for _, name := range fixedNames {
		c.taken[name] = origin{tool: name}
	}
	return c
}

// relink returns the links of these servers, by name: those that are there, where nothing
// has changed, and new ones. The others that are there are gone.
func (c *Client) relink(servers []ServerConfig) (list, came, gone []*link) {
	kept := make(map[*link]bool)
	for _, s := range servers {
		s.Timeout, s.StartTimeout = cmp.Or(s.Timeout, 60*time.Second), cmp.Or(s.StartTimeout, 30*time.Second)
		if slices.ContainsFunc(list, func(l *link) bool { return l.cfg.Name == s.Name }) {
			panic(fmt.Sprintf("mcp: two servers are called %q", s.Name))
		}
		l := c.link(s.Name)
		if l == nil || !reflect.DeepEqual(l.cfg, s) {
			l = newLink(c, s)
			came = append(came, l)
		}
		list, kept[l] = append(list, l), true
	}
	for _, l := range c.links() {
		if !kept[l] {
			gone = append(gone, l)
		}
	}
	slices.SortFunc(list, func(a, b *link) int { return cmp.Compare(a.cfg.Name, b.cfg.Name) })
	return list, came, gone
}

// Set replaces the servers, also while agents use the client. It leaves alone those that
// have not changed, but for what a person approved of them meanwhile, connects to the new ones as [Client.Start] does, and ends the others with
// their calls. Agents keep the tools that [Client.Tools] gave them, so that their requests
// begin as before: find_tools and use_tool reach what is new, the next result of a server
// names it, and a tool of a server that is gone says so. It panics as [NewClient] does.
func (c *Client) Set(ctx context.Context, servers []ServerConfig) {
	c.setting.Lock()
	defer c.setting.Unlock()
	list, came, gone := c.relink(servers)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.list = list
	c.mu.Unlock()
	for _, l := range list {
		l.changed() // a person may have approved tools meanwhile
	}
	var all sync.WaitGroup
	for _, l := range gone {
		all.Go(l.close)
	}
	c.start(ctx, came)
	all.Wait()
}

// Start connects to all servers at once, and returns when each has answered or
// failed. It takes as long as the slowest server, and at most its StartTimeout.
// [Options].Say reports a server that failed. The client connects to it again
// when it is used.
func (c *Client) Start(ctx context.Context) { c.start(ctx, c.links()) }

// start connects to these servers.
func (c *Client) start(ctx context.Context, links []*link) {
	var all sync.WaitGroup
	for _, l := range links {
		all.Go(func() {
			if _, err := l.connected(ctx); err != nil && ctx.Err() == nil {
				c.say("%s: %v; its tools are left out", clip.Clean(l.cfg.Name), err)
			}
		})
	}
	all.Wait()
}

// Close ends every call that is under way and every server, and waits for them. Tools of
// the client return errors from then on.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.ending()
	c.setting.Lock() // a Set that is under way ends soon
	defer c.setting.Unlock()
	var all sync.WaitGroup
	for _, l := range c.links() {
		all.Go(l.close)
	}
	all.Wait()
	c.work.Wait()
	return nil
}

var errClosed = errors.New("the MCP client is closed")

// background runs f in a goroutine that Close waits for. It returns false if
// the client is closed.
func (c *Client) background(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// say reports a line to the person, if anything listens.
func (c *Client) say(format string, a ...any) {
	if c.opts.Say != nil {
		c.opts.Say(fmt.Sprintf(format, a...))
	}
}

// links returns the servers, by name. The slice does not change.
func (c *Client) links() []*link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

// link returns the server with the name, or nil.
func (c *Client) link(name string) *link {
	for _, l := range c.links() {
		if l.cfg.Name == name {
			return l
		}
	}
	return nil
}

// offered returns the tools that may be called now, by name, and those that are
// held. It names new tools, all at once, so that names do not depend on which
// server was faster.
func (c *Client) offered() (tools, held []*remote) {
	var all []*remote
	for _, l := range c.links() {
		if list := l.known(); list != nil {
			all = append(all, list.tools...)
		}
	}
	c.name(all)
	for _, t := range all {
		if t.held != "" {
			held = append(held, t)
		} else {
			tools = append(tools, t)
		}
	}
	byName := func(a, b *remote) int { return cmp.Compare(a.spec.Name, b.spec.Name) }
	slices.SortFunc(tools, byName)
	slices.SortFunc(held, byName)
	return tools, held
}

// Tools returns the tools for agents, in an order that depends only on their
// names: the tools of the servers, or where these are many, find_tools;
// use_tool for tools that come later; and the tools for resources and prompts,
// if a server has some. find_tools describes deferred ones, too. The list is empty if
// there is no server and nothing is deferred.
func (c *Client) Tools(deferred ...Deferred) []openmanus.Tool {
	if len(c.links()) == 0 && len(deferred) == 0 {
		return nil
	}
	var list []openmanus.Tool
	tools, _ := c.offered()
	if len(tools) <= c.opts.DeferAbove {
		for _, t := range tools {
			list = append(list, t)
		}
	}
	list = append(list, c.findTool(deferred), c.useTool())
	if c.any(func(l *listing) bool { return l.resources }) {
		list = append(list, c.resourcesTool())
	}
	if c.any(func(l *listing) bool { return l.prompts }) {
		list = append(list, c.promptsTool())
	}
	return list
}

// any reports whether f is true of what some server offers.
func (c *Client) any(f func(*listing) bool) bool {
	return slices.ContainsFunc(c.links(), func(l *link) bool {
		list := l.known()
		return list != nil && f(list)
	})
}

// A Status is the state of a server.
type Status struct {
	Name     string
	Err      error         // why it cannot be used; nil if it is connected
	Took     time.Duration // to connect
	Protocol string        // the version of the protocol
	Software string        // the name and version that the server gives itself
	Tools    []ToolStatus
	Notes    []string // problems with what it offers
}

// A ToolStatus is the state of a tool of a server.
type ToolStatus struct {
	Name        string // for agents
	Original    string // at the server
	Description string
	Held        string // why it is not offered; "" if it is offered
}

// Status returns the state of every server, in the order of their names: whether it is
// connected, and why not. It waits for none.
func (c *Client) Status() []Status {
	var all []Status
	for _, l := range c.links() {
		all = append(all, l.status())
	}
	return all
}
