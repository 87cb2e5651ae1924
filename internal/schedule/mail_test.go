package schedule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A mailbox takes letters while it is open.
type mailbox struct {
	mu    sync.Mutex
	open  func(now time.Time) error
	took  map[string]int // by slot: how often
	tries int
	slow  time.Duration
	lose  func() bool // it takes a letter, and the connection breaks before it says so
}

func (b *mailbox) mail(ctx context.Context, name string, _ Plan, l Letter) error {
	select {
	case <-time.After(b.slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	if b.open != nil {
		if err := b.open(time.Now()); err != nil {
			return err
		}
	}
	b.took[fmt.Sprintf("%s %s %v %s", name, l.Slot.Format(time.DateTime), l.Manual, l.Status)]++
	if b.lose != nil && b.lose() {
		return errors.New("the connection broke")
	}
	return nil
}

// morning records a report that is due each morning at nine.
func morning(t *testing.T, r *Runner, change func(*Plan)) Plan {
	t.Helper()
	p := Plan{Cron: "0 9 * * *", Zone: "UTC", Task: "report", Mail: "ann@example.org"}
	if change != nil {
		change(&p)
	}
	if err := Check(&p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), "report", p, time.Now()); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReportArrivesOnceADay has three machines make a report each morning, and mail it, in a week in which
// machines are switched off at any time, and the server of mail is away for hours each day.
func TestReportArrivesOnceADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		rnd := rand.New(rand.NewPCG(3, 4))
		mem, w := new(journal.Memory), &world{now: time.Now, began: map[string]time.Time{}, stopped: map[string]bool{}}
		box := &mailbox{took: map[string]int{}, slow: 20 * time.Second, open: func(now time.Time) error {
			if h := now.Hour(); h >= 8 && h < 14 { // just when the report is made
				return errors.New("the server of mail is away")
			}
			return nil
		}}
		machine := func(seed uint64) *Runner {
			kills := 0
			return &Runner{Journal: &deadly{mem, rand.New(rand.NewPCG(seed, 5)), &kills, 30}, Runs: w, Mail: box.mail}
		}
		morning(t, &Runner{Journal: mem, Runs: w}, nil)
		var all sync.WaitGroup
		for m := range uint64(3) {
			on := time.Duration(rnd.IntN(600)) * time.Minute
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(m, 6))
				for time.Since(begin) < 7*24*time.Hour+15*time.Hour {
					ctx, off := context.WithTimeout(context.Background(), on)
					machine(m).Run(ctx, "report")
					off()
					time.Sleep(time.Duration(rnd.IntN(300)) * time.Minute)
					on = time.Duration(1+rnd.IntN(900)) * time.Minute
				}
			})
		}
		all.Wait()
		// A mail that a machine had claimed before it was switched off is free again after an hour.
		last := &Runner{Journal: mem, Runs: w, Mail: box.mail}
		if err := last.Post(t.Context(), "report", time.Now().Add(2*time.Hour)); err != nil {
			t.Error(err)
		}
		if len(box.took) < 7 {
			t.Errorf("of seven reports came %d: %v", len(box.took), box.took)
		}
		for what, n := range box.took {
			if !strings.HasSuffix(what, " finished") || n > 2 {
				t.Errorf("%s came %d times", what, n) // twice if a machine died after it was sent: the id is the same
			}
		}
		if box.tries < 20 {
			t.Errorf("%d tries are too few to say anything", box.tries)
		}
		s, err := Load(t.Context(), mem, "report")
		if err != nil || len(s.Letters) > 0 || len(s.Running) > 0 {
			t.Errorf("left are %v and %v, %v", s.Letters, s.Running, err)
		}
	})
}

// TestMail says what becomes of a mail that is not taken.
func TestMail(t *testing.T) {
	for _, tc := range []struct {
		name  string
		box   *mailbox
		days  int
		want  Entry // its Mailed and MailError
		tries int
	}{
		{"it is taken", &mailbox{}, 1, Entry{Mailed: true}, 1},
		{"at the third try", &mailbox{open: fails(2, errors.New("busy"))}, 1, Entry{Mailed: true}, 3},
		{"no such person", &mailbox{open: fails(100, &Refused{errors.New("no such person")})}, 2, Entry{MailError: "no such person"}, 1},
		{"nobody is there for a day and more", &mailbox{open: fails(1000, errors.New("nobody there"))}, 3, Entry{MailError: "nobody there"}, 29},
		{"the answer is lost", &mailbox{lose: once()}, 1, Entry{Mailed: true}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem, w := new(journal.Memory), &world{now: time.Now, began: map[string]time.Time{}, stopped: map[string]bool{}}
				tc.box.took = map[string]int{}
				r := &Runner{Journal: mem, Runs: w, Mail: tc.box.mail}
				morning(t, r, func(p *Plan) { p.Cron, p.At = "", time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04") })
				ctx, stop := context.WithTimeout(t.Context(), time.Duration(tc.days)*24*time.Hour)
				defer stop()
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() { r.Run(ctx, "report") })
				}
				all.Wait()
				h, err := History(t.Context(), mem, "report")
				if err != nil || len(h) != 1 {
					t.Fatal(h, err)
				}
				if h[0].Mail != "ann@example.org" || h[0].Mailed != tc.want.Mailed || h[0].MailError != tc.want.MailError || h[0].Status != openmanus.Finished {
					t.Errorf("the history says %+v", h[0])
				}
				if tc.box.tries != tc.tries {
					t.Errorf("%d tries, want %d", tc.box.tries, tc.tries)
				}
				if s, err := Load(t.Context(), mem, "report"); err != nil || len(s.Letters) > 0 {
					t.Errorf("left are %v, %v", s.Letters, err)
				}
			})
		})
	}
}

func fails(times int, err error) func(time.Time) error {
	n := 0
	return func(time.Time) error {
		if n++; n > times {
			return nil
		}
		return err
	}
}

func once() func() bool {
	done := false
	return func() bool { first := !done; done = true; return first }
}

// TestPost sends once, and says what was not taken: what openmanus schedule run-due does. A task that cannot
// run is mailed, too; and a process that sends no mail leaves it to others.
func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, w := new(journal.Memory), &world{now: time.Now, began: map[string]time.Time{}, stopped: map[string]bool{}}
		box := &mailbox{took: map[string]int{}, open: fails(1, errors.New("busy"))}
		r := &Runner{Journal: mem, Runs: w, Mail: box.mail}
		morning(t, r, func(p *Plan) { p.Agent = "gone" })
		time.Sleep(24 * time.Hour)
		if _, _, err := r.Step(t.Context(), "report", time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := (&Runner{Journal: mem, Runs: w}).Post(t.Context(), "report", time.Now()); err != nil || box.tries != 0 {
			t.Errorf("a process without mail: %v, %d tries", err, box.tries)
		}
		if err := r.Post(t.Context(), "report", time.Now()); err == nil || !strings.Contains(err.Error(), "the mail to ann@example.org was not taken, and will be sent again: busy") {
			t.Errorf("the first try: %v", err)
		}
		if err := r.Post(t.Context(), "report", time.Now()); err == nil || box.tries != 1 {
			t.Errorf("at once again: %v, %d tries", err, box.tries)
		}
		time.Sleep(3 * time.Minute)
		if err := r.Post(t.Context(), "report", time.Now()); err != nil || box.tries != 2 || len(box.took) != 1 {
			t.Errorf("later: %v, %d tries, %v", err, box.tries, box.took)
		}
		for what := range box.took {
			if !strings.HasSuffix(what, " failed") {
				t.Errorf("mailed: %s", what)
			}
		}
	})
}
