package llm

import (
	"errors"
	"fmt"
	"time"
)

// A Kind says what sort of failure an [Error] is. Callers switch on it, and
// never on vendors.
type Kind string

// The kinds, which are also the reasons of failed sessions.
const (
	Auth       Kind = "auth"       // no key, a wrong key, or one that may not: fix the configuration
	NoModel    Kind = "model"      // the provider has no such model: fix the configuration
	RateLimit  Kind = "rate_limit" // too much at once, or out of credit, or overloaded
	Context    Kind = "context"    // the request is larger than the model's window
	Filtered   Kind = "filter"     // the provider withheld the reply
	Refused    Kind = "refusal"    // the model would not reply
	Network    Kind = "network"    // not reached, or broken on the provider's side (5xx)
	Timeout    Kind = "timeout"    // no answer, or no further answer, in time
	Protocol   Kind = "protocol"   // not understood, by them (400) or by us (a broken stream)
	ScriptOver Kind = "script"     // a scripted model has no reply to this conversation
)

// An Error is what went wrong between us and a model.
type Error struct {
	Kind       Kind
	Status     int           // of HTTP, if there was one
	RetryAfter time.Duration // what the provider asked for; 0 if it did not
	Permanent  bool          // trying again cannot help, though it might with other errors of this Kind
	Err        error         // the cause, in words for a person
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%v (HTTP %d)", e.Err, e.Status)
	}
	return e.Err.Error()
}

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
