package store

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openmanus-go/openmanus"
)

// feeds are the sessions that somebody follows.
type feeds struct {
	kick   chan struct{} // holds one if the first follower came
	closed chan struct{}

	mu sync.Mutex
	of map[string]*feed
}

// A feed is what the followers of a session share.
type feed struct {
	followers int
	head      int64             // how many events there are known to be; -1 if nobody looked
	recent    []openmanus.Event // the last of them, as far as this process appended them
	grown     chan struct{}     // closed and replaced when there may be more
	gone      atomic.Bool       // the session seems to have been deleted: look
}

// keep is how many events a feed remembers.
const keep = 256

func newFeeds() *feeds {
	return &feeds{kick: make(chan struct{}, 1), closed: make(chan struct{}), of: make(map[string]*feed)}
}

func (fs *feeds) join(session string) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.of[session]
	if f == nil {
		f = &feed{head: -1, grown: make(chan struct{})}
		fs.of[session] = f
	}
	f.followers++
	if len(fs.of) == 1 {
		select {
		case fs.kick <- struct{}{}:
		default:
		}
	}
	return f
}

func (fs *feeds) leave(session string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.of[session]; f.followers > 1 {
		f.followers--
		return
	}
	delete(fs.of, session)
}

func (fs *feeds) any() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.of) > 0
}

func (fs *feeds) names() []string {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	names := make([]string, 0, len(fs.of))
	for name := range fs.of {
		names = append(names, name)
	}
	return names
}

// since returns the events after a number, if the feed knows them all, and a
// channel that is closed when there may be more.
func (fs *feeds) since(f *feed, at int64) (recent []openmanus.Event, known bool, grown <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if n := len(f.recent); n > 0 && f.recent[0].Seq <= at+1 && f.recent[n-1].Seq == f.head {
		return f.recent[min(at+1-f.recent[0].Seq, int64(n)):], true, f.grown
	}
	return nil, false, f.grown
}

// noticed says that a follower read so far: who looks later knows from it that
// the session was there.
func (fs *feeds) noticed(f *feed, head int64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.head < 0 {
		f.head = head
	}
}

// publish tells followers what was appended here. What is not small they read
// from the database.
func (fs *feeds) publish(session string, evs []openmanus.Event, small bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.of[session]
	if f == nil {
		return
	}
	if n := len(f.recent); n > 0 && f.recent[n-1].Seq+1 != evs[0].Seq {
		f.recent = nil // others appended in between
	}
	switch {
	case !small:
		f.recent = nil
	case len(f.recent)+len(evs) > keep:
		f.recent = slices.Clone(evs[max(0, len(evs)-keep):])
	default:
		f.recent = append(f.recent, evs...)
	}
	f.grow(evs[len(evs)-1].Seq)
}

// grow says that the session has so many events.
func (f *feed) grow(head int64) {
	f.head = head
	f.gone.Store(false)
	close(f.grown)
	f.grown = make(chan struct{})
}

// look compares what is known of sessions with how many events the database
// has of those that exist, and wakes the followers of those that changed.
func (fs *feeds) look(names []string, heads map[string]int64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, name := range names {
		f, n := fs.of[name], heads[name]
		switch {
		case f == nil || n == f.head:
		case n == 0 && f.head > 0:
			f.lose()
		default:
			f.grow(n)
		}
	}
}

// lose says that the session seems to have been deleted.
func (f *feed) lose() {
	f.recent = nil
	f.grow(0)
	f.gone.Store(true)
}

// remove tells followers that a session was deleted here.
func (fs *feeds) remove(session string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.of[session]; f != nil {
		f.lose()
	}
}

func (fs *feeds) wakeAll() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.of {
		f.grow(f.head)
	}
}

func (fs *feeds) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	close(fs.closed)
}
