package ollama_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/ollama"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func open(client *http.Client) llm.Model {
	return ollama.New(ollama.Options{Model: "qwen3", BaseURL: "http://model.test/v1", Window: 32768, HTTPClient: client})
}

func TestConformance(t *testing.T) { llmtest.Run(t, os.DirFS("testdata/native"), open) }

func TestFaults(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.txtar")
	if err != nil {
		t.Fatal(err)
	}
	llmtest.RunFaults(t, table, open)
}
