package a2aclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	wire "github.com/openmanus-go/openmanus/internal/a2awire"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// A far is an agent elsewhere whose answers a test writes.
type far struct {
	*httptest.Server
	mu    sync.Mutex
	card  string
	on    map[string]http.HandlerFunc // by method of JSON-RPC, or by path
	calls []string
}

func newFar(t *testing.T) *far {
	f := &far{on: make(map[string]http.HandlerFunc)}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	f.card = `{"name":"far","description":"Does it.","version":"1","capabilities":{"streaming":true},"skills":[{"name":"doing"}],
		"supportedInterfaces":[{"url":"/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	return f
}

func (f *far) serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/rpc" {
		var q struct{ Method string }
		_ = json.NewDecoder(r.Body).Decode(&q) // what is no JSON has no method
		name = q.Method
	}
	f.mu.Lock()
	f.calls = append(f.calls, name)
	do, card := f.on[name], f.card
	f.mu.Unlock()
	switch {
	case do != nil:
		do(w, r)
	case strings.HasSuffix(name, "agent-card.json"):
		_, _ = io.WriteString(w, card)
	default:
		http.NotFound(w, r)
	}
}

// count returns how often a method was called.
func (f *far) count(name string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == name {
			n++
		}
	}
	return n
}

// says answers with the texts in turn, and with the last one from then on.
func says(texts ...string) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		text := texts[0]
		if len(texts) > 1 {
			texts = texts[1:]
		}
		mu.Unlock()
		if strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "id:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, text)
	}
}

func result(text string) string { return `{"jsonrpc":"2.0","id":1,"result":` + text + `}` }

func task(state, more string) string {
	return `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_` + state + `"}` + more + `}`
}

func (f *far) client(t *testing.T) *Client {
	t.Helper()
	c, err := New(Options{Name: "far", URL: f.URL, Token: "secret", pause: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A kit is the tools of an agent in a workspace, with the memory that a session has.
type kit struct {
	t    *testing.T
	dir  string
	all  map[string]openmanus.Tool
	last json.RawMessage
}

func (f *far) kit(t *testing.T) *kit {
	t.Helper()
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	c, known := f.client(t), NewApprovals(filepath.Join(t.TempDir(), "a2a"))
	a, err := c.Agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := known.Approve("far", f.URL, &a.Found); err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, dir: ws.Dir(), all: map[string]openmanus.Tool{}}
	for _, tool := range Tools(c, known, ws) {
		k.all[tool.Spec().Name] = tool
	}
	return k
}

func (k *kit) run(ctx context.Context, tool, input string, attempt int) (Standing, string, error) {
	k.t.Helper()
	call := openmanus.Call{Call: llm.Call{ID: "c1", Name: tool, Input: input}, Session: "s", Last: k.last, Attempt: attempt, Live: io.Discard}
	res, err := k.all[tool].Run(ctx, call)
	st, _ := res.Detail.(Standing)
	if err == nil {
		k.last, _ = json.Marshal(st) // it is a struct of texts
		if len(res.Sources) != 1 || res.Sources[0].From != "a2a:far" || res.Sources[0].Trusted {
			k.t.Errorf("the sources are %v", res.Sources)
		}
	}
	return st, res.Parts.Text(), err
}

// A task is sent, followed over a stream that breaks off, and its files are saved under
// harmless names. Following goes on after the event that arrived last.
func TestATask(t *testing.T) {
	f := newFar(t)
	k := f.kit(t)
	if err := os.WriteFile(filepath.Join(k.dir, "plan.txt"), []byte("a plan"), 0o600); err != nil {
		t.Fatal(err)
	}
	sent, after := "", ""
	f.on["SendMessage"] = func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization") + r.Header.Get("A2A-Version")
		_, _ = io.WriteString(w, result(`{"task":`+task("SUBMITTED", "")+`}`))
	}
	done := task("COMPLETED", `,"artifacts":[{"artifactId":"a","parts":[{"text":"It is done.\u001b[2J"},
		{"raw":"aGk=","filename":"../../.bashrc"},{"raw":"aG8=","filename":"b.txt"},{"url":"/files/c","filename":"b.txt"},{"data":{"n":1}}]}]`)
	f.on["GetTask"] = says(result(task("WORKING", "")), result(task("WORKING", "")), result(done))
	streams := says("id: 4.1\ndata: "+result(`{"task":`+task("WORKING", "")+`}`)+"\n\ndata: {half", "data: "+result(`{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`)+"\n\n")
	f.on["SubscribeToTask"] = func(w http.ResponseWriter, r *http.Request) {
		after += r.Header.Get("Last-Event-ID") + ";"
		streams(w, r)
	}
	f.on["/files/c"] = says("another")
	st, _, err := k.run(t.Context(), SendTool("far"), `{"message":"Do it.","files":["plan.txt"]}`, 1)
	if err != nil || st.Task != "t1" || st.State != wire.Submitted || sent != "Bearer secret1.0" {
		t.Fatal(st, sent, err)
	}
	st, text, err := k.run(t.Context(), FollowTool("far"), `{}`, 1)
	if err != nil || st.State != wire.Completed || st.Waiting != 3 || !strings.HasPrefix(text, "It is done.\n{\n  \"n\": 1") || after != ";4.1;" {
		t.Fatal(st, text, after, err)
	}
	for range 2 { // saving twice is saving once
		st, _, err = k.run(t.Context(), SaveTool("far"), `{}`, 1)
		if err != nil || fmt.Sprint(st.Files) != "[a2a/far/agent-bashrc.txt a2a/far/b.txt a2a/far/b-2.txt]" && fmt.Sprint(st.Files) != "[a2a/far/bashrc a2a/far/b.txt a2a/far/b-2.txt]" {
			t.Fatal(st.Files, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(k.dir, "a2a/far/b-2.txt")); err != nil || string(data) != "another" {
		t.Error(string(data), err)
	}
}

// A message that may have arrived is looked for, and sent again only if it has not.
func TestNothingIsSentTwice(t *testing.T) {
	f := newFar(t)
	f.on["SendMessage"] = says(result(`{"task":` + task("WORKING", "") + `}`))
	const in = `{"message":"Do it."}`
	for name, c := range map[string]struct {
		list  string
		sends int
		fails string
	}{
		"it arrived": {result(`{"tasks":[{"id":"t7","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"` +
			messageID(openmanus.Call{Call: llm.Call{ID: "c1"}, Session: "s"}) + `"}]}]}`), 0, ""},
		"it did not":          {result(`{"tasks":[]}`), 1, ""},
		"the agent tells not": {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, 0, "cannot say whether it has arrived"},
	} {
		k := f.kit(t)
		before := f.count("SendMessage")
		f.on["ListTasks"] = says(c.list)
		_, _, err := k.run(t.Context(), SendTool("far"), in, 2)
		if got := f.count("SendMessage") - before; got != c.sends || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: sent %d times, %v", name, got, err)
		}
	}
}

// A task that was given up is cancelled there; one that this program only leaves is not.
// A task that takes too long is cancelled.
func TestCancelling(t *testing.T) {
	f := newFar(t)
	f.on["SendMessage"] = says(result(`{"task":` + task("WORKING", "") + `}`))
	f.on["GetTask"] = says(result(task("WORKING", "")))
	f.on["CancelTask"] = says(result(task("CANCELED", "")))
	open := make(chan struct{}, 1)
	f.on["SubscribeToTask"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		open <- struct{}{}
		<-r.Context().Done()
	}
	for i, cause := range []error{openmanus.ErrGivenUp, nil} {
		k := f.kit(t)
		if _, _, err := k.run(t.Context(), SendTool("far"), `{"message":"x"}`, 1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := k.run(ctx, FollowTool("far"), `{}`, 1)
			ended <- err
		}()
		<-open
		cancel(cause)
		if err := <-ended; err == nil || f.count("CancelTask") != 1 {
			t.Errorf("%d: %v, cancelled %d times", i, err, f.count("CancelTask"))
		}
	}
	k := f.kit(t)
	late, _ := New(Options{Name: "far", URL: f.URL, Timeout: time.Nanosecond})
	known := NewApprovals(t.TempDir())
	a, err := late.Agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := known.Approve("far", f.URL, &a.Found); err != nil {
		t.Fatal(err)
	}
	k.last = json.RawMessage(`{"task":"t1"}`)
	k.all[FollowTool("far")] = Tools(late, known, nil)[1]
	if _, _, err := k.run(t.Context(), FollowTool("far"), `{}`, 1); err == nil || !strings.Contains(err.Error(), "longer than") || f.count("CancelTask") != 2 {
		t.Error(err, f.count("CancelTask"))
	}
}

// A card that has changed gets no work, and neither does one that lies about where it is.
func TestCards(t *testing.T) {
	f := newFar(t)
	k := f.kit(t)
	f.card = strings.Replace(f.card, "Does it.", "Does more.", 1)
	if _, _, err := k.run(t.Context(), SendTool("far"), `{"message":"x"}`, 1); err == nil ||
		!strings.Contains(err.Error(), "another one than you approved (description): nothing was sent. openmanus a2a approve far") || f.count("SendMessage") != 0 {
		t.Error(err)
	}
	for card, want := range map[string]string{
		`{`:  "no card of an agent",
		`[]`: "no card of an agent",
		`{"supportedInterfaces":[{"url":"/x","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}`:        "the card names JSONRPC 0.3",
		`{"supportedInterfaces":[{"url":"file:///x","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`: "is no address",
		`{"supportedInterfaces":7}`:                    "no card of A2A 1.0",
		`{"x":"` + strings.Repeat("x", maxCard) + `"}`: "more than",
	} {
		f.card = card
		if _, err := f.client(t).Agent(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", card, err)
		}
	}
	f.on["/.well-known/agent-card.json"] = http.RedirectHandler("http://other.example/card", http.StatusFound).ServeHTTP
	if _, err := f.client(t).Agent(t.Context()); err == nil || !strings.Contains(err.Error(), "redirects to other.example") {
		t.Error(err)
	}
}

// A hostile agent costs its task: each answer that is none is an error that says so.
func TestHostileAnswers(t *testing.T) {
	f := newFar(t)
	big := strings.Repeat("x", maxEvent)
	for name, c := range map[string]struct {
		get, stream http.HandlerFunc
		want        string
	}{
		"no JSON":       {says("<html>"), nil, "what is no JSON"},
		"another task":  {says(result(`{"id":"t2"}`)), nil, "with another one"},
		"a wrong type":  {says(result(`7`)), nil, "no A2A"},
		"nothing":       {says(`{}`), nil, "with no result"},
		"no access":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, nil, "give its key as [a2a.far] token_env"},
		"no such task":  {says(`{"error":{"code":-32001,"message":"gone"}}`), nil, "error -32001: gone"},
		"a long event":  {says(result(task("WORKING", ""))), says("data: " + big), "an event has more than"},
		"no stream":     {says(result(task("WORKING", ""))), says(result(`{}`)), "with no stream"},
		"a wrong event": {says(result(task("WORKING", ""))), says("data: 7\n\n"), "no A2A"},
		"cut off":       {says(result(task("WORKING", ""))), says("data: "), "cannot be followed"},
	} {
		f.mu.Lock()
		f.on["GetTask"], f.on["SubscribeToTask"] = c.get, c.stream
		f.mu.Unlock()
		a, err := f.client(t).Agent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Follow(t.Context(), "t1", func(wire.Event) {}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stream that says nothing is opened again.
func TestASilentStream(t *testing.T) {
	f := newFar(t)
	f.on["GetTask"] = says(result(task("WORKING", "")), result(task("COMPLETED", "")))
	f.on["SubscribeToTask"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	c := f.client(t)
	c.o.quiet = time.Millisecond
	a, err := c.Agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Follow(t.Context(), "t1", func(wire.Event) {}); err != nil || got.Status.State != wire.Completed {
		t.Error(got, err)
	}
}

// Without streaming, and over HTTP+JSON, a task is asked about until it rests.
func TestPolling(t *testing.T) {
	f := newFar(t)
	f.card = `{"name":"far","supportedInterfaces":[{"url":"/v1","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`
	f.on["/v1/message:send"] = says(`{"message":{"messageId":"m","role":"ROLE_AGENT","contextId":"c","parts":[{"text":"Hello."}]}}`)
	f.on["/v1/tasks/t1"] = says(task("WORKING", ""), task("INPUT_REQUIRED", ""))
	a, err := f.client(t).Agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Follow(t.Context(), "t1", func(wire.Event) {}); err != nil || got.Status.State != wire.InputRequired {
		t.Error(got, err)
	}
	if st, text, err := f.kit(t).run(t.Context(), SendTool("far"), `{"message":"x"}`, 1); err != nil || st.State != wire.Completed || text != "Hello." {
		t.Error(st, text, err)
	}
}

func TestSafeNames(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "a.txt", "../../x": "x", `..\..\x.txt`: "x.txt", "": "file", "...": "file", "a\x00b\u202ec": "abc",
		"über maß.csv": "über maß.csv", "AGENTS.md": "agent-AGENTS.md.txt", "-rf": "rf", "a;b|c": "a_b_c", "/": "file",
	} {
		if got := safeName(wire.Part{Filename: name}); got != want {
			t.Errorf("%q becomes %q, not %q", name, got, want)
		}
	}
}

// FuzzAnswers reads what an agent may answer: cards, tasks, events. Any name or text
// becomes harmless.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"name":"x","supportedInterfaces":[{"url":"/x","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`))
	f.Add([]byte(task("COMPLETED", `,"artifacts":[{"parts":[{"raw":"aGk=","filename":"../x"}]}]`)))
	f.Add([]byte("id: 1.1\ndata: {}\n\n: x\ndata: a\ndata: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if card, err := readCard(data); err == nil {
			if again, err := readCard(card.Raw); err != nil || again.Hash != card.Hash {
				t.Error("a card that is read again is another one", err)
			}
			if strings.ContainsAny(card.Shown()+card.Description(), "\x1b\u202e") {
				t.Error("a card controls the terminal")
			}
		}
		var one wire.Task
		if json.Unmarshal(data, &one) == nil {
			_, files := contentOf(&one)
			for _, file := range files {
				if !filepath.IsLocal(file.name) || filepath.Base(file.name) != file.name || strings.HasPrefix(file.name, ".") || len(file.name) > 160 {
					t.Errorf("a file is called %q", file.name)
				}
			}
		}
		in := &events{r: newReader(data), alive: func() {}}
		for {
			if _, _, err := in.next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func newReader(data []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }
