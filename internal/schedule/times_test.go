package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The slots of plans, in the zones of the plans, beginning after a time.
func TestSlots(t *testing.T) {
	for _, tt := range []struct {
		plan  Plan
		after string
		want  string // the next slots, as the zone shows them
	}{
		{Plan{Cron: "0 9 * * mon-fri", Zone: "Europe/Berlin"}, "2026-11-27T08:00:00Z", "Nov 30 09:00 CET, Dec 1 09:00 CET"},
		{Plan{Cron: "@daily", Zone: "UTC"}, "2026-12-31T00:00:00Z", "Jan 1 00:00 UTC, Jan 2 00:00 UTC"},
		{Plan{Cron: "0 0 29 2 *", Zone: "UTC"}, "2026-01-01T00:00:00Z", "Feb 29 00:00 UTC, Feb 29 00:00 UTC"},
		{Plan{Cron: "0 12 * * 7", Zone: "UTC"}, "2026-11-27T00:00:00Z", "Nov 29 12:00 UTC, Dec 6 12:00 UTC"},
		{Plan{Cron: "0 12 * * 5-7", Zone: "UTC"}, "2026-11-27T13:00:00Z", "Nov 28 12:00 UTC, Nov 29 12:00 UTC, Dec 4 12:00 UTC"},
		// Daylight saving begins: 02:30 does not come, and is made up for at 03:00.
		{Plan{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z", "Mar 29 03:00 CEST, Mar 30 02:30 CEST"},
		{Plan{Cron: "30 2,3 * * *", Zone: "Europe/Berlin"}, "2026-03-28T12:00:00Z", "Mar 29 03:00 CEST, Mar 29 03:30 CEST, Mar 30 02:30 CEST"},
		{Plan{Cron: "0 0 * * *", Zone: "America/Sao_Paulo"}, "2018-11-03T12:00:00Z", "Nov 4 01:00 -02, Nov 5 00:00 -02"},
		{Plan{Cron: "15 2 * * *", Zone: "Australia/Lord_Howe"}, "2026-10-03T12:00:00Z", "Oct 4 02:30 +11, Oct 5 02:15 +11"},
		{Plan{Cron: "0 12 * * *", Zone: "Pacific/Apia"}, "2011-12-29T12:00:00Z", "Dec 29 12:00 -10, Dec 31 00:00 +14, Dec 31 12:00 +14"},
		// It ends: 02:30 comes twice, and the first one counts; every quarter of an hour is one of both.
		{Plan{Cron: "30 2 * * *", Zone: "Europe/Berlin"}, "2026-10-24T12:00:00Z", "Oct 25 02:30 CEST, Oct 26 02:30 CET"},
		{Plan{Cron: "0 * * * *", Zone: "Europe/Berlin"}, "2026-10-24T23:30:00Z", "Oct 25 02:00 CEST, Oct 25 02:00 CET, Oct 25 03:00 CET"},
		{Plan{Cron: "0 1 * * *", Zone: "Australia/Lord_Howe"}, "2026-04-03T12:00:00Z", "Apr 4 01:00 +11, Apr 5 01:00 +11, Apr 6 01:00 +1030"},
		{Plan{Cron: "45 1 * * *", Zone: "Australia/Lord_Howe"}, "2026-04-04T10:00:00Z", "Apr 5 01:45 +11, Apr 6 01:45 +1030"},
		// The last second of a leap year beyond the zone file's own list of changes.
		{Plan{Cron: "59 23 31 12 *", Zone: "Europe/Berlin"}, "2040-12-31T12:00:00Z", "Dec 31 23:59 CET, Dec 31 23:59 CET"},
		{Plan{Every: "90m", Zone: "UTC"}, "2026-11-27T10:00:00Z", "Nov 27 10:30 UTC, Nov 27 12:00 UTC"},
		{Plan{At: "2026-12-24T18:00", Zone: "America/New_York"}, "2026-11-27T00:00:00Z", "Dec 24 18:00 EST"},
		{Plan{At: "2026-12-24T18:00:00+01:00", Zone: "UTC"}, "2026-11-27T00:00:00Z", "Dec 24 17:00 UTC"},
		{Plan{At: "2026-03-29 02:10", Zone: "Europe/Berlin"}, "2026-01-01T00:00:00Z", "Mar 29 03:00 CEST"},
		{Plan{At: "2020-01-01T00:00", Zone: "UTC"}, "2026-11-27T00:00:00Z", ""},
		{Plan{RRule: "FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=9;BYMINUTE=0", Zone: "Europe/Berlin"}, "2026-11-27T00:00:00Z", "Nov 30 09:00 CET, Dec 3 09:00 CET"},
		{Plan{RRule: "DTSTART:20261101T083000\nRRULE:FREQ=DAILY;INTERVAL=10;COUNT=3", Zone: "UTC"}, "2026-11-05T00:00:00Z", "Nov 11 08:30 UTC, Nov 21 08:30 UTC"},
		{Plan{RRule: "DTSTART;TZID=America/New_York:20261101T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1", Zone: "America/New_York"},
			"2026-11-05T00:00:00Z", "Nov 30 09:00 EST, Dec 31 09:00 EST"},
		{Plan{RRule: "FREQ=DAILY;BYHOUR=2;BYMINUTE=30", Zone: "Europe/Berlin"}, "2027-03-27T12:00:00Z", "Mar 28 03:00 CEST, Mar 29 02:30 CEST"},
	} {
		from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		ts, err := tt.plan.times(from)
		if err != nil {
			t.Errorf("%+v: %v", tt.plan, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Count(tt.want, ",") + 1 {
			if at = ts.next(at); !at.IsZero() {
				got = append(got, at.In(ts.zone).Format("Jan 2 15:04 MST"))
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%+v after %s:\n%s\nwant\n%s", tt.plan, tt.after, s, tt.want)
		}
	}
}

// A mistake names the field, and what is allowed.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		plan  Plan
		field string
		want  string
	}{
		{Plan{}, "cron", "set one of"},
		{Plan{Cron: "@daily", Every: "1h"}, "cron", "set one of"},
		{Plan{Cron: "61 * * * *"}, "cron", `the minute "61": allowed are 0 to 59`},
		{Plan{Cron: "0 24 * * *"}, "cron", `the hour "24": allowed are 0 to 23`},
		{Plan{Cron: "0 0 0 * *"}, "cron", `the day of the month "0": allowed are 1 to 31`},
		{Plan{Cron: "0 0 * foo *"}, "cron", `the month "foo": allowed are 1 to 12 or jan to dec`},
		{Plan{Cron: "0 0 * * 8"}, "cron", `the day of the week "8": allowed are 0 to 7`},
		{Plan{Cron: "0 0 30 2 *"}, "cron", "there is no such day"},
		{Plan{Cron: "* * * * * *"}, "cron", "6 fields; allowed are five"},
		{Plan{Cron: "@every 1h"}, "cron", "write every"},
		{Plan{Cron: "@reboot"}, "cron", "allowed are five fields"},
		{Plan{Cron: "CRON_TZ=UTC 0 0 * * *"}, "cron", "zone"},
		{Plan{Every: "30s"}, "every", "from one minute on"},
		{Plan{Every: "-1h"}, "every", "from one minute on"},
		{Plan{Every: "daily"}, "every", "allowed"},
		{Plan{At: "tomorrow"}, "at", "2026-12-24T18:00"},
		{Plan{RRule: "FREQ=SOMETIMES"}, "rrule", "RFC 5545"},
		{Plan{RRule: "FREQ=SECONDLY"}, "rrule", "seconds"},
		{Plan{RRule: "FREQ=HOURLY"}, "rrule", "BYHOUR"},
		{Plan{RRule: "NONSENSE\nFREQ=DAILY"}, "rrule", "DTSTART"},
		{Plan{Cron: "@daily", Zone: "Berlin"}, "zone", "Europe/Berlin"},
		{Plan{Cron: "@daily", Zone: "Local"}, "zone", "Europe/Berlin"},
		{Plan{Cron: "@daily", Jitter: "2d"}, "jitter", "up to 24h"},
		{Plan{Cron: "@daily", Missed: "never"}, "missed", "once, skip, all"},
		{Plan{Cron: "@daily", Overlap: "kill"}, "overlap", "skip, queue, replace, allow"},
		{Plan{Cron: "@daily", Overlap: "allow", Same: true}, "overlap", "a session for each run"},
		{Plan{Cron: "@daily", Task: " "}, "task", "what is to be done"},
	} {
		if tt.plan.Task == "" {
			tt.plan.Task = "look"
		}
		err := Check(&tt.plan)
		wrong := (*FieldError)(nil)
		if !errors.As(err, &wrong) || wrong.Field != tt.field || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v; want %s: …%s…", tt.plan, err, tt.field, tt.want)
		}
	}
}

// Starts are spread, and every process knows the same ones.
func TestJitter(t *testing.T) {
	plan := Plan{Cron: "@hourly", Zone: "UTC", Jitter: "10m"}
	ts, err := plan.times(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Duration]bool{}
	for slot := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); slot.Year() == 2026; slot = ts.next(slot) {
		by := ts.start("report", slot).Sub(slot)
		if by < 0 || by >= 10*time.Minute || by != ts.start("report", slot.In(time.Local)).Sub(slot) {
			t.Fatalf("%v starts %v late", slot, by)
		}
		seen[by] = true
	}
	if len(seen) < 500 {
		t.Errorf("only %d different starts in a year", len(seen))
	}
}

// FuzzSlots holds that slots increase whatever the plan is, and that computing them ends.
func FuzzSlots(f *testing.F) {
	f.Add("30 2 * * *", "Europe/Berlin", int64(1774600000))
	f.Add("*/7 1-3 * 3,10 0", "Australia/Lord_Howe", int64(1790000000))
	f.Add("FREQ=DAILY;BYHOUR=2", "America/New_York", int64(2240000000))
	f.Fuzz(func(t *testing.T, line, zone string, after int64) {
		if after < 0 || after > 4e9 || len(line) > 100 {
			return
		}
		plan := Plan{Cron: line, Zone: zone}
		if strings.Contains(line, "FREQ") {
			plan = Plan{RRule: line, Zone: zone}
		}
		ts, err := plan.times(time.Unix(after, 0).AddDate(-1, 0, 0))
		if err != nil {
			return
		}
		for at, i := time.Unix(after, 0), 0; i < 20; i++ {
			next := ts.next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("%+v: %v is followed by %v", plan, at, next)
			}
			at = next
		}
	})
}
