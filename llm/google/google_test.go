package google_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/google"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func open(client *http.Client) llm.Model {
	return google.New(google.Options{Model: "gemini-2.5-pro", BaseURL: "http://model.test", Key: "AIza-test-0123456789", HTTPClient: client})
}

func TestConformance(t *testing.T) { llmtest.Run(t, os.DirFS("testdata/gemini"), open) }

func TestFaults(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.txtar")
	if err != nil {
		t.Fatal(err)
	}
	llmtest.RunFaults(t, table, open)
}
