package durable

import (
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The names that workers of all versions have in common.
const workflowName, activityName = "session", "drive"

// An input is what the workflow of a session begins with.
type input struct {
	Session string `json:"session"`
	Owner   string `json:"owner,omitempty"`
	Worker  string `json:"worker,omitempty"` // the one that has its files
	Failed  int    `json:"failed,omitempty"` // how many tries have failed, one after the other
}

const (
	heartbeat    = 15 * time.Second     // after so long without a sign of life, the session goes on elsewhere
	atOnce       = 20 * time.Second     // how long a session waits for the worker that has its files, or had them last
	afterDeath   = 2 * time.Second      // the same when the worker that drove it died: it may be that one, whose claim has not expired
	longestPause = 15 * time.Second     // between tries
	longest      = 365 * 24 * time.Hour // of one activity
)

// An outcome is the result of an activity. The zero outcome: the session rests.
type outcome struct {
	Worker string `json:"worker,omitempty"` // the session goes on there
	Again  bool   `json:"again,omitempty"`  // it goes on after a pause
	Failed bool   `json:"failed,omitempty"` // it could not be driven, and there are more tries
}

// sessionWorkflow has a session driven until it rests and was not woken meanwhile.
func sessionWorkflow(ctx workflow.Context, in input) error {
	wake := workflow.GetSignalChannel(ctx, wakeSignal)
	patience := atOnce
	for {
		for wake.ReceiveAsync(nil) {
		}
		out, err := driveOnce(ctx, in, patience)
		var late *temporal.TimeoutError
		switch in.Worker = out.Worker; {
		case temporal.IsCanceledError(err):
			return err
		case errors.As(err, &late): // the worker died, or does not take it
			if late.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT {
				patience = afterDeath
			}
			continue
		case err != nil, out.Failed:
			in.Failed++
		case out == outcome{}:
			if in.Failed, patience = 0, atOnce; wake.Len() == 0 {
				return nil
			}
			continue
		}
		if out.Again || out.Failed || err != nil {
			if err := workflow.Sleep(ctx, min(time.Second<<min(in.Failed, 10), longestPause)); err != nil {
				return err
			}
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && wake.Len() == 0 {
			return workflow.NewContinueAsNewError(ctx, workflowName, in)
		}
	}
}

// driveOnce has a session driven by the worker that has its files, which begins within
// patience, or else by any. Temporal does not retry a failed attempt: the next one may
// be for another worker.
func driveOnce(ctx workflow.Context, in input, patience time.Duration) (out outcome, err error) {
	o := workflow.ActivityOptions{
		StartToCloseTimeout: longest, HeartbeatTimeout: heartbeat, WaitForCancellation: true,
		Priority:    temporal.Priority{FairnessKey: fairness(in.Owner)},
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	if in.Worker != "" {
		o.TaskQueue = ownQueue(workflow.GetInfo(ctx).TaskQueueName, in.Worker)
		o.ScheduleToStartTimeout = patience
	}
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), activityName, in.Session, in.Failed).Get(ctx, &out)
	return out, err
}
