package a2a

import (
	"errors"
	"fmt"
	"net/http"
)

// An Error is an error of the protocol.
type Error struct {
	Code    int    // of JSON-RPC
	HTTP    int    // the status of the HTTP+JSON binding
	Status  string // its name, as google.rpc.Code has it
	Reason  string // of the protocol's own errors
	Field   string // which member of a request is at fault
	Message string
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

// details returns the objects that say more, in Google's forms: the field that is wrong,
// or the reason. Without either there are none.
func (e *Error) details() []any {
	switch {
	case e.Field != "":
		violation := map[string]any{"field": e.Field, "description": e.Message}
		return []any{map[string]any{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": []any{violation}}}
	case e.Reason != "":
		return []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": e.Reason, "domain": "a2a-protocol.org"}}
	}
	return []any{}
}

// TaskNotFound is the first of the errors that the protocol defines: each function returns
// one with its code, its HTTP status and a reason for programs.
func TaskNotFound(id string) error {
	return &Error{-32001, http.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND", "", fmt.Sprintf("there is no task %q", id)}
}

// NotCancelable says that a task has ended.
func NotCancelable(state State) error {
	return &Error{-32002, http.StatusConflict, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "", fmt.Sprintf("the task is %s already", state)}
}

// PushNotFound says that a task has no such address for push notifications.
func PushNotFound(id string) error {
	return &Error{-32001, http.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND", "", fmt.Sprintf("the task has no push notification config %q", id)}
}

// NoPush says that there are no push notifications.
func NoPush() error {
	return &Error{-32003, http.StatusBadRequest, "UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED", "",
		"this agent sends no push notifications: subscribe to the task"}
}

// Unsupported says that an operation cannot be done.
func Unsupported(why string) error {
	return &Error{-32004, http.StatusBadRequest, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION", "", why}
}

// BadMedia says that a part of a message cannot be read.
func BadMedia(why string) error {
	return &Error{-32005, http.StatusUnsupportedMediaType, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "", why}
}

// badVersion says that another version is spoken here.
func badVersion(version string) error {
	return &Error{-32009, http.StatusBadRequest, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED", "",
		fmt.Sprintf("this agent speaks version %s, and the request version %s: send A2A-Version: %s", Version, version, Version)}
}

// BadField says what is wrong with a member of a request.
func BadField(field, why string) error {
	return &Error{-32602, http.StatusBadRequest, "INVALID_ARGUMENT", "", field, why}
}

// asError returns err as an error of the protocol. A request that is too large is one of
// the client; any other error is internal.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
		return &Error{Code: -32600, HTTP: http.StatusRequestEntityTooLarge, Status: "INVALID_ARGUMENT",
			Message: fmt.Sprintf("the request has more than %d bytes: send large files in several messages", big.Limit)}
	}
	return &Error{Code: -32603, HTTP: http.StatusInternalServerError, Status: "INTERNAL", Message: err.Error()}
}
