package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/journal"
)

// A recorder is a runtime that records what is done with sessions, in order.
type recorder struct {
	scheduler *scheduler
	work      time.Duration // how long a wake takes

	mu    sync.Mutex
	notes []string
}

func (p *recorder) note(what ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprint(what...))
}

func (p *recorder) Wake(ctx context.Context, session string) error {
	p.note("wake " + session)
	select {
	case <-time.After(p.work):
	case <-ctx.Done():
		p.note("cancel " + session)
	}
	return ctx.Err()
}

func (p *recorder) hold(of journal.SessionInfo) func() {
	p.note("hold " + of.ID)
	return func() { p.note("release " + of.ID) }
}

// schedule runs a story with a scheduler whose idle timeout is ten minutes, and
// checks what was done with the sessions.
func schedule(t *testing.T, story func(*recorder), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &recorder{work: time.Minute}
		p.scheduler = newScheduler(t.Context(), p, func(session string, err error) { p.note("failed ", session, err) })
		p.scheduler.idle, p.scheduler.idleMost, p.scheduler.hold = 10*time.Minute, 3, p.hold
		story(p)
		p.scheduler.close()
		if !slices.Equal(p.notes, want) {
			t.Errorf("the scheduler did %q\nwant %q", p.notes, want)
		}
	})
}

// after lets time pass, and waits until all timers that are due have run.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestReleasesIdleSessions(t *testing.T) {
	one := journal.SessionInfo{ID: "one"}
	schedule(t, func(p *recorder) {
		p.scheduler.wake(one)
		after(time.Minute)
		after(10*time.Minute - 1)
		if _, held := p.scheduler.count(); held != 1 {
			t.Errorf("%d sessions hold resources before the idle timeout", held)
		}
		after(1)
		if driven, held := p.scheduler.count(); driven != 0 || held != 0 {
			t.Errorf("%d sessions are driven and %d hold resources afterwards", driven, held)
		}
		p.scheduler.wake(one)
		after(time.Hour)
	}, "hold one", "wake one", "release one", "hold one", "wake one", "release one")
}

func TestWakingKeepsResources(t *testing.T) {
	one := journal.SessionInfo{ID: "one"}
	schedule(t, func(p *recorder) {
		for range 3 {
			p.scheduler.wake(one)
			after(10 * time.Minute) // it is driven for one of them
		}
		p.scheduler.wake(one)
		p.scheduler.wake(one) // while it is driven
		after(time.Hour)
	}, "hold one", "wake one", "wake one", "wake one", "wake one", "wake one", "release one")
}

// A session that is driven for longer than the idle timeout keeps its resources.
func TestKeepsResourcesWhileDriven(t *testing.T) {
	schedule(t, func(p *recorder) {
		p.work = time.Hour
		p.scheduler.wake(journal.SessionInfo{ID: "one"})
		after(time.Hour - 1)
	}, "hold one", "wake one", "cancel one")
}

// A session that is woken during the release of its resources is driven after
// it.
func TestWakeDuringRelease(t *testing.T) {
	one := journal.SessionInfo{ID: "one"}
	schedule(t, func(p *recorder) {
		p.scheduler.hold = func(journal.SessionInfo) func() {
			return func() {
				p.note("release starts")
				time.Sleep(time.Minute)
				p.note("release ends")
			}
		}
		p.scheduler.wake(one)
		after(11*time.Minute + 30*time.Second)
		p.scheduler.wake(one)
		if driven, _ := p.scheduler.count(); driven != 0 {
			t.Error("the session is driven during the release")
		}
		after(5 * time.Minute)
	}, "wake one", "release starts", "release ends", "wake one")
}

// The resources of a session that never had a message are released too; those
// of a deleted session, at once.
func TestReleasesUnusedSessions(t *testing.T) {
	one, two := journal.SessionInfo{ID: "one"}, journal.SessionInfo{ID: "two"}
	schedule(t, func(p *recorder) {
		for _, of := range []journal.SessionInfo{one, two} {
			end, ok := p.scheduler.reserve(of)
			if !ok {
				t.Fatal("the session cannot be reserved")
			}
			if _, ok := p.scheduler.reserve(of); ok {
				t.Error("the session can be reserved twice")
			}
			p.scheduler.acquire(of)
			end()
		}
		after(time.Minute)
		end, _ := p.scheduler.reserve(two)
		p.scheduler.release("two")
		end()
		after(time.Hour)
	}, "hold one", "hold two", "release two", "release one")
}

func TestCountsDriven(t *testing.T) {
	ann, other, bob := journal.SessionInfo{ID: "1", Owner: "ann"}, journal.SessionInfo{ID: "2", Owner: "ann"}, journal.SessionInfo{ID: "3", Owner: "bob"}
	schedule(t, func(p *recorder) {
		p.scheduler.hold = nil
		p.scheduler.wake(ann)
		p.scheduler.wake(bob)
		if it, all := p.scheduler.driven(ann); !it || all != 1 {
			t.Errorf("%v, %d", it, all)
		}
		if it, all := p.scheduler.driven(other); it || all != 1 {
			t.Errorf("%v, %d", it, all)
		}
		after(time.Second)
		after(time.Hour)
		slices.Sort(p.notes)
	}, "wake 1", "wake 3")
}

// The idle sessions that were used last keep their resources, also without an idle timeout.
// One that works does not count, however long it takes.
func TestReleasesTheSessionsThatWereIdleLongest(t *testing.T) {
	schedule(t, func(p *recorder) {
		p.scheduler.idle = 0
		var works []func()
		for i := range 6 { // all at once
			of := journal.SessionInfo{ID: fmt.Sprint(i)}
			end, _ := p.scheduler.reserve(of)
			p.scheduler.acquire(of)
			works = append(works, end)
		}
		for _, i := range []int{5, 1, 2, 3, 0} {
			after(time.Second)
			works[i]()
		}
		synctest.Wait()
		if _, held := p.scheduler.count(); held != 4 {
			t.Errorf("%d sessions hold resources, and not the one that works and three others", held)
		}
		p.scheduler.wake(journal.SessionInfo{ID: "2"})
		after(time.Hour)
		works[4]()
		synctest.Wait()
	}, "hold 0", "hold 1", "hold 2", "hold 3", "hold 4", "hold 5", "release 5", "release 1", "wake 2", "release 3")
}

// Sessions that end while an earlier one is still being let go make room as well.
func TestReleasesAsManyAsAreTooMany(t *testing.T) {
	schedule(t, func(p *recorder) {
		p.work = time.Second
		var mu sync.Mutex
		released := 0
		p.scheduler.hold = func(journal.SessionInfo) func() {
			return func() {
				time.Sleep(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				released++
			}
		}
		for i := range 20 {
			p.scheduler.wake(journal.SessionInfo{ID: fmt.Sprint(i)})
		}
		after(2 * time.Minute)
		if _, held := p.scheduler.count(); held != 3 || released != 17 {
			t.Errorf("%d sessions hold resources, and %d were released", held, released)
		}
		p.notes = nil
	})
}

// When the process runs short of descriptors or memory, half of the idle sessions are let go.
func TestReleasesMoreWhenResourcesRunShort(t *testing.T) {
	schedule(t, func(p *recorder) {
		p.scheduler.idleMost = 100
		for i := range 4 {
			p.scheduler.short = func() bool { return i == 3 }
			p.scheduler.wake(journal.SessionInfo{ID: fmt.Sprint(i)})
			after(2 * time.Minute)
		}
		slices.Sort(p.notes[8:]) // at the same time
	}, "hold 0", "wake 0", "hold 1", "wake 1", "hold 2", "wake 2", "hold 3", "wake 3", "release 0", "release 1")
}

// A worker waits until there is room, looks again and again, and gives up with its context.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := &Server{scheduler: newScheduler(t.Context(), nil, nil)}
		s.Short = func() bool { asked++; return asked < 4 }
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Room(ctx); err != nil || asked != 4 || time.Since(begun) != 1500*time.Millisecond {
			t.Errorf("%v after %d looks in %v", err, asked, time.Since(begun))
		}
		s.Short = func() bool { return true }
		if err := s.Room(ctx); err == nil {
			t.Error("there is room where there is none")
		}
	})
}
