package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus"
)

// grace is how late a task may start and still count as on time.
const grace = time.Minute

// A State is the fold of a schedule's journal. The zero State is a schedule that was
// never recorded.
type State struct {
	Seq     int64     // of the last event
	Updated time.Time // when it was stored
	Owner   string
	Planned Planned
	Last    time.Time // slots until this one have their answers
	Running []Due     // those without a Ran, the oldest first
	Letters []Letter  // what is still to be mailed, the oldest first

	steps   int       // how many decisions there are: the number of the next one
	settled time.Time // when the last run ended
	began   time.Time // the slot of the last Due
	busy    time.Time // since when one run has followed the other
	times   *times    // of the plan; nil: not computed yet
	closing bool      // the plan is about to change: no slot of it may wait any longer
}

// Known reports whether the schedule was ever recorded.
func (s *State) Known() bool { return s.steps > 0 }

// Apply folds an event into s. Events that are none of a schedule change only Seq and
// Updated.
func (s *State) Apply(ev openmanus.Event) error {
	s.Seq, s.Updated = ev.Seq, ev.Time
	if o, ok := ev.Body.(openmanus.Opened); ok {
		s.Owner = o.Owner
	}
	b, err := read(ev.Body)
	if err != nil {
		return err
	}
	s.apply(b, ev.Time)
	return nil
}

// apply folds a body that was stored at a time.
func (s *State) apply(b any, at time.Time) {
	switch b := b.(type) {
	case Planned:
		s.Planned, s.times = b, nil
		s.steps++
		s.Last = later(s.Last, b.From)
	case Due:
		if len(s.Running) == 0 && at.Sub(s.settled) > grace {
			s.busy = at
		}
		s.Running = append(slices.Clip(s.Running), b)
		if !b.Manual {
			s.Last, s.began = later(s.Last, b.Slot), b.Slot
			s.steps++
		}
	case Skipped:
		s.Last = later(s.Last, b.Until)
		s.steps++
	case Ran:
		if i := slices.IndexFunc(s.Running, func(d Due) bool { return d.Slot.Equal(b.Slot) && d.Manual == b.Manual }); i >= 0 {
			if b.Mail != "" {
				s.Letters = append(slices.Clip(s.Letters), Letter{Ran: b, Session: s.Running[i].Session, Ended: at})
			}
			s.Running = slices.Delete(slices.Clone(s.Running), i, i+1)
		}
		s.settled = at
	case Mailing:
		s.letter(b.Slot, b.Manual, func(l *Letter) { l.Try, l.Until = b.Try+1, b.Until })
	case Mailed:
		if b.Error == "" || b.GivenUp {
			s.Letters = slices.DeleteFunc(slices.Clone(s.Letters), func(l Letter) bool { return l.Slot.Equal(b.Slot) && l.Manual == b.Manual })
		} else {
			s.letter(b.Slot, b.Manual, func(l *Letter) { l.Failed = b.Error })
		}
	}
}

// letter changes a letter, if it is still to be mailed.
func (s *State) letter(slot time.Time, manual bool, change func(*Letter)) {
	s.Letters = slices.Clone(s.Letters)
	for i := range s.Letters {
		if l := &s.Letters[i]; l.Slot.Equal(slot) && l.Manual == manual {
			change(l)
		}
	}
}

// A Letter is what is to be mailed of a run that has ended.
type Letter struct {
	Ran
	Session string
	Ended   time.Time
	Try     int       // the number of the next try
	Until   time.Time // nobody tries before then
	Failed  string    // why the last try failed, or ""
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// slots returns what computes the slots of the plan in force.
func (s *State) slots() (*times, error) {
	if s.times == nil {
		t, err := s.Planned.Plan.times(s.Planned.From)
		if err != nil {
			return nil, err
		}
		s.times = t
	}
	return s.times, nil
}

// Next returns the first slot without an answer, and when its task starts, which the
// plan's jitter puts later. Both are zero if there is none.
func (s *State) Next(name string) (slot, start time.Time, err error) {
	t, err := s.slots()
	if err != nil {
		return slot, start, err
	}
	if slot = t.next(s.Last); slot.IsZero() {
		return slot, slot, nil
	}
	return slot, t.start(name, slot), nil
}

// A Decision is what follows from the state of a schedule at some time.
type Decision struct {
	Skip    *Skipped // the next answers, or nil
	Due     *Due     // the next answer, after Skip, or nil
	Replace []Due    // runs to interrupt before there is an answer
	Wake    time.Time
}

// Decide returns the answers to the slots that have come until now, up to the first Due:
// after that the state is another one. Wake is when the next slot comes, zero if none
// does; with Replace, or while a slot waits in a queue, the next event is what changes
// the decision. Apply it and ask again until there is neither Skip nor Due.
func (s *State) Decide(name string, now time.Time) (d Decision, err error) {
	t, err := s.slots()
	if err != nil {
		return d, err
	}
	for last := s.Last; ; {
		slot := t.next(last)
		if slot.IsZero() {
			return d, nil
		}
		start := t.start(name, slot)
		if start.After(now) {
			d.Wake = start
			return d, nil
		}
		why, wait, missed := s.answer(t, name, slot, start, now)
		switch {
		case why == "" && wait:
			if s.Planned.Plan.Overlap == OverlapReplace && !missed {
				d.Replace = s.Running
			}
			return d, nil
		case why == "":
			d.Due = &Due{Slot: slot.UTC(), Session: sessionOf(name, slot, s.Planned.Plan.Same)}
			return d, nil
		case d.Skip == nil:
			d.Skip = &Skipped{Slot: slot.UTC(), Why: why}
		case d.Skip.Why != why:
			return d, nil
		}
		d.Skip.Until, d.Skip.Count = slot.UTC(), d.Skip.Count+1
		last = slot
	}
}

// answer returns why a slot is skipped; or "" if its task runs, once the runs that go on
// have ended if it must wait. missed says that nothing ran schedules when it came.
func (s *State) answer(t *times, name string, slot, start, now time.Time) (why string, wait, missed bool) {
	plan := s.Planned.Plan
	if s.Planned.Paused {
		return "the schedule is paused", false, false
	}
	// A slot that came during a run of this schedule was not missed: it waited.
	queued := plan.Overlap == OverlapQueue && !s.began.IsZero() && !start.Before(s.began) && (len(s.Running) > 0 || !start.After(s.settled))
	if missed = now.Sub(start) > grace && !queued; missed {
		switch following := t.next(slot); {
		case plan.Missed == MissedSkip:
			return "missed: nothing ran schedules at that time", false, true
		case plan.Missed == MissedOnce && !following.IsZero() && !t.start(name, following).After(now):
			return "missed: a later one stands for it", false, true
		case plan.Missed == MissedAll && !start.Before(s.busy) && (len(s.Running) > 0 || now.Sub(s.settled) <= grace):
			// It came while those before it ran late, one after the other.
			if missed = false; plan.Overlap == OverlapSkip {
				return "the runs of times that were missed went on", false, false
			}
		}
	}
	switch all := missed && plan.Missed == MissedAll; {
	case len(s.Running) == 0 || plan.Overlap == OverlapAllow:
		return "", false, missed
	case plan.Overlap == OverlapSkip && !all:
		return fmt.Sprintf("the run of %s goes on", s.Running[0].Slot.In(t.zone).Format("2006-01-02 15:04")), false, missed
	case s.closing:
		return "the schedule was changed while it waited", false, missed
	}
	return "", true, missed
}

// sessionOf returns the id of the session in which the task of a slot runs.
func sessionOf(name string, slot time.Time, same bool) string {
	if same {
		return name + "-runs"
	}
	return name + "-" + slot.UTC().Format("20060102-150405")
}

// Manual returns the Due of a run that a person asks for at a time.
func (s *State) Manual(name string, now time.Time) Due {
	now = now.UTC().Truncate(time.Second)
	return Due{Slot: now, Session: cmp.Or(map[bool]string{true: sessionOf(name, now, true)}[s.Planned.Plan.Same], sessionOf(name, now, false)+"-manual"), Manual: true}
}

// Coming returns when the tasks of the next slots start, n at most.
func (s *State) Coming(name string, n int) (starts []time.Time, err error) {
	t, err := s.slots()
	if err != nil {
		return nil, err
	}
	for slot := t.next(s.Last); len(starts) < n && !slot.IsZero(); slot = t.next(slot) {
		starts = append(starts, t.start(name, slot))
	}
	return starts, nil
}
