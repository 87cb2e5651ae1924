// Package mcpserved offers the agents of a [host.Host] to clients of the Model
// Context Protocol.
//
// A client sees the tools of one agent, with their schemas and hints, and a tool that
// gives a task to an agent and returns its answer. Calls pass the gate like those of a
// session. Where a person has to decide, the client is asked by elicitation if it can;
// otherwise the call is refused with the reason.
//
// Each client has its own state: the shell, the plan and the browser of one are not those
// of another. Everything ends with the client's session.
package mcpserved

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/mcp"
)

// A Server offers the tools of a host's configured agent to MCP clients,
// and the agent itself as the tool run_task. Sessions and the files in their
// workspaces are resources.
type Server struct {
	*mcp.Server
	exhibit *exhibit
	tools   io.Closer
}

// New returns a server for the configured agent. Its tools need no model;
// run_task does. The caller closes it before the host.
func New(h *host.Host) (*Server, error) {
	run := h.Config.Run
	agent, closer, err := h.BareAgent(openmanus.Spec{Agent: run.Agent, Workspace: run.Workspace, Approve: run.Approve, SandboxKind: h.Config.Sandbox.Kind})
	if err != nil {
		return nil, err
	}
	x := &exhibit{Host: h, before: make(map[string]host.Scan)}
	task := mcp.NewTask(mcp.Tasks{Journal: h.Store, Runtime: h.Local, Watch: h.Local.Watch, Open: x.open, Files: x.changed})
	s := mcp.NewServer(mcp.ServerOptions{
		Name: "openmanus", Version: h.Version, Tools: append(agent.Tools, task), Gate: agent.Gate, Blobs: journal.SessionBlobs(h.Store, h.Store, ""), Secrets: h.Secrets,
		Instructions: "Tools that work in " + run.Workspace + ". run_task has an agent do a whole task there.",
		Options:      &sdk.ServerOptions{CompletionHandler: x.complete, SubscribeHandler: x.subscribe, UnsubscribeHandler: x.unsubscribe},
	})
	x.add(s.MCP())
	x.updates.tell = s.MCP().ResourceUpdated
	return &Server{s, x, closer}, nil
}

// Close ends the connections of clients, and then everything that the tools keep running
// for them.
func (s *Server) Close() error {
	s.Server.Close()
	s.exhibit.updates.close()
	return s.tools.Close()
}

// An exhibit shows clients the sessions, and opens the sessions of their tasks.
type exhibit struct {
	*host.Host
	updates updates

	mu     sync.Mutex
	before map[string]host.Scan // what the files of a session's workspace were when it was opened
}

// open opens a session for a task. If the client cannot ask its user and the
// configuration does not say what may be done, nothing may be changed.
func (x *exhibit) open(ctx context.Context, id, prompt string) error {
	approve := x.Config.Run.Approve
	if !mcp.CanAsk(ctx) && !x.Config.Set("run.approve") {
		approve = openmanus.ApproveReadOnly
	}
	spec, err := x.NewSpec(ctx, func(spec *openmanus.Spec) { spec.Approve = approve })
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(spec.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	x.mu.Lock()
	x.before[id] = host.ScanFiles(ctx, root.FS(), x.Own(x.Config, spec.Workspace))
	x.mu.Unlock()
	said, err := host.Message(x.Dir, prompt, nil)
	if err != nil {
		return err
	}
	said.ID = "task"
	_, err = x.Open(ctx, id, host.Opening{Spec: spec, Said: &said})
	return err
}

// changed returns the files that differ from when the session was opened.
func (x *exhibit) changed(ctx context.Context, id string) []mcp.File {
	x.mu.Lock()
	before, ok := x.before[id]
	delete(x.before, id)
	x.mu.Unlock()
	root, err := os.OpenRoot(x.Config.Run.Workspace)
	if !ok || err != nil {
		return nil // what was there before is not known
	}
	defer root.Close()
	var files []mcp.File
	for _, f := range host.Changes(before, host.ScanFiles(ctx, root.FS(), x.Own(x.Config, x.Config.Run.Workspace))) {
		files = append(files, mcp.File{Path: f.Path, Change: f.Change, Bytes: f.Bytes, URI: sessionsURI + "/" + id + "/files/" + escapedPath(f.Path)})
	}
	return files
}

// escapedPath returns a path for a URI.
func escapedPath(name string) string { return (&url.URL{Path: name}).EscapedPath() }

// sessionsURI is the URI of the list of sessions. Those of sessions and files
// begin with it.
const sessionsURI = "openmanus://sessions"

// add offers the sessions as resources.
func (x *exhibit) add(s *sdk.Server) {
	s.AddResource(&sdk.Resource{URI: sessionsURI, Name: "sessions", MIMEType: "application/json", Description: "The sessions, the newest first."}, x.list)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: sessionsURI + "/{id}", Name: "session", MIMEType: "application/json", Description: "How a session stands, and what happened in it."}, x.session)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: sessionsURI + "/{id}/files/{+path}", Name: "file", Description: "A file in the workspace of a session."}, x.file)
}

// How many sessions are listed, and how many events of one.
const (
	maxListed = 100
	maxEvents = 1000
)

// list reads the list of sessions: the newest ones that no other session opened.
func (x *exhibit) list(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	infos, err := summary.List(ctx, x.Store, journal.ListOptions{Limit: maxListed, Roots: true})
	if err != nil {
		return nil, err
	}
	return x.json(r.Params.URI, infos)
}

// json returns v as a resource in JSON. Secrets are replaced, since v may be from
// outside of the journal.
func (x *exhibit) json(uri string, v any) (*sdk.ReadResourceResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: x.Secrets.Replace(string(data))}}}, nil
}

// session reads how a session stands, and its last events.
func (x *exhibit) session(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, sessionsURI+"/"))
	if err != nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	s, err := openmanus.Load(ctx, x.Store, id)
	if err != nil || s.Seq == 0 {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	var events []openmanus.Event
	for ev, err := range x.Store.Events(ctx, id, max(0, s.Seq-maxEvents)) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return x.json(r.Params.URI, map[string]any{"summary": summary.Of(id, s, nil, []host.FileChange{}), "events": events})
}

// maxResource is the size of the largest file that a client may read, in bytes.
const maxResource = 10 << 20

// file reads a file of a session's workspace. Links lead neither out of it nor
// into the program's own directories.
func (x *exhibit) file(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	none := sdk.ResourceNotFoundError(r.Params.URI)
	id, name, ok := strings.Cut(strings.TrimPrefix(r.Params.URI, sessionsURI+"/"), "/files/")
	name, err := url.PathUnescape(name)
	if !ok || err != nil || !fs.ValidPath(name) {
		return nil, none
	}
	s, err := openmanus.Load(ctx, x.Store, id)
	if err != nil || s.Config.Workspace == "" {
		return nil, none
	}
	ws, err := x.Files(x.Config, s.Config.Workspace)
	if err != nil {
		return nil, none
	}
	defer ws.Close()
	info, err := fs.Stat(ws.FS(), name)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return nil, none
	case info.Size() > maxResource:
		return nil, fmt.Errorf("the file has %d bytes, and at most %d are read", info.Size(), maxResource)
	}
	data, err := fs.ReadFile(ws.FS(), name)
	if err != nil {
		return nil, none
	}
	c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: mime.TypeByExtension(path.Ext(name))}
	if utf8.Valid(data) {
		c.Text = x.Secrets.Replace(string(data))
	} else {
		c.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}
