package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// MaxReason is how many characters the reason of a denial may have.
const MaxReason = 10_000

// ForGood is the [openmanus.Ruled].Rule of a decision that is remembered.
const ForGood = "remembered from now on"

// A Decision is what a person decides about a call that waits for approval.
type Decision struct {
	Call  string // its id
	Allow bool
	By    string // who the person is

	// Input, of a call that is allowed, are the arguments to run it with in place of the
	// model's: a JSON object. The model reads that they were changed.
	Input string

	// Reason, of a call that is denied, is what to tell the model. "" tells it that the
	// person said no.
	Reason string

	// Scope, of a call that is allowed, is the scope of the question: later calls in it
	// are allowed too, for the rest of the session.
	Scope string

	// Remember makes the decision one for this very call, with these arguments in this
	// workspace, in every session.
	Remember bool

	Hash    string // of the question that the person saw; "": the one that waits
	Message string // the id of the message that it came with, in a protocol that has them
}

// A Memory keeps decisions about calls, and decides later calls by them.
type Memory interface {
	// Lasting returns the function that remembers a decision about the call c of a
	// session in state s. The function does not use s or c. If decisions about c cannot
	// be remembered, the error says why.
	Lasting(session string, s *openmanus.State, c *openmanus.CallState) (func(allow bool, by string) error, error)
}

// Rule returns the ruling that records a decision. If what the call would do has changed by
// the time that it is about to run, the call fails instead. [Sessions.Rule] remembers
// decisions; Rule does not, and returns the ruling of one that is to be remembered.
func Rule(s *openmanus.State, d Decision) (r openmanus.Ruled, err error) {
	c, q, err := Waiting(s, d.Call, openmanus.AskRuling)
	if err != nil {
		return r, err
	}
	if err := d.check(q); err != nil {
		return r, err
	}
	r = openmanus.Ruled{Call: d.Call, Allow: d.Allow, By: d.By, Hash: q.Hash, Scope: d.Scope, Message: d.Message}
	if d.Hash != "" {
		r.Hash = d.Hash
	}
	if d.Remember {
		r.Rule = ForGood
	}
	switch {
	case !d.Allow:
		r.Reason = Denied(d.Reason)
	case d.Input != "":
		r.Input, err = Input(s, c, d.Input)
	}
	return r, err
}

// Denied returns what the model reads of a call that a person has denied for a reason,
// which may be "".
func Denied(reason string) string {
	if reason = strings.TrimSpace(reason); reason != "" {
		return "the person said: " + reason
	}
	return "the person said no"
}

// check returns an error if parts of a decision exclude each other, or do not suit the
// question q.
func (d Decision) check(q openmanus.Asked) error {
	switch {
	case !d.Allow && d.Input != "":
		return invalid("input", "is for a call that is allowed: leave it out, or say in the reason what to do instead")
	case d.Allow && d.Reason != "":
		return invalid("reason", "is for a call that is denied")
	case utf8.RuneCountInString(d.Reason) > MaxReason:
		return invalid("reason", "has more than %d characters", MaxReason)
	case d.Scope != "" && q.Scope == "":
		return &Error{Field: "scope", Err: errors.New("this call cannot be allowed for the session")}
	case d.Scope != "" && (d.Scope != q.Scope || !d.Allow || d.Input != "" || d.Remember):
		return invalid("scope", "must be that of the question, %s, and the call allowed as the agent made it, for this session", q.Scope)
	case d.Remember && d.Input != "":
		return notRemembered("it is for the call as the agent made it: leave out the input, or decide only this once")
	}
	return nil
}

// Rule records a decision, wakes the session, and remembers the decision if it is to be.
func (x Sessions) Rule(ctx context.Context, session string, d Decision) (int64, error) {
	remember := func(bool, string) error { return nil }
	seq, err := x.Do(ctx, session, func(s *openmanus.State) ([]openmanus.Body, error) {
		r, err := Rule(s, d)
		if err == nil && d.Remember {
			remember, err = x.Lasting(session, s, s.Call(d.Call))
		}
		return one(r, err)
	})
	if err != nil {
		return seq, err
	}
	if err := remember(d.Allow, d.By); err != nil {
		return seq, fmt.Errorf("the decision is recorded, and could not be remembered: %w", err)
	}
	return seq, nil
}

// Lasting returns the function that remembers a decision about the call c of a session in
// state s. The error says why that cannot be remembered.
func (x Sessions) Lasting(session string, s *openmanus.State, c *openmanus.CallState) (func(bool, string) error, error) {
	if x.Memory == nil {
		return nil, notRemembered("nothing keeps decisions here")
	}
	remember, err := x.Memory.Lasting(session, s, c)
	if err != nil {
		return nil, notRemembered("%w", err)
	}
	return remember, nil
}

// notRemembered returns the error for a decision that cannot be remembered.
func notRemembered(why string, args ...any) error {
	return &Error{Field: "remember", Err: fmt.Errorf("this decision cannot be remembered: "+why, args...)}
}

// An Answer is what a person answers to a question that a tool asks.
type Answer struct {
	Call string // the call that asks
	By   string // who the person is

	// Text is the answer. If the question has a schema, it is JSON that fits, or the
	// value of a string that does.
	Text string
	Data json.RawMessage // the answer to a question with a schema, in place of Text

	Nth     int    // which question of the call, from 1; 0: the one that waits
	Message string // the id of the message that it came with, in a protocol that has them
}

// Reply returns the event that records an answer.
func Reply(s *openmanus.State, a Answer) (openmanus.Answered, error) {
	_, q, err := Waiting(s, a.Call, openmanus.AskText)
	if err != nil {
		return openmanus.Answered{}, err
	}
	r := openmanus.Answered{Call: a.Call, N: q.N, Text: a.Text, By: a.By, Message: a.Message}
	if a.Nth > q.N+1 {
		return r, conflict("call %s has not asked question %d", a.Call, a.Nth)
	}
	if a.Nth > 0 {
		r.N = a.Nth - 1
	}
	if len(q.Schema) == 0 {
		if strings.TrimSpace(a.Text) == "" {
			return r, invalid("answer", "must be text, and not empty")
		}
		return r, nil
	}
	if len(a.Data) > 0 {
		r.Text, err = fits(a.Data, q.Schema)
	} else {
		r.Text, err = fitting(a.Text, q.Schema)
	}
	if err != nil {
		return r, invalid("answer", "must be JSON that fits %s: %w", q.Schema, err)
	}
	r.Data = json.RawMessage(r.Text)
	return r, nil
}

// fitting returns the JSON value that a text stands for under a schema: the JSON that the
// person wrote, or else the text itself as a JSON string.
func fitting(text string, schema json.RawMessage) (string, error) {
	var errs error
	if json.Valid([]byte(text)) {
		fit, err := fits([]byte(text), schema)
		if err == nil {
			return fit, nil
		}
		errs = err
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return "", err
	}
	fit, err := fits(quoted, schema)
	if err != nil {
		return "", cmp.Or(errs, err)
	}
	return fit, nil
}

// fits returns JSON as it fits a schema.
func fits(data []byte, schema json.RawMessage) (string, error) {
	compiled, err := args.Compile(schema)
	if err != nil {
		return "", err
	}
	return compiled.CheckValue(string(data))
}

// Answer records an answer and wakes the session.
func (x Sessions) Answer(ctx context.Context, session string, a Answer) (int64, error) {
	return x.Do(ctx, session, func(s *openmanus.State) ([]openmanus.Body, error) { return one(Reply(s, a)) })
}

// NoAnswer returns the event by which a person leaves a question without an answer.
func NoAnswer(s *openmanus.State, call, by string) (openmanus.Answered, error) {
	return unanswered(s, call, by, "The person does not answer this question. Continue as well as you can.")
}

// byPolicy is who decides where no person can be asked.
const byPolicy = "policy"

// Nobody returns the event that decides a call of a session in which no person can be
// asked: the call is denied, or its question goes without an answer.
func Nobody(s *openmanus.State, call string) (openmanus.Body, error) {
	c := s.Call(call)
	if c == nil || c.Question().Kind != openmanus.AskRuling {
		return unanswered(s, call, byPolicy, "No user can be asked in this session. Continue as well as you can, and state your assumptions in the answer.")
	}
	return openmanus.Ruled{Call: call, By: byPolicy, Rule: "no user to ask", Hash: c.Question().Hash,
		Reason: "this call needs approval, and this session has no user to ask"}, nil
}

// unanswered returns null as the answer to a question, and what the model reads of it.
func unanswered(s *openmanus.State, call, by, text string) (openmanus.Answered, error) {
	_, q, err := Waiting(s, call, openmanus.AskText)
	return openmanus.Answered{Call: call, N: q.N, By: by, Data: json.RawMessage(`null`), Text: text}, err
}

// NoAnswer records that a question gets no answer, and wakes the session: see [NoAnswer].
func (x Sessions) NoAnswer(ctx context.Context, session, call, by string) (int64, error) {
	return x.Do(ctx, session, func(s *openmanus.State) ([]openmanus.Body, error) { return one(NoAnswer(s, call, by)) })
}

// waits names what the kinds of questions wait for.
var waits = map[openmanus.AskKind]string{openmanus.AskRuling: "a ruling", openmanus.AskText: "an answer"}

// Waiting returns the call with an id, which waits for a decision of the kind or has just
// had one, and its question. A decision about a call that has had one is appended again
// with no effect if it is the same, and is a conflict otherwise.
func Waiting(s *openmanus.State, call string, kind openmanus.AskKind) (*openmanus.CallState, openmanus.Asked, error) {
	c := s.Call(call)
	if c == nil {
		return nil, openmanus.Asked{}, &Error{Kind: Absent, Field: "call", Err: fmt.Errorf("%q is none that the session has open", clip.Text(call, 40))}
	}
	q := c.Question()
	switch {
	case q.Kind == "":
		return nil, q, conflict("call %s does not wait for a person", call)
	case q.Kind != kind:
		return nil, q, conflict("call %s waits for %s", call, waits[q.Kind])
	case !c.Asking && c.Done != nil && !decided(c, kind):
		return nil, q, conflict("call %s has ended: %s", call, clip.Text(c.Done.Parts.Text(), 200))
	}
	return c, q, nil
}

// decided reports whether a decision of the kind about a call has been recorded.
func decided(c *openmanus.CallState, kind openmanus.AskKind) bool {
	if kind == openmanus.AskRuling {
		return c.Ruled != nil && c.Ruled.By != openmanus.ByGate
	}
	return len(c.Answers) > 0
}

// Input checks the arguments that a person wrote in place of the model's. It returns them,
// or "" if they are the model's.
func Input(s *openmanus.State, c *openmanus.CallState, input string) (string, error) {
	if !json.Valid([]byte(input)) { // a model's slips are mended, a person can be asked
		return "", invalid("input", `is not valid JSON: write {"name": value, …}`)
	}
	if spec, ok := s.ToolSpec(c.Name); ok {
		schema, err := args.Compile(spec.Input)
		if err != nil {
			return "", invalid("input", "cannot be checked: the schema of %s: %w", c.Name, err)
		}
		if input, err = schema.Check(input); err != nil {
			return "", invalid("input", "does not fit %s: %w", c.Name, err)
		}
	}
	written := c.Call.Input
	if c.Ruling != nil && c.Ruling.Input != "" {
		written = c.Ruling.Input // a hook has changed them
	}
	if sameJSON(input, written) {
		return "", nil
	}
	return input, nil
}

// sameJSON reports whether two texts are the same JSON, but for the order of members and
// for space.
func sameJSON(one, other string) bool {
	var a, b any
	return one == other || decoded(one, &a) && decoded(other, &b) && reflect.DeepEqual(a, b)
}

// decoded decodes JSON with every digit of its numbers, and reports whether it is JSON.
func decoded(text string, v *any) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(v) == nil
}
