package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/openmanus-go/openmanus/host/mcpserved"
	"github.com/openmanus-go/openmanus/mcp"
)

// mcpServeCmd is openmanus mcp serve.
type mcpServeCmd struct {
	HTTP         string   `name:"http" help:"Serve streamable HTTP here instead of standard input and output: HOST:PORT. Port 0 picks one." placeholder:"ADDR"`
	Host         []string `help:"A name by which clients reach it over HTTP, besides those of this machine." placeholder:"NAME"`
	Agent        string   `help:"The agent whose tools are offered, and that does tasks." placeholder:"NAME"`
	Model        string   `help:"The model for tasks." placeholder:"PROVIDER/NAME"`
	BaseURL      string   `help:"The endpoint of that model." placeholder:"URL"`
	Workspace    string   `help:"Where the tools work. Default: the current directory." placeholder:"DIR"`
	AnyWorkspace bool     `help:"Allow a workspace with keys or the settings of programs, such as your home directory."`
	Sandbox      string   `help:"What commands run in: auto, bubblewrap, landlock, docker, gvisor, or none." enum:",auto,bubblewrap,landlock,docker,gvisor,none" default:"" placeholder:"KIND"`
	MaxSteps     string   `help:"Stop a task after this many replies of the model." placeholder:"N"`
	BudgetTokens string   `help:"Stop a task when it has used this many tokens." placeholder:"N"`
	MaxCost      string   `help:"Stop a task when it has cost this much, in US dollars." placeholder:"USD"`
	Timeout      string   `help:"Stop a task after this much working time, such as 90s or 1h; a bare number counts seconds." placeholder:"DURATION"`
	Approve      string   `help:"What may be done: ask, edits, all, readonly. Default: the client asks its user; if it cannot, readonly." enum:",ask,edits,all,readonly" default:"" placeholder:"MODE"`
}

// Help is more of the command.
func (mcpServeCmd) Help() string {
	return `Clients get the tools of the agent, and run_task, which has the agent do a task. Sessions and their files are resources.

Over HTTP, the first line on standard output is the address and the second the header that clients send, "Authorization: Bearer TOKEN". The token is that of OPENMANUS_MCP_TOKEN, or a new one.`
}

func (c *mcpServeCmd) flags() map[string]string {
	flags := flagsOf(*c)
	delete(flags, "http") // which sets no key
	return flags
}

// opened implements the command.
func (c *mcpServeCmd) opened(ctx context.Context, a *app) error {
	m, err := mcpserved.New(a.Host)
	if err != nil {
		return err
	}
	defer m.Close() // ends the connections of clients that are still there
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.HTTP != "" {
		return c.serveHTTP(ctx, a.t, m.Server, string(a.Config.MCP.Token))
	}
	out, ok := bare(a.t.out).(io.WriteCloser)
	if !ok {
		return errors.New("standard output cannot be written to")
	}
	fmt.Fprintln(a.t.err, "openmanus: speaking MCP on standard input and output; a client starts this program itself")
	if err := m.Serve(ctx, a.t.in, out); ctx.Err() == nil {
		return err
	}
	return nil
}

func (c *mcpServeCmd) serveHTTP(ctx context.Context, t *terminal, s *mcp.Server, token string) error {
	if token == "" {
		token = rand.Text()
	}
	if len(token) < 16 {
		return usage(errors.New("[mcp] token: it must have at least 16 characters"))
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.HTTP)
	if err != nil {
		return usage(fmt.Errorf("--http: %w", err))
	}
	hosts := c.Host
	if host, _, err := net.SplitHostPort(c.HTTP); err == nil && host != "" {
		hosts = append(hosts, strings.ToLower(host))
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler(mcp.HTTPOptions{Token: token, Hosts: hosts}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	fmt.Fprintf(bare(t.out).(io.Writer), "http://%s/mcp\nAuthorization: Bearer %s\n", l.Addr(), token)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Close() // what hangs on a client does not end by itself
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		srv.Close()
	}
	<-ended
	return nil
}
