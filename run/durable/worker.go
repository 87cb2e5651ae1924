package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openmanus-go/openmanus"
)

// A Worker drives sessions that clients wake. Set its fields before use.
type Worker struct {
	// Name is that of the worker's own queue, unique among all that run: sessions whose
	// files are here come to it.
	Name string

	// Sessions is how many it takes of those that any worker may have, at a time; those
	// whose files are here come on top, as many again at most.
	Sessions int

	// Room, if not nil, returns when there is room for one more of those that any worker may
	// have, or ctx ends.
	Room func(ctx context.Context) error

	// Drive drives a session until it rests, or ctx ends. An error that is an
	// [*ElsewhereError] says that another worker has its files, and one that is
	// [openmanus.ErrDriven] that another one has not given it back yet.
	Drive func(ctx context.Context, session string) error

	// Failed is called when a session cannot be driven, after some tries, and records
	// that where its users see it. If it fails, there are more tries.
	Failed func(ctx context.Context, session string, err error) error
}

// An ElsewhereError says which worker has the files of a session.
type ElsewhereError struct{ Worker string }

func (e *ElsewhereError) Error() string { return "its files are at the worker " + e.Worker }

// Work takes sessions of c until ctx ends. Then it has those that it drives stopped, and
// returns when all have recorded what they did: other workers go on with them.
func (w *Worker) Work(ctx context.Context, c *Client) error {
	failed := make(chan error, 2)
	var all []worker.Worker
	defer func() {
		var stopping sync.WaitGroup
		for _, each := range all {
			stopping.Go(each.Stop)
		}
		stopping.Wait()
	}()
	for i, queue := range []string{c.queue, ownQueue(c.queue, w.Name)} {
		slots, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{NumActivitySlots: w.Sessions})
		if err != nil {
			return fmt.Errorf("work for Temporal: %w", err)
		}
		if i == 0 && w.Room != nil {
			slots = roomy{slots, w.Room}
		}
		one := worker.New(c.client, queue, worker.Options{
			Identity:                     w.Name,
			Tuner:                        slots,
			DisableWorkflowWorker:        i > 0,
			WorkerStopTimeout:            stopping,
			MaxHeartbeatThrottleInterval: heartbeat / 3,
			OnFatalError:                 func(err error) { failed <- err },
		})
		if i == 0 {
			one.RegisterWorkflowWithOptions(sessionWorkflow, workflow.RegisterOptions{Name: workflowName})
		}
		one.RegisterActivityWithOptions(w.drive, activity.RegisterOptions{Name: activityName})
		if err := one.Start(); err != nil {
			return fmt.Errorf("work for Temporal: %w", err)
		}
		all = append(all, one)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("work for Temporal: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// A roomy is a tuner that asks for an activity only when there is room for it.
type roomy struct {
	worker.WorkerTuner
	room func(ctx context.Context) error
}

// GetActivityTaskSlotSupplier implements [worker.WorkerTuner].
func (r roomy) GetActivityTaskSlotSupplier() worker.SlotSupplier {
	return roomySlots{r.WorkerTuner.GetActivityTaskSlotSupplier(), r.room}
}

type roomySlots struct {
	worker.SlotSupplier
	room func(ctx context.Context) error
}

// ReserveSlot implements [worker.SlotSupplier]. It waits for room on this machine.
func (s roomySlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := s.room(ctx); err != nil {
		return nil, err
	}
	return s.SlotSupplier.ReserveSlot(ctx, info)
}

// stopping is how long sessions may take to record what they did when a worker stops.
const stopping = 30 * time.Second

// ownQueue is the queue of one worker.
func ownQueue(queue, worker string) string { return queue + "/" + worker }

// fewTries is how often driving a session may fail before its users hear of it.
const fewTries = 5

// drive is the activity. So many tries have failed before it.
func (w *Worker) drive(ctx context.Context, session string, failed int) (outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		beat := time.NewTicker(heartbeat / 5) // some of these are sent
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				activity.RecordHeartbeat(ctx)
			case <-activity.GetWorkerStopChannel(ctx):
				cancel()
				return
			case <-ended:
				return
			}
		}
	}()
	err := w.Drive(ctx, session)
	var there *ElsewhereError
	switch {
	case err == nil:
		return outcome{}, nil
	case errors.As(err, &there):
		return outcome{Worker: there.Worker}, nil
	case ctx.Err() != nil: // the worker stops, or Temporal has given the activity up
		return outcome{Again: true}, nil
	case errors.Is(err, openmanus.ErrDriven): // by one that has not given it back yet
		return outcome{Again: true}, nil
	}
	activity.GetLogger(ctx).Warn("a session could not be driven", "session", session, "tries", failed+1, "error", err.Error())
	if failed+1 < fewTries {
		return outcome{Failed: true}, nil
	}
	if err := w.Failed(ctx, session, err); err != nil {
		return outcome{Failed: true}, nil // it is in the log, and there are more tries
	}
	return outcome{}, nil
}
