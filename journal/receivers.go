package journal

import (
	"context"
	"time"
)

// Receivers is a store that remembers where what happens in sessions is posted, and how
// far that has come. With a session, its receivers are deleted. Implementations are safe
// for concurrent use.
type Receivers interface {
	// PutReceiver adds a receiver, or replaces the one with its session and id. There
	// must be such a session: the error is ErrNoSession otherwise.
	PutReceiver(ctx context.Context, r Receiver) error

	// RemoveReceiver removes a receiver, if there is one.
	RemoveReceiver(ctx context.Context, session, id string) error

	// Receivers returns the receivers of a session, or with "" those of all sessions that
	// are not done, the oldest first.
	Receivers(ctx context.Context, session string) ([]Receiver, error)

	// MoveReceiver sets At, Until, Failing and Done of the receiver with the session and
	// id of now, if its Until is still that of was, and reports whether it did. So one of
	// several processes has a receiver, until it gives it back or its time is over.
	MoveReceiver(ctx context.Context, was, now Receiver) (moved bool, err error)
}

// A Receiver is an address to which what happens in a session is posted.
type Receiver struct {
	Session, ID string
	Spec        []byte    // the address and what goes with it, as JSON; it may have secrets
	At          string    // the position after the last event that it took; "": none
	Until       time.Time // the process that set it posts until then; zero: nobody does
	Failing     time.Time // since when it takes nothing; zero: it does
	Done        bool      // nothing more is posted
	Added       time.Time
}
