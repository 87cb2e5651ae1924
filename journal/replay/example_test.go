package replay_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A run is recorded, kept in a file, and replayed without its model. In a test,
// [replay.Test] reads the file.
func Example() {
	ctx := context.Background()
	agent := &openmanus.Agent{Name: "greeter", Model: llmtest.Script(llmtest.Say("Hello, Ann."))}
	j := new(journal.Memory)
	said := &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Greet Ann.")}
	if err := openmanus.Open(ctx, j, "main", agent, said); err != nil {
		fmt.Println(err)
		return
	}
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(agent)}}
	if err := l.Wake(ctx, "main"); err != nil {
		fmt.Println(err)
		return
	}
	rec, err := replay.Load(ctx, j, j, "main")
	if err != nil {
		fmt.Println(err)
		return
	}
	var fixture bytes.Buffer
	if err := rec.Write(ctx, &fixture); err != nil {
		fmt.Println(err)
		return
	}

	rec, err = replay.Read(ctx, &fixture)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := replay.Run(ctx, rec, replay.Options{})
	if err != nil {
		fmt.Println(err) // the first event that differs
		return
	}
	fmt.Println(r.Events, "events,", r.ModelCalls, "model call")
	// Output: 4 events, 1 model call
}
