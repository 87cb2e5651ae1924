// Command agent asks an agent that has a tool of its own. It needs a key:
//
//	OPENAI_API_KEY=… go run ./examples/agent
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/run"
)

type stockInput struct {
	Item string `json:"item" jsonschema:"what to look up, in the singular"`
}

var stock = openmanus.Func(
	openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Name: "stock", Description: "Look up how many of an item are on the shelf."},
		Hints:    openmanus.Hints{ReadOnly: true}, // so the agent uses it without a question
	},
	func(_ context.Context, _ openmanus.Call, in stockInput) (openmanus.Result, error) {
		return openmanus.TextResult("%d", map[string]int{"apple": 12}[in.Item]), nil
	})

func main() {
	model := llm.Retry(openai.New(openai.Options{
		Model: "gpt-5-mini", Key: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL"), // "": OpenAI
	}), llm.RetryOptions{})
	agent := &openmanus.Agent{Name: "clerk", Model: model, Tools: []openmanus.Tool{stock}}
	answer, err := run.Answer(context.Background(), agent, "How many apples are there?")
	if err != nil {
		log.Fatal(err) // the model failed, the agent reached a limit, or it waits for an answer
	}
	fmt.Println(answer)
}
