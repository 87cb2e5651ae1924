package schedule

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A Plan says what is due, and when. One of Cron, Every, At and RRule is set. It is
// recorded as the configuration has it, with the defaults filled in.
type Plan struct {
	Cron  string `json:"cron,omitempty"`  // five fields, or @daily and the like
	Every string `json:"every,omitempty"` // a duration, from when the plan was recorded
	At    string `json:"at,omitempty"`    // once: 2026-12-24T18:00, or with an offset
	RRule string `json:"rrule,omitempty"` // RFC 5545, with or without a DTSTART

	Zone    string           `json:"zone"`             // the name of the time zone, such as Europe/Berlin
	Jitter  string           `json:"jitter,omitempty"` // the most by which a start is later than its slot
	Missed  string           `json:"missed"`           // one of [MissedPolicies]
	Overlap string           `json:"overlap"`          // one of [OverlapPolicies]
	Same    bool             `json:"same,omitempty"`   // every run is a message to one session
	Owner   string           `json:"owner,omitempty"`  // the user of a server whose sessions these are
	Task    string           `json:"task"`             // with {date}, {time} and {schedule}
	Agent   string           `json:"agent,omitempty"`
	Model   string           `json:"model,omitempty"`
	Dir     string           `json:"workspace,omitempty"`
	Approve string           `json:"approve,omitempty"`
	Limits  openmanus.Limits `json:"limits,omitzero"`
	Result  string           `json:"result,omitempty"` // the file that the answer is written to, with the same words in braces
	Mail    string           `json:"mail,omitempty"`   // the addresses that the answer, or why there is none, is sent to
}

// The policies for missed slots, at which no process ran schedules, and for slots
// that come while an earlier run is under way.
const (
	MissedSkip = "skip" // they are left out
	MissedOnce = "once" // the last one runs late, for all
	MissedAll  = "all"  // each runs late

	OverlapSkip    = "skip"    // the slot is left out
	OverlapQueue   = "queue"   // it waits
	OverlapReplace = "replace" // the earlier run is interrupted
	OverlapAllow   = "allow"   // both run
)

// MissedPolicies and OverlapPolicies are the words that a plan may have, the default
// first.
var (
	MissedPolicies  = []string{MissedOnce, MissedSkip, MissedAll}
	OverlapPolicies = []string{OverlapSkip, OverlapQueue, OverlapReplace, OverlapAllow}
)

// The bodies of a schedule's journal, after [openmanus.Opened]. They are stored as
// [openmanus.Foreign]: their types begin with "schedule.". docs/events.md describes them.
type (
	// Planned is the plan from here on. Slots after From are its own; those until then
	// have their answers.
	Planned struct {
		Plan   Plan      `json:"plan"`
		From   time.Time `json:"from"`
		Paused bool      `json:"paused,omitempty"` // slots are skipped until the next Planned
		By     string    `json:"by,omitempty"`     // who paused it or let it go on
	}

	// Due says that the task runs for a slot, in a session.
	Due struct {
		Slot    time.Time `json:"slot"`
		Session string    `json:"session"`
		Manual  bool      `json:"manual,omitempty"` // a person asked for it; Slot is when
	}

	// Skipped says that the task does not run for Count slots, from Slot to Until.
	Skipped struct {
		Slot  time.Time `json:"slot"`
		Until time.Time `json:"until"`
		Count int       `json:"count"`
		Why   string    `json:"why"`
	}

	// Ran says how the run of a Due ended.
	Ran struct {
		Slot   time.Time        `json:"slot"`
		Manual bool             `json:"manual,omitempty"` // as in the Due
		Status openmanus.Status `json:"status"`
		Error  string           `json:"error,omitempty"`
		Result string           `json:"result,omitempty"` // the file with the answer
		Mail   string           `json:"mail,omitempty"`   // the addresses that this is to be sent to
	}

	// Mailing says that a process sends the mail of a Ran, the Try-th time from 0. Until
	// then no other process does.
	Mailing struct {
		Slot   time.Time `json:"slot"`
		Manual bool      `json:"manual,omitempty"`
		Try    int       `json:"try"`
		Until  time.Time `json:"until"`
		By     string    `json:"by"` // tells those apart who want to send it
	}

	// Mailed is the outcome of a try. Without an error the mail was taken; with one, it is
	// sent again after the Until of the Mailing, unless GivenUp.
	Mailed struct {
		Slot    time.Time `json:"slot"`
		Manual  bool      `json:"manual,omitempty"`
		Try     int       `json:"try"`
		Error   string    `json:"error,omitempty"`
		GivenUp bool      `json:"given_up,omitempty"`
	}
)

// decision returns what is stored for a Planned, a Due for a slot or a Skipped that is the
// nth of these in its journal, from 0. The number is the key: of those who decide at the
// same time, or who have not read what was decided before, one at most succeeds.
func decision(n int, v any) openmanus.Body {
	kind := map[reflect.Type]string{
		reflect.TypeFor[Planned](): "planned", reflect.TypeFor[Due](): "due", reflect.TypeFor[Skipped](): "skipped",
	}[reflect.TypeOf(v)]
	return stored(kind, fmt.Sprintf("decision/%d", n), v)
}

// manual returns what is stored for a Due that a person asked for.
func manual(d Due) openmanus.Body {
	return stored("due", "manual/"+d.Slot.UTC().Format(time.RFC3339), d)
}

// outcome returns what is stored for the end of a run.
func outcome(r Ran) openmanus.Body { return stored("ran", "ran/"+keyOf(r.Slot, r.Manual), r) }

// claim returns what is stored for a Mailing. Only one of several processes that want to
// send a mail for the same slot succeeds.
func claim(m Mailing) openmanus.Body {
	return stored("mailing", fmt.Sprintf("mailing/%s/%d", keyOf(m.Slot, m.Manual), m.Try), m)
}

// receipt returns what is stored for a Mailed.
func receipt(m Mailed) openmanus.Body {
	return stored("mailed", fmt.Sprintf("mailed/%s/%d", keyOf(m.Slot, m.Manual), m.Try), m)
}

func stored(kind, key string, v any) openmanus.Body {
	data, _ := json.Marshal(v) // structs of text, numbers and times always encode
	return openmanus.Foreign{Type: "schedule." + kind, Stored: key, Content: data}
}

// keyOf tells runs of a schedule apart.
func keyOf(slot time.Time, manual bool) string {
	k := slot.UTC().Format(time.RFC3339Nano)
	if manual {
		k += " by hand"
	}
	return k
}

// read returns the body that is stored in an event, or nil if it is none of a schedule.
func read(b openmanus.Body) (any, error) {
	f, ok := b.(openmanus.Foreign)
	if !ok {
		return nil, nil
	}
	switch f.Type {
	case "schedule.planned":
		return decode[Planned](f)
	case "schedule.due":
		return decode[Due](f)
	case "schedule.skipped":
		return decode[Skipped](f)
	case "schedule.ran":
		return decode[Ran](f)
	case "schedule.mailing":
		return decode[Mailing](f)
	case "schedule.mailed":
		return decode[Mailed](f)
	}
	return nil, nil
}

func decode[T any](f openmanus.Foreign) (any, error) {
	var v T
	if err := json.Unmarshal(f.Content, &v); err != nil {
		return nil, fmt.Errorf("event %s: %w", f.Stored, err)
	}
	return v, nil
}

// JournalOf returns the id of the journal of a schedule.
func JournalOf(name string) string { return "schedule-" + name }

// opened is the first event of a schedule's journal.
func opened(owner string) openmanus.Opened {
	return openmanus.Opened{Flow: journal.ScheduleFlow, Owner: owner, Version: openmanus.FormatVersion}
}
