package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// openAI is the API of OpenAI, with agents for models: see
// https://platform.openai.com/docs/api-reference. Each request is a session of
// its own unless it names one. Nobody can be asked here: what would need a
// person is allowed or refused as the user's own mode says.
func (s *Server) openAI(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/models", s.openAIModels)
	mux.HandleFunc("POST /v1/chat/completions", s.chatCompletions)
	mux.HandleFunc("POST /v1/responses", s.responses)
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		openAIError(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+" here: there are /v1/models, /v1/chat/completions and /v1/responses")
	})
}

// sessionHeader names the session of a request, and of its answer.
const sessionHeader = "OpenManus-Session"

func openAIError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(openAIProblem(status, message)) // who does not read it need not get it
}

func openAIProblem(status int, message string) any {
	typ := "invalid_request_error"
	if status >= 500 {
		typ = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": typ, "code": nil, "param": nil}}
}

// fail answers with err in the way of OpenAI.
func (s *Server) openAIFail(w http.ResponseWriter, r *http.Request, err error) {
	var p *huma.ErrorModel
	if !errors.As(s.problem(r.Context(), err), &p) {
		p = &huma.ErrorModel{Status: http.StatusInternalServerError, Detail: err.Error()}
	}
	text := p.Detail
	for _, e := range p.Errors {
		text = strings.TrimPrefix(e.Location, "body.") + ": " + e.Message
	}
	status := p.Status
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	openAIError(w, status, text)
}

func (s *Server) openAIModels(w http.ResponseWriter, r *http.Request) {
	c, err := s.Host.Catalogue(r.Context())
	if err != nil {
		s.openAIFail(w, r, err)
		return
	}
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	out := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list", Data: []model{}}
	for _, a := range c.Agents {
		out.Data = append(out.Data, model{a.Name, "model", 0, "openmanus"})
	}
	writeJSON(w, out)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who does not read it need not get it
}

// readOpenAI decodes a request. Fields that mean nothing here are ignored, as
// the clients send many.
func readOpenAI(r *http.Request, v any) error {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", big.Limit))
		}
		return huma.Error400BadRequest("the request is not the JSON it should be: " + err.Error())
	}
	return nil
}

// A turn is one request to an agent by this API.
type turn struct {
	*Server
	id    string
	state openmanus.State
	from  int64 // the last event before the request

	// What the client is shown as it happens; both may be nil.
	said  func(text string) error // a piece of what the agent says
	doing func(text string) error // a line about what it does
	typed string                  // of the reply on its way, as it was shown

	below sync.WaitGroup // who decides in the sessions below
}

// begin says something to a session, a new one if id is "".
func (s *Server) begin(ctx context.Context, id, agent string, parts llm.Parts) (*turn, error) {
	t := &turn{Server: s, id: id}
	var note llm.Parts
	if id == "" {
		mode := userOf(ctx).Approve
		if mode == "" || mode == openmanus.ApproveAsk {
			mode = openmanus.ApproveReadOnly // nobody can be asked
		}
		var err error
		if t.id, err = s.open(ctx, NewSession{Agent: agent, Approve: mode}); err != nil {
			return nil, renamed(err, "agent", "model")
		}
	}
	info, err := s.ownSession(ctx, t.id)
	if err != nil {
		return nil, err
	}
	if id == "" {
		note = s.Host.Environment(info.Workspace)
	}
	if err := s.checkQuota(ctx, info); err != nil {
		return nil, err
	}
	t.from = info.Events
	m := openmanus.UserSaid{ID: ids.New(), Message: llm.Message{Role: llm.User, Parts: parts}, Note: note}
	if _, err := s.appendAndWake(ctx, t.id, m); err != nil {
		return nil, err
	}
	return t, nil
}

// renamed is err with another name for a field.
func renamed(err error, from, to string) error {
	if f := (*FieldError)(nil); errors.As(err, &f) && f.Field == from {
		return &FieldError{to, f.Err}
	}
	return err
}

// run follows the session until it ends. If the client goes before, the
// session is interrupted: nobody is left who wants it.
func (t *turn) run(ctx context.Context) error {
	defer t.below.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for ev, err := range t.Local.Watch(ctx, t.id, 0) {
		if err != nil {
			return err
		}
		if err := t.show(ev); err != nil {
			break
		}
		if ev.Seq == 0 {
			continue
		}
		t.state.Apply(ev)
		t.lookBelow(ctx, ev)
		if ev.Seq <= t.from+1 {
			continue
		}
		if err := t.decide(ctx, t.id, &t.state); err != nil {
			return err
		}
		if now := t.state.Status(); now != openmanus.Running && now != openmanus.Waiting {
			return nil
		}
	}
	cancel()
	_, err := t.Store.Append(context.WithoutCancel(ctx), t.id, openmanus.Interrupted{ID: ids.New()})
	return errors.Join(errGone, err)
}

var errGone = errors.New("the client has gone")

// lookBelow has what waits for a person in a session settled that an event
// opens, and in those below it.
func (t *turn) lookBelow(ctx context.Context, ev openmanus.Event) {
	opened, ok := ev.Body.(openmanus.ChildOpened)
	if !ok {
		return
	}
	t.below.Go(func() {
		var st openmanus.State
		for ev, err := range t.Store.Follow(ctx, opened.Child, 0) {
			if err == nil {
				st.Apply(ev)
				t.lookBelow(ctx, ev)
				err = t.decide(ctx, opened.Child, &st)
			}
			if err != nil {
				if !errors.Is(err, openmanus.ErrNoSession) && ctx.Err() == nil {
					t.Log.Error("nobody decides what waits there", "session", opened.Child, "error", err)
				}
				return
			}
		}
	})
}

// decide settles what waits for a person in a session: there is none.
func (t *turn) decide(ctx context.Context, id string, st *openmanus.State) error {
	pending := st.Pending()
	for _, c := range pending {
		var b openmanus.Body
		switch q := c.Question(); q.Kind {
		case openmanus.AskRuling:
			b = openmanus.Ruled{Call: c.ID, By: "policy", Rule: "nobody can be asked", Reason: "this needs a person's approval, and nobody can be asked here", Hash: q.Hash}
		default:
			b = openmanus.Answered{Call: c.ID, N: q.N, By: "policy", Text: "Nobody can be asked here. Go on as best you can, and say in the answer what you assumed.", Data: json.RawMessage(`null`)}
		}
		if _, err := t.Store.Append(ctx, id, b); err != nil && !errors.Is(err, openmanus.ErrExists) && !errors.Is(err, openmanus.ErrConflict) {
			return err
		}
	}
	if len(pending) == 0 {
		return nil
	}
	return t.wake(ctx, id)
}

// show passes on what the client is to see of an event.
func (t *turn) show(ev openmanus.Event) error {
	if ev.Seq > 0 && ev.Seq <= t.from {
		return nil
	}
	switch b := ev.Body.(type) {
	case openmanus.Typing:
		return t.typing(b)
	case openmanus.ModelSaid:
		text := b.Message.Text()
		t.typed = strings.TrimSuffix(t.typed, again)
		if rest, ok := strings.CutPrefix(text, t.typed); ok && rest != "" {
			if err := t.say(rest); err != nil {
				return err
			}
		}
		t.typed = ""
		if calls := b.Message.Calls(); len(calls) > 0 && text != "" {
			return t.say("\n\n")
		}
	case openmanus.CallStarted:
		if c := t.state.Call(b.Call); c != nil && t.doing != nil {
			return t.doing(c.Name + " " + cut(c.Arguments(), 200) + "\n")
		}
	}
	return nil
}

// again ends what was shown of a reply that has begun anew.
const again = "\x00"

// typing shows what is new in a reply on its way. What was shown cannot be
// taken back: a reply that begins anew is shown from where it differs.
func (t *turn) typing(b openmanus.Typing) error {
	if b.Reset && t.typed != "" {
		t.typed += again
	}
	for _, p := range b.Parts {
		text, ok := p.(llm.Text)
		if !ok || text.Text == "" {
			continue
		}
		if strings.HasSuffix(t.typed, again) {
			t.typed = ""
			if err := t.say("\n\n"); err != nil {
				return err
			}
		}
		t.typed += text.Text
		if err := t.say(text.Text); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) say(text string) error {
	if t.said == nil {
		return nil
	}
	return t.said(text)
}

// outcome is how the turn ended: nil if there is an answer.
func (t *turn) outcome() error {
	o := t.state.Outcome
	if t.state.Status() == openmanus.Finished || o.Status == openmanus.Halted && t.state.Answer != "" && o.Reason != openmanus.ByPerson {
		return nil
	}
	return fmt.Errorf("the agent ended as %s (%s): %s", t.state.Status(), o.Reason, o.Error)
}

// cutOff reports whether a limit ended the turn.
func (t *turn) cutOff() bool { return t.state.Outcome.Status == openmanus.Halted }

func unix(at time.Time) int64 { return at.Unix() }
