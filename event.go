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

// An Event is one fact about a session. Events do not change once they are
// stored.
type Event struct {
	Seq  int64     // the sequence number, from 1 without gaps; 0 if the event is provisional
	Time time.Time // when it was stored, in UTC to the microsecond
	Body Body
}

// A Body says what happened. The bodies below are all there are, and [BodyTypes] lists
// them; a body of a type that this version does not know is read as [Foreign].
type Body interface {
	// Key returns the idempotency key: it names the question that the body
	// answers. A journal has at most one event with a given key in a
	// session, and refuses the second. Provisional bodies have the key "".
	Key() string
}

// The bodies. Their JSON and their keys are the journal format, which
// docs/events.md describes. Fields named Turn, Re, Call, Child and N mean the
// same in all of them:
//
//   - Turn is how many outcomes the session had before. Each turn has one
//     outcome: a reply, a failure, a call of the flow, or the end.
//   - Re is the last event that was taken into account. Messages with a higher sequence number arrived meanwhile, and are read in the next turn.
//   - Call is the id of a call, and Child that of a child session.
//   - N is how many bodies of the same kind came before.
//
// All else is the same for every type, and follows from the fields. A field of the type
// [Ref], or a list of them, names blobs that belong to the session: those with the tag
// blob:"files" are content of the workspace, and all others what a model can read. Texts
// with the tag search:"yes" are found by searches. Secrets are replaced in all fields.
type (
	// Opened is the first event of a session, and of no later one.
	Opened struct {
		Flow    string  `json:"flow"`             // the name of the flow: see [Spec.Name]
		Parent  string  `json:"parent,omitempty"` // the session that delegated to this one
		Owner   string  `json:"owner,omitempty"`  // the user of a server who owns the session
		Depth   int     `json:"depth,omitempty"`  // how many ancestors the session has
		From    *Origin `json:"from,omitempty"`   // where it was forked or imported from
		Version int     `json:"version"`          // the [FormatVersion] of the program that opened it
	}

	// Configured is the configuration from here on: the spec of the session,
	// and what requests are built from. The first one is stored together
	// with Opened; another one declares a change.
	Configured struct {
		N int `json:"n"`
		Spec
		System   string       `json:"system,omitempty"`
		Tools    []ToolSpec   `json:"tools,omitempty"`
		Settings llm.Settings `json:"settings"`
		Prices   Prices       `json:"prices"`
		Window   Window       `json:"window,omitzero"`
		// the sandbox that is in use, such as "bubblewrap" or "none"; "": not recorded
		Sandbox string `json:"sandbox,omitempty"`
		// a reply without calls does not end the session; the flow returns an [End]
		FlowEnds bool `json:"flow_ends,omitempty"`
		// a reply in words that is no answer by the schema is asked for again: see [ModelSaid].Unfit
		Form bool `json:"form,omitempty"`
		// who wrote what in System is not this program's, with the Words
		Sources []Source `json:"sources,omitempty"`
		// the workspace until here, of which this one is a copy; the model reads of it
		CopyOf string `json:"copy_of,omitempty"`
	}

	// UserSaid is a message of the user. The sender chooses the ID, so that
	// a message that is sent twice is stored once.
	UserSaid struct {
		ID      string      `json:"id"`
		Message llm.Message `json:"message" search:"yes"`
		// precedes Message for the model, and is not shown to people: date, system, files
		Note llm.Parts `json:"note,omitempty"`
		// who wrote Message, if it was not the user, such as a session that delegates
		Sources []Source `json:"sources,omitempty"`
		// who wrote all parts of Note but the first; none: AGENTS.md of the workspace
		NoteSources []Source `json:"note_sources,omitempty"`
		// the texts of which Message has only the beginning and the end
		Whole []Ref `json:"whole,omitempty"`
		// the traceparent of the request that brought it, as W3C's Trace Context has it
		Trace string `json:"trace,omitempty"`
	}

	// ModelSaid is a reply to everything up to Re.
	ModelSaid struct {
		Turn    int         `json:"turn"`
		Re      int64       `json:"re"`
		Stop    llm.Stop    `json:"stop"`
		Message llm.Message `json:"message" search:"yes"`
		Usage   llm.Usage   `json:"usage"`
		Cost    Money       `json:"cost,omitempty"` // 0, unless Free: not known
		Free    bool        `json:"free,omitempty"` // the model costs nothing
		By      string      `json:"by,omitempty"`   // the model, PROVIDER/NAME
		Aside   []ModelUse  `json:"aside,omitempty"`
		Sent    llm.Sent    `json:"sent,omitzero"` // the request
		// why the words, which are to be the answer, do not fit its schema; the first such reply
		// to a message of the user does not end the session
		Unfit string `json:"unfit,omitempty"`
		// the calls, by their ids, of tools that the session has not and that [UseTool] reaches
		// under these names: they are calls of it
		Reached []string `json:"reached,omitempty"`
	}

	// Called is a call that the flow makes itself, without asking the model.
	// From here on it is like a call in a reply: the gate rules on it, a
	// worker runs it, and the model reads it together with its result. It
	// does not count as a step and uses no tokens.
	Called struct {
		Turn  int    `json:"turn"`
		Re    int64  `json:"re"`
		Call  string `json:"call"`
		Name  string `json:"name"`  // the tool
		Input string `json:"input"` // its arguments, as JSON
	}

	// ModelFailed says that the model did not reply. It ends the session as
	// failed, unless a message arrived after Re.
	ModelFailed struct {
		Turn   int        `json:"turn"`
		Re     int64      `json:"re"`
		Kind   llm.Kind   `json:"kind"`
		Status int        `json:"status,omitempty"` // the status of the HTTP response
		Error  string     `json:"error"`
		Usage  llm.Usage  `json:"usage"`
		Cost   Money      `json:"cost,omitempty"`
		Free   bool       `json:"free,omitempty"`
		By     string     `json:"by,omitempty"`
		Aside  []ModelUse `json:"aside,omitempty"`
		Sent   llm.Sent   `json:"sent,omitzero"` // the last request; none: nothing was sent
	}

	// Stopped says that the session reached a limit. It stops the session,
	// unless a message arrived after Re.
	Stopped struct {
		Turn   int    `json:"turn"`
		Re     int64  `json:"re"`
		Reason Reason `json:"reason"`
		Error  string `json:"error,omitempty"` // a sentence for people
	}

	// Ended says that the flow has finished its work, or has failed. It ends
	// the session, unless a message arrived after Re.
	Ended struct {
		Turn   int    `json:"turn"`
		Re     int64  `json:"re"`
		Status Status `json:"status"` // Finished or Failed
		Reason Reason `json:"reason,omitempty"`
		Error  string `json:"error,omitempty"` // a sentence for people
		Text   string `json:"text,omitempty"`  // the answer; "": the last text of the agent
	}

	// Resumed lets a session go on that has stopped or failed. Limits that
	// are not zero replace those in force.
	Resumed struct {
		ID     string `json:"id"`
		Limits Limits `json:"limits"`
	}

	// Interrupted stops the session: every open call gets a result that says
	// so. Said keeps the text of an unfinished reply that people have seen.
	Interrupted struct {
		ID   string `json:"id"`
		Said string `json:"said,omitempty"`
	}

	// Asked asks the user: whether a call may run, or a question that the
	// tool of the call has.
	Asked struct {
		Call     string          `json:"call"`
		N        int             `json:"n"` // how many questions this call has asked before
		Kind     AskKind         `json:"kind"`
		Question string          `json:"question"`
		Schema   json.RawMessage `json:"schema,omitempty"` // JSON Schema of the answer; none: any text
		// the arguments that would be used, if they differ from the model's
		Input     string `json:"input,omitempty"`
		ChangedBy string `json:"changed_by,omitempty"` // the hook that changed them, if one did
		// the preview, such as a diff, if the tool is a [Previewer]
		Shown string `json:"shown,omitempty"`
		// a picture of what the call acts on, if the tool is a [Depicter]
		Picture Ref `json:"picture,omitempty"`
		// of everything that is shown but the picture: the tool's name, the arguments and Shown
		Hash  string `json:"hash,omitempty"`
		Hints Hints  `json:"hints"`
		Rule  string `json:"rule,omitempty"` // which rule of the gate asks
		// where the arguments came from
		Sources []ArgumentSource `json:"sources,omitempty"`
		// names of files that the arguments have, and where symbolic links led from them: see [Placer]
		Leads map[string]string `json:"leads,omitempty"`
		// of a question about a ruling: what the user can allow for the whole
		// session, if the tool is a [Scoper] and the gate lets them
		Scope string `json:"scope,omitempty"`
	}

	// Answered is the user's answer to the question N of a call. The tool
	// runs again, with the answer in [Call].Answers.
	Answered struct {
		Call string          `json:"call"`
		N    int             `json:"n"`
		Text string          `json:"text,omitempty" search:"yes"`
		Data json.RawMessage `json:"data,omitempty"` // if the question had a schema
		By   string          `json:"by,omitempty"`
		// the id of the message by which a client answered, if it had one
		Message string `json:"message,omitempty"`
	}

	// Ruled is the ruling on a call: whether it may run.
	Ruled struct {
		Call   string `json:"call"`
		Allow  bool   `json:"allow"`
		By     string `json:"by"`                            // [ByGate], or a person
		Rule   string `json:"rule,omitempty"`                // which rule of the gate decided
		Reason string `json:"reason,omitempty" search:"yes"` // what the model reads if the call is denied
		// the arguments to run with, if they differ from the model's; the model reads a note
		Input     string `json:"input,omitempty"`
		ChangedBy string `json:"changed_by,omitempty"` // the hook that changed them, if one did
		// the call was allowed within this scope, see [Scoper]; if it is that of
		// the question, the user allows later calls in it too: see [Grant]
		Scope string `json:"scope,omitempty"`
		Hash  string `json:"hash,omitempty"` // of what was ruled on: see [Fingerprint]
		Hints Hints  `json:"hints"`          // those that were ruled on
		// where the arguments came from, if the gate ruled
		Sources []ArgumentSource `json:"sources,omitempty"`
		// names of files that the arguments have, and where symbolic links led from them, if the gate ruled
		Leads map[string]string `json:"leads,omitempty"`
		// the id of the message by which a client decided, if it had one
		Message string `json:"message,omitempty"`
	}

	// CallStarted is stored before a call runs: the worker claims the call.
	CallStarted struct {
		Call    string `json:"call"`
		Attempt int    `json:"attempt"` // from 1
		Worker  string `json:"worker,omitempty"`
	}

	// CallDone is the result of a call.
	CallDone struct {
		Call    string    `json:"call"`
		Parts   llm.Parts `json:"parts"`
		IsError bool      `json:"is_error,omitempty"`
		Failed  bool      `json:"failed,omitempty"` // it ran something that failed, such as a command
		Waited  bool      `json:"waited,omitempty"` // it waited for something, such as with sleep
		// the call did not end: Parts are what it had printed until it was interrupted
		Partial bool            `json:"partial,omitempty"`
		Detail  json.RawMessage `json:"detail,omitempty"` // for people and flows; the model does not read it
		Source  string          `json:"source,omitempty"` // a URL or the like, if the content came from outside
		// the whole text, if Parts have only its beginning and end
		Whole Ref `json:"whole,omitempty"`
		// a small picture of what the tool works on, for people: see [Result]
		Picture Ref `json:"picture,omitempty"`
		// what the call created, changed or deleted in the workspace: MaxFileChanges at most
		Files []FileChange `json:"files,omitempty"`
		// what changed there while the call ran and others that may have done it
		Meanwhile []FileChange `json:"meanwhile,omitempty"`
		// who wrote what is in Parts and Whole; none: this program
		Sources []Source `json:"sources,omitempty"`
		// the contents of files that the session has seen by this call, or wrote itself
		Seen []SeenFile `json:"seen,omitempty"`
		// the files that the call wrote, if the arguments that its tool declares do
		// not name them; relative to the workspace or absolute
		Wrote []string `json:"wrote,omitempty"`
	}

	// CallLate is the result of a call that had got another one before, such
	// as "interrupted". The model reads it as a note.
	CallLate struct {
		Call    string    `json:"call"`
		Parts   llm.Parts `json:"parts"`
		Sources []Source  `json:"sources,omitempty"` // see [CallDone]
	}

	// ChildOpened announces a child session, with a share of the limits of
	// this one. The child itself is opened after that.
	ChildOpened struct {
		Call   string `json:"call,omitempty"`  // the call that delegates; "": the flow does
		Child  string `json:"child"`           // see [ChildID]
		Label  string `json:"label,omitempty"` // what the model reads in its place, such as "step 2"
		Limits Limits `json:"limits"`
	}

	// ChildDone reports on a child session that has ended. It is the result of
	// the call that delegated, or else a note for the model.
	ChildDone struct {
		Call   string `json:"call,omitempty"`
		Child  string `json:"child"`
		Status Status `json:"status"`
		Reason Reason `json:"reason,omitempty"`
		Text   string `json:"text"`
		// what its calls created or changed, relative to its workspace
		Files []string `json:"files,omitempty"`
		// what changed there besides, while its calls ran
		Meanwhile []string  `json:"meanwhile,omitempty"`
		Usage     llm.Usage `json:"usage"`
		Cost      Money     `json:"cost,omitempty"`
		Free      bool      `json:"free,omitempty"` // with a Cost of 0: that is known
		// tokens of Usage whose price is not known, so that Cost is a lower bound
		Unpriced int `json:"unpriced_tokens,omitempty"`
		// who wrote Text: the child, and what it had read that is not trusted
		Sources []Source `json:"sources,omitempty"`
	}

	// Elided replaces results of calls by references in what the model reads
	// from here on. The journal keeps the results.
	Elided struct {
		N     int       `json:"n"`
		Calls []Elision `json:"calls"`
		// the error of the provider, if it refused the request as too large
		Refused string     `json:"refused,omitempty"`
		Aside   []ModelUse `json:"aside,omitempty"` // what that request has used
	}

	// Compacted replaces the conversation up to a reply, and the results of
	// the calls of that reply, by a summary in what the model reads from here
	// on. The journal keeps the conversation.
	Compacted struct {
		N    int   `json:"n"`
		UpTo int64 `json:"up_to"` // the reply
		// the messages of the user until then that stay, before the summary
		Keep    []int64 `json:"keep,omitempty"`
		Summary string  `json:"summary"`         // the message that replaces the rest
		Whole   Ref     `json:"whole,omitempty"` // what was replaced, as text
		// the error of the provider, if it refused the request as too large
		Refused string     `json:"refused,omitempty"`
		Usage   llm.Usage  `json:"usage"` // of the summary
		Cost    Money      `json:"cost,omitempty"`
		Free    bool       `json:"free,omitempty"`
		By      string     `json:"by,omitempty"` // the model that wrote it
		Aside   []ModelUse `json:"aside,omitempty"`
		Sent    llm.Sent   `json:"sent,omitzero"`  // the request for the summary
		Step    bool       `json:"step,omitempty"` // it counts as a step, as those do not that were recorded first
	}

	// Softened changes what the model reads from here on, because the provider
	// refused a request for what is in it: words take the place of pictures and files,
	// with Thoughts the reasoning and what belongs to it is left out, and with Plain
	// calls and results are text. It concerns what the model has not replied to.
	// The journal keeps all of it, and if the next request fails as well, so does
	// the conversation.
	Softened struct {
		N        int        `json:"n"`
		Thoughts bool       `json:"thoughts,omitempty"`
		Plain    bool       `json:"plain,omitempty"`
		Refused  string     `json:"refused"` // the error of the provider
		Aside    []ModelUse `json:"aside,omitempty"`
		Sent     llm.Sent   `json:"sent,omitzero"` // the request that was refused
	}

	// Taken says that another worker took over a session that was under
	// way: the time before it does not count.
	TakenOver struct {
		N      int    `json:"n"`
		Worker string `json:"worker"`
	}

	// Snapped says what the workspace contained. Before and Tree name trees: package
	// snapshot reads them as a Tree's text. With Call, what differs between them
	// changed while that call ran; without, others changed it since the snapshot
	// before, or nothing was known before.
	Snapped struct {
		ID     string `json:"id"`               // see [AfterCall] and [BeforeCall]; or another one
		Call   string `json:"call,omitempty"`   // the call that ran between Before and Tree
		Before string `json:"before,omitempty"` // "": this is the first snapshot of the session
		Tree   string `json:"tree,omitempty"`   // "": the workspace is not followed, as Error says
		// the blobs that Tree needs and no earlier event of the session names
		Packs []Ref `json:"packs,omitempty" blob:"files"`
		// of a call that names the files that it changes: them; what else differs is others' doing
		Names []string `json:"names,omitempty"`
		// the other sessions of which calls that may change files ran at the same time
		With []string `json:"with,omitempty"`
		// the call was running when its process ended, so that others may have
		// changed files until somebody looked again
		Broken bool `json:"broken,omitempty"`
		// the ID of the [Rewound] that made Tree of Before
		Rewound string `json:"rewound,omitempty"`
		Kept    []Left `json:"kept,omitempty"`     // what that could not put back after all
		LeftOut int    `json:"left_out,omitempty"` // how many files of Tree have no content in it
		Left    []Left `json:"left,omitempty"`     // the first of them
		Error   string `json:"error,omitempty"`    // why the workspace is not followed
	}

	// Rewound takes the session back: what its calls, and those of its children,
	// changed after the event To is undone. It is stored before a file is touched,
	// and a [Snapped] with its ID in Rewound says that all of it was done.
	Rewound struct {
		ID    string `json:"id"`              // chosen by whoever goes back
		To    int64  `json:"to"`              // the last event that still stands
		Files bool   `json:"files,omitempty"` // files are put back
		Talk  bool   `json:"talk,omitempty"`  // what was said after To leaves the conversation
		// the ID of the Rewound that this one takes back: To is the event before that
		Redo   string `json:"redo,omitempty"`
		By     string `json:"by,omitempty"`                 // who did it
		Before string `json:"before,omitempty"`             // what the workspace contained
		Packs  []Ref  `json:"packs,omitempty" blob:"files"` // that Before needs: see [Snapped]
		// what is put back, as changes from Before
		Changes []FileChange `json:"changes,omitempty"`
		Kept    []Left       `json:"kept,omitempty"` // what calls changed and the rewind leaves alone, and why
	}

	// ModeSet gives the session another mode, from here on: see [Mode]. The user
	// does so, at any time.
	ModeSet struct {
		ID   string `json:"id"`   // chosen by the sender, like that of [UserSaid]
		Mode string `json:"mode"` // one of [Modes]
		By   string `json:"by,omitempty"`
		// what the model reads of it before its next reply; "": nothing
		Note string `json:"note,omitempty"`
	}

	// Titled gives the session a title. The last one counts.
	Titled struct {
		ID    string `json:"id"`
		Title string `json:"title" search:"yes"`
	}

	// Noted is a remark for people. The model does not read it.
	Noted struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
)

// A SeenFile is a content of a file that a session knows: the model was shown it, or a
// part of it, or a call has written it. The session may replace a file of which it has seen
// all lines.
type SeenFile struct {
	Path  string `json:"path"`            // slash-separated, relative to the workspace
	Sum   string `json:"sum"`             // the SHA-256 of the content, in hexadecimal digits
	Lines string `json:"lines,omitempty"` // the lines that were shown, such as 1-100/300; "": all
}

// The provisional bodies. Subscribers see them; journals do not store them.
type (
	// Typing is a delta: the next piece of a reply that streams. The first one
	// that a subscriber receives has everything that has streamed so far.
	Typing struct {
		Turn  int       `json:"turn"`
		Reset bool      `json:"reset,omitempty"` // discard what was shown of this turn
		Part  int       `json:"part"`            // the index in the reply of the first of Parts
		Parts llm.Parts `json:"parts,omitempty"` // each continues the part at its index, or starts it
		Read  int       `json:"read,omitempty"`  // how much of the request the model has read, in per cent, before it writes; 0: unknown
	}

	// Output is text that a running call has just printed. The first one that a
	// subscriber receives has the end of what it printed before.
	Output struct {
		Call string `json:"call"`
		At   int64  `json:"at,omitempty"` // how many bytes this run of the call printed before Text
		Text string `json:"text"`
	}

	// Reading says that a call waits until the workspace has been read, without which
	// one could not go back. It comes a few times in a second while that takes long.
	Reading struct {
		Call  string `json:"call"`
		Files int    `json:"files"` // that were read so far; 0: it is over
	}
)

// A BodyType is what there is to know of a type of body beside its fields and its key.
// Journals, replay, stores, searches and tests treat all bodies alike by it.
type BodyType struct {
	Name   string // in JSON
	Zero   Body   // a body of the type
	Person bool   // a person does it, rather than what drives the session: see [DoneByPerson]
	Quiet  bool   // neither a person nor a driver has to act on it
}

// BodyTypes returns every type of the format, in an order in which a session may have
// them. The provisional ones, which have no key, come last.
func BodyTypes() []BodyType {
	return []BodyType{
		{Name: "opened", Zero: Opened{}, Person: true, Quiet: true},
		{Name: "configured", Zero: Configured{}, Person: true, Quiet: true},
		{Name: "user_said", Zero: UserSaid{}, Person: true},
		{Name: "model_said", Zero: ModelSaid{}},
		{Name: "called", Zero: Called{}},
		{Name: "model_failed", Zero: ModelFailed{}},
		{Name: "stopped", Zero: Stopped{}},
		{Name: "ended", Zero: Ended{}},
		{Name: "resumed", Zero: Resumed{}, Person: true},
		{Name: "interrupted", Zero: Interrupted{}, Person: true},
		{Name: "asked", Zero: Asked{}},
		{Name: "answered", Zero: Answered{}, Person: true},
		{Name: "ruled", Zero: Ruled{}},
		{Name: "call_started", Zero: CallStarted{}},
		{Name: "call_done", Zero: CallDone{}},
		{Name: "call_late", Zero: CallLate{}},
		{Name: "child_opened", Zero: ChildOpened{}},
		{Name: "child_done", Zero: ChildDone{}},
		{Name: "elided", Zero: Elided{}},
		{Name: "compacted", Zero: Compacted{}},
		{Name: "softened", Zero: Softened{}},
		{Name: "taken", Zero: TakenOver{}},
		{Name: "snapped", Zero: Snapped{}},
		{Name: "rewound", Zero: Rewound{}, Person: true},
		{Name: "mode_set", Zero: ModeSet{}, Person: true, Quiet: true},
		{Name: "titled", Zero: Titled{}, Quiet: true},
		{Name: "noted", Zero: Noted{}, Quiet: true},
		{Name: "typing", Zero: Typing{}},
		{Name: "output", Zero: Output{}},
		{Name: "reading", Zero: Reading{}},
	}
}

// DoneByPerson reports whether b is a person's doing, rather than that of what drives the
// session.
func DoneByPerson(b Body) bool {
	if r, ok := b.(Ruled); ok {
		return r.By != ByGate
	}
	return TypeOf(b).Person
}

// Rest returns what of o is new to a reader that has the first end bytes that the
// call printed, and how many it has then. A reader that connects again, or that is
// slow, may receive text twice. It does not receive text that is no longer kept.
func (o Output) Rest(end int64) (Output, int64) {
	old := min(max(end-o.At, 0), int64(len(o.Text)))
	o.At, o.Text = o.At+old, o.Text[old:]
	return o, max(end, o.At+int64(len(o.Text)))
}

// A ModelUse is what one model used for a request. In an event, Aside are those of other
// models and of attempts in vain: see [llm.Aside]. The event's own fields do not
// include them.
type ModelUse struct {
	By    string    `json:"by,omitempty"` // the model, PROVIDER/NAME
	Usage llm.Usage `json:"usage"`
	Cost  Money     `json:"cost,omitempty"` // 0, unless Free: not known
	Free  bool      `json:"free,omitempty"`
}

// Unpriced returns how many tokens of u have no known price.
func (u ModelUse) Unpriced() int {
	if u.Cost == 0 && !u.Free {
		return u.Usage.Total()
	}
	return 0
}

// ModelUses returns what models used for b, which is empty for most bodies. Child
// sessions record their usage in their own events. By is "" where the journal
// does not name the model: then it is the configured one.
func ModelUses(b Body) []ModelUse {
	var own ModelUse
	var aside []ModelUse
	switch b := b.(type) {
	case ModelSaid:
		own, aside = ModelUse{b.By, b.Usage, b.Cost, b.Free}, b.Aside
	case ModelFailed:
		own, aside = ModelUse{b.By, b.Usage, b.Cost, b.Free}, b.Aside
	case Softened:
		aside = b.Aside
	case Elided:
		aside = b.Aside
	case Compacted:
		own, aside = ModelUse{b.By, b.Usage, b.Cost, b.Free}, b.Aside
	}
	if own.Usage != (llm.Usage{}) || own.Cost != 0 {
		aside = append([]ModelUse{own}, aside...)
	}
	return aside
}

// A FileChange is a file that a call created, changed or deleted.
type FileChange struct {
	Path   string `json:"path"`   // relative to the workspace, with slashes
	Change string `json:"change"` // [FileCreated], [FileModified] or [FileDeleted]
}

// A Left is a file that something was not done with, and why.
type Left struct {
	Name string `json:"name"` // relative to the workspace, with slashes
	Why  string `json:"why"`
}

// The changes of files.
const (
	FileCreated  = "created"
	FileModified = "modified"
	FileDeleted  = "deleted"
)

// MaxFileChanges is how many files a [CallDone] names as changed by the call, and as
// changed meanwhile.
const MaxFileChanges = 100

// TurnOf returns the turn of which b is the outcome; ok is false for other bodies.
func TurnOf(b Body) (turn int, ok bool) {
	switch b := b.(type) {
	case ModelSaid:
		return b.Turn, true
	case Called:
		return b.Turn, true
	case ModelFailed:
		return b.Turn, true
	case Stopped:
		return b.Turn, true
	case Ended:
		return b.Turn, true
	}
	return 0, false
}

// CallsOf returns the calls that b makes: those of a reply, or that of a flow. A
// call through [UseTool] is the one that it stands for.
func CallsOf(b Body) []llm.Call {
	switch b := b.(type) {
	case ModelSaid:
		calls := b.Message.Calls()
		for i, c := range calls {
			calls[i] = Meant(c)
		}
		return calls
	case Called:
		return []llm.Call{{ID: b.Call, Name: b.Name, Input: b.Input}}
	}
	return nil
}

// An Elision replaces the result of one call, or its arguments.
type Elision struct {
	Call  string `json:"call"`
	Text  string `json:"text"`
	Whole Ref    `json:"whole,omitempty"` // the result's text, or the arguments
	Input bool   `json:"input,omitempty"` // Text replaces the arguments, and is a JSON object
}

// Foreign is a body of a type that this version does not know: a later version
// wrote it. Journals keep it unchanged. A session that has one can be read,
// listed, exported and imported, but not driven, since no one knows what the event
// means.
type Foreign struct {
	Type    string
	Stored  string // the key
	Content json.RawMessage
}

// An Origin says which session a session was copied from.
type Origin struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"` // the last event that was copied
	// it was imported: whoever made the file wrote what it says that the user said
	Foreign bool `json:"foreign,omitempty"`
}

// An AskKind says what the user is asked for.
type AskKind string

const (
	AskRuling AskKind = "ruling" // may this call run?
	AskText   AskKind = "text"   // a question that the tool has
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
func (b Softened) Key() string    { return fmt.Sprintf("soften/%d", b.N) }
func (b TakenOver) Key() string   { return fmt.Sprintf("take/%d", b.N) }
func (b Snapped) Key() string     { return "snap/" + b.ID }
func (b Rewound) Key() string     { return "rewind/" + b.ID }
func (b ModeSet) Key() string     { return "mode/" + b.ID }
func (b Titled) Key() string      { return "title/" + b.ID }
func (b Noted) Key() string       { return "note/" + b.ID }
func (Typing) Key() string        { return "" }
func (Output) Key() string        { return "" }
func (Reading) Key() string       { return "" }
func (b Foreign) Key() string     { return b.Stored }

// A Status says how a session stands. It is a function of the state: see
// [State.Status]. The words are those that the command line, the HTTP API and the
// journal use.
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

// A Reason is one word for why a session stopped or failed. Surfaces show it, and
// programs may compare it; the sentence for people is in [Outcome].Error.
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
	ByHook    Reason = "hook"  // a program of the person's refused a request
	ByAgent   Reason = "agent" // the agent said that it failed
	ByTooling Reason = "tool"  // the flow's own machinery failed
)
