// Package filled makes sessions as an agent leaves them that did its work,
// without the agent: a store with very many of them is filled in a minute.
package filled

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Events is how many events a session of so many steps has.
func Events(steps int) int { return 3 + 4*steps + 1 }

// Session puts a finished session into j: a request, so many steps, each a
// reply with a call of bash, its ruling, start and result of some 30 lines, and
// an answer. Its messages have the words "number n".
func Session(ctx context.Context, j openmanus.Journal, id, owner string, n, steps int) error {
	bodies := begin(owner, n)
	seq := int64(len(bodies))
	flush := func() error {
		_, err := j.Append(ctx, id, bodies...)
		bodies = nil
		return err
	}
	for i := range steps {
		bodies = append(bodies, step(seq, i)...)
		seq += 4
		if len(bodies) >= 400 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	bodies = append(bodies, end(seq, n, steps))
	return flush()
}

// Live is Session with all but the first step written only when ready has
// returned, as so many events a second, or all at once if rate is negative.
func Live(ctx context.Context, j openmanus.Journal, id, owner string, steps, rate int, ready func() error) error {
	bodies := begin(owner, 0)
	for i := range steps {
		bodies = append(bodies, step(int64(len(bodies)), i)...)
	}
	bodies = append(bodies, end(int64(len(bodies)), 0, steps))
	const first = 3 + 4
	if _, err := j.Append(ctx, id, bodies[:first]...); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	bodies = bodies[first:]
	if rate < 0 {
		_, err := j.Append(ctx, id, bodies...)
		return err
	}
	ticks := time.NewTicker(time.Second / time.Duration(rate))
	defer ticks.Stop()
	for _, b := range bodies {
		<-ticks.C
		if _, err := j.Append(ctx, id, b); err != nil {
			return err
		}
	}
	return nil
}

func begin(owner string, n int) []openmanus.Body {
	return []openmanus.Body{
		openmanus.Opened{Flow: "openmanus", Owner: owner, Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Model: "scripted:bench", Workspace: "/tmp", Approve: openmanus.ApproveAll}, System: "You are a helpful agent."},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, fmt.Sprintf("Please look into the matter number %d, and tell me what comes of it.", n))},
	}
}

func end(seq int64, n, steps int) openmanus.Body {
	return openmanus.ModelSaid{
		Turn: steps, Re: seq, Stop: llm.End, Usage: llm.Usage{Input: 4000, Output: 40},
		Message: llm.Say(llm.Assistant, fmt.Sprintf("The matter number %d is **settled**: see `report.md`.", n)),
	}
}

func step(seq int64, i int) []openmanus.Body {
	call := fmt.Sprintf("call_%d", i)
	said := llm.Message{Role: llm.Assistant, Parts: llm.Parts{
		llm.Text{Text: fmt.Sprintf("Now step %d: I look at the *next* file, and compute what is asked for.\n\n- one thing\n- another", i)},
		llm.Call{ID: call, Name: "bash", Input: fmt.Sprintf(`{"command":"grep -n total data/%d.csv | head -30"}`, i)},
	}}
	output := strings.Repeat("12: the quick brown fox jumps over the lazy dog, total 42\n", 20)
	return []openmanus.Body{
		openmanus.ModelSaid{Turn: i, Re: seq, Stop: llm.ToolUse, Message: said, Usage: llm.Usage{Input: 1000, Output: 50}},
		openmanus.Ruled{Call: call, Allow: true, By: "gate", Rule: "all"},
		openmanus.CallStarted{Call: call, Attempt: 1, Worker: "bench"},
		openmanus.CallDone{Call: call, Parts: llm.Parts{llm.Text{Text: output}}},
	}
}
