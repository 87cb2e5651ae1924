package journal

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/openmanus-go/openmanus"
)

// ForkID returns the ID of the [openmanus.Interrupted] that ends a fork. It names
// the new session, so that a fork of a fork has another one.
func ForkID(to string) string { return "fork-" + to }

// Fork copies the events of the session from up to seq, or all if seq is 0, with
// their numbers and times, into the new session to. The copy ends with an
// [openmanus.Interrupted], so that calls that were open do not run twice; append a
// message or an [openmanus.Resumed] to go on. Its [openmanus.Opened] says where it
// came from. After all that come the bodies in then. All events are copied, or none.
//
// The journal must be an [openmanus.Restorer]. The error is [openmanus.ErrExists]
// if the new session exists, and [openmanus.ErrNoSession] if the old one does not.
func Fork(
	ctx context.Context, j openmanus.Journal, from string, seq int64, to string, then ...openmanus.Body,
) error {
	r, ok := j.(openmanus.Restorer)
	if !ok {
		return fmt.Errorf("fork: the journal (%T) cannot take over events", j)
	}
	events, err := upTo(ctx, j, from, seq)
	if err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	last := events[len(events)-1].Seq
	events = comeFrom(events, from)
	for i, b := range append([]openmanus.Body{openmanus.Interrupted{ID: ForkID(to)}}, then...) {
		events = append(events, openmanus.Event{Seq: last + 1 + int64(i), Time: Now(), Body: b})
	}
	if err := r.Restore(ctx, to, events); err != nil {
		return fmt.Errorf("fork to %s: %w", to, err)
	}
	return nil
}

// upTo returns the events of a session up to seq, or all if seq is 0.
func upTo(ctx context.Context, j openmanus.Journal, session string, seq int64) (events []openmanus.Event, err error) {
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		if seq > 0 && ev.Seq > seq {
			break
		}
		events = append(events, ev)
	}
	switch last := int64(len(events)); {
	case last == 0:
		return nil, fmt.Errorf("session %q: %w", session, openmanus.ErrNoSession)
	case seq < 0 || seq > last:
		return nil, fmt.Errorf("session %s has no event %d: its last is %d", session, seq, last)
	}
	return events, nil
}

// comeFrom returns events with the origin set in the first one. Bodies of unknown
// types stay unknown in the copy.
func comeFrom(events []openmanus.Event, session string) []openmanus.Event {
	events = slices.Clone(events)
	if o, ok := events[0].Body.(openmanus.Opened); ok {
		foreign := o.From != nil && o.From.Foreign
		o.From = &openmanus.Origin{Session: session, Seq: events[len(events)-1].Seq, Foreign: foreign}
		events[0].Body = o
	}
	return events
}

// Export writes a session to w as JSON Lines, which docs/events.md describes: a
// head, the events, the blobs that they name, and an end with a checksum. It
// writes the same session as the same bytes every time. A session that does not
// exist is an error that is [openmanus.ErrNoSession].
//
// The file has the blobs of [RefsOf]. One that is lost is written as missing if an
// event needs it.
func Export(ctx context.Context, j openmanus.Journal, blobs openmanus.Blobs, session string, w io.Writer) error {
	x := &exporter{blobs: blobs, sum: digest{sha256.New()}}
	x.out = bufio.NewWriter(io.MultiWriter(w, x.sum))
	if err := x.session(ctx, j, session); err != nil {
		return fmt.Errorf("export session %s: %w", session, err)
	}
	return nil
}

type exporter struct {
	blobs openmanus.Blobs
	out   *bufio.Writer
	sum   digest
	refs  []openmanus.Ref         // the blobs that events name, in order: see [RefsOf]
	whole map[openmanus.Ref]int64 // the blobs that events need, and which event does
	end   exportEnd
}

// session writes the whole file.
func (x *exporter) session(ctx context.Context, j openmanus.Journal, session string) error {
	if err := x.line(exportHead{"session", openmanus.FormatVersion, session}); err != nil {
		return err
	}
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return err
		}
		if err := x.event(ev); err != nil {
			return fmt.Errorf("event %d: %w", ev.Seq, err)
		}
	}
	if x.end.Events == 0 {
		return openmanus.ErrNoSession
	}
	for _, ref := range x.refs {
		if err := x.blob(ctx, ref); err != nil {
			return err
		}
	}
	if err := x.out.Flush(); err != nil {
		return err
	}
	x.end.Kind, x.end.SHA256 = "end", x.sum.String()
	if err := x.line(x.end); err != nil {
		return err
	}
	return x.out.Flush()
}

// line writes v as one line.
func (x *exporter) line(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = x.out.Write(append(data, '\n'))
	return err
}

// event writes an event, and notes the blobs that it names for later.
func (x *exporter) event(ev openmanus.Event) error {
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	for _, ref := range RefsOf(ev.Body) {
		if !slices.Contains(x.refs, ref) {
			x.refs = append(x.refs, ref)
		}
	}
	if done, ok := ev.Body.(openmanus.CallDone); ok && done.Whole != "" {
		if x.whole == nil {
			x.whole = make(map[openmanus.Ref]int64)
		}
		x.whole[done.Whole] = ev.Seq
	}
	x.end.Events++
	_, err = x.out.Write(append(data, '\n'))
	return err
}

// blob writes a blob. It skips a text that only looks like the name of one.
func (x *exporter) blob(ctx context.Context, ref openmanus.Ref) error {
	data, err := openmanus.ReadBlob(ctx, x.blobs, ref)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && x.whole[ref] == 0:
		return nil
	case err != nil && !missing:
		return fmt.Errorf("blob %s: %w", ref, err)
	}
	x.end.Blobs++
	return x.line(exportBlob{ref, data, missing})
}

// Import stores a session that [Export] wrote: see [ReadExport] and
// [Exported.Store].
func Import(ctx context.Context, j openmanus.Journal, blobs openmanus.Blobs, to string, r io.Reader) (string, error) {
	restorer, ok := j.(openmanus.Restorer)
	if !ok {
		return "", fmt.Errorf("import: the journal (%T) cannot take over events", j)
	}
	x, err := ReadExport(ctx, r)
	if err != nil {
		return "", err
	}
	return x.Store(ctx, restorer, blobs, to)
}

// Store stores the session as it is in the file: everything or nothing, but for
// blobs.
//
// The session gets the id to, or its own if to is "". With another id, its
// [openmanus.Opened] says where it came from. Store returns the id. The error is
// [openmanus.ErrExists] if the session exists. Calls that are open stay open: append
// an [openmanus.Interrupted] to Events before if they must not run here.
func (x *Exported) Store(ctx context.Context, j openmanus.Restorer, blobs openmanus.Blobs, to string) (string, error) {
	events := x.Events
	switch to {
	case "":
		to = x.Session
	case x.Session:
	default:
		events = comeFrom(events, x.Session)
	}
	for _, data := range x.Blobs {
		if _, err := blobs.Put(ctx, data); err != nil {
			return "", fmt.Errorf("import: %w", err)
		}
	}
	if err := j.Restore(ctx, to, events); err != nil {
		return "", fmt.Errorf("import as %s: %w", to, err)
	}
	return to, nil
}
