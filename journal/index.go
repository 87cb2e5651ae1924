package journal

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// An Index describes sessions without reading their events. A store that
// serves more than one program usually has one. Implementations are safe for
// concurrent use, and an append is visible in the index when it has returned.
type Index interface {
	// Session describes one session. If there is none of this id, the error
	// is [openmanus.ErrNoSession].
	Session(ctx context.Context, id string) (SessionInfo, error)

	// Sessions yields the sessions that match opts, the most recently
	// updated first, as they are when the iteration starts. The sequence may
	// be used more than once. It ends after the first error.
	Sessions(ctx context.Context, opts ListOptions) iter.Seq2[SessionInfo, error]
}

// A Searcher finds sessions by what was said in them.
type Searcher interface {
	// Search returns the sessions among those that match opts in which one
	// message, with what it passes to tools, one answer, or the title, contains
	// all of these words, the best match first. It matches parts of words and ignores case. If there are no
	// words, the error is [ErrNoWords].
	Search(ctx context.Context, words string, opts ListOptions) ([]Hit, error)
}

// A Deleter deletes sessions.
type Deleter interface {
	// Delete deletes a session and what only it needs. Its children stay.
	// The error is [openmanus.ErrDriven] while a process holds the session's
	// lease, and [openmanus.ErrNoSession] if there is no such session.
	Delete(ctx context.Context, session string) error
}

// An IdleMarker is an [Index] that remembers which sessions have nothing to
// do, so that [ListOptions].UnderWay can leave them out.
type IdleMarker interface {
	// MarkIdle records that nothing is left to do in a session after the
	// event seq. It has no effect if the session has later events or does
	// not exist: appending to a session ends its mark.
	MarkIdle(ctx context.Context, session string, seq int64) error
}

// ErrNoWords is returned by [Searcher].Search if there is nothing to search
// for.
var ErrNoWords = errors.New("name a word to search for")

// A SessionInfo is what an [Index] knows of a session. Usage and Cost are
// those of the session's own model calls, without its children's.
type SessionInfo struct {
	ID        string          `json:"id"`
	Title     string          `json:"title"` // the last title given, or the first words the user said
	Created   time.Time       `json:"created"`
	Updated   time.Time       `json:"updated"` // when the last event was stored
	Events    int64           `json:"events"`  // the sequence number of the last event
	Last      string          `json:"last"`    // the type of the last event, as in docs/events.md
	Flow      string          `json:"flow"`
	Parent    string          `json:"parent,omitempty"`
	Owner     string          `json:"owner,omitempty"`
	Model     string          `json:"model,omitempty"`     // of the last configuration
	Workspace string          `json:"workspace,omitempty"` // of the last configuration
	Usage     llm.Usage       `json:"usage"`
	Cost      openmanus.Money `json:"cost"`
	Unpriced  int             `json:"unpriced_tokens,omitempty"` // of Usage: tokens whose price is not known
}

// A Meter adds up what models used in all sessions of a store, without reading
// their events.
type Meter interface {
	// Used returns what was used, the most expensive first, in groups of the
	// kind that opts asks for. Sessions that were deleted do not count, and
	// what a session was copied or imported with does not count in the copy.
	Used(ctx context.Context, opts MeterOptions) ([]Used, error)
}

// A Tally counts the sessions of users, wherever they are driven.
type Tally interface {
	// Tally counts the sessions of an owner that have no parent: all of them, those that
	// were created since a time, and those that are under way.
	Tally(ctx context.Context, owner string, since time.Time) (all, created, underWay int, err error)
}

// A Purse keeps what many processes spend together.
type Purse interface {
	// Spend adds an amount to what was spent under a name, such as a day, unless that would
	// then be more than most; a negative most is no limit. It returns what is spent then,
	// and whether the amount was added. The unit of amounts is that of the name.
	Spend(ctx context.Context, name string, amount, most int64) (spent int64, ok bool, err error)
}

// MeterOptions select what a [Meter] adds up. The zero MeterOptions select all.
type MeterOptions struct {
	By    string    // "model", "flow", "day" or "session"; "": "model"
	Since time.Time // from the beginning of this day in UTC; zero: from the beginning
	Owner string    // only sessions of this user
}

// A Used is what a group of requests to models used.
type Used struct {
	Name     string // of the model, the flow, the day (2006-01-02, in UTC) or the session
	Requests int
	Usage    llm.Usage
	Cost     openmanus.Money
	Unpriced int // of Usage: tokens whose price is not known
}

// ListOptions select sessions. The zero ListOptions select all of them.
type ListOptions struct {
	Limit     int    // the most sessions to yield; 0 is no limit
	Workspace string // only sessions that work there
	Parent    string // only children of this session
	Owner     string // only sessions of this user
	Roots     bool   // only sessions without a parent
	UnderWay  bool   // only sessions that may have something to do; an index may yield others too
	Schedules bool   // the journals of schedules (see [ScheduleFlow]), which are left out otherwise

	// [Searcher].Search ignores these two.

	Open  bool  // only sessions that may run or wait for a person; an index may yield others too
	After Place // only sessions that come after this place in the list; zero: from the first
}

// A Place is where a session stands in a list: when it was updated last, and its id. If the
// session was updated since, or is gone, the place is still where it was.
type Place struct {
	Updated time.Time
	ID      string
}

// ScheduleFlow is the flow of journals that belong to schedules. They are sessions to a
// [openmanus.Journal], and to no other readers: nothing drives them.
const ScheduleFlow = "@schedule"

// A Hit is a session that a search found.
type Hit struct {
	SessionInfo
	Seq     int64  `json:"seq"`     // the event that matches best
	Snippet string `json:"snippet"` // of that event; matches stand between MarkBegin and MarkEnd
}

// MarkBegin and MarkEnd enclose the matches in a [Hit]'s Snippet. They are
// characters for private use, which text typed by people does not contain.
const (
	MarkBegin = "\ue000"
	MarkEnd   = "\ue001"
)

// An EventJSON is an event in the encoding of [openmanus.Event.MarshalJSON].
type EventJSON struct {
	Seq  int64
	Type string
	JSON []byte
}

// A JSONReader is a [openmanus.Journal] that yields encoded events faster than
// by decoding and encoding them.
type JSONReader interface {
	// EventsJSON yields the events that Events does, encoded.
	EventsJSON(ctx context.Context, session string, after int64) iter.Seq2[EventJSON, error]
}

// EventsJSON yields the events of a session after a sequence number, encoded.
// It uses the journal's own method if it is a [JSONReader].
func EventsJSON(ctx context.Context, j openmanus.Journal, session string, after int64) iter.Seq2[EventJSON, error] {
	if r, ok := j.(JSONReader); ok {
		return r.EventsJSON(ctx, session, after)
	}
	return func(yield func(EventJSON, error) bool) {
		for ev, err := range j.Events(ctx, session, after) {
			var data []byte
			if err == nil {
				data, err = ev.MarshalJSON()
			}
			if !yield(EventJSON{ev.Seq, openmanus.TypeName(ev.Body), data}, err) || err != nil {
				return
			}
		}
	}
}
