package a2a

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// A Service does what the operations of the protocol ask for. Its methods are safe
// for concurrent use. An error that is no [*Error] is an internal one.
type Service interface {
	// Send returns the task, or the answer as a message.
	Send(ctx context.Context, r *SendRequest) (Event, error)
	// Stream does what Send does, and calls send with the task and with what happens
	// in it, until it rests. ready is called before, once nothing is wrong.
	Stream(ctx context.Context, r *SendRequest, out Stream) error
	Subscribe(ctx context.Context, r *TaskRequest, out Stream) error
	Get(ctx context.Context, r *TaskRequest) (*Task, error)
	List(ctx context.Context, r *ListRequest) (*TaskList, error)
	Cancel(ctx context.Context, r *TaskRequest) (*Task, error)
	Card(ctx context.Context, base string) (any, error)
}

// A Pusher is a [Service] that posts what happens in tasks to addresses of clients.
type Pusher interface {
	// AddPush adds an address, or replaces the one with its id. One without an id gets one.
	AddPush(ctx context.Context, p *Push) (*Push, error)
	Push(ctx context.Context, r *PushRequest) (*Push, error)
	Pushes(ctx context.Context, r *PushRequest) (*PushList, error)
	// RemovePush removes an address, if there is one.
	RemovePush(ctx context.Context, r *PushRequest) (struct{}, error)
}

// A Stream sends events to a client. Begin returns the function that sends one, or
// without data shows that the connection lives. An error before Begin is answered
// as one.
type Stream interface {
	Begin() func(id string, data []byte) error
}

// A method is an operation: do decodes the parameters, and returns the result, or
// streams.
type method struct {
	name   string // of JSON-RPC
	verb   string // of HTTP
	path   string // below the base; {id} stands for a task
	stream bool
	do     handler
}

// A call is a request in either binding.
type call struct {
	params json.RawMessage
	last   string
	out    Stream
	base   string
}

// methods are all operations there are. Both bindings, and what is advertised, come
// from here.
var methods = []method{
	{"SendMessage", "POST", "/message:send", false, with(func(ctx context.Context, s Service, _ *call, r *SendRequest) (any, error) {
		return s.Send(ctx, r)
	})},
	{"SendStreamingMessage", "POST", "/message:stream", true, with(func(ctx context.Context, s Service, in *call, r *SendRequest) (any, error) {
		return nil, s.Stream(ctx, r, in.out)
	})},
	{"GetTask", "GET", "/tasks/{id}", false, task(Service.Get)},
	{"ListTasks", "GET", "/tasks", false, with(func(ctx context.Context, s Service, _ *call, r *ListRequest) (any, error) {
		return s.List(ctx, r)
	})},
	{"CancelTask", "POST", "/tasks/{id}:cancel", false, task(Service.Cancel)},
	{"SubscribeToTask", "POST", "/tasks/{id}:subscribe", true, with(subscribe)},
	{"SubscribeToTask", "GET", "/tasks/{id}:subscribe", true, with(subscribe)},
	{"CreateTaskPushNotificationConfig", "POST", "/tasks/{taskId}/pushNotificationConfigs", false, push(Pusher.AddPush)},
	{"ListTaskPushNotificationConfigs", "GET", "/tasks/{taskId}/pushNotificationConfigs", false, push(Pusher.Pushes)},
	{"GetTaskPushNotificationConfig", "GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", false, push(Pusher.Push)},
	{"DeleteTaskPushNotificationConfig", "DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", false, push(Pusher.RemovePush)},
	{"GetExtendedAgentCard", "GET", "/extendedAgentCard", false, func(ctx context.Context, s Service, in *call) (any, error) {
		return s.Card(ctx, in.base)
	}},
}

// A handler does an operation.
type handler = func(ctx context.Context, s Service, in *call) (any, error)

// with returns the handler of an operation, which decodes its parameters.
func with[In any](do func(ctx context.Context, s Service, in *call, r *In) (any, error)) handler {
	return func(ctx context.Context, s Service, in *call) (any, error) {
		r, err := params[In](in)
		if err != nil {
			return nil, err
		}
		return do(ctx, s, in, r)
	}
}

// push returns the handler of an operation on push notifications: it refuses the operation
// if the service has none.
func push[In, Out any](do func(Pusher, context.Context, *In) (Out, error)) handler {
	return func(ctx context.Context, s Service, in *call) (any, error) {
		p, ok := s.(Pusher)
		if !ok {
			return nil, NoPush()
		}
		return with(func(ctx context.Context, _ Service, _ *call, r *In) (any, error) { return do(p, ctx, r) })(ctx, s, in)
	}
}

// subscribe answers with a stream of a task's events, after the last one that the client
// has.
func subscribe(ctx context.Context, s Service, in *call, r *TaskRequest) (any, error) {
	r.Last = in.last
	return nil, s.Subscribe(ctx, r, in.out)
}

// task returns the handler of an operation on one task, which checks the parameters that
// all of them have.
func task(do func(Service, context.Context, *TaskRequest) (*Task, error)) handler {
	return with(func(ctx context.Context, s Service, _ *call, r *TaskRequest) (any, error) {
		if r.History != nil && *r.History < 0 {
			return nil, BadField("historyLength", "it must not be negative")
		}
		return do(s, ctx, r)
	})
}

// params decodes the parameters of a call. Names may be in camel case or with underscores,
// as clients of both kinds exist. Missing parameters are the zero value; an error names
// the field.
func params[T any](in *call) (*T, error) {
	v := new(T)
	if len(in.params) == 0 || string(in.params) == "null" {
		return v, nil
	}
	data, err := camel(in.params)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return nil, BadField(typ.Field, "it must not be a "+typ.Value)
	}
	if err != nil {
		return nil, BadField("params", err.Error())
	}
	return v, nil
}

// camel returns parameters with the names that JSON has: a client may also use those
// of Protocol Buffers, such as history_length. The client's own values, in data and
// metadata, stay.
func camel(data json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(rename(v))
}

// rename puts the names in a JSON value into camel case. The client's own data stays as it
// is.
func rename(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = rename(v[i])
		}
	case map[string]any:
		named := make(map[string]any, len(v))
		for name, value := range v {
			if name != "data" && name != "metadata" {
				value = rename(value)
			}
			words := strings.Split(name, "_")
			for i, w := range words[1:] {
				if w != "" {
					words[i+1] = strings.ToUpper(w[:1]) + w[1:]
				}
			}
			named[strings.Join(words, "")] = value
		}
		return named
	}
	return v
}

// checkType refuses requests that are not JSON. A request without a type counts as JSON.
func checkType(r *http.Request) error {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch strings.TrimSpace(kind) {
	case "", "application/json", "application/a2a+json":
		return nil
	}
	return BadMedia("the request is of type " + kind + ", and must be application/json")
}

// versionOf returns the version that a request names; "": it names none.
func versionOf(r *http.Request) string {
	return cmp.Or(r.Header.Get("A2A-Version"), r.URL.Query().Get("A2A-Version"))
}

// checkVersion refuses a version that is not the current one. A request that names none is
// of an older one.
func checkVersion(v string) error {
	v = cmp.Or(v, oldVersion)
	if v != Version && !strings.HasPrefix(v, Version+".") {
		return badVersion(v)
	}
	return nil
}

// An rpc is a request of JSON-RPC.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// JSONRPC returns the handler of the JSON-RPC binding. events starts a response with
// server-sent events, and base returns the URL of the server.
func JSONRPC(s Service, events func(http.ResponseWriter) func(string, []byte) error, base func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q rpc
		version := versionOf(r)
		err := checkType(r)
		if err == nil && !isOld(version) {
			err = checkVersion(version)
		}
		if err == nil {
			var data []byte
			if data, err = io.ReadAll(r.Body); err == nil {
				err = q.read(data)
			}
		}
		out := &rpcStream{w: w, id: q.ID, events: events}
		if err == nil && isOld(version) {
			err = out.speakOld(&q, version)
		}
		var result any
		if err == nil {
			var m *method
			if m, err = byName(q.Method); err == nil {
				in := &call{params: q.Params, last: r.Header.Get("Last-Event-ID"), out: out, base: base(r)}
				if result, err = m.do(r.Context(), s, in); err == nil && m.stream {
					return
				}
			}
		}
		if out.send != nil {
			_ = out.send("", out.reply(nil, err)) // the stream ends either way
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out.reply(result, err)) // an error means that the client is gone
	})
}

// read reads a request. An error has the code of JSON-RPC, and no id if that could not be
// read.
func (q *rpc) read(data []byte) error {
	if !json.Valid(data) {
		return &Error{Code: -32700, HTTP: http.StatusBadRequest, Message: "the request is no JSON"}
	}
	bad := func(why string) error {
		q.ID = nil
		return &Error{Code: -32600, HTTP: http.StatusBadRequest, Message: why}
	}
	if err := json.Unmarshal(data, q); err != nil {
		return bad("the request is no JSON-RPC: " + err.Error())
	}
	switch {
	case q.Version != "2.0":
		return bad(`jsonrpc: it must be "2.0"`)
	case q.Method == "":
		return bad("method: it is missing")
	case len(q.ID) > 0 && (q.ID[0] == '{' || q.ID[0] == '[' || q.ID[0] == 't' || q.ID[0] == 'f'):
		return bad("id: it must be text, a number or null")
	case len(q.Params) > 0 && q.Params[0] != '{' && string(q.Params) != "null":
		return &Error{Code: -32602, Message: "it must be an object", Field: "params"}
	}
	return nil
}

// byName returns a method by its name in JSON-RPC. The error lists the names that there
// are.
func byName(name string) (*method, error) {
	var known []string
	for i := range methods {
		if methods[i].name == name {
			return &methods[i], nil
		}
		known = append(known, methods[i].name)
	}
	return nil, &Error{Code: -32601, HTTP: http.StatusNotFound,
		Message: fmt.Sprintf("there is no method %q; there are %s", name, strings.Join(known, ", "))}
}

// An rpcStream writes responses of JSON-RPC.
type rpcStream struct {
	w      http.ResponseWriter
	id     json.RawMessage
	events func(http.ResponseWriter) func(string, []byte) error
	send   func(string, []byte) error
	old    bool // the client speaks an older version
}

// speakOld makes a request of an older version one of the current version, which is
// answered as the older one has it.
func (o *rpcStream) speakOld(q *rpc, version string) (err error) {
	name, known := oldMethods[q.Method]
	if !known {
		return checkVersion(version)
	}
	o.old = true
	if q.Params, err = fromOld(q.Method, q.Params); err == nil {
		q.Method = name
	}
	return err
}

// reply returns a response with a result or an error, in the form of the client's version.
// A result that cannot be encoded becomes an error.
func (o *rpcStream) reply(result any, err error) []byte {
	if o.old && err == nil {
		result = toOld(result)
	}
	f := map[string]any{"jsonrpc": "2.0", "id": o.id, "result": result}
	if err != nil {
		e := asError(err)
		delete(f, "result")
		f["error"] = map[string]any{"code": e.Code, "message": e.Error(), "data": e.details()}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return o.reply(nil, err)
	}
	return data
}

// Begin implements [Stream].
func (o *rpcStream) Begin() func(string, []byte) error {
	o.send = o.events(o.w)
	return func(id string, data []byte) error {
		switch {
		case data == nil:
		case o.old:
			var e Event
			if err := json.Unmarshal(data, &e); err != nil {
				return err
			}
			data = o.reply(e, nil)
		default:
			data = o.reply(json.RawMessage(data), nil)
		}
		return o.send(id, data)
	}
}

// REST returns the handler of the HTTP+JSON binding, for paths below prefix. events
// returns the function that writes an event of a stream; base returns the address under
// which the client reaches the server. The handler is safe for concurrent use.
func REST(s Service, prefix string, events func(http.ResponseWriter) func(string, []byte) error, base func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &restStream{w: w, events: events}
		result, streamed, err := rest(s, prefix, out, base, r)
		switch {
		case err == nil && streamed:
		case err == nil:
			writeREST(w, http.StatusOK, result)
		case out.send != nil:
			data, _ := json.Marshal(status(asError(err)))
			_ = out.send("", data) // the stream ends either way
		default:
			e := asError(err)
			writeREST(w, e.HTTP, status(e))
		}
	})
}

// rest carries out a request. streamed says that the answer went to out; otherwise it is
// the result.
func rest(s Service, prefix string, out Stream, base func(*http.Request) string, r *http.Request) (result any, streamed bool, err error) {
	if err := cmp.Or(checkType(r), checkVersion(versionOf(r))); err != nil {
		return nil, false, err
	}
	m, vars, err := route(r.Method, strings.TrimPrefix(r.URL.Path, prefix))
	if err != nil {
		return nil, false, err
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, false, err
	}
	in := &call{last: r.Header.Get("Last-Event-ID"), out: out, base: base(r)}
	if in.params, err = merge(data, r.URL.Query(), vars); err != nil {
		return nil, false, err
	}
	result, err = m.do(r.Context(), s, in)
	return result, m.stream, err
}

// route finds the method of a request, and the variables in its path. A path that exists
// with another verb is a 405.
func route(verb, path string) (m *method, vars map[string]string, err error) {
	wrong := false
	for i := range methods {
		vars, ok := match(methods[i].path, path)
		if ok && methods[i].verb == verb {
			return &methods[i], vars, nil
		}
		wrong = wrong || ok
	}
	if wrong {
		return nil, nil, &Error{Code: -32601, HTTP: http.StatusMethodNotAllowed, Status: "UNIMPLEMENTED", Message: path + " does not take " + verb}
	}
	return nil, nil, &Error{Code: -32601, HTTP: http.StatusNotFound, Status: "NOT_FOUND", Message: "there is no operation " + path}
}

// match returns the variables of a path that fits a pattern, such as /tasks/{id}:cancel. A
// variable is one segment, or a part of it.
func match(pattern, path string) (map[string]string, bool) {
	a, b := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return nil, false
	}
	vars := make(map[string]string)
	for i := range a {
		name, after, ok := strings.Cut(strings.TrimPrefix(a[i], "{"), "}")
		if !ok {
			if a[i] != b[i] {
				return nil, false
			}
			continue
		}
		value, found := strings.CutSuffix(b[i], after)
		if !found || value == "" || after == "" && strings.Contains(value, ":") {
			return nil, false
		}
		vars[name] = value
	}
	return vars, true
}

// merge returns the parameters of a request: those of its body, its query, and its path,
// of which the later ones win. Numbers keep their digits.
func merge(body []byte, query url.Values, vars map[string]string) (json.RawMessage, error) {
	all := make(map[string]any)
	if len(bytes.TrimSpace(body)) > 0 {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber() // numbers of the client's own data keep their digits
		err := d.Decode(&all)
		if err == nil && d.More() {
			err = errors.New("more follows it")
		}
		if err != nil {
			return nil, &Error{Code: -32700, HTTP: http.StatusBadRequest, Status: "INVALID_ARGUMENT", Message: "the body is no JSON object: " + err.Error()}
		}
	}
	if all == nil { // the body was null
		all = make(map[string]any)
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "pageSize", "historyLength":
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, BadField(name, "it must be a number")
			}
			all[name] = n
		case "includeArtifacts":
			if value != "true" && value != "false" {
				return nil, BadField(name, "it must be true or false")
			}
			all[name] = value == "true"
		default:
			all[name] = value
		}
	}
	for name, value := range vars {
		all[name] = value
	}
	return json.Marshal(all)
}

// status returns the body of an error response.
func status(e *Error) any {
	return map[string]any{"error": map[string]any{"code": e.HTTP, "status": e.Status, "message": e.Error(), "details": e.details()}}
}

func writeREST(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}

// A restStream writes events of the HTTP+JSON binding.
type restStream struct {
	w      http.ResponseWriter
	events func(http.ResponseWriter) func(string, []byte) error
	send   func(string, []byte) error
}

// Begin implements [Stream].
func (o *restStream) Begin() func(string, []byte) error {
	o.send = o.events(o.w)
	return o.send
}
