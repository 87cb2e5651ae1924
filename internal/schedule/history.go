package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus"
)

// An Entry is the outcome of a slot, or of several that were skipped together.
type Entry struct {
	Slot    time.Time        `json:"slot"`
	Until   time.Time        `json:"until,omitzero"` // the last slot, if there are several
	Count   int              `json:"count,omitempty"`
	Manual  bool             `json:"manual,omitempty"`
	Session string           `json:"session,omitempty"`
	Status  openmanus.Status `json:"status"` // Running until it has ended
	Why     string           `json:"why,omitempty"`
	Result  string           `json:"result,omitempty"`

	Mail      string `json:"mail,omitempty"`       // the addresses that this is sent to
	Mailed    bool   `json:"mailed,omitempty"`     // a server of mail took it
	MailError string `json:"mail_error,omitempty"` // why none did, so far
}

// Skip is the status of slots that were skipped.
const Skip openmanus.Status = "skipped"

// History returns the outcomes of the slots of a schedule, the oldest first.
func History(ctx context.Context, j openmanus.Journal, name string) ([]Entry, error) {
	var all []Entry
	for ev, err := range j.Events(ctx, JournalOf(name), 0) {
		if err != nil {
			return nil, err
		}
		b, err := read(ev.Body)
		if err != nil {
			return nil, err
		}
		switch b := b.(type) {
		case Due:
			all = append(all, Entry{Slot: b.Slot, Manual: b.Manual, Session: b.Session, Status: openmanus.Running})
		case Skipped:
			e := Entry{Slot: b.Slot, Status: Skip, Why: b.Why}
			if b.Count > 1 {
				e.Until, e.Count = b.Until, b.Count
			}
			all = append(all, e)
		case Ran:
			entry(all, b.Slot, b.Manual, func(e *Entry) { e.Status, e.Why, e.Result, e.Mail = b.Status, b.Error, b.Result, b.Mail })
		case Mailed:
			entry(all, b.Slot, b.Manual, func(e *Entry) { e.Mailed, e.MailError = b.Error == "", b.Error })
		}
	}
	return all, nil
}

// entry changes the entry of a run.
func entry(all []Entry, slot time.Time, manual bool, change func(*Entry)) {
	for i := len(all) - 1; i >= 0; i-- {
		if e := &all[i]; e.Session != "" && e.Manual == manual && e.Slot.Equal(slot) {
			change(e)
			return
		}
	}
}

// A View is how a schedule stands.
type View struct {
	State   string     // "waits", "runs" or "paused"
	Next    *time.Time // when its task runs next; nil: never
	Running []string   // the sessions of the runs that go on
	Slots   *State
}

// Look returns how the schedule with the plan p stands. A plan that was not recorded yet
// counts from now.
func Look(ctx context.Context, j openmanus.Journal, name string, p Plan, now time.Time) (View, error) {
	s, err := Load(ctx, j, name)
	if err != nil {
		return View{}, err
	}
	if !s.Known() || s.Planned.Plan != p {
		s.apply(Planned{Plan: p, From: now, Paused: s.Planned.Paused}, now)
	}
	v := View{State: "waits", Running: []string{}, Slots: s}
	for _, d := range s.Running {
		v.State = "runs"
		v.Running = append(v.Running, d.Session)
	}
	if s.Planned.Paused {
		v.State = "paused"
		return v, nil
	}
	_, start, err := s.Next(name)
	if err == nil && !start.IsZero() {
		v.Next = &start
	}
	return v, err
}

// When says in a few words when the task of a plan runs.
func (p Plan) When() string {
	switch {
	case p.Cron != "":
		return p.Cron
	case p.Every != "":
		return "every " + p.Every
	case p.At != "":
		return "once, at " + p.At
	}
	return p.RRule
}

// Refusal returns why the run of d could not begin, or "" if it did.
func Refusal(ctx context.Context, j openmanus.Journal, name string, d Due) (string, error) {
	for _, err := range j.Events(ctx, d.Session, 0) {
		return "", err // it did
	}
	history, err := History(ctx, j, name)
	if err != nil {
		return "", err
	}
	for _, e := range history {
		if e.Session == d.Session && e.Slot.Equal(d.Slot) {
			return e.Why, nil
		}
	}
	return "", errors.New("the run is not in the history of the schedule")
}
