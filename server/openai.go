package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// openAI registers the OpenAI-compatible API, in which each agent appears as a
// model: see https://platform.openai.com/docs/api-reference. A request opens a
// session unless it names one. Its clients cannot be asked anything, so a call
// that needs approval is denied, and the user's approval mode decides which
// calls need it.
func (s *Server) openAI(mux *http.ServeMux) {
	handle := func(route string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				s.openAIFail(w, r, err)
			}
		})
	}
	handle("GET /v1/models", s.openAIModels)
	handle("POST /v1/chat/completions", s.chatCompletions)
	handle("POST /v1/responses", s.responses)
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		openAIError(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+" here: "+
			"there are /v1/models, /v1/chat/completions and /v1/responses")
	})
}

// sessionHeader names the session that a request continues, and in the
// response the session that it ran in.
const sessionHeader = "OpenManus-Session"

// openAIError responds with an error in the format of OpenAI.
func openAIError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(openAIProblem(status, message)) // an error means that the client is gone
}

// openAIProblem returns the body of an error response.
func openAIProblem(status int, message string) any {
	typ := "invalid_request_error"
	if status >= 500 {
		typ = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": typ, "code": nil, "param": nil}}
}

// openAIFail responds with err, which may be any error of an operation.
func (s *Server) openAIFail(w http.ResponseWriter, r *http.Request, err error) {
	var p *huma.ErrorModel
	problem := s.problem(r.Context(), err)
	var with huma.HeadersError
	if errors.As(problem, &with) {
		maps.Copy(w.Header(), with.GetHeaders())
	}
	if !errors.As(problem, &p) {
		p = &huma.ErrorModel{Status: http.StatusInternalServerError, Detail: err.Error()}
	}
	text, status := p.Detail, p.Status
	for _, e := range p.Errors {
		text = strings.TrimPrefix(e.Location, "body.") + ": " + e.Message
	}
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest // OpenAI's status for bad fields
	}
	openAIError(w, status, text)
}

// openAIModels serves GET /v1/models: each agent is a model.
func (s *Server) openAIModels(w http.ResponseWriter, r *http.Request) error {
	c, err := s.Host.Catalogue(r.Context())
	if err != nil {
		return err
	}
	models := []any{}
	for _, a := range c.Agents {
		models = append(models, map[string]any{"id": a.Name, "object": "model", "created": 0, "owned_by": "openmanus"})
	}
	return writeJSON(w, map[string]any{"object": "list", "data": models})
}

// writeJSON responds with v. It returns no error of the connection, which
// would mean that the client is gone.
func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
	return nil
}

// readOpenAI decodes a request. It ignores unknown fields, because clients
// send many that have no meaning for agents.
func readOpenAI(r *http.Request, v any) error {
	err := json.NewDecoder(r.Body).Decode(v)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		detail := fmt.Sprintf("the request has more than %d bytes", large.Limit)
		return huma.NewError(http.StatusRequestEntityTooLarge, detail)
	case err != nil:
		return huma.Error400BadRequest("the request is not valid JSON for this endpoint: " + err.Error())
	}
	return nil
}

// A completion is one request of this API: a message to an agent, and the
// session's events from then on until it stops. Tool calls are not passed to the
// client, as with OpenAI's models, because the agent runs them itself; the client
// sees them as reasoning.
type completion struct {
	*Server
	id    string          // of the session
	state openmanus.State // as far as it was followed
	from  int64           // the last event before the request

	// onText and onCall, if not nil, receive each piece of the agent's text
	// and a line about each call as it starts. They are called by run, one at
	// a time. After an error, the client is taken to be gone.
	onText func(text string) error
	onCall func(line string) error

	streamed  string // the text of the present reply that onText received
	restarted bool   // the present reply started again since then

	children sync.WaitGroup // of decideBelow
}

// complete sends a message to the session id, or to a new session of an agent
// if id is "". Errors call the agent's field "model".
func (s *Server) complete(ctx context.Context, id, agent string, parts llm.Parts) (*completion, error) {
	c := &completion{Server: s, id: id}
	if id == "" {
		mode := userOf(ctx).approve()
		if mode == openmanus.ApproveAsk {
			mode = openmanus.ApproveReadOnly // what ask allows without a question
		}
		var err error
		if c.id, err = s.open(ctx, NewSession{Agent: agent, Approve: mode}); err != nil {
			return nil, renameField(err, "agent", "model")
		}
	}
	info, err := s.ownSession(ctx, c.id)
	if err != nil {
		return nil, err
	}
	if err := s.checkQuota(ctx, info); err != nil {
		return nil, err
	}
	m := openmanus.UserSaid{ID: ids.New(), Message: llm.Message{Role: llm.User, Parts: parts}}
	if id == "" {
		m.Note = s.Host.Environment(info.Workspace)
	}
	c.from = info.Events
	if _, err := s.appendAndWake(ctx, c.id, m); err != nil {
		return nil, err
	}
	return c, nil
}

// renameField renames the field of a [FieldError].
func renameField(err error, from, to string) error {
	if f := (*FieldError)(nil); errors.As(err, &f) && f.Field == from {
		return &FieldError{to, f.Err}
	}
	return err
}

// result runs the completion, for a response that is not streamed.
func (c *completion) result(ctx context.Context) error {
	if err := errors.Join(c.run(ctx), c.failure()); err != nil {
		return huma.Error500InternalServerError(err.Error())
	}
	return nil
}

// errGone says that the client disconnected.
var errGone = errors.New("the client has disconnected")

// run follows the session until it stops. If the client disconnects before
// that, it interrupts the session, whose answer would have no reader, and
// returns an error that is errGone.
func (c *completion) run(ctx context.Context) error {
	defer c.children.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for ev, err := range c.Local.Watch(ctx, c.id, 0) {
		if err != nil {
			return err
		}
		if c.show(ev) != nil {
			break
		}
		if ev.Seq == 0 {
			continue
		}
		c.state.Apply(ev)
		c.decideBelow(ctx, ev)
		if ev.Seq <= c.from+1 {
			continue
		}
		if err := c.decidePending(ctx, c.id, &c.state); err != nil {
			return err
		}
		if now := c.state.Status(); now != openmanus.Running && now != openmanus.Waiting {
			return nil
		}
	}
	cancel()
	_, err := c.Store.Append(context.WithoutCancel(ctx), c.id, openmanus.Interrupted{ID: ids.New()})
	return errors.Join(errGone, err)
}

// decideBelow, for an event that opens a child session, starts to decide what
// waits for the user in the child and in its descendants.
func (c *completion) decideBelow(ctx context.Context, ev openmanus.Event) {
	opened, ok := ev.Body.(openmanus.ChildOpened)
	if !ok {
		return
	}
	c.children.Go(func() {
		var st openmanus.State
		for ev, err := range c.Store.Follow(ctx, opened.Child, 0) {
			if err == nil {
				st.Apply(ev)
				c.decideBelow(ctx, ev)
				err = c.decidePending(ctx, opened.Child, &st)
			}
			if err != nil {
				if !errors.Is(err, openmanus.ErrNoSession) && ctx.Err() == nil {
					c.Log.Error("cannot decide pending calls of child session", "session", opened.Child, "error", err)
				}
				return
			}
		}
	})
}

// decidePending decides the calls that wait for the user: it denies approvals,
// and answers questions with the advice to go on without an answer.
func (c *completion) decidePending(ctx context.Context, id string, st *openmanus.State) error {
	pending := st.Pending()
	for _, call := range pending {
		var b openmanus.Body
		switch q := call.Question(); q.Kind {
		case openmanus.AskRuling:
			b = openmanus.Ruled{Call: call.ID, By: "policy", Rule: "no user to ask", Hash: q.Hash,
				Reason: "this call needs approval, and this session has no user to ask"}
		default:
			b = openmanus.Answered{Call: call.ID, N: q.N, By: "policy", Data: json.RawMessage(`null`),
				Text: "No user can be asked in this session. Continue as well as you can, and state your assumptions in the answer."}
		}
		_, err := c.Store.Append(ctx, id, b)
		if err != nil && !errors.Is(err, openmanus.ErrExists) { // an earlier decision holds
			return err
		}
	}
	if len(pending) == 0 {
		return nil
	}
	return c.wake(ctx, id)
}

// show passes on what the client is to see of an event.
func (c *completion) show(ev openmanus.Event) error {
	if ev.Seq > 0 && ev.Seq <= c.from {
		return nil
	}
	switch b := ev.Body.(type) {
	case openmanus.Typing:
		return c.showDelta(b)
	case openmanus.ModelSaid:
		return c.showReply(b.Message)
	case openmanus.CallStarted:
		if call := c.state.Call(b.Call); call != nil && c.onCall != nil {
			return c.onCall(call.Name + " " + clip.Text(call.Arguments(), 200) + "\n")
		}
	}
	return nil
}

// showDelta passes on a piece of a reply. Text that was passed on cannot be
// taken back: the text of a reply that starts again follows it after a blank
// line.
func (c *completion) showDelta(b openmanus.Typing) error {
	c.restarted = c.restarted || b.Reset && c.streamed != ""
	for _, p := range b.Parts {
		text, ok := p.(llm.Text)
		if !ok || text.Text == "" {
			continue
		}
		if c.restarted {
			c.streamed, c.restarted = "", false
			if err := c.text("\n\n"); err != nil {
				return err
			}
		}
		c.streamed += text.Text
		if err := c.text(text.Text); err != nil {
			return err
		}
	}
	return nil
}

// showReply passes on what is left of a reply that is complete now. A blank
// line separates it from the reply after its calls.
func (c *completion) showReply(m llm.Message) error {
	text := m.Text()
	rest, ok := strings.CutPrefix(text, c.streamed)
	c.streamed, c.restarted = "", false
	if ok && rest != "" {
		if err := c.text(rest); err != nil {
			return err
		}
	}
	if len(m.Calls()) > 0 && text != "" {
		return c.text("\n\n")
	}
	return nil
}

// text passes on a piece of the agent's text.
func (c *completion) text(text string) error {
	if c.onText == nil {
		return nil
	}
	return c.onText(text)
}

// failure returns nil if the session has an answer, if only up to a limit, and
// otherwise why it has none.
func (c *completion) failure() error {
	o := c.state.Outcome
	hasAnswer := c.state.Answer != "" && o.Reason != openmanus.ByPerson
	if c.state.Status() == openmanus.Finished || c.limited() && hasAnswer {
		return nil
	}
	return fmt.Errorf("the agent ended as %s (%s): %s", c.state.Status(), o.Reason, o.Error)
}

// limited reports whether a limit stopped the session.
func (c *completion) limited() bool { return c.state.Outcome.Status == openmanus.Halted }
