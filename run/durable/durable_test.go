package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// A try is what becomes of one activity.
type try struct {
	queue string // at which it has to be
	out   outcome
	err   error
	wake  bool // the session is woken meanwhile
}

const own = "default-test-taskqueue/w"

// Where a session goes on, for all that may become of an activity.
func TestWorkflow(t *testing.T) {
	const all = "default-test-taskqueue"
	late := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	dead := temporal.NewHeartbeatTimeoutError()
	for name, tries := range map[string][]try{
		"it rests":                          {{queue: all}},
		"it is woken meanwhile":             {{queue: all, wake: true}, {queue: all}},
		"its files are elsewhere":           {{queue: all, out: outcome{Worker: "w"}}, {queue: own}},
		"the worker with its files is gone": {{queue: all, out: outcome{Worker: "w"}}, {queue: own, err: late}, {queue: all}},
		"the worker dies":                   {{queue: all, err: dead}, {queue: all}},
		"the worker dies that had its files": {
			{queue: all, out: outcome{Worker: "w"}}, {queue: own, err: dead}, {queue: all, out: outcome{Worker: "w"}}, {queue: own}},
		"not given back yet":     {{queue: all, out: outcome{Again: true}}, {queue: all, out: outcome{Again: true}}, {queue: all}},
		"it fails once":          {{queue: all, out: outcome{Failed: true}}, {queue: all}},
		"an activity that fails": {{queue: all, err: errors.New("a panic")}, {queue: all}},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment(t)
			n := 0
			env.OnActivity(activityName, mock.Anything, "s", mock.Anything).Return(func(ctx context.Context, _ string, _ int) (outcome, error) {
				if n == len(tries) {
					t.Fatalf("there is one try too many")
				}
				now := tries[n]
				n++
				if q := activity.GetInfo(ctx).TaskQueue; q != now.queue {
					t.Errorf("try %d is at %s, want %s", n, q, now.queue)
				}
				if now.wake {
					env.SignalWorkflow(wakeSignal, nil)
				}
				return now.out, now.err
			})
			env.ExecuteWorkflow(workflowName, input{Session: "s", Owner: "alice"})
			if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil {
				t.Errorf("the workflow ended: %v, %v", env.IsWorkflowCompleted(), err)
			}
			if n != len(tries) {
				t.Errorf("%d tries, want %d", n, len(tries))
			}
		})
	}
}

// environment is one in which workflows run without a server, in no time.
func environment(t *testing.T) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(sessionWorkflow, workflow.RegisterOptions{Name: workflowName})
	env.RegisterActivityWithOptions(new(Worker).drive, activity.RegisterOptions{Name: activityName})
	return env
}

// A session that cannot be driven is tried some times, then its users hear of it; while
// that cannot be recorded, there are more tries.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		drive  []error // nil afterwards
		failed []error
		tries  int
		told   int
	}{
		"twice, then it works":            {[]error{errors.New("x"), errors.New("x")}, nil, 3, 0},
		"always":                          {fails(20), nil, fewTries, 1},
		"and the store is away":           {fails(20), []error{errors.New("away"), errors.New("away")}, fewTries + 2, 3},
		"another one drives it, always":   {append(driven(30), nil), nil, 31, 0},
		"it is driven, then it fails":     {append(driven(3), errors.New("x")), nil, 5, 0},
		"its files are at nobody's queue": {[]error{&ElsewhereError{"w"}}, nil, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment(t)
			tries, told := 0, 0
			w := Worker{
				Drive: func(context.Context, string) error {
					tries++
					if tries > len(c.drive) {
						return nil
					}
					return c.drive[tries-1]
				},
				Failed: func(_ context.Context, session string, err error) error {
					if told++; session != "s" || err == nil {
						t.Errorf("told %s, %v", session, err)
					}
					if told > len(c.failed) {
						return nil
					}
					return c.failed[told-1]
				},
			}
			env.OnActivity(activityName, mock.Anything, mock.Anything, mock.Anything).Return(w.drive)
			env.ExecuteWorkflow(workflowName, input{Session: "s"})
			if err := env.GetWorkflowError(); err != nil || tries != c.tries || told != c.told {
				t.Errorf("%v after %d tries, told %d times, want %d and %d", err, tries, told, c.tries, c.told)
			}
		})
	}
}

func fails(n int) []error  { return repeat(n, errors.New("it cannot be driven")) }
func driven(n int) []error { return repeat(n, fmt.Errorf("s: %w", openmanus.ErrDriven)) }

func repeat(n int, err error) (all []error) {
	for range n {
		all = append(all, err)
	}
	return all
}

// The package stays small: what is in it runs beside every version of itself.
func TestSmall(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			n += strings.Count(string(data), "\n")
		}
	}
	if n > 400 {
		t.Errorf("it has %d lines, and may have 400", n)
	}
}

// An address at which nothing is, and keys without encryption, are refused in a sentence.
func TestDialRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"Temporal at 127.0.0.1:1":   {Address: "127.0.0.1:1"},
		"over an encrypted connect": {Address: "127.0.0.1:1", APIKey: "secret-key"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		c, err := Dial(ctx, o, nil)
		cancel()
		if err == nil {
			c.Close()
			t.Errorf("%+v was reached", o)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A worker asks for a session when there is room, and for none when there is none.
func TestRoom(t *testing.T) {
	slots, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{NumActivitySlots: 1})
	if err != nil {
		t.Fatal(err)
	}
	room := make(chan struct{})
	supplier := roomy{slots, func(ctx context.Context) error {
		select {
		case <-room:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}.GetActivityTaskSlotSupplier()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := supplier.ReserveSlot(ctx, nil)
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("there is a slot without room: %v", err)
	case room <- struct{}{}:
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := supplier.ReserveSlot(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was given up", err)
	}
}
