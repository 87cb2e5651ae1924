package server_test

import (
	"bufio"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

// rest sends a request of A2A's HTTP+JSON binding as ann.
func (x *site) rest(method, path string, body any, more ...string) (int, map[string]any, []string) {
	x.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		x.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, strings.NewReader(string(data)))
	if err != nil {
		x.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+annsToken)
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i < len(more); i += 2 {
		req.Header.Set(more[i], more[i+1])
	}
	resp, err := x.http.Client().Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	var all []string
	last := map[string]any{}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 16<<20)
	id := ""
	for in.Scan() {
		line := in.Text()
		if name, ok := strings.CutPrefix(line, "id: "); ok {
			id = name
		}
		line = strings.TrimPrefix(line, "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		last = map[string]any{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			x.t.Fatal(line, err)
		}
		all = append(all, id+" "+line)
		id = ""
	}
	return resp.StatusCode, last, all
}

func a2aSays(id, text string, more map[string]any) map[string]any {
	m := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	for name, value := range more {
		m[name] = value
	}
	return map[string]any{"message": m}
}

// dig returns a member of a member.
func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// A task with an approval in it: the client is asked, and its answer is the ruling.
// A stream that goes on after any event has what the whole one has.
func TestA2AApproval(t *testing.T) {
	x := open(t, t.TempDir(), saves())
	_, out, _ := x.rest("POST", "/a2a/v1/message:send", a2aSays("m1", "write", map[string]any{"contextId": "c1"}))
	task, _ := dig(out, "task").(map[string]any)
	id, _ := task["id"].(string)
	if dig(task, "status", "state") != "TASK_STATE_INPUT_REQUIRED" || task["contextId"] != "c1" {
		t.Fatal(out)
	}
	status, _, events := x.rest("POST", "/a2a/v1/message:stream", a2aSays("m2", "Yes.", map[string]any{"taskId": id}))
	if status != 200 || len(events) < 3 || !strings.Contains(events[0], `"task"`) || !strings.Contains(events[len(events)-1], "TASK_STATE_COMPLETED") {
		t.Fatal(status, events)
	}
	if words := "It is w"; !strings.Contains(strings.Join(events, "\n"), `"text":"`+words) {
		t.Errorf("the words of the answer did not come as they were written: %q", events)
	}
	events = slices.DeleteFunc(events, func(e string) bool { return e[0] == ' ' }) // words of a reply that streams have no place
	for i := range events[:len(events)-1] {
		last, _, _ := strings.Cut(events[i], " ")
		_, _, rest := x.rest("GET", "/a2a/v1/tasks/"+id+":subscribe", nil, "Last-Event-ID", last)
		if got, want := strings.Join(rest, "\n"), strings.Join(events[i+1:], "\n"); got != want {
			t.Errorf("after %s comes\n%s\nnot\n%s", last, got, want)
		}
	}
	_, done, _ := x.rest("GET", "/a2a/v1/tasks/"+id, nil)
	if dig(done, "status", "state") != "TASK_STATE_COMPLETED" || !strings.Contains(llmJSON(done["artifacts"]), "It is written.") {
		t.Error(done)
	}
	_, list, _ := x.rest("GET", "/a2a/v1/tasks?contextId=c1&historyLength=1&includeArtifacts=true", nil)
	if tasks, _ := list["tasks"].([]any); len(tasks) != 1 || list["nextPageToken"] != "" || list["totalSize"] != 1.0 {
		t.Error(list)
	}
}

func llmJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// The question of a session below interrupts the task, and the answer reaches it. A
// task that waits can be cancelled, once.
func TestA2AQuestionBelow(t *testing.T) {
	x := open(t, t.TempDir(), giving())
	_, out, _ := x.rest("POST", "/a2a/v1/message:send", a2aSays("m1", "have it painted", nil))
	id, _ := dig(out, "task", "id").(string)
	if dig(out, "task", "status", "state") != "TASK_STATE_INPUT_REQUIRED" || !strings.Contains(llmJSON(dig(out, "task", "status")), "which colour?") {
		t.Fatal(out)
	}
	for range 2 { // a message that decided something below, and is sent again, decides nothing more
		_, out, _ = x.rest("POST", "/a2a/v1/message:send", a2aSays("m2", "blue", map[string]any{"taskId": id}))
		if dig(out, "task", "status", "state") != "TASK_STATE_COMPLETED" || dig(out, "task", "id") != id {
			t.Error(out)
		}
	}
	_, out, _ = x.rest("POST", "/a2a/v1/message:send", a2aSays("m3", "have it painted", nil))
	id, _ = dig(out, "task", "id").(string)
	if _, out, _ = x.rest("POST", "/a2a/v1/tasks/"+id+":cancel", nil); dig(out, "status", "state") != "TASK_STATE_CANCELED" {
		t.Error(out)
	}
	if status, out, _ := x.rest("POST", "/a2a/v1/tasks/"+id+":cancel", nil); status != 409 || !strings.Contains(llmJSON(out), "TASK_NOT_CANCELABLE") {
		t.Error(status, out)
	}
}

// Anyone reads the card; what it offers is there, and what is not there says so. Each
// mistake is an error of the protocol that names the field, in both bindings.
func TestA2ARefuses(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("Done.")))
	if card := x.callAs("", "GET", "/.well-known/agent-card.json", nil, 200); dig(card, "capabilities", "streaming") != true || dig(card, "capabilities", "pushNotifications") != true {
		t.Error(card)
	}
	for name, c := range map[string]struct {
		method, path string
		body         any
		want         int
		says         string
	}{
		"no message":   {"POST", "/message:send", map[string]any{}, 400, `"field":"message"`},
		"a role":       {"POST", "/message:send", a2aSays("m", "x", map[string]any{"role": "me"}), 400, "message.role"},
		"a type":       {"POST", "/message:send", map[string]any{"message": 5}, 400, "message"},
		"no task":      {"GET", "/tasks/none", nil, 404, "TASK_NOT_FOUND"},
		"no operation": {"GET", "/nothing", nil, 404, "no operation"},
		"a verb":       {"DELETE", "/tasks", nil, 405, "DELETE"},
		"a page":       {"GET", "/tasks?pageSize=0", nil, 400, "pageSize"},
		"a state":      {"GET", "/tasks?status=TASK_STATE_ODD", nil, 400, `"field":"status"`},
		"artifacts":    {"GET", "/tasks?includeArtifacts=perhaps", nil, 400, `"field":"includeArtifacts"`},
		"too much":     {"POST", "/message:send", a2aSays("m", strings.Repeat("x", 65<<20), nil), 413, "more than 67108864 bytes"},
		"any state":    {"GET", "/tasks?status=TASK_STATE_UNSPECIFIED", nil, 200, `"tasks"`},
		"a context":    {"POST", "/message:send", a2aSays("m", "x", map[string]any{"contextId": "a/b"}), 400, "message.contextId"},
		"another task": {"POST", "/message:send", a2aSays("m", "x", map[string]any{"taskId": "x-1"}), 404, "TASK_NOT_FOUND"},
		"media":        {"POST", "/message:send", map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]any{"raw": "eA==", "mediaType": "audio/wav"}}}}, 415, "CONTENT_TYPE_NOT_SUPPORTED"},
	} {
		if status, out, _ := x.rest(c.method, "/a2a/v1"+c.path, c.body); status != c.want || !strings.Contains(llmJSON(out), c.says) {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	for body, want := range map[string]string{
		`[]`: "-32600", `{"jsonrpc":"2.0","id":1}`: "-32600", `{"jsonrpc":"2.0","id":1,"method":"None"}`: "-32601",
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none"}}`:                     "-32001",
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none","history_length":-1}}`: "historyLength",
	} {
		if _, out, _ := x.rest("POST", "/a2a", json.RawMessage(body)); !strings.Contains(llmJSON(out), want) {
			t.Errorf("%s: %v", body, out)
		}
	}
	if _, out, _ := x.rest("GET", "/a2a/v1/tasks", nil, "A2A-Version", "0.3"); !strings.Contains(llmJSON(out), "VERSION_NOT_SUPPORTED") {
		t.Error(out)
	}
}

// A card that is signed is about one address, by whatever name it is asked for, and anyone
// can read the key.
func TestA2ASignedCard(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	x := serve(t, dir, llmtest.Script(), db, db.Close, func(o *server.Options) {
		o.Public, o.CardKey = "https://manus.example.org", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	})
	card := x.callAs("", "GET", "/.well-known/agent-card.json", nil, 200)
	_, extended, _ := x.rest("GET", "/a2a/v1/extendedAgentCard", nil)
	for name, card := range map[string]map[string]any{"for anyone": card, "for users": extended} {
		if u, _ := dig(card["supportedInterfaces"].([]any)[0], "url").(string); u != "https://manus.example.org/a2a" {
			t.Errorf("%s: it is at %q", name, u)
		}
		if all, _ := card["signatures"].([]any); len(all) != 1 {
			t.Errorf("%s: signed by %v", name, card["signatures"])
		}
	}
	keys := x.callAs("", "GET", "/.well-known/jwks.json", nil, 200)
	if got := dig(keys["keys"].([]any)[0], "x"); got != base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)) {
		t.Errorf("the key is %v", keys)
	}
	plain := open(t, t.TempDir(), llmtest.Script())
	if card := plain.callAs("", "GET", "/.well-known/agent-card.json", nil, 200); card["signatures"] != nil {
		t.Error(card)
	}
	plain.callAs("", "GET", "/.well-known/jwks.json", nil, 401)
}

// An answer with a schema is data, and its words are not shown as text before.
func TestA2ADataAnswer(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say(`{"key": "value"}`)))
	body := a2aSays("m1", "which?", map[string]any{"metadata": map[string]any{"schema": map[string]any{"type": "object"}}})
	_, _, events := x.rest("POST", "/a2a/v1/message:stream", body)
	all := strings.Join(events, "\n")
	if !strings.Contains(all, `"parts":[{"data":{"key":"value"},"mediaType":"application/json"}]`) || strings.Contains(all, `"artifact":{"artifactId":"answer","name":"answer","parts":[{"text"`) {
		t.Error(all)
	}
	body = a2aSays("m2", "which?", map[string]any{"metadata": map[string]any{"schema": map[string]any{"type": 5}}})
	if status, out, _ := x.rest("POST", "/a2a/v1/message:send", body); status != 400 || !strings.Contains(fmt.Sprint(out), "metadata.schema") {
		t.Error(status, out)
	}
}

// A client that wants the answer as a message gets it so, in a stream too, and the task if
// something is asked or fails.
func TestA2AMessageForAnAnswer(t *testing.T) {
	want := func(id, text string, more map[string]any) map[string]any {
		m := map[string]any{"metadata": map[string]any{"reply": "message"}}
		maps.Copy(m, more)
		return a2aSays(id, text, m)
	}
	x := open(t, t.TempDir(), llmtest.Script(
		llmtest.Say("Blue."), llmtest.Say("Red."), llmtest.Use("", "ask_human", map[string]any{"inquire": "Which one?"}), llmtest.Say("The first.")))
	_, out, all := x.rest("POST", "/a2a/v1/message:send", want("m1", "which colour?", nil))
	if dig(out, "message", "role") != "ROLE_AGENT" || !strings.Contains(llmJSON(out), `"text":"Blue."`) || len(all) != 1 {
		t.Error(out)
	}
	same := map[string]any{"contextId": dig(out, "message", "contextId")}
	_, out, all = x.rest("POST", "/a2a/v1/message:stream", want("m2", "and then?", same))
	if !strings.Contains(llmJSON(dig(out, "message")), `"text":"Red."`) || len(all) != 1 {
		t.Error(all)
	}
	_, out, _ = x.rest("POST", "/a2a/v1/message:send", want("m3", "choose", same))
	id, _ := dig(out, "task", "id").(string)
	if dig(out, "task", "status", "state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Error(out)
	}
	if _, out, _ = x.rest("POST", "/a2a/v1/message:send", want("m4", "any", map[string]any{"taskId": id})); !strings.Contains(llmJSON(dig(out, "message")), `"text":"The first."`) {
		t.Error(out)
	}
	for metadata, says := range map[string]string{`{"reply":"poem"}`: "task or message", `{"reply":5}`: "task or message"} {
		body := a2aSays("m5", "x", map[string]any{"metadata": json.RawMessage(metadata)})
		if status, out, _ := x.rest("POST", "/a2a/v1/message:send", body); status != 400 || !strings.Contains(llmJSON(out), says) {
			t.Errorf("%s: %d %v", metadata, status, out)
		}
	}
	body := want("m6", "x", nil)
	body["configuration"] = map[string]any{"returnImmediately": true}
	if status, out, _ := x.rest("POST", "/a2a/v1/message:send", body); status != 400 || !strings.Contains(llmJSON(out), "immediately") {
		t.Error(status, out)
	}
}

// Messages that begin one context at once all arrive in it.
func TestA2AAtOnce(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(slices.Repeat([]llm.Message{llmtest.Say("Done.")}, 9)...))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			body := a2aSays(fmt.Sprint("m", i), "go", map[string]any{"contextId": "c9"})
			if status, out, _ := x.rest("POST", "/a2a/v1/message:send", body); status != 200 || dig(out, "task", "status", "state") != "TASK_STATE_COMPLETED" {
				t.Error(status, out)
			}
		})
	}
	all.Wait()
}

// A message whose answer was lost is sent again: it decides once, and stands in the history
// with its own id, also when something else waits by then or the task has ended.
func TestA2ASentAgain(t *testing.T) {
	ask := func(what string) llm.Message { return llmtest.Use("", "ask_human", map[string]any{"inquire": what}) }
	x := open(t, t.TempDir(), llmtest.Script(ask("Which one?"), ask("Which colour?"), llmtest.Say("Done.")))
	_, out, _ := x.rest("POST", "/a2a/v1/message:send", a2aSays("m1", "paint", nil))
	id, _ := dig(out, "task", "id").(string)
	for _, step := range []struct{ id, text, want string }{
		{"m2", "the first", "INPUT_REQUIRED"},
		{"m2", "the first", "INPUT_REQUIRED"},
		{"m1", "paint", "INPUT_REQUIRED"}, // is no answer to the second question
		{"m3", "red", "COMPLETED"},
		{"m3", "red", "COMPLETED"},
	} {
		status, out, _ := x.rest("POST", "/a2a/v1/message:send", a2aSays(step.id, step.text, map[string]any{"taskId": id}))
		if state, _ := dig(out, "task", "status", "state").(string); status != 200 || state != "TASK_STATE_"+step.want {
			t.Fatalf("%+v: %d %v", step, status, out)
		}
	}
	_, task, _ := x.rest("GET", "/a2a/v1/tasks/"+id, nil)
	var said []string
	for _, m := range task["history"].([]any) {
		if dig(m, "role") == "ROLE_USER" {
			said = append(said, fmt.Sprint(dig(m, "messageId"), " ", dig(m, "parts").([]any)[0].(map[string]any)["text"]))
		}
	}
	if got := strings.Join(said, ", "); got != "m1 paint, m2 the first, m3 red" {
		t.Error(got)
	}
}
