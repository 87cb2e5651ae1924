package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store"
)

// step returns what one step of an agent appends, in its two commits.
func step(n int) (said, done []openmanus.Body) {
	id := fmt.Sprintf("c%d-0", n)
	return []openmanus.Body{
			openmanus.ModelSaid{Turn: n, Re: int64(4*n + 2), Stop: llm.ToolUse, Usage: llm.Usage{Input: 4000, Output: 60}, Cost: 12, Message: llm.Message{
				Role: llm.Assistant, Parts: llm.Parts{
					llm.Text{Text: "I will look at the file to see which months are the best."},
					llm.Call{ID: id, Name: "bash", Input: `{"command":"head -n 20 sales.csv"}`},
				},
			}},
			openmanus.Ruled{Call: id, Allow: true, By: "gate", Rule: "mode all"},
			openmanus.CallStarted{Call: id, Attempt: 1, Worker: "host/4711"},
		}, []openmanus.Body{
			openmanus.CallDone{Call: id, Parts: llm.Parts{llm.Text{Text: strings.Repeat("2025-01,1234.56\n", 40)}}},
		}
}

func begin(b testing.TB, db *store.DB, session string) {
	if _, err := db.Append(b.Context(), session, openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion}, openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, "best months?")}); err != nil {
		b.Fatal(err)
	}
}

func takeStep(b testing.TB, db *store.DB, session string, n int) {
	said, done := step(n)
	if _, err := db.Append(b.Context(), session, said...); err != nil {
		b.Error(err)
	}
	if _, err := db.Append(b.Context(), session, done...); err != nil {
		b.Error(err)
	}
}

// BenchmarkStep measures the two synced commits of one step of one session.
func BenchmarkStep(b *testing.B) {
	db := open(b, b.TempDir(), nil)
	begin(b, db, "s")
	n := 0
	for b.Loop() {
		takeStep(b, db, "s", n)
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(2*b.N), "µs/commit")
}

// BenchmarkSessions measures events a second of 64 sessions that take steps
// at once.
func BenchmarkSessions(b *testing.B) {
	db := open(b, b.TempDir(), nil)
	const sessions = 64
	for i := range sessions {
		begin(b, db, fmt.Sprint(i))
	}
	n := 0
	for b.Loop() {
		var wg sync.WaitGroup
		for i := range sessions {
			wg.Go(func() { takeStep(b, db, fmt.Sprint(i), n) })
		}
		wg.Wait()
		n++
	}
	b.ReportMetric(float64(4*sessions*n)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkOpen measures opening and closing an existing store.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	open(b, dir, nil)
	for b.Loop() {
		db, err := store.Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstOpen measures opening a new store.
func BenchmarkFirstOpen(b *testing.B) {
	for b.Loop() {
		db, err := store.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvents measures the reading of a session of 4,000 events.
func BenchmarkEvents(b *testing.B) {
	db := open(b, b.TempDir(), nil)
	begin(b, db, "s")
	for n := range 1000 {
		takeStep(b, db, "s", n)
	}
	for b.Loop() {
		n := 0
		for _, err := range db.Events(b.Context(), "s", 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 4002 {
			b.Fatalf("%d events", n)
		}
	}
}

// BenchmarkBigString measures an append with a string that goes to the blobs.
func BenchmarkBigString(b *testing.B) {
	db := open(b, b.TempDir(), nil)
	begin(b, db, "s")
	n := 0
	for b.Loop() {
		text := fmt.Sprint(n) + strings.Repeat("0123456789", 1000)
		if _, err := db.Append(b.Context(), "s", openmanus.CallDone{Call: fmt.Sprint(n), Parts: llm.Parts{llm.Text{Text: text}}}); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkRestore measures the restoring of a session of 10,000 events.
func BenchmarkRestore(b *testing.B) {
	db := open(b, b.TempDir(), nil)
	var evs []openmanus.Event
	for n := range 10_000 {
		body := openmanus.Body(openmanus.Noted{ID: fmt.Sprint(n), Text: strings.Repeat("words ", 100)})
		if n == 0 {
			body = openmanus.Opened{}
		}
		evs = append(evs, openmanus.Event{Seq: int64(n) + 1, Time: journal.Now(), Body: body})
	}
	n := 0
	for b.Loop() {
		if err := db.Restore(b.Context(), fmt.Sprint("s", n), evs); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
