// Package ollama is the adapter for Ollama's own interface. Unlike Ollama's
// OpenAI-compatible endpoint, it takes the number of tokens to load a model with.
// Without that, Ollama silently drops the beginning of a conversation that is longer
// than a few thousand tokens.
//
//	model := ollama.New(ollama.Options{Model: "qwen3", Window: 32768})
//
// It asks for a stream, and accepts a plain response, too. It makes one attempt:
// wrap it in [llm.Retry]. A result that is an error begins with "Error:". A tool_choice
// that forces a tool is refused, since Ollama has none; with "none" no tools
// are sent. An effort turns thinking on.
package ollama

import (
	"cmp"
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
	Window  int    // tokens that the model is loaded with; 0: as Ollama is configured

	// HTTPClient sends the requests; nil: a new one. It should have no Timeout,
	// which would end long replies. Redirects are never followed.
	HTTPClient *http.Client

	// Hint, if not nil, returns a sentence for errors of a kind, which only the
	// caller can write.
	Hint func(llm.Kind) string
}

// A Model is an [llm.Model] that runs in Ollama. Body returns the exact bytes
// that are sent for a request, and Close closes the connections that are kept.
type Model struct{ adapter }

// adapter is embedded under a name that is not exported.
type adapter = wire.Adapter

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	opts.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(opts.BaseURL, DefaultURL), "/"), "/v1")
	header, secrets := wire.Credentials(nil, wire.BearerKey(opts.Key))
	e := wire.Endpoint{Model: opts.Model, BaseURL: opts.BaseURL, Example: DefaultURL, URL: opts.BaseURL + "/api/chat",
		Header: header, Secrets: secrets, Client: opts.HTTPClient, Hint: opts.Hint}
	return &Model{wire.Post(e, &native.Encoder{Model: opts.Model, Window: opts.Window}, native.Read)}
}
