package a2aclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	wire "github.com/openmanus-go/openmanus/internal/a2awire"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// The limits of what an agent answers, in bytes.
const (
	maxCard   = 1 << 20
	maxAnswer = 64 << 20
	maxEvent  = 16 << 20
)

// Options say how an agent is reached.
type Options struct {
	Name  string
	URL   string // of its card, or of the server that has the card at its usual place
	Token string // a bearer token; "": none

	// Dial connects to hosts that the URL does not name. It refuses those that are not
	// public. nil: there are none but that of the URL.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	Timeout time.Duration // the longest that one task may take; 0: DefaultTimeout

	pause func(n int) time.Duration // before try n; nil: pauses that grow to 10 s
	quiet time.Duration             // how long a stream may be silent; 0: two minutes
}

// DefaultTimeout is the longest that a task may take unless the options say otherwise.
const DefaultTimeout = time.Hour

// A Client asks one agent. It is safe for concurrent use, and keeps nothing open.
type Client struct {
	o    Options
	home *url.URL
	http *http.Client
}

// New returns a client. It sends nothing yet. A URL that does not end with .json is the
// place below which the card has its well-known address. The error says what is wrong with
// the URL.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL of the agent %s: %w", o.Name, errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the URL of the agent %s must begin with http:// or https://", o.Name)
	case u.User != nil:
		return nil, fmt.Errorf("the URL of the agent %s has a user in it: give the key as token_env", o.Name)
	}
	if !strings.HasSuffix(u.Path, ".json") {
		u.Path = path.Join("/", u.Path, ".well-known/agent-card.json")
	}
	c := &Client{o: o, home: u}
	plain := &net.Dialer{Timeout: 10 * time.Second}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == address(u) {
					return plain.DialContext(ctx, network, addr)
				}
				if o.Dial == nil {
					return nil, fmt.Errorf("the agent %s is at %s, and not at %s", o.Name, u.Host, addr)
				}
				return o.Dial(ctx, network, addr)
			},
		},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %s, and redirects are not followed: if that is right, configure that address",
				clip.Clean(r.URL.Host))
		},
	}
	return c, nil
}

// address returns the host and port of u.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// A Failure is an error that an agent answers.
type Failure struct {
	Code    int    // of JSON-RPC, or the status of HTTP
	Reason  string // the protocol's name of the error, or ""
	Message string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("it answers with error %d: %s", f.Code, clip.Text(clip.OneLine(clip.Clean(f.Message)), 500))
}

// is reports whether the error is one of the protocol's.
func (f *Failure) is(code int, reason string) bool { return f.Code == code || f.Reason == reason }

// An Agent is an agent whose card is known.
type Agent struct {
	*Client
	Found
	at    wire.Interface
	where *url.URL
}

// Agent reads the card of the agent and chooses the first binding that both sides speak. A
// card without one is an error.
func (c *Client) Agent(ctx context.Context) (*Agent, error) {
	f, err := c.ReadCard(ctx)
	if err != nil {
		return nil, err
	}
	at, err := f.choose()
	if err != nil {
		return nil, fmt.Errorf("the agent %s: %w", c.o.Name, err)
	}
	u, err := c.home.Parse(at.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the card of the agent %s names %q, which is no address", c.o.Name, clip.Clean(at.URL))
	}
	return &Agent{Client: c, Found: *f, at: at, where: u}, nil
}

// An operation is a request in both bindings.
type operation struct {
	method string // of JSON-RPC
	verb   string // of HTTP+JSON
	path   string
	params any
	query  url.Values // in place of params, in HTTP+JSON
}

// Send sends a message, and returns before the task is done where the agent can do
// that. The event has a task or a message.
func (a *Agent) Send(ctx context.Context, m *wire.Message) (*wire.Event, error) {
	r := wire.SendRequest{Message: m}
	r.Config.Now = true
	e := new(wire.Event)
	if err := a.ask(ctx, operation{"SendMessage", "POST", "/message:send", r, nil}, e); err != nil {
		return nil, err
	}
	if e.Task == nil && e.Message == nil || e.Task != nil && e.Task.ID == "" {
		return nil, fmt.Errorf("the agent %s answered with neither a task nor a message", a.o.Name)
	}
	return e, nil
}

// Get returns a task as it is now. An answer with another task is an error.
func (a *Agent) Get(ctx context.Context, id string) (*wire.Task, error) {
	t := new(wire.Task)
	err := a.ask(ctx, operation{"GetTask", "GET", "/tasks/" + url.PathEscape(id), wire.TaskRequest{ID: id}, url.Values{}}, t)
	if err == nil && t.ID != id {
		err = fmt.Errorf("the agent %s was asked for the task %q and answered with another one", a.o.Name, clip.Clean(id))
	}
	return t, err
}

// Cancel cancels a task.
func (a *Agent) Cancel(ctx context.Context, id string) error {
	p := "/tasks/" + url.PathEscape(id) + ":cancel"
	return a.ask(ctx, operation{"CancelTask", "POST", p, wire.TaskRequest{ID: id}, nil}, new(wire.Task))
}

// With returns the task that a message belongs to which may have arrived, or nil if the
// agent has not got it. The error says that the agent cannot tell.
func (a *Agent) With(ctx context.Context, message string) (*wire.Task, error) {
	const pages, size, history = 10, 50, 100
	n, h := size, history
	r := wire.ListRequest{PageSize: &n, History: &h}
	for range pages {
		q := url.Values{"pageSize": {strconv.Itoa(size)}, "historyLength": {strconv.Itoa(history)}}
		if r.PageToken != "" {
			q.Set("pageToken", r.PageToken)
		}
		var list wire.TaskList
		if err := a.ask(ctx, operation{"ListTasks", "GET", "/tasks", r, q}, &list); err != nil {
			return nil, err
		}
		for i := range list.Tasks {
			for _, m := range list.Tasks[i].History {
				if m.ID == message {
					return &list.Tasks[i], nil
				}
			}
		}
		if r.PageToken = list.Next; r.PageToken == "" {
			return nil, nil
		}
	}
	return nil, nil
}

// ask sends a request, and decodes the answer into out. It takes two minutes at most, and
// an answer of limited size.
func (a *Agent) ask(ctx context.Context, op operation, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	resp, err := a.request(ctx, op, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := read(resp.Body, maxAnswer)
	if err != nil {
		return fmt.Errorf("the answer of the agent %s: %w", a.o.Name, err)
	}
	if data, err = a.result(resp.StatusCode, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the agent %s answered with what is no A2A: %w", a.o.Name, err)
	}
	return nil
}

// request sends a request. last is the last event that arrived, of a subscription.
func (a *Agent) request(ctx context.Context, op operation, last string) (*http.Response, error) {
	u, verb, body := *a.where, op.verb, op.params
	if a.at.Binding == jsonRPC {
		verb, body = "POST", map[string]any{"jsonrpc": "2.0", "id": 1, "method": op.method, "params": op.params}
	} else {
		u = *a.where.JoinPath(op.path)
		u.RawQuery = op.query.Encode()
	}
	var in io.Reader
	if verb != "GET" {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, verb, u.String(), in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	return a.do(req, a.o.Token)
}

// do sends a request with the token. The error names the agent and its host, and neither
// the token nor the whole address.
func (c *Client) do(req *http.Request, token string) (*http.Response, error) {
	req.Header.Set("A2A-Version", wire.Version)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if err != nil {
		return nil, fmt.Errorf("the agent %s at %s cannot be asked: %w", c.o.Name, req.URL.Host, err)
	}
	return resp, nil
}

// result returns what an answer has, or its error.
func (a *Agent) result(status int, data []byte) (json.RawMessage, error) {
	var r struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	err := json.Unmarshal(data, &r)
	switch {
	case err == nil && r.Error != nil:
		f := &Failure{Code: r.Error.Code, Message: r.Error.Message}
		var more []struct {
			Reason string `json:"reason"`
		}
		for _, d := range []json.RawMessage{r.Error.Data, r.Error.Details} {
			if json.Unmarshal(d, &more) == nil {
				for _, m := range more {
					f.Reason = m.Reason
				}
			}
		}
		return nil, fmt.Errorf("the agent %s: %w", a.o.Name, f)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, fmt.Errorf("the agent %s: %w", a.o.Name, &Failure{Code: status,
			Message: fmt.Sprintf("it refuses access: give its key as [a2a.%s] token_env", a.o.Name)})
	case status >= 300:
		return nil, fmt.Errorf("the agent %s: %w", a.o.Name, &Failure{Code: status, Message: string(data[:min(len(data), 2000)])})
	case err != nil && json.Valid(data):
		return nil, fmt.Errorf("the agent %s answered with what is no A2A: %w", a.o.Name, err)
	case err != nil:
		return nil, fmt.Errorf("the agent %s answered with what is no JSON: %w", a.o.Name, err)
	case a.at.Binding == jsonRPC && len(r.Result) == 0:
		return nil, fmt.Errorf("the agent %s answered with no result", a.o.Name)
	case a.at.Binding == jsonRPC:
		return r.Result, nil
	}
	return data, nil
}

// read reads all of r, which must not have more than limit bytes.
func read(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return data, err
}
