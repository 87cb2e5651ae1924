package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// routes are all operations of the API.
func (s *Server) routes() {
	const one = "/api/v1/sessions/{id}"
	tag := func(t string) func(*huma.Operation) { return func(o *huma.Operation) { o.Tags = []string{t} } }
	sessions, acts, content, about := tag("sessions"), tag("acts"), tag("content"), tag("about")

	op(s, http.MethodPost, "/api/v1/sessions", "create-session", "Create a session", s.create, sessions, status(http.StatusCreated))
	op(s, http.MethodGet, "/api/v1/sessions", "list-sessions", "List sessions, the newest first, or search them", s.list, sessions)
	op(s, http.MethodGet, one, "read-session", "How a session stands", s.read, sessions)
	op(s, http.MethodPatch, one, "rename-session", "Give a session a title", s.rename, sessions)
	op(s, http.MethodDelete, one, "delete-session", "Delete a session that nobody drives", s.remove, sessions, status(http.StatusNoContent))
	op(s, http.MethodPost, one+"/fork", "fork-session", "Copy a session, up to an event", s.fork, sessions, status(http.StatusCreated))
	op(s, http.MethodGet, one+"/export", "export-session", "A session as one readable text file", s.export, sessions, produces("application/jsonl"))
	op(s, http.MethodGet, one+"/share", "share-session", "A session as one page that opens from disk", s.share, sessions, produces("text/html"))

	op(s, http.MethodPost, one+"/messages", "send-message", "Say something to a session; it goes on", s.say, acts, status(http.StatusAccepted), large)
	op(s, http.MethodPost, one+"/rulings", "rule", "Allow or deny a call that waits for approval", s.rule, acts, status(http.StatusAccepted))
	op(s, http.MethodPost, one+"/answers", "answer", "Answer a question of the agent", s.answer, acts, status(http.StatusAccepted))
	op(s, http.MethodPost, one+"/interrupt", "interrupt", "Interrupt what a session is doing", s.interrupt, acts, status(http.StatusAccepted))
	op(s, http.MethodPost, one+"/retry", "retry", "Let a session that failed or was stopped go on", s.retry, acts, status(http.StatusAccepted))

	op(s, http.MethodGet, one+"/events", "follow-events", "Every event as it happens (server-sent events), from after a sequence number on", s.events, content, produces("text/event-stream"))
	op(s, http.MethodGet, one+"/log", "read-events", "The events that there are", s.log, content)
	op(s, http.MethodGet, one+"/plan", "read-plan", "The plan, and how far it was after an event", s.plan, content)
	op(s, http.MethodGet, one+"/files", "list-files", "The files of the workspace", s.files, content)
	op(s, http.MethodGet, one+"/files/{path...}", "read-file", "A file of the workspace, or a range of it", s.file, content, produces("application/octet-stream"))
	op(s, http.MethodPut, one+"/files/{path...}", "write-file", "Put a file into the workspace", s.upload, content, status(http.StatusNoContent), large)
	op(s, http.MethodGet, one+"/blobs/{ref}", "read-blob", "The whole of an output that is cut in the events", s.blob, content, produces("application/octet-stream"))

	op(s, http.MethodGet, "/api/v1/agents", "list-agents", "The agents", s.agents, about)
	op(s, http.MethodGet, "/api/v1/tools", "list-tools", "The tools", s.tools, about)
	op(s, http.MethodGet, "/api/v1/models", "list-models", "The models", s.models, about)
	op(s, http.MethodGet, "/api/v1/usage", "usage", "Tokens and money of all your sessions", s.usage, about)
}

// op registers an operation. Its errors become problem documents.
func op[In, Out any](s *Server, method, path, id, summary string, do func(context.Context, *In) (*Out, error), more ...func(*huma.Operation)) {
	o := huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: 1 << 20}
	for _, m := range more {
		m(&o)
	}
	huma.Register(s.api, o, func(ctx context.Context, in *In) (*Out, error) {
		out, err := do(ctx, in)
		return out, s.problem(ctx, err)
	})
}

// status is the status of an operation that succeeds, if it is not 200.
func status(n int) func(*huma.Operation) { return func(o *huma.Operation) { o.DefaultStatus = n } }

// large lets a request carry files.
func large(o *huma.Operation) { o.MaxBodyBytes, o.BodyReadTimeout = maxBody, bodyTimeout }

// produces says what an operation answers with that is not JSON.
func produces(mime string) func(*huma.Operation) {
	return func(o *huma.Operation) {
		o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{mime: {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	}
}

// OneSession is a request about one session.
type OneSession struct {
	ID string `path:"id" maxLength:"255" doc:"The id of a session."`
}

// list is an answer with several things.
type list[T any] struct {
	Body struct {
		Items []T `json:"items"`
	}
}

func listOf[T any](items []T) *list[T] {
	l := new(list[T])
	if l.Body.Items = items; items == nil {
		l.Body.Items = []T{}
	}
	return l
}

func (s *Server) agents(ctx context.Context, _ *struct{}) (*list[AgentInfo], error) {
	c, err := s.Host.Catalogue(ctx)
	return listOf(c.Agents), err
}

func (s *Server) tools(ctx context.Context, _ *struct{}) (*list[ToolInfo], error) {
	c, err := s.Host.Catalogue(ctx)
	return listOf(c.Tools), err
}

func (s *Server) models(ctx context.Context, _ *struct{}) (*list[ModelInfo], error) {
	c, err := s.Host.Catalogue(ctx)
	return listOf(c.Models), err
}
