// Package openai serves agents to clients of OpenAI's and Anthropic's APIs: each agent
// is a model. It knows Chat Completions, Responses and Messages.
//
// # The way of a request
//
// An endpoint decodes its format into a [request], and refuses what cannot be done with
// the name of the field (fields.go, chat.go, responses.go, anthropic.go). A [turn] appends
// the message, or the results of the client's own tools, to a session, and follows it to the
// next outcome or wait (run.go). A [projector], a pure function of the session's events,
// says what of them the client sees (project.go), and a format writes that down. A response
// that is streamed, one that is not, and one that is read again later come from the same
// function of the same events.
//
// Frames of a stream have a position as their id: the bytes of text and the other frames
// up to their end. It does not depend on the pieces in which a text came, so a client can
// go on from any frame: by starting_after in the Responses API, and by Last-Event-ID with
// the same Idempotency-Key elsewhere.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// An API is the endpoints below /v1. All fields are required.
type API struct {
	Sessions Sessions
	Journal  Journal
	Agents   func(context.Context) ([]Agent, error)

	// Fetch reads what a client refers to by an https address, such as a picture.
	Fetch func(ctx context.Context, url string) (mime string, data []byte, err error)

	// Stream starts a response with server-sent events. Each call of write sends whole
	// events; done is called after the last one.
	Stream func(w http.ResponseWriter) (write func([]byte) error, done func())

	// Background runs f in a goroutine that ends with the server.
	Background func(f func(context.Context)) bool

	// Problem returns an error of the other fields as the client reads it.
	Problem func(context.Context, error) *Error

	recent recent
}

// Sessions are what the API changes. Errors are the server's own.
type Sessions interface {
	// Open opens a session of the user whose request has the context ctx.
	Open(ctx context.Context, n New) (id string, err error)

	// Change makes the session go on with what the client asks for now.
	Change(ctx context.Context, id string, n New) error

	// Append appends bodies, which may be there already, and wakes the session. It
	// returns the sequence number of the first one.
	Append(ctx context.Context, id string, bodies ...openmanus.Body) (int64, error)

	// End releases what is held for a session whose work is done, or deletes it.
	End(ctx context.Context, id string, remove bool) error
}

// A Journal is what the API reads.
type Journal interface {
	// Mine returns an error unless the session belongs to the user, and the user's name.
	Mine(ctx context.Context, id string) (user string, err error)

	// Watch yields the events of a session with what is provisional: see run.Local.
	Watch(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error]

	// Events yields the events that are stored.
	Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error]

	// Decide decides the calls of a session that wait for a person, but for those that
	// leave names: no person can be asked.
	Decide(ctx context.Context, id string, s *openmanus.State, leave func(*openmanus.CallState) bool) error
}

// New is what a client wants of a session.
type New struct {
	ID     string // that of the session; "": a new one
	Agent  string
	Client *openmanus.Client
	Answer json.RawMessage // the JSON Schema of the answer
}

// An Agent is what the API offers as a model.
type Agent struct {
	Name, Description string
	Created           int64 // in seconds since 1970
}

// An Error is the answer to a request that failed. Its zero fields have no
// meaning.
type Error struct {
	Status  int
	Message string
	Code    string      // such as model_not_found
	Param   string      // the field at fault, such as messages[0].role
	Header  http.Header // such as Retry-After
	Final   bool        // the client's library must not try again by itself
}

func (e *Error) Error() string { return e.Message }

// bad returns the error for a field that is not as it should be.
func bad(param, message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_value", Param: param, Message: param + ": " + message}
}

// kind returns the error's type in OpenAI's words, or in Anthropic's, by its status.
func (e *Error) kind(anthropic bool) string {
	for _, k := range []struct {
		status        int
		openai, other string
	}{
		{401, "authentication_error", "authentication_error"}, {403, "permission_error", "permission_error"},
		{404, "invalid_request_error", "not_found_error"}, {413, "invalid_request_error", "request_too_large"},
		{429, "rate_limit_error", "rate_limit_error"}, {529, "server_error", "overloaded_error"},
	} {
		if k.status == e.Status && anthropic {
			return k.other
		} else if k.status == e.Status {
			return k.openai
		}
	}
	switch {
	case e.Status < 500:
		return "invalid_request_error"
	case anthropic:
		return "api_error"
	}
	return "server_error"
}

// body returns the error in the form of either API.
func (e *Error) body(anthropic bool) map[string]any {
	if anthropic {
		return map[string]any{"type": "error", "error": map[string]any{"type": e.kind(true), "message": e.Message}}
	}
	return map[string]any{"error": map[string]any{
		"message": e.Message, "type": e.kind(false), "code": orNil(e.Code), "param": orNil(e.Param),
	}}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Write responds to a request of any path below /v1 with an error, in the form of the API
// that the client speaks. An error that trying again cannot mend says so in
// X-Should-Retry, because SDKs repeat requests otherwise.
func (e *Error) Write(w http.ResponseWriter, r *http.Request) {
	for k, v := range e.Header {
		w.Header()[k] = v
	}
	if e.Final {
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, e.Status, e.body(forAnthropic(r)))
}

// forAnthropic reports whether a client of Anthropic's sent the request.
func forAnthropic(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v1/messages") || r.Header.Get("Anthropic-Version") != ""
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}

// Register registers the endpoints. Any other path below /v1 is a 404, and any other
// method a 405 with Allow.
func (a *API) Register(mux *http.ServeMux) {
	type handler = func(http.ResponseWriter, *http.Request) error
	paths := []struct {
		path    string
		methods map[string]handler
	}{
		{"/v1/models", map[string]handler{"GET": a.models}},
		{"/v1/models/{id}", map[string]handler{"GET": a.model}},
		{"/v1/chat/completions", map[string]handler{"POST": a.chat}},
		{"/v1/messages", map[string]handler{"POST": a.messages}},
		{"/v1/responses", map[string]handler{"POST": a.respond}},
		{"/v1/responses/{id}", map[string]handler{"GET": a.retrieve, "DELETE": a.remove}},
		{"/v1/responses/{id}/input_items", map[string]handler{"GET": a.inputItems}},
		{"/v1/responses/{id}/cancel", map[string]handler{"POST": a.cancel}},
		{"/v1/", nil},
	}
	for _, p := range paths {
		mux.HandleFunc(p.path, func(w http.ResponseWriter, r *http.Request) {
			err := a.unknown(w, r, p.methods)
			if h := p.methods[r.Method]; h != nil {
				err = h(w, r)
			}
			if err != nil {
				a.problem(r.Context(), err).Write(w, r)
			}
		})
	}
}

// unknown returns the error for a path without methods, or for a method that is none of
// them, with Allow. It returns nil if the method exists.
func (a *API) unknown(w http.ResponseWriter, r *http.Request, methods map[string]func(http.ResponseWriter, *http.Request) error) error {
	if len(methods) == 0 {
		return &Error{Status: http.StatusNotFound, Code: "unknown_url", Message: "there is no " + r.Method + " " + r.URL.Path +
			" here: there are /v1/models, /v1/chat/completions, /v1/responses and /v1/messages"}
	}
	if methods[r.Method] != nil {
		return nil
	}
	var allow []string
	for _, m := range []string{"DELETE", "GET", "POST"} {
		if methods[m] != nil {
			allow = append(allow, m)
		}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return &Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Message: r.Method + " is not possible here, but " + strings.Join(allow, " and ") + " is"}
}

// problem returns err as the client reads it.
func (a *API) problem(ctx context.Context, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return a.Problem(ctx, err)
}

// models serves GET /v1/models: each agent is a model. The list has no pages.
func (a *API) models(w http.ResponseWriter, r *http.Request) error {
	agents, err := a.Agents(r.Context())
	if err != nil {
		return err
	}
	data := []any{}
	for _, g := range agents {
		data = append(data, g.object())
	}
	first, last := any(nil), any(nil)
	if len(agents) > 0 {
		first, last = agents[0].Name, agents[len(agents)-1].Name
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": false, "first_id": first, "last_id": last})
	return nil
}

// model serves GET /v1/models/ID.
func (a *API) model(w http.ResponseWriter, r *http.Request) error {
	agents, err := a.Agents(r.Context())
	if err != nil {
		return err
	}
	for _, g := range agents {
		if g.Name == r.PathValue("id") {
			writeJSON(w, http.StatusOK, g.object())
			return nil
		}
	}
	return noModel(r.PathValue("id"))
}

// object has the fields of both APIs.
func (g Agent) object() map[string]any {
	return map[string]any{"id": g.Name, "object": "model", "created": g.Created, "owned_by": "openmanus",
		"type": "model", "display_name": g.Name, "description": g.Description}
}

// noModel is the error for a model that does not exist.
func noModel(name string) *Error {
	return &Error{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: "there is no agent " + quote(name) + ": GET /v1/models lists them"}
}

// quote returns a name in quotes, at most 100 bytes of it.
func quote(name string) string {
	data, _ := json.Marshal(name[:min(len(name), 100)]) // a string encodes
	return string(data)
}

// userMessage returns a body that says parts.
func userMessage(id string, parts llm.Parts) openmanus.UserSaid {
	return openmanus.UserSaid{ID: id, Message: llm.Message{Role: llm.User, Parts: parts}}
}
