package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // machines without a zone database know the zones, too

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"
)

// A FieldError is a mistake in one field of a plan.
type FieldError struct {
	Field string // as it is called in the configuration
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// minEvery is the shortest time between two slots of a plan with Every.
const minEvery = time.Minute

// maxYears is for how long a recurrence rule has slots.
const maxYears = 100

// times computes the slots of a plan.
type times struct {
	zone   *time.Location
	jitter time.Duration
	next   func(after time.Time) time.Time // zero: there is none
}

// Check fills in the defaults of a plan, and returns a [*FieldError] if it has a
// mistake.
func Check(p *Plan) error {
	p.Missed, p.Overlap = cmp.Or(p.Missed, MissedPolicies[0]), cmp.Or(p.Overlap, OverlapPolicies[0])
	if p.Zone == "" {
		p.Zone = localZone()
	}
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{{"missed", p.Missed, MissedPolicies}, {"overlap", p.Overlap, OverlapPolicies}} {
		if !slices.Contains(f.allowed, f.value) {
			return &FieldError{f.name, fmt.Errorf("allowed: %s", strings.Join(f.allowed, ", "))}
		}
	}
	if strings.TrimSpace(p.Task) == "" {
		return &FieldError{"task", errors.New("say what is to be done")}
	}
	if p.Same && p.Overlap == OverlapAllow {
		return &FieldError{"overlap", errors.New(`"allow" needs a session for each run; leave out the setting that all go on with one`)}
	}
	_, err := p.times(time.Now())
	return err
}

// localZone returns the name of the time zone of this machine, or UTC if it has none.
func localZone() string {
	name := os.Getenv("TZ")
	if target, err := filepath.EvalSymlinks("/etc/localtime"); name == "" && err == nil {
		_, name, _ = strings.Cut(target, "zoneinfo/")
	}
	name = strings.TrimPrefix(name, ":")
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return "UTC"
	}
	return name
}

// times returns what computes the slots of a plan that was recorded at from.
func (p Plan) times(from time.Time) (*times, error) {
	set := 0
	for _, s := range []string{p.Cron, p.Every, p.At, p.RRule} {
		if s != "" {
			set++
		}
	}
	if set != 1 {
		return nil, &FieldError{"cron", errors.New("set one of cron, every, at and rrule")}
	}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil || p.Zone == "Local" {
		return nil, &FieldError{"zone", fmt.Errorf("%q is not the name of a time zone: allowed are UTC, Europe/Berlin and the like", p.Zone)}
	}
	t := &times{zone: zone}
	if p.Jitter != "" {
		if t.jitter, err = time.ParseDuration(p.Jitter); err != nil || t.jitter < 0 || t.jitter > 24*time.Hour {
			return nil, &FieldError{"jitter", errors.New(`allowed: a duration up to 24h, such as "10m"`)}
		}
	}
	switch {
	case p.Cron != "":
		t.next, err = cronTimes(p.Cron, zone)
	case p.Every != "":
		t.next, err = everyTimes(p.Every, from)
	case p.At != "":
		t.next, err = atTimes(p.At, zone)
	default:
		t.next, err = rruleTimes(p.RRule, zone, from)
	}
	return t, err
}

// start returns when the task of a slot begins: some time after it, which depends on
// the names alone, so that all processes agree.
func (t *times) start(schedule string, slot time.Time) time.Time {
	if t.jitter <= 0 {
		return slot
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", schedule, slot.Unix())
	return slot.Add(time.Duration(h.Sum64() % uint64(t.jitter)).Truncate(time.Second))
}

// cronFields are the names of the fields of a cron line, and what they allow.
var cronFields = [...]struct{ name, allowed string }{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"}, {"month", "1 to 12 or jan to dec"},
	{"day of the week", "0 to 7 (0 and 7 are Sunday) or sun to sat"},
}

// cronTimes returns the slots of a cron line. A line with an hour means the clock on
// the wall: of an hour that comes twice when daylight saving ends, the first counts,
// and a slot in the hour that is left out when it begins comes when that hour would
// have ended. A line for all hours means time that passes.
func cronTimes(line string, zone *time.Location) (func(time.Time) time.Time, error) {
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	wrong := func(format string, args ...any) error { return &FieldError{"cron", fmt.Errorf(format, args...)} }
	fields := strings.Fields(line)
	if strings.HasPrefix(line, "@every") || strings.Contains(line, "TZ=") {
		return nil, wrong("write every = %q, or zone, in place of %q", "1h", fields[0])
	}
	if !strings.HasPrefix(line, "@") {
		if len(fields) != len(cronFields) {
			return nil, wrong("%q has %d fields; allowed are five: minute, hour, day of the month, month, day of the week, or @hourly, @daily, @weekly, @monthly, @yearly",
				line, len(fields))
		}
		fields[4] = sunday(fields[4])
		for i, f := range fields {
			alone := []string{"*", "*", "*", "*", "*"}
			alone[i] = f
			if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
				return nil, wrong("the %s %q: allowed are %s, *, lists (1,2), ranges (1-5) and steps (*/2)", cronFields[i].name, f, cronFields[i].allowed)
			}
		}
		line = strings.Join(fields, " ")
	}
	parsed, err := parser.Parse(line)
	if err != nil {
		return nil, wrong("%q: allowed are five fields, or @hourly, @daily, @weekly, @monthly, @yearly", line)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, wrong("%q: write every in its place", line)
	}
	allHours := bits.OnesCount64(spec.Hour&(1<<24-1)) == 24
	spec.Location = time.UTC
	if spec.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, wrong("%q: there is no such day", line)
	}
	if allHours {
		spec.Location = zone
		return func(after time.Time) time.Time { return spec.Next(after) }, nil
	}
	return onTheWall(zone, spec.Next), nil
}

// sunday replaces the 7 of a list of weekdays, which cron has for Sunday beside 0. In a
// range it is the last day: 5-7 is 5,6,0.
func sunday(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		switch first, isRange := strings.CutSuffix(item, "-7"); {
		case item == "7":
			items[i] = "0"
		case isRange && len(first) == 1 && first >= "1" && first <= "6":
			items[i] = first + "-6,0"
		}
	}
	return strings.Join(items, ",")
}

// toWall returns what the clock on the wall of a zone shows at a time, as a time in UTC.
func toWall(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// onTheWall returns slots that a function computes on the clock on the wall, for which
// it gets and returns times in UTC.
func onTheWall(zone *time.Location, next func(time.Time) time.Time) func(time.Time) time.Time {
	return func(after time.Time) time.Time {
		for wall := toWall(after, zone); ; {
			if wall = next(wall); wall.IsZero() {
				return wall
			}
			if slot := fromWall(wall, zone); slot.After(after) {
				return slot
			}
		}
	}
}

// fromWall returns the first moment at which the clock on the wall of a zone shows at
// least the time of wall, which is in UTC.
func fromWall(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	shown := func(t time.Time) time.Duration { return toWall(t, zone).Sub(wall) }
	if d := shown(t); d != 0 {
		// The wall never shows this time: it is set forward. Whichever side of the gap
		// time.Date chose, the gap ends at the first moment that shows more than wall.
		low, high := t.Add(-24*time.Hour), t.Add(24*time.Hour)
		for high.Sub(low) > time.Second {
			middle := low.Add(high.Sub(low) / 2).Truncate(time.Second)
			if shown(middle) > 0 {
				high = middle
			} else {
				low = middle
			}
		}
		return high
	}
	// Where the wall shows this time twice, the first one counts.
	for _, back := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 24 * time.Hour} {
		if earlier := t.Add(-back); shown(earlier) == 0 {
			return earlier
		}
	}
	return t
}

// everyTimes returns slots with the same time between them.
func everyTimes(every string, from time.Time) (func(time.Time) time.Time, error) {
	d, err := time.ParseDuration(every)
	if err != nil || d < minEvery || d > 10*366*24*time.Hour {
		return nil, &FieldError{"every", fmt.Errorf(`allowed: a duration from one minute on, such as "90m" or "24h"`)}
	}
	from = from.Truncate(time.Second)
	return func(after time.Time) time.Time {
		if after.Before(from) {
			return from.Add(d)
		}
		return from.Add((after.Sub(from)/d + 1) * d)
	}, nil
}

// atTimes returns the one slot of a plan with At.
func atTimes(at string, zone *time.Location) (func(time.Time) time.Time, error) {
	slot, err := time.Parse(time.RFC3339, at)
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if err == nil {
			break
		}
		var wall time.Time
		if wall, err = time.Parse(layout, at); err == nil {
			slot = fromWall(wall, zone)
		}
	}
	if err != nil {
		return nil, &FieldError{"at", errors.New("allowed: a time such as 2026-12-24T18:00, in the zone of the schedule, or 2026-12-24T18:00:00+01:00")}
	}
	return func(after time.Time) time.Time {
		if slot.After(after) {
			return slot
		}
		return time.Time{}
	}, nil
}

// rruleTimes returns the slots of a recurrence rule, which means the clock on the wall, like
// a cron line with an hour.
func rruleTimes(text string, zone *time.Location, from time.Time) (func(time.Time) time.Time, error) {
	wrong := func(err any) error {
		return &FieldError{"rrule", fmt.Errorf("%v; allowed is a rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=9;BYMINUTE=0", err)}
	}
	rule := text
	start := from.In(zone).Truncate(time.Minute)
	if first, rest, ok := strings.Cut(strings.TrimSpace(text), "\n"); ok {
		stamp, isStart := strings.CutPrefix(strings.TrimSpace(first), "DTSTART")
		at, err := rrule.StrToDtStart(strings.TrimLeft(stamp, ":;"), zone)
		if !isStart || err != nil {
			return nil, wrong("its first line must be DTSTART:20261124T090000")
		}
		start, rule = at.In(zone), rest
	}
	o, err := rrule.StrToROptionInLocation(strings.TrimPrefix(strings.TrimSpace(rule), "RRULE:"), zone)
	if err != nil {
		return nil, wrong(err)
	}
	if o.Freq > rrule.DAILY || len(o.Bysecond) > 0 {
		return nil, wrong("for slots within a day, BYHOUR and BYMINUTE, or cron, or every; seconds are not supported")
	}
	if start.Year() < 1970 || start.Year() > 2200 {
		return nil, wrong("DTSTART must be between 1970 and 2200")
	}
	o.Dtstart = toWall(start, zone)
	// The library looks for the next slot of a rule that has none for as long as the rule lasts.
	end := o.Dtstart.AddDate(maxYears, 0, 0)
	if o.Until = toWall(o.Until, zone); o.Until.Year() <= 1 || o.Until.After(end) {
		o.Until = end
	}
	r, err := rrule.NewRRule(*o)
	if err != nil {
		return nil, wrong(err)
	}
	return onTheWall(zone, func(after time.Time) time.Time { return r.After(after, false) }), nil
}
