package openmanus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// A Journal stores the events of sessions. It is append-only, except that whole
// sessions may be deleted. Implementations are safe for concurrent use and pass
// the suite in journal/journaltest.
type Journal interface {
	// Append stores bodies at the end of a session, all of them or none, and
	// returns the events that [Journal.Events] will yield for them. When it
	// returns without an error, they are as durable as the journal makes
	// anything.
	//
	// If the key of one body exists already, Append stores nothing and
	// returns the event with that key. The error is [ErrExists] if the
	// content is the same, and [ErrConflict], which is an ErrExists too, if
	// it differs.
	//
	// The first body of a session must be [Opened], and no other may be.
	Append(ctx context.Context, session string, bodies ...Body) ([]Event, error)

	// Events yields the events of a session that exist now, in order,
	// beginning after the sequence number after. A session that does not
	// exist has none. The iterator may be used more than once. It ends after
	// the first error.
	Events(ctx context.Context, session string, after int64) iter.Seq2[Event, error]

	// Follow is like Events, but waits for further events, from any process,
	// until ctx ends; then it ends without an error. A slow reader misses
	// nothing and does not slow down writers or other readers.
	Follow(ctx context.Context, session string, after int64) iter.Seq2[Event, error]
}

// ErrExists is returned by [Journal.Append] if the key of a body exists already.
// To most callers this means that the work has been done.
var ErrExists = errors.New("event exists")

// ErrConflict is the [ErrExists] of a body that differs from the stored one.
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
	// Append is [Journal].Append, except that it does not wait: it returns the
	// events as they will be stored, and a function that waits until they are
	// as durable as the journal makes them. The bodies are stored in the order
	// of the calls, all of a call or none, and subscribers see them only when
	// they are durable.
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

// Blobs store byte strings under the hash of their content. Implementations are
// safe for concurrent use.
type Blobs interface {
	// Put stores data and returns its name. It is safe to put the same data
	// twice.
	Put(ctx context.Context, data []byte) (Ref, error)

	// Get returns the content of a blob, or an error that is
	// [io/fs.ErrNotExist]. The caller closes the reader.
	Get(ctx context.Context, ref Ref) (io.ReadCloser, error)
}

// A Locker leases sessions: only the process that holds the lease of a session
// drives it. A runtime uses the Locker if its [Journal] is one. Without one, it
// only makes sure that it does not drive a session twice itself, and two
// processes may do the same work, of which the journal records one.
type Locker interface {
	// Lock returns the lease at once, or an error that is [ErrDriven] if
	// another process holds it.
	Lock(ctx context.Context, session string) (Lease, error)
}

// A Lease is the right to drive a session until it is released or lost.
type Lease interface {
	// Lost returns a channel that is closed when the lease is lost, for
	// example because its file was removed. The channel is nil if that
	// cannot happen.
	Lost() <-chan struct{}

	// Release gives the lease back.
	Release() error
}

// ErrDriven says that another process holds the lease of a session.
var ErrDriven = errors.New("the session is being driven by another process")

// A Restorer is a [Journal] that can store events with the numbers and times that
// they have. Import and fork need it.
type Restorer interface {
	// Restore creates a session with these events, all of them or none, and
	// keeps their numbers and times. It returns ErrExists if the session
	// exists already.
	Restore(ctx context.Context, session string, events []Event) error
}

// ErrNoSession says that a session does not exist.
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

// minShortRef is how many hexadecimal digits a short ref has, unless two blobs of a
// session begin with the same ones.
const minShortRef = 8

// ShortRef returns the name by which a model and people call the blob ref: the first
// digits of its hash, as many as tell it from all others in refs. Models copy 64
// digits wrongly, and pay for each.
func ShortRef(refs []Ref, ref Ref) string {
	own := digits(string(ref))
	n := min(minShortRef, len(own))
	for n < len(own) && slices.ContainsFunc(refs, func(o Ref) bool {
		return o != ref && strings.HasPrefix(digits(string(o)), own[:n])
	}) {
		n++
	}
	return own[:n]
}

var shortRef = regexp.MustCompile(`^[0-9a-f]{6,64}$`)

// FindRef returns the blobs among refs that text names: a [Ref], or at least its first
// 6 digits, with or without "sha256:". A whole ref is found whether refs have it or
// not: which blobs a session may read is up to its [Blobs]. More than one means that
// text is too short.
func FindRef(refs []Ref, text string) []Ref {
	text = digits(strings.ToLower(strings.TrimSpace(text)))
	if !shortRef.MatchString(text) {
		return nil
	}
	if len(text) == 64 {
		return []Ref{Ref(refPrefix + text)}
	}
	var found []Ref
	for _, r := range refs {
		if strings.HasPrefix(digits(string(r)), text) && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found
}

// A BlobFinder is implemented by [Blobs] that know which blobs a session may read:
// FindBlobs returns those whose short refs begin with text, as [FindRef] does.
type BlobFinder interface {
	FindBlobs(ctx context.Context, text string) ([]Ref, error)
}

const refPrefix = "sha256:"

func digits(ref string) string { return strings.TrimPrefix(ref, refPrefix) }

// Refs returns the blobs that the model can read: whole results, and what compactions
// and elisions replaced, the oldest first. Do not change the slice.
func (s *State) Refs() []Ref { return s.refs }

// noteRef adds a blob to those that the model can read.
func (s *State) noteRef(ref Ref) {
	if ref != "" && !slices.Contains(s.refs, ref) {
		s.refs = append(slices.Clip(s.refs), ref) // clones of the state share the old ones
	}
}

// eventJSON is the JSON of an event: in exports, on the command line with --output
// jsonl, and in server-sent events.
type eventJSON struct {
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Type string          `json:"type"`
	Key  string          `json:"key,omitempty"`
	Body json.RawMessage `json:"body"`
}

// MarshalJSON encodes ev, large strings included.
func (ev Event) MarshalJSON() ([]byte, error) {
	if ev.Body == nil {
		return nil, errors.New("an event without a body")
	}
	data, err := EncodeBody(ev.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(eventJSON{ev.Seq, ev.Time, TypeName(ev.Body), ev.Body.Key(), data})
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (ev *Event) UnmarshalJSON(data []byte) error {
	var l eventJSON
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	b, err := DecodeBody(l.Type, l.Key, l.Body)
	if err != nil {
		return fmt.Errorf("event %s: %w", l.Key, err)
	}
	*ev = Event{l.Seq, l.Time, b}
	return nil
}

// AppendJSON appends the result of MarshalJSON to b. It encodes deltas without
// reflection, because there is one for every few letters of a reply.
func (ev Event) AppendJSON(b []byte) ([]byte, error) {
	t, ok := ev.Body.(Typing)
	if !ok || ev.Seq != 0 {
		data, err := ev.MarshalJSON()
		return append(b, data...), err
	}
	b = append(b, `{"seq":0,"time":"`...)
	b = ev.Time.AppendFormat(b, time.RFC3339Nano)
	b = strconv.AppendInt(append(b, `","type":"typing","body":{"turn":`...), int64(t.Turn), 10)
	if t.Reset {
		b = append(b, `,"reset":true`...)
	}
	b = strconv.AppendInt(append(b, `,"part":`...), int64(t.Part), 10)
	for i, p := range t.Parts {
		if i == 0 {
			b = append(b, `,"parts":[`...)
		} else {
			b = append(b, ',')
		}
		var err error
		if b, err = appendFragment(b, p); err != nil {
			return b, err
		}
	}
	if len(t.Parts) > 0 {
		b = append(b, ']')
	}
	return append(b, "}}"...), nil
}

// appendFragment appends the JSON of one part of a delta, as [llm.Parts] encodes
// it. Parts that need escaping go through encoding/json.
func appendFragment(b []byte, p llm.Part) ([]byte, error) {
	var kind, text, by string
	switch p := p.(type) {
	case llm.Text:
		if p.Opaque == nil && !p.View {
			kind, text, by = "text", p.Text, p.By
		}
	case llm.Thinking:
		if p.Opaque == nil {
			kind, text, by = "thinking", p.Text, p.By
		}
	}
	if kind == "" || !utf8.ValidString(text) {
		data, err := llm.Parts{p}.MarshalJSON()
		if err != nil {
			return b, err
		}
		return append(b, data[1:len(data)-1]...), nil // without the brackets
	}
	b = append(append(append(b, `{"type":"`...), kind...), '"')
	if text != "" {
		b = appendString(append(b, `,"text":`...), text)
	}
	if by != "" {
		b = appendString(append(b, `,"by":`...), by)
	}
	return append(b, '}'), nil
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(s) // a string always encodes
			return append(b, data...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// typesByName and typesByGo are the [BodyTypes], by their names in JSON and in Go.
var typesByName, typesByGo = func() (map[string]BodyType, map[reflect.Type]BodyType) {
	byName, byGo := make(map[string]BodyType), make(map[reflect.Type]BodyType)
	for _, t := range BodyTypes() {
		byName[t.Name], byGo[reflect.TypeOf(t.Zero)] = t, t
	}
	return byName, byGo
}()

// TypeOf returns the type of b. That of a [Foreign] has a name alone. It is zero if b is
// not part of the format.
func TypeOf(b Body) BodyType {
	if f, ok := b.(Foreign); ok {
		return BodyType{Name: f.Type}
	}
	return typesByGo[reflect.TypeOf(b)]
}

// TypeName returns the name of b's type in the journal format, or "" if b is not
// part of the format.
func TypeName(b Body) string { return TypeOf(b).Name }

// IsBodyType reports whether name is the name of a type of body that this
// version knows.
func IsBodyType(name string) bool { return typesByName[name].Zero != nil }

// EncodeBody returns the JSON of b, without its type and key. It keeps large
// strings and secrets: journals use journal.Codec.
func EncodeBody(b Body) ([]byte, error) {
	if f, ok := b.(Foreign); ok {
		if !json.Valid(f.Content) {
			return nil, errors.New("its content is not JSON")
		}
		return f.Content, nil
	}
	return json.Marshal(b)
}

// DecodeBody returns the body of the given type and key that [EncodeBody]
// encoded. A type that this version does not know becomes [Foreign].
func DecodeBody(name, key string, data []byte) (Body, error) {
	t, ok := typesByName[name]
	if !ok {
		return Foreign{name, key, bytes.Clone(data)}, nil
	}
	p := reflect.New(reflect.TypeOf(t.Zero))
	if err := json.Unmarshal(data, p.Interface()); err != nil {
		return nil, err
	}
	return p.Elem().Interface().(Body), nil
}

// EventLine returns what [Event.MarshalJSON] returns for an event whose body is
// already encoded as EncodeBody does. It does not look into the body.
func EventLine(seq int64, at time.Time, name, key string, body []byte) ([]byte, error) {
	b, err := json.Marshal(eventJSON{seq, at, name, key, json.RawMessage("0")})
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-len("0}")]
	return append(append(slices.Grow(b, len(body)+1), body...), '}'), nil
}
