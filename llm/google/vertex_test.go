package google_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/google"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

const vertexURL = "http://model.test/v1/projects/p-1/locations/global/publishers/google"

func openVertex(client *http.Client) llm.Model {
	return google.New(google.Options{Model: "gemini-2.5-pro", BaseURL: vertexURL, HTTPClient: client,
		Token: func(context.Context) (string, error) { return "ya29.test-0123456789", nil }})
}

// Gemini on Vertex is the same format at another address, with other errors.
func TestConformanceOnVertex(t *testing.T) {
	llmtest.Run(t, llmtest.Over(os.DirFS("testdata/vertex"), os.DirFS("testdata/gemini")), openVertex)
}

// A request goes to the project's address with a token, and with no key.
func TestVertexAddress(t *testing.T) {
	p := &llmtest.Peer{Answers: []string{"HTTP/1.1 401 Unauthorized\n\n{}"}}
	m := openVertex(p.Client()).(*google.Model)
	defer p.Wait()
	defer m.Close()
	_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "a")}})
	if llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "does not accept the credentials at Google") {
		t.Errorf("error %v", err)
	}
	r := p.Seen()[0]
	if want := "/v1/projects/p-1/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"; r.Path != want ||
		r.Header.Get("Authorization") != "Bearer ya29.test-0123456789" || r.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("asked %s with %v", r.Path, r.Header)
	}
}
