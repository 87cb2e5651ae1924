package hooks

import (
	"encoding/json"
	"time"

	"github.com/openmanus-go/openmanus"
)

// An Event is what a hook reads, as JSON.
type Event struct {
	Event     string     `json:"event"`
	Hook      string     `json:"hook"`
	Session   string     `json:"session"`
	Parent    string     `json:"parent,omitempty"`
	Depth     int        `json:"depth"`
	Agent     string     `json:"agent,omitempty"`
	Model     string     `json:"model,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Mode      string     `json:"mode,omitempty"`
	Seq       int64      `json:"seq,omitempty"` // of the event in the journal, for hooks that watch
	Time      *time.Time `json:"time,omitempty"`

	Call  *Call                  `json:"call,omitempty"`
	Files []openmanus.FileChange `json:"files,omitempty"` // of the workspace, that the call changed

	Turn     int    `json:"turn,omitempty"`     // of the request
	Status   string `json:"status,omitempty"`   // finished, failed or stopped
	Reason   string `json:"reason,omitempty"`   // one word
	Error    string `json:"error,omitempty"`    // a sentence
	Question string `json:"question,omitempty"` // that waits for the person
	Text     string `json:"text,omitempty"`     // the answer
}

// A Call is the call in an [Event].
type Call struct {
	ID       string          `json:"id"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	ReadOnly bool            `json:"read_only,omitempty"` // it changes nothing
	Result   string          `json:"result,omitempty"`    // the beginning of what the model read
	IsError  bool            `json:"is_error,omitempty"`
}

// about returns an event of a session with what is known of the session.
func about(event, session string, o openmanus.Opened, c openmanus.Configured) Event {
	return Event{
		Event: event, Session: session, Parent: o.Parent, Depth: o.Depth,
		Agent: c.Agent, Model: c.Model, Workspace: c.Workspace, Mode: c.Approve,
	}
}

// arguments returns the arguments of a call as JSON, whatever they are.
func arguments(input string) json.RawMessage {
	if json.Valid([]byte(input)) {
		return json.RawMessage(input)
	}
	data, _ := json.Marshal(input) // a string always encodes
	return data
}
