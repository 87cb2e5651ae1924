package server_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

const (
	annsToken = "ann-0123456789abcdef"
	bobsToken = "bob-0123456789abcdef"
	evesToken = "eve-0123456789abcdef" // who may do little
)

// A host makes agents with a model that a test scripts.
type host struct {
	db    server.Store
	model llm.Model
	mode  string // of all sessions; "": what each asks for

	mu  sync.Mutex
	all []*workspace.Dir

	screen // its sessions have browsers
}

func (h *host) agent(dir, mode string) (*openmanus.Agent, error) {
	ws, err := workspace.NewDir(dir)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.all = append(h.all, ws)
	h.mu.Unlock()
	return &openmanus.Agent{Name: "manus", Model: h.model, Spec: openmanus.Spec{Model: "script/ed", Workspace: dir, Approve: mode}, Gate: openmanus.Mode(mode),
		Tools: []openmanus.Tool{tools.NewFileSaver(ws), tools.NewAskHuman(), tools.NewTerminate(), give()}}, nil
}

// give returns a tool that delegates.
func give() openmanus.Tool {
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{Internal: true, Delegates: true}}
	spec.Name = "give"
	return openmanus.Func(spec, func(context.Context, openmanus.Call, map[string]any) (openmanus.Result, error) {
		return openmanus.Result{}, errors.New("a call that delegates is not run")
	})
}

func (h *host) flow(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
	a, err := h.agent(s.Config.Workspace, s.Config.Approve)
	if c := s.Config.Client; err == nil && c != nil {
		for _, spec := range c.Tools {
			t, err := tools.NewClientTool(spec, true)
			if err != nil {
				return nil, err
			}
			a.Tools = append(a.Tools, t)
		}
	}
	return a, err
}

func (h *host) Open(ctx context.Context, id string, n server.NewSession) error {
	if n.Agent != "" && n.Agent != "manus" {
		return &server.FieldError{Field: "agent", Err: fmt.Errorf("there is no agent %q", n.Agent)}
	}
	if n.Model == "scripted:s" {
		return &server.FieldError{Field: "model", Err: server.ErrLocalModel}
	}
	a, err := h.agent(n.Workspace, cmp.Or(h.mode, n.Approve))
	if err != nil {
		return err
	}
	a.Spec.Answer = n.Answer
	a.Limits = n.Limits
	return openmanus.OpenFor(ctx, h.db, n.Owner, id, a, nil)
}

func (h *host) Environment(dir string) (llm.Parts, []openmanus.Source) {
	return llm.Parts{llm.Text{Text: "You work in " + dir + "\n"}}, nil
}

func (h *host) Catalogue(context.Context) (server.Catalogue, error) {
	return server.Catalogue{
		Agents: []server.AgentInfo{{Name: "manus", Description: "does it", Default: true}},
		Tools:  []server.ToolInfo{{Name: "file_saver"}},
		Models: []server.ModelInfo{{Name: "script/ed", Default: true}},
	}, nil
}

// A site is a server with a store, in a directory of its own.
type site struct {
	t    *testing.T
	url  string
	dir  string
	db   server.Store
	http *httptest.Server
	s    *server.Server
	stop context.CancelFunc // ends the server's context
	shut func() error       // closes db
}

func open(t *testing.T, dir string, m llm.Model) *site {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, m, db, db.Close)
}

// serve starts a server over a store, which shut closes.
func serve(t *testing.T, dir string, m llm.Model, db server.Store, shut func() error, change ...func(*server.Options)) *site {
	t.Helper()
	h := &host{db: db, model: m}
	local := &run.Local{Worker: run.Worker{Journal: db, Flow: h.flow, Name: "test"}}
	ctx, cancel := context.WithCancel(context.Background())
	o := server.Options{
		Store: db, Local: local, Host: h, Version: "test", Push: pushed, A2A: true,
		Users: []server.User{
			{Name: "ann", Token: annsToken, Root: filepath.Join(dir, "ann"), Approve: openmanus.ApproveAll, Admin: true},
			{Name: "bob", Token: bobsToken, Root: filepath.Join(dir, "bob"), Quota: server.Quota{Streams: 2}},
			{Name: "eve", Token: evesToken, Root: filepath.Join(dir, "eve"), Quota: server.Quota{Kept: 2, Hourly: 3, Disk: 1000, Upload: 1500}},
		},
	}
	for _, f := range change {
		f(&o)
	}
	s, err := server.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, dir: dir, db: db, s: s, http: httptest.NewServer(s), stop: cancel, shut: shut}
	x.url = x.http.URL
	t.Cleanup(func() {
		x.close()
		for _, ws := range h.all {
			ws.Close()
		}
	})
	return x
}

func (x *site) close() {
	x.stop()
	x.http.CloseClientConnections()
	x.http.Close()
	x.s.Close()
	x.shut()
}

// call sends a request as ann and decodes the answer, which must have the
// status.
func (x *site) call(method, path string, body any, want int) map[string]any {
	x.t.Helper()
	return x.callAs(annsToken, method, path, body, want)
}

func (x *site) callAs(token, method, path string, body any, want int) map[string]any {
	x.t.Helper()
	status, data := x.send(token, method, path, body)
	if status != want {
		x.t.Fatalf("%s %s: %d, want %d\n%s", method, path, status, want, data)
	}
	out := make(map[string]any)
	if len(data) > 0 {
		if err := json.Unmarshal(data, &out); err != nil {
			x.t.Fatalf("%s %s: %v\n%s", method, path, err, data)
		}
	}
	return out
}

func (x *site) send(token, method, path string, body any) (int, []byte) {
	x.t.Helper()
	status, _, data := x.sendAs(token, method, path, body)
	return status, data
}

func (x *site) sendAs(token, method, path string, body any) (int, http.Header, []byte) {
	x.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			x.t.Fatal(err)
		}
		in = strings.NewReader(string(data))
	}
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, in)
	if err != nil {
		x.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := x.http.Client().Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// session creates a session of ann's.
func (x *site) session(body any) string {
	x.t.Helper()
	if body == nil {
		body = map[string]any{}
	}
	return x.call("POST", "/api/v1/sessions", body, 201)["id"].(string)
}

// until follows the events of a session until it has a status.
func (x *site) until(id, status string) map[string]any {
	x.t.Helper()
	for range x.events(annsToken, id, 0, "") {
		if s := x.call("GET", "/api/v1/sessions/"+id, nil, 200); s["status"] == status {
			return s
		}
	}
	x.t.Fatalf("the events of %s ended", id)
	return nil
}

// A sent is a server-sent event.
type sent struct {
	id, event, data string
}

// events follows a session.
func (x *site) events(token, id string, after int64, last string) func(func(sent) bool) {
	x.t.Helper()
	return func(yield func(sent) bool) {
		ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute) // an event that never comes is to fail, not to hang
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/api/v1/sessions/%s/events?after=%d", x.url, id, after), nil)
		if err != nil {
			x.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := x.http.Client().Do(req)
		if err != nil {
			x.t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			data, _ := io.ReadAll(resp.Body)
			x.t.Fatalf("events: %d\n%s", resp.StatusCode, data)
		}
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 16<<20)
		var ev sent
		for in.Scan() {
			name, value, _ := strings.Cut(in.Text(), ": ")
			switch name {
			case "id":
				ev.id = value
			case "event":
				ev.event = value
			case "data":
				ev.data = value
			case "":
				if ev.event != "" && !yield(ev) {
					return
				}
				ev = sent{}
			}
		}
	}
}

func say(text string) map[string]any { return map[string]any{"text": text} }

// A whole task: a question, an approval, a file, the answer.
func TestTask(t *testing.T) { onEachStore(t, testTask) }

func testTask(t *testing.T, open opener) {
	x := open(t, t.TempDir(), llmtest.Script(
		llmtest.Use("", "ask_human", map[string]any{"inquire": "which colour?"}),
		llmtest.Use("", "file_saver", map[string]any{"file_path": "a/colour.txt", "content": "blue"}),
		llmtest.Say("It is blue."),
	))
	id := x.session(map[string]any{"workspace": "proj", "limits": map[string]any{"steps": 7}})
	if s := x.call("GET", "/api/v1/sessions/"+id, nil, 200); s["status"] != "idle" || s["workspace"] != "proj" || s["approve"] != "ask" {
		t.Errorf("a new session is %v", s)
	}
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", map[string]any{"id": "m1", "text": "make a file"}, 202)
	s := x.until(id, "waiting")
	w := s["waiting"].([]any)[0].(map[string]any)
	if w["kind"] != "text" || w["question"] != "which colour?" {
		t.Fatalf("it waits for %v", w)
	}
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": true}, 409)
	x.call("POST", path+"/answers", map[string]any{"call": w["call"], "answer": ""}, 422)
	x.call("POST", path+"/answers", map[string]any{"call": w["call"], "answer": "blue"}, 202)

	for {
		if s = x.until(id, "waiting"); s["waiting"].([]any)[0].(map[string]any)["kind"] == "ruling" {
			break
		}
	}
	w = s["waiting"].([]any)[0].(map[string]any)
	if !strings.Contains(w["input"].(string), "colour.txt") {
		t.Errorf("it waits for %v", w)
	}
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": true, "input": map[string]any{"file_path": 7}}, 422)
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": true, "scope": "https://example.org"}, 422)
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": true}, 202)
	s = x.until(id, "finished")
	if s["answer"] != "It is blue." || s["steps"] != 3.0 {
		t.Errorf("it ended as %v", s)
	}
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": false}, 404) // the call is gone
	if status, data := x.send(annsToken, "GET", path+"/files/a/colour.txt", nil); status != 200 || string(data) != "blue" {
		t.Errorf("the file: %d %q", status, data)
	}
	if data, err := os.ReadFile(filepath.Join(x.dir, "ann", "proj", "a", "colour.txt")); err != nil || string(data) != "blue" {
		t.Errorf("on disk: %q, %v", data, err)
	}

	// A repeated message is stored once; with another text it is a conflict.
	first := x.call("POST", path+"/messages", map[string]any{"id": "m1", "text": "make a file"}, 202)
	if first["seq"] != 3.0 {
		t.Errorf("said again, it is event %v", first["seq"])
	}
	x.call("POST", path+"/messages", map[string]any{"id": "m1", "text": "make another"}, 409)
}

// A client that reconnects with the last id it has received misses nothing and
// gets nothing twice.
func TestEvents(t *testing.T) { onEachStore(t, testEvents) }

func testEvents(t *testing.T, open opener) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("hello there")))
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("hi"), 202)
	x.until(id, "finished")
	var all []string
	for ev := range x.events(annsToken, id, 0, "") {
		if ev.id == "" {
			continue // of the moment
		}
		var decoded openmanus.Event
		if err := json.Unmarshal([]byte(ev.data), &decoded); err != nil || fmt.Sprint(decoded.Seq) != ev.id || openmanus.TypeName(decoded.Body) != ev.event {
			t.Fatalf("%+v, %v", ev, err)
		}
		if all = append(all, ev.event); ev.event == "model_said" {
			break
		}
	}
	if got := strings.Join(all, " "); got != "opened configured user_said model_said" {
		t.Errorf("the events are %s", got)
	}
	for ev := range x.events(annsToken, id, 0, "3") {
		if ev.id != "4" {
			t.Errorf("after 3 comes %s", ev.id)
		}
		break
	}
	for ev := range x.events(annsToken, id, 2, "") {
		if ev.id != "3" {
			t.Errorf("after 2 comes %s", ev.id)
		}
		break
	}
	items := x.call("GET", "/api/v1/sessions/"+id+"/log?after=1&limit=2", nil, 200)["items"].([]any)
	if len(items) != 2 || items[0].(map[string]any)["seq"] != 2.0 {
		t.Errorf("the log is %v", items)
	}
}

// A subscriber that joins during a reply first receives what was streamed so far.
func TestStreamedDeltas(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	x := open(t, t.TempDir(), &slow{begun, goOn})
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("hi"), 202)
	<-begun
	var typed string
	for ev := range x.events(annsToken, id, 3, "") {
		var d openmanus.Event
		if err := json.Unmarshal([]byte(ev.data), &d); err != nil {
			t.Fatal(err)
		}
		switch b := d.Body.(type) {
		case openmanus.Typing:
			if ev.id != "" {
				t.Error("what is typed has an id")
			}
			typed += b.Parts.Text()
			if goOn != nil {
				close(goOn)
				goOn = nil
			}
		case openmanus.ModelSaid:
			if typed != "one two" || b.Message.Text() != "one two" {
				t.Errorf("typed %q, said %q", typed, b.Message.Text())
			}
			return
		}
	}
}

// slow is a model that streams one word, and another one on request.
type slow struct{ begun, goOn chan bool }

func (m *slow) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Piece: llm.Text{Text: "one"}}, nil) {
			return
		}
		close(m.begun)
		select {
		case <-m.goOn:
			if yield(llm.Delta{Piece: llm.Text{Text: " two"}}, nil) {
				yield(llm.Delta{Stop: llm.End}, nil)
			}
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
		}
	}
}

// Sessions that were running when a server ended resume with the next one.
func TestResume(t *testing.T) { onEachStore(t, testResume) }

func testResume(t *testing.T, open opener) {
	dir := t.TempDir()
	begun := make(chan bool)
	x := open(t, dir, &slow{begun, nil})
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("hi"), 202)
	<-begun
	x.close()

	y := open(t, dir, llmtest.Script(llmtest.Say("here I am again")))
	if err := y.s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := y.until(id, "finished"); s["answer"] != "here I am again" {
		t.Errorf("it ended as %v", s)
	}
}

// A session goes on at another server when its own has ended.
func TestTakeOver(t *testing.T) { onEachStore(t, testTakeOver) }

func testTakeOver(t *testing.T, open opener) {
	dir := t.TempDir()
	begun := make(chan bool)
	x, y := open(t, dir, &slow{begun, nil}), open(t, dir, llmtest.Script(llmtest.Say("here I am again")))
	y.s.TakeOver = 10 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- y.s.Serve(ctx, l) }()
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("hi"), 202)
	<-begun // y leaves it alone while x has its lease
	x.close()
	if s := y.until(id, "finished"); s["answer"] != "here I am again" {
		t.Errorf("it ended as %v", s)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestInterruptAndRetry(t *testing.T) { onEachStore(t, testInterruptAndRetry) }

func testInterruptAndRetry(t *testing.T, open opener) {
	begun := make(chan bool)
	first := &slow{begun, nil}
	x := open(t, t.TempDir(), either(first, llmtest.Script(llmtest.Say("now it is done"))))
	id := x.session(nil)
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/interrupt", nil, 409)
	x.call("POST", path+"/retry", map[string]any{}, 409)
	x.call("POST", path+"/messages", say("hi"), 202)
	<-begun
	x.call("DELETE", path, nil, 409) // it is at work
	x.call("POST", path+"/interrupt", nil, 202)
	if s := x.until(id, "stopped"); s["reason"] != "interrupted" {
		t.Errorf("it stopped as %v", s)
	}
	x.call("POST", path+"/retry", map[string]any{"limits": map[string]any{"steps": 3}}, 202)
	if s := x.until(id, "finished"); s["limits"].(map[string]any)["steps"] != 3.0 {
		t.Errorf("it ended as %v", s)
	}
	fork := x.call("POST", path+"/fork", map[string]any{"at": 3}, 201)
	if fork["status"] != "stopped" || fork["id"] == id {
		t.Errorf("the copy is %v", fork)
	}
	x.call("POST", path+"/fork", map[string]any{"at": 300}, 404)
	x.call("PATCH", path, map[string]any{"title": "greetings"}, 200)
	found := x.call("GET", "/api/v1/sessions?q=greet", nil, 200)["items"].([]any)
	if len(found) != 1 || found[0].(map[string]any)["title"] != "greetings" || found[0].(map[string]any)["found"] == nil {
		t.Errorf("found %v", found)
	}
	if found := x.call("GET", "/api/v1/sessions?q=gs", nil, 200)["items"].([]any); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	x.call("GET", "/api/v1/sessions?q=+", nil, 422)
	if status, data := x.send(annsToken, "GET", path+"/export", nil); status != 200 || !strings.HasPrefix(string(data), `{"openmanus":"session"`) {
		t.Errorf("export: %d %.80s", status, data)
	}
	if n := len(x.call("GET", "/api/v1/sessions", nil, 200)["items"].([]any)); n != 2 {
		t.Errorf("%d sessions", n)
	}
	x.call("DELETE", path, nil, 204)
	x.call("GET", path, nil, 404)
}

// either returns a model that is first for one request, and then second.
func either(first, second llm.Model) llm.Model {
	var once sync.Once
	return modelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
		m := second
		once.Do(func() { m = first })
		return m.Stream(ctx, req)
	})
}

type modelFunc func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error]

func (f modelFunc) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return f(ctx, req)
}

func TestMetrics(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("hello")))
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("hi"), 202)
	x.until(id, "finished")
	x.call("GET", "/api/v1/nowhere", nil, 404)
	_, data := x.send(annsToken, "GET", "/metrics", nil)
	for _, want := range []string{"\nopenmanus_sessions 1\n", "\nopenmanus_http_requests_total{code=\"404\"} 1\n", "\nopenmanus_http_requests_total{code=\"201\"} 1\n", "# TYPE go_goroutines gauge\n",
		"# TYPE openmanus_http_request_duration_seconds histogram\nopenmanus_http_request_duration_seconds_bucket{le=\"0.005\"} ",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("there is no %q in\n%s", want, data)
		}
	}
	_, all, _ := strings.Cut(string(data), "_bucket{le=\"+Inf\"} ")
	all, _, _ = strings.Cut(all, "\n")
	if n, err := strconv.Atoi(all); err != nil || n < 3 || !strings.Contains(string(data), "\nopenmanus_http_request_duration_seconds_count "+all+"\n") {
		t.Errorf("the histogram counts %q requests: %v\n%s", all, err, data)
	}
}

// A user reads the outputs of their own sessions, and not those of others whose
// ref stands in a text of theirs.
func TestBlobsBelongToSessions(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("done"), llmtest.Say("done")))
	const text = "what bob's tool printed"
	ref, err := x.db.Put(t.Context(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{annsToken: x.session(nil), bobsToken: x.callAs(bobsToken, "POST", "/api/v1/sessions", map[string]any{}, 201)["id"].(string)}
	for token, done := range map[string]openmanus.CallDone{
		bobsToken: {Call: "c0-0", Whole: ref},
		annsToken: {Call: "c0-0", Source: "http://example.org/" + string(ref), Detail: json.RawMessage(`{"url":"http://example.org/` + string(ref) + `"}`)},
	} {
		if _, err := x.db.Append(t.Context(), ids[token], done); err != nil {
			t.Fatal(err)
		}
	}
	for token, want := range map[string]int{annsToken: 404, bobsToken: 200} {
		path := "/api/v1/sessions/" + ids[token]
		if status, data := x.send(token, "GET", path+"/blobs/"+string(ref), nil); status != want || (string(data) == text) != (want == 200) {
			t.Errorf("the blob: %d %s, want %d", status, data, want)
		}
		_, data := x.send(token, "GET", path+"/export", nil)
		if has := strings.Contains(string(data), `{"blob":"`+string(ref)); has != (want == 200) {
			t.Errorf("the export has the blob: %v", has)
		}
	}
}

// Clients learn where the arguments of a call that waits came from.
func TestWaitingCallsHaveTheirSources(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Use("", "file_saver", map[string]any{"file_path": "a", "content": "purple elephants in the garden"})))
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("write about purple elephants in the garden"), 202)
	waiting := x.until(id, "waiting")["waiting"].([]any)[0].(map[string]any)
	sources, _ := waiting["sources"].([]any)
	for _, s := range sources {
		s := s.(map[string]any)
		if s["argument"] == "content" && s["from"] == "person" && s["trusted"] == true && s["private"] == true {
			return
		}
	}
	t.Errorf("there waits %v", waiting)
}
