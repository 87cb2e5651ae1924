package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/run"
)

// Whatever keeps an agent from finishing is an error of the five-line program, and of the
// one that asks for an answer alone; what Wake drove says the same.
func TestWhatDidNotFinishIsAnError(t *testing.T) {
	pay := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "pay", Description: "Pays."}},
		func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("paid"), nil
		})
	pays := func() llm.Model { return llmtest.Script(llmtest.Use("", "pay", struct{}{}), llmtest.Say("Paid.")) }
	for _, c := range []struct {
		name   string
		agent  func() *openmanus.Agent
		status openmanus.Status
		reason openmanus.Reason
		says   string
	}{
		{"nothing listens where the model is", func() *openmanus.Agent {
			return &openmanus.Agent{Model: openai.New(openai.Options{Model: "m", BaseURL: "http://127.0.0.1:1/v1"})}
		}, openmanus.Failed, "network", "connection refused"},
		{"it waits for an approval", func() *openmanus.Agent {
			return &openmanus.Agent{Model: pays(), Tools: []openmanus.Tool{pay}}
		}, openmanus.Waiting, "", "May pay run? (an agent without a Gate"},
		{"a limit", func() *openmanus.Agent {
			return &openmanus.Agent{Model: pays(), Tools: []openmanus.Tool{pay}, Gate: openmanus.AllowAll, Spec: openmanus.Spec{Limits: openmanus.Limits{Steps: 1}}}
		}, openmanus.Halted, openmanus.NoSteps, "1"},
		{"nothing", func() *openmanus.Agent {
			return &openmanus.Agent{Model: pays(), Tools: []openmanus.Tool{pay}, Gate: openmanus.AllowAll}
		}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(way string, err error) {
				t.Helper()
				var h *run.Halt
				switch {
				case c.status == "" && err == nil:
				case !errors.As(err, &h):
					t.Errorf("%s: %v, want a halt", way, err)
				case h.Status != c.status || h.Reason != c.reason || !strings.Contains(h.Error(), c.says):
					t.Errorf("%s: %+v", way, h)
				}
			}
			agent := func() *openmanus.Agent { a := c.agent(); a.Name = "a"; return a }
			var last error
			n := 0
			for _, err := range run.Agent(t.Context(), agent(), "go") {
				if last != nil {
					t.Errorf("something came after the error %v", last)
				}
				last = err
				n++
			}
			if n < 4 {
				t.Errorf("%d events", n)
			}
			check("run.Agent", last)

			text, err := run.Answer(t.Context(), agent(), "go")
			check("run.Answer", err)
			if c.status == "" && text != "Paid." {
				t.Errorf("it answers %q", text)
			}

			a, j := agent(), new(journal.Memory)
			l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(a)}}
			if err := errors.Join(openmanus.Open(t.Context(), j, "s", a, &question), l.Wake(t.Context(), "s")); err != nil {
				t.Fatal(err)
			}
			check("run.Halted", run.Halted(t.Context(), j, "s"))
		})
	}
}

// The documented stream ends also where the model fails.
func TestTheDocumentedStreamEnds(t *testing.T) {
	a := &openmanus.Agent{Name: "a", Model: openai.New(openai.Options{Model: "m", BaseURL: "http://127.0.0.1:1/v1"})}
	var h *run.Halt
	if err := stream(t.Context(), a, func(openmanus.Event) {}); !errors.As(err, &h) || h.Status != openmanus.Failed {
		t.Errorf("the stream ends with %v", err)
	}
}
