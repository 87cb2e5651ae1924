package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// A ServerConfig says how one server is reached, and what it may do. It has a
// Command or a URL.
type ServerConfig struct {
	Name string
	ID   string // what it is approved as: see [Identity]; "": nothing is recorded of it, or held

	Command string            // a program that speaks over its input and output
	Args    []string          //
	Env     map[string]string // added to the environment of the Runner
	Dir     string            // where it runs, absolute

	URL     string
	Headers map[string]string // of every request to the URL's host
	Type    string            // "sse": only the older transport; "http": only the newer; "": whichever answers

	ClientID, ClientSecret string // of OAuth, where this client is registered already

	Trust        bool          // its hints are believed, and tools that it adds need no approval
	Allow        []string      // its tools that are offered, by its own names; none: all
	Deny         []string      // its tools that are not
	Timeout      time.Duration // of one call without progress; 0: 60 s
	StartTimeout time.Duration // until it must have answered; 0: 30 s
}

// Options are what a [Client] is made with.
type Options struct {
	Servers []ServerConfig
	Runner  workspace.Runner // starts the servers that are programs; a sandbox cages them

	// Approvals say which tools are as a person approved them. Nil: every
	// tool is offered as it is.
	Approvals *Approvals

	// DeferAbove is the number of tools above which their descriptions are
	// not put into every request, but found by find_tools. 0 means 40.
	DeferAbove int

	// Dial opens the connections of HTTP, but not those to hosts that the
	// configuration names. Nil: as [net.Dialer] does.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// SignIn keeps what a person granted by OAuth. Nil: servers that want it
	// fail, and say so.
	SignIn *SignIn

	// Say, if not nil, is told what a person should know, in one line. It
	// may be called by several goroutines at once.
	Say func(line string)

	Version string // of this program, for the servers
}

// A Client is connected to servers and offers their tools. It is safe for
// concurrent use.
type Client struct {
	opts  Options
	links []*link // by name

	life   context.Context // until Close
	ending context.CancelFunc
	work   sync.WaitGroup // goroutines that Close waits for

	mu      sync.Mutex
	names   map[origin]string // the names that were given, for good
	taken   map[string]origin
	flights map[callKey]*flight
	told    map[toldKey]map[string]bool // which tools of a server a session has heard of
	closed  bool
}

// NewClient returns a client of the servers. It connects when it is started,
// or to a server when that is needed. It panics if two servers have one name,
// which is the caller's mistake.
func NewClient(o Options) *Client {
	c := &Client{opts: o, names: map[origin]string{}, taken: map[string]origin{}, flights: map[callKey]*flight{}, told: map[toldKey]map[string]bool{}}
	c.opts.DeferAbove = cmp.Or(o.DeferAbove, 40)
	c.life, c.ending = context.WithCancel(context.Background())
	for _, s := range o.Servers {
		s.Timeout, s.StartTimeout = cmp.Or(s.Timeout, 60*time.Second), cmp.Or(s.StartTimeout, 30*time.Second)
		if c.link(s.Name) != nil {
			panic(fmt.Sprintf("mcp.NewClient: two servers are called %q", s.Name))
		}
		c.links = append(c.links, newLink(c, s))
	}
	slices.SortFunc(c.links, func(a, b *link) int { return cmp.Compare(a.cfg.Name, b.cfg.Name) })
	for _, name := range fixedNames {
		c.taken[name] = origin{tool: name}
	}
	return c
}

// Start connects to all servers at once, and returns when each has answered
// or failed. One that failed is told about by Say, and tried again when it is
// used. It takes as long as the slowest server, and at most its StartTimeout.
func (c *Client) Start(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range c.links {
		all.Go(func() {
			if _, err := l.connected(ctx); err != nil && ctx.Err() == nil {
				c.say("%s: %v; its tools are left out", clean(l.cfg.Name), err)
			}
		})
	}
	all.Wait()
}

// Close ends every call under way and every server, and waits for that.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.ending()
	var all sync.WaitGroup
	errs := make([]error, len(c.links))
	for i, l := range c.links {
		all.Go(func() { errs[i] = l.close() })
	}
	all.Wait()
	c.work.Wait()
	return errors.Join(errs...)
}

var errClosed = errors.New("the MCP client is closed")

// background runs f, unless the client is closed; Close waits for it.
func (c *Client) background(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

func (c *Client) say(format string, a ...any) {
	if c.opts.Say != nil {
		c.opts.Say(fmt.Sprintf(format, a...))
	}
}

// link returns the server with the name, or nil.
func (c *Client) link(name string) *link {
	for _, l := range c.links {
		if l.cfg.Name == name {
			return l
		}
	}
	return nil
}

// offered returns the tools that may be called now, by name, and those that
// are held. It gives names to those that are new: to all at once, so that
// names do not depend on which server was faster.
func (c *Client) offered() (tools, held []*remote) {
	var all []*remote
	for _, l := range c.links {
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

// Tools returns what agents get, in an order that depends on the names alone:
// the tools of the servers, or where they are many, those by which they are
// found; and what lets an agent use what comes later. It is empty if there is
// no server.
func (c *Client) Tools() []openmanus.Tool {
	if len(c.links) == 0 {
		return nil
	}
	var list []openmanus.Tool
	tools, _ := c.offered()
	if len(tools) <= c.opts.DeferAbove {
		for _, t := range tools {
			list = append(list, t)
		}
	}
	list = append(list, c.findTool(), c.useTool())
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
	return slices.ContainsFunc(c.links, func(l *link) bool {
		list := l.known()
		return list != nil && f(list)
	})
}

// A Status is how a server stands.
type Status struct {
	Name     string
	Err      error         // why it cannot be used; nil: it is connected
	Took     time.Duration // to connect
	Protocol string        // the version that is spoken
	Software string        // what the server calls itself
	Tools    []ToolStatus
	Notes    []string // what was wrong with what it offers
}

// A ToolStatus is how a tool of a server stands.
type ToolStatus struct {
	Name        string // here
	Original    string // at the server
	Description string
	Held        string // why it is not offered; "": it is
}

// Status says how every server stands, by name.
func (c *Client) Status() []Status {
	var all []Status
	for _, l := range c.links {
		all = append(all, l.status())
	}
	return all
}
