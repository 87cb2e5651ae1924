package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// at is a time on the day of these tests.
func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", "2026-11-27 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// TestDecide plays stories: at a time, something happens, and these are the answers.
//
//	09:00 look             what is decided at that time
//	09:10 ran 09:00        a run ends
//	09:20 pause, go on     a person does so
func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		plan  Plan
		story string
	}{
		"on time": {Plan{Cron: "0 * * * *"}, `
			09:00:00 look: due 09:00
			09:01:00 ran 09:00
			09:59:59 look: wake 10:00
			10:00:30 look: due 10:00
		`},
		"an hour that nobody looked at, once": {Plan{Cron: "*/10 * * * *"}, `
			09:00:00 look: due 09:00
			09:01:00 ran 09:00
			10:05:00 look: skip 5 09:10-09:50 a later one stands for it; due 10:00
		`},
		"skip": {Plan{Cron: "*/10 * * * *", Missed: "skip"}, `
			10:05:00 look: skip 7 09:00-10:00 nothing ran; wake 10:10
		`},
		"all": {Plan{Cron: "*/30 * * * *", Missed: "all", Overlap: "allow"}, `
			10:05:00 look: due 09:00
			10:05:00 look: due 09:30
			10:05:00 look: due 10:00
			10:05:00 look: wake 10:30
		`},
		"all, one after the other": {Plan{Cron: "*/30 * * * *", Missed: "all"}, `
			10:05:00 look: due 09:00
			10:05:00 look: nothing
			10:10:00 ran 09:00
			10:10:00 look: due 09:30
			10:15:00 ran 09:30
			10:15:00 look: due 10:00
			10:16:00 ran 10:00
			10:16:00 look: wake 10:30
			10:30:00 look: due 10:30
		`},
		"all, while more come": {Plan{Cron: "*/30 * * * *", Missed: "all"}, `
			10:05:00 look: due 09:00
			10:30:00 look: nothing
			10:45:00 ran 09:00
			10:45:00 look: due 09:30
			11:20:00 ran 09:30
			11:20:00 look: due 10:00
			11:50:00 ran 10:00
			11:50:00 look: skip 3 10:30-11:30 runs of times that were missed went on; wake 12:00
			12:00:00 look: due 12:00
			12:01:00 ran 12:00
			14:05:00 look: due 12:30
		`},
		"all, replace": {Plan{Cron: "*/30 * * * *", Missed: "all", Overlap: "replace"}, `
			10:05:00 look: due 09:00
			10:05:00 look: nothing
			10:25:00 ran 09:00
			10:25:00 look: due 09:30
			10:26:00 ran 09:30
			10:26:00 look: due 10:00
			10:30:00 look: replace 10:00
			10:30:10 ran 10:00
			10:30:10 look: due 10:30
		`},
		"all, queue": {Plan{Cron: "*/30 * * * *", Missed: "all", Overlap: "queue"}, `
			10:05:00 look: due 09:00
			10:05:00 look: nothing
			10:25:00 ran 09:00
			10:25:00 look: due 09:30
			10:45:00 ran 09:30
			10:45:00 look: due 10:00
			10:50:00 ran 10:00
			10:50:00 look: due 10:30
		`},
		"a run that goes on, skip": {Plan{Cron: "*/10 * * * *"}, `
			09:00:00 look: due 09:00
			09:10:00 look: skip 1 09:10-09:10 the run of 2026-11-27 09:00 goes on; wake 09:20
			09:15:00 ran 09:00
			09:20:00 look: due 09:20
		`},
		"queue": {Plan{Cron: "*/10 * * * *", Overlap: "queue"}, `
			09:00:00 look: due 09:00
			09:10:00 look: nothing
			09:25:00 ran 09:00
			09:25:05 look: due 09:10
			09:26:00 ran 09:10
			09:26:05 look: due 09:20
		`},
		"replace": {Plan{Cron: "*/10 * * * *", Overlap: "replace"}, `
			09:00:00 look: due 09:00
			09:10:00 look: replace 09:00
			09:10:10 ran 09:00
			09:10:10 look: due 09:10
		`},
		"allow": {Plan{Cron: "*/10 * * * *", Overlap: "allow"}, `
			09:00:00 look: due 09:00
			09:10:00 look: due 09:10
		`},
		"a pause": {Plan{Cron: "*/10 * * * *"}, `
			09:00:00 pause
			09:25:00 look: skip 3 09:00-09:20 paused; wake 09:30
			09:26:00 go on
			09:30:00 look: due 09:30
		`},
		"a clock that is set back": {Plan{Cron: "*/10 * * * *"}, `
			09:00:00 look: due 09:00
			09:01:00 ran 09:00
			08:30:00 look: wake 09:10
			09:00:00 look: wake 09:10
		`},
		"once": {Plan{At: "2026-11-27T09:00"}, `
			08:00:00 look: wake 09:00
			12:00:00 look: due 09:00
			12:01:00 ran 09:00
			13:00:00 look: nothing
		`},
	} {
		t.Run(name, func(t *testing.T) {
			tt.plan.Zone, tt.plan.Task = "UTC", "look"
			if err := Check(&tt.plan); err != nil {
				t.Fatal(err)
			}
			s := new(State)
			s.apply(Planned{Plan: tt.plan, From: at("08:59:00")}, at("08:59:00"))
			for line := range strings.Lines(strings.TrimSpace(tt.story)) {
				clock, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				act, want, _ := strings.Cut(rest, ": ")
				if got := play(t, s, at(clock), act); !agrees(got, want) {
					t.Fatalf("%s: got %q", strings.TrimSpace(line), got)
				}
			}
		})
	}
}

// play does what a line of a story says, and returns what was decided.
func play(t *testing.T, s *State, now time.Time, act string) string {
	t.Helper()
	switch what, arg, _ := strings.Cut(act, " "); what {
	case "ran":
		s.apply(Ran{Slot: at(arg + ":00"), Status: openmanus.Finished}, now)
		return ""
	case "pause", "go":
		p := s.Planned
		p.Paused = what == "pause"
		s.apply(p, now)
		return ""
	}
	d, err := s.Decide("s", now)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	if d.Skip != nil {
		all = append(all, fmt.Sprintf("skip %d %s-%s %s", d.Skip.Count, d.Skip.Slot.Format("15:04"), d.Skip.Until.Format("15:04"), d.Skip.Why))
		s.apply(*d.Skip, now)
	}
	if d.Due != nil {
		all = append(all, "due "+d.Due.Slot.Format("15:04"))
		s.apply(*d.Due, now)
	}
	for _, r := range d.Replace {
		all = append(all, "replace "+r.Slot.Format("15:04"))
	}
	if !d.Wake.IsZero() {
		all = append(all, "wake "+d.Wake.Format("15:04"))
	}
	return strings.Join(all, "; ")
}

// agrees reports whether what was decided is what a line wants; of a reason it has a part.
func agrees(got, want string) bool {
	if want == "nothing" {
		return got == ""
	}
	g, w := strings.Split(got, "; "), strings.Split(want, "; ")
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		gw, ww := strings.SplitN(g[i], " ", 4), strings.SplitN(w[i], " ", 4)
		if len(gw) != len(ww) || !strings.Contains(gw[len(gw)-1], ww[len(ww)-1]) || strings.Join(gw[:len(gw)-1], " ") != strings.Join(ww[:len(ww)-1], " ") {
			return false
		}
	}
	return true
}
