package openmanus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A Journal keeps the events of sessions. It only ever grows, save that whole
// sessions may be deleted. Implementations are safe for concurrent use and
// pass the suite in journaltest.
type Journal interface {
	// Append stores bodies at the end of a session together or not at all,
	// and returns the events that [Journal.Events] will yield for them. When
	// it returns without an error they are as durable as the journal ever
	// makes them.
	//
	// If the key of one is taken, nothing is stored: it returns the event
	// that has the key, alone, and [ErrExists] if the content is the same,
	// [ErrConflict], which is an ErrExists too, if it is not.
	//
	// The first body of a session must be [Opened], and no other may be.
	Append(ctx context.Context, session string, bodies ...Body) ([]Event, error)

	// Events yields the events of a session after the given Seq, in order,
	// as they are now. A session that does not exist has none. The sequence
	// may be used more than once. It ends after the first error.
	Events(ctx context.Context, session string, after int64) iter.Seq2[Event, error]

	// Follow is Events without an end: it waits for further events, from
	// whatever process, until ctx is done, and then ends without an error.
	// Slow readers miss nothing and slow nobody.
	Follow(ctx context.Context, session string, after int64) iter.Seq2[Event, error]
}

// ErrExists is returned by [Journal.Append] when the question has been
// answered. To most callers that is good news: someone did the work.
var ErrExists = errors.New("event exists")

// ErrConflict is the [ErrExists] of an answer that differs from the first.
var ErrConflict error = conflict{}

type conflict struct{}

func (conflict) Error() string        { return "another event has this key" }
func (conflict) Is(target error) bool { return target == ErrExists }

// A Pipeliner is a [Journal] with which a driver can go on while its events are
// being made durable. A journal whose Append is quick need not be one.
type Pipeliner interface {
	// Pipe returns a pipe whose first event will follow the event after.
	Pipe(session string, after int64) Pipe
}

// A Pipe appends to one session, for its driver. It is used by one goroutine.
type Pipe interface {
	// Append is [Journal].Append, except that it does not wait: it returns
	// the events as they will be stored, and a function that waits until
	// they are as durable as the journal makes them. What is appended is
	// stored in the order of the calls, all of a call or nothing, and
	// subscribers see it only when it is durable.
	//
	// The events follow those of the call before, the first ones the event
	// that the pipe was made for. If something else has been appended to the
	// session meanwhile, wait returns [ErrMoved]; if a key is taken,
	// [ErrExists]. After an error, so does every later call's wait: ErrMoved.
	// A driver then reads the session anew and makes another pipe.
	//
	// Every wait is to be called, once, from any goroutine. It does not heed
	// ctx: what Append returned without an error is on its way.
	Append(ctx context.Context, bodies ...Body) (events []Event, wait func() error, err error)
}

// ErrMoved says that a session has other events than a [Pipe] was to follow.
var ErrMoved = errors.New("the session has other events by now")

// A Ref names a blob by its content: "sha256:" and 64 hexadecimal digits.
type Ref string

// Blobs keep byte strings by their content. Implementations are safe for
// concurrent use.
type Blobs interface {
	// Put keeps data and returns its name. Putting twice keeps once.
	Put(ctx context.Context, data []byte) (Ref, error)

	// Get returns the content of a blob, or an error that is
	// [io/fs.ErrNotExist].
	Get(ctx context.Context, ref Ref) (io.ReadCloser, error)
}

// A Locker gives out the right to drive a session: law 5. A [Journal] that
// also is a Locker is asked; for one that is not, the runtime only keeps order
// within itself.
type Locker interface {
	// Lock returns a lease at once, or an error that is [ErrDriven] if
	// someone has it.
	Lock(ctx context.Context, session string) (Lease, error)
}

// A Lease is the right to drive a session, until it is released or lost.
type Lease interface {
	// Lost is closed when the lease is no longer held through no doing of
	// ours. It may be nil if that cannot happen.
	Lost() <-chan struct{}
	Release() error
}

// ErrDriven says that a session is being driven by somebody else.
var ErrDriven = errors.New("the session is being driven by another process")

// A Restorer is a [Journal] that can take over events as they are. Export,
// import and fork need it.
type Restorer interface {
	// Restore creates a session with the given events, whose numbers and
	// times are kept, together or not at all. It returns ErrExists if there
	// is such a session.
	Restore(ctx context.Context, session string, events []Event) error
}

// ErrNoSession says that there is no such session.
var ErrNoSession = errors.New("no such session")

// ReadBlob returns the whole content of a blob.
func ReadBlob(ctx context.Context, blobs Blobs, ref Ref) ([]byte, error) {
	r, err := blobs.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// RefOf returns the name of the blob with this content.
func RefOf(data []byte) Ref { return Ref(fmt.Sprintf("sha256:%x", sha256.Sum256(data))) }
