package llmtest_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestScriptAnswersByHowOftenTheAssistantSpoke(t *testing.T) {
	two := llmtest.Calls(
		llmtest.Say("I look."),
		llmtest.Use("a", "grep", map[string]any{"pattern": "<x>"}),
		llmtest.Use("", "bash", `{"broken`),
	)
	m := llmtest.Script(two, llmtest.Say("é"), llmtest.Say("")) // é: cut within a letter
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}}
	for _, want := range []struct {
		message llm.Message
		stop    llm.Stop
	}{
		{two, llm.ToolUse},
		{llmtest.Say("é"), llm.End},
		{llmtest.Say(""), llm.End},
		{llmtest.Say("(the script is over: no reply 3)"), llm.End},
	} {
		for range 2 { // the same conversation, the same reply
			r, err := llm.Generate(t.Context(), m, req)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(r.Message, want.message) || r.Stop != want.stop || r.Usage.Total() != 15 {
				t.Fatalf("after %d replies: got %+v, want %+v and 15 tokens", llmtest.Spoken(req), r, want)
			}
		}
		req.Messages = append(req.Messages, want.message)
	}
	if n := m.Asked.Load(); n != 8 {
		t.Errorf("Asked = %d, want 8", n)
	}
}

func TestModelHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Generate(ctx, llmtest.Script(llmtest.Say("x")), &llm.Request{}); err != context.Canceled {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
