// Package feed wakes those who follow sessions of a store.
//
// A follower subscribes before it reads, so no event is missed between the two. Events
// that this process appends are passed on from memory, up to a bound for each session;
// everything else a follower reads from the store itself, when it is woken. A follower
// that is slow holds up neither the writer nor other followers.
package feed

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openmanus-go/openmanus"
)

// Feeds are the sessions that have followers in this process. Appends of this
// process come in by Publish, with the events; the store polls for those of
// other processes, while there are followers, and reports them by Update. All
// methods are safe for concurrent use.
//
// A follower that keeps up gets events from its feed, without a query. One that
// falls behind by more than maxRecent events, or that needs events of other
// processes, reads the database. No event is missed in between, because a
// follower gets the feed's changed channel before it reads: whatever is stored
// after the read closes that channel.
type Feeds struct {
	first  chan struct{} // holds a value after the first feed was added; starts polling
	closed chan struct{} // closed with the store
	err    error         // why followers end then

	mu        sync.Mutex
	bySession map[string]*feed
}

// A feed is what the followers of a session share. All but deleted is guarded
// by Feeds.mu.
type feed struct {
	followers int
	head      int64             // the last known number of events; -1 if unknown
	recent    []openmanus.Event // the events up to head that this process appended last
	changed   chan struct{}     // closed and replaced when there may be more events
	deleted   atomic.Bool       // the session seems to be deleted; the database knows
}

// maxRecent is the most events that a feed remembers.
const maxRecent = 256

// New returns feeds without followers. After Close, they end with the error closed.
func New(closed error) *Feeds {
	return &Feeds{first: make(chan struct{}, 1), closed: make(chan struct{}), err: closed, bySession: make(map[string]*feed)}
}

// First holds a value after the first session got followers.
func (fs *Feeds) First() <-chan struct{} { return fs.first }

// Closed is closed by Close.
func (fs *Feeds) Closed() <-chan struct{} { return fs.closed }

// join returns the feed of a session. The caller must call leave.
func (fs *Feeds) join(session string) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.bySession[session]
	if f == nil {
		f = &feed{head: -1, changed: make(chan struct{})}
		fs.bySession[session] = f
	}
	f.followers++
	if len(fs.bySession) == 1 {
		select {
		case fs.first <- struct{}{}:
		default:
		}
	}
	return f
}

// leave undoes join. A feed without followers is forgotten.
func (fs *Feeds) leave(session string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.bySession[session]; f.followers > 1 {
		f.followers--
		return
	}
	delete(fs.bySession, session)
}

// Any reports whether any session has followers.
func (fs *Feeds) Any() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.bySession) > 0
}

// Names returns the sessions that have followers.
func (fs *Feeds) Names() []string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Collect(maps.Keys(fs.bySession))
}

// since returns the events after a sequence number, if the feed knows all of
// them, and a channel that is closed when there may be more. Called before the
// database is read, it makes sure that no event is missed in between.
func (fs *Feeds) since(f *feed, at int64) (recent []openmanus.Event, known bool, changed <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if n := len(f.recent); n > 0 && f.recent[0].Seq <= at+1 && f.recent[n-1].Seq == f.head {
		return f.recent[min(at+1-f.recent[0].Seq, int64(n)):], true, f.changed
	}
	return nil, false, f.changed
}

// seen records the number of events that a follower has read, unless the number
// is known. Without it, a session that another process deletes would look like
// one that does not exist yet.
func (fs *Feeds) seen(f *feed, head int64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.head < 0 {
		f.head = head
	}
}

// Publish reports events that this process appended. Followers read those that
// are not small from the database.
func (fs *Feeds) Publish(session string, evs []openmanus.Event, small bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.bySession[session]
	if f == nil {
		return
	}
	if n := len(f.recent); n > 0 && f.recent[n-1].Seq+1 != evs[0].Seq {
		f.recent = nil // another process appended in between
	}
	switch {
	case !small:
		f.recent = nil
	case len(f.recent)+len(evs) > maxRecent:
		f.recent = slices.Clone(evs[max(0, len(evs)-maxRecent):])
	default:
		f.recent = append(f.recent, evs...)
	}
	f.setHead(evs[len(evs)-1].Seq)
}

// setHead records the number of events and wakes the followers. Feeds.mu is held.
func (f *feed) setHead(head int64) {
	f.head = head
	f.deleted.Store(false)
	close(f.changed)
	f.changed = make(chan struct{})
}

// Update compares the feeds of sessions with the numbers of events that the
// database has of those that exist, and wakes the followers of those that
// differ.
func (fs *Feeds) Update(names []string, heads map[string]int64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, name := range names {
		f, n := fs.bySession[name], heads[name]
		switch {
		case f == nil || n == f.head:
		case n == 0 && f.head > 0:
			f.markDeleted()
		default:
			f.setHead(n)
		}
	}
}

// markDeleted reports that the session seems to be deleted.
func (f *feed) markDeleted() {
	f.recent = nil
	f.setHead(0)
	f.deleted.Store(true)
}

// Remove reports that this process deleted a session.
func (fs *Feeds) Remove(session string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.bySession[session]; f != nil {
		f.markDeleted()
	}
}

// WakeAll makes all followers read the database.
func (fs *Feeds) WakeAll() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.bySession {
		f.setHead(f.head)
	}
}

// Close ends all followers with the error of New.
func (fs *Feeds) Close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	close(fs.closed)
}

// A Read returns stored events of a session after a number, in order, some of them and
// not all if there are many, and how many events the session has; 0: it does not exist.
// Events before an error are returned with it.
type Read func(ctx context.Context, session string, after int64) (page []openmanus.Event, last int64, err error)

// Follow yields the events of a session after a number as [openmanus.Journal] has it.
func (fs *Feeds) Follow(ctx context.Context, session string, after int64, read Read) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		until := func(ev openmanus.Event, err error) bool { return ctx.Err() == nil && yield(ev, err) }
		f := fs.join(session)
		defer fs.leave(session)
		for at := max(after, 0); ; {
			next, more, err := fs.step(ctx, f, session, at, read, until)
			switch {
			case ctx.Err() != nil || !more:
				return
			case err != nil:
				yield(openmanus.Event{}, err)
				return
			}
			at = next
		}
	}
}

// step yields the events after at, or waits until there may be some. more is
// false if the caller wants no more events.
func (fs *Feeds) step(
	ctx context.Context, f *feed, session string, at int64, read Read, yield func(openmanus.Event, error) bool,
) (next int64, more bool, err error) {
	recent, known, changed := fs.since(f, at)
	if !known {
		page, last, err := read(ctx, session, at)
		if n := len(page); n > 0 {
			fs.seen(f, page[n-1].Seq)
		} else if err == nil {
			fs.seen(f, at)
		}
		for _, ev := range page {
			if !yield(ev, nil) {
				return at, false, nil
			}
			at = ev.Seq
		}
		if err != nil || len(page) > 0 {
			return at, true, err
		}
		if f.deleted.Load() && last == 0 {
			return at, true, fmt.Errorf("session %s was deleted: %w", session, openmanus.ErrNoSession)
		}
	}
	for _, ev := range recent {
		if !yield(ev, nil) {
			return at, false, nil
		}
		at = ev.Seq
	}
	if len(recent) > 0 {
		return at, true, nil
	}
	select {
	case <-changed:
		return at, true, nil
	case <-ctx.Done():
		return at, false, nil
	case <-fs.closed:
		return at, true, fs.err
	}
}
