package local

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// Ready says why no session can begin, such as that no model is configured. It makes no
// request.
func (s *Source) Ready(ctx context.Context) error {
	_, _, err := s.Choose(ctx)
	return err
}

// Open opens a session that works in a directory, and returns its id. It has no message
// yet, so nothing runs. A directory that the configuration does not allow as a workspace
// is an error.
func (s *Source) Open(ctx context.Context, dir string) (string, error) {
	if err := s.CheckWorkspace(s.Config, dir, s.Config.Run.AnyWorkspace); err != nil {
		return "", err
	}
	spec, err := s.NewSpec(ctx, func(spec *openmanus.Spec) { spec.Workspace, spec.Delegates = dir, s.Delegates })
	if err != nil {
		return "", err
	}
	id := ids.Session()
	_, err = s.Host.Open(ctx, id, host.Opening{Spec: spec})
	return id, err
}

// Delete deletes a session that no driver has the lease of, and everything that only it
// needs: copies, the files of a fork, and its blobs.
func (s *Source) Delete(ctx context.Context, id string) error {
	del, ok := s.Store.(journal.Deleter)
	if !ok {
		return errors.New("this store does not delete sessions")
	}
	if err := del.Delete(ctx, id); err != nil {
		return err
	}
	return s.Deleted(id)
}
