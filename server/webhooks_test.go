package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

var webhookKey = []byte("0123456789abcdefghijklmnopqrstuv")

// told is what a webhook was told.
type told struct {
	ID, Type string
	Data     struct {
		Hook, Session, Event, Status, Reason, Question, Text string
		Seq                                                  int64
		Call                                                 struct{ Tool string }
		Files                                                []struct{ Path, Change string }
	}
}

// An ear is a service that takes what webhooks post, signed with webhookKey, as answers say.
type ear struct {
	*httptest.Server
	came chan told

	mu      sync.Mutex
	answers []int // to the next messages; then 200
	refused int
}

func newEar(t *testing.T, answers ...int) *ear {
	l := &ear{came: make(chan told, 100), answers: answers}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
		mac := hmac.New(sha256.New, webhookKey)
		mac.Write([]byte(id + "." + at + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); err != nil || r.Header.Get("webhook-signature") != want {
			t.Errorf("%v: the signature is %q, not %q", err, r.Header.Get("webhook-signature"), want)
		}
		m := told{ID: id}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		l.mu.Lock()
		answer := http.StatusOK
		if len(l.answers) > 0 {
			answer, l.answers = l.answers[0], l.answers[1:]
			l.refused++
		}
		l.mu.Unlock()
		w.WriteHeader(answer)
		if answer == http.StatusOK {
			l.came <- m
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// until returns what came, up to a message of a type.
func (l *ear) until(t *testing.T, kind string) (all []told) {
	t.Helper()
	for {
		select {
		case m := <-l.came:
			if all = append(all, m); m.Type == kind {
				return all
			}
		case <-t.Context().Done():
			t.Fatalf("%s did not come: %+v", kind, all)
		}
	}
}

// listening returns a site whose webhooks are these, over the store in dir.
func listening(t *testing.T, dir string, m llm.Model, webhooks map[string]server.Webhook) (*site, *store.DB) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, m, db, db.Close, func(o *server.Options) { o.Webhooks, o.A2A = webhooks, false }), db
}

// kinds are the types of messages, in their order.
func kinds(all []told) string {
	var s []string
	for _, m := range all {
		s = append(s, m.Type)
	}
	return strings.Join(s, " ")
}

// A webhook is told once by its id, in order, what happens in a session, also while it
// answers with errors, when the server stops in between, and when the session goes on after
// its end. One for some events hears of those.
func TestWebhooks(t *testing.T) {
	dir := t.TempDir()
	all, some := newEar(t, 500, 503), newEar(t)
	webhooks := map[string]server.Webhook{"all": {URL: all.URL, Key: webhookKey, Events: []string{"waiting", "finished", "failed", "budget", "files"}}, "some": {URL: some.URL, Key: webhookKey, Events: []string{"failed", "finished"}}}
	x, _ := listening(t, dir, saves(), webhooks)
	id := x.session(map[string]any{"approve": "ask"})
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", map[string]any{"id": "m1", "text": "write"}, 202)
	w := x.until(id, "waiting")["waiting"].([]any)[0].(map[string]any)
	got := all.until(t, "waiting")
	if d := got[0].Data; len(got) != 1 || d.Session != id || d.Hook != "all" || d.Call.Tool != "file_saver" || d.Question == "" || d.Seq == 0 {
		t.Errorf("%+v", got)
	}
	all.mu.Lock()
	if all.refused != 2 {
		t.Errorf("%d messages were refused", all.refused)
	}
	all.mu.Unlock()
	x.close()

	x, _ = listening(t, dir, llmtest.Script(llmtest.Say("It was said before."), llmtest.Say("It is written."), llmtest.Say("Again.")), webhooks)
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": true}, 202)
	x.until(id, "finished")
	got = append(got, all.until(t, "finished")...)
	x.call("POST", path+"/messages", map[string]any{"id": "m2", "text": "again"}, 202)
	got = append(got, all.until(t, "finished")...)
	got = slices.CompactFunc(got, func(a, b told) bool { return a.ID == b.ID }) // the one during which the server stopped may come again
	if k := strings.ReplaceAll(kinds(got), "files ", ""); k != "waiting finished finished" || got[len(got)-1].Data.Text != "Again." || got[len(got)-1].Data.Status != "finished" {
		t.Errorf("%s: %+v", k, got)
	}
	if got := append(some.until(t, "finished"), some.until(t, "finished")...); kinds(got) != "finished finished" || got[0].ID == got[1].ID {
		t.Errorf("%+v", got)
	}
}

// Deliveries that a webhook refused for a day are listed, and posted again when an
// administrator says so; earlier sessions, and webhooks that are gone, cause no posts.
func TestWebhookGivenUp(t *testing.T) {
	dir := t.TempDir()
	x, _ := listening(t, dir, llmtest.Script(llmtest.Say("Done."), llmtest.Say("More.")), nil)
	id := x.session(nil)
	x.call("POST", "/api/v1/sessions/"+id+"/messages", map[string]any{"id": "m1", "text": "do"}, 202)
	x.until(id, "finished")
	x.close()

	l := newEar(t)
	x, db := listening(t, dir, llmtest.Script(llmtest.Say("More.")), map[string]server.Webhook{"a": {URL: l.URL, Key: webhookKey, Events: []string{"finished"}}})
	day := time.Now().Add(-25 * time.Hour).Truncate(time.Microsecond)
	for name, at := range map[string]string{"a": "1.0", "gone": "0.0"} {
		r := journal.Receiver{Session: id, ID: "webhook/" + name, Spec: []byte("{}"), At: at, Added: day, Failing: day}
		if err := db.PutReceiver(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := db.MoveReceiver(t.Context(), r, r); err != nil {
			t.Fatal(err)
		}
	}
	states := x.call("GET", "/api/v1/webhooks", nil, 200)
	if f := dig(states, "items").([]any)[0].(map[string]any)["failing"].([]any); len(f) != 1 || f[0].(map[string]any)["session"] != id || f[0].(map[string]any)["given_up"] != true {
		t.Errorf("%v", states)
	}
	x.callAs(bobsToken, "GET", "/api/v1/webhooks", nil, 403)
	x.callAs(bobsToken, "POST", "/api/v1/webhooks/a/replay", nil, 403)
	x.call("POST", "/api/v1/webhooks/b/replay", nil, 404)
	select {
	case m := <-l.came:
		t.Errorf("%+v came", m)
	default:
	}
	if out := x.call("POST", "/api/v1/webhooks/a/replay", nil, 200); out["sessions"] != 1.0 {
		t.Errorf("%v", out)
	}
	if got := l.until(t, "finished"); len(got) != 1 || got[0].Data.Session != id || got[0].Data.Text != "Done." {
		t.Errorf("%+v", got)
	}
}

func TestWebhookSecret(t *testing.T) {
	if key, err := server.ParseWebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); err != nil || len(key) != 24 {
		t.Errorf("%x, %v", key, err)
	}
	for _, s := range []string{"", "whsec_", "whsec_%%%", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ="} {
		if _, err := server.ParseWebhookSecret(s); err == nil || !strings.Contains(err.Error(), "openssl rand") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// A service that answers 30 % of what is posted with errors, half of them after it has taken it, has everything in the end, and
// nothing twice that has one id.
func TestWebhookErrors(t *testing.T) {
	const sessions = 40
	var mu sync.Mutex
	effects, asked, refused := map[string]int{}, 0, 0
	rnd := rand.New(rand.NewPCG(7, 8))
	done := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		fate := rnd.IntN(100)
		if fate < 30 {
			refused++
			w.WriteHeader([]int{500, 503, 429, 302}[fate%4])
		}
		if fate < 15 {
			return
		}
		if effects[r.Header.Get("webhook-id")]++; len(effects) == sessions {
			select {
			case <-done:
			default:
				close(done)
			}
		}
	}))
	defer service.Close()
	var lines []llm.Message
	for range sessions {
		lines = append(lines, llmtest.Say("Done."))
	}
	x, _ := listening(t, t.TempDir(), llmtest.Script(lines...), map[string]server.Webhook{"a": {URL: service.URL, Key: webhookKey, Events: []string{"finished"}}})
	ids := map[string]bool{}
	for range sessions {
		id := x.session(nil)
		ids[id] = true
		x.call("POST", "/api/v1/sessions/"+id+"/messages", map[string]any{"id": "m1", "text": "do"}, 202)
	}
	<-done
	mu.Lock()
	defer mu.Unlock()
	for id := range effects {
		if session, _, _ := strings.Cut(id, "."); !ids[session] {
			t.Errorf("%s is of no session", id)
		}
	}
	if refused < 8 {
		t.Errorf("%d of %d were refused, which is too few to say anything", refused, asked)
	}
}
