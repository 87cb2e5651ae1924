package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/mcp"
)

// mcpServeCmd is openmanus mcp serve.
type mcpServeCmd struct {
	HTTP         string   `name:"http" help:"Serve streamable HTTP here instead of standard input and output: HOST:PORT. Port 0 picks one." placeholder:"ADDR"`
	Host         []string `help:"A name by which clients reach it over HTTP, besides those of this machine." placeholder:"NAME"`
	Agent        string   `help:"The agent whose tools these are, and who does tasks." placeholder:"NAME"`
	Model        string   `help:"The model for tasks." placeholder:"PROVIDER/NAME"`
	BaseURL      string   `help:"The endpoint of that model." placeholder:"URL"`
	Workspace    string   `help:"Where the tools work. Default: the current directory." placeholder:"DIR"`
	Sandbox      string   `help:"What commands run in: auto, bubblewrap, landlock, docker, gvisor, or none." enum:",auto,bubblewrap,landlock,docker,gvisor,none" default:"" placeholder:"KIND"`
	MaxSteps     int      `help:"Stop a task after so many replies of the model." placeholder:"N"`
	BudgetTokens int      `help:"Stop a task when it has used so many tokens." placeholder:"N"`
	MaxCost      string   `help:"Stop a task when it has cost so much, in US dollars." placeholder:"USD"`
	Timeout      string   `help:"Stop a task after so much time at work." placeholder:"DURATION"`
	Approve      string   `help:"What may be done: ask, edits, all, readonly. Default: the person at the client is asked; where that cannot be, readonly." enum:",ask,edits,all,readonly" default:"" placeholder:"MODE"`
}

// Help is more of the command.
func (mcpServeCmd) Help() string {
	return `Clients get the tools of the agent, and run_task, by which the agent itself does a task. Sessions and their files are resources.

Over HTTP, the first line on standard output is the address and the second the header that clients send, "Authorization: Bearer TOKEN". The token is that of OPENMANUS_MCP_TOKEN, or a new one.`
}

func (c *mcpServeCmd) flags() map[string]string {
	return runFlags{Agent: c.Agent, Model: c.Model, BaseURL: c.BaseURL, Workspace: c.Workspace, Sandbox: c.Sandbox, MaxSteps: c.MaxSteps,
		BudgetTokens: c.BudgetTokens, MaxCost: c.MaxCost, Timeout: c.Timeout, Approve: c.Approve}.flags()
}

// Run implements the command.
func (c *mcpServeCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, err := t.open(g, c.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	s, err := a.mcpServer()
	if err != nil {
		return err
	}
	defer s.Close() // clients that are still there
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.HTTP != "" {
		return c.serveHTTP(ctx, t, s, string(a.Config.MCP.Token))
	}
	out, ok := bare(t.out).(io.WriteCloser)
	if !ok {
		return errors.New("standard output is not to be written to")
	}
	fmt.Fprintln(t.err, "openmanus: speaking MCP on standard input and output; a client starts this program itself")
	if err := s.Serve(ctx, t.in, out); ctx.Err() == nil {
		return err
	}
	return nil
}

func (c *mcpServeCmd) serveHTTP(ctx context.Context, t *terminal, s *mcp.Server, token string) error {
	if token == "" {
		token = rand.Text()
	}
	if len(token) < 16 {
		return usage(errors.New("[mcp] token: it has at least 16 characters"))
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
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.Close() // what hangs on a client does not end by itself
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		srv.Close()
	}
	<-served
	return nil
}

// mcpServer is the server of the configured agent's tools, and of the agent.
func (a *app) mcpServer() (*mcp.Server, error) {
	dir := a.Config.Run.Workspace
	agent, closer, err := a.BareAgent(openmanus.Spec{Agent: a.Config.Run.Agent, Workspace: dir, Approve: a.Config.Run.Approve, SandboxKind: a.Config.Sandbox.Kind})
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, closer)
	x := &exhibit{app: a, before: make(map[string]host.Scan)}
	tools := append(agent.Tools, mcp.NewTask(mcp.Tasks{Journal: a.db, Runtime: a.Local, Watch: a.Local.Watch, Open: x.open, Files: x.changed}))
	s := mcp.NewServer(mcp.ServerOptions{
		Name: "openmanus", Version: thisBuild().Version, Tools: tools, Gate: agent.Gate, Blobs: a.db, Secrets: a.Local.Secrets,
		Instructions: "Tools that work in " + dir + ". run_task has an agent do a whole task there.",
	})
	x.add(s.MCP())
	return s, nil
}

// An exhibit shows clients the sessions, and opens those of their tasks.
type exhibit struct {
	*app
	mu     sync.Mutex
	before map[string]host.Scan // how the files of a session's workspace were
}

// open opens a session for a task. Where nobody can be asked, and nobody said
// what may be done, nothing may be changed.
func (x *exhibit) open(ctx context.Context, id, prompt string) error {
	approve := x.Config.Run.Approve
	if !mcp.CanAsk(ctx) && !x.Config.Set("run.approve") {
		approve = openmanus.ApproveReadOnly
	}
	spec, err := x.newSpec(ctx, func(spec *openmanus.Spec) { spec.Approve = approve })
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(spec.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	x.mu.Lock()
	x.before[id] = host.ScanFiles(ctx, root.FS(), x.own(spec.Workspace))
	x.mu.Unlock()
	said, err := x.t.request(prompt, nil)
	if err != nil {
		return err
	}
	said.ID = "task"
	_, err = x.Open(ctx, id, host.Opening{Spec: spec, Said: &said})
	return err
}

// changed are the files that differ from when the session was opened.
func (x *exhibit) changed(ctx context.Context, id string) []mcp.File {
	x.mu.Lock()
	before, ok := x.before[id]
	delete(x.before, id)
	x.mu.Unlock()
	root, err := os.OpenRoot(x.Config.Run.Workspace)
	if !ok || err != nil {
		return nil // what was there before is not known: nothing is said
	}
	defer root.Close()
	var files []mcp.File
	for _, f := range host.Changes(before, host.ScanFiles(ctx, root.FS(), x.own(x.Config.Run.Workspace))) {
		files = append(files, mcp.File{Path: f.Path, Change: f.Change, Bytes: f.Bytes, URI: sessionsURI + "/" + id + "/files/" + escapedPath(f.Path)})
	}
	return files
}

// own is where the program keeps its own things, relative to the workspace
// dir; "" if that is elsewhere.
func (x *exhibit) own(dir string) string {
	rel, err := filepath.Rel(dir, x.Config.DataDir)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

func escapedPath(name string) string { return (&url.URL{Path: name}).EscapedPath() }

const sessionsURI = "openmanus://sessions"

// add offers the sessions as resources.
func (x *exhibit) add(s *sdk.Server) {
	s.AddResource(&sdk.Resource{URI: sessionsURI, Name: "sessions", MIMEType: "application/json", Description: "The sessions, the newest first."}, x.list)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: sessionsURI + "/{id}", Name: "session", MIMEType: "application/json", Description: "How a session stands, and what happened in it."}, x.session)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: sessionsURI + "/{id}/files/{+path}", Name: "file", Description: "A file in the workspace of a session."}, x.file)
}

// maxListed is how many sessions, and how many events of one, are shown.
const (
	maxListed = 100
	maxEvents = 1000
)

func (x *exhibit) list(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	infos, err := x.infos(ctx, journal.ListOptions{Limit: maxListed, Roots: true})
	if err != nil {
		return nil, err
	}
	return x.json(r.Params.URI, infos)
}

func (x *exhibit) json(uri string, v any) (*sdk.ReadResourceResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: x.Local.Secrets.Replace(string(data))}}}, nil
}

func (x *exhibit) session(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, sessionsURI+"/"))
	if err != nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	s, err := openmanus.Load(ctx, x.db, id)
	if err != nil || s.Seq == 0 {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	var events []openmanus.Event
	for ev, err := range x.db.Events(ctx, id, max(0, s.Seq-maxEvents)) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return x.json(r.Params.URI, map[string]any{"summary": summarize(id, s, nil, []host.FileChange{}), "events": events})
}

// maxResource is how large a file is that a client may read.
const maxResource = 10 << 20

// file reads a file of a session's workspace. Nothing leads out of it.
func (x *exhibit) file(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	none := sdk.ResourceNotFoundError(r.Params.URI)
	id, name, ok := strings.Cut(strings.TrimPrefix(r.Params.URI, sessionsURI+"/"), "/files/")
	name, err := url.PathUnescape(name)
	if !ok || err != nil || !fs.ValidPath(name) {
		return nil, none
	}
	s, err := openmanus.Load(ctx, x.db, id)
	if err != nil || s.Config.Workspace == "" {
		return nil, none
	}
	if own := x.own(s.Config.Workspace); own != "" && strings.HasPrefix(name+"/", own+"/") {
		return nil, none // keys and sessions
	}
	root, err := os.OpenRoot(s.Config.Workspace)
	if err != nil {
		return nil, none
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return nil, none
	case info.Size() > maxResource:
		return nil, fmt.Errorf("the file has %d bytes, and at most %d are read", info.Size(), maxResource)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, none
	}
	c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: mime.TypeByExtension(path.Ext(name))}
	if utf8.Valid(data) {
		c.Text = x.Local.Secrets.Replace(string(data))
	} else {
		c.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}
