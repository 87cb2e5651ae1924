package openai_test

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(client *http.Client) llm.Model {
	return openai.New(openai.Options{Model: "gpt-4o", BaseURL: "http://model.test/v1", Key: "sk-test-0123456789", HTTPClient: client})
}

func TestConformance(t *testing.T) { llmtest.Run(t, os.DirFS("testdata/chat"), open) }

func TestFaults(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.txtar")
	if err != nil {
		t.Fatal(err)
	}
	llmtest.RunFaults(t, table, open)
}
