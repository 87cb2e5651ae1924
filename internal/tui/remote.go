package tui

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// A server is the [Source] of the sessions of a server, over its HTTP API.
type server struct {
	base, token string
	client      *http.Client

	mu   sync.Mutex
	next Setting // of new sessions
}

// Attach returns the sessions of a server. The address is the link that openmanus serve
// prints, http://HOST:PORT/?token=TOKEN.
func Attach(link string) (Source, error) {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("--attach wants the link that openmanus serve prints: http://HOST:PORT/?token=TOKEN")
	}
	token := u.Query().Get("token")
	if token == "" {
		return nil, errors.New("the link has no token: give all of what openmanus serve prints, http://HOST:PORT/?token=TOKEN")
	}
	return &server{
		base: u.Scheme + "://" + u.Host + strings.TrimRight(u.Path, "/"), token: token,
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Name implements Source.
func (s *server) Name() string { return s.base }

// maxAnswer is the most bytes that are read of a response.
const maxAnswer = 256 << 20

// request makes a request. in is sent as JSON, unless it is nil. The caller closes the
// body of the response, whose status is one of success.
func (s *server) request(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+"/api/v1/"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var asked *url.Error
		if errors.As(err, &asked) {
			err = asked.Err // without the address, which may have the token
		}
		return nil, fmt.Errorf("%s does not answer: %w", s.base, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var problem struct {
		Title  string                               `json:"title"`
		Detail string                               `json:"detail"`
		Errors []struct{ Message, Location string } `json:"errors"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what is there says enough
	if json.Unmarshal(data, &problem) != nil || problem.Title+problem.Detail == "" {
		return nil, fmt.Errorf("%s answers %s", s.base, resp.Status)
	}
	text := problem.Detail
	if text == "" {
		text = problem.Title
	}
	for _, e := range problem.Errors {
		text += ": " + strings.TrimSpace(strings.TrimPrefix(e.Location, "body.")+" "+e.Message)
	}
	return nil, errors.New(text)
}

// call makes a request and decodes its response into out, unless that is nil. An answer
// that is too large or has another form is an error that names the server.
func (s *server) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := s.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("%s answers with what is not expected: %w", s.base, err)
	}
	return nil
}

// of returns the path of a session.
func of(id string, more ...string) string {
	return strings.Join(append([]string{"sessions", url.PathEscape(id)}, more...), "/")
}

// fields are those of a JSON object.
type fields map[string]any

// Start implements Source. It creates the session and sends the first message, which are
// two requests: if the second fails, the session exists without a message.
func (s *server) Start(ctx context.Context, m Message) (string, error) {
	s.mu.Lock()
	set := s.next
	s.mu.Unlock()
	var made struct{ ID string }
	if err := s.call(ctx, "POST", "sessions", fields{"model": set.Model, "agent": set.Agent, "approve": cmp.Or(set.Mode, openmanus.ApproveAsk)}, &made); err != nil {
		return "", err
	}
	return made.ID, s.Say(ctx, made.ID, m)
}

// maxAttached is the most bytes of a file that is sent with a message.
const maxAttached = 20 << 20

// Say implements Source. Attached files travel in the request; each has at most 20 MiB.
func (s *server) Say(ctx context.Context, id string, m Message) error {
	var files []fields
	for _, name := range m.Attach {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if info.Size() > maxAttached || !info.Mode().IsRegular() {
			return fmt.Errorf("%s cannot be attached: it is no file of at most 20 MiB", name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, fields{"name": filepath.Base(name), "mime": mime.TypeByExtension(filepath.Ext(name)), "data": base64.StdEncoding.EncodeToString(data)})
	}
	return s.call(ctx, "POST", of(id, "messages"), fields{"id": m.ID, "text": m.Text, "attachments": files}, nil)
}

// Interrupt implements Source. The server knows what streamed.
func (s *server) Interrupt(ctx context.Context, id, _ string) error {
	return s.call(ctx, "POST", of(id, "interrupt"), nil, nil)
}

// Continue implements Source.
func (s *server) Continue(ctx context.Context, id string) error {
	return s.call(ctx, "POST", of(id, "retry"), fields{}, nil)
}

// Decide implements Source. A question that was decided meanwhile is an error that says
// so.
func (s *server) Decide(ctx context.Context, d Decision) error {
	if d.Kind != openmanus.AskRuling {
		var answer any = d.Text
		if len(d.Data) > 0 {
			answer = d.Data
		}
		return s.call(ctx, "POST", of(d.Session, "answers"), fields{"call": d.Call, "answer": answer}, nil)
	}
	in := fields{"call": d.Call, "allow": d.Allow, "reason": d.Reason, "scope": d.Scope, "remember": d.Remember}
	if d.Input != "" {
		in["input"] = json.RawMessage(d.Input)
	}
	return s.call(ctx, "POST", of(d.Session, "rulings"), in, nil)
}

// Choices implements Source. The server refuses what cannot be remembered, and says why.
func (s *server) Choices(context.Context, string, string) (Choices, error) {
	return Choices{Remember: true}, nil
}

// A sessionView is a session as the API has it.
type sessionView struct {
	Session
	Approve string
	Usage   struct {
		Cost *float64 `json:"cost_usd"`
	}
	Waiting, Below []struct{}
	Found          *struct {
		Event   int64
		Snippet string
	}
}

// session returns a session.
func (v sessionView) session() Session {
	x := v.Session
	x.Mode, x.Questions = v.Approve, len(v.Waiting)+len(v.Below)
	if v.Usage.Cost != nil {
		x.Cost = fmt.Sprintf("$%.2f", *v.Usage.Cost)
	}
	if v.Found != nil {
		x.Seq, x.Found = v.Found.Event, strings.NewReplacer("\ue000", "", "\ue001", "").Replace(v.Found.Snippet)
	}
	return x
}

// Session implements Source.
func (s *server) Session(ctx context.Context, id string) (Session, error) {
	var v sessionView
	err := s.call(ctx, "GET", of(id), nil, &v)
	return v.session(), err
}

// Sessions implements Source.
func (s *server) Sessions(ctx context.Context, limit int) ([]Session, error) {
	return s.list(ctx, fmt.Sprintf("sessions?limit=%d", limit))
}

// Search implements Source.
func (s *server) Search(ctx context.Context, words string, limit int) ([]Session, error) {
	return s.list(ctx, fmt.Sprintf("sessions?limit=%d&q=%s", limit, url.QueryEscape(words)))
}

// list reads the sessions at a path of the API.
func (s *server) list(ctx context.Context, path string) (all []Session, err error) {
	var got struct{ Items []sessionView }
	if err := s.call(ctx, "GET", path, nil, &got); err != nil {
		return nil, err
	}
	for _, v := range got.Items {
		all = append(all, v.session())
	}
	return all, nil
}

// logPage is how many events are asked for at a time.
const logPage = pageEvents

// Events implements Source. It reads pages of the journal until one is empty. Events that
// are out of order end it with an error.
func (s *server) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		for from := after; ; {
			var got struct{ Items []openmanus.Event }
			if err := s.call(ctx, "GET", of(id, fmt.Sprintf("log?after=%d&limit=%d", from, logPage)), nil, &got); err != nil {
				yield(openmanus.Event{}, err)
				return
			}
			for _, ev := range got.Items {
				if ev.Seq <= from {
					yield(openmanus.Event{}, fmt.Errorf("%s sends events out of order", s.base))
					return
				}
				if from = ev.Seq; !yield(ev, nil) {
					return
				}
			}
			if len(got.Items) < logPage {
				return
			}
		}
	}
}

// errStreamEnded says that a server has closed a stream of events, as it does when it
// stops.
var errStreamEnded = errors.New("the server has closed the connection")

// Follow implements Source by the server's stream of events. A connection that breaks ends
// it with an error; the program then follows again from the last event.
func (s *server) Follow(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		resp, err := s.request(ctx, "GET", of(id, fmt.Sprintf("events?after=%d", after)), nil)
		if err != nil {
			if ctx.Err() == nil {
				yield(openmanus.Event{}, err)
			}
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, maxAnswer)
		failed := false
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				failed = false
			}
			failed = failed || line == "event: error"
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var ev openmanus.Event
			if failed {
				err = fmt.Errorf("%s: %s", s.base, data)
			} else {
				err = json.Unmarshal([]byte(data), &ev)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if err = lines.Err(); err == nil {
			err = errStreamEnded
		}
		if ctx.Err() == nil {
			yield(openmanus.Event{}, err)
		}
	}
}

// Models implements Source.
func (s *server) Models(ctx context.Context) ([]Named, error) { return s.named(ctx, "models") }

// Agents implements Source.
func (s *server) Agents(ctx context.Context) ([]Named, error) { return s.named(ctx, "agents") }

// named reads the list of what has a name at a path of the API.
func (s *server) named(ctx context.Context, path string) (all []Named, err error) {
	var got struct {
		Items []struct{ Name, Description string }
	}
	err = s.call(ctx, "GET", path, nil, &got)
	for _, n := range got.Items {
		all = append(all, Named{Name: n.Name, About: n.Description})
	}
	return all, err
}
