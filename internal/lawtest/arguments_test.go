package lawtest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// TestRulesHoldForAToolOfAnyName runs a shell of an unknown name, in a
// session that was opened before its tool declared anything: the gate gets what
// the tool declares now, and a rule about commands holds.
func TestRulesHoldForAToolOfAnyName(t *testing.T) {
	var ran []string
	shell := func(declared ...openmanus.Argument) openmanus.Tool {
		spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "powershell"}, Arguments: declared}
		return openmanus.Func(spec, func(_ context.Context, _ openmanus.Call, in struct {
			Line string `json:"line"`
		}) (openmanus.Result, error) {
			ran = append(ran, in.Line)
			return openmanus.TextResult("ran"), nil
		})
	}
	g, err := gate.New(gate.Options{
		Mode: openmanus.ApproveAll, Workspace: t.TempDir(), Rules: gate.Rules{Deny: []string{"command:rm *"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.Script(
		llmtest.Use("", "powershell", map[string]string{"line": "rm -rf ."}),
		llmtest.Use("", "powershell", map[string]string{"line": "ls"}),
		llmtest.Say("done"))
	a := &openmanus.Agent{Name: "a", Model: model, Gate: g, Tools: []openmanus.Tool{shell()}}
	mem := new(journal.Memory)
	w := &run.Worker{Journal: mem, Flow: run.FlowsByName(a)}
	first := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}
	if err := openmanus.Open(t.Context(), mem, "s", a, &first); err != nil {
		t.Fatal(err)
	}
	a.Tools = []openmanus.Tool{shell(openmanus.Argument{
		Name: "line", Kind: openmanus.CommandArgument, Does: openmanus.Runs,
	})}
	drive(t, w, "s")
	if !slices.Equal(ran, []string{"ls"}) {
		t.Errorf("ran %q, want only ls", ran)
	}
}
