// Package a2a speaks A2A 1.0, the protocol between agents: see
// https://a2a-protocol.org. It has both bindings over HTTP that agents on the web use,
// JSON-RPC and HTTP+JSON, and a [Projector], which says what happens in a session as
// tasks. The objects of the protocol are those of package a2awire.
//
// A task is what happens from a message to the next outcome. Approvals and questions
// interrupt it. The id of a task is that of its session and the number of the event
// with its message, so nothing about tasks is stored.
//
// It knows neither sessions of users nor how they are driven: a [Service] does.
package a2a

import wire "github.com/openmanus-go/openmanus/internal/a2awire"

// Version is the version of the protocol.
const Version = wire.Version

// The objects of the protocol.
type (
	State          = wire.State
	Task           = wire.Task
	Status         = wire.Status
	Timestamp      = wire.Timestamp
	Message        = wire.Message
	Part           = wire.Part
	Artifact       = wire.Artifact
	Event          = wire.Event
	StatusUpdate   = wire.StatusUpdate
	ArtifactUpdate = wire.ArtifactUpdate
	SendRequest    = wire.SendRequest
	TaskRequest    = wire.TaskRequest
	ListRequest    = wire.ListRequest
	TaskList       = wire.TaskList
	Push           = wire.Push
	PushRequest    = wire.PushRequest
	PushList       = wire.PushList
)

// The states of tasks, and the roles of messages.
const (
	Submitted     = wire.Submitted
	Working       = wire.Working
	Completed     = wire.Completed
	Failed        = wire.Failed
	Canceled      = wire.Canceled
	InputRequired = wire.InputRequired
	Unspecified   = wire.Unspecified

	RoleUser  = wire.RoleUser
	RoleAgent = wire.RoleAgent
)

// Text returns a part that is text.
func Text(text string) Part { return wire.Text(text) }
