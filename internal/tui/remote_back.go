package tui

import (
	"context"

	"github.com/openmanus-go/openmanus/act"
)

// Fork implements Source.
func (s *server) Fork(ctx context.Context, id string, at int64) (string, error) {
	var made struct{ ID string }
	err := s.call(ctx, "POST", of(id, "fork"), fields{"at": at}, &made)
	return made.ID, err
}

// Back implements Source.
func (s *server) Back(ctx context.Context, id string, b act.Rewind) (*act.Rewinding, error) {
	in, path := fields{"dry_run": b.Plan}, of(id, "redo")
	if !b.Redo {
		path = of(id, "rewind")
		if in["last"] = b.Last; !b.Last {
			in["to"] = b.To
		}
		if b.Files != b.Talk {
			in["files"], in["talk"] = b.Files, b.Talk
		}
	}
	p := new(act.Rewinding)
	err := s.call(ctx, "POST", path, in, p)
	p.Total, p.Nothing = len(p.Changes), len(p.Changes) == 0 && !p.Talk && !b.Redo
	return p, err
}
