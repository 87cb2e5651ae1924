package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// chain returns four agents: each has the next one do the work, and the last one pays.
func chain() []openmanus.Flow {
	pay := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "pay", Description: "Pays."}},
		func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("paid"), nil
		})
	give := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "give", Description: "Gives work."},
		Hints: openmanus.Hints{Delegates: true, Internal: true}},
		func(context.Context, openmanus.Call, openmanus.Delegation) (openmanus.Result, error) {
			return openmanus.Result{}, nil
		})
	var all []openmanus.Flow
	for i := range 3 {
		all = append(all, &openmanus.Agent{Name: fmt.Sprint("a", i), Tools: []openmanus.Tool{give}, Gate: openmanus.AllowAll, Model: llmtest.Script(
			llmtest.Use("", "give", openmanus.Delegation{Task: "pay", Agent: fmt.Sprint("a", i+1)}), llmtest.Say("It is done."))})
	}
	return append(all, &openmanus.Agent{Name: "a3", Tools: []openmanus.Tool{pay}, Model: llmtest.Script(
		llmtest.Use("", "pay", struct{}{}), llmtest.Use("", "pay", struct{}{}), llmtest.Say("Paid."))})
}

// The client of a task rules on calls of sessions at any depth, and each of its answers
// goes to the question that it was asked, whatever other surfaces decide meanwhile.
func TestATaskAsksForAllSessionsBelow(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			j, team := new(journal.Memory), chain()
			root, leaf := "", ""
			local := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(team...)}}
			task := NewTask(Tasks{Journal: j, Runtime: local, Watch: local.Watch, Open: func(ctx context.Context, id, prompt string) error {
				root = id
				return openmanus.Open(ctx, j, id, team[0], &openmanus.UserSaid{ID: "task", Message: llm.Say(llm.User, prompt)})
			}})
			s := NewServer(ServerOptions{Name: "o", Tools: []openmanus.Tool{task}, Gate: openmanus.AllowAll})
			asked := 0
			client := sdk.NewClient(&sdk.Implementation{Name: "c"}, &sdk.ClientOptions{
				ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked++
					if !strings.HasPrefix(r.Params.Message, "May pay run?\npay {}") {
						t.Errorf("asked %q", r.Params.Message)
					}
					open, err := run.Questions(ctx, j, root)
					if err != nil || len(open) != 1 || len(open[0].Path) != 4 {
						t.Fatalf("open are %v, %v", open, err)
					}
					leaf = open[0].Session
					if asked == 1 { // somebody else is faster, and says no: this yes is of the first call alone
						_, err := j.Append(ctx, leaf, openmanus.Ruled{Call: open[0].Call.ID, By: "somebody"})
						if err = errors.Join(err, local.Wake(ctx, root)); err != nil {
							t.Error(err)
						}
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
				},
			})
			near, far := sdk.NewInMemoryTransports()
			serving, err := s.MCP().Connect(t.Context(), far, nil)
			if err != nil {
				t.Fatal(err)
			}
			session, err := client.Connect(t.Context(), near, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_task", Arguments: map[string]any{"prompt": "pay"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(res.StructuredContent); res.IsError || !strings.Contains(got, "answer:It is done.") || asked != 2 {
				t.Errorf("asked %d times: %s %v", asked, got, res.IsError)
			}
			var ruled []string
			for ev := range j.Events(t.Context(), leaf, 0) {
				if r, ok := ev.Body.(openmanus.Ruled); ok {
					ruled = append(ruled, fmt.Sprint(r.By, ": ", r.Allow))
				}
			}
			if got := strings.Join(ruled, ", "); got != "somebody: false, mcp client: true" {
				t.Errorf("rulings: %s", got)
			}
			session.Close()
			serving.Wait()
			s.Close()
		})
	}
}
