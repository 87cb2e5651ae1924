package openmanus

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// FormatVersion is the version of the journal format that this package
// writes. It reads every earlier one. See docs/events.md.
//
// Version 2 added [Called] and [Spec].
const FormatVersion = 2

// An Event is one fact in the life of a session.
type Event struct {
	Seq  int64     // position in the session, from 1; 0 if provisional: shown and forgotten
	Time time.Time // when it was stored, in UTC to the microsecond
	Body Body
}

// A Body says what happened. The set of bodies is closed; one of a type that
// this version does not know is read as [Foreign].
type Body interface {
	// Key names the question that the body answers. A session has at most
	// one event with a given key: the second answer is refused.
	Key() string
}

// The bodies. Keys are part of the format.
type (
	// Opened is the first event of a session.
	Opened struct {
		Flow    string  `json:"flow"`             // the flow that decides: [Spec.Name]
		Parent  string  `json:"parent,omitempty"` // the session that asked for this one
		Owner   string  `json:"owner,omitempty"`  // the user of a server whose session it is
		Depth   int     `json:"depth,omitempty"`  // how many sessions are above
		From    *Origin `json:"from,omitempty"`   // if it was forked or imported
		Version int     `json:"version"`
	}

	// Configured is what requests are built from, from here on, and the
	// spec that it was made from. It comes with Opened and at every
	// declared change.
	Configured struct {
		N int `json:"n"` // how many came before
		Spec
		System   string       `json:"system,omitempty"`
		Tools    []ToolSpec   `json:"tools,omitempty"`
		Settings llm.Settings `json:"settings"`
		Prices   Prices       `json:"prices"`
		Window   Window       `json:"window,omitzero"`
		Sandbox  string       `json:"sandbox,omitempty"`   // what calls really run in, such as "bubblewrap", or "none"; "": not recorded
		FlowEnds bool         `json:"flow_ends,omitempty"` // a reply without calls is no end: the flow says when it has ended
	}

	// UserSaid is input. ID is chosen by the sender, so that sending it
	// again says it once.
	UserSaid struct {
		ID      string      `json:"id"`
		Message llm.Message `json:"message"`
		Note    llm.Parts   `json:"note,omitempty"` // read by the model before Message, not by people: date, system, files
	}

	// ModelSaid is a reply to everything up to Re.
	ModelSaid struct {
		Turn    int         `json:"turn"` // how many outcomes of asking the model came before
		Re      int64       `json:"re"`
		Stop    llm.Stop    `json:"stop"`
		Message llm.Message `json:"message"`
		Usage   llm.Usage   `json:"usage"`
		Cost    Money       `json:"cost,omitempty"`
		By      string      `json:"by,omitempty"`
	}

	// Called is a call that the flow makes itself, without asking the model,
	// having seen everything up to Re. From here on it is a call like those
	// of a reply: it is ruled on, run and resumed, and the model reads it
	// and its result. It is no step, and uses no tokens.
	Called struct {
		Turn  int    `json:"turn"` // how many outcomes came before
		Re    int64  `json:"re"`
		Call  string `json:"call"`
		Name  string `json:"name"`  // the tool
		Input string `json:"input"` // its arguments, as JSON
	}

	// ModelFailed says that there was no reply to everything up to Re. It
	// halts the session unless somebody spoke after Re.
	ModelFailed struct {
		Turn   int       `json:"turn"`
		Re     int64     `json:"re"`
		Kind   llm.Kind  `json:"kind"`
		Status int       `json:"status,omitempty"` // of HTTP
		Error  string    `json:"error"`
		Usage  llm.Usage `json:"usage"`
		Cost   Money     `json:"cost,omitempty"`
	}

	// Stopped says that the flow gave up on everything up to Re. It halts
	// the session unless somebody spoke after Re.
	Stopped struct {
		Turn   int    `json:"turn"`
		Re     int64  `json:"re"`
		Reason Reason `json:"reason"`
		Error  string `json:"error,omitempty"` // a sentence for people
	}

	// Ended says that the flow has done what was asked for up to Re, or has
	// failed to. It ends the session unless somebody spoke after Re.
	Ended struct {
		Turn   int    `json:"turn"`
		Re     int64  `json:"re"`
		Status Status `json:"status"` // Finished or Failed
		Reason Reason `json:"reason,omitempty"`
		Error  string `json:"error,omitempty"` // a sentence for people
		Text   string `json:"text,omitempty"`  // the answer; none: the last thing that the agent said
	}

	// Resumed lets a halted session go on. Limits that are not zero replace
	// those in force.
	Resumed struct {
		ID     string `json:"id"`
		Limits Limits `json:"limits"`
	}

	// Interrupted halts the session: every open call gets a result that
	// says so. Said keeps what had been shown of a reply on its way.
	Interrupted struct {
		ID   string `json:"id"`
		Said string `json:"said,omitempty"`
	}

	// Asked puts a call before a person: for a ruling, or with a question
	// of the tool's own.
	Asked struct {
		Call     string          `json:"call"`
		N        int             `json:"n"` // how many questions this call asked before
		Kind     AskKind         `json:"kind"`
		Question string          `json:"question"`
		Schema   json.RawMessage `json:"schema,omitempty"` // of the answer; none: any text
		Input    string          `json:"input,omitempty"`  // the arguments as they would run, if not the model's own
		Shown    string          `json:"shown,omitempty"`  // what will come of it, if the arguments alone do not say: a diff
		Hash     string          `json:"hash,omitempty"`   // of all that is shown: the call's name, arguments and Shown
		Hints    Hints           `json:"hints"`
	}

	// Answered is a person's answer to the n-th question of a call. The
	// call's tool runs again with it.
	Answered struct {
		Call string          `json:"call"`
		N    int             `json:"n"`
		Text string          `json:"text,omitempty"`
		Data json.RawMessage `json:"data,omitempty"` // if the question had a schema
		By   string          `json:"by,omitempty"`
	}

	// Ruled settles whether a call may run.
	Ruled struct {
		Call   string `json:"call"`
		Allow  bool   `json:"allow"`
		By     string `json:"by"`               // a person, or the gate
		Rule   string `json:"rule,omitempty"`   // which rule said so
		Reason string `json:"reason,omitempty"` // the model reads it if the call may not run
		Input  string `json:"input,omitempty"`  // the arguments to run with, if not the model's own; the model is told
		Hash   string `json:"hash,omitempty"`   // of what was ruled on
		Hints  Hints  `json:"hints"`            // as they were then; a person's ruling has those of the question
	}

	// CallStarted claims a call: written before it runs.
	CallStarted struct {
		Call    string `json:"call"`
		Attempt int    `json:"attempt"` // from 1
		Worker  string `json:"worker,omitempty"`
	}

	// CallDone is the result of a call.
	CallDone struct {
		Call    string          `json:"call"`
		Parts   llm.Parts       `json:"parts"`
		IsError bool            `json:"is_error,omitempty"`
		Detail  json.RawMessage `json:"detail,omitempty"` // for people and flows; the model does not see it
		Source  string          `json:"source,omitempty"` // where the content came from, if from outside
		Whole   Ref             `json:"whole,omitempty"`  // the whole output, if Parts have it cut
	}

	// CallLate is a result that came after its call had been given up.
	CallLate struct {
		Call  string    `json:"call"`
		Parts llm.Parts `json:"parts"`
	}

	// ChildOpened delegates to a session of its own, with a share of this
	// one's limits.
	ChildOpened struct {
		Call   string `json:"call,omitempty"` // on whose behalf
		Child  string `json:"child"`          // its session id
		Limits Limits `json:"limits"`
	}

	// ChildDone says that a child ended, and how.
	ChildDone struct {
		Call   string    `json:"call,omitempty"`
		Child  string    `json:"child"`
		Status Status    `json:"status"`
		Reason Reason    `json:"reason,omitempty"`
		Text   string    `json:"text"`
		Files  []string  `json:"files,omitempty"` // made or changed meanwhile, relative to its workspace
		Usage  llm.Usage `json:"usage"`
		Cost   Money     `json:"cost,omitempty"`
	}

	// Elided is a declared cut: results of calls give way to references. The
	// journal keeps what they were.
	Elided struct {
		N     int       `json:"n"` // how many came before
		Calls []Elision `json:"calls"`
	}

	// Compacted is a declared cut: what the model has seen and said, up to
	// the results of the calls of a reply, gives way to a summary. The
	// journal keeps what it was.
	Compacted struct {
		N       int       `json:"n"`                 // how many came before
		UpTo    int64     `json:"up_to"`             // the reply
		Keep    []int64   `json:"keep,omitempty"`    // of what people said until then, what stays word for word, before the summary
		Summary string    `json:"summary"`           // the whole message that takes the place
		Whole   Ref       `json:"whole,omitempty"`   // what was left out, as text
		Refused string    `json:"refused,omitempty"` // what the provider said, if it took the request for too large
		Usage   llm.Usage `json:"usage"`             // of writing the summary
		Cost    Money     `json:"cost,omitempty"`
		By      string    `json:"by,omitempty"` // the model that wrote it
	}

	// Taken says that another worker took over a session that was under
	// way: the time before it does not count.
	TakenOver struct {
		N      int    `json:"n"` // how often before
		Worker string `json:"worker"`
	}

	// Titled names a session for people. The last one counts.
	Titled struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}

	// Noted is a remark for people.
	Noted struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
)

// The provisional bodies: they have no key, are shown to those who watch, and
// are never stored.
type (
	// Typing is the next fragment of a reply on its way. To who joins in
	// the middle, the first one is all that was typed so far.
	Typing struct {
		Turn  int       `json:"turn"`
		Reset bool      `json:"reset,omitempty"` // what was shown of this turn is void
		Part  int       `json:"part"`            // index of the first of Parts in the reply
		Parts llm.Parts `json:"parts,omitempty"` // each continues the part at its index, or begins it
	}

	// Output is what a running call has just printed.
	Output struct {
		Call string `json:"call"`
		Text string `json:"text"`
	}
)

// CallsOf returns the calls that b makes: those of a reply, or that of a flow.
func CallsOf(b Body) []llm.Call {
	switch b := b.(type) {
	case ModelSaid:
		return b.Message.Calls()
	case Called:
		return []llm.Call{{ID: b.Call, Name: b.Name, Input: b.Input}}
	}
	return nil
}

// An Elision is what stands in place of a call's result.
type Elision struct {
	Call  string `json:"call"`
	Text  string `json:"text"`
	Whole Ref    `json:"whole,omitempty"` // the result's text
}

// Foreign is a body of a type that this version does not know. It is kept
// unharmed; a session that has one can be read and exported, not driven.
type Foreign struct {
	Type    string
	Stored  string // its key
	Content json.RawMessage
}

// An Origin says where a session was copied from.
type Origin struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"` // the last event that was copied
}

// An AskKind says what a person is asked for.
type AskKind string

const (
	AskRuling AskKind = "ruling" // may this call run?
	AskText   AskKind = "text"   // a question of the tool's own
)

// Key implements [Body].
func (Opened) Key() string        { return "open" }
func (b Configured) Key() string  { return fmt.Sprintf("config/%d", b.N) }
func (b UserSaid) Key() string    { return "user/" + b.ID }
func (b ModelSaid) Key() string   { return fmt.Sprintf("model/%d", b.Turn) }
func (b Called) Key() string      { return fmt.Sprintf("model/%d", b.Turn) }
func (b ModelFailed) Key() string { return fmt.Sprintf("model/%d", b.Turn) }
func (b Stopped) Key() string     { return fmt.Sprintf("model/%d", b.Turn) }
func (b Ended) Key() string       { return fmt.Sprintf("model/%d", b.Turn) }
func (b Resumed) Key() string     { return "resume/" + b.ID }
func (b Interrupted) Key() string { return "interrupt/" + b.ID }
func (b Asked) Key() string       { return fmt.Sprintf("ask/%s/%d", b.Call, b.N) }
func (b Answered) Key() string    { return fmt.Sprintf("answer/%s/%d", b.Call, b.N) }
func (b Ruled) Key() string       { return "rule/" + b.Call }
func (b CallStarted) Key() string { return fmt.Sprintf("start/%s/%d", b.Call, b.Attempt) }
func (b CallDone) Key() string    { return "done/" + b.Call }
func (b CallLate) Key() string    { return "late/" + b.Call }
func (b ChildOpened) Key() string { return "child/" + b.Child }
func (b ChildDone) Key() string   { return "childdone/" + b.Child }
func (b Elided) Key() string      { return fmt.Sprintf("elide/%d", b.N) }
func (b Compacted) Key() string   { return fmt.Sprintf("compact/%d", b.N) }
func (b TakenOver) Key() string   { return fmt.Sprintf("take/%d", b.N) }
func (b Titled) Key() string      { return "title/" + b.ID }
func (b Noted) Key() string       { return "note/" + b.ID }
func (Typing) Key() string        { return "" }
func (Output) Key() string        { return "" }
func (b Foreign) Key() string     { return b.Stored }

// A Status says how a session stands.
type Status string

// The statuses.
const (
	Idle     Status = "idle"     // nothing was asked of it yet
	Running  Status = "running"  // there is something to do
	Waiting  Status = "waiting"  // for a person
	Finished Status = "finished" // it said that it is done
	Failed   Status = "failed"   // it said that it could not, or the model did not reply
	Halted   Status = "stopped"  // by a limit or a person
)

// A Reason is one word for why a session stopped or failed.
type Reason string

// The reasons of stopped sessions. Those of failed ones are the [llm.Kind]s,
// and [ByAgent].
const (
	NoSteps   Reason = "steps"
	NoTokens  Reason = "tokens"
	NoMoney   Reason = "money"
	NoTime    Reason = "time"
	TooDeep   Reason = "depth"
	TooWide   Reason = "fan-out"
	Stuck     Reason = "stuck"
	ByPerson  Reason = "interrupted"
	ByAgent   Reason = "agent" // the agent said that it failed
	ByTooling Reason = "tool"  // the flow's own machinery failed
)
