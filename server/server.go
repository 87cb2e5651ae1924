// Package server puts sessions behind HTTP: an API to build on, events as they
// happen, the API of OpenAI with agents for models, and a page.
//
// A surface appends, wakes and follows, and nothing else: everything here can
// be done from the command line too, at the same time, with the same sessions.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store"
)

// A Host makes what sessions need, as the program is configured. It is safe
// for concurrent use.
type Host interface {
	// Open opens a session that nothing was asked of yet. What the person
	// who asked for it can mend is a [*FieldError].
	Open(ctx context.Context, id string, n NewSession) error

	// Environment is what an agent that works in dir is told with the first
	// message.
	Environment(dir string) llm.Parts

	// Catalogue is what sessions can be made of.
	Catalogue(ctx context.Context) (Catalogue, error)
}

// A Rememberer is a [Host] that can keep what people decide about calls for
// good.
type Rememberer interface {
	// Lasting returns what keeps a decision about c, which waits for a
	// ruling in the session with the state s, or nil if c cannot be decided
	// on for good. It holds on to neither.
	Lasting(session string, s *openmanus.State, c *openmanus.CallState) func(by string, allow bool) error
}

// A Keeper is a [Host] that can let go of what it made for a session.
type Keeper interface {
	// Keep is called before anything is made for the session id, which works
	// in dir. It returns what lets go of all that is made from then on for it
	// and for those that it asks for; what other sessions need as well, with
	// the last of them. It is called once, while nothing else is done with
	// the session. If the session goes on, Keep is called again.
	Keep(id, dir string) (release func() error)
}

// A Deleter is a [Host] that keeps more of a session than its events.
type Deleter interface {
	// Deleted is called when a session was deleted: what is kept of it
	// elsewhere goes too.
	Deleted(id string) error
}

// A Planner is a [Host] whose sessions may have plans.
type Planner interface {
	// Plan returns the plan of a session with the state s and how far it is,
	// or nil if it has none. It keeps nothing of s.
	Plan(s *openmanus.State) *Plan
}

// A Plan is what a session is to do, and how far it is.
type Plan struct {
	Title string `json:"title"`
	Steps []Step `json:"steps"`
}

// A Step is a step of a plan.
type Step struct {
	Text    string `json:"text"`
	Status  string `json:"status" enum:"not_started,in_progress,completed,blocked"`
	Notes   string `json:"notes,omitempty"`
	Agent   string `json:"agent,omitempty" doc:"Who does it."`
	Session string `json:"session,omitempty" doc:"The session in which it is done, or was tried last."`
}

// A Flow says that a planner makes a plan first, and that agents do its steps,
// each in a session of its own.
type Flow struct {
	Agents   []string `json:"agents,omitempty" maxItems:"20" doc:"Who does the steps; what names nobody goes to the first. Default: the agent."`
	Parallel int      `json:"parallel,omitempty" minimum:"0" maximum:"100" doc:"Steps at once, at most. Default: 4."`
	Replans  *int     `json:"replans,omitempty" minimum:"0" maximum:"100" doc:"How often the plan may be changed because a step is blocked. Default: 3."`
	Only     bool     `json:"only,omitempty" doc:"Make the plan, and do nothing of it: it is the answer."`
}

// An Evaluation says that a task is done several times over, each time in a
// copy of the workspace of its own, and that what came of the best attempt, as
// a critic finds, is kept.
type Evaluation struct {
	Attempts int      `json:"attempts,omitempty" minimum:"0" maximum:"16" doc:"How many. Default: as many as there are models or hints, or 3."`
	Models   []string `json:"models,omitempty" maxItems:"16" doc:"The models of the attempts, in turn. Default: the model."`
	Hints    []string `json:"hints,omitempty" maxItems:"16" doc:"How to go about the attempts, in turn."`
	Parallel int      `json:"parallel,omitempty" minimum:"0" maximum:"16" doc:"Attempts at once, at most. Default: 4."`
}

// A NewSession says what a session is to be. What is empty is as configured.
type NewSession struct {
	Owner     string
	Agent     string
	Model     string
	Workspace string // an absolute path of a directory that exists
	Approve   string // a mode of [openmanus.Mode]
	Limits    openmanus.Limits
	Flow      *Flow       // nil: there is no planner
	Evaluate  *Evaluation // nil: the task is done once; not both
}

// A Catalogue is what sessions can be made of.
type Catalogue struct {
	Agents []AgentInfo
	Tools  []ToolInfo
	Models []ModelInfo
}

// An AgentInfo describes an agent that sessions can have.
type AgentInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools,omitempty" doc:"The names of its tools."`
	Default     bool     `json:"default,omitempty" doc:"Whether it is the one that does what no other is named for."`
}

// A ToolInfo describes a tool that agents have.
type ToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Hints       openmanus.Hints `json:"hints"`
}

// A ModelInfo describes a model that is set up.
type ModelInfo struct {
	Name    string `json:"name" doc:"PROVIDER/NAME, or the name of a profile."`
	Default bool   `json:"default,omitempty"`
}

// A FieldError is a mistake in one field of a request.
type FieldError struct {
	Field string // as the request calls it
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *FieldError) Unwrap() error { return e.Err }

// A User is who may do something here.
type User struct {
	Name  string
	Token string // the secret that shows who it is, of 16 bytes or more

	// Approve is the widest approval mode of this user's sessions, and the
	// one of sessions that come by the API of OpenAI, where nobody can be
	// asked; "" is [openmanus.ApproveAsk].
	Approve string

	Root     string // the directory below which this user's workspaces lie
	Sessions int    // that run at once; 0 is 100
	Streams  int    // that are open at once; 0 is 100
}

// Options are settings of a [Server]. Store, Local, Host and Users are needed.
type Options struct {
	Store   *store.DB
	Local   *openmanus.Local  // over Store; New sets its Rested
	Runtime openmanus.Runtime // drives sessions; nil is Local itself
	Host    Host
	Users   []User
	Hosts   []string // under which names it may be reached, beside loopback ones
	Version string
	Log     *slog.Logger // nil discards

	// Idle is how long a session rests before what a [Keeper] made for it is
	// let go of. 0 is until the server ends.
	Idle time.Duration
}

// A Server serves sessions. It is safe for concurrent use.
type Server struct {
	Options
	api     huma.API
	handler http.Handler
	users   *users
	states  *states
	fleet   *fleet
	metrics *metrics
}

// New returns a server. It drives sessions until ctx ends or it is closed.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	us, err := newUsers(o.Users)
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, users: us, states: newStates(o.Store), metrics: newMetrics()}
	if o.Runtime == nil {
		o.Runtime = o.Local
	}
	o.Local.Rested = s.rests
	s.fleet = newFleet(ctx, o.Runtime, s.failed)
	if k, ok := o.Host.(Keeper); ok {
		s.fleet.idle, s.fleet.keep = o.Idle, s.keeping(k)
	}
	mux := http.NewServeMux()
	s.api = humago.New(mux, apiConfig(o.Version))
	s.routes()
	s.openAI(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+" here; see /api/v1/openapi.json")
	})
	mux.Handle("/", new(page))
	s.handler = s.metrics.count(s.guard(mux))
	return s, nil
}

func apiConfig(version string) huma.Config {
	c := huma.DefaultConfig("OpenManus", version)
	c.CreateHooks = nil // no $schema in every answer
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/api/v1/openapi", "", ""
	c.RejectUnknownQueryParameters = true
	c.Info.Description = "Sessions of agents: give them tasks, watch them work, decide what they may do."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	return c
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// OpenAPI returns the description of the API in JSON.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// Resume lets the sessions of users go on that were under way when a server
// ended, however it did. It returns when it has looked at all of them.
func (s *Server) Resume(ctx context.Context) error {
	for info, err := range s.Store.Sessions(ctx, store.ListOptions{Roots: true, UnderWay: true}) {
		if err != nil {
			return err
		}
		if info.Owner == "" || time.Since(info.Updated) > resumeWithin || ctx.Err() != nil {
			continue
		}
		st, err := openmanus.Load(ctx, s.Store, info.ID)
		switch {
		case errors.Is(err, openmanus.ErrNoSession):
			continue // it was deleted meanwhile
		case err != nil:
			return err
		case st.Status() == openmanus.Running && st.Foreign == "":
			s.Log.Info("goes on", "session", info.ID)
			s.fleet.wake(info)
		case st.Status() != openmanus.Running:
			s.rests(info.ID, st.Seq)
		}
	}
	return ctx.Err()
}

// rests has the store remember that there is nothing to do in a session, so
// that the next start need not read it.
func (s *Server) rests(session string, seq int64) {
	if err := s.Store.Rests(context.Background(), session, seq); err != nil {
		s.Log.Warn("the next start will look at it in vain", "session", session, "error", err)
	}
}

// resumeWithin is how long ago a session may have been under way that goes on
// by itself: nobody waits for an older one.
const resumeWithin = 7 * 24 * time.Hour

// Close ends the driving of sessions and waits for it: what calls are running
// get a result that says so. The sessions can be resumed.
func (s *Server) Close() { s.fleet.close() }

// failed tells people of a session that could not be driven.
func (s *Server) failed(session string, err error) {
	if errors.Is(err, openmanus.ErrDriven) {
		s.Log.Info("another process drives it", "session", session)
		return // and follows its journal
	}
	s.Log.Error("cannot go on", "session", session, "error", err)
	note := openmanus.Noted{ID: ids.New(), Text: "This session cannot go on: " + err.Error()}
	if _, err := s.Store.Append(context.Background(), session, note); err != nil {
		s.Log.Error("cannot say so", "session", session, "error", err)
	}
}

// keeping returns how a session's things are kept, and let go of.
func (s *Server) keeping(k Keeper) func(store.Info) func() {
	return func(of store.Info) func() {
		release := k.Keep(of.ID, of.Workspace)
		return func() {
			if err := release(); err != nil {
				s.Log.Error("not all that was kept for it could be ended", "session", of.ID, "error", err)
				return
			}
			s.Log.Info("rests: nothing is kept for it any more", "session", of.ID)
		}
	}
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	for _, err := range s.Store.Sessions(r.Context(), store.ListOptions{Limit: 1}) {
		if err != nil {
			writeProblem(w, http.StatusServiceUnavailable, err.Error())
			return
		}
	}
	fmt.Fprintln(w, "ready")
}

// Time limits of connections. What streams lifts those of its own.
const (
	headerTime = 10 * time.Second
	bodyTime   = 5 * time.Minute
	idleTime   = 2 * time.Minute
	stopTime   = 10 * time.Second
)

// Serve serves l until ctx ends, and then stops: nothing new is taken, calls
// that run are cancelled and their results recorded. It closes s.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	var resuming sync.WaitGroup
	resuming.Go(func() {
		if err := s.Resume(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("cannot look for sessions that were under way", "error", err)
		}
	})
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	var err error
	select {
	case err = <-done:
		cancel()
	case <-ctx.Done():
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer stop()
		if err = srv.Shutdown(late); err != nil {
			err = errors.Join(err, srv.Close())
		}
		<-done
	}
	resuming.Wait()
	s.Close()
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}

// A rootDir opens a user's directory of workspaces, and makes it.
func (u User) openRoot() (*os.Root, error) {
	if err := os.MkdirAll(u.Root, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(u.Root)
}
