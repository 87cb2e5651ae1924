// Command agent asks an agent that has a tool of its own: OPENAI_API_KEY=… go run ./examples/agent
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

func stock(_ context.Context, _ openmanus.Call, in stockInput) (openmanus.Result, error) {
	return openmanus.TextResult("%d", map[string]int{"apple": 12}[in.Item]), nil
}

func main() {
	model := openai.New(openai.Options{Model: "gpt-5-mini", Key: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL")})
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{ReadOnly: true}} // so the agent uses it without a question
	spec.Name, spec.Description = "stock", "Look up how many of an item are on the shelf."
	agent := &openmanus.Agent{Name: "clerk", Model: llm.Retry(model, llm.RetryOptions{}), Tools: []openmanus.Tool{openmanus.Func(spec, stock)}}
	answer, err := run.Answer(context.Background(), agent, "How many apples are there?")
	if err != nil {
		log.Fatal(err) // the model failed, the agent reached a limit, or it waits for an answer
	}
	fmt.Println(answer)
}
