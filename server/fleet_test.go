package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/store"
)

// A port is a runtime that notes what is done with sessions, in order.
type port struct {
	fleet *fleet
	work  time.Duration // that a wake takes

	mu    sync.Mutex
	notes []string
}

func (p *port) note(what ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprint(what...))
}

func (p *port) Wake(ctx context.Context, session string) error {
	p.note("wake " + session)
	select {
	case <-time.After(p.work):
	case <-ctx.Done():
		p.note("cancel " + session)
	}
	return ctx.Err()
}

func (p *port) keep(of store.Info) func() {
	p.note("keep " + of.ID)
	return func() { p.note("release " + of.ID) }
}

// sail runs a story of a fleet whose sessions rest for ten minutes, and checks
// what was done with them.
func sail(t *testing.T, story func(*port), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &port{work: time.Minute}
		p.fleet = newFleet(t.Context(), p, func(session string, err error) { p.note("failed ", session, err) })
		p.fleet.idle, p.fleet.keep = 10*time.Minute, p.keep
		story(p)
		p.fleet.close()
		if !slices.Equal(p.notes, want) {
			t.Errorf("what was done is %q\nwant %q", p.notes, want)
		}
	})
}

// after lets time pass, and all that is due happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestWhatRestsIsLetGoOf(t *testing.T) {
	one := store.Info{ID: "one"}
	sail(t, func(p *port) {
		p.fleet.wake(one)
		after(time.Minute)
		after(10*time.Minute - 1)
		if _, held := p.fleet.count(); held != 1 {
			t.Errorf("%d are held before the time is over", held)
		}
		after(1)
		if driven, held := p.fleet.count(); driven != 0 || held != 0 {
			t.Errorf("%d are driven and %d held afterwards", driven, held)
		}
		p.fleet.wake(one)
		after(time.Hour)
	}, "keep one", "wake one", "release one", "keep one", "wake one", "release one")
}

func TestWhoSpeaksKeepsTheSession(t *testing.T) {
	one := store.Info{ID: "one"}
	sail(t, func(p *port) {
		for range 3 {
			p.fleet.wake(one)
			after(10 * time.Minute) // of which it works one
		}
		p.fleet.wake(one)
		p.fleet.wake(one) // spoken to while it works
		after(time.Hour)
	}, "keep one", "wake one", "wake one", "wake one", "wake one", "wake one", "release one")
}

// A session that is at work for longer than others rest is left alone.
func TestWhatWorksIsNotLetGoOf(t *testing.T) {
	sail(t, func(p *port) {
		p.work = time.Hour
		p.fleet.wake(store.Info{ID: "one"})
		after(time.Hour - 1)
	}, "keep one", "wake one", "cancel one")
}

// Who speaks while a session is being let go of waits for that.
func TestWhoSpeaksWhileItIsLetGoOf(t *testing.T) {
	one := store.Info{ID: "one"}
	sail(t, func(p *port) {
		p.fleet.keep = func(store.Info) func() {
			return func() {
				p.note("release begins")
				time.Sleep(time.Minute)
				p.note("release ends")
			}
		}
		p.fleet.wake(one)
		after(11*time.Minute + 30*time.Second)
		p.fleet.wake(one)
		if driven, _ := p.fleet.count(); driven != 0 {
			t.Error("it is driven while it is let go of")
		}
		after(5 * time.Minute)
	}, "wake one", "release begins", "release ends", "wake one")
}

// What was opened and never spoken to is let go of as well; what is deleted,
// at once.
func TestWhatWasOnlyOpened(t *testing.T) {
	one, two := store.Info{ID: "one"}, store.Info{ID: "two"}
	sail(t, func(p *port) {
		for _, of := range []store.Info{one, two} {
			end, ok := p.fleet.take(of)
			if !ok {
				t.Fatal("it cannot be taken")
			}
			if _, ok := p.fleet.take(of); ok {
				t.Error("it can be taken twice")
			}
			p.fleet.hold(of)
			end()
		}
		after(time.Minute)
		end, _ := p.fleet.take(two)
		p.fleet.release("two")
		end()
		after(time.Hour)
	}, "keep one", "keep two", "release two", "release one")
}

func TestHowManyAreDriven(t *testing.T) {
	ann, other, bob := store.Info{ID: "1", Owner: "ann"}, store.Info{ID: "2", Owner: "ann"}, store.Info{ID: "3", Owner: "bob"}
	sail(t, func(p *port) {
		p.fleet.keep = nil
		p.fleet.wake(ann)
		p.fleet.wake(bob)
		if it, all := p.fleet.driven(ann); !it || all != 1 {
			t.Errorf("%v, %d", it, all)
		}
		if it, all := p.fleet.driven(other); it || all != 1 {
			t.Errorf("%v, %d", it, all)
		}
		after(time.Second)
		after(time.Hour)
		slices.Sort(p.notes)
	}, "wake 1", "wake 3")
}
