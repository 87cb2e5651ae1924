package triggers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

const secret = "It's a Secret to Everybody"

var now = time.Unix(1614265330, 0)

func sum(key string, parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

// signed returns the headers with which a service signs a body.
func signed(kind, body string) http.Header {
	at := fmt.Sprint(now.Unix())
	h := http.Header{}
	switch kind {
	case GitHub:
		h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum(secret, body)))
	case GitLab:
		h.Set("X-Gitlab-Token", secret)
	case Slack:
		h.Set("X-Slack-Request-Timestamp", at)
		h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(sum(secret, "v0:", at, ":", body)))
	case Stripe:
		h.Set("Stripe-Signature", "t="+at+",v1="+strings.Repeat("0", 64)+", v1="+hex.EncodeToString(sum(secret, at, ".", body))+",v0=x")
	case Standard:
		h.Set("Webhook-Id", "msg_1")
		h.Set("Webhook-Timestamp", at)
		h.Set("Webhook-Signature", "v1,AAAA v1,"+base64.StdEncoding.EncodeToString(sum(secret, "msg_1.", at, ".", body))+" v1a,x")
	}
	return h
}

var kinds = []string{GitHub, GitLab, Slack, Stripe, Standard}

func secretOf(kind string) string {
	if kind == Standard {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret))
	}
	return secret
}

// The signatures that the services publish as examples.
func TestPublishedExamples(t *testing.T) {
	for kind, c := range map[string]struct {
		secret, body string
		h            http.Header
	}{
		// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
		GitHub: {secret, "Hello, World!", http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}},
		// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
		Standard: {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, http.Header{"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"},
			"Webhook-Timestamp": {"1614265330"}, "Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}}},
	} {
		trigger, err := New(kind, c.secret, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trigger.check(c.h, []byte(c.body), now); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Forged and replayed requests are refused, with the reason: each byte of the body and of each
// header that is another one, each header that is missing, a signature of yesterday or tomorrow, of
// another secret, or of another kind.
func TestForgeries(t *testing.T) {
	const body = `{"action":"opened","n":1}`
	refused := 0
	for _, kind := range kinds {
		trigger, err := New(kind, secretOf(kind), "{{action}} {{n}}", nil)
		if err != nil {
			t.Fatal(err)
		}
		task, err := trigger.Read(signed(kind, body), []byte(body), now)
		if err != nil || task.Text != "opened 1" {
			t.Fatalf("%s: %+v, %v", kind, task, err)
		}
		no := func(what string, h http.Header, body string, at time.Time) {
			t.Helper()
			var r *Refused
			if task, err := trigger.Read(h, []byte(body), at); !errors.As(err, &r) || r.Status != http.StatusUnauthorized || r.Why == "" {
				t.Errorf("%s, %s: %+v, %v", kind, what, task, err)
			}
			refused++
		}
		h := signed(kind, body)
		for name := range h {
			without := maps.Clone(h)
			delete(without, name)
			no("without "+name, without, body, now)
			no("empty "+name, http.Header{name: {""}}, body, now)
			for i := range h.Get(name) {
				c := h.Get(name)[i]
				other := strings.ContainsRune("0123456789abcdef", rune(c)) && i > len(h.Get(name))-60 && kind != Stripe && kind != Standard
				if !other && kind != GitLab {
					continue
				}
				changed := h.Clone()
				changed.Set(name, h.Get(name)[:i]+string(c^1)+h.Get(name)[i+1:])
				no(fmt.Sprint("another byte of ", name, " at ", i), changed, body, now)
			}
		}
		for _, of := range kinds {
			if of != kind {
				no("signed as "+of, signed(of, body), body, now)
			}
		}
		if kind == GitLab {
			continue // it signs nothing: who knows the secret may say what they like
		}
		for i := range body {
			no(fmt.Sprint("another byte of the body at ", i), h, body[:i]+string(body[i]^1)+body[i+1:], now)
		}
		if kind != GitHub { // whose deliveries have no time: one that comes again is the same
			no("of yesterday", h, body, now.Add(maxAge+time.Second))
			no("of tomorrow", h, body, now.Add(-maxAge-time.Second))
		}
	}
	if refused < 200 {
		t.Errorf("only %d were tried", refused)
	}
}

// A delivery that comes again is the same one, also with headers that nobody signs.
func TestTheSameDelivery(t *testing.T) {
	for _, kind := range kinds {
		trigger, err := New(kind, secretOf(kind), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		read := func(body, delivery string) Task {
			h := signed(kind, body)
			h.Set("X-Github-Delivery", delivery)
			task, err := trigger.Read(h, []byte(body), now)
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		if a, b := read(`{"a":1}`, "1"), read(`{"a":1}`, "2"); a.ID != b.ID {
			t.Errorf("%s: %s and %s", kind, a.ID, b.ID)
		}
		if a, b := read(`{"a":1}`, "1"), read(`{"a":2}`, "1"); a.ID == b.ID && kind != Standard { // its id is signed
			t.Errorf("%s: another delivery has the same id", kind)
		}
	}
}

// The outcome of payloads: a task, with the words that are not the user's, or nothing,
// or why there is none.
func TestTasks(t *testing.T) {
	const issue = `{"action":"opened","issue":{"title":"It <b>breaks</b>","number":12345678901234567890,"labels":[{"name":"bug"}]}}`
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct{ when, template, kind, body, text, words, err string }{
		{"", "Look at #{{issue.number}}: {{ issue.title }}!", "", issue, "Look at #12345678901234567890: It <b>breaks</b>!", "It <b>breaks</b>", ""},
		{"", "{{issue.labels.0.name}}{{issue.labels.1.name?}}{{issue.milestone?}} {{issue.labels}}", "", issue, `bug [{"name":"bug"}]`, "bug|name", ""},
		{"action=opened|reopened, issue.labels.0.name=bug, header:X-Event=issues", "Say so", "", issue, "Say so", "", ""},
		{"action=closed", "Say so", "", issue, "", "", ""},
		{"action=opened, header:X-Event=push", "Say so", "", issue, "", "", ""},
		{"issue.body=", "Say so", "", issue, "", "", ""},
		{"", "It happened", "", issue, "It happened", "", ""},
		{"", "a }} b", "", issue, "a }} b", "", ""},
		{"", "", "", `{"a":"b"}`, "This happened elsewhere:\n\n```json\n{\n  \"a\": \"b\"\n}\n```", "{\n  \"a\": \"b\"\n}", ""},
		{"", "{{text}} {{nothing}}", form, "text=hello+there&user=ann&nothing=", "hello there", "hello there", ""},
		{"", "{{a}}{{b}}", form, "payload=%7B%22a%22%3A%22{{c}}%22%2C%22b%22%3Anull%7D", "{{c}}", "{{c}}", ""},
		{"", "{{a.b.c}}", "", `{"a":"x"}`, "", "", "the payload has no a.b.c, which the template needs"},
		{"", "{{a.1}}", "", `{"a":["x"]}`, "", "", "has no a.1"},
		{"", "{{a.-1}}", "", `{"a":["x"]}`, "", "", "has no a.-1"},
		{"", "{{a}}", "", `[1]`, "", "", "it is no JSON object"},
		{"", "{{a}}", "", `{} {}`, "", "", "more follows"},
		{"", "{{a}}", "", `null`, "", "", "it is null"},
		{"", "{{a}}", "", ``, "", "", "it is no JSON object"},
		{"", strings.Repeat("{{a}}", 300), "", `{"a":"` + strings.Repeat("x", 1000) + `"}`, "", "", "longer than"},
	} {
		var when []string
		if c.when != "" {
			when = strings.Split(c.when, ", ")
		}
		trigger, err := New(GitHub, secret, c.template, when)
		if err != nil {
			t.Fatal(err)
		}
		h := signed(GitHub, c.body)
		h.Set("Content-Type", c.kind)
		h.Set("X-Event", "issues")
		task, err := trigger.Read(h, []byte(c.body), now)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s of %s: %v", c.template, c.body, err)
		}
		if err == nil && (task.Text != c.text || strings.Join(task.Words, "|") != c.words) {
			t.Errorf("%s of %s is %q, with %q", c.template, c.body, task.Text, task.Words)
		}
	}
	for want, c := range map[string]struct{ kind, secret, text, when string }{
		"secret_env: it is required":      {GitHub, "", "", "a=b"},
		"secret_env: a secret of":         {Standard, "whsec_%%%", "", "a=b"},
		"signature: it must be one of":    {"smoke", secret, "", "a=b"},
		"template: {{ has no }} after it": {GitHub, secret, "{{a", "a=b"},
		"template: {{}}: \"\" is no name": {GitHub, secret, "{{}}", "a=b"},
		"template: {{.a}}: \".a\" is no":  {GitHub, secret, "{{.a}}", "a=b"},
		"template: {{if a}}: \"if a\" is": {GitHub, secret, "{{if a}}", "a=b"},
		"when: \"opened\" is not of":      {GitHub, secret, "", "opened"},
		"when: \"header:=x\" names no":    {GitHub, secret, "", "header:=x"},
		"when: \"\" is no name":           {GitHub, secret, "", "=x"},
	} {
		if _, err := New(c.kind, c.secret, c.text, []string{c.when}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	slack, err := New(Slack, secret, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"type":"url_verification","challenge":"3eZbrw1aB"}`
	if task, err := slack.Read(signed(Slack, body), []byte(body), now); err != nil || task.Reply != "3eZbrw1aB" || task.Text != "" {
		t.Errorf("%+v, %v", task, err)
	}
}

// FuzzTasks: no payload makes a task whose words are not in it.
func FuzzTasks(f *testing.F) {
	f.Add(`{"a":"b","c":["d",{"e":"f"}]}`, "{{a}} {{c.1}}", "c.0=d", "")
	f.Add("payload=%7B%7D&a=b", "{{b?}} {{a}}", "header:Content-Type=x", "application/x-www-form-urlencoded")
	f.Fuzz(func(t *testing.T, body, text, when, kind string) {
		trigger, err := New(GitHub, secret, text, []string{when})
		if err != nil {
			return
		}
		h := signed(GitHub, body)
		h.Set("Content-Type", kind)
		task, err := trigger.Read(h, []byte(body), now)
		if r := (*Refused)(nil); err != nil && !errors.As(err, &r) {
			t.Fatal(err)
		}
		if slices.ContainsFunc(task.Words, func(w string) bool { return !strings.Contains(task.Text, w) }) {
			t.Errorf("%q has not all of %q", task.Text, task.Words)
		}
	})
}
