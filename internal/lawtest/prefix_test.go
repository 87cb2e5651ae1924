package lawtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// An encoder is what an adapter does with a request: it encodes each message
// once, and keeps the bytes of those that are fixed.
type encoder struct {
	bodies  [][]byte // of every request, without what is of the moment
	encoded int      // messages that were encoded
}

type keptBytes struct {
	n    int
	data []byte
}

func (e *encoder) encode(req *llm.Request) error {
	kept, _ := req.Memo.Load(e).(keptBytes)
	for _, m := range req.Messages[kept.n:req.Fixed] {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		kept.data = append(append(kept.data[:len(kept.data):len(kept.data)], b...), '\n')
		e.encoded++
	}
	kept.n = req.Fixed
	req.Memo.Store(e, kept)
	e.bodies = append(e.bodies, kept.data)
	return nil
}

// TestPrefixOverTwoHundredSteps lives through everything that can happen in a
// long run: failing tools and replies, nudges, steering, an interrupt in the
// middle of a reply, a reply that is cut, denials, a large output, and three
// deaths of the process. The messages of every request begin with those of the
// one before, to the byte, and each is encoded once in a life.
func TestPrefixOverTwoHundredSteps(t *testing.T) {
	const steps = 200
	j := &tamper{Memory: new(journal.Memory)}
	e := new(encoder)
	failed, cut, interrupted := false, false, false
	m := &actor{}
	m.play = func(ctx context.Context, _ int, req *llm.Request) take {
		if err := e.encode(req); err != nil {
			t.Error(err)
		}
		n := llmtest.Spoken(req)
		switch {
		case n == 90 && !failed:
			failed = true
			return take{Message: llmtest.Say("I was"), err: &llm.Error{Kind: llm.Network, Err: errors.New("gone")}}
		case n == 130 && !cut:
			cut = true
			return take{Message: llmtest.Say("and so on and so"), stop: llm.Length}
		case n == 150 && !interrupted:
			interrupted = true
			put(t, j.Memory, openmanus.Interrupted{ID: "1", Said: "let me"})
			<-ctx.Done()
			return take{err: ctx.Err()}
		case n >= steps:
			return take{Message: llmtest.Say("done")}
		case n%50 < 5:
			return take{Message: llmtest.Use("", "look", `{"same":true}`)} // a circle: nudged
		case n%10 == 7:
			return take{Message: llmtest.Calls(llmtest.Say("Two at once."), llmtest.Use("", "look", map[string]int{"n": n}), llmtest.Use("", "fail", map[string]int{"n": n}))}
		case n%40 == 21:
			return take{Message: llmtest.Use("", "steer", map[string]int{"n": n})}
		case n%40 == 33:
			return take{Message: llmtest.Calls(llmtest.Use("", "deny", "{}"), llmtest.Use("", "big", "{}"), llmtest.Use("", "none", "{"))}
		}
		return take{Message: llmtest.Use("", "look", map[string]int{"n": n})}
	}
	a := longRunner(t, j, m)
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("task", "go"))); err != nil {
		t.Fatal(err)
	}
	deaths := 0
	j.after = func(n int64, _ string, _ []openmanus.Body) error {
		if n%120 == 0 {
			deaths++
			return errCrash
		}
		return nil
	}
	for life := 0; ; life++ {
		err := local(j, a).Wake(t.Context(), sess)
		s := load(t, j, sess)
		switch {
		case errors.Is(err, errCrash):
		case err != nil:
			t.Fatal(err)
		case s.Status() == openmanus.Finished:
			check200(t, m, e, deaths, s)
			return
		case s.Status() == openmanus.Failed:
			put(t, j.Memory, openmanus.Resumed{ID: fmt.Sprint(life)})
		default:
			put(t, j.Memory, userSays(fmt.Sprint("life", life), "go on"))
		}
	}
}

// longRunner is an agent with tools of every temper.
func longRunner(t *testing.T, j *tamper, m llm.Model) *openmanus.Agent {
	gate := openmanus.GateFunc(func(_ context.Context, call openmanus.Call, _ openmanus.ToolSpec) (openmanus.Verdict, error) {
		return openmanus.Verdict{Allow: call.Name != "deny"}, nil
	})
	return &openmanus.Agent{Name: "a", Model: m, Gate: gate, Limits: openmanus.Limits{Steps: -1, Stuck: 3}, Tools: []openmanus.Tool{
		look(), counted("deny", openmanus.Hints{}, new(atomic.Int64)),
		tool("fail", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("half"), errors.New("no such file <x>")
		}),
		tool("big", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("%s", bytes.Repeat([]byte("<&>\xff"), 5000)), nil
		}),
		tool("steer", openmanus.Hints{Idempotent: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
			_, err := j.Memory.Append(context.Background(), call.Session, userSays(call.ID, "faster!"))
			if errors.Is(err, openmanus.ErrExists) {
				err = nil
			}
			return openmanus.TextResult("ok"), err
		}),
	}}
}

func check200(t *testing.T, m *actor, e *encoder, deaths int, s *openmanus.State) {
	asks := m.asked()
	nudges := 0
	memos := make(map[*llm.Memo]int)
	for i, req := range asks {
		if nudged(req) {
			nudges++
		}
		memos[req.Memo] = max(memos[req.Memo], req.Fixed)
		if i > 0 && !bytes.HasPrefix(e.bodies[i], e.bodies[i-1]) {
			t.Fatalf("request %d does not begin with the bytes of request %d", i, i-1)
		}
	}
	if len(asks) < 200 || nudges < 5 || deaths < 3 || len(memos) < 4 {
		t.Errorf("%d requests, %d nudges, %d deaths, %d memos: not much of a run", len(asks), nudges, deaths, len(memos))
	}
	once := 0 // what there is to encode, in every life
	for _, fixed := range memos {
		once += fixed
	}
	if e.encoded != once {
		t.Errorf("%d messages were encoded, want %d: each once in a life", e.encoded, once)
	}
	said := dialogue(s.Said)
	for _, words := range []string{"faster!", "and so on and so", "let me", "not allowed", "left out", "no such file <x>"} {
		if !bytes.Contains([]byte(said), []byte(words)) {
			t.Errorf("%q did not happen", words)
		}
	}
}
