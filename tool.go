package openmanus

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

// A Tool is something that a model can use. Implementations are safe for
// concurrent use; one that keeps something for a session keys it by
// [Call].Session. A tool that is an [io.Closer] is closed by who made it.
type Tool interface {
	// Spec describes the tool. It does not change while the tool is in use.
	Spec() ToolSpec

	// Run carries out a call whose arguments fit the spec's schema. It
	// returns when ctx ends, with what there is by then.
	//
	// An error is shown to the model, after the parts of the result, and
	// the run goes on; say what to try. An error that is an [Ask] puts a
	// question before a person: Run is called again with the answer.
	Run(ctx context.Context, call Call) (Result, error)
}

// A ToolSpec is what is known of a tool before it runs.
type ToolSpec struct {
	llm.ToolSpec
	Hints Hints `json:"hints"`

	// Arguments say what calls do with their arguments. An argument that they
	// do not name is plain content. If there are none, nothing is declared: a
	// gate then has to guess from the names and values of the arguments, and
	// trusts the call with less.
	Arguments []Argument `json:"arguments,omitempty"`
}

// An Argument says what a tool does with one of the arguments of its calls, so
// that rules about commands, paths and hosts hold for every tool, whatever its
// name is and whatever it calls its arguments. How far a call goes that
// declares an effect is up to its [Hints]: a ReadOnly call changes nothing.
type Argument struct {
	// Name is the argument's name among the properties of the schema. It may
	// stand twice, with two effects. If the argument is a list, its elements
	// are meant. "*" stands for every argument that no other entry names, and
	// "" for none: then Value alone counts.
	Name string `json:"name,omitempty"`

	Kind ArgumentKind `json:"kind,omitempty"`
	Does Effect       `json:"does,omitempty"`

	// Value is what a call means that leaves the argument out, such as the
	// default name of a file.
	Value string `json:"value,omitempty"`
}

// An ArgumentKind says what an argument is. The zero value is unknown: it may
// be anything.
type ArgumentKind string

// The kinds of arguments.
const (
	CommandArgument ArgumentKind = "command" // a script for a shell, or a list of words: a program and its arguments
	CodeArgument    ArgumentKind = "code"    // a program in another language
	PathArgument    ArgumentKind = "path"    // a file or directory, relative to the workspace or absolute, or a pattern of them
	URLArgument     ArgumentKind = "url"     // an address, with or without a scheme
	HostArgument    ArgumentKind = "host"    // a host's name or address
	TextArgument    ArgumentKind = "text"    // content, in whatever form
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

// Hints say what a call may do. The zero value claims nothing: such a call is
// asked about, runs alone, and is never run twice.
type Hints struct {
	ReadOnly    bool `json:"read_only,omitempty"`   // changes nothing
	Idempotent  bool `json:"idempotent,omitempty"`  // twice is the same as once
	Destructive bool `json:"destructive,omitempty"` // may destroy what cannot be brought back
	Edits       bool `json:"edits,omitempty"`       // changes files of the workspace, and nothing else
	Internal    bool `json:"internal,omitempty"`    // changes nothing but the session itself; never asked about
	Sandboxed   bool `json:"sandboxed,omitempty"`   // does all that it does in a sandbox; not asked about
	Keep        bool `json:"keep,omitempty"`        // its last result outlives a compaction word for word
	Final       bool `json:"final,omitempty"`       // ends the agent's work when it succeeds; see Ending
	Plan        bool `json:"plan,omitempty"`        // the Detail of its results is a plan of work, in the form of package tools
	Delegates   bool `json:"delegates,omitempty"`   // does not run: a session of its own does the work; its arguments are a Delegation
}

// A CallHinter is a [Tool] whose calls differ in what they may do: Hints returns
// those of one call, whose arguments fit the schema.
type CallHinter interface{ Hints(call Call) Hints }

// A Previewer is a [Tool] that can show what would come of a call, for the person
// who is asked whether it may run: a diff, say. Preview changes nothing. "" means
// that the arguments say it all; an error, that the call would fail, and why.
type Previewer interface {
	Preview(ctx context.Context, call Call) (string, error)
}

// A SessionCloser is a [Tool] that keeps something for a session, such as a
// process. CloseSession lets go of it while the session rests; a session that
// it keeps nothing for is no error. A later call of the session begins anew,
// and its result says so.
type SessionCloser interface{ CloseSession(session string) error }

// An Ending is the Detail of a [Hints].Final tool's result.
type Ending struct {
	Status string `json:"status,omitempty"` // "failure", or success
	Answer string `json:"answer,omitempty"` // none: the last thing the agent said
}

// A Call is a request to run a tool.
type Call struct {
	llm.Call          // Input is valid JSON that fits the schema
	Session  string   // whose call it is
	Answers  []Answer // to what this call asked so far, in order

	// Last is the Detail of this tool's last successful result in the
	// session: what a tool that remembers puts there survives a crash.
	Last json.RawMessage

	Children []*ChildState // the sessions that its session has opened so far; not to be changed

	Blobs Blobs     // for what is large; never nil
	Live  io.Writer // what is written here is shown to people now, and not kept; never nil
}

// A Delegation is what the arguments of a [Hints].Delegates tool say. The
// result of such a call is what the session says that was opened for it, and
// the files it made.
type Delegation struct {
	Task    string `json:"task"`
	Agent   string `json:"agent,omitempty"`   // the flow that does it; none: the one that asks
	Returns string `json:"returns,omitempty"` // what the answer is to be
}

// An Answer is what a person said to an [Ask].
type Answer struct {
	Text string
	Data json.RawMessage // if the question had a schema
}

// A Result is what came of a call.
type Result struct {
	Parts  llm.Parts // for the model; cut in the middle if too long
	Detail any       // for people and flows; encoded as JSON
	Source string    // where the content came from, if from outside, such as a URL
}

// TextResult returns a result of one text.
func TextResult(format string, a ...any) Result {
	text := format
	if len(a) > 0 {
		text = fmt.Sprintf(format, a...)
	}
	return Result{Parts: llm.Parts{llm.Text{Text: text}}}
}

// Ask is an error by which a tool's Run ends its attempt and puts a question
// before a person. It holds no goroutine while it waits. Run is called again,
// from the beginning, with the answer in [Call].Answers.
type Ask struct {
	Question string
	Schema   json.RawMessage // of the answer; none: any text
}

func (a *Ask) Error() string { return "asked a person: " + a.Question }

// Func returns a tool that decodes its arguments into an In. If spec has no
// schema, it is derived from In: fields by their json tags, required unless
// omitempty, described by their jsonschema tags. It panics if In has no
// schema, which is a programmer's mistake.
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
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return Result{}, fmt.Errorf("arguments: %w", err)
	}
	return t.run(ctx, call, in)
}

// Fingerprint is the hash of the name and the arguments of a call: of all that
// a person is shown of one that no [Previewer] shows.
func Fingerprint(tool, input string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(tool+"\x00"+input)))
}
