package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/journal"
)

// routes registers all operations of the API.
func (s *Server) routes() {
	const one = "/api/v1/sessions/{id}"
	tag := func(t string) option { return func(o *huma.Operation) { o.Tags = []string{t} } }
	sessions, acts, content, about := tag("sessions"), tag("acts"), tag("content"), tag("about")
	created, accepted, noContent := status(http.StatusCreated), status(http.StatusAccepted), status(http.StatusNoContent)
	binary := produces("application/octet-stream")

	op(s, "POST /api/v1/sessions", "create-session", "Create a session", s.create, sessions, created)
	op(s, "GET /api/v1/sessions", "list-sessions", "List sessions, the most recently updated first, or search them", s.list, sessions)
	on(s, "GET "+one, "read-session", "Read a session's status", s.read, sessions)
	on(s, "PATCH "+one, "change-session", "Change a session's title, model or approval mode", s.change, sessions)
	on(s, "DELETE "+one, "delete-session", "Delete a session that is not running", s.remove, sessions, noContent)
	on(s, "POST "+one+"/fork", "fork-session", "Copy a session, up to an event", s.fork, sessions, created)
	on(s, "GET "+one+"/export", "export-session", "Export a session to a text file", s.export, sessions, produces("application/jsonl"))
	on(s, "GET "+one+"/share", "share-session", "Export a session to an HTML page that opens from disk", s.share, sessions, produces("text/html"))

	on(s, "POST "+one+"/messages", "send-message", "Send a message to a session and wake it", s.sendMessage, acts, accepted, large)
	on(s, "POST "+one+"/rulings", "rule", "Allow or deny a call that waits for approval", s.rule, acts, accepted)
	on(s, "POST "+one+"/preview", "preview-call", "Read what a call that waits for approval would do with other arguments", s.preview, acts)
	on(s, "POST "+one+"/answers", "answer", "Answer a question of the agent", s.answer, acts, accepted)
	on(s, "POST "+one+"/interrupt", "interrupt", "Interrupt a session", s.interrupt, acts, accepted)
	on(s, "POST "+one+"/retry", "retry", "Continue a session that failed or was stopped", s.retry, acts, accepted)

	op(s, "POST /api/v1/logins", "create-login", "Make a link that signs another browser in, once", s.signInLink, about, created)

	op(s, "POST /api/v1/agui", "run-agui", "Run an agent for an AG-UI client, as server-sent events", s.agui, acts, large, produces("text/event-stream"))

	on(s, "GET "+one+"/events", "follow-events", "Stream events, stored and provisional, as server-sent events", s.events, content, produces("text/event-stream"))
	op(s, "GET /api/v1/events", "follow-all", "Stream events of several sessions, and beats, as server-sent events", s.feed, content, produces("text/event-stream"))
	on(s, "GET "+one+"/log", "read-events", "Read stored events", s.log, content)
	on(s, "GET "+one+"/plan", "read-plan", "Read the plan and its progress, now or after an event", s.plan, content)
	on(s, "POST "+one+"/plan/approve", "approve-plan", "Approve the plan that an agent in plan mode proposes, perhaps edited", s.approvePlan, acts, accepted, large)
	on(s, "GET "+one+"/files", "list-files", "List the files of the workspace", s.files, content)
	on(s, "GET "+one+"/files/{path...}", "read-file", "Read a file of the workspace, or a range of it", s.file, content, binary)
	on(s, "PUT "+one+"/files/{path...}", "write-file", "Write a file of the workspace", s.upload, content, noContent, large)
	on(s, "GET "+one+"/zip", "read-files-as-zip", "Read files of the workspace as a ZIP archive", s.zip, content, produces("application/zip"))
	on(s, "GET "+one+"/blobs/{ref}", "read-blob", "Read the whole of an output that events contain in part", s.blob, content, binary)

	on(s, "POST "+one+"/rewind", "rewind-session", "Undo what a session changed in files and what was said since an event", s.rewind, acts)
	on(s, "POST "+one+"/redo", "redo-session", "Take back the last rewind", s.redo, acts)
	on(s, "GET "+one+"/diff", "read-diff", "Read what calls of the session changed in the workspace", s.diff, content)
	on(s, "GET "+one+"/past", "list-past-files", "List the files of the workspace as they were after an event", s.past, content)
	on(s, "GET "+one+"/past/{path...}", "read-past-file", "Read a file of the workspace as it was after an event", s.pastFile, content, binary)

	on(s, "GET "+one+"/document/{path...}", "read-document", "Read a document, such as an Office file, as Markdown", s.document, content)

	on(s, "GET "+one+"/screen", "watch-browser", "Stream what the session's browser shows, as server-sent events", s.screen, content, produces("text/event-stream"))
	on(s, "POST "+one+"/screen/takeover", "take-over-browser", "Take over the session's browser: the agent's calls wait", s.takeOver, acts, noContent)
	on(s, "DELETE "+one+"/screen/takeover", "hand-back-browser", "Hand the browser back to the agent", s.handBack, acts, noContent)
	on(s, "POST "+one+"/screen/input", "use-browser", "Use the pointer and the keyboard in a browser that was taken over", s.screenInput, acts, noContent)

	s.scheduleRoutes(tag("schedules"))
	s.webhookRoutes(tag("webhooks"))
	s.pushRoutes(about)
	s.settingsRoutes(tag("settings"))
	op(s, "GET /api/v1/agents", "list-agents", "List the agents", s.agents, about)
	op(s, "GET /api/v1/tools", "list-tools", "List the tools", s.tools, about)
	op(s, "GET /api/v1/models", "list-models", "List the models", s.models, about)
	op(s, "GET /api/v1/usage", "usage", "Read the tokens and the cost of all your sessions", s.usage, about)
}

// An option changes an operation.
type option = func(*huma.Operation)

// op registers an operation under a route, which is a method and a path. do
// may return any error: see [Server.problem].
func op[In, Out any](
	s *Server, route, id, summary string, do func(context.Context, *In) (*Out, error), options ...option,
) {
	method, path, _ := strings.Cut(route, " ")
	o := huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: 1 << 20}
	for _, option := range options {
		option(&o)
	}
	huma.Register(s.api, o, func(ctx context.Context, in *In) (*Out, error) {
		out, err := do(ctx, in)
		return out, s.problem(ctx, err)
	})
}

// on registers an operation on a session of the user who makes the request. To
// other users it responds as if the session did not exist. info is the index
// entry of the session at the time of the request.
func on[In, Out any, P interface {
	*In
	sessionID() string
}](
	s *Server, route, id, summary string,
	do func(ctx context.Context, info journal.SessionInfo, in P) (*Out, error), options ...option,
) {
	op(s, route, id, summary, func(ctx context.Context, in *In) (*Out, error) {
		info, err := s.ownSession(ctx, P(in).sessionID())
		if err != nil {
			return nil, err
		}
		return do(ctx, info, in)
	}, options...)
}

// status sets the status of success, which is 200 otherwise.
func status(n int) option { return func(o *huma.Operation) { o.DefaultStatus = n } }

// large lets a request carry files.
func large(o *huma.Operation) { o.MaxBodyBytes, o.BodyReadTimeout = maxBody, bodyTimeout }

// produces sets the media type of the response, which is JSON otherwise.
func produces(mime string) option {
	return func(o *huma.Operation) {
		content := map[string]*huma.MediaType{mime: {Schema: &huma.Schema{Type: huma.TypeString}}}
		o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	}
}

// OneSession is the part of a request that names its session.
type OneSession struct {
	ID string `path:"id" maxLength:"255" doc:"The id of a session."`
}

// sessionID returns the id by which [on] looks up the session.
func (o *OneSession) sessionID() string { return o.ID }

// list is a response with several items.
type list[T any] struct {
	Body struct {
		Items []T `json:"items"`
	}
}

// listOf returns a list whose JSON has an array, also if items is nil.
func listOf[T any](items []T) *list[T] {
	l := new(list[T])
	if l.Body.Items = items; items == nil {
		l.Body.Items = []T{}
	}
	return l
}

// agents, tools and models return parts of the host's catalogue.
func (s *Server) agents(ctx context.Context, _ *struct{}) (*list[AgentInfo], error) {
	c, err := s.Host.Catalogue(ctx)
	return listOf(c.Agents), err
}

// tools returns the tools of all agents, each once.
func (s *Server) tools(ctx context.Context, _ *struct{}) (*list[ToolInfo], error) {
	c, err := s.Host.Catalogue(ctx)
	return listOf(c.Tools), err
}

// models returns the models by the names that a request may use.
func (s *Server) models(ctx context.Context, _ *struct{}) (*list[ModelInfo], error) {
	c, err := s.Host.Catalogue(ctx)
	return listOf(c.Models), err
}
