package schedule

import (
	"context"
	"time"

	"github.com/openmanus-go/openmanus"
)

// An Entry is what became of a slot, or of several that were skipped together.
type Entry struct {
	Slot    time.Time        `json:"slot"`
	Until   time.Time        `json:"until,omitzero"` // the last slot, if there are several
	Count   int              `json:"count,omitempty"`
	Manual  bool             `json:"manual,omitempty"`
	Session string           `json:"session,omitempty"`
	Status  openmanus.Status `json:"status"` // Running until it has ended
	Why     string           `json:"why,omitempty"`
	Result  string           `json:"result,omitempty"`
}

// Skip is the status of slots that were skipped.
const Skip openmanus.Status = "skipped"

// History returns what became of the slots of a schedule, the oldest first.
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
			for i := len(all) - 1; i >= 0; i-- {
				if e := &all[i]; e.Session != "" && e.Manual == b.Manual && e.Slot.Equal(b.Slot) {
					e.Status, e.Why, e.Result = b.Status, b.Error, b.Result
					break
				}
			}
		}
	}
	return all, nil
}
