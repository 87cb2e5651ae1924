package llm

import (
	"errors"
	"fmt"
	"time"
)

// A Kind is the kind of failure of an [Error]. Callers decide by it, and never by
// the provider.
type Kind string

// The kinds, which are also the reasons of failed sessions.
const (
	Auth       Kind = "auth"       // no key, a wrong key, or one without permission: change the configuration
	NoModel    Kind = "model"      // the provider has no such model: change the configuration
	RateLimit  Kind = "rate_limit" // too many requests, no credit left, or an overloaded provider
	Context    Kind = "context"    // the request is larger than the model's window
	Filtered   Kind = "filter"     // the provider withheld the reply
	Refused    Kind = "refusal"    // the model would not reply
	Network    Kind = "network"    // the provider was not reached, or failed (5xx)
	Timeout    Kind = "timeout"    // no answer, or no further answer, in time
	Protocol   Kind = "protocol"   // the provider did not understand the request (400), or we not its reply
	ScriptOver Kind = "script"     // a scripted model has no reply to this conversation
)

// An Error is a failure to get a reply of a model.
type Error struct {
	Kind       Kind
	Status     int           // of HTTP, if there was one
	RetryAfter time.Duration // the wait that the provider asked for; 0: none
	Permanent  bool          // another attempt cannot help, unlike with other errors of this Kind
	Err        error         // the cause, in words for people
}

// Error returns the cause with the HTTP status, if there is one.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%v (HTTP %d)", e.Err, e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	if e.Permanent {
		return false
	}
	switch e.Kind {
	case RateLimit, Network, Timeout:
		return true
	}
	return e.Kind == Protocol && e.Status == 0 // a stream that broke, not a request that was refused
}

// KindOf returns the kind of the [*Error] in err's chain, or [Protocol].
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Protocol
}
