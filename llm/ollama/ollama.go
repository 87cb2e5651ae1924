// Package ollama is the adapter for Ollama's own interface, which, other than
// its imitation of OpenAI's, can be told how many tokens the model is to be
// loaded with: where nobody says so, Ollama silently forgets the beginning of
// a conversation that is longer than a few thousand.
//
//	model := ollama.New(ollama.Options{Model: "qwen3", Window: 32768})
//
// It asks for a stream, and accepts a plain reply. It asks once: wrap it in
// [llm.Retry]. A result that is an error begins with "Error:". A tool_choice
// that forces a tool is refused, since Ollama has none; with "none" no tools
// are sent. An effort turns thinking on.
package ollama

import (
	"net/http"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/ollama/internal/native"
)

// DefaultURL is where Ollama listens.
const DefaultURL = "http://127.0.0.1:11434"

// Options say which model to ask, and where. Only Model is required.
type Options struct {
	Model   string
	BaseURL string // up to /api/chat; a /v1 at its end is left out; "": DefaultURL
	Key     string // sent as bearer token; "": none is sent
	Window  int    // tokens that the model is loaded with; 0: what Ollama is set to

	// HTTPClient is used if it is not nil. It should have no Timeout, which
	// would cut long replies. Redirects are never followed.
	HTTPClient *http.Client

	// Hint, if not nil, returns a sentence for errors of a kind that only
	// who configured the model can write.
	Hint func(llm.Kind) string
}

// A Model is an [llm.Model] that runs in Ollama. Body returns the exact bytes
// that are sent for a request, and Close closes the connections that are kept.
type Model struct{ adapter }

type adapter = wire.Adapter

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultURL
	}
	opts.BaseURL = strings.TrimSuffix(strings.TrimRight(opts.BaseURL, "/"), "/v1")
	header, secrets := wire.Credentials(nil, wire.BearerKey(opts.Key))
	e := wire.Endpoint{Model: opts.Model, BaseURL: opts.BaseURL, Example: DefaultURL, URL: opts.BaseURL + "/api/chat",
		Header: header, Secrets: secrets, Client: opts.HTTPClient, Hint: opts.Hint}
	return &Model{wire.Post(e, &native.Encoder{Model: opts.Model, Window: opts.Window}, native.Read)}
}
