package anthropic_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func open(client *http.Client) llm.Model {
	return anthropic.New(anthropic.Options{Model: "claude-opus-4-5", BaseURL: "http://model.test", Key: "sk-ant-test-0123456789", HTTPClient: client})
}

func TestConformance(t *testing.T) { llmtest.Run(t, os.DirFS("testdata/messages"), open) }

func openVertex(client *http.Client) llm.Model {
	return anthropic.New(anthropic.Options{Model: "claude-opus-4-5", BaseURL: "http://model.test/v1/projects/p-1/locations/global/publishers/anthropic",
		Vertex: true, Bearer: func(context.Context) (string, error) { return "ya29.test-0123456789", nil }, HTTPClient: client})
}

// Claude on Vertex is the same format at another address, with other errors.
func TestConformanceOnVertex(t *testing.T) {
	llmtest.Run(t, llmtest.Over(os.DirFS("testdata/vertex"), os.DirFS("testdata/messages")), openVertex)
}

// A request goes to the address of the model with a token, and with no key.
func TestVertexAddress(t *testing.T) {
	p := &llmtest.Peer{Answers: []string{"HTTP/1.1 401 Unauthorized\n\n{}"}}
	m := openVertex(p.Client()).(*anthropic.Model)
	defer p.Wait()
	defer m.Close()
	_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "a")}})
	if llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "does not accept the credentials at Google") {
		t.Errorf("error %v", err)
	}
	r := p.Seen()[0]
	if want := "/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-opus-4-5:streamRawPredict"; r.Path != want ||
		r.Header.Get("Authorization") != "Bearer ya29.test-0123456789" || r.Header.Get("X-Api-Key") != "" ||
		r.Header.Get("Anthropic-Beta") != "interleaved-thinking-2025-05-14" {
		t.Errorf("asked %s with %v", r.Path, r.Header)
	}
}

func TestFaults(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.txtar")
	if err != nil {
		t.Fatal(err)
	}
	llmtest.RunFaults(t, table, open)
}
