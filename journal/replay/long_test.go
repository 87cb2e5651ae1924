package replay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// longRun records a session of so many steps, each with a result of 1,000 bytes.
func longRun(tb testing.TB, steps int) *replay.Recording {
	var script []llm.Message
	for i := range steps {
		script = append(script, llmtest.Use("x", "look", fmt.Sprintf(`{"n":%d}`, i)))
	}
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{ReadOnly: true}}
	spec.Name, spec.Description = "look", "Looks."
	a := &openmanus.Agent{
		Name: "worker", Model: llmtest.Script(append(script, llmtest.Say("That is all."))...), Gate: openmanus.AllowAll,
		Limits: openmanus.Limits{Steps: steps + 10},
		Tools: []openmanus.Tool{openmanus.Func(spec, func(_ context.Context, call openmanus.Call, _ map[string]any) (openmanus.Result, error) {
			return openmanus.TextResult("%s", strings.Repeat(call.Input+" ", 100)), nil
		})},
	}
	return record(tb, a)
}

// Benchmark measures the replay of sessions of which one has ten times the steps.
func Benchmark(b *testing.B) {
	for _, steps := range []int{200, 2000} {
		rec := longRun(b, steps)
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			for b.Loop() {
				if _, err := replay.Run(b.Context(), rec, replay.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
