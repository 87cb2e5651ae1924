package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// overlap is for how long before its position a client gets events again: those of
// sessions that other processes wrote at the same time may have come to be seen later.
const overlap = time.Minute

// position reads a position in the events of all sessions, which is the time up to which a
// client has them, in microseconds.
func position(text string) time.Time {
	n, _ := strconv.ParseInt(text, 10, 64) // its pattern was checked
	return time.UnixMicro(n)
}

// all streams the stored events of all sessions of the user, children included, until ctx
// ends: each at least once, those of a session in order. It looks for them once in a
// listEvery. When all that was seen has been sent, an event tells the position.
func (f feed) all(ctx context.Context, after time.Time) error {
	since := after.Add(-overlap)
	known := make(map[string]int64) // the last event of each session that needs no more
	first, told := true, after
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	for {
		oldest := told.Add(-time.Hour) // also where a clock was set back
		if first {
			oldest = time.Time{}
		}
		changed, latest, err := f.changed(ctx, known, oldest)
		if err != nil {
			return err
		}
		for _, info := range changed {
			if info.Updated.Before(since) && first {
				known[info.ID] = info.Events
				continue
			}
			from := since
			last, seen := known[info.ID]
			if seen || !first {
				from = time.Time{} // it is known which events are new
			}
			last, err := f.stored(ctx, info.ID, last, from)
			if err != nil && !errors.Is(err, openmanus.ErrNoSession) {
				return err
			}
			known[info.ID] = last
		}
		if first = false; latest.After(told) {
			told = latest
			if err := f.out.write(fmt.Appendf(nil, "id: %d\nevent: position\ndata: {}\n\n", told.UnixMicro())); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// changed returns the sessions of the user that have more events than known and changed
// after oldest, those that changed first at the beginning, and when the last one changed.
func (f feed) changed(ctx context.Context, known map[string]int64, oldest time.Time) (all []journal.SessionInfo, latest time.Time, err error) {
	for info, err := range f.s.Store.Sessions(ctx, journal.ListOptions{Owner: userOf(ctx).Name}) {
		if err != nil {
			return nil, latest, err
		}
		if info.Updated.Before(oldest) {
			break // the others did earlier
		}
		if info.Updated.After(latest) {
			latest = info.Updated
		}
		if info.Events > known[info.ID] {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b journal.SessionInfo) int { return a.Updated.Compare(b.Updated) })
	return all, latest, nil
}
