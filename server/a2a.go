package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/server/a2a"
)

// Where the bindings of A2A are.
const (
	a2aRPC  = "/a2a"
	a2aREST = "/a2a/v1"
	a2aCard = "/.well-known/agent-card.json"
	a2aOld  = "/.well-known/agent.json" // where agents that speak an older version look
	a2aKeys = "/.well-known/jwks.json"
)

// a2aRoutes serves the protocol A2A, if the server offers it, in both bindings: see
// package a2a.
func (s *Server) a2aRoutes(mux *http.ServeMux) {
	if !s.A2A {
		return
	}
	events := func(w http.ResponseWriter) func(string, []byte) error { return newStream(w).sendEvent }
	a := &a2aService{s}
	rpc := a2a.JSONRPC(a, events, s.baseOf)
	mux.Handle("POST "+a2aRPC, rpc)
	mux.Handle("POST "+a2aRPC+"/{$}", rpc) // some clients add the slash
	mux.Handle(a2aREST+"/", a2a.REST(a, a2aREST, events, s.baseOf))
}

// sendEvent writes an event with an id, if it has one, and without a name; without
// data a comment.
func (s *stream) sendEvent(id string, data []byte) error {
	if data == nil {
		return s.comment()
	}
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "data: %s\n\n", data)
	return s.write(b.Bytes())
}

// baseOf returns the URL under which others reach the server, or this client did.
func (s *Server) baseOf(r *http.Request) string {
	if s.Public != "" {
		return s.Public
	}
	if r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// serveCard serves the card of the agent to anyone. It names no agents and no tools of
// this server; the extended card, for clients with a token, does.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	base := s.baseOf(r)
	card, err := (&a2aService{s}).card(base, []AgentInfo{{Name: "openmanus", Description: cardText}})
	if r.URL.Path == a2aOld {
		card = a2a.OldCard(card, base+a2aRPC)
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(card)
	}
	if err != nil {
		writeProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	sum := sha256.Sum256(data)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "max-age=300")
	h.Set("Last-Modified", s.began.UTC().Format(http.TimeFormat))
	h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	if r.Header.Get("If-None-Match") == h.Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(data) // an error means that the client is gone
}

// serveKeys serves the public key with which the card is signed to anyone.
func (s *Server) serveKeys(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/jwk-set+json")
	_ = json.NewEncoder(w).Encode(s.signer.Keys()) // an error means that the client is gone
}

const cardText = "Works on tasks in a workspace of its own: writes and runs code, reads and makes documents, " +
	"analyses data, finds things on the web. It asks before it does what needs approval."

// An a2aService does the operations of A2A for the user of a request.
type a2aService struct{ *Server }

// card returns a card with a skill for each agent.
func (a *a2aService) card(base string, agents []AgentInfo) (map[string]any, error) {
	var skills []any
	for _, g := range agents {
		tags := g.Tools
		if len(tags) == 0 {
			tags = []string{"code", "documents", "data", "web"}
		}
		skills = append(skills, map[string]any{"id": g.Name, "name": g.Name, "description": g.Description, "tags": tags})
	}
	bind := func(kind, path string) any {
		return map[string]any{"url": base + path, "protocolBinding": kind, "protocolVersion": a2a.Version}
	}
	card := map[string]any{
		"name": "OpenManus", "description": cardText, "version": a.Version,
		"supportedInterfaces": []any{bind("JSONRPC", a2aRPC), bind("HTTP+JSON", a2aREST)},
		"capabilities":        map[string]any{"streaming": true, "pushNotifications": a.pushes() != nil, "extendedAgentCard": true},
		"securitySchemes": map[string]any{"token": map[string]any{
			"httpAuthSecurityScheme": map[string]any{"scheme": "Bearer", "description": "The token of a user of this server."}}},
		"securityRequirements": []any{map[string]any{"schemes": map[string]any{"token": map[string]any{"list": []string{}}}}},
		"defaultInputModes":    []string{"text/plain", "application/json", "image/png", "image/jpeg"},
		"defaultOutputModes":   []string{"text/plain", "application/octet-stream"},
		"skills":               skills,
	}
	if a.signer == nil {
		return card, nil
	}
	return card, a.signer.Sign(card)
}

// Card implements [a2a.Service]: to users, the card has all agents.
func (a *a2aService) Card(ctx context.Context, base string) (any, error) {
	c, err := a.Host.Catalogue(ctx)
	if err != nil {
		return nil, err
	}
	return a.card(base, c.Agents)
}

// contextName are the names that clients may give to sessions.
var contextName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// contextPrefix is what the ids of the user's sessions begin with that were opened
// over A2A. The client's name follows.
func contextPrefix(ctx context.Context) string {
	sum := sha256.Sum256([]byte(userOf(ctx).Name))
	return "a2a-" + hex.EncodeToString(sum[:4]) + "-"
}

// projector returns a projector of a session's tasks.
func (a *a2aService) projector(ctx context.Context, info journal.SessionInfo) *a2a.Projector {
	name, ok := strings.CutPrefix(info.ID, contextPrefix(ctx))
	if !ok {
		name = info.ID
	}
	return &a2a.Projector{Session: info.ID, Context: name, File: func(path string) a2a.Part { return a.filePart(ctx, info, path) }}
}

// maxPart is the most bytes of a file that a task has in it.
const maxPart = 1 << 20

// filePart returns a file of the workspace: its content as it is now, if that is
// small, and otherwise where it is.
func (a *a2aService) filePart(ctx context.Context, info journal.SessionInfo, path string) a2a.Part {
	kind, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(path)), ";")
	at := url.URL{Path: "/api/v1/sessions/" + info.ID + "/files/" + path}
	part := a2a.Part{Filename: path, MediaType: cmp.Or(kind, "application/octet-stream"), URL: a.Public + at.EscapedPath()}
	root, err := a.openWorkspace(ctx, info.Workspace)
	if err != nil {
		return part
	}
	defer root.Close()
	f, stat, err := regular.Open(root, path)
	if err != nil {
		return part
	}
	defer f.Close()
	if stat.Size() == 0 || stat.Size() > maxPart {
		return part
	}
	if data, err := io.ReadAll(io.LimitReader(f, maxPart)); err == nil {
		part.Raw, part.URL = data, ""
	}
	return part
}

// project returns the tasks of a session as it is now, with the questions of its child
// sessions. It folds the whole journal.
func (a *a2aService) project(ctx context.Context, info journal.SessionInfo) (*a2a.Projector, error) {
	p := a.projector(ctx, info)
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, err
		}
		p.Apply(ev)
	}
	_, status, waiting, err := a.standingOf(ctx, info.ID)
	if status == openmanus.Waiting {
		p.Wait(asked(waiting))
	}
	return p, err
}

// standingOf returns how a session stands, and what waits in it and below it.
func (s *Server) standingOf(ctx context.Context, id string) (seq int64, status openmanus.Status, all []Waiting, err error) {
	err = s.states.view(ctx, id, func(st *openmanus.State) (err error) {
		seq = st.Seq
		status, all, err = standing(ctx, s.states.view, id, st)
		return err
	})
	return seq, status, all, err
}

// asked returns what waits, in words.
func asked(waiting []Waiting) string {
	var all []string
	for _, w := range waiting {
		all = append(all, a2a.Ask(w.Kind == string(openmanus.AskRuling), w.Tool, w.Input, w.Question, w.Shown, w.Call))
	}
	return strings.Join(all, "\n\n")
}

// task returns a task of the user, and its session. A task of another user is not found,
// like one that does not exist.
func (a *a2aService) task(ctx context.Context, id string) (journal.SessionInfo, *a2a.Task, error) {
	if id == "" {
		return journal.SessionInfo{}, nil, a2a.BadField("id", "it is required")
	}
	session, _, ok := a2a.SessionOf(id)
	if !ok {
		return journal.SessionInfo{}, nil, a2a.TaskNotFound(id)
	}
	info, err := a.ownSession(ctx, session)
	if errors.Is(err, openmanus.ErrNoSession) {
		return info, nil, a2a.TaskNotFound(id)
	}
	if err != nil {
		return info, nil, err
	}
	p, err := a.project(ctx, info)
	if err != nil {
		return info, nil, err
	}
	if t := p.Task(id); t != nil {
		return info, t, nil
	}
	return info, nil, a2a.TaskNotFound(id)
}

// Get implements [a2a.Service].
func (a *a2aService) Get(ctx context.Context, r *a2a.TaskRequest) (*a2a.Task, error) {
	_, t, err := a.task(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return t.With(r.History, true), nil
}

// Cancel implements [a2a.Service].
func (a *a2aService) Cancel(ctx context.Context, r *a2a.TaskRequest) (*a2a.Task, error) {
	info, t, err := a.task(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if t.Status.State.Ended() {
		return nil, a2a.NotCancelable(t.Status.State)
	}
	var ended *act.Error
	if _, err := a.acts().Interrupt(ctx, info.ID, ""); errors.As(err, &ended) {
		return nil, a2a.NotCancelable(t.Status.State)
	} else if err != nil {
		return nil, err
	}
	return a.Get(ctx, r)
}

// List implements [a2a.Service]. Without a context, it lists the tasks of the sessions
// that were opened over A2A.
func (a *a2aService) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskList, error) {
	size := 50
	if r.PageSize != nil {
		size = *r.PageSize
	}
	if r.Status == a2a.Unspecified {
		r.Status = ""
	}
	switch {
	case r.Status != "" && !r.Status.Known():
		return nil, a2a.BadField("status", fmt.Sprintf("%q is no state of a task, such as %s", r.Status, a2a.Completed))
	case size < 1 || size > 100:
		return nil, a2a.BadField("pageSize", "it must be from 1 to 100")
	case r.History != nil && *r.History < 0:
		return nil, a2a.BadField("historyLength", "it must not be negative")
	}
	after, err := base64.RawURLEncoding.DecodeString(r.PageToken)
	if err != nil {
		return nil, a2a.BadField("pageToken", "it is no token of this server")
	}
	all, err := a.tasks(ctx, r)
	if err != nil {
		return nil, err
	}
	key := func(t *a2a.Task) string { return time.Time(t.Status.Time).UTC().Format(time.RFC3339Nano) + " " + t.ID }
	slices.SortFunc(all, func(x, y *a2a.Task) int {
		if d := time.Time(y.Status.Time).Compare(time.Time(x.Status.Time)); d != 0 {
			return d
		}
		return strings.Compare(x.ID, y.ID)
	})
	out := &a2a.TaskList{Tasks: []a2a.Task{}, PageSize: size, Total: len(all)}
	if len(after) > 0 {
		i := slices.IndexFunc(all, func(t *a2a.Task) bool { return key(t) == string(after) })
		if i < 0 {
			return nil, a2a.BadField("pageToken", "the task that it stands at has changed: begin again")
		}
		all = all[i+1:]
	}
	for i, t := range all[:min(size, len(all))] {
		out.Tasks = append(out.Tasks, *t.With(r.History, r.Artifacts))
		if i == size-1 && len(all) > size {
			out.Next = base64.RawURLEncoding.EncodeToString([]byte(key(t)))
		}
	}
	out.PageSize = size
	return out, nil
}

// tasks returns the tasks that a request selects, the most recently changed sessions
// first.
func (a *a2aService) tasks(ctx context.Context, r *a2a.ListRequest) (all []*a2a.Task, err error) {
	add := func(info journal.SessionInfo) error {
		p, err := a.project(ctx, info)
		if err != nil {
			return err
		}
		for _, t := range p.Tasks {
			old := r.After != nil && time.Time(t.Status.Time).Before(time.Time(*r.After))
			if (r.Status == "" || r.Status == t.Status.State) && !old {
				all = append(all, t)
			}
		}
		return nil
	}
	if r.Context != "" {
		info, err := a.context(ctx, r.Context)
		if errors.Is(err, openmanus.ErrNoSession) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return all, add(info)
	}
	for info, err := range a.Store.Sessions(ctx, journal.ListOptions{Owner: userOf(ctx).Name, Roots: true}) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(info.ID, contextPrefix(ctx)) {
			if err := add(info); err != nil && !errors.Is(err, openmanus.ErrNoSession) {
				return nil, err
			}
		}
	}
	return all, nil
}

// context returns the session of the user that a client calls name.
func (a *a2aService) context(ctx context.Context, name string) (journal.SessionInfo, error) {
	info, err := a.ownSession(ctx, name)
	if errors.Is(err, openmanus.ErrNoSession) {
		return a.ownSession(ctx, contextPrefix(ctx)+name)
	}
	return info, err
}
