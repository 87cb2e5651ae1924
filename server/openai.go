package server

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/server/openai"
)

// A Fetcher is a [Host] that reads what stands at an address, such as a picture that a
// client refers to.
type Fetcher interface {
	// Fetch reads what an https address has. Addresses of this machine and of private
	// networks are refused.
	Fetch(ctx context.Context, url string) (mime string, data []byte, err error)
}

// openAI registers the endpoints of OpenAI's and Anthropic's APIs, in which each agent
// appears as a model. Their clients cannot be asked anything, so a call that needs
// approval is denied, and the user's approval mode decides which calls need it.
func (s *Server) openAI(mux *http.ServeMux) {
	all := clients{s}
	api := &openai.API{
		Sessions: all, Journal: all, Agents: all.agents, Fetch: all.fetch, Stream: startStream, Background: s.inBackground,
		Problem: s.clientProblem,
	}
	api.Register(mux)
}

// inBackground runs f until the server ends.
func (s *Server) inBackground(f func(context.Context)) bool { return s.scheduler.background(f) }

// startStream starts a response with events and keeps it alive until done is called. done
// waits until nothing is written any more.
func startStream(w http.ResponseWriter) (write func([]byte) error, done func()) {
	out := newStream(w)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		out.keepAlive(ctx)
		close(ended)
	}()
	return out.write, func() { cancel(); <-ended }
}

// clientProblem returns an error of an operation in the form of these APIs. It is marked
// as final if trying again cannot help.
func (s *Server) clientProblem(ctx context.Context, err error) *openai.Error {
	var p *huma.ErrorModel
	problem := s.problem(ctx, err)
	e := &openai.Error{Status: http.StatusInternalServerError, Message: err.Error(), Final: true}
	if with := huma.HeadersError(nil); errors.As(problem, &with) {
		e.Header = with.GetHeaders()
	}
	if !errors.As(problem, &p) {
		return e
	}
	e.Message, e.Status, e.Final = p.Detail, p.Status, p.Status >= 500 && p.Status != http.StatusServiceUnavailable
	for _, d := range p.Errors {
		e.Param = strings.TrimPrefix(d.Location, "body.")
		e.Message = e.Param + ": " + d.Message
	}
	switch {
	case e.Status == http.StatusUnprocessableEntity && e.Param == "model":
		e.Status, e.Code = http.StatusNotFound, "model_not_found"
	case e.Status == http.StatusUnprocessableEntity:
		e.Status, e.Code = http.StatusBadRequest, "invalid_value" // OpenAI's status for bad fields
	case e.Status == http.StatusTooManyRequests:
		e.Code = "rate_limit_exceeded"
	}
	return e
}

// refuse responds to a request that does not reach an operation, in the form of the API
// that was asked.
func refuse(w http.ResponseWriter, r *http.Request, status int, detail string) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		writeProblem(w, status, detail)
		return
	}
	e := &openai.Error{Status: status, Message: detail}
	if status == http.StatusUnauthorized {
		e.Code = "invalid_api_key"
	}
	e.Write(w, r)
}

// clients are the sessions of these APIs. It is an [openai.Sessions] and an
// [openai.Journal].
type clients struct{ *Server }

func (c clients) agents(ctx context.Context) (all []openai.Agent, err error) {
	cat, err := c.Host.Catalogue(ctx)
	for _, a := range cat.Agents {
		all = append(all, openai.Agent{Name: a.Name, Description: a.Description, Created: c.metrics.started.Unix()})
	}
	return all, err
}

func (c clients) fetch(ctx context.Context, url string) (string, []byte, error) {
	f, ok := c.Host.(Fetcher)
	if !ok {
		return "", nil, errors.New("this server fetches nothing")
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return f.Fetch(ctx, url)
}

// Open implements [openai.Sessions]. A session that exists under n.ID is the one that
// was opened before.
func (c clients) Open(ctx context.Context, n openai.New) (string, error) {
	if n.ID != "" {
		_, err := c.ownSession(ctx, n.ID)
		if err == nil || !errors.Is(err, openmanus.ErrNoSession) {
			return n.ID, err
		}
	}
	mode := userOf(ctx).approve()
	if mode == openmanus.ApproveAsk {
		mode = openmanus.ApproveReadOnly // what ask allows without a question
	}
	id := cmp.Or(n.ID, ids.Session())
	err := c.openNamed(ctx, id, NewSession{Agent: n.Agent, Approve: mode, Client: n.Client, Answer: n.Answer})
	if f := (*FieldError)(nil); errors.As(err, &f) && f.Field == "agent" {
		err = &FieldError{"model", f.Err}
	}
	return id, err
}

// Change implements [openai.Sessions].
func (c clients) Change(ctx context.Context, id string, n openai.New) error {
	info, err := c.ownSession(ctx, id)
	if err != nil {
		return err
	}
	r, ok := c.Host.(Reconfigurer)
	if !ok {
		return nil
	}
	client := n.Client
	if client == nil {
		client = &openmanus.Client{}
	}
	return r.Reconfigure(ctx, info.ID, Change{Client: client, Answer: n.Answer, By: userOf(ctx).Name})
}

// Append implements [openai.Sessions]. The first message of a session gets the host's
// note about the workspace.
func (c clients) Append(ctx context.Context, id string, bodies ...openmanus.Body) (int64, error) {
	info, err := c.ownSession(ctx, id)
	if err != nil {
		return 0, err
	}
	if err := checkWorkspace(info.Workspace); err != nil {
		return 0, err
	}
	again := false
	if len(bodies) > 0 {
		if said, ok := bodies[len(bodies)-1].(openmanus.UserSaid); ok {
			said.Trace = traceOf(ctx)
			if again, err = c.acts().Prepare(ctx, id, &said); err != nil {
				return 0, err
			}
			bodies[len(bodies)-1] = said
		}
	}
	if !again {
		if err := c.checkQuota(ctx, info); err != nil {
			return 0, err
		}
	}
	evs, err := c.Store.Append(ctx, id, bodies...)
	if err != nil && (!errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict)) || len(evs) == 0 {
		return 0, err
	}
	return evs[0].Seq, c.wake(ctx, id)
}

// End implements [openai.Sessions].
func (c clients) End(ctx context.Context, id string, remove bool) error {
	info, err := c.ownSession(ctx, id)
	if err != nil {
		return err
	}
	if remove {
		_, err := c.remove(ctx, info, &OneSession{ID: id})
		return err
	}
	st := openmanus.Waiting
	_ = c.states.view(ctx, id, func(s *openmanus.State) error { // what is not known is kept for a while
		st = s.Status()
		return nil
	})
	if st == openmanus.Waiting {
		c.scheduler.keep(id, clientTime)
	} else {
		c.scheduler.keep(id, 0)
	}
	return nil
}

// clientTime is how long resources are held for a session that waits for a client's
// result: as long as a tool takes that a program runs.
const clientTime = 2 * time.Minute

// Mine implements [openai.Journal].
func (c clients) Mine(ctx context.Context, id string) (string, error) {
	if id == "" {
		return userOf(ctx).Name, nil
	}
	info, err := c.ownSession(ctx, id)
	return info.Owner, err
}

// Watch implements [openai.Journal].
func (c clients) Watch(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return c.Local.Watch(ctx, id, after)
}

// Events implements [openai.Journal].
func (c clients) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return c.Store.Events(ctx, id, after)
}

// Decide implements [openai.Journal]: it denies approvals, and answers questions with the
// advice to go on without an answer.
func (c clients) Decide(ctx context.Context, id string, st *openmanus.State, leave func(*openmanus.CallState) bool) error {
	decided := false
	for _, call := range st.Pending() {
		if leave(call) {
			continue
		}
		b, err := act.Nobody(st, call.ID)
		if err == nil {
			_, err = c.Store.Append(ctx, id, b)
		}
		if err != nil && !errors.Is(err, openmanus.ErrExists) { // an earlier decision holds
			return err
		}
		decided = true
	}
	if !decided {
		return nil
	}
	return c.wake(ctx, id)
}
