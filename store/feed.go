package store

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openmanus-go/openmanus"
)

// feeds are the sessions that have followers in this process. Appends of this
// process come in by publish, with the events; the writer polls for those of
// other processes, while there are followers, and reports them by update. All
// methods are safe for concurrent use.
//
// A follower that keeps up gets events from its feed, without a query. One that
// falls behind by more than maxRecent events, or that needs events of other
// processes, reads the database. No event is missed in between, because a
// follower gets the feed's changed channel before it reads: whatever is stored
// after the read closes that channel.
type feeds struct {
	first  chan struct{} // holds a value after the first feed was added; starts polling
	closed chan struct{} // closed with the store

	mu        sync.Mutex
	bySession map[string]*feed
}

// A feed is what the followers of a session share. All but deleted is guarded
// by feeds.mu.
type feed struct {
	followers int
	head      int64             // the last known number of events; -1 if unknown
	recent    []openmanus.Event // the events up to head that this process appended last
	changed   chan struct{}     // closed and replaced when there may be more events
	deleted   atomic.Bool       // the session seems to be deleted; the database knows
}

// maxRecent is the most events that a feed remembers.
const maxRecent = 256

// newFeeds returns feeds without subscribers.
func newFeeds() *feeds {
	return &feeds{first: make(chan struct{}, 1), closed: make(chan struct{}), bySession: make(map[string]*feed)}
}

// join returns the feed of a session. The caller must call leave.
func (fs *feeds) join(session string) *feed {
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
func (fs *feeds) leave(session string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.bySession[session]; f.followers > 1 {
		f.followers--
		return
	}
	delete(fs.bySession, session)
}

// any reports whether any session has followers.
func (fs *feeds) any() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.bySession) > 0
}

// names returns the sessions that have followers.
func (fs *feeds) names() []string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	names := make([]string, 0, len(fs.bySession))
	for name := range fs.bySession {
		names = append(names, name)
	}
	return names
}

// since returns the events after a sequence number, if the feed knows all of
// them, and a channel that is closed when there may be more. Called before the
// database is read, it makes sure that no event is missed in between.
func (fs *feeds) since(f *feed, at int64) (recent []openmanus.Event, known bool, changed <-chan struct{}) {
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
func (fs *feeds) seen(f *feed, head int64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.head < 0 {
		f.head = head
	}
}

// publish reports events that this process appended. Followers read those that
// are not small from the database.
func (fs *feeds) publish(session string, evs []openmanus.Event, small bool) {
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

// setHead records the number of events and wakes the followers. feeds.mu is held.
func (f *feed) setHead(head int64) {
	f.head = head
	f.deleted.Store(false)
	close(f.changed)
	f.changed = make(chan struct{})
}

// update compares the feeds of sessions with the numbers of events that the
// database has of those that exist, and wakes the followers of those that
// differ.
func (fs *feeds) update(names []string, heads map[string]int64) {
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

// remove reports that this process deleted a session.
func (fs *feeds) remove(session string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.bySession[session]; f != nil {
		f.markDeleted()
	}
}

// wakeAll makes all followers read the database.
func (fs *feeds) wakeAll() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.bySession {
		f.setHead(f.head)
	}
}

// close ends all followers with [ErrClosed].
func (fs *feeds) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	close(fs.closed)
}
