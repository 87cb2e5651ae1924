package store

import (
	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// storeUsage adds what models used for the events to the sums of their days.
func storeUsage(q *queries, id int64, events []openmanus.Event) error {
	for _, ev := range events {
		for _, m := range openmanus.ModelUses(ev.Body) {
			u := m.Usage
			_, err := q.exec("add_usage", id, ev.Time.Unix()/86400, m.By, u.Input, u.Output, u.Cached, u.CacheWrite,
				u.Reasoning, u.Estimated, m.Unpriced(), int64(m.Cost))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// storeSummary writes a summary to the session with the row id, whose last event is
// given.
func storeSummary(q *queries, s summary.Summary, id int64, last openmanus.Event, typ string) error {
	if s == (summary.Summary{Active: true}) { // as after most calls
		_, err := q.exec("move_head", id, last.Time.UnixMicro(), last.Seq, typ)
		return err
	}
	var model, workspace string
	if s.Configured != nil {
		model, workspace = s.Configured.Model, s.Configured.Workspace
	}
	u := s.Usage
	_, err := q.exec("add_summary", id, last.Time.UnixMicro(), last.Seq, typ, s.Title, s.Words, s.Flow, s.Parent,
		s.Configured != nil, model, workspace, u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning, int64(s.Cost), s.Owner, s.Active, u.Estimated, s.Unpriced)
	return err
}
