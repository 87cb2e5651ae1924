package lawtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/hooks"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A stormy hook allows every other call; otherwise it crashes, hangs, prints garbage, panics or denies. The call decides which.
type stormy struct {
	mu      sync.Mutex
	allowed map[string]bool // by session and call
	ways    map[string]int
	depths  map[int]int
}

func (s *stormy) Run(ctx context.Context, _ hooks.Hook, in hooks.Input) (hooks.Output, error) {
	var ev hooks.Event
	if err := json.Unmarshal(in.JSON, &ev); err != nil {
		return hooks.Output{}, err
	}
	key := ev.Session + " " + ev.Call.ID
	h := fnv.New32a()
	h.Write([]byte(key))
	way := []string{"allows", "crashes", "allows", "hangs", "allows", "prints garbage", "allows", "prints nothing at length", "allows", "denies", "allows", "panics"}[h.Sum32()%12]
	if ev.Call.Tool == "give" {
		way = "allows"
	}
	time.Sleep(time.Duration(h.Sum32()%50) * time.Millisecond)
	s.mu.Lock()
	s.ways[way]++
	s.depths[ev.Depth]++
	if way == "allows" {
		s.allowed[key] = true
	}
	s.mu.Unlock()
	switch way {
	case "crashes":
		return hooks.Output{}, errors.New("exit status 139")
	case "hangs":
		<-ctx.Done()
		return hooks.Output{}, context.Cause(ctx)
	case "prints garbage":
		return hooks.Output{Text: []byte("\x00\xff{\"decision\": \"allow\"")}, nil
	case "prints nothing at length":
		return hooks.Output{Text: make([]byte, 1000)}, nil
	case "denies":
		return hooks.Output{Denied: true, Said: "not today"}, nil
	case "panics":
		panic("a hook in this process")
	}
	return hooks.Output{Text: []byte(`{"decision": "allow"}`)}, nil
}

// TestNoCallStartsBeforeItsHookAllows has 40 sessions at depth 0 to 3 make 10,000 calls in parallel, with a hook that
// allows half of them. A call that starts was allowed before; the others have a result that says why not.
func TestNoCallStartsBeforeItsHookAllows(t *testing.T) {
	const each = 250 / testbed.Slower
	synctest.Test(t, func(t *testing.T) {
		hook := &stormy{allowed: map[string]bool{}, ways: map[string]int{}, depths: map[int]int{}}
		var began, wrong atomic.Int64
		act := tool("act", openmanus.Hints{ReadOnly: true}, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			began.Add(1)
			hook.mu.Lock()
			defer hook.mu.Unlock()
			if !hook.allowed[c.Session+" "+c.ID] {
				wrong.Add(1)
			}
			delete(hook.allowed, c.Session+" "+c.ID) // it starts once
			return openmanus.TextResult("done"), nil
		})
		level := func(depth int) *openmanus.Agent {
			play := func(_ context.Context, _ int, req *llm.Request) take {
				if last := req.Messages[len(req.Messages)-1]; hasResults(last) {
					return take{Message: llmtest.Say("done")}
				}
				var calls []llm.Message
				for i := range each {
					calls = append(calls, llmtest.Use("", "act", fmt.Sprintf(`{"n": %d}`, i)))
				}
				for i := range 3 {
					if depth < 3 {
						calls = append(calls, giving(fmt.Sprintf("level%d", depth+1), fmt.Sprintf("work %d", i)))
					}
				}
				return take{Message: llmtest.Calls(calls...)}
			}
			return &openmanus.Agent{Name: fmt.Sprintf("level%d", depth), Model: &actor{play: play}, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{act, give()}}
		}
		l, _ := firm(t, level(0), level(1), level(2), level(3))
		l.Hooks = hooks.NewSet(func(string) []hooks.Hook {
			return []hooks.Hook{{Name: "storm", On: hooks.BeforeCall, Run: "x", Timeout: time.Second}}
		}, hook)
		if err := l.Wake(t.Context(), sess); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, n := range hook.ways {
			asked += n
		}
		t.Logf("%d calls were asked about: %v, at depths %v; %d began", asked, hook.ways, hook.depths, began.Load())
		if wrong.Load() > 0 {
			t.Errorf("%d calls began that no hook had allowed, or began twice", wrong.Load())
		}
		if want := 40*each + 39; asked != want || len(hook.depths) != 4 || int(began.Load()) != hook.ways["allows"]-39 {
			t.Errorf("%d calls were asked about, want %d; %d began of %d that were allowed", asked, want, began.Load(), hook.ways["allows"]-39)
		}
	})
}

func hasResults(m llm.Message) bool {
	for _, p := range m.Parts {
		if _, ok := p.(llm.Result); ok {
			return true
		}
	}
	return false
}
