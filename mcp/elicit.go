package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// A question is what a server asks the person during a call.
type question struct {
	server string
	text   string
	url    string                 // for the person to open and then confirm; "" if there is none
	schema json.RawMessage        // of the answer; nil if the answer is yes or no
	reply  chan *sdk.ElicitResult // buffered: takes the one answer
	before int                    // how many answers the call had when this was asked
}

// elicit is the SDK's handler of elicitations. It passes the question to the
// call that it is about, and returns when the person has answered or the call
// has ended.
func (l *link) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	q, err := newQuestion(l.cfg.Name, r.Params)
	if err != nil {
		l.c.say("%s: %v", clip.Clean(l.cfg.Name), err)
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	f, _ := ctx.Value(flightKey{}).(*flight)
	if f == nil {
		f = l.only()
	}
	if f == nil {
		l.c.say("%s asked a question that belongs to no known call: %s", clip.Clean(l.cfg.Name), q.text)
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	if a, ok := f.replay(); ok { // the server asks the same again, after a restart
		if reply, err := q.answer(a); err == nil {
			return reply, nil
		}
	}
	select {
	case f.asks <- q:
	case <-f.done:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case reply := <-q.reply:
		return reply, nil
	case <-f.done:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// only returns the call that is under way at the server, if there is exactly
// one. Older versions of the protocol do not say to which call a question
// belongs.
func (l *link) only() *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.progress) != 1 {
		return nil
	}
	for f := range maps.Values(l.progress) {
		return f
	}
	return nil
}

// replay returns the next of the answers that the call came with.
func (f *flight) replay() (openmanus.Answer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.answers) == 0 {
		return openmanus.Answer{}, false
	}
	a := f.answers[0]
	f.answers = f.answers[1:]
	return a, true
}

// newQuestion reads a question of a server. The error completes a sentence that
// begins with the name of the server.
func newQuestion(server string, p *sdk.ElicitParams) (*question, error) {
	q := &question{server: clip.Clean(server), reply: make(chan *sdk.ElicitResult, 1)}
	q.text = strings.TrimSpace(clip.Text(clip.Clean(p.Message), 4000))
	if p.Mode == "url" || p.URL != "" {
		u, err := url.Parse(p.URL)
		invisible := strings.ContainsFunc(p.URL, func(r rune) bool { return r <= ' ' || r > '~' })
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || invisible {
			return nil, fmt.Errorf("asked to open what is not the address of a page: %s", line(p.URL, 100))
		}
		q.url = p.URL
		return q, nil
	}
	if p.RequestedSchema == nil {
		return q, nil
	}
	data, err := json.Marshal(p.RequestedSchema)
	if err != nil || len(data) > maxSchema {
		return nil, errors.New("asked a question whose schema cannot be read")
	}
	if schema, loose := usable(data); loose == "" && hasProperties(schema) {
		q.schema = schema
	}
	return q, nil
}

// hasProperties reports whether a form has fields. One without asks for no more
// than yes or no.
func hasProperties(schema json.RawMessage) bool {
	var s struct{ Properties map[string]any }
	return json.Unmarshal(schema, &s) == nil && len(s.Properties) > 0
}

// ask returns the question as an [openmanus.Ask]. again says what was wrong
// with the last answer, if there was one.
func (q *question) ask(again string) error {
	text := fmt.Sprintf("The MCP server %s asks: %s", q.server, q.text)
	if what := q.secret(); what != "" {
		text += fmt.Sprintf("\nWarning: this may ask for a secret (%q). MCP forbids servers to ask for passwords, "+
			"keys, tokens and the like in this way: decline.", what)
	}
	switch {
	case q.url != "":
		text += fmt.Sprintf("\nIt wants you to open this page: %s\nAnswer yes when that is done, or no.",
			q.url)
	case q.schema != nil:
		text += "\nAnswer null to decline."
	default:
		text += "\nAnswer yes or no."
	}
	if again != "" {
		text = "That answer does not fit: " + again + "\n" + text
	}
	return &openmanus.Ask{Question: text, Schema: nullable(q.schema)}
}

// secretWords are words of a question that asks for a secret. The specification
// (MCP, Elicitation, Security Considerations) says that servers must not request
// such things with a form; on a page of their own (mode url) they may.
var secretWords = regexp.MustCompile(`(?i)` +
	`pass[-_ ]?(?:word|phrase|code|key)|passwort|kennwort|contraseña|mot de passe|пароль|密码|密碼|パスワード|비밀번호|` +
	`credential|secret|(?:api|access|private|secret|ssh|encryption|recovery)[-_ ]?keys?\b|` +
	`(?:access|auth|bearer|refresh|session|security|api)[-_ ]?tokens?\b|\btokens?\b|` +
	`seed[-_ ]?phrase|mnemonic|\b(?:otp|totp|2fa|mfa|pin|cvv|cvc|iban|ssn)\b|` +
	`(?:verification|one[-_ ]time|recovery|backup|security)[-_ ]?codes?\b|` +
	`(?:credit|debit|card)[-_ ]?(?:card|number)|social[-_ ]security|\bcookies?\b`)

// secret returns words by which the question seems to ask for a secret, or "". It
// looks at all that a person would read: the message, and the names and texts of
// the fields. Words in camel case count as separate ones.
func (q *question) secret() string {
	if q.url != "" {
		return ""
	}
	for _, text := range []string{q.text, clip.Clean(string(q.schema))} {
		if what := secretWords.FindString(humps.ReplaceAllString(text, "$1 $2")); what != "" {
			return what
		}
	}
	return ""
}

// humps are the places inside a name in camel case at which a word begins.
var humps = regexp.MustCompile(`([a-z])([A-Z])`)

// nullable returns a schema that null fits as well, so that the person can
// decline.
func nullable(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(`{"anyOf":[%s,{"type":"null"}]}`, schema))
}

// answer returns the reply to the server. The error says what is wrong with the
// answer of the person.
func (q *question) answer(a openmanus.Answer) (*sdk.ElicitResult, error) {
	decline := &sdk.ElicitResult{Action: "decline"}
	data := strings.TrimSpace(string(a.Data))
	if data == "" {
		data = strings.TrimSpace(a.Text)
	}
	if q.schema == nil {
		word := strings.Trim(strings.ToLower(data), `"`)
		if slices.Contains([]string{"y", "yes", "ok", "true", "accept", "done"}, word) {
			return &sdk.ElicitResult{Action: "accept"}, nil
		}
		return decline, nil
	}
	if data == "null" {
		return decline, nil
	}
	schema, err := args.Compile(q.schema)
	if err != nil {
		return nil, err
	}
	fixed, err := schema.Check(withDefaults(q.schema, data))
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(fixed), &content); err != nil {
		return nil, err
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// withDefaults adds to data, an object, the defaults of properties that it
// lacks.
func withDefaults(schema json.RawMessage, data string) string {
	var s struct {
		Properties map[string]struct{ Default json.RawMessage }
	}
	var v map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil || json.Unmarshal([]byte(data), &v) != nil || v == nil {
		return data
	}
	for name, p := range s.Properties {
		if _, ok := v[name]; !ok && p.Default != nil {
			v[name] = p.Default
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return string(out)
}
