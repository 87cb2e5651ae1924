package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// keyed sends a request with an Idempotency-Key.
func (x *site) keyed(token, method, path, key, body string) (status int, replayed bool, answer string) {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := x.http.Client().Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true", string(data)
}

// A request that is made again with its key is carried out once, whoever makes it how often
// at the same time; a failure is not kept.
func TestIdempotencyKeys(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("done"), llmtest.Say("done")))
	const sessions = "/api/v1/sessions"
	var mu sync.Mutex
	var all sync.WaitGroup
	var answers []string
	first := 0
	for range 20 {
		all.Go(func() {
			status, replayed, answer := x.keyed(annsToken, "POST", sessions, "k1", `{"workspace":"w"}`)
			mu.Lock()
			defer mu.Unlock()
			if answers = append(answers, answer); status != 201 {
				t.Errorf("%d %s", status, answer)
			}
			if !replayed {
				first++
			}
		})
	}
	all.Wait()
	if slices.Sort(answers); first != 1 || answers[0] != answers[len(answers)-1] {
		t.Errorf("%d of 20 requests were carried out; the answers are %v", first, slices.Compact(answers))
	}
	if n := len(x.call("GET", sessions, nil, 200)["items"].([]any)); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(answers[0]), &made); err != nil {
		t.Fatal(err)
	}
	one := sessions + "/" + made.ID
	for _, tt := range []struct {
		what, token, method, path, key, body string
		status                               int
		replayed                             bool
		says                                 string
	}{
		{"another body", annsToken, "POST", sessions, "k1", `{"workspace":"v"}`, 409, false, "another request has had this key"},
		{"another user", bobsToken, "POST", sessions, "k1", `{"workspace":"w"}`, 201, false, "id"},
		{"another operation", annsToken, "POST", one + "/messages", "k1", `{"text":"hi"}`, 202, false, ""},
		{"that again", annsToken, "POST", one + "/messages", "k1", `{"text":"hi"}`, 202, true, ""},
		{"a change", annsToken, "PATCH", one, "k2", `{"title":"new"}`, 200, false, ""},
		{"the change again", annsToken, "PATCH", one, "k2", `{"title":"new"}`, 200, true, ""},
		{"a failure", annsToken, "POST", one + "/answers", "k3", `{"call":"c9","answer":"x"}`, 404, false, ""},
		{"a failure again", annsToken, "POST", one + "/answers", "k3", `{"call":"c9","answer":"x"}`, 404, false, ""},
		{"a long key", annsToken, "POST", sessions, strings.Repeat("k", 256), `{}`, 422, false, "more than 255 bytes"},
	} {
		if tt.what == "a change" {
			x.until(made.ID, "finished")
		}
		status, replayed, answer := x.keyed(tt.token, tt.method, tt.path, tt.key, tt.body)
		if status != tt.status || replayed != tt.replayed || !strings.Contains(answer, tt.says) {
			t.Errorf("%s: %d, replayed %t: %s", tt.what, status, replayed, answer)
		}
	}
	said := 0
	for _, ev := range x.call("GET", one+"/log", nil, 200)["items"].([]any) {
		if ev.(map[string]any)["type"] == "user_said" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the message was stored %d times", said)
	}
}

// Every operation that changes something by POST or PATCH takes a key, and says so.
func TestEveryActTakesAKey(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	doc := x.call("GET", "/api/v1/openapi.json", nil, 200)
	n := 0
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			if method != "post" && method != "patch" || path == "/api/v1/agui" { // its requests name their runs
				continue
			}
			n++
			data, err := json.Marshal(op.(map[string]any)["parameters"])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), `"Idempotency-Key"`) {
				t.Errorf("%s %s takes no Idempotency-Key", method, path)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d operations", n)
	}
}
