// Command tool gives an agent a tool of its own. A script plays the model, so
// the program needs no key:
//
//	go run ./examples/tool
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/run"
)

// stockInput is what the model sends. The tags become the tool's JSON Schema;
// arguments that do not fit it never reach the tool.
type stockInput struct {
	Item string `json:"item" jsonschema:"the name of the item, in the singular"`
}

var shelf = map[string]int{"apple": 12, "pear": 0}

// stock is the tool. It only reads, so the agent may use it without asking.
var stock = openmanus.Func(
	openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "stock", Description: "Look up how many of an item are on the shelf."},
		Hints:     openmanus.Hints{ReadOnly: true},
		Arguments: []openmanus.Argument{{Name: "item", Kind: openmanus.TextArgument}},
		Says:      []openmanus.Saying{{Kind: openmanus.ToolFinds, Words: map[string]string{"en": "look up, looking up, looked up"}}},
	},
	func(_ context.Context, _ openmanus.Call, in stockInput) (openmanus.Result, error) {
		n, ok := shelf[in.Item]
		if !ok { // an error is for the model: it says what to try
			return openmanus.Result{}, fmt.Errorf("there is no item %q; the items are apple and pear", in.Item)
		}
		return openmanus.TextResult("%d", n), nil
	})

const script = `
-- 1 --
@call stock {"item": "apples"}
-- 2 --
@call stock {"item": "apple"}
-- 3 --
There are 12 apples.
`

func main() {
	model, err := scripted.Parse([]byte(script))
	if err != nil {
		log.Fatal(err)
	}
	agent := &openmanus.Agent{Name: "clerk", Model: model.Model(), Tools: []openmanus.Tool{stock}}
	for ev, err := range run.Agent(context.Background(), agent, "How many apples are there?") {
		if err != nil {
			log.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case openmanus.CallDone:
			fmt.Println("stock says:", b.Parts.Text())
		case openmanus.ModelSaid:
			if text := b.Message.Text(); text != "" {
				fmt.Println(text)
			}
		}
	}
}
