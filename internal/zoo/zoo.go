// Package zoo has strict servers for tests: each refuses what one provider is reported
// to refuse, in its words. No rule is taken from our own adapters: each names the public
// report, or the page of the documentation, that it was written from.
//
// A [Server] is a table of rules. [Server.Open] runs it, with replies that a test
// scripts, in the form in which that provider gives them: reasoning and signatures under
// the provider's own names, which it then wants back.
package zoo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// A Server is a provider: how it is reached, what it refuses, and what it gives.
type Server struct {
	Name     string
	Provider string // in package llm/providers
	API      string // of that provider; "": its own
	Model    string
	Effort   bool   // it has to be asked to reason
	Rules    []Rule // the first that a request breaks is the one it hears of

	wire  wire
	form  string // of an error: %d is the status, %q the words
	gives gives
	long  Rule // what it says of a request that is too long
}

// A Rule is something that a server refuses.
type Rule struct {
	From   string // the report or the page
	Status int
	Says   string // begins the error, in the server's words
	Bad    string // a request that breaks the rule: its messages, or all of it

	broken func(*request) bool
	own    bool // it is about what the server gave, which nothing that another gave can be
}

// gives are the names under which a server of Chat Completions gives reasoning.
type gives struct {
	thought   string // the field of a message with its reasoning
	details   bool   // reasoning_details, with a signature
	signature bool   // extra_content of the first call
	chunks    bool   // parts of the content
}

// A Turn is a reply that a test scripts.
type Turn struct {
	Thought string
	Text    string
	Calls   []Call
	Cut     bool // it ends at the output limit
}

// A Call is a call of a [Turn].
type Call struct{ Name, Arguments string }

// An Opened is a server that runs.
type Opened struct {
	Server
	URL    string                   // the base URL
	Window int                      // bytes of a request that it takes, at most; 0: any
	Status int                      // of Refuse; 0: 400
	Refuse func(body string) string // what it says of a request besides, or ""; may be nil

	play func(n int, body string) Turn

	mu       sync.Mutex
	given    map[string]bool // what it gave to have it back
	bodies   []string
	refusals []string
}

// Open runs s until the test ends. It replies to the n-th request that it takes, from 0,
// with play.
func (s Server) Open(cleanup func(func()), play func(n int, body string) Turn) *Opened {
	o := &Opened{Server: s, play: play, given: map[string]bool{}}
	h := httptest.NewServer(o)
	cleanup(h.Close)
	o.URL = h.URL + s.wire.base
	return o
}

// Path returns what the base URL ends with.
func (s Server) Path() string { return s.wire.base }

// Gave notes what the server gave otherwise, and wants back.
func (o *Opened) Gave(what ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range what {
		o.given[s] = true
	}
}

// Bodies returns the requests that it took.
func (o *Opened) Bodies() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bodies
}

// Refusals returns what it said to those that it did not.
func (o *Opened) Refusals() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refusals
}

// ServeHTTP implements [http.Handler].
func (o *Opened) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	if why, rule := o.objection(body); rule != nil {
		o.refusals = append(o.refusals, why)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rule.Status)
		fmt.Fprint(w, o.Refusal(rule.Status, why))
		return
	}
	t := o.play(len(o.bodies), string(body))
	o.bodies = append(o.bodies, string(body))
	w.Header().Set("Content-Type", "text/event-stream")
	o.wire.reply(w, o, len(o.bodies), t)
}

// objection returns what is wrong with a request, and the rule; none if it is right.
func (o *Opened) objection(body []byte) (string, *Rule) {
	if o.Window > 0 && len(body) > o.Window {
		return o.long.Says, &o.long
	}
	if o.Refuse != nil {
		if says := o.Refuse(string(body)); says != "" {
			return says, &Rule{Status: cmp.Or(o.Status, 400), Says: says}
		}
	}
	return o.Object(body, o.given)
}

// Object returns what s says of a request, and the rule that it breaks; nil if it takes
// it. given is what it gave with earlier replies and wants back unchanged; nil: it does
// not look.
func (s Server) Object(body []byte, given map[string]bool) (string, *Rule) {
	r := &request{given: given, wire: s.wire}
	if err := json.Unmarshal(body, &r.body); err != nil {
		return "", &Rule{Status: 400, Says: "the body is not JSON: " + err.Error()}
	}
	s.wire.parse(r)
	for i, rule := range s.Rules {
		r.where = ""
		if rule.broken(r) {
			return rule.Says + r.where, &s.Rules[i]
		}
	}
	return "", nil
}

// ObjectToOthers is [Server.Object] for a conversation that began with another provider:
// what s wants back of its own is not asked for.
func (s Server) ObjectToOthers(body []byte) string {
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool { return r.own })
	says, _ := s.Object(body, nil)
	return says
}

// Stream returns the response with which s gives a turn.
func (s Server) Stream(t Turn) []byte {
	var b bytes.Buffer
	s.wire.reply(&b, &Opened{Server: s, given: map[string]bool{}}, 1, t)
	return b.Bytes()
}

// Refusal returns the body of an error of s.
func (s Server) Refusal(status int, says string) string {
	quoted, _ := json.Marshal(says)
	return strings.NewReplacer("%d", fmt.Sprint(status), "%q", string(quoted)).Replace(s.form)
}

// BadRequest returns the whole request that breaks a rule of s.
func (s Server) BadRequest(r Rule) []byte {
	if strings.HasPrefix(r.Bad, `{"model"`) || strings.HasPrefix(r.Bad, `{"contents"`) { // all of it
		return []byte(r.Bad)
	}
	return []byte(fmt.Sprintf(`{"model":"m",%q:[%s]}`, s.wire.list, r.Bad))
}

// A request is what a server reads.
type request struct {
	body     map[string]any
	messages []message
	tools    []tool
	given    map[string]bool
	wire     wire
	where    string // what is wrong, where a rule says so
}

// A tool is one that a request offers.
type tool struct {
	name   string
	schema []byte
}

// A message is one of a conversation, in whatever form it came.
type message struct {
	role    string // user, assistant, tool or system
	raw     map[string]any
	texts   []string
	calls   []call
	answers []string // the ids of the calls whose results it has; of Gemini and Ollama the names
	images  []string // base64
	blocks  []map[string]any
}

// A call is a call of a message.
type call struct {
	id, name  string
	arguments any // a string or an object
	raw       map[string]any
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string           { s, _ := v.(string); return s }

// path returns what is in v under names; nil if there is nothing.
func path(v any, names ...string) any {
	for _, n := range names {
		v = object(v)[n]
	}
	return v
}

// TooLong returns what s says of a request that is larger than its window.
func (s Server) TooLong() string { return s.long.Says }
