package summary

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus/journal"
)

// A Row is one that a database returned.
type Row interface {
	Scan(into ...any) error
}

// Info reads a row of a list of sessions, and the columns after it into more.
func Info(row Row, more ...any) (i journal.SessionInfo, err error) {
	var created, updated int64
	u := &i.Usage
	err = row.Scan(append([]any{
		&i.ID, &i.Title, &created, &updated, &i.Events, &i.Last, &i.Flow, &i.Parent, &i.Owner, &i.Model, &i.Workspace,
		&u.Input, &u.Output, &u.Cached, &u.CacheWrite, &u.Reasoning, (*int64)(&i.Cost), &u.Estimated, &i.Unpriced,
	}, more...)...)
	i.Created, i.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return i, err
}

// Yield yields the sessions that list returns. The store has read them all before it yields the
// first, so that a slow caller holds no transaction.
func Yield(list func() ([]journal.SessionInfo, error)) iter.Seq2[journal.SessionInfo, error] {
	return func(yield func(journal.SessionInfo, error) bool) {
		all, err := list()
		if err != nil {
			yield(journal.SessionInfo{}, err)
			return
		}
		for _, i := range all {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// UsedBy returns by what usage is added up, "model", "flow", "session" or "day", and from which
// day on: days are in UTC, and Since counts from the beginning of its day.
func UsedBy(opts journal.MeterOptions) (by string, since int64, err error) {
	by = cmp.Or(opts.By, "model")
	if !slices.Contains([]string{"model", "flow", "session", "day"}, by) {
		return "", 0, fmt.Errorf("usage cannot be added up by %q: it is by model, flow, session or day", by)
	}
	if !opts.Since.IsZero() {
		since = opts.Since.Unix() / 86400
	}
	return by, since, nil
}

// Used reads a row of what was used.
func Used(row Row) (u journal.Used, err error) {
	err = row.Scan(&u.Name, &u.Requests, &u.Usage.Input, &u.Usage.Output, &u.Usage.Cached, &u.Usage.CacheWrite,
		&u.Usage.Reasoning, &u.Usage.Estimated, &u.Unpriced, (*int64)(&u.Cost))
	return u, err
}

// Device reads a row of the devices of an owner.
func Device(row Row) (d journal.Device, err error) {
	var added int64
	err = row.Scan(&d.Endpoint, &d.Key, &d.Auth, &d.Name, &d.Language, &added)
	d.Added = time.UnixMicro(added).UTC()
	return d, err
}

// Receiver reads a row of receivers.
func Receiver(row Row) (r journal.Receiver, err error) {
	var until, failing, added int64
	err = row.Scan(&r.Session, &r.ID, &r.Spec, &r.At, &until, &failing, &r.Done, &added)
	r.Until, r.Failing, r.Added = atMicros(until), atMicros(failing), atMicros(added)
	return r, err
}

// Micros returns a time as microseconds since 1970, the zero time as 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func atMicros(n int64) (t time.Time) {
	if n != 0 {
		t = time.UnixMicro(n).UTC()
	}
	return t
}
