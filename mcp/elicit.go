package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
)

// A question is what a server asks the person in the middle of a call.
type question struct {
	server string
	text   string
	url    string          // to be opened by the person, and then confirmed
	schema json.RawMessage // of the answer; nil: a yes is enough
	reply  chan *sdk.ElicitResult
	before int // how many answers the call had when it was asked
}

// elicit puts what a server asks before the person whose call it is about.
func (l *link) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	q, err := newQuestion(l.cfg.Name, r.Params)
	if err != nil {
		l.c.say("%s: %v", clean(l.cfg.Name), err)
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	f, _ := ctx.Value(flightKey{}).(*flight)
	if f == nil {
		f = l.only()
	}
	if f == nil {
		l.c.say("%s asked a question, and which call it belongs to cannot be told: %s", clean(l.cfg.Name), q.text)
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	if a, ok := f.replay(); ok { // the answer to the same question, before a restart
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

// only returns the one call that is under way at the server. Older versions of
// the protocol do not say to which call a question belongs.
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

// replay returns the next of the answers that the call brought with it.
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

func newQuestion(server string, p *sdk.ElicitParams) (*question, error) {
	q := &question{server: clean(server), text: strings.TrimSpace(cut(clean(p.Message), 4000)), reply: make(chan *sdk.ElicitResult, 1)}
	if p.Mode == "url" || p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsFunc(p.URL, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("asked to open what is no address of a page: %s", line(p.URL, 100))
		}
		q.url = p.URL
		return q, nil
	}
	if p.RequestedSchema == nil {
		return q, nil
	}
	data, err := json.Marshal(p.RequestedSchema)
	if err != nil || len(data) > maxSchema {
		return nil, errors.New("asked a question whose form cannot be read")
	}
	if schema, loose := usable(data); loose == "" && hasProperties(schema) {
		q.schema = schema
	}
	return q, nil
}

func hasProperties(schema json.RawMessage) bool {
	var s struct{ Properties map[string]any }
	return json.Unmarshal(schema, &s) == nil && len(s.Properties) > 0
}

func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}

// ask is the question as the tool's error. again says what was wrong with the
// last answer.
func (q *question) ask(again string) error {
	text := fmt.Sprintf("The MCP server %s asks: %s", q.server, q.text)
	switch {
	case q.url != "":
		text += fmt.Sprintf("\nIt wants you to open this page: %s\nAnswer yes when that is done, or no.", q.url)
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

// nullable lets the person decline: null fits as well.
func nullable(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(`{"anyOf":[%s,{"type":"null"}]}`, schema))
}

// answer is what the server is told. The error says what is wrong with what
// the person said.
func (q *question) answer(a openmanus.Answer) (*sdk.ElicitResult, error) {
	decline := &sdk.ElicitResult{Action: "decline"}
	data := strings.TrimSpace(string(a.Data))
	if data == "" {
		data = strings.TrimSpace(a.Text)
	}
	if q.schema == nil {
		if slices.Contains([]string{"y", "yes", "ok", "true", "accept", "done"}, strings.Trim(strings.ToLower(data), `"`)) {
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

// withDefaults adds the defaults of what data, an object, leaves out.
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
