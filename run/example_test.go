package run_test

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

type sum struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

var add = openmanus.Func(openmanus.ToolSpec{
	ToolSpec: llm.ToolSpec{Name: "add", Description: "Adds two numbers."},
	Hints:    openmanus.Hints{ReadOnly: true},
}, func(_ context.Context, _ openmanus.Call, in sum) (openmanus.Result, error) {
	return openmanus.TextResult("%d", in.A+in.B), nil
})

func ExampleAgent() {
	model := llmtest.Script(
		llmtest.Use("", "add", sum{1, 2}),
		llmtest.Say("It is 3."),
	)
	agent := &openmanus.Agent{Name: "calculator", Model: model, Tools: []openmanus.Tool{add}}
	for ev, err := range run.Agent(context.Background(), agent, "What is 1+2?") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Seq, ev.Body.Key())
	}
	// Output:
	// 1 open
	// 2 config/0
	// 3 user/1
	// 4 model/0
	// 5 rule/c0-1
	// 6 start/c0-1/1
	// 7 done/c0-1
	// 8 model/1
}
