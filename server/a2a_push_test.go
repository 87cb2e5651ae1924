package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A listener takes what happens in tasks, as often as answers says.
type listener struct {
	*httptest.Server
	came    chan string // an id and what it is about, of each message that was taken
	refused chan int    // the answers to the others

	mu      sync.Mutex
	answers []int // to the next messages; then 200
}

func newListener(t *testing.T, answers ...int) *listener {
	l := &listener{came: make(chan string, 100), refused: make(chan int, 100), answers: answers}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-A2A-Notification-Token") != "mine" || r.Header.Get("Authorization") != "Bearer secret" ||
			r.Header.Get("Content-Type") != "application/a2a+json" {
			t.Errorf("%v: %s %v", err, body, r.Header)
		}
		l.mu.Lock()
		answer := http.StatusOK
		if len(l.answers) > 0 {
			answer, l.answers = l.answers[0], l.answers[1:]
		}
		l.mu.Unlock()
		w.WriteHeader(answer)
		if answer != http.StatusOK {
			l.refused <- answer
			return
		}
		l.came <- r.Header.Get("Idempotency-Key") + " " + string(body)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) config(url string) map[string]any {
	return map[string]any{"id": "c", "url": url, "token": "mine", "authentication": map[string]any{"scheme": "Bearer", "credentials": "secret"}}
}

// until returns what came, up to a message that has a text.
func (l *listener) until(t *testing.T, text string) (all []string) {
	t.Helper()
	for {
		select {
		case s := <-l.came:
			if all = append(all, s); strings.Contains(s, text) {
				return all
			}
		case <-t.Context().Done():
			t.Fatalf("%s did not come: %q", text, all)
		}
	}
}

// Events of a task are posted to the address that came with its message: each event once by its id,
// in the order of the stream, also while the receiver answers with errors, and when the server
// stops in between.
func TestA2APush(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, saves())
	l := newListener(t, 500, 503)
	body := a2aSays("m1", "write", nil)
	body["configuration"] = map[string]any{"taskPushNotificationConfig": l.config(l.URL)}
	_, out, _ := x.rest("POST", "/a2a/v1/message:send", body)
	id, _ := dig(out, "task", "id").(string)
	before := l.until(t, "INPUT_REQUIRED")
	x.close()
	x = open(t, dir, llmtest.Script(llmtest.Say("It is written.")))
	if _, out, _ := x.rest("GET", "/a2a/v1/tasks/"+id+"/pushNotificationConfigs", nil); dig(out, "configs").([]any)[0].(map[string]any)["url"] != l.URL {
		t.Error(out)
	}
	if _, out, _ = x.rest("POST", "/a2a/v1/message:send", a2aSays("m2", "Yes.", map[string]any{"taskId": id})); dig(out, "task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Fatal(out)
	}
	got := slices.Compact(append(before, l.until(t, "COMPLETED")...)) // the one during which the server stopped may come again
	_, _, stream := x.rest("GET", "/a2a/v1/tasks/"+id+":subscribe", nil, "Last-Event-ID", "0.0")
	var want []string
	for _, e := range stream {
		if e[0] != ' ' {
			want = append(want, id+"/"+e)
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("posted:\n%s\nnot\n%s", g, w)
	}
}

// A receiver that is gone is asked no more, one that is deleted gets nothing, and what
// cannot be posted is refused with its field. Another user sees none of it.
func TestA2APushConfigs(t *testing.T) {
	x := open(t, t.TempDir(), saves())
	_, out, _ := x.rest("POST", "/a2a/v1/message:send", a2aSays("m1", "write", nil))
	id, _ := dig(out, "task", "id").(string)
	path := "/a2a/v1/tasks/" + id + "/pushNotificationConfigs"
	gone, deleted, kept := newListener(t, http.StatusGone), newListener(t), newListener(t)
	for name, l := range map[string]*listener{"gone": gone, "deleted": deleted, "kept": kept} {
		c := l.config(l.URL)
		c["id"] = name
		if status, out, _ := x.rest("POST", path, c); status != 200 || out["id"] != name || out["taskId"] != id {
			t.Fatal(status, out)
		}
	}
	for range 2 { // the second time there is nothing to delete
		if status, out, _ := x.rest("DELETE", path+"/deleted", nil); status != 200 {
			t.Error(status, out)
		}
	}
	if status, out, _ := x.rest("GET", path+"/deleted", nil); status != 404 {
		t.Error(status, out)
	}
	if status, out, _ := x.rest("GET", path+"/kept", nil); status != 200 || out["url"] != kept.URL {
		t.Error(status, out)
	}
	x.rest("POST", "/a2a/v1/message:send", a2aSays("m2", "no", map[string]any{"taskId": id}))
	if all := kept.until(t, "COMPLETED"); strings.Contains(strings.Join(all, ""), "INPUT_REQUIRED") {
		t.Errorf("what was before was posted: %q", all)
	}
	<-gone.refused
	for _, l := range []*listener{gone, deleted} {
		if len(l.came) > 0 || len(l.refused) > 0 {
			t.Errorf("%q came", <-l.came)
		}
	}
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"no address":    {map[string]any{}, `"field":"url"`},
		"a scheme":      {map[string]any{"url": "ftp://example.org"}, `"field":"url"`},
		"without TLS":   {map[string]any{"url": "http://example.org"}, "https"},
		"a password":    {map[string]any{"url": "https://me:secret@example.org"}, `"field":"url"`},
		"a header":      {map[string]any{"url": "https://example.org", "token": "a\r\nb: c"}, `"field":"token"`},
		"an id":         {map[string]any{"url": "https://example.org", "id": "a/b"}, `"field":"id"`},
		"no scheme":     {map[string]any{"url": "https://example.org", "authentication": map[string]any{"credentials": "x"}}, "authentication.scheme"},
		"credentials":   {map[string]any{"url": "https://example.org", "authentication": map[string]any{"scheme": "Bearer", "credentials": "\n"}}, "authentication.credentials"},
		"a type":        {map[string]any{"url": 5}, `"field":"url"`},
		"a wrong place": {map[string]any{"url": []any{}}, `"field":"url"`},
	} {
		if status, out, _ := x.rest("POST", path, c.config); status != 400 || !strings.Contains(llmJSON(out), c.want) {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	for i := range 12 {
		status, out, _ := x.rest("POST", path, map[string]any{"url": "https://example.org", "id": fmt.Sprint(i)})
		if want := 200; i >= 8 && status == want || i < 8 && status != want {
			t.Errorf("address %d: %d %v", i, status, out)
		}
	}
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "ListTaskPushNotificationConfigs", "params": map[string]any{"taskId": "none"}})
	if _, out, _ := x.rest("POST", "/a2a", json.RawMessage(data)); dig(out, "error", "code") != -32001.0 {
		t.Error(out)
	}
	if status, out, _ := x.rest("GET", path, nil, "Authorization", "Bearer "+bobsToken); status != 404 {
		t.Error(status, out)
	}
}
