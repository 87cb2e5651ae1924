package openmanus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

// A Tool is something that a model can use. Implementations are safe for
// concurrent use: many sessions may share a tool, and a tool that keeps anything
// for a session keys it by [Call].Session. If a tool is an [io.Closer], the
// program that made it closes it.
type Tool interface {
	// Spec describes the tool. The result does not change while the tool is in
	// use.
	Spec() ToolSpec

	// Run runs a call. The arguments are valid against the spec's schema,
	// and the gate has allowed the call. When ctx ends, Run returns promptly,
	// with the result so far. If it ended because the call was given up, and not
	// because this program ends, its cause is [ErrGivenUp].
	//
	// The model reads the parts of the result, then the text of the error,
	// and the session goes on; an error should say what to try. An error
	// that is an [Ask] puts a question to the user; Run is called again with
	// the answer. A panic becomes an error.
	Run(ctx context.Context, call Call) (Result, error)
}

// ErrGivenUp is the cause with which the context of a call ends whose result matters no
// more, such as after an interrupt.
var ErrGivenUp = errors.New("the call was given up")

// A ToolSpec describes a tool: the embedded spec to the model, the rest to gates
// and workers.
type ToolSpec struct {
	llm.ToolSpec
	Hints Hints `json:"hints"`

	// Arguments say what calls do with their arguments. An argument that
	// they do not name is plain content. Without any, nothing is declared:
	// then a gate guesses from the names and values of the arguments, and is
	// stricter.
	Arguments []Argument `json:"arguments,omitempty"`

	// From is where the tool is, if it is not in this program: its description
	// and its results come from there, and arguments go there. See [Source].
	From string `json:"from,omitempty"`

	// Sources say who wrote the texts in the description that are not this
	// program's, each with its Words.
	Sources []Source `json:"sources,omitempty"`

	// Says is what people read of the tool's calls. The first one that is about a call
	// counts. None: surfaces show the tool's name.
	Says []Saying `json:"says,omitempty"`

	// Deferred says that requests leave the spec out: the model finds it with
	// another tool and calls it through [UseTool], or by its name.
	Deferred bool `json:"deferred,omitempty"`
}

// A Saying says what calls of a tool are for, and in which words. The model never reads it.
// It is recorded with the tool, so that a session is shown alike when the tool is gone.
type Saying struct {
	// If is ARGUMENT=VALUE, or ARGUMENT=VALUE|VALUE: it is about calls with such an
	// argument. "": about all.
	If string `json:"if,omitempty"`

	Kind ToolKind `json:"kind,omitempty"`

	// Words are, by language ("en", "zh"), what a call is to do, is doing and did: "count,
	// counting, counted". {NAME} stands for an argument of the call, and {NAME+1} for a number
	// that people count from 1.
	Words map[string]string `json:"words,omitempty"`

	// On names the arguments that say what a call works on; the first that is given
	// counts. None: surfaces choose among the arguments by their names.
	On []string `json:"on,omitempty"`
}

// A ToolKind says what calls are for, to people: it decides on their icon and on where their
// work is shown. [Hints] say what calls may do. The zero value is none of these kinds.
type ToolKind string

// The kinds of tools.
const (
	ToolReads     ToolKind = "reads"    // a file, or a part of a result
	ToolFinds     ToolKind = "finds"    // files, or places in them
	ToolSearches  ToolKind = "searches" // the web
	ToolFetches   ToolKind = "fetches"  // a page, as a text
	ToolBrowses   ToolKind = "browses"  // in a browser
	ToolWrites    ToolKind = "writes"   // or changes files of text
	ToolDraws     ToolKind = "draws"    // documents and pictures
	ToolRuns      ToolKind = "runs"     // commands and programs
	ToolPlans     ToolKind = "plans"
	ToolDelegates ToolKind = "delegates"
	ToolAsks      ToolKind = "asks" // the person
	ToolEnds      ToolKind = "ends" // the work
	ToolUses      ToolKind = "uses" // another tool: see [UseTool]
)

// UseTool is the name of the tool by which models call tools that requests leave
// out. Its arguments are those of [Meant].
const UseTool = "use_tool"

// Meant returns the call that a call of [UseTool] stands for. Its arguments are
// {"name": …, "arguments": {…}}; arguments that stand beside the name, or are an
// object in a string, count as well. Any other call is returned unchanged, and so is
// one of UseTool whose arguments are something else.
func Meant(c llm.Call) llm.Call {
	var in map[string]json.RawMessage
	var name string
	if c.Name != UseTool || json.Unmarshal([]byte(c.Input), &in) != nil ||
		json.Unmarshal(in["name"], &name) != nil || name == "" || name == UseTool {
		return c
	}
	input, given := in["arguments"]
	if !given {
		delete(in, "name")
		input, _ = json.Marshal(in) // what was decoded encodes
	}
	if text := ""; json.Unmarshal(input, &text) == nil {
		input = json.RawMessage(text)
	}
	c.Name, c.Input = name, string(input)
	return c
}

// An Argument says what a tool does with one of the arguments of its calls, so
// that rules about commands, paths and hosts hold for every tool, whatever its
// name is and whatever it calls its arguments. [Hints] say how far a call with an
// effect goes: a ReadOnly call changes nothing.
type Argument struct {
	// Name is the argument's name among the properties of the schema. It may
	// stand twice, with two effects. If the argument is a list, its elements
	// are meant. "*" stands for every argument that no other entry names, and
	// "" for none: then Value alone counts.
	Name string `json:"name,omitempty"`

	Kind ArgumentKind `json:"kind,omitempty"`
	Does Effect       `json:"does,omitempty"`

	// Local means that the tool lets the user allow calls to request addresses of
	// this machine or of a private network, which are refused otherwise. It is a
	// [Scoper] whose scope has the HOST:PORT of each; [Call].Scope has what the user
	// allowed.
	Local bool `json:"local,omitempty"`

	// Value is what a call means that leaves the argument out, such as the
	// default name of a file.
	Value string `json:"value,omitempty"`
}

// An ArgumentKind says what an argument is. The zero value is unknown: it may
// be anything.
type ArgumentKind string

// The kinds of arguments.
const (
	// a script for a shell, or a list of words: a program and its arguments
	CommandArgument ArgumentKind = "command"
	CodeArgument    ArgumentKind = "code" // a program in another language
	// a file or directory, relative to the workspace or absolute, or a pattern of them
	PathArgument ArgumentKind = "path"
	URLArgument  ArgumentKind = "url"  // an address, with or without a scheme
	HostArgument ArgumentKind = "host" // a host's name or address
	BlobArgument ArgumentKind = "blob" // a [Ref] of a long result or of what a compaction replaced
	TextArgument ArgumentKind = "text" // content, in whatever form
)

// An Effect says what a call does with an argument, or with what it names. The
// zero value is unknown: it may be anything.
type Effect string

// The effects.
const (
	Reads    Effect = "reads"    // the call reads what the argument names
	Writes   Effect = "writes"   // it makes or changes it, and may read it
	Deletes  Effect = "deletes"  // it removes it
	Runs     Effect = "runs"     // it runs it
	Requests Effect = "requests" // it connects to it
	Sends    Effect = "sends"    // the argument, or the file that it names, leaves the machine
)

// Hints say what a call may do. The zero value claims nothing: the user is asked
// about such a call, it runs alone, and it is never run twice.
type Hints struct {
	ReadOnly bool `json:"read_only,omitempty"` // changes nothing; runs together with other such calls
	// running it twice is the same as once, so it is run again after a crash
	Idempotent  bool `json:"idempotent,omitempty"`
	Destructive bool `json:"destructive,omitempty"` // may destroy something that cannot be restored
	Edits       bool `json:"edits,omitempty"`       // changes files in the workspace and nothing else
	// changes nothing outside the session; the user is never asked
	Internal  bool `json:"internal,omitempty"`
	Sandboxed bool `json:"sandboxed,omitempty"` // does everything in a sandbox; the user is not asked
	Keep      bool `json:"keep,omitempty"`      // a compaction keeps its last result word for word
	Final     bool `json:"final,omitempty"`     // ends the session when it succeeds; see Ending
	// is done by a child session in place of Run; its arguments are a Delegation
	Delegates bool `json:"delegates,omitempty"`

	// what a call does depends on the calls before it, as on a page in a browser:
	// it is ruled on and runs only when these are done, even if it is ReadOnly.
	// [ToolSpec].Hints must say it; those of a single call do not count
	Ordered bool `json:"ordered,omitempty"`

	// Reach says how far the call goes beyond the sandbox in which the other calls
	// of its tool run. The user is asked about every call that has one
	Reach Reach `json:"reach,omitempty"`
}

// A Reach says how far a call goes beyond a sandbox. The zero value is not at all.
type Reach string

// The reaches.
const (
	ReachNetwork Reach = "network" // it stays inside, and connects to whatever this machine reaches
	ReachOutside Reach = "outside" // it has all rights of the user
)

// Where completes a sentence about something that runs: "outside the sandbox".
func (r Reach) Where() string {
	if r == ReachOutside {
		return "outside the sandbox"
	}
	return "with the network"
}

// Question is what the user is asked about a call of a tool.
func (r Reach) Question(tool string) string {
	q := "May " + tool + " run this " + r.Where() + "? It can then "
	if r == ReachOutside {
		return q + "read and change everything that you can."
	}
	return q + "connect to whatever this machine reaches."
}

// A CallHinter is a [Tool] whose calls differ in what they may do. Hints returns
// the hints of one call, whose arguments are valid; it is called before the gate,
// and must be quick.
type CallHinter interface{ Hints(call Call) Hints }

// An ArgumentHinter is a [Tool] whose calls differ in what they do with their
// arguments. ArgumentsOf replaces [ToolSpec].Arguments for one call. It is called
// like [CallHinter].Hints.
type ArgumentHinter interface{ ArgumentsOf(call Call) []Argument }

// A MemorySharer is a [Tool] whose memory is that of other tools, too: [Call].Last is the
// newest Detail of its own results and those of the tools that SharesLast names.
type MemorySharer interface{ SharesLast() []string }

// A Reacher is the [Tool] called [UseTool]. Reaches reports whether it calls a tool of that
// name, so that a model that calls the tool directly is understood. It does not wait.
type Reacher interface{ Reaches(name string) bool }

// A Previewer is a [Tool] that can show what a call would do, such as a diff.
// Preview is called before the user is asked whether the call may run, and again
// before it runs: if the preview has changed meanwhile, the call does not run.
// Preview changes nothing. "" means that the arguments say everything; an error
// means that the call would fail, and becomes its result.
type Previewer interface {
	Preview(ctx context.Context, call Call) (string, error)
}

// A Scoper is a [Tool] whose calls act within something about which the user can
// decide once for the whole session, such as a web site. Scope returns its name,
// as the user reads it and as [Grant] keeps it, or "" if a decision about this
// call can cover no other. Like Preview, it changes nothing, and is called before
// the user is asked and again before the call runs: if the scope is another one by
// then, a call that was allowed for its sake does not run.
type Scoper interface {
	Scope(ctx context.Context, call Call) (string, error)
}

// A Depicter is a [Previewer] that can also show a picture of what a call would act
// on. Depict is called after Preview, and once only: the picture may differ from
// one moment to the next without a difference in what the call does. It changes
// nothing but what is in view. It returns a
// JPEG or a PNG, or nil if there is none; whatever goes wrong, the question is
// put without a picture.
type Depicter interface {
	Depict(ctx context.Context, call Call) ([]byte, error)
}

// A SessionCloser is a [Tool] that keeps something for each session, such as a
// process. CloseSession releases it when the session is idle. It is no error if
// the tool keeps nothing for that session. A later call in the session starts
// afresh, and its result says so.
type SessionCloser interface{ CloseSession(session string) error }

// An Ending is the Detail of the result of a [Hints].Final tool.
type Ending struct {
	Status string `json:"status,omitempty"` // "failure"; anything else is success
	Answer string `json:"answer,omitempty"` // the answer; "": the last text of the agent
}

// A Call is a request to run a tool.
type Call struct {
	llm.Call          // Input is valid JSON that fits the schema
	Session  string   // the session that the call belongs to
	Answers  []Answer // to the questions that this call has asked, in order

	// Last is the Detail of this tool's last successful result in the
	// session. A tool that needs to remember something puts it there, where
	// it survives a crash. It is nil if there is none.
	Last json.RawMessage

	// Scope is that of the question that the user answered by allowing this call, or
	// in which calls are allowed for the session: see [Scoper]. Run alone is given
	// it. "": there was none, or the user changed the arguments.
	Scope string

	// Attempt is 1 when the call runs for the first time, and more when it runs again,
	// after a question or a crash. Run alone is given it; 0: it is not known.
	Attempt int

	Children []*ChildState    // the child sessions so far; not to be changed
	Tally    map[string]Tally // how the calls before ended, by tool; not to be changed

	// Provenance returns where the arguments came from. Only a gate is given it,
	// and it should call it only if the answer matters: it looks through all that
	// the session knows. Events record what it returned. nil: it is not known.
	Provenance func() *Provenance

	// Size is how much text the model reads of the result. A tool that can cut a long
	// text at a better place than the worker does so, and says how to go on. The zero
	// Size is that of a window of an unknown size: see [Call.ResultSize].
	Size ResultSize

	// Refs are the blobs that the model can name: see [FindRef].
	Refs []Ref

	Blobs Blobs     // for large values; never nil
	Live  io.Writer // what is written here is shown to people at once, and not stored; never nil
}

// ResultSize returns Size, or its default.
func (c Call) ResultSize() ResultSize {
	if c.Size == (ResultSize{}) {
		return Window{}.ResultSize()
	}
	return c.Size
}

// A Delegation has the arguments of a [Hints].Delegates tool. The result of such a
// call is the answer of the child session and a list of the files it changed.
type Delegation struct {
	Task    string `json:"task"`
	Agent   string `json:"agent,omitempty"`   // the flow of the child session; "": that of the parent
	Returns string `json:"returns,omitempty"` // what the answer should be

	// Only a [Delegator] sets these. Content is what the child reads before
	// Task, in place of a description of its surroundings: its first part is
	// this program's, and its sources label the others. Answer is the JSON
	// Schema of the child's answer.
	Content Result          `json:"-"`
	Answer  json.RawMessage `json:"-"`
}

// A Delegator is a [Hints].Delegates tool whose arguments are no [Delegation]: it
// makes one of them.
type Delegator interface {
	// Delegate is called when the gate has allowed the call, before the child
	// session is opened, and again if a crash came in between. It changes
	// nothing. An error is the result of the call.
	Delegate(ctx context.Context, call Call) (Delegation, error)
}

// An Answer is the answer of the user to an [Ask].
type Answer struct {
	Text string
	Data json.RawMessage // if the question had a schema
}

// A Result is the result of a call.
type Result struct {
	Parts  llm.Parts // for the model; a text longer than [Call].Size is cut
	Detail any       // for people and flows; encoded as JSON
	Source string    // where content from outside came from, such as a URL
	Failed bool      // what the call ran has failed, such as a command with another exit code than 0
	Waited bool      // the call itself waited for something: the same result again is no repetition without progress

	// Picture is a small picture, JPEG or PNG, of what the tool works on as it is
	// after the call, for people; the model sees the blobs in Parts.
	Picture []byte

	// Reading means that the text is a document, a page, a file, or a part of one
	// that was asked for. The model reads more of such a text, and what is too long
	// loses its end, and not its middle.
	Reading bool

	// Sources say who wrote the content, if the tool knows it better than its
	// spec, from which they follow otherwise: a tool with [ToolSpec].From has
	// that source, one that reads paths has those files, others have the
	// workspace, and Internal ones have none.
	Sources []Source
}

// TextResult returns a result with one text. Without further arguments, format is
// the text itself.
func TextResult(format string, a ...any) Result {
	text := format
	if len(a) > 0 {
		text = fmt.Sprintf(format, a...)
	}
	return Result{Parts: llm.Parts{llm.Text{Text: text}}}
}

// Ask is an error with which [Tool].Run asks the user a question. Nothing waits
// for the answer, which may arrive days later: Run is then called again, from the
// beginning, with the answer in [Call].Answers.
type Ask struct {
	Question string
	Schema   json.RawMessage // JSON Schema of the answer; none: any text
	// only whoever owns the machine may answer: in sessions of other users the call fails
	Owner bool
}

func (a *Ask) Error() string { return "asked the user: " + a.Question }

// Func returns a tool that decodes its arguments into an In and calls run. If spec
// has no schema, Func derives it from In: fields have the names in their json
// tags and the descriptions in their jsonschema tags, and are required unless
// they are omitempty. It panics if there is no schema for In, which is a
// programmer's mistake.
func Func[In any](spec ToolSpec, run func(context.Context, Call, In) (Result, error)) Tool {
	if spec.Input == nil {
		schema, err := args.For[In]()
		if err != nil {
			panic(fmt.Sprintf("openmanus.Func: tool %s: %v", spec.Name, err))
		}
		spec.Input = schema
	}
	return &funcTool[In]{spec, run}
}

type funcTool[In any] struct {
	spec ToolSpec
	run  func(context.Context, Call, In) (Result, error)
}

func (t *funcTool[In]) Spec() ToolSpec { return t.spec }

func (t *funcTool[In]) Run(ctx context.Context, call Call) (Result, error) {
	var in In
	if err := args.Decode(call.Input, &in); err != nil {
		return Result{}, fmt.Errorf("arguments: %w", err)
	}
	return t.run(ctx, call, in)
}

// Fingerprint returns the hash of a call: of the name of the tool and the
// arguments. It says what a ruling was about, and what a remembered decision
// covers.
func Fingerprint(tool, input string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(tool+"\x00"+input)))
}

// A Gate rules on calls before they run. Implementations are safe for concurrent
// use and return quickly: to have the user decide, they return a [Verdict] with
// Ask, and do not wait.
type Gate interface {
	// Rule rules on a call, whose arguments are valid. spec.Hints are those
	// of this call. An error is a fault of the program: it ends the run, and
	// the call is ruled on again when the session is woken.
	Rule(ctx context.Context, call Call, spec ToolSpec) (Verdict, error)
}

// ByGate is the By of a [Ruled] by a gate.
const ByGate = "gate"

// A Verdict is the ruling of a gate. The zero value denies the call.
type Verdict struct {
	Allow  bool
	Ask    bool   // let the user decide; Reason is the question
	Scoped bool   // the call is allowed within its scope; with Ask, a [Grant] of the session answers the question
	Rule   string // which rule decided; it is recorded
	// Only whoever owns the machine may allow the call, such as one outside of the sandbox:
	// sessions of other users are denied it, whatever else the verdict says.
	Owner  bool
	Reason string // for the model if the call is denied, for the user if Ask
}

// A Placer is a [Gate] that knows which files a call names. The runtime asks it when the
// call is ruled on and again when it is about to run: a call whose files became others
// meanwhile, because a link was put in their way, does not run.
type Placer interface {
	Gate
	// Places returns the files that a call names, as they are now. It is not known if the
	// gate does not look at names: then the runtime does not, either.
	Places(call Call, spec ToolSpec) (all []Place, known bool)
}

// PlacesOf returns what a gate knows of the files that a call names: nothing if it is no
// [Placer].
func PlacesOf(g Gate, call Call, spec ToolSpec) (all []Place, known bool) {
	if p, ok := g.(Placer); ok {
		return p.Places(call, spec)
	}
	return nil, false
}

// A Place is a file or directory that a call names.
type Place struct {
	Name    string // slash-separated, and relative to the workspace if it is in there
	Real    string // the same without symbolic links
	Changes bool   // the call may change it
}

// GateFunc is a [Gate] that is a function.
type GateFunc func(context.Context, Call, ToolSpec) (Verdict, error)

// Rule implements [Gate].
func (f GateFunc) Rule(ctx context.Context, c Call, s ToolSpec) (Verdict, error) { return f(ctx, c, s) }

// A Mode says which calls run without a question. It is the [Spec].Approve of a
// session, which a [ModeSet] changes at any time, and it is a gate with this one
// setting. All modes allow calls that are ReadOnly, Internal or Final. None allows a
// call that has a Reach: the user is asked, or in the modes that only look it is
// denied. The zero Mode is [ApproveAsk].
type Mode string

// The modes.
const (
	ApproveAsk   = "ask"   // ask about calls that change something outside a sandbox
	ApproveEdits = "edits" // allow edits of the workspace's files, ask about other changes
	ApproveAll   = "all"   // allow everything

	// ApproveReadOnly denies every call that changes something. Where there is a sandbox,
	// commands run in one in which they can change nothing.
	ApproveReadOnly = "readonly"

	// ApprovePlan is like ApproveReadOnly. The agent looks, and ends its turn with a plan:
	// see [State.Proposal].
	ApprovePlan = "plan"
)

// Modes are all modes, the strictest first. Both of the first two deny what changes
// something.
var Modes = []string{ApproveReadOnly, ApprovePlan, ApproveAsk, ApproveEdits, ApproveAll}

// AllowAll is a gate that allows every call.
var AllowAll Gate = Mode(ApproveAll)

// A ModalGate is a [Gate] that depends on the mode of the session. For other
// gates see [GateIn].
type ModalGate interface {
	Gate
	// In returns the gate for sessions in another mode.
	In(Mode) Gate
}

// GateIn returns the gate g for a session in the given mode. A gate that is no
// [ModalGate] decides on what the mode admits: in a mode that only looks, no call that
// changes something comes before it.
func GateIn(g Gate, m Mode) Gate {
	if g, ok := g.(ModalGate); ok {
		return g.In(m)
	}
	return within{g, m}
}

// A within is a gate that knows no modes, in one of them.
type within struct {
	Gate
	mode Mode
}

// Rule implements [Gate].
func (g within) Rule(ctx context.Context, c Call, spec ToolSpec) (Verdict, error) {
	if g.mode.LooksOnly() {
		if v, err := g.mode.Rule(ctx, c, spec); err != nil || !v.Allow {
			return v, err
		}
	}
	return g.Gate.Rule(ctx, c, spec)
}

// Places implements [Placer].
func (g within) Places(c Call, spec ToolSpec) ([]Place, bool) { return PlacesOf(g.Gate, c, spec) }

// In implements [ModalGate].
func (g within) In(m Mode) Gate { return within{g.Gate, m} }

// In implements [ModalGate].
func (m Mode) In(now Mode) Gate { return now }

// LooksOnly reports whether the mode denies every call that changes something.
func (m Mode) LooksOnly() bool { return m == ApproveReadOnly || m == ApprovePlan }

// Rule implements [Gate].
func (m Mode) Rule(_ context.Context, call Call, spec ToolSpec) (Verdict, error) {
	h := spec.Hints
	v := Verdict{Rule: "mode " + string(cmp.Or(m, ApproveAsk))}
	switch {
	case h.Reach != "" && !m.LooksOnly():
		v.Ask, v.Scoped, v.Owner, v.Reason = true, h.Reach == ReachNetwork, true, h.Reach.Question(call.Name)
	case h.ReadOnly || h.Internal || h.Final, m == ApproveAll, m == ApproveEdits && h.Edits:
		v.Allow = true
	case m == ApprovePlan:
		v.Reason = "this session is in plan mode: " + call.Name + " changes something, and nothing changes before " +
			"the person has approved a plan. Go on looking, or end your turn with the plan"
	case m == ApproveReadOnly:
		v.Reason = "this session is read-only: " + call.Name + " changes something"
	case h.Sandboxed:
		v.Allow, v.Rule = true, v.Rule+": in the sandbox"
	default:
		v.Ask, v.Scoped, v.Reason = true, true, "May "+call.Name+" run?"
	}
	return v, nil
}

// Stricter returns the one of two modes that allows less. A mode that is not among
// [Modes] counts as one that allows nothing, save for "", which gives way.
func Stricter(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	if slices.Index(Modes, b) < slices.Index(Modes, a) {
		return b
	}
	return a
}

// changes reports whether a call with these hints may change anything but its session.
func (h Hints) changes() bool { return !h.ReadOnly && !h.Internal && !h.Final && !h.Delegates }

// holdsBack reports whether the mode of the session keeps c from running, whatever was
// ruled. Only modes that the user chose do: what a gate of its own allows in a session
// that was begun as read-only, and never changed, stays allowed.
func (s *State) holdsBack(c *CallState) bool {
	m := Mode(s.Config.Approve)
	return m.LooksOnly() && c.Hints.changes() && (m == ApprovePlan || s.ModeSets > 0)
}

// heldBack is what the model reads of a call that holdsBack is about.
func (s *State) heldBack() string {
	return fmt.Sprintf("not run: the mode of the session is %s now, in which nothing is changed", s.Config.Approve)
}

// modeSet folds a change of the mode. Calls that were asked about or allowed before and
// have not started do not run in a mode that only looks. After plan mode no call goes
// on that was ruled on in it: its tool works without the walls now, within which it was
// harmless. The model makes it again if it still wants to.
func (s *State) modeSet(seq int64, e ModeSet) {
	if !slices.Contains(Modes, e.Mode) {
		return // of no version so far
	}
	was := s.Config.Approve
	s.Config.Approve = e.Mode
	s.ModeSets++
	for _, c := range s.Calls {
		judged := c.Ruled != nil || c.Ruling != nil
		switch {
		case c.Done != nil || !judged || c.Hints.Internal || c.Hints.Final || c.Hints.Delegates:
		case was == ApprovePlan && e.Mode != ApprovePlan:
			s.giveUp(c, "not run, or not to its end: plan mode is over; make the call again if it is still right")
		case s.holdsBack(c) && !c.Running:
			s.giveUp(c, s.heldBack())
		}
	}
	s.modeNote = e.Note
	if st := s.Status(); st == Running || st == Waiting {
		s.tellMode(seq)
	}
}

// tellMode has the model read what is to be said of the mode, with the event seq.
func (s *State) tellMode(seq int64) {
	if s.modeNote != "" {
		s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Say(llm.User, s.modeNote)})
		s.modeNote = ""
	}
}

// Proposal returns the plan that waits for the user's approval: that with which an
// agent has ended its turn in plan mode. It is the agent's last text, and what its
// tools keep of a plan, such as the planning tool, if they were used in this turn. ok is
// false if none waits.
func (s *State) Proposal() (text string, ok bool) {
	if s.Config.Approve != ApprovePlan || s.Outcome.Status != Finished {
		return "", false
	}
	parts := []string{strings.TrimSpace(s.Answer)}
	for _, name := range slices.Sorted(maps.Keys(s.kept)) {
		if s.last[name].seq > s.Since {
			parts = append(parts, strings.TrimSpace(s.kept[name]))
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, "\n\n"), len(parts) > 0
}
