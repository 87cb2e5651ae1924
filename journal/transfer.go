package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/openmanus-go/openmanus"
)

// A Keeper keeps sessions with their blobs.
type Keeper interface {
	openmanus.Journal
	openmanus.Blobs
}

// Transfer copies a session from one store to another one, which must be an
// [openmanus.Restorer], with its numbers, times and blobs, and reads both to compare. It
// stays the same session: unlike one that [Import] reads, it keeps its configuration.
// The caller holds its lease, so that it does not grow meanwhile.
//
// The error is [openmanus.ErrExists] if the session is there already, and the same, and
// [openmanus.ErrConflict] if it is there and differs. A blob that is missing in from is
// left out.
func Transfer(ctx context.Context, from, to Keeper, session string) error {
	restorer, ok := to.(openmanus.Restorer)
	if !ok {
		return fmt.Errorf("copy session %s: the journal (%T) cannot take over events", session, to)
	}
	events, err := upTo(ctx, from, session, 0)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	for _, ev := range events {
		for _, ref := range append(RefsOf(ev.Body), PacksOf(ev.Body)...) {
			if err := transferBlob(ctx, from, to, ref); err != nil {
				return fmt.Errorf("copy session %s: event %d: blob %s: %w", session, ev.Seq, ref, err)
			}
		}
	}
	stored := restorer.Restore(ctx, session, events)
	if stored != nil && !errors.Is(stored, openmanus.ErrExists) {
		return fmt.Errorf("copy session %s: %w", session, stored)
	}
	if err := sameEvents(ctx, from, to, session); err != nil {
		return err
	}
	return stored
}

// transferBlob copies a blob, unless it is missing.
func transferBlob(ctx context.Context, from, to openmanus.Blobs, ref openmanus.Ref) error {
	data, err := openmanus.ReadBlob(ctx, from, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	put, err := to.Put(ctx, data)
	if err == nil && put != ref {
		err = fmt.Errorf("its content is that of %s", put)
	}
	return err
}

// sameEvents returns an [openmanus.ErrConflict] that names the first event that two
// stores do not have alike.
func sameEvents(ctx context.Context, a, b openmanus.Journal, session string) error {
	next, stop := iter.Pull2(EventsJSON(ctx, b, session, 0))
	defer stop()
	differ := func(seq int64) error {
		return fmt.Errorf("copy session %s: the stores differ from event %d on: %w", session, seq, openmanus.ErrConflict)
	}
	last := int64(0)
	for ev, err := range EventsJSON(ctx, a, session, 0) {
		if err != nil {
			return err
		}
		other, err, ok := next()
		switch {
		case ok && err != nil:
			return err
		case !ok || !bytes.Equal(ev.JSON, other.JSON):
			return differ(ev.Seq)
		}
		last = ev.Seq
	}
	if _, err, ok := next(); ok {
		return errors.Join(err, differ(last+1))
	}
	return nil
}
