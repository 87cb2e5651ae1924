package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
)

var errKilled = errors.New("killed")

// A deadly journal is one whose process dies now and then, before or after an append.
type deadly struct {
	openmanus.Journal
	rnd   *rand.Rand
	kills *int
	oneIn int // 0: never
}

func (d *deadly) Append(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	fate := -1
	if d.oneIn > 0 {
		fate = d.rnd.IntN(2 * d.oneIn)
	}
	if fate == 0 {
		*d.kills++
		return nil, errKilled
	}
	evs, err := d.Journal.Append(ctx, session, bodies...)
	if fate == 1 {
		*d.kills++
		return nil, errKilled
	}
	return evs, err
}

// A world is where runs take place: all processes share it. Each run takes as long as its
// slot says.
type world struct {
	now func() time.Time

	mu      sync.Mutex
	began   map[string]time.Time // by session
	stopped map[string]bool
	starts  int
}

func (w *world) Start(_ context.Context, _ string, p Plan, d Due) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starts++
	if p.Agent == "gone" {
		return &Refused{errors.New("there is no agent gone")}
	}
	if _, ok := w.began[d.Session]; !ok {
		w.began[d.Session] = w.now()
	}
	return nil
}

func (w *world) Ended(_ context.Context, _ string, _ Plan, d Due) (*Ran, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	began, ok := w.began[d.Session]
	took := time.Duration(d.Slot.Unix()/60%7) * 20 * time.Minute
	if !ok || !w.stopped[d.Session] && w.now().Before(began.Add(took)) {
		return nil, nil
	}
	return &Ran{Slot: d.Slot, Manual: d.Manual, Status: openmanus.Finished}, nil
}

func (w *world) Interrupt(_ context.Context, d Due) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped[d.Session] = true
	return nil
}

// TestEverySlot lets five processes look after fifty schedules in twelve zones. They die
// at any append, sleep for days, and their clocks are set; people pause schedules and change
// them. Every slot has one answer, in order. DAYS sets for how long: ten years,
// 3653, have two thousand deaths.
func TestEverySlot(t *testing.T) {
	days := 100 / testbed.Slower
	if n, err := strconv.Atoi(os.Getenv("DAYS")); err == nil {
		days = n
	}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Tokyo", "Australia/Lord_Howe",
		"Pacific/Apia", "Africa/Casablanca", "Asia/Gaza", "America/St_Johns", "Pacific/Chatham"}
	rules := []Plan{{Cron: "30 2 * * *"}, {Cron: "0 */6 * * *"}, {Cron: "0 9 * * mon-fri"}, {Every: "11h"}, {RRule: "FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=1;BYMINUTE=30"},
		{Cron: "59 23 28-31 * *"}, {At: "2027-02-03T04:05"}, {Cron: "0 0 29 2 *"}, {Cron: "@monthly", Jitter: "20h"}, {Cron: "15 * * * 0"}}
	const processes, oneIn = 5, 80
	rnd := rand.New(rand.NewPCG(1, 2))
	mem, now := new(journal.Memory), time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	w := &world{now: func() time.Time { return now }, began: map[string]time.Time{}, stopped: map[string]bool{}}
	kills := 0
	r := &Runner{Journal: &deadly{mem, rnd, &kills, oneIn}, Runs: w}
	plans := map[string]Plan{}
	for i := range 50 {
		p := rules[i%len(rules)]
		p.Zone, p.Task = zones[i%len(zones)], "look"
		p.Missed, p.Overlap = MissedPolicies[i%3], OverlapPolicies[i/3%4]
		if i%17 == 3 {
			p.Agent = "gone"
		}
		plans[fmt.Sprintf("s%02d", i)] = p
	}
	names := slices.Sorted(maps.Keys(plans))
	var states [processes]map[string]*State
	skew := [processes]time.Duration{}
	end := now.AddDate(0, 0, days)
	for now.Before(end) {
		now = now.Add(time.Duration(rnd.ExpFloat64() * float64(4*time.Hour)))
		i := rnd.IntN(processes)
		switch rnd.IntN(200) {
		case 0:
			now = now.Add(time.Duration(rnd.IntN(5*24)) * time.Hour) // nobody looks for days
		case 1:
			skew[i] = time.Duration(rnd.IntN(96)-48) * time.Hour // its clock is set
		case 2, 3, 4:
			skew[i] = 0
		}
		if states[i] == nil { // it begins, and records what is configured
			states[i] = map[string]*State{}
			for _, name := range names {
				states[i][name] = new(State)
				p := plans[name]
				if _, err := r.Record(t.Context(), name, p, now.Add(skew[i])); err != nil {
					states[i] = nil
					break
				}
			}
			if states[i] == nil {
				continue
			}
		}
		name := names[rnd.IntN(len(names))]
		switch rnd.IntN(60) {
		case 0:
			if _, err := r.Pause(t.Context(), name, rnd.IntN(2) == 0, "ann", now.Add(skew[i])); err != nil && !errors.Is(err, errKilled) && !errors.Is(err, ErrUnknown) {
				t.Fatal(err)
			}
		case 1:
			p := plans[name]
			p.Task += "!"
			if p.Cron != "" {
				p.Zone = zones[rnd.IntN(len(zones))]
			}
			plans[name] = p
			if _, err := r.Record(t.Context(), name, p, now.Add(skew[i])); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		for _, name := range names {
			if _, err := r.step(t.Context(), name, states[i][name], now.Add(skew[i])); errors.Is(err, errKilled) {
				states[i] = nil
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	answers := 0
	for _, name := range names {
		answers += checkAnswers(t, mem, name)
	}
	t.Logf("%d days: %d deaths, %d answers, %d starts of %d runs", days, kills, answers, w.starts, len(w.began))
	if kills < days/3 || answers < 50*days || w.starts < len(w.began) {
		t.Errorf("%d deaths, %d answers, %d starts of %d runs are too few to say anything", kills, answers, w.starts, len(w.began))
	}
}

// checkAnswers walks through the journal of a schedule beside the slots of its plans, and
// returns how many there were.
func checkAnswers(t *testing.T, j openmanus.Journal, name string) (slots int) {
	t.Helper()
	var ts *times
	var last, until time.Time
	runs := map[string]int{} // by session: 1 due, 0 ended
	for ev, err := range j.Events(t.Context(), JournalOf(name), 0) {
		b, e := read(ev.Body)
		if err = errors.Join(err, e); err != nil {
			t.Fatal(err)
		}
		switch b := b.(type) {
		case Planned:
			if ts != nil {
				// A plan takes over when the one before has answered everything.
				if next := ts.next(last); !next.IsZero() && !next.After(b.From) && b.From.After(until) {
					t.Fatalf("%s: the plan of %v begins, and %v has no answer", name, b.From, next)
				}
			}
			if b.From.After(last) {
				last = b.From
			}
			until = last
			ts, err = b.Plan.times(b.From)
			if err != nil {
				t.Fatal(err)
			}
		case Due:
			slots++
			if next := ts.next(last); !next.Equal(b.Slot) {
				t.Fatalf("%s: due for %v, and the slot after %v is %v", name, b.Slot, last, next)
			}
			if runs[b.Session]++; runs[b.Session] > 1 {
				t.Fatalf("%s: two runs in session %s", name, b.Session)
			}
			last = b.Slot
		case Skipped:
			for n := 1; ; n++ {
				if last = ts.next(last); n == 1 && !last.Equal(b.Slot) {
					t.Fatalf("%s: %v is skipped, and the slot is %v", name, b.Slot, last)
				}
				if slots++; last.Equal(b.Until) && n == b.Count {
					break
				}
				if n > b.Count || last.IsZero() {
					t.Fatalf("%s: %d slots are skipped from %v to %v, which are not that many", name, b.Count, b.Slot, b.Until)
				}
			}
		}
	}
	return slots
}

// TestRun has a runner keep the time by itself: it wakes when a slot comes, and not between.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := new(journal.Memory)
		w := &world{now: time.Now, began: map[string]time.Time{}, stopped: map[string]bool{}}
		r := &Runner{Journal: mem, Runs: w}
		plan := Plan{Cron: "0 9 * * *", Zone: "UTC", Task: "report"}
		if err := Check(&plan); err != nil {
			t.Fatal(err)
		}
		if new, err := r.Record(t.Context(), "report", plan, time.Now()); err != nil || !new {
			t.Fatal(new, err)
		}
		if new, err := r.Record(t.Context(), "report", plan, time.Now()); err != nil || new {
			t.Fatal("the same plan was recorded twice", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		for range 3 { // processes
			go r.Run(ctx, "report")
		}
		time.Sleep(7*24*time.Hour + time.Minute)
		stop()
		synctest.Wait()
		if len(w.began) != 7 {
			t.Errorf("%d runs in a week", len(w.began))
		}
		for session, began := range w.began {
			if late := began.Sub(began.Truncate(24 * time.Hour).Add(9 * time.Hour)); late != 0 {
				t.Errorf("%s began %v late", session, late)
			}
		}
		if s, err := Load(t.Context(), mem, "report"); err != nil || len(s.Running) > 0 {
			t.Errorf("runs that never ended: %v %v", s.Running, err)
		}
	})
}

// A run that a person asks for is beside the slots, once; and a task that cannot run says
// so in the history each time.
func TestByHand(t *testing.T) {
	mem := new(journal.Memory)
	now := at("08:00:00")
	w := &world{now: func() time.Time { return now }, began: map[string]time.Time{}, stopped: map[string]bool{}}
	r := &Runner{Journal: mem, Runs: w}
	if _, err := r.RunNow(t.Context(), "report", now); !errors.Is(err, ErrUnknown) {
		t.Errorf("a schedule that was never recorded: %v", err)
	}
	plan := Plan{Cron: "0 9 * * *", Zone: "UTC", Task: "report", Agent: "gone"}
	if err := Check(&plan); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), "report", plan, now); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.RunNow(t.Context(), "report", now); err != nil {
			t.Fatal(err)
		}
	}
	for _, clock := range []string{"09:00:00", "09:00:10"} {
		now = at(clock)
		if _, _, err := r.Step(t.Context(), "report", now); err != nil {
			t.Fatal(err)
		}
	}
	history, err := History(t.Context(), mem, "report")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range history {
		got = append(got, fmt.Sprintf("%s manual=%t %s %s", e.Slot.Format("15:04"), e.Manual, e.Status, e.Why))
	}
	want := []string{"08:00 manual=true failed there is no agent gone", "09:00 manual=false failed there is no agent gone"}
	if !slices.Equal(got, want) {
		t.Errorf("history %q, want %q", got, want)
	}
}

// Slots that wait, in a queue or for the jitter, have an answer when the plan changes.
func TestAPlanChangesWhileSlotsWait(t *testing.T) {
	for name, first := range map[string]Plan{
		"in a queue":     {Cron: "*/10 * * * *", Overlap: OverlapQueue},
		"to replace":     {Cron: "*/10 * * * *", Overlap: OverlapReplace},
		"for the jitter": {Cron: "*/10 * * * *", Jitter: "9m50s"},
	} {
		t.Run(name, func(t *testing.T) {
			mem, now := new(journal.Memory), at("08:59:00")
			w := &world{now: func() time.Time { return now }, began: map[string]time.Time{}, stopped: map[string]bool{}}
			r := &Runner{Journal: mem, Runs: w}
			first.Zone, first.Task = "UTC", "report"
			if err := Check(&first); err != nil {
				t.Fatal(err)
			}
			second := first
			second.Cron, second.Jitter = "*/7 * * * *", ""
			if _, err := r.Record(t.Context(), "report", first, now); err != nil {
				t.Fatal(err)
			}
			for now = at("09:00:00"); now.Before(at("09:50:30")); now = now.Add(10 * time.Second) {
				if _, _, err := r.Step(t.Context(), "report", now); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.Record(t.Context(), "report", second, now); err != nil {
				t.Fatal(err)
			}
			if n := checkAnswers(t, mem, "report"); n != 6 {
				t.Errorf("%d answers for the 6 slots of the plan before", n)
			}
		})
	}
}
