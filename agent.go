package openmanus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus/llm"
)

// A Flow decides what a session does next. Implementations are safe for
// concurrent use: one flow may serve many sessions.
type Flow interface {
	// Agent returns the agent whose model replies in the sessions of this
	// flow, and whose tools they use.
	Agent() *Agent

	// Next returns the tasks that a session in state s calls for. They may
	// be carried out in any order or concurrently. No tasks means that there
	// is nothing to do until a person appends something, or a child session
	// or another process does.
	//
	// Next is a function of s alone. It does not change s, and uses no
	// clock, no I/O, no randomness and no live tools, so that it returns the
	// same tasks in another process, and when a journal is replayed.
	Next(s *State) []Task
}

// A Task is one thing to do in a session. It is small and has a JSON encoding, so
// that a runtime can send it to another machine. Each field is used by the verbs
// that its comment names.
type Task struct {
	Do   Verb `json:"do"`
	Turn int  `json:"turn,omitempty"` // Reply, MakeCall, Stop, End, Compact: which outcome this will be
	// Reply, MakeCall, Stop, End, Compact: to everything up to this event
	Re     int64  `json:"re,omitempty"`
	Nudge  string `json:"nudge,omitempty"`  // Reply: a hint for this request alone; it is not recorded
	Name   string `json:"name,omitempty"`   // MakeCall: the tool
	Input  string `json:"input,omitempty"`  // MakeCall: its arguments, as JSON
	Call   string `json:"call,omitempty"`   // Rule, Use, Delegate
	Child  string `json:"child,omitempty"`  // Delegate: the child session, as in [ChildID]
	Label  string `json:"label,omitempty"`  // Delegate: what the model reads in place of the child's id
	Flow   string `json:"flow,omitempty"`   // Delegate: the flow to run in it
	Model  string `json:"model,omitempty"`  // Delegate: its model; "": that of this session
	Copy   *Copy  `json:"copy,omitempty"`   // Delegate: where it works; nil: where this session does
	Prompt string `json:"prompt,omitempty"` // Delegate: its first message
	Reason Reason `json:"reason,omitempty"` // Stop, End
	Error  string `json:"error,omitempty"`  // Stop, End
	Status Status `json:"status,omitempty"` // End: Finished or Failed
	Text   string `json:"text,omitempty"`   // End: the answer
}

// A Verb says what a task is.
type Verb string

// The verbs.
const (
	Reply    Verb = "reply"    // ask the model
	Rule     Verb = "rule"     // ask the gate whether a call may run
	Use      Verb = "use"      // run a call
	Delegate Verb = "delegate" // run a child session to its end
	Stop     Verb = "stop"     // stop at a limit
	End      Verb = "end"      // end the session as finished or failed
	Elide    Verb = "elide"    // replace old large results by references
	MakeCall Verb = "call"     // call a tool, without asking the model
	Compact  Verb = "compact"  // replace old messages by a summary
)

// An Agent is the plainest flow: it asks the model, runs the calls in the reply,
// and asks again, until a reply makes no call. Do not change an Agent while
// sessions use it.
type Agent struct {
	Name         string
	Description  string // for people, and for agents that delegate
	Instructions string
	Model        llm.Model
	Prices       Prices
	Window       Window
	Counter      llm.Counter // counts the model's tokens; nil: half the bytes
	Fallbacks    []Helper    // models that Model may use in its place or on the way, listed for their prices
	Summarizer   Helper      // writes summaries; the zero Helper: the model itself
	Tools        []Tool
	// Deferred names those of Tools that requests leave out: see [ToolSpec].Deferred.
	Deferred []string
	Gate     Gate // nil: the user is asked about every call that changes something
	Settings llm.Settings
	Spec     Spec   // what the agent was made from, which its sessions record
	Limits   Limits // take the place of those of Spec where they are not 0
	Sandbox  string // what calls run in, which sessions record
	FlowEnds bool   // a reply without calls is no end: for flows that return an End
	// Sources say who wrote the texts in Instructions that are not this program's,
	// each with its Words.
	Sources []Source
}

// A Helper is another model that an agent uses, for one kind of work.
type Helper struct {
	Model  llm.Model
	Name   string // PROVIDER/NAME, for the record
	Prices Prices
	Window Window
}

// Agent implements [Flow].
func (a *Agent) Agent() *Agent { return a }

// Next implements [Flow].
func (a *Agent) Next(s *State) []Task {
	if s.Outcome.Status != "" || s.Foreign != "" {
		return nil
	}
	if s.Open() {
		return s.CallTasks()
	}
	if !s.Due() {
		return nil
	}
	return []Task{s.Ask(s.Nudge())}
}

// Configured returns the body that records a's configuration in a session, as the
// n-th one, from 0.
func (a *Agent) Configured(n int) Configured {
	c := Configured{
		N: n, Spec: a.Spec, System: a.Instructions, Settings: a.Settings,
		Prices: a.Prices, Window: a.Window, Sandbox: a.Sandbox, FlowEnds: a.FlowEnds,
		Sources: a.Sources, Form: len(a.Spec.Answer) > 0 && !a.FlowEnds,
	}
	c.Agent = cmp.Or(c.Agent, a.Name)
	c.Limits = a.Limits.Or(c.Limits)
	for _, t := range a.Tools {
		spec := t.Spec()
		spec.Deferred = slices.Contains(a.Deferred, spec.Name)
		c.Tools = append(c.Tools, spec)
	}
	return c
}

// Tool returns the tool of that name, or nil.
func (a *Agent) Tool(name string) Tool {
	for _, t := range a.Tools {
		if t.Spec().Name == name {
			return t
		}
	}
	return nil
}

// A Spec is what the flow of a session is made from: all that was chosen for
// it, by name. The program that makes flows from specs knows what the names
// mean on a machine, and has the keys: see package host. Sessions record their
// spec in [Configured], so that a session that goes on, here or elsewhere, does
// so as it began.
//
// The zero value of a field means the default of whoever makes the flow. Equal
// specs make flows that decide alike. A Spec is not changed once it is in use.
type Spec struct {
	Agent     string    `json:"agent,omitempty"`     // the agent that does the work
	Flow      *FlowSpec `json:"flow,omitempty"`      // what decides; nil: the agent alone
	Model     string    `json:"model,omitempty"`     // PROVIDER/NAME, or the name of a profile
	Endpoint  string    `json:"endpoint,omitempty"`  // the URL at which the model answers
	Workspace string    `json:"workspace,omitempty"` // the directory to work in, an absolute path
	Approve   string    `json:"approve,omitempty"`   // a [Mode]
	// what commands are to run in, such as "auto", "landlock" or "none"
	SandboxKind string `json:"sandbox_kind,omitempty"`
	// commands can change nothing: the sandbox shows them the workspace read-only
	SandboxReadOnly bool `json:"sandbox_read_only,omitempty"`
	// the JSON Schema of the answer; none: the answer is text
	Answer    json.RawMessage `json:"answer,omitempty"`
	Delegates []string        `json:"delegates,omitempty"` // the agents that the agent may give work to
	// child sessions that may change files while others do work in copies of the workspace
	Copies bool   `json:"copies,omitempty"`
	Limits Limits `json:"limits"`
	// the workspace is a checkout of this repository, made for the session; nil: it is not
	Worktree *Worktree `json:"worktree,omitempty"`
	// what the program asks for that uses this one by a protocol; nil: nothing
	Client *Client `json:"client,omitempty"`
}

// A Client says what a program that gives an agent work by a protocol, such as OpenAI's,
// asks for beside the task. It holds for the session, and not for those below it.
type Client struct {
	Instructions string         `json:"instructions,omitempty"` // they follow the agent's own
	Tools        []llm.ToolSpec `json:"tools,omitempty"`        // the client runs their calls: see [FromClient]
	OneByOne     bool           `json:"one_by_one,omitempty"`   // it runs one call at a time
	MustCall     bool           `json:"must_call,omitempty"`    // the work ends with a call of one of Tools, not with words
	Temperature  *float64       `json:"temperature,omitempty"`  // of replies; nil: as configured
	Effort       string         `json:"effort,omitempty"`       // of reasoning; "": as configured
}

// A Worktree says of which git repository a workspace is a checkout that was made for a
// session. Copies of the workspace, in which other sessions work, have it too.
type Worktree struct {
	Repository string `json:"repository"` // the top directory of the person's own checkout
	Branch     string `json:"branch"`     // of the session, in the repository
	Base       string `json:"base"`       // the commit with which the branch began
	// where in the repository the person was when the session began, with slashes; "": at its top
	Within string `json:"within,omitempty"`
	// the directory with the objects of the repository, which the checkout reads and never
	// writes; "": it needs none
	Objects string `json:"objects,omitempty"`
}

// A FlowSpec names a flow and has its settings.
type FlowSpec struct {
	Name     string          `json:"name"`
	Settings json.RawMessage `json:"settings,omitempty"` // the flow's own struct, in JSON
}

// Name returns the name of the flow that decides in the session: the agent's,
// unless Flow names another. It is the [Opened].Flow of the session.
func (s Spec) Name() string {
	if s.Flow != nil {
		return s.Flow.Name
	}
	return s.Agent
}

// A Copy names a copy of a session's workspace that was made for the attempts
// at a task.
type Copy struct {
	Round int `json:"round"` // which evaluation of the session, from 1
	// which attempt, from 1; 0: the directory that has the copies of all of them
	Attempt int `json:"attempt,omitempty"`
}

// Open opens a session of the flow f. The first message is m, if it is not nil. It
// is safe to open a session twice in the same way; the error is [ErrConflict] if
// the id belongs to another session. Open only appends: a runtime drives the
// session when it is woken.
func Open(ctx context.Context, j Journal, session string, f Flow, m *UserSaid) error {
	return OpenFor(ctx, j, "", session, f, m)
}

// OpenFor is like Open, for a user of a server, who owns the session and its
// children.
func OpenFor(ctx context.Context, j Journal, owner, session string, f Flow, m *UserSaid) error {
	o := Opened{Flow: f.Agent().Name, Owner: owner, Version: FormatVersion}
	return OpenWith(ctx, j, session, o, f.Agent().Configured(0), m)
}

// OpenWith is like Open, with the first two events given.
func OpenWith(ctx context.Context, j Journal, session string, o Opened, c Configured, m *UserSaid) error {
	bodies := []Body{o, c}
	if m != nil {
		bodies = append(bodies, *m)
	}
	_, err := j.Append(ctx, session, bodies...)
	if errors.Is(err, ErrExists) {
		err = sameOpening(ctx, j, session, bodies)
	}
	if err != nil {
		return fmt.Errorf("open session %s: %w", session, err)
	}
	return nil
}

// sameOpening returns ErrConflict unless the session, which exists, begins with
// bodies, as the journal encodes them.
func sameOpening(ctx context.Context, j Journal, session string, bodies []Body) error {
	for ev, err := range j.Events(ctx, session, 0) {
		switch {
		case err != nil:
			return err
		case len(bodies) == 0:
			return nil
		case ev.Body.Key() != bodies[0].Key():
			return ErrConflict
		}
		// The key exists: Append stores nothing and compares the bodies as encoded.
		if _, err := j.Append(ctx, session, bodies[0]); !errors.Is(err, ErrExists) || errors.Is(err, ErrConflict) {
			return err
		}
		bodies = bodies[1:]
	}
	if len(bodies) > 0 {
		return ErrConflict
	}
	return nil
}
