package lawtest_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestWhatACallMeans(t *testing.T) {
	for _, c := range []struct{ name, input, meant, with string }{
		{"pay", `{"name":"x"}`, "pay", `{"name":"x"}`},
		{"use_tool", `{"name":"pay","arguments":{"to":"ann"}}`, "pay", `{"to":"ann"}`},
		{"use_tool", `{"name":"pay","arguments":"{\"to\":\"ann\"}"}`, "pay", `{"to":"ann"}`},
		{"use_tool", `{"name":"pay","to":"ann"}`, "pay", `{"to":"ann"}`},
		{"use_tool", `{"name":"pay"}`, "pay", `{}`},
		{"use_tool", `{"name":"use_tool","arguments":{}}`, "use_tool", `{"name":"use_tool","arguments":{}}`},
		{"use_tool", `{"name":5}`, "use_tool", `{"name":5}`},
		{"use_tool", `["pay"]`, "use_tool", `["pay"]`},
		{"use_tool", `{"name":`, "use_tool", `{"name":`},
	} {
		got := openmanus.Meant(llm.Call{ID: "c", Name: c.name, Input: c.input})
		if got.ID != "c" || got.Name != c.meant || got.Input != c.with {
			t.Errorf("%s %s means %s %s", c.name, c.input, got.Name, got.Input)
		}
	}
}

// A deferred tool is in no request. A call of it, through use_tool or by its name, is
// put before the gate, runs and is remembered as one of the tool itself; use_tool
// runs only for what is not deferred.
func TestDeferredToolsAreCalledByTheirNames(t *testing.T) {
	type to struct {
		To string `json:"to"`
	}
	pay := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "pay"}},
		func(_ context.Context, call openmanus.Call, in to) (openmanus.Result, error) {
			res := openmanus.TextResult("%s paid %s, after %s", call.Name, in.To, call.Last)
			res.Detail = in.To
			return res, nil
		})
	use := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: openmanus.UseTool,
		Input: json.RawMessage(`{"type":"object","additionalProperties":true}`)}},
		func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("used"), nil
		})
	var ruled, offered []string
	gate := openmanus.GateFunc(func(_ context.Context, c openmanus.Call, spec openmanus.ToolSpec) (openmanus.Verdict, error) {
		ruled = append(ruled, c.Name+" "+c.Input)
		return openmanus.Verdict{Allow: spec.Name == c.Name}, nil
	})
	replies := []llm.Message{
		llmtest.Use("", openmanus.UseTool, `{"name":"pay","arguments":{"to":"ann"}}`),
		llmtest.Use("", "pay", `{"to":"bob"}`),
		llmtest.Use("", openmanus.UseTool, `{"name":"pay","arguments":{}}`),
		llmtest.Use("", openmanus.UseTool, `{"name":"other"}`),
		llmtest.Use("", "mcp_far", `{"to":"ann"}`),
		llmtest.Say("ok"),
	}
	model := &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
		for _, s := range req.Tools {
			if !slices.Contains(offered, s.Name) {
				offered = append(offered, s.Name)
			}
		}
		m := replies[0]
		replies = replies[1:]
		return m
	}}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: model, Tools: []openmanus.Tool{pay, use}, Deferred: []string{"pay"}, Gate: gate}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	want := "tool: pay paid ann, after  | tool: pay paid bob, after \"ann\" | " +
		"tool: pay did not run: the argument \"to\" is missing, and it is required | tool: used | " +
		`tool: unknown tool 'mcp_far'. The tools are: pay, use_tool. If it is one of those that requests leave out, ` +
		`call use_tool with {"name": "mcp_far", "arguments": {…}}`
	var results []llm.Message
	for _, m := range s.Said {
		if m.Role == llm.Tool {
			results = append(results, m)
		}
	}
	got := dialogue(results)
	if got != want {
		t.Errorf("the model reads %s", got)
	}
	if want := []string{`pay {"to":"ann"}`, `pay {"to":"bob"}`, `use_tool {"name":"other"}`}; !slices.Equal(ruled, want) {
		t.Errorf("the gate ruled on %q", ruled)
	}
	if !slices.Equal(offered, []string{openmanus.UseTool}) {
		t.Errorf("requests describe %q", offered)
	}
}

// A reacher is a use_tool that reaches a tool of a server.
type reacher struct{ openmanus.Tool }

func (reacher) Reaches(name string) bool { return name == "mcp_near" }

// A model calls a tool by the name that find_tools gave it: that is a call of use_tool, for
// the gate and for what runs, and the journal says so. A name that it does not reach is unknown.
func TestToolsThatUseToolReachesAreCalledByTheirNames(t *testing.T) {
	use := reacher{openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: openmanus.UseTool,
		Input: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":true}},"required":["name","arguments"]}`)}},
		func(_ context.Context, call openmanus.Call, _ struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}) (openmanus.Result, error) {
			return openmanus.TextResult("ran %s", call.Input), nil
		})}
	var ruled []string
	gate := openmanus.GateFunc(func(_ context.Context, c openmanus.Call, _ openmanus.ToolSpec) (openmanus.Verdict, error) {
		ruled = append(ruled, c.Name+" "+c.Input)
		return openmanus.Verdict{Allow: true}, nil
	})
	model := llmtest.Script(
		llmtest.Use("", "mcp_near", `{"to": "ann"}`),
		llmtest.Use("", "mcp_near", `no JSON`),
		llmtest.Use("", "mcp_far", `{}`),
		llmtest.Say("ok"),
	)
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: model, Tools: []openmanus.Tool{use}, Gate: gate}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	var results []llm.Message
	for _, m := range s.Said {
		if m.Role == llm.Tool {
			results = append(results, m)
		}
	}
	if got, want := dialogue(results), `tool: ran {"arguments":{"to":"ann"},"name":"mcp_near"} | `+
		`tool: use_tool did not run: the argument "arguments" must be an object, but "no JSON" was given | `+
		`tool: unknown tool 'mcp_far'. The tools are: use_tool. If it is one of those that requests leave out, `+
		`call use_tool with {"name": "mcp_far", "arguments": {…}}`; got != want {
		t.Errorf("the model reads %s", got)
	}
	if want := []string{`use_tool {"arguments":{"to":"ann"},"name":"mcp_near"}`}; !slices.Equal(ruled, want) {
		t.Errorf("the gate ruled on %q", ruled)
	}
}
