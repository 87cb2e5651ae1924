// Package surface is what a surface needs of sessions, wherever they are: a [Source].
// Package host/local has that of this process and its store, internal/tui that of a server.
package surface

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
)

// A Source is where sessions are: this process and its store, or a server. It is safe
// for concurrent use. Errors are for people.
type Source interface {
	// Name says where the sessions are, in a few words: a directory, or a server.
	Name() string

	// Start opens a session with a message, and works on it.
	Start(ctx context.Context, m Message) (id string, err error)

	// Say appends a message to a session, and works on it. If m.ID was used in the
	// session before, nothing happens.
	Say(ctx context.Context, id string, m Message) error

	// Interrupt stops what the session does. said is the part of the reply that
	// streamed until then.
	Interrupt(ctx context.Context, id, said string) error

	// Continue goes on with a session that failed, was stopped, or was broken off.
	Continue(ctx context.Context, id string) error

	// Decide answers a question.
	Decide(ctx context.Context, d Decision) error

	// Choices says which answers there are to the question of a call.
	Choices(ctx context.Context, session, call string) (Choices, error)

	// Session describes a session. Its Events is the number of its last event.
	Session(ctx context.Context, id string) (Session, error)

	// Sessions lists at most limit sessions without a parent, the newest first.
	Sessions(ctx context.Context, limit int) ([]Session, error)

	// Search lists sessions in which these words were said, the best match first.
	Search(ctx context.Context, words string, limit int) ([]Session, error)

	// Events yields the stored events after a number that exist now.
	Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error]

	// Follow yields the stored events after a number, and provisional ones in their
	// place, until ctx ends.
	Follow(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error]

	// Fork copies a session up to an event, 0 for all of it, and returns the copy.
	Fork(ctx context.Context, id string, at int64) (string, error)

	// Back takes a session back, or says what that would do.
	Back(ctx context.Context, id string, b act.Rewind) (*act.Rewinding, error)

	// Models lists the models that a session can use, Agents the agents.
	Models(ctx context.Context) ([]Named, error)
	Agents(ctx context.Context) ([]Named, error)

	// Change sets the model or the mode of a session from here on, or those of the next
	// session if id is "".
	Change(ctx context.Context, id string, s Setting) error
}

// A Setting is what of a session changes. Empty fields stay.
type Setting struct {
	Model string // PROVIDER/NAME or a profile
	Mode  string // what runs without a question: an approval mode
	Agent string // only of the next session

	Elsewhere bool // the person agrees that the conversation goes to another endpoint
}

// A Message is what a person says.
type Message struct {
	ID     string // chosen by the sender
	Text   string
	Attach []string   // files, by their paths
	Files  []act.File // files that were sent
}

// A Session is one of a list.
type Session struct {
	ID, Title      string
	Status, Reason string // see [openmanus.Status]; "broken off": its process has died
	Updated        time.Time
	Events         int64
	Agent, Model   string
	Workspace      string
	Mode           string
	Questions      int    // how many wait for the person, in it and below
	Cost           string // in words; "": not known
	Seq            int64  // of a search: the event that matches best
	Found          string // of a search: what was found
}

// BrokenOff is the status of a session that no process drives although there is
// something to do.
const BrokenOff = "broken off"

// A Decision is the answer of a person to a question.
type Decision struct {
	Session, Call string
	Kind          openmanus.AskKind

	// of a ruling
	Allow    bool
	Reason   string // what the agent reads if the call is denied
	Input    string // other arguments to run with
	Scope    string // allow everything in the scope of the question
	Remember bool   // for this very call, from now on
	Hash     string // of the question

	// of an answer
	N    int
	Text string
	Data json.RawMessage // if the question has a schema
}

// Choices are the answers to a question that not every call has.
type Choices struct {
	Remember bool // the decision can be remembered for this very call
	OnlyOnce bool // it is asked each time, whatever was allowed before
}

// A Named is a thing that can be chosen by its name.
type Named struct{ Name, About string }

// A Planner is a [Source] whose sessions have a plan mode.
type Planner interface {
	// Proposal returns the plan that waits for approval in a session, or "".
	Proposal(ctx context.Context, id string) (string, error)

	// Approve approves it, as text has it if that is not "": the session goes on in the
	// mode.
	Approve(ctx context.Context, id, mode, text string) error
}

// Elsewhere is the error of [Source].Change for a model that answers at another endpoint
// than the session's: the whole conversation would go there. The person is asked, and
// Setting.Elsewhere says that they agree.
type Elsewhere struct{ From, To string }

// Error implements error.
func (e *Elsewhere) Error() string {
	return "the conversation would go to " + e.To + " instead of " + e.From
}

// A Custom is a command that the person has written: /NAME stands for a request.
type Custom struct {
	Name, Arguments, Help string // foreign; Name is without the slash

	// With what it begins or goes on, if it says so. Agent is that of a new session.
	Agent, Model, Mode string

	// Strict means that it may not choose a mode that allows more than the present one.
	Strict bool

	Expand func(arguments string) string // the request
}

// A CallEffect is what a call would do with arguments that a person has edited.
type CallEffect struct {
	Shown string // such as a diff
	Fails string // why it would not work; ""
}

// A Previewer is a [Source] that can say what a call would do with other arguments.
type Previewer interface {
	Preview(ctx context.Context, session, call, input string) (CallEffect, error)
}
