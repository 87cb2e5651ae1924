package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
)

// leaseWait is how long a session that is being interrupted, or whose work has just
// ended, may take to give its lease back.
const leaseWait = 15 * time.Second

// lease takes the lease of a session. If the session is running somewhere, it is
// interrupted, or the error is [openmanus.ErrDriven]. If its work has ended, lease waits
// until whoever did it has given the lease back.
func (h *Host) lease(ctx context.Context, session string, interrupt bool) (release func() error, err error) {
	locker, ok := h.Store.(openmanus.Locker)
	if !ok {
		return func() error { return nil }, nil
	}
	lease, err := locker.Lock(ctx, session)
	if errors.Is(err, openmanus.ErrDriven) {
		if err := h.letEnd(ctx, session, interrupt); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, leaseWait)
		defer cancel()
		for errors.Is(err, openmanus.ErrDriven) {
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("session %s: %w: try again when it has ended", session, openmanus.ErrDriven)
			case <-time.After(20 * time.Millisecond):
				lease, err = locker.Lock(ctx, session)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

// letEnd interrupts a session that has its driver, if it is running. The error is
// [openmanus.ErrDriven] if it is not to be interrupted, or goes back just now.
func (h *Host) letEnd(ctx context.Context, session string, interrupt bool) error {
	s, err := openmanus.Load(ctx, h.Store, session)
	if err != nil {
		return err
	}
	switch st := s.Status(); {
	case s.Unfinished != nil:
		return fmt.Errorf("session %s: %w: it goes back there", session, openmanus.ErrDriven)
	case st != openmanus.Running && st != openmanus.Waiting:
		return nil
	case !interrupt:
		return fmt.Errorf("session %s: %w", session, openmanus.ErrDriven)
	}
	_, err = h.Store.Append(ctx, session, openmanus.Interrupted{ID: ids.New()})
	return err
}
