package openmanus

import "encoding/json"

// A Spec is what the flow of a session is made from: all that was chosen for
// it, by name. What the names mean on a machine, and the keys that go with
// them, are for whoever makes flows from specs: see package host. Sessions
// record their spec in [Configured], so that a session that goes on, here or
// elsewhere, does so as it began.
//
// The zero value of a field means the default of whoever makes the flow. Equal
// specs make flows that decide alike. A Spec is not changed once it is in use.
type Spec struct {
	Agent       string          `json:"agent,omitempty"`        // the agent that does the work
	Flow        *FlowSpec       `json:"flow,omitempty"`         // what decides; nil: the agent alone
	Model       string          `json:"model,omitempty"`        // PROVIDER/NAME, or the name of a profile
	Endpoint    string          `json:"endpoint,omitempty"`     // the URL at which the model answers
	Workspace   string          `json:"workspace,omitempty"`    // the directory to work in, an absolute path
	Approve     string          `json:"approve,omitempty"`      // a [Mode]
	SandboxKind string          `json:"sandbox_kind,omitempty"` // what commands are to run in, such as "auto", "landlock" or "none"
	Answer      json.RawMessage `json:"answer,omitempty"`       // the JSON Schema of the answer; none: the answer is text
	Delegates   []string        `json:"delegates,omitempty"`    // the agents that the agent may give work to
	Limits      Limits          `json:"limits"`
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
	Round   int `json:"round"`             // which evaluation of the session, from 1
	Attempt int `json:"attempt,omitempty"` // which attempt, from 1; 0: the directory that has the copies of all of them
}
