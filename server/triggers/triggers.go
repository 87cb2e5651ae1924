// Package triggers reads what other services post when something happens there: it checks
// the signature, and makes a task of it by a template.
//
// Each kind of signature ([New] lists them) names the headers that it needs, and the parts
// of the request that it covers. A request is checked before anything in it is read, in
// constant time, and with a bound on its age where the kind has a time. Template and
// conditions are checked when the trigger is made, not when a request comes.
//
// The words of the template are the user's; every value that it fills in is a text of
// others, and the task says which parts these are.
package triggers

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of signatures.
const (
	GitHub   = "github"   // X-Hub-Signature-256
	GitLab   = "gitlab"   // X-Gitlab-Token, which is the secret
	Slack    = "slack"    // X-Slack-Signature
	Standard = "standard" // webhook-signature, see https://www.standardwebhooks.com
	Stripe   = "stripe"   // Stripe-Signature
)

const (
	// MaxBody is the most bytes of a delivery.
	MaxBody = 5 << 20

	// maxAge is how old a signature may be that has a time, and how far in the future.
	maxAge = 5 * time.Minute

	// maxTask is the most bytes of a task.
	maxTask = 200_000
)

// A Trigger begins tasks. Its methods may be used by many goroutines.
type Trigger struct {
	Kind   string // of its signatures
	Secret string

	task template // nil: the task is the payload
	when []condition
	key  []byte
}

// New returns a trigger. Its tasks are text, in which {{issue.title}} is that part of the
// payload; "": the payload. It begins nothing unless each of when holds: action=opened|closed
// is about the payload, header:X-GitHub-Event=issues about a header, which no signature covers.
// An error begins with the key of the configuration that is wrong.
func New(kind, secret, text string, when []string) (*Trigger, error) {
	t := &Trigger{Kind: kind, Secret: secret, key: []byte(secret)}
	if secret == "" {
		return nil, errors.New("secret_env: it is required")
	}
	switch kind {
	case GitHub, GitLab, Slack, Stripe:
	case Standard:
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil, errors.New("secret_env: a secret of Standard Webhooks is whsec_ and base64")
		}
		t.key = key
	default:
		return nil, errors.New("signature: it must be one of github, gitlab, slack, standard, stripe")
	}
	for _, w := range when {
		c, err := parseCondition(w)
		if err != nil {
			return nil, err
		}
		t.when = append(t.when, c)
	}
	if strings.TrimSpace(text) == "" {
		return t, nil
	}
	var err error
	t.task, err = parse(text)
	return t, err
}

// Refused says that a delivery is not taken.
type Refused struct {
	Status int // of HTTP
	Why    string
}

func (r *Refused) Error() string { return r.Why }

func forged(format string, a ...any) error {
	return &Refused{http.StatusUnauthorized, fmt.Sprintf(format, a...)}
}

// A Task is what a delivery asks for.
type Task struct {
	// ID is the same whenever the delivery comes again, and another one for every other.
	// It is made of what is signed.
	ID string

	Text  string   // "": there is nothing to do
	Words []string // of Text: what came with the delivery
	Reply string   // what the service wants to be answered: it checks the address
}

// Read checks a delivery, and returns its task. The error is a [*Refused].
func (t *Trigger) Read(h http.Header, body []byte, now time.Time) (Task, error) {
	id, err := t.check(h, body, now)
	if err != nil {
		return Task{}, err
	}
	if id == "" {
		id = string(body)
	}
	sum := sha256.Sum256([]byte(id))
	task := Task{ID: hex.EncodeToString(sum[:12])}
	payload, err := payloadOf(h, body)
	if err != nil {
		return task, &Refused{http.StatusBadRequest, "the payload cannot be read: " + err.Error()}
	}
	if t.Kind == Slack && payload["type"] == "url_verification" {
		task.Reply, _ = payload["challenge"].(string)
		return task, nil
	}
	if t.Kind == GitHub && h.Get("X-GitHub-Event") == "ping" {
		return task, nil
	}
	if slices.ContainsFunc(t.when, func(c condition) bool { return !c.holds(h, payload) }) {
		return task, nil
	}
	err = t.write(&task, payload)
	return task, err
}

// write makes the text of a task.
func (t *Trigger) write(task *Task, payload map[string]any) error {
	if t.task == nil {
		data, err := json.MarshalIndent(payload, "", "  ")
		if err != nil {
			return err
		}
		text := strings.ToValidUTF8(string(data[:min(len(data), maxTask)]), "")
		task.Text, task.Words = "This happened elsewhere:\n\n```json\n"+text+"\n```", []string{text}
		return nil
	}
	text, err := t.task.fill(payload, maxTask)
	if err != nil {
		return &Refused{http.StatusUnprocessableEntity, err.Error()}
	}
	task.Text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	task.Words = within(task.Text, payload, nil)
	slices.Sort(task.Words)
	task.Words = slices.Compact(task.Words)
	return nil
}

// within adds the texts of a payload that stand in a text to all.
func within(text string, v any, all []string) []string {
	switch v := v.(type) {
	case string:
		if strings.TrimSpace(v) != "" && strings.Contains(text, v) {
			all = append(all, v)
		}
	case []any:
		for _, e := range v {
			all = within(text, e, all)
		}
	case map[string]any:
		for name, e := range v {
			all = within(text, e, within(text, name, all))
		}
	}
	return all
}

// payloadOf reads a payload: JSON, or a form whose member payload is JSON.
func payloadOf(h http.Header, body []byte) (map[string]any, error) {
	if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		if p := form.Get("payload"); p != "" {
			return decode([]byte(p))
		}
		all := make(map[string]any)
		for name := range form {
			all[name] = form.Get(name)
		}
		return all, nil
	}
	return decode(body)
}

func decode(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		return nil, errors.New("it is no JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more follows the JSON object")
	}
	if all == nil {
		return nil, errors.New("it is null")
	}
	return all, nil
}

// check checks the signature of a delivery. id is what names the delivery if the signature
// covers that; "": its body does.
func (t *Trigger) check(h http.Header, body []byte, now time.Time) (id string, err error) {
	switch t.Kind {
	case GitHub:
		hash, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
		return "", t.fits("X-Hub-Signature-256", ok, []string{hash}, hex.DecodeString, body)
	case GitLab:
		if subtle.ConstantTimeCompare([]byte(h.Get("X-Gitlab-Token")), []byte(t.Secret)) == 0 {
			return "", forged("X-Gitlab-Token is not the secret of this trigger")
		}
		return "", nil
	case Slack:
		at := h.Get("X-Slack-Request-Timestamp")
		if err := fresh("X-Slack-Request-Timestamp", at, now); err != nil {
			return "", err
		}
		hash, ok := strings.CutPrefix(h.Get("X-Slack-Signature"), "v0=")
		return "", t.fits("X-Slack-Signature", ok, []string{hash}, hex.DecodeString, []byte("v0:"+at+":"), body)
	case Stripe:
		at, hashes := "", []string(nil)
		for part := range strings.SplitSeq(h.Get("Stripe-Signature"), ",") {
			switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
			case "t":
				at = value
			case "v1":
				hashes = append(hashes, value)
			}
		}
		if err := fresh("Stripe-Signature", at, now); err != nil {
			return "", err
		}
		return "", t.fits("Stripe-Signature", len(hashes) > 0, hashes, hex.DecodeString, []byte(at+"."), body)
	default:
		id, at := h.Get("webhook-id"), h.Get("webhook-timestamp")
		if id == "" {
			return "", forged("webhook-id is missing")
		}
		if err := fresh("webhook-timestamp", at, now); err != nil {
			return "", err
		}
		var hashes []string
		for one := range strings.FieldsSeq(h.Get("webhook-signature")) {
			if hash, ok := strings.CutPrefix(one, "v1,"); ok {
				hashes = append(hashes, hash)
			}
		}
		return id, t.fits("webhook-signature", len(hashes) > 0, hashes, base64.StdEncoding.DecodeString, []byte(id+"."+at+"."), body)
	}
}

// fresh returns an error unless a time, in seconds, is about now.
func fresh(header, at string, now time.Time) error {
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return forged("%s has no time", header)
	}
	if age := now.Sub(time.Unix(n, 0)); age > maxAge || age < -maxAge {
		return forged("the time of %s is not within %s of the clock of this machine", header, maxAge)
	}
	return nil
}

// fits returns an error unless one of the hashes is that of the parts. ok is false if the
// header has none.
func (t *Trigger) fits(header string, ok bool, hashes []string, decode func(string) ([]byte, error), parts ...[]byte) error {
	if !ok {
		return forged("%s is missing", header)
	}
	mac := hmac.New(sha256.New, t.key)
	for _, p := range parts {
		mac.Write(p)
	}
	want := mac.Sum(nil)
	for _, hash := range hashes {
		if got, err := decode(hash); err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return forged("%s does not fit the body: is the secret of this trigger that of the sender?", header)
}
