package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A Store keeps the sessions that a server shows: their events, their blobs,
// and an index to list and search them by. The leases come from it too, so
// that several processes can work on the same sessions.
//
// If it is also a [journal.IdleMarker], a server that starts reads only the
// sessions that were under way. If it is a [journal.JSONReader], event streams
// start faster.
type Store interface {
	openmanus.Journal
	openmanus.Blobs
	openmanus.Locker
	openmanus.Restorer
	journal.Index
	journal.Meter
	journal.Searcher
	journal.Deleter
}

// A Host opens sessions and describes what they can be made of. A host announces further abilities
// by the optional interfaces [Holder], [Traveller], [act.Memory], [Reconfigurer], [Planner],
// [Rewinder], [DocumentReader] and [Cleaner]. Implementations are safe for concurrent use.
type Host interface {
	// Open opens a session, which has no message yet, under an id that no
	// session has. Nothing drives the session before Open returns. If the request
	// is at fault, the error is a [*FieldError] that names the field, and nothing
	// was stored. The text of the error is sent to the user: it must not depend
	// on files that the user may not read.
	Open(ctx context.Context, id string, n NewSession) error

	// Environment returns the note about the workspace dir that precedes the
	// first message of a session. The agent, and so the user, reads it; dir may
	// contain anything, links and pipes included, since agents work there.
	// The second result says who wrote what others than the user did.
	Environment(dir string) (llm.Parts, []openmanus.Source)

	// Catalogue lists the agents, tools and models that sessions can have. It is
	// the same for all users and does not include the agents of workspaces.
	Catalogue(ctx context.Context) (Catalogue, error)
}

// A Holder is a [Host] that holds resources for a session, such as shells and
// browsers, and can release them while the session is idle.
type Holder interface {
	// Hold is called before anything else is done for the session id, which
	// works in dir. The function that it returns releases the resources of
	// the session and its children; shared ones are released with their last
	// user. It is called once, while nothing else is done with the session.
	// If the session goes on later, Hold is called again.
	Hold(id, dir string) (release func() error)
}

// A Traveller is a [Host] of several that share their sessions: the files of a workspace are
// on the machine where its sessions run.
type Traveller interface {
	// Look makes the directory of a workspace on this machine what was recorded of it last,
	// to be read.
	Look(ctx context.Context, dir string) error
	// Change has do change files in the workspace of a session, and records that. If a
	// session runs there on another machine, the error is an [act.ElsewhereError].
	Change(ctx context.Context, session string, do func() error) error
}

// A Limiter is a [Host] that bounds the limits that users ask for.
type Limiter interface {
	// MayLimit returns a [*FieldError] if the session must not go on with these limits,
	// of which those that are 0 stay as they are.
	MayLimit(ctx context.Context, session string, l openmanus.Limits) error
}

// A Cleaner is a [Host] that stores more about a session than its events.
type Cleaner interface {
	// Deleted is called after a session was deleted from the [Store], to
	// delete the rest.
	Deleted(id string) error
}

// A Forker is a [Host] that can give a copy of a session its own copy of the files.
type Forker interface {
	// Fork copies the session from, up to the event at or all of it if that is 0,
	// into the new session to, with a copy of its workspace as it was then. The
	// copy is in the directory root, that of the user's workspaces.
	Fork(ctx context.Context, from string, at int64, to, root string) error
}

// A Planner is a [Host] with flows that work by a plan.
type Planner interface {
	// Plan returns the plan of a session with the state s, or nil if it has
	// none. It does not retain s.
	Plan(s *openmanus.State) *Plan
}

// A Plan lists the steps of a session's task and their progress.
type Plan struct {
	Title string `json:"title"`
	Steps []Step `json:"steps"`
}

// A Step is one step of a [Plan].
type Step struct {
	Text    string `json:"text"`
	Status  string `json:"status" enum:"not_started,in_progress,completed,blocked"`
	Notes   string `json:"notes,omitempty"`
	Agent   string `json:"agent,omitempty" doc:"The agent that does it."`
	Session string `json:"session,omitempty" doc:"The child session of its last attempt."`
}

// A Flow asks for a session that plans: a planner writes a plan, and agents do
// its steps in child sessions.
type Flow struct {
	Agents   []string `json:"agents,omitempty" maxItems:"20" doc:"The agents that may do steps. The first one does the steps that name no agent. Default: the session's agent."`
	Parallel int      `json:"parallel,omitempty" minimum:"0" maximum:"100" doc:"The most steps that run at once. Default: 4."`
	Replans  *int     `json:"replans,omitempty" minimum:"0" maximum:"100" doc:"How often the plan may change because a step is blocked. Default: 3."`
	Only     bool     `json:"only,omitempty" doc:"Stop when the plan is written: it is the answer."`
}

// An Evaluation asks for several attempts at the same task, each in a copy of
// the workspace. A critic compares them, and the changes of the best one are
// applied to the workspace.
type Evaluation struct {
	Attempts int      `json:"attempts,omitempty" minimum:"0" maximum:"16" doc:"The number of attempts. Default: the number of models or hints, or else 3."`
	Models   []string `json:"models,omitempty" maxItems:"16" doc:"The models of the attempts, in turn. Default: the session's model."`
	Hints    []string `json:"hints,omitempty" maxItems:"16" doc:"Advice on how to approach the task, one for each attempt in turn."`
	Parallel int      `json:"parallel,omitempty" minimum:"0" maximum:"16" doc:"The most attempts that run at once. Default: 4."`
}

// A NewSession describes a session to open. Empty fields take the host's
// defaults. At most one of Flow and Evaluate is set.
type NewSession struct {
	Owner     string
	Agent     string
	Model     string
	Workspace string // the absolute path of an existing directory
	Approve   string // an approval mode, as of [openmanus.Mode]
	Limits    openmanus.Limits
	Flow      *Flow
	Evaluate  *Evaluation
	Client    *openmanus.Client // what the program asks for that uses the session; nil: nothing
	Answer    json.RawMessage   // the JSON Schema of the answer; nil: the answer is text
}

// A Catalogue lists what sessions can be made of.
type Catalogue struct {
	Agents []AgentInfo
	Tools  []ToolInfo
	Models []ModelInfo
}

// An AgentInfo describes an agent that sessions can have.
type AgentInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools,omitempty" doc:"The names of its tools."`
	Default     bool     `json:"default,omitempty" doc:"Whether sessions that name no agent get this one."`
}

// A ToolInfo describes a tool of at least one agent.
type ToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Hints       openmanus.Hints `json:"hints"`
}

// A ModelInfo describes a configured model.
type ModelInfo struct {
	Name    string `json:"name" doc:"PROVIDER/NAME, or the name of a profile."`
	Default bool   `json:"default,omitempty"`
}

// A FieldError reports a mistake in one field of a request.
type FieldError struct {
	Field string // its name in the request; "x" is short for "body.x"
	Err   error
}

// ErrLocalModel is wrapped by the [FieldError] of a host for a model that is
// named by a file of the server's machine, such as a script. The response is 400.
// A host returns it before it looks at the file: a response that depended on the
// file would tell users whether it exists, and what is in it.
var ErrLocalModel = errors.New("a model that is a file of the server's machine cannot be chosen over HTTP: " +
	"name one that GET /api/v1/models lists")

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *FieldError) Unwrap() error { return e.Err }
