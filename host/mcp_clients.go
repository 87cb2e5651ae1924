package host

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/mcp"
)

// serverClients has the client of MCP servers that all agents share, and the sign-ins.
type serverClients struct {
	making sync.Mutex // held while servers are started

	mu      sync.Mutex
	list    []config.MCPServer // in place of Options.Servers, if changed is set
	changed bool
	made    bool // client and err are set
	client  *mcp.Client
	err     error
	open    io.Closer // the client with what it runs in, if there is one
	signIns map[string]*signIn
	ended   bool

	signing sync.WaitGroup
}

// closeAll closes several, in order.
type closeAll []io.Closer

func (all closeAll) Close() error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// close ends the sign-ins that are under way, and closes all clients.
func (c *serverClients) close() error {
	c.mu.Lock()
	c.ended = true
	for _, in := range c.signIns {
		in.cancel()
	}
	open := c.open
	c.open = nil
	c.mu.Unlock()
	c.signing.Wait()
	if open == nil {
		return nil
	}
	return open.Close()
}

// CurrentServers returns the MCP servers that are configured now. They differ from
// [Options].Servers after a person has changed them while the program runs. Do not change
// the slice.
func (h *Host) CurrentServers() []config.MCPServer {
	h.servers.mu.Lock()
	defer h.servers.mu.Unlock()
	if h.servers.changed {
		return h.servers.list
	}
	return h.Servers
}

// WithServers returns a host like h, whose agents have these MCP servers as well. They
// come before those that are configured and have the same name. The caller closes it.
func (h *Host) WithServers(more []config.MCPServer) (*Host, error) {
	o := h.Options
	o.Servers = slices.Clone(more)
	for _, s := range h.CurrentServers() {
		if !slices.ContainsFunc(more, func(m config.MCPServer) bool { return m.Name == s.Name }) {
			o.Servers = append(o.Servers, s)
		}
	}
	for name, v := range h.mcpSecrets(more) {
		h.Secrets.Add(name, v)
	}
	return New(o)
}

// ReadServers reads the configured MCP servers again. Servers that are new are started and
// those that are gone are ended, also for the agents that exist: see [mcp.Client.Set].
func (h *Host) ReadServers(ctx context.Context) error {
	list, err := h.Env.Servers(h.Config)
	if err != nil {
		return err
	}
	for name, v := range h.mcpSecrets(list) {
		h.Secrets.Add(name, v)
	}
	c := &h.servers
	c.making.Lock()
	defer c.making.Unlock()
	c.mu.Lock()
	c.list, c.changed = list, true
	c.made = c.made && c.err == nil // what failed is tried again
	client := c.client
	c.mu.Unlock()
	if client == nil {
		return nil // the first agent starts them
	}
	servers, err := h.usable(ctx)
	if err != nil {
		return err
	}
	client.Set(ctx, servers)
	return nil
}

// mcpSecrets returns the secrets that MCP servers are given, by a name for their placeholders.
func (e Env) mcpSecrets(list []config.MCPServer) map[string]string {
	values := make(map[string]string)
	e.serverSecrets(list, values)
	return values
}

// connectedClient returns the client that agents of the host share. It is made and connected
// when the first agent is made. If that fails, it fails for every agent, until
// [Host.ReadServers]: the user has to mend the configuration.
func (h *Host) connectedClient(ctx context.Context) (*mcp.Client, error) {
	c := &h.servers
	c.making.Lock()
	defer c.making.Unlock()
	c.mu.Lock()
	client, made, err := c.client, c.made, c.err
	c.mu.Unlock()
	if made {
		return client, err
	}
	client, closer, err := h.connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.open, c.err, c.made = client, closer, err, true
	return client, err
}

// TryServer connects to one MCP server, whether it is approved or not, calls f with the
// connection unless it is nil, and returns the server's state. If the server wants a person
// to sign in, show shows them the link; with a nil show, that is an error. The error says why
// the server cannot be used, or is f's.
func (h *Host) TryServer(ctx context.Context, s config.MCPServer, show func(server, link string), f func(*mcp.Client) error) (mcp.Status, error) {
	ws, err := h.ServerWorkspace(ctx, h.Config)
	if err != nil {
		return mcp.Status{}, err
	}
	defer ws.Close()
	full, err := h.Expand(h.Config, s)
	if err != nil {
		return mcp.Status{}, err
	}
	o := h.ClientOptions(h.Config, ws)
	o.Servers, o.Say, o.SignIn.Show = []mcp.ServerConfig{full}, nil, show
	o.Check = h.startCheck(h.Config, func() []config.MCPServer { return []config.MCPServer{s} })
	c := mcp.NewClient(o)
	defer c.Close()
	c.Start(ctx)
	st := c.Status()[0]
	if st.Err != nil || f == nil {
		return st, st.Err
	}
	err = f(c)
	return c.Status()[0], err
}

// signInTime is how long a person may take to sign in to an MCP server. The mcp package waits
// for a shorter time, and this one is for what comes before and after.
const signInTime = 6 * time.Minute

// A signIn is a person's way to sign in to an MCP server. The channels are closed when there
// is a link, and when it has ended.
type signIn struct {
	shown, done chan struct{}
	link        string
	err         error
	cancel      context.CancelFunc
}

// SignIn signs in to an MCP server that wants it. It returns the link that the person has to
// open, or "" if the server could be used without; after that, [Host.SignedIn] says how it
// went. If that person is on another machine, the page that they come back to is not there:
// the link leads back to an address of this machine. A second call while the first is under
// way returns the same link.
func (h *Host) SignIn(ctx context.Context, s config.MCPServer) (link string, err error) {
	c := &h.servers
	c.mu.Lock()
	in := c.signIns[s.Name]
	if in == nil || isClosed(in.done) {
		if c.ended {
			c.mu.Unlock()
			return "", errors.New("the server is shutting down")
		}
		in = &signIn{shown: make(chan struct{}), done: make(chan struct{})}
		var life context.Context
		life, in.cancel = context.WithTimeout(context.WithoutCancel(ctx), signInTime)
		if c.signIns == nil {
			c.signIns = make(map[string]*signIn)
		}
		c.signIns[s.Name] = in
		c.signing.Go(func() {
			defer in.cancel()
			defer close(in.done)
			_, in.err = h.TryServer(life, s, in.show, nil)
		})
	}
	c.mu.Unlock()
	select {
	case <-in.shown:
		return in.link, nil
	case <-in.done:
		return "", in.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// show keeps the link. The server may show another one later; the first one is the person's.
func (in *signIn) show(_, link string) {
	if !isClosed(in.shown) {
		in.link = link
		close(in.shown)
	}
}

// SignedIn reports whether the sign-in to the MCP server with the name has ended, and if
// so whether it succeeded. Without a sign-in it has ended with an error.
func (h *Host) SignedIn(name string) (ended bool, err error) {
	h.servers.mu.Lock()
	in := h.servers.signIns[name]
	h.servers.mu.Unlock()
	switch {
	case in == nil:
		return true, errors.New("no sign-in to it has begun")
	case isClosed(in.done):
		return true, in.err
	}
	return false, nil
}

// isClosed reports whether a channel on which nothing is sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
