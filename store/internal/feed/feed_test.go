package feed

import (
	"testing"

	"github.com/openmanus-go/openmanus"
)

func numbered(from, to int64) (evs []openmanus.Event) {
	for seq := from; seq <= to; seq++ {
		evs = append(evs, openmanus.Event{Seq: seq})
	}
	return evs
}

// TestFeedHasNoGaps appends in this process and in others, in turns, and reads
// from every sequence number.
func TestFeedHasNoGaps(t *testing.T) {
	for what, happens := range map[string]func(*Feeds){
		"only here": func(fs *Feeds) { fs.Publish("s", numbered(1, 3), true); fs.Publish("s", numbered(4, 5), true) },
		"elsewhere, noticed": func(fs *Feeds) {
			fs.Publish("s", numbered(1, 3), true)
			see(fs, 4)
			fs.Publish("s", numbered(5, 5), true)
		},
		"elsewhere, not noticed": func(fs *Feeds) { fs.Publish("s", numbered(1, 3), true); fs.Publish("s", numbered(5, 5), true) },
		"elsewhere, noticed too late": func(fs *Feeds) {
			fs.Publish("s", numbered(1, 3), true)
			fs.Publish("s", numbered(5, 5), true)
			see(fs, 5)
		},
		"big ones in between": func(fs *Feeds) {
			fs.Publish("s", numbered(1, 3), true)
			fs.Publish("s", numbered(4, 4), false)
			fs.Publish("s", numbered(5, 5), true)
		},
		"joined late": func(fs *Feeds) { see(fs, 4); fs.Publish("s", numbered(5, 5), true) },
		"deleted and made anew": func(fs *Feeds) {
			fs.Publish("s", numbered(1, 9), true)
			fs.Remove("s")
			fs.Publish("s", numbered(1, 5), true)
		},
	} {
		fs := New(nil)
		f := fs.join("s")
		happens(fs)
		for at := int64(0); at <= 7; at++ {
			recent, known, _ := fs.since(f, at)
			if !known {
				continue // who asks reads the database
			}
			for i, ev := range recent {
				if ev.Seq != at+int64(i)+1 {
					t.Errorf("%s: after %d it yields %d at place %d", what, at, ev.Seq, i)
				}
			}
			if at < 5 && (len(recent) == 0 || recent[len(recent)-1].Seq != 5) {
				t.Errorf("%s: after %d it yields %v, and not all up to 5", what, at, recent)
			}
		}
		if _, known, _ := fs.since(f, 4); !known {
			t.Errorf("%s: the last event is not known to who has just read the one before", what)
		}
	}
}

func see(fs *Feeds, n int64) { fs.Update([]string{"s"}, map[string]int64{"s": n}) }

func TestFeedIsBounded(t *testing.T) {
	fs := New(nil)
	f := fs.join("s")
	for seq := int64(1); seq <= 10*maxRecent; seq += 3 {
		fs.Publish("s", numbered(seq, seq+2), true)
		if len(f.recent) > maxRecent {
			t.Fatalf("it keeps %d events", len(f.recent))
		}
	}
	fs.Publish("s", numbered(10*maxRecent+3, 20*maxRecent), true)
	if len(f.recent) > maxRecent {
		t.Fatalf("it keeps %d events", len(f.recent))
	}
	fs.leave("s")
	if len(fs.bySession) != 0 || fs.Any() {
		t.Error("a feed that nobody follows is kept")
	}
}
