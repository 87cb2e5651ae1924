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
	Loading    bool          // the server is up, and does not have the model in its memory yet
	NoReply    bool          // what the model says is no reply, and asking again did not help: see [Sound]
	Field      string        // the field of the request that the provider does not take, by its name: see [SpareFields]; "": it is not about one
	Images     Images        // what is wrong with the images of the request; "": it is not about them
	Err        error         // the cause, in words for people
}

// Images says why a provider refused a request that has images.
type Images string

// The reasons.
const (
	NoImages  Images = "none" // the model takes none
	BadImages Images = "bad"  // some cannot be read, are too large or too many
)

// Error returns the text of the cause, with the HTTP status if there is one. The text may
// come from a provider; show it as data.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%v (HTTP %d)", e.Err, e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later: after a rate limit, a
// fault of the network, a timeout, or a stream that broke off, unless Permanent says
// otherwise.
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

// KindOf returns the kind of the [*Error] in err's chain, or [Protocol] if there is none:
// an error that no adapter has classified is a fault of the exchange.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Protocol
}

// KindOfStatus returns the kind of failure that a status of an HTTP response stands
// for; [Protocol] for one that says nothing more than that the request was refused.
// Statuses beyond the standard are those that providers use: 529 means overloaded,
// and 524 that Cloudflare waited in vain for the provider.
func KindOfStatus(status int) Kind {
	switch {
	case status == 401 || status == 403 || status == 407:
		return Auth
	case status == 402 || status == 429 || status == 529:
		return RateLimit
	case status == 404:
		return NoModel
	case status == 408 || status == 504 || status == 524:
		return Timeout
	case status == 413:
		return Context
	case status == 409 || status == 425 || status >= 500:
		return Network
	}
	return Protocol
}
