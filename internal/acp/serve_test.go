package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/surface"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A fake is a source whose agent answers at once: it asks before it does what it is told
// with "do", and never ends with "wait".
type fake struct {
	surface.Source
	j *journal.Memory

	mu    sync.Mutex
	n     int
	calls map[string]int // by session
}

func newFake() *fake { return &fake{j: new(journal.Memory), calls: make(map[string]int)} }

func (f *fake) Ready(context.Context) error                              { return nil }
func (f *fake) Delete(context.Context, string) error                     { return errors.New("it is in use") }
func (f *fake) Commands(context.Context) ([]surface.Custom, error)       { return nil, nil }
func (f *fake) Models(context.Context) ([]surface.Named, error)          { return nil, nil }
func (f *fake) Change(context.Context, string, surface.Setting) error    { return nil }
func (f *fake) Sessions(context.Context, int) ([]surface.Session, error) { return nil, nil }

func (f *fake) Choices(context.Context, string, string) (surface.Choices, error) {
	return surface.Choices{Remember: true}, nil
}

func (f *fake) Open(ctx context.Context, dir string) (string, error) {
	f.mu.Lock()
	f.n++
	id := fmt.Sprint("s", f.n)
	f.mu.Unlock()
	_, err := f.j.Append(ctx, id, openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Agent: "manus", Workspace: dir, Approve: openmanus.ApproveAsk},
			Tools: []openmanus.ToolSpec{{ToolSpec: llm.ToolSpec{Name: "bash", Input: json.RawMessage(`{"type":"object"}`)}}}})
	return id, err
}

func (f *fake) Session(ctx context.Context, id string) (surface.Session, error) {
	st, err := openmanus.Load(ctx, f.j, id)
	if err != nil {
		return surface.Session{}, err
	}
	return surface.Session{ID: id, Events: st.Seq}, nil
}

func (f *fake) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return f.j.Events(ctx, id, after)
}

func (f *fake) Follow(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return f.j.Follow(ctx, id, after)
}

func (f *fake) reply(ctx context.Context, id string, parts ...llm.Part) error {
	st, err := openmanus.Load(ctx, f.j, id)
	if err == nil {
		_, err = f.j.Append(ctx, id, openmanus.ModelSaid{Turn: st.Turn, Re: st.Seq, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: parts},
			Usage: llm.Usage{Input: 50, Output: 7, Cached: 40, CacheWrite: 3, Reasoning: 2}})
	}
	return err
}

func (f *fake) Say(ctx context.Context, id string, m surface.Message) error {
	said := openmanus.UserSaid{ID: m.ID, Message: llm.Message{Role: llm.User, Parts: llm.Parts{llm.Text{Text: m.Text}}}}
	if _, err := f.j.Append(ctx, id, said); err != nil {
		return err
	}
	switch m.Text {
	case "wait":
		return nil
	case "do":
		f.mu.Lock()
		f.calls[id]++
		call := fmt.Sprint("c", f.calls[id])
		f.mu.Unlock()
		if err := f.reply(ctx, id, llm.Call{ID: call, Name: "bash", Input: `{"command": "make"}`}); err != nil {
			return err
		}
		_, err := f.j.Append(ctx, id, openmanus.Asked{Call: call, Kind: openmanus.AskRuling, Question: "May it?"})
		return err
	}
	return f.reply(ctx, id, llm.Text{Text: "You said " + m.Text})
}

func (f *fake) Decide(ctx context.Context, d surface.Decision) error {
	bodies := []openmanus.Body{openmanus.Ruled{Call: d.Call, Allow: d.Allow, By: "person"}}
	if d.Allow {
		bodies = append(bodies, openmanus.CallStarted{Call: d.Call, Attempt: 1}, openmanus.CallDone{Call: d.Call, Parts: llm.Parts{llm.Text{Text: "made"}}})
	}
	if _, err := f.j.Append(ctx, d.Session, bodies...); err != nil {
		return err
	}
	return f.reply(ctx, d.Session, llm.Text{Text: "Done."})
}

func (f *fake) Interrupt(ctx context.Context, id, said string) error {
	f.mu.Lock()
	f.n++
	n := f.n
	f.mu.Unlock()
	_, err := f.j.Append(ctx, id, openmanus.Interrupted{ID: fmt.Sprint(n), Said: said})
	return err
}

// An editor is a client that a test writes by hand.
type editor struct {
	t    *testing.T
	in   *io.PipeWriter // what the agent reads
	out  *bufio.Reader
	hang *io.PipeReader
	end  chan error
}

func start(t *testing.T, src Source) *editor {
	e, _ := startEditor(t, src, false)
	return e
}

// startSecond is start of a program that speaks version 2 as well.
func startSecond(t *testing.T, src Source) *editor {
	e, _ := startEditor(t, src, true)
	return e
}

// startEditor is start, which gives away the texts of the client as well.
func startEditor(t *testing.T, src Source, v2 bool) (*editor, chan workspace.Buffers) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	e := &editor{t: t, in: w, out: bufio.NewReader(r), hang: r, end: make(chan error, 1)}
	texts := make(chan workspace.Buffers, 1)
	go func() {
		e.end <- Serve(t.Context(), in, out, Options{Version: "1", V2: v2, With: func(_ []Server, b workspace.Buffers) (Source, error) {
			select {
			case texts <- b:
			default:
			}
			return src, nil
		}})
		out.Close()
	}()
	return e, texts
}

// says sends a line.
func (e *editor) says(line string) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

// hears returns the next message that is no update.
func (e *editor) hears() (m message) {
	e.t.Helper()
	for {
		line, err := e.out.ReadBytes('\n')
		if err != nil {
			e.t.Fatalf("%v after %q", err, line)
		}
		m = message{}
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			e.t.Fatalf("no message: %q", line)
		}
		if m.Method != "session/update" {
			return m
		}
	}
}

// asks sends a request, and returns the answer.
func (e *editor) asks(method, params string) message {
	e.t.Helper()
	e.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","method":%q,"params":%s}`, method, method, params))
	m := e.hears()
	if string(m.ID) != `"`+method+`"` {
		e.t.Fatalf("another answer: %+v", m)
	}
	return m
}

// begins opens a session.
func (e *editor) begins() (id string) { return e.beginsWith(`{"protocolVersion": 1}`) }

// second is how a client asks for version 2.
const second = `{"protocolVersion": 2, "info": {"name": "x", "version": "1"}}`

func (e *editor) beginsWith(initialize string) (id string) {
	e.t.Helper()
	e.asks("initialize", initialize)
	var s settings
	if m := e.asks("session/new", `{"cwd": "/w", "mcpServers": []}`); json.Unmarshal(m.Result, &s) != nil || s.SessionID == "" {
		e.t.Fatalf("%+v", m)
	}
	return s.SessionID
}

// leaves closes the input, and waits until the agent has ended.
func (e *editor) leaves() {
	e.t.Helper()
	e.in.Close()
	go io.Copy(io.Discard, e.out)
	if err := <-e.end; err != nil {
		e.t.Fatal(err)
	}
}

// TestBadInput sends what is wrong. Each error has the protocol's code, and names the
// field where there is one; and the agent goes on.
func TestBadInput(t *testing.T) {
	e := start(t, newFake())
	const first = `{"jsonrpc":"2.0","id":1,"method":"session/list"}`
	before := []struct {
		line, id string
		code     int
		field    string
	}{
		{`nonsense`, "null", codeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":`, "null", codeParse, ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, "null", codeRequest, ""},
		{`17`, "null", codeRequest, ""},
		{`{"id":1,"method":"x"}`, "1", codeRequest, "jsonrpc"},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, "null", codeRequest, "id"},
		{`{"jsonrpc":"2.0"}`, "null", codeRequest, "method"},
		{`{"jsonrpc":"2.0","id":9}`, "9", codeRequest, "method"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "null", codeRequest, "method"},
		{first, "1", codeRequest, "method"},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`, "2", codeParams, "protocolVersion"},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":-1}}`, "2", codeParams, "protocolVersion"},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"new"}}`, "2", codeParams, "params"},
	}
	check := func(line, id string, code int, field string) {
		t.Helper()
		e.says(line)
		m := e.hears()
		var data struct{ Field, Reason string }
		raw, _ := json.Marshal(m.Error)
		if m.Error == nil || m.Error.Code != code || string(m.ID) != id {
			t.Errorf("%s\nid %s, error %s, want id %s and %d", line, m.ID, raw, id, code)
			return
		}
		if d, err := json.Marshal(m.Error.Data); err != nil || json.Unmarshal(d, &data) != nil || data.Field != field && field != "params" {
			t.Errorf("%s\nerror %s, want the field %q", line, raw, field)
		}
	}
	for _, c := range before {
		check(c.line, c.id, c.code, c.field)
	}
	id := e.begins()
	for _, c := range []struct {
		method, params string
		code           int
		field          string
	}{
		{"session/fly", `{}`, codeMethod, ""},
		{"session/cancel", `{}`, codeMethod, ""},
		{"session/new", `{}`, codeParams, "cwd"},
		{"session/new", `{"cwd":7}`, codeParams, "params.cwd"},
		{"session/new", `{"cwd":"here"}`, codeParams, "cwd"},
		{"session/new", `{"cwd":"/w","additionalDirectories":["/x"]}`, codeParams, "additionalDirectories"},
		{"session/new", `{"cwd":"/w","mcpServers":[{"name":"a"}]}`, codeParams, "mcpServers.0.command"},
		{"session/new", `{"cwd":"/w","mcpServers":[{"name":"a","type":"post"}]}`, codeParams, "mcpServers.0.type"},
		{"session/prompt", `{"sessionId":"` + id + `"}`, codeParams, "prompt"},
		{"session/prompt", `{"sessionId":"no","prompt":[{"type":"text","text":"x"}]}`, codeNotFound, "sessionId"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"smell"}]}`, codeParams, "prompt.0.type"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"image","mimeType":"image/png","data":"!"}]}`, codeParams, "prompt.0.data"},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"text","text":" "}]}`, codeParams, "prompt"},
		{"session/load", `{"sessionId":"no","cwd":"/w"}`, codeNotFound, "sessionId"},
		{"session/resume", `{"sessionId":"` + id + `","cwd":"/w","_meta":{"openmanus/after":"x"}}`, codeParams, "_meta.openmanus/after"},
		{"session/list", `{"cursor":"x"}`, codeParams, "cursor"},
		{"session/set_mode", `{"sessionId":"` + id + `","modeId":"wild"}`, codeParams, "modeId"},
		{"session/set_config_option", `{"sessionId":"` + id + `","configId":"taste","value":"x"}`, codeParams, "configId"},
		{"session/set_config_option", `{"sessionId":"` + id + `","configId":"mode","value":true}`, codeParams, "value"},
		{"session/delete", `{"sessionId":"` + id + `"}`, codeInternal, ""},
		{"authenticate", `{"methodId":"magic"}`, codeParams, "methodId"},
	} {
		check(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":%q,"params":%s}`, c.method, c.params), "3", c.code, c.field)
	}
	e.in.Write([]byte(`{"jsonrpc":"2.0","id":4,"method":"session/li`)) // half a message
	e.in.Close()
	if m := e.hears(); m.Error == nil || m.Error.Code != codeParse {
		t.Errorf("%+v", m)
	}
	e.leaves()
}

// TestHugeMessages skips a line that is too long, and reads on.
func TestHugeMessages(t *testing.T) {
	r := bufio.NewReader(io.MultiReader(strings.NewReader(`{"x":"`), io.LimitReader(letters{}, maxFrame), strings.NewReader("\"}\nnext\n")))
	if line, err := readFrame(r); !errors.Is(err, errTooLong) || line != nil {
		t.Fatal(len(line), err)
	}
	if line, err := readFrame(r); err != nil || string(line) != "next" {
		t.Fatalf("%q %v", line, err)
	}
}

// letters is a text without an end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestWhatIsAdvertised holds the abilities against the table of methods.
func TestWhatIsAdvertised(t *testing.T) {
	e := start(t, newFake())
	var got struct {
		AgentCapabilities struct {
			LoadSession         bool
			SessionCapabilities map[string]struct{}
		}
	}
	if m := e.asks("initialize", `{"protocolVersion": 7}`); json.Unmarshal(m.Result, &got) != nil || !got.AgentCapabilities.LoadSession {
		t.Fatalf("%+v", m)
	}
	for name := range got.AgentCapabilities.SessionCapabilities {
		if m := e.asks("session/"+name, `{}`); m.Error != nil && m.Error.Code == codeMethod {
			t.Errorf("session/%s: %v", name, m.Error)
		}
	}
	if len(got.AgentCapabilities.SessionCapabilities) != 5 {
		t.Errorf("%v", got.AgentCapabilities.SessionCapabilities)
	}
	e.leaves()
}

// TestTurns plays turns: an answer, an approval, a refusal, ids that are used twice, and
// cancellation.
func TestTurns(t *testing.T) {
	e := start(t, newFake())
	id := e.begins()
	prompt := func(text string) string {
		return `{"sessionId":"` + id + `","prompt":[{"type":"text","text":"` + text + `"}]}`
	}
	stops := func(m message, want string) {
		t.Helper()
		var r struct{ StopReason string }
		if json.Unmarshal(m.Result, &r) != nil || r.StopReason != want {
			t.Fatalf("%s %v, want %s", m.Result, m.Error, want)
		}
	}
	const used = `"usage":{"cachedReadTokens":40,"cachedWriteTokens":3,"inputTokens":50,"outputTokens":7,"thoughtTokens":2,"totalTokens":57}`
	for range 2 { // of each turn, and not of the session
		m := e.asks("session/prompt", prompt("hello"))
		stops(m, "end_turn")
		if !strings.Contains(string(m.Result), used) {
			t.Errorf("%s", m.Result)
		}
	}
	for _, option := range []string{"allow", "reject", "always"} {
		e.says(`{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":` + prompt("do") + `}`)
		ask := e.hears()
		if ask.Method != "session/request_permission" || !strings.Contains(string(ask.Params), `"optionId":"`+option+`"`) {
			t.Fatalf("%s %s", ask.Method, ask.Params)
		}
		e.says(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}`)
		stops(e.hears(), "end_turn")
	}
	e.says(`{"jsonrpc":"2.0","id":6,"method":"session/prompt","params":` + prompt("wait") + `}`)
	e.says(`{"jsonrpc":"2.0","id":6,"method":"session/list"}`)
	if m := e.hears(); m.Error == nil || m.Error.Code != codeRequest {
		t.Errorf("%+v", m)
	}
	e.says(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
	stops(e.hears(), "cancelled")
	e.says(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":` + prompt("wait") + `}`)
	if m := e.asks("session/prompt", prompt("too")); m.Error == nil || m.Error.Code != codeRequest {
		t.Errorf("%+v", m)
	}
	e.says(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`)
	stops(e.hears(), "cancelled")
	e.leaves()
}

// TestClientsThatDie leaves the agent while it asks, does not read, or is told something:
// nothing hangs, and no goroutine stays.
func TestClientsThatDie(t *testing.T) {
	for i := range 1000 {
		src := newFake()
		e := startSecond(t, src)
		id := e.beginsWith([]string{`{"protocolVersion": 1}`, second}[i/500])
		text := []string{"do", "wait", "hello"}[i%3]
		e.says(`{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"` + id + `","prompt":[{"type":"text","text":"` + text + `"}]}}`)
		if i%2 == 0 && text == "do" {
			m := e.hears()
			if string(m.ID) == "5" && i >= 500 { // of version 2, which may be faster
				m = e.hears()
			}
			if m.Method != "session/request_permission" {
				t.Fatalf("%+v", m)
			}
		}
		e.in.Close()
		e.hang.Close() // what it writes now fails
		<-e.end
	}
}

// TestLastWords asks and ends its side at once: what was asked is answered.
func TestLastWords(t *testing.T) {
	for range 50 {
		var out strings.Builder
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
`)
		err := Serve(t.Context(), in, &out, Options{With: func([]Server, workspace.Buffers) (Source, error) { return newFake(), nil }})
		if said := out.String(); err != nil || !strings.Contains(said, `"agentCapabilities"`) || !strings.Contains(said, `"sessionId":"s1"`) {
			t.Fatalf("%v: %s", err, said)
		}
	}
}

// TestOneStory loads what was followed, and sees the same.
func TestOneStory(t *testing.T) {
	e := start(t, newFake())
	id := e.begins()
	e.asks("session/prompt", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":"hello"}]}`)
	e.says(`{"jsonrpc":"2.0","id":"load","method":"session/load","params":{"sessionId":"` + id + `","cwd":"/w","mcpServers":[]}}`)
	var kinds []string
	for {
		line, err := e.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     string
			Params struct{ Update update }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m.ID == "load" {
			break
		}
		kinds = append(kinds, m.Params.Update.SessionUpdate)
	}
	if want := []string{"user_message_chunk", "agent_message_chunk"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
	e.leaves()
}

// TestSecond speaks version 2: a prompt is acknowledged at once, another one is heard while
// the session works, and the states say how it goes on.
func TestSecond(t *testing.T) {
	e := startSecond(t, newFake())
	if m := e.asks("initialize", `{"protocolVersion": 2}`); m.Error == nil || m.Error.Code != codeParams || !strings.Contains(m.Error.Message, "info") {
		t.Errorf("without info: %+v", m)
	}
	id := e.beginsWith(second)
	said, states := []string{}, []string{}
	hear := func(until string) { // reads until a state, or the answer to a request
		t.Helper()
		for {
			line, err := e.out.ReadBytes('\n')
			if err != nil {
				t.Fatalf("%v, after %q", err, states)
			}
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					Update struct{ SessionUpdate, State, StopReason, MessageID string }
				}
				Result struct{ MessageID string }
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			switch u := m.Params.Update; {
			case m.Method == "session/request_permission":
				e.says(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
			case m.Method == "" && m.Result.MessageID != "":
				said = append(said, m.Result.MessageID)
			case u.SessionUpdate == "state_update":
				states = append(states, strings.TrimSuffix(u.State+" "+u.StopReason, " "))
				if states[len(states)-1] == until {
					return
				}
			case u.SessionUpdate == "user_message_chunk":
				said = append(said, u.MessageID)
			}
		}
	}
	prompt := func(id1 int, text string) {
		e.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, id1, id, text))
	}
	prompt(5, "do")
	hear("idle end_turn")
	if len(said) != 2 || said[0] != said[1] {
		t.Errorf("the message is %q", said)
	}
	if got := strings.TrimPrefix(strings.Join(states, ", "), "idle, "); got != "running, requires_action, running, idle end_turn" {
		t.Error(got)
	}
	prompt(6, "wait")
	hear("running")
	e.says(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
	hear("idle cancelled")
	e.leaves()
}
