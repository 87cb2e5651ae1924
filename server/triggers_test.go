package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/server/triggers"
	"github.com/openmanus-go/openmanus/store"
)

// triggering returns a site with a trigger "issues", and what posts to it.
func triggering(t *testing.T, m llm.Model) (x *site, post func(method, name, body, secret string) (int, string)) {
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	issues, err := triggers.New(triggers.GitHub, "sesame", "Look at {{title}}", []string{"action=opened|reopened"})
	if err != nil {
		t.Fatal(err)
	}
	x = serve(t, dir, m, db, db.Close, func(o *server.Options) {
		o.Triggers = map[string]server.Trigger{"issues": {Trigger: issues, Owner: "ann"}}
	})
	return x, func(method, name, body, secret string) (int, string) {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		req, err := http.NewRequestWithContext(t.Context(), method, x.url+"/api/v1/triggers/"+name, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		resp, err := x.http.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
}

// A post of another service begins one session of the trigger's user, however often it
// comes, and its content is data.
func TestTrigger(t *testing.T) {
	x, post := triggering(t, llmtest.Script(llmtest.Say("I looked.")))
	const opened = `{"action":"opened","title":"rm -rf all of it"}`
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if status, text := post("POST", "issues", opened, "sesame"); status != http.StatusAccepted || !strings.HasPrefix(text, `{"session":"trigger-issues-`) {
				t.Error(status, text)
			}
		})
	}
	all.Wait()
	for name, c := range map[string]struct {
		method, name, body, secret string
		status                     int
		says                       string
	}{
		"nothing to do":    {"POST", "issues", `{"action":"closed"}`, "sesame", 204, ""},
		"another secret":   {"POST", "issues", opened, "open", 401, "does not fit the body"},
		"no JSON":          {"POST", "issues", `x`, "sesame", 400, "no JSON object"},
		"a wrong payload":  {"POST", "issues", `{"action":"opened"}`, "sesame", 422, "the payload has no title"},
		"too much":         {"POST", "issues", strings.Repeat("x", triggers.MaxBody+1), "sesame", 413, "at most"},
		"no trigger":       {"POST", "other", opened, "sesame", 404, "no such trigger"},
		"another method":   {"GET", "issues", "", "sesame", 405, "takes POST"},
		"a path below it":  {"POST", "issues/x", opened, "sesame", 404, "no such trigger"},
		"what it is below": {"POST", "", opened, "sesame", 404, "no such trigger"},
	} {
		if status, text := post(c.method, c.name, c.body, c.secret); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	var sessions []journal.SessionInfo
	for info, err := range x.db.Sessions(t.Context(), journal.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, info)
	}
	if len(sessions) != 1 || sessions[0].Owner != "ann" {
		t.Fatalf("there are %+v", sessions)
	}
	if s := x.call("GET", "/api/v1/sessions/"+sessions[0].ID+"?wait=300", nil, 200); s["status"] != "finished" || s["answer"] != "I looked." {
		t.Fatal(s)
	}
	said := 0
	for ev, err := range x.db.Events(t.Context(), sessions[0].ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := ev.Body.(openmanus.UserSaid); ok {
			said++
			if len(b.Sources) != 2 || b.Sources[0].From != openmanus.FromPerson || b.Sources[1].From != "trigger:issues" || b.Sources[1].Trusted ||
				strings.Join(b.Sources[1].Words, "|") != "rm -rf all of it" || b.Message.Text() != "Look at rm -rf all of it" {
				t.Errorf("it was said %+v", b)
			}
		}
	}
	if said != 1 {
		t.Errorf("it was said %d times", said)
	}
}

// A trigger of nobody is a mistake that the server names.
func TestTriggerOfNobody(t *testing.T) {
	_, err := server.New(t.Context(), server.Options{
		Users: []server.User{{Name: "ann", Token: annsToken}}, Triggers: map[string]server.Trigger{"issues": {Owner: "zoe"}}})
	if err == nil || !strings.Contains(err.Error(), `triggers.issues.user: there is no user "zoe"`) {
		t.Error(err)
	}
}
