// Package server serves sessions over HTTP: an API with server-sent events, an
// OpenAI-compatible API in which each agent appears as a model, and a web page.
//
// A [Server] appends to journals, wakes sessions and follows them, and does
// nothing else: every other surface, in this process or another one on the
// same [Store], can do the same with the same sessions at the same time. It
// knows neither databases nor agents: a [Store] keeps the sessions, and a
// [Host] makes what they run with.
//
// The operations of the API are in routes.go. docs/api.md describes them, and
// [Server.OpenAPI] returns the machine-readable description.
//
// # The way of a request
//
// [Server.ServeHTTP] counts the request (metrics.go), checks that it is meant for
// this server and comes from no page of another site (guard.go), and finds the
// [User] by a bearer token or by the cookie of a login (login.go). Only /healthz
// and /readyz need no user. An operation on a session gets the session's entry of
// the index, or the user gets a 404: see on. A [Quota] (quota.go) bounds what a
// user may take of the server.
//
// An operation either reads, from the store or from the cached states of sessions
// (states.go), or appends an event and wakes the session (acts.go). It does not
// wait for the agent: the scheduler drives the session in a goroutine of its own
// (scheduler.go), and clients follow its events (events.go), or ask for its status
// until it changes (waiting.go).
//
// # What a session can reach
//
// Files are those of the session's workspace, which lies in the user's directory:
// paths.go and files.go open them so that no link and no name leads out, and read
// regular files only. Blobs are those that events of the session name. Files and
// blobs come from agents, so browsers save them, or show them in a sandbox without
// scripts, and never run them.
//
// # What is not here
//
// There is no TLS: a reverse proxy adds it, and its host name must be among
// [Options].Hosts. There is no registration of users and no password:
// users and their tokens are configuration. There is no WebSocket: server-sent
// events resume by themselves where they were interrupted, since their ids are
// sequence numbers.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/server/a2a"
)

// A User may use a server, and owns the sessions it creates there. Users do
// not see each other's sessions, blobs and files, and a response does not tell
// whether something of another user exists.
type User struct {
	Name  string
	Token string // the secret that authenticates the user; at least 16 bytes

	// Approve is the most permissive approval mode that the user's sessions
	// may have, and the mode of sessions that start over the
	// OpenAI-compatible API, which cannot ask. "" is [openmanus.ApproveAsk].
	Approve string

	Root  string // the directory that contains the user's workspaces
	Admin bool   // whether the user may read /metrics, which is about all users
	Quota Quota
}

// Options configure a [Server]. Store, Local, Host and Users are required.
type Options struct {
	Store Store // is not closed by the server

	// Local works over Store. Event streams come from it, with the provisional
	// events of the sessions that it drives. New sets its OnIdle, so nothing else
	// may use it before.
	Local *run.Local

	Runtime run.Runtime // drives the sessions; nil is Local
	Host    Host
	Users   []User   // at least one; names and tokens differ
	Hosts   []string // the names, besides loopback ones, that requests may address it by
	Version string
	Log     *slog.Logger // nil discards
	Push    *Push        // nil: no messages to browsers; the Store must be a [journal.Devices]

	A2A bool // serve A2A, the protocol between agents

	// Public is the address under which others reach the server, such as
	// https://manus.example.org; "": the name by which each request addresses it.
	Public string

	// CardKey is the content of a PEM file with the private key that signs the card of
	// A2A; nil: it is not signed. It needs Public: a card that is signed for any name by
	// which this server may be asked could lead elsewhere.
	CardKey []byte

	// Schedules, if it is not nil, runs the schedules of users.
	Schedules ScheduleKeeper

	// Triggers begin sessions when other services post, by name.
	Triggers map[string]Trigger

	// Webhooks, by name, are the addresses to which the server posts what happens in the
	// sessions that it drives.
	Webhooks map[string]Webhook

	// TakeOver, if it is not 0, says that other servers have the same Store, and how
	// often to look for sessions whose server has died: they go on here.
	TakeOver time.Duration

	// Elsewhere, if not nil, says that Runtime has sessions driven by other processes, and
	// its Wake returns when that is certain. It is called for a session that was under way
	// and that nobody drives, and may be called too often.
	Elsewhere func(ctx context.Context, session string) error

	// Idle is the idle timeout after which the resources that a [Holder]
	// holds for a session are released. 0 sets no time.
	Idle time.Duration

	// IdleSessions is the most idle sessions that keep such resources: those that were used
	// last; 0 is 32. They keep fewer while the process has opened half of the files that it may, or
	// the machine has little memory left.
	IdleSessions int

	// Short, if not nil, reports whether the process has too much of something else.
	Short func() bool
}

// A Server is the [http.Handler] of the APIs and the page, and drives the
// sessions that they wake. It is safe for concurrent use.
type Server struct {
	Options
	api       huma.API
	handler   http.Handler
	users     users
	page      page
	codes     codes
	states    *states
	scheduler *scheduler
	poster    *poster
	signer    *a2a.Signer // of cards; nil: they are not signed
	metrics   *metrics
	began     time.Time
}

// New returns a server. It drives sessions until ctx ends or it is closed.
// Sessions that were under way before start with [Server.Resume].
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Runtime == nil {
		o.Runtime = o.Local
	}
	users, err := newUsers(o.Users)
	if err != nil {
		return nil, err
	}
	if err := checkTriggers(o.Triggers, users); err != nil {
		return nil, err
	}
	var signer *a2a.Signer
	if o.CardKey != nil {
		if o.Public == "" {
			return nil, errors.New("a card is signed for one address: Public is missing")
		}
		if signer, err = a2a.NewSigner(o.CardKey, o.Public+a2aKeys); err != nil {
			return nil, fmt.Errorf("the key that signs the card: %w", err)
		}
	}
	s := &Server{Options: o, signer: signer, users: users, states: newStates(o.Store), metrics: newMetrics(), began: time.Now()}
	o.Local.OnIdle = s.markIdle
	s.scheduler = newScheduler(ctx, o.Runtime, s.driveFailed)
	if o.Elsewhere == nil {
		s.scheduler.notify = s.tellWhile
	}
	if h, ok := o.Host.(Holder); ok && o.Elsewhere == nil {
		s.scheduler.idle, s.scheduler.idleMost, s.scheduler.hold = o.Idle, cmp.Or(o.IdleSessions, 32), s.holdFor(h)
		s.scheduler.short = s.short
	}
	s.poster = s.newPoster()
	s.handler = compressed(s.logged(s.metrics.count(s.guard(s.once(s.mux())))))
	return s, nil
}

// mux returns the handler of all routes, for requests that guard admitted. Paths that no
// route has get a problem, or below /v1 an error of that API.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	s.api = humago.New(mux, apiConfig(s.Version))
	s.api.UseMiddleware(refuseEmpty(s.api))
	s.routes()
	s.openAI(mux)
	s.a2aRoutes(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	describe(s.api.OpenAPI())
	missing := notFound(s.api.OpenAPI())
	mux.HandleFunc("/api/", missing)
	for _, dir := range []string{"files", "past", "document"} { // the mux would lead from there to an empty path below
		mux.HandleFunc("/api/v1/sessions/{id}/"+dir, missing)
	}
	mux.HandleFunc("POST /logout", s.logOut)
	mux.Handle("/", &s.page)
	return mux
}

// apiConfig returns the settings of huma, which serves the OpenAPI description and
// checks requests against it.
func apiConfig(version string) huma.Config {
	c := huma.DefaultConfig("OpenManus", version)
	c.CreateHooks = nil // no $schema in every response
	c.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/api/v1/openapi", "", ""
	c.RejectUnknownQueryParameters = true
	c.Info.Description = "Sessions of agents: give them tasks, watch them work, decide what they may do."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	return c
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// OpenAPI returns the OpenAPI description of the API in JSON.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// resumeWithin is the age up to which a session that was under way resumes by
// itself. The user has given up waiting for older ones.
const resumeWithin = 7 * 24 * time.Hour

// Resume wakes the sessions of users that were under way when a server ended,
// whether it stopped or crashed. It returns when it has looked at all of them.
// Sessions without an owner belong to the command line, where the user resumes
// them, and those that another process drives are left to it.
func (s *Server) Resume(ctx context.Context) error { return s.resume(ctx, slog.LevelWarn) }

// Wake has a session driven, and returns at once. It is for sessions that something else than
// a request began, such as a schedule.
func (s *Server) Wake(ctx context.Context, session string) error {
	info, err := s.Store.Session(ctx, session)
	if err == nil {
		s.scheduler.wake(info)
	}
	return err
}

// short reports whether the process has too much of something.
func (s *Server) short() bool { return short() || s.Short != nil && s.Short() }

// Room returns when there is room for another session here, or ctx ends. While there is none,
// idle sessions lose their processes.
func (s *Server) Room(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for s.short() {
		s.scheduler.relieve()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Drive drives a session until it rests or ctx ends, as a request that wakes it would. It is
// for workers, which serve no clients. Another Drive of the session is waited for.
func (s *Server) Drive(ctx context.Context, session string) error {
	info, err := s.Store.Session(ctx, session)
	if err != nil {
		return err
	}
	return s.scheduler.driveNow(ctx, info)
}

// A leaser is a [Store] that knows which sessions a process drives.
type leaser interface{ Driven(session string) bool }

// resume is Resume. Sessions that cannot be resumed are logged at a level.
func (s *Server) resume(ctx context.Context, level slog.Level) error {
	leases, _ := s.Store.(leaser)
	for info, err := range s.Store.Sessions(ctx, journal.ListOptions{Roots: true, UnderWay: true}) {
		if err != nil {
			return err
		}
		if info.Owner == "" || time.Since(info.Updated) > resumeWithin || ctx.Err() != nil {
			continue
		}
		if leases != nil && leases.Driven(info.ID) || time.Since(info.Updated) < s.TakeOver {
			continue // with TakeOver, who appended last is about to drive it
		}
		if s.Elsewhere != nil {
			if err := s.Elsewhere(ctx, info.ID); err != nil {
				return err
			}
			continue
		}
		st, err := openmanus.Load(ctx, s.Store, info.ID)
		switch {
		case errors.Is(err, openmanus.ErrNoSession):
			continue // deleted since it was listed
		case err != nil:
			return err
		case st.Status() != openmanus.Running:
			s.markIdle(info.ID, st.Seq)
		case st.Foreign != "":
			continue // a newer version of the program continues it
		case checkWorkspace(info.Workspace) != nil:
			s.Log.Log(ctx, level, "cannot resume session", "session", info.ID, "error", errMoved)
		default:
			s.Log.Info("resuming session", "session", info.ID)
			s.scheduler.wake(info)
		}
	}
	return ctx.Err()
}

// keepResuming resumes sessions when the server begins and, if it has TakeOver, now and
// then until ctx ends.
func (s *Server) keepResuming(ctx context.Context) {
	for level := slog.LevelWarn; ; level = slog.LevelDebug {
		if err := s.resume(ctx, level); err != nil && ctx.Err() == nil {
			s.Log.Error("cannot resume sessions", "error", err)
		}
		if s.TakeOver == 0 {
			return
		}
		select {
		case <-time.After(s.TakeOver):
		case <-ctx.Done():
			return
		}
	}
}

// markIdle records in the index, if it can, that a session has nothing to do
// after the event seq, so that the next Resume need not read it.
func (s *Server) markIdle(session string, seq int64) {
	m, ok := s.Store.(journal.IdleMarker)
	if !ok {
		return
	}
	if err := m.MarkIdle(context.Background(), session, seq); err != nil {
		s.Log.Warn("cannot mark session idle", "session", session, "seq", seq, "error", err)
	}
}

// Close stops driving sessions and waits until each has recorded what its
// running calls came to. They resume when the next server starts.
func (s *Server) Close() { s.scheduler.close() }

// driveFailed reports a session that the runtime could not drive, in the log
// and in the session's journal, where its users see it.
func (s *Server) driveFailed(session string, err error) {
	if errors.Is(err, openmanus.ErrDriven) { // our clients follow its journal
		s.Log.Info("session is driven by another process", "session", session)
		return
	}
	if err := s.Failed(context.Background(), session, err); err != nil {
		s.Log.Error("cannot record failure in session", "session", session, "error", err)
	}
}

// Failed records in a session why it cannot be driven.
func (s *Server) Failed(ctx context.Context, session string, why error) error {
	s.Log.Error("cannot drive session", "session", session, "error", why)
	_, err := s.Store.Append(ctx, session, openmanus.Noted{ID: ids.New(), Text: "This session cannot go on: " + why.Error()})
	return err
}

// holdFor returns the scheduler's hold function for h.
func (s *Server) holdFor(h Holder) func(journal.SessionInfo) func() {
	return func(session journal.SessionInfo) func() {
		release := h.Hold(session.ID, session.Workspace)
		return func() {
			if err := release(); err != nil {
				s.Log.Error("cannot release all resources of session", "session", session.ID, "error", err)
				return
			}
			s.Log.Info("released resources of idle session", "session", session.ID)
		}
	}
}

// ready answers whether the store can be read.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	for _, err := range s.Store.Sessions(r.Context(), journal.ListOptions{Limit: 1}) {
		if err != nil {
			writeProblem(w, http.StatusServiceUnavailable, err.Error())
			return
		}
	}
	fmt.Fprintln(w, "ready")
}

// Timeouts of connections. Handlers that stream set write deadlines of their
// own; see stream.
const (
	headerTimeout   = 10 * time.Second
	bodyTimeout     = 5 * time.Minute
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 10 * time.Second
)

// Serve resumes sessions and serves l until ctx ends, and then stops: it
// accepts no more requests, cancels the calls that are running and records
// their results. It closes s.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ErrorLog:       slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	var resuming sync.WaitGroup
	resuming.Go(func() { s.keepResuming(ctx) })
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	var err error
	select {
	case err = <-done:
		cancel()
	case <-ctx.Done():
		err = shutDown(ctx, srv)
		<-done
	}
	resuming.Wait()
	s.Close()
	stopped := errors.Is(ctx.Err(), context.Canceled)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, context.DeadlineExceeded) && stopped {
		return nil
	}
	return err
}

// shutDown stops srv, and closes the connections that are still in use after
// shutdownTimeout. ctx has ended.
func shutDown(ctx context.Context, srv *http.Server) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer stop()
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}
