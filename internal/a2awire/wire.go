// Package a2awire has the objects of A2A 1.0, the protocol between agents, as they are
// in JSON: see https://a2a-protocol.org. A server and a client share them.
package a2awire

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Version is the version of the protocol.
const Version = "1.0"

// A State is the state of a task.
type State string

// The states of tasks.
const (
	Submitted     State = "TASK_STATE_SUBMITTED"
	Working       State = "TASK_STATE_WORKING"
	Completed     State = "TASK_STATE_COMPLETED"
	Failed        State = "TASK_STATE_FAILED"
	Canceled      State = "TASK_STATE_CANCELED"
	InputRequired State = "TASK_STATE_INPUT_REQUIRED"
	Rejected      State = "TASK_STATE_REJECTED"
	AuthRequired  State = "TASK_STATE_AUTH_REQUIRED"
	Unspecified   State = "TASK_STATE_UNSPECIFIED" // no task has it; a filter by it is none
)

// Known reports whether there is such a state.
func (s State) Known() bool { return s.Ended() || s.Rests() || s == Submitted || s == Working }

// Ended reports whether a task in this state does not go on.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Canceled || s == Rejected }

// Rests reports whether nothing happens in a task in this state without the client.
func (s State) Rests() bool { return s.Ended() || s == InputRequired || s == AuthRequired }

// The roles of messages.
const (
	RoleUser  = "ROLE_USER"
	RoleAgent = "ROLE_AGENT"
)

// A Task is a piece of work.
type Task struct {
	ID        string     `json:"id"`
	Context   string     `json:"contextId"`
	Status    Status     `json:"status"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	History   []Message  `json:"history,omitempty"`
}

// A Status says how a task stands.
type Status struct {
	State   State     `json:"state"`
	Message *Message  `json:"message,omitempty"`
	Time    Timestamp `json:"timestamp"`
}

// With returns a copy of the task with at most n messages of its history, and with
// its artifacts if wanted.
func (t *Task) With(n *int, artifacts bool) *Task {
	c := *t
	if n != nil {
		c.History = t.History[len(t.History)-min(*n, len(t.History)):]
	}
	c.History, c.Artifacts = slices.Clone(c.History), slices.Clone(c.Artifacts)
	if !artifacts {
		c.Artifacts = nil
	}
	return &c
}

// Heard returns the message of the client with this id, or nil.
func (t *Task) Heard(id string) *Message {
	i := slices.IndexFunc(t.History, func(m Message) bool { return m.Role == RoleUser && m.ID == id })
	if i < 0 {
		return nil
	}
	return &t.History[i]
}

// A Timestamp is a time in UTC, to the millisecond.
type Timestamp time.Time

// MarshalJSON implements [json.Marshaler].
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z"))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Timestamp) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*time.Time)(t)) }

// A Message is what one side says to the other.
type Message struct {
	ID       string         `json:"messageId"`
	Context  string         `json:"contextId,omitempty"`
	Task     string         `json:"taskId,omitempty"`
	Role     string         `json:"role"`
	Parts    []Part         `json:"parts"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Text returns the text of a message, without space around it.
func (m *Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// A Part is a text, a file (Raw or URL), or data: one of them is set.
type Part struct {
	Text      *string         `json:"text,omitempty"`
	Raw       []byte          `json:"raw,omitempty"`
	URL       string          `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

// Text returns a part that is text.
func Text(text string) Part { return Part{Text: &text, MediaType: "text/plain"} }

// An Artifact is something that a task has made.
type Artifact struct {
	ID    string `json:"artifactId"`
	Name  string `json:"name,omitempty"`
	Parts []Part `json:"parts"`
}

// An Event is something that happens in a task: one of its members is set.
type Event struct {
	Task     *Task           `json:"task,omitempty"`
	Message  *Message        `json:"message,omitempty"` // the answer of an agent that makes no task of it
	Status   *StatusUpdate   `json:"statusUpdate,omitempty"`
	Artifact *ArtifactUpdate `json:"artifactUpdate,omitempty"`

	ID string `json:"-"` // SEQ.N, from which a subscriber goes on
}

// Of returns the id of the event's task.
func (e *Event) Of() string {
	switch {
	case e.Task != nil:
		return e.Task.ID
	case e.Status != nil:
		return e.Status.Task
	case e.Artifact != nil:
		return e.Artifact.Task
	}
	return ""
}

// A StatusUpdate says that the status of a task has changed.
type StatusUpdate struct {
	Task    string `json:"taskId"`
	Context string `json:"contextId"`
	Status  Status `json:"status"`
}

// An ArtifactUpdate says that there is an artifact.
type ArtifactUpdate struct {
	Task     string   `json:"taskId"`
	Context  string   `json:"contextId"`
	Artifact Artifact `json:"artifact"`
	Append   bool     `json:"append,omitempty"` // the parts follow those that there are
	Last     bool     `json:"lastChunk,omitempty"`
}

// A SendRequest sends a message.
type SendRequest struct {
	Message *Message `json:"message"`
	Config  struct {
		Accepted []string `json:"acceptedOutputModes,omitempty"`
		History  *int     `json:"historyLength,omitempty"`
		Now      bool     `json:"returnImmediately,omitempty"`
		Push     *Push    `json:"taskPushNotificationConfig,omitempty"`
	} `json:"configuration"`
}

// A Push says where what happens in a task is posted.
type Push struct {
	ID    string `json:"id,omitempty"`
	Task  string `json:"taskId,omitempty"`
	URL   string `json:"url"`
	Token string `json:"token,omitempty"` // comes with each message, so that the receiver knows whose it is
	Auth  *struct {
		Scheme      string `json:"scheme"`
		Credentials string `json:"credentials,omitempty"`
	} `json:"authentication,omitempty"`
}

// A PushRequest names an address of a task, or all of them.
type PushRequest struct {
	Task string `json:"taskId"`
	ID   string `json:"id,omitempty"`
}

// A PushList has all addresses of a task.
type PushList struct {
	Configs []Push `json:"configs"`
	Next    string `json:"nextPageToken"`
}

// A TaskRequest names a task.
type TaskRequest struct {
	ID      string `json:"id"`
	History *int   `json:"historyLength,omitempty"`

	Last string `json:"-"` // of a subscription: the id of the last event that arrived
}

// A ListRequest selects tasks.
type ListRequest struct {
	Context   string     `json:"contextId,omitempty"`
	Status    State      `json:"status,omitempty"`
	PageSize  *int       `json:"pageSize,omitempty"`
	PageToken string     `json:"pageToken,omitempty"`
	History   *int       `json:"historyLength,omitempty"`
	After     *Timestamp `json:"statusTimestampAfter,omitempty"`
	Artifacts bool       `json:"includeArtifacts,omitempty"`
}

// A TaskList is a page of tasks.
type TaskList struct {
	Tasks    []Task `json:"tasks"`
	Next     string `json:"nextPageToken"`
	PageSize int    `json:"pageSize"`
	Total    int    `json:"totalSize"`
}

// A Card says what an agent can do, and where it is asked.
type Card struct {
	Name         string      `json:"name"`
	Description  string      `json:"description"`
	Version      string      `json:"version"`
	Interfaces   []Interface `json:"supportedInterfaces"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
	} `json:"capabilities"`
	InputModes []string `json:"defaultInputModes"`
	Skills     []Skill  `json:"skills"`
}

// An Interface is an address at which an agent is asked, in one way.
type Interface struct {
	URL     string `json:"url"`
	Binding string `json:"protocolBinding"` // JSONRPC, HTTP+JSON or another one
	Version string `json:"protocolVersion"`
}

// A Skill is something that an agent can do.
type Skill struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}
