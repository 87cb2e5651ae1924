package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// Ten thousand sessions of one runtime that are begun and cancelled, some
// before they do anything, some while the model speaks, some while calls run,
// some watched: nothing of them stays.
func TestTenThousandSessionsBegunAndCancelledLeaveNothingBehind(t *testing.T) {
	others := goleak.IgnoreCurrent()
	const cycles, workers = 10_000 / testbed.Slower, 4
	l := local(new(journal.Memory))
	l.Flow = func(ctx context.Context, _ *openmanus.State) (openmanus.Flow, error) {
		return ctx.Value(cycleKey{}).(*cycle).agent(), nil
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range cycles / workers {
				c := &cycle{t: t, id: fmt.Sprintf("%d.%d", w, i), at: r.IntN(6)}
				c.run(l, r.IntN(2) == 0)
			}
		})
	}
	all.Wait()
	if err := testbed.Leaks(others); err != nil { // waits for what is on its way out
		t.Error(err)
	}
}

type cycleKey struct{}

// A cycle is a session that is cancelled at some moment.
type cycle struct {
	t      *testing.T
	id     string
	at     int // 0: before it begins; 1, 3, 5: while the model speaks; 2: while calls run; 4: never
	cancel context.CancelFunc
}

func (c *cycle) run(l *run.Local, watched bool) {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	c.cancel = cancel
	ctx = context.WithValue(ctx, cycleKey{}, c)
	if err := openmanus.Open(ctx, l.Journal, c.id, c.agent(), ptr(userSays("1", "go"))); err != nil {
		c.t.Error(err)
	}
	c.reach(0)
	var watching sync.WaitGroup
	if watched {
		watching.Go(func() {
			for range l.Watch(ctx, c.id, 0) {
			}
		})
	}
	if err := l.Wake(ctx, c.id); err != nil && !errors.Is(err, context.Canceled) {
		c.t.Error(err)
	}
	cancel()
	watching.Wait()
}

func (c *cycle) reach(n int) {
	if n == c.at {
		c.cancel()
	}
}

func (c *cycle) agent() *openmanus.Agent {
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		c.reach(1 + 2*n)
		if n < 2 {
			return take{Message: llmtest.Calls(llmtest.Use("", "do", "{}"), llmtest.Use("", "do", "{}"))}
		}
		return take{Message: llmtest.Say("done")}
	}}
	do := tool("do", openmanus.Hints{ReadOnly: true}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		if c.reach(2); c.at == 2 {
			<-ctx.Done()
		}
		return openmanus.TextResult("done"), ctx.Err()
	})
	return &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{do}}
}

// A caller that stops reading ends the five-line program.
func TestRunEndsWithItsReader(t *testing.T) {
	m := &actor{play: func(ctx context.Context, n int, _ *llm.Request) take {
		if n == 1 {
			<-ctx.Done()
			return take{err: ctx.Err()}
		}
		return take{Message: llmtest.Use("", "look", "{}")}
	}}
	for ev, err := range run.Agent(t.Context(), &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look()}}, "go") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(openmanus.CallDone); ok {
			break
		}
	}
	waits := &actor{play: func(ctx context.Context, _ int, _ *llm.Request) take { // so that no run ends before it is cancelled
		<-ctx.Done()
		return take{err: ctx.Err()}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for ev, err := range run.Agent(ctx, &openmanus.Agent{Name: "a", Model: waits}, "go") {
		if last = err; ev.Seq == 3 {
			cancel()
		}
	}
	cancel()
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a run that is cancelled ends with %v", last)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	var last error
	for _, err := range run.Agent(t.Context(), &openmanus.Agent{Name: "mute"}, "go") {
		last = err
	}
	if last == nil {
		t.Error("an agent without a model ran")
	}
}
