package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A Recording is a session with those below it, as they were recorded. It does not
// change while it is replayed.
type Recording struct {
	// Sessions are the session itself and then the others, each after the one that
	// opened it.
	Sessions []Session

	blobs *journal.Memory
	lost  map[openmanus.Ref]bool // blobs that an event names and the recording lacks
}

// A Session is the journal of one session.
type Session struct {
	ID     string
	Events []openmanus.Event
}

// session returns the events of a session, or none.
func (r *Recording) session(id string) []openmanus.Event {
	for _, s := range r.Sessions {
		if s.ID == id {
			return s.Events
		}
	}
	return nil
}

// Load reads a session and those below it from a journal. A session that does not
// exist is an error that is [openmanus.ErrNoSession]; one below it that does not, such
// as one that was deleted, is left out.
func Load(ctx context.Context, j openmanus.Journal, blobs openmanus.Blobs, session string) (*Recording, error) {
	r := &Recording{blobs: new(journal.Memory), lost: make(map[openmanus.Ref]bool)}
	if err := r.load(ctx, j, blobs, session); err != nil {
		return nil, err
	}
	if len(r.Sessions) == 0 {
		return nil, fmt.Errorf("session %q: %w", session, openmanus.ErrNoSession)
	}
	return r, nil
}

func (r *Recording) load(ctx context.Context, j openmanus.Journal, blobs openmanus.Blobs, session string) error {
	var events []openmanus.Event
	var children []string
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return err
		}
		events = append(events, ev)
		if c, ok := ev.Body.(openmanus.ChildOpened); ok {
			children = append(children, c.Child)
		}
		for _, ref := range journal.RefsOf(ev.Body) {
			if err := r.copyBlob(ctx, blobs, ref); err != nil {
				return fmt.Errorf("session %s, event %d: %w", session, ev.Seq, err)
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	r.Sessions = append(r.Sessions, Session{session, events})
	for _, c := range children {
		if err := r.load(ctx, j, blobs, c); err != nil {
			return err
		}
	}
	return nil
}

// copyBlob keeps a blob, or remembers that it is lost.
func (r *Recording) copyBlob(ctx context.Context, from openmanus.Blobs, ref openmanus.Ref) error {
	data, err := openmanus.ReadBlob(ctx, from, ref)
	if errors.Is(err, fs.ErrNotExist) {
		r.lost[ref] = true
		return nil
	}
	if err != nil {
		return err
	}
	_, err = r.blobs.Put(ctx, data)
	return err
}

// head is how the first line of an export begins.
var head = []byte(`{"openmanus":"session"`)

// Read reads a recording from a file: that of a [Recording.Write], or what openmanus
// sessions export wrote. The error says what is wrong with the file.
func Read(ctx context.Context, from io.Reader) (*Recording, error) {
	in := bufio.NewReader(from)
	all := new(journal.Memory)
	first := ""
	for rest := true; rest; {
		var one []byte
		var err error
		if one, rest, err = nextExport(in); err != nil {
			return nil, err
		}
		id, err := journal.Import(ctx, all, all, "", bytes.NewReader(one))
		if err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		first = cmp.Or(first, id)
	}
	return Load(ctx, all, all, first)
}

// nextExport returns the bytes of the next export in a file that has one after the
// other, and whether another one follows.
func nextExport(in *bufio.Reader) (one []byte, more bool, err error) {
	for {
		line, err := in.ReadBytes('\n')
		one = append(one, line...)
		if err == io.EOF {
			return one, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("recording: %w", err)
		}
		if next, _ := in.Peek(len(head)); bytes.Equal(next, head) {
			return one, true, nil
		}
	}
}

// Write writes the recording to a file that [Read] reads: the exports of its sessions,
// one after the other, as docs/events.md describes them. It writes the same recording
// as the same bytes every time.
func (r *Recording) Write(ctx context.Context, to io.Writer) error {
	j, err := r.journal(ctx)
	if err != nil {
		return err
	}
	for _, s := range r.Sessions {
		if err := journal.Export(ctx, j, r.blobs, s.ID, to); err != nil {
			return err
		}
	}
	return nil
}

// journal returns a journal with the sessions.
func (r *Recording) journal(ctx context.Context) (*journal.Memory, error) {
	j := new(journal.Memory)
	for _, s := range r.Sessions {
		if err := j.Restore(ctx, s.ID, s.Events); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	return j, nil
}

// replayable returns an error if the recording cannot be replayed, whatever the
// program does.
func (r *Recording) replayable() error {
	for _, s := range r.Sessions {
		o, ok := s.Events[0].Body.(openmanus.Opened)
		switch {
		case !ok:
			return fmt.Errorf("session %s cannot be replayed: it does not begin with an opened event", s.ID)
		case o.Version < 2:
			return fmt.Errorf("session %s cannot be replayed: it has version %d of the journal format, "+
				"which did not record enough; it can be read, exported and resumed", s.ID, o.Version)
		case o.Version > openmanus.FormatVersion:
			return fmt.Errorf("session %s cannot be replayed: it has version %d of the journal format, and this "+
				"program knows versions up to %d; use a newer one", s.ID, o.Version, openmanus.FormatVersion)
		}
		i := slices.IndexFunc(s.Events, func(ev openmanus.Event) bool { _, foreign := ev.Body.(openmanus.Foreign); return foreign })
		if i >= 0 {
			return fmt.Errorf("session %s cannot be replayed: event %d is of the type %q, which this version does not know; "+
				"use a newer one", s.ID, s.Events[i].Seq, openmanus.TypeName(s.Events[i].Body))
		}
		for _, ev := range s.Events {
			if done, ok := ev.Body.(openmanus.CallDone); ok && r.lost[done.Whole] {
				return fmt.Errorf("session %s cannot be replayed: event %d, the result of %s, needs the blob %s, which is lost",
					s.ID, ev.Seq, done.Call, done.Whole)
			}
		}
	}
	return nil
}
