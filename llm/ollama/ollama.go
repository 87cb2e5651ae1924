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
	"context"
	"io"
	"iter"
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

// A Model is an [llm.Model] that runs in Ollama.
type Model struct {
	opts    Options
	place   *wire.Place
	client  *http.Client
	wrong   error // in the options: what every request fails with
	encoder *native.Encoder
}

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultURL
	}
	opts.BaseURL = strings.TrimSuffix(strings.TrimRight(opts.BaseURL, "/"), "/v1")
	shown, wrong := wire.BaseURL(opts.BaseURL, opts.Model, DefaultURL)
	return &Model{opts: opts, client: wire.Client(opts.HTTPClient), wrong: wrong,
		encoder: &native.Encoder{Model: opts.Model, Window: opts.Window},
		place:   &wire.Place{Name: opts.Model + " at " + shown.Host, Hint: opts.Hint, NoKey: opts.Key == "", Secrets: []string{opts.Key}}}
}

// String says which model it is and where.
func (m *Model) String() string { return m.place.Name }

// Close closes the connections that are kept for later requests.
func (m *Model) Close() error {
	m.client.CloseIdleConnections()
	return nil
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	send := func(ctx context.Context) (*http.Response, error) { return m.send(ctx, req) }
	return m.place.Stream(ctx, send, func(body io.Reader, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, bool, error) {
		return native.Read(body, m.opts.Model, yield, finished)
	})
}

// Body returns the exact bytes that are sent for req.
func (m *Model) Body(req *llm.Request) ([]byte, error) {
	if m.wrong != nil {
		return nil, m.wrong
	}
	body, err := m.encoder.Encode(req)
	return body.Bytes(), err
}

// send returns the response to req if it is one of success.
func (m *Model) send(ctx context.Context, req *llm.Request) (*http.Response, error) {
	if m.wrong != nil {
		return nil, m.wrong
	}
	body, err := m.encoder.Encode(req)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if m.opts.Key != "" {
		header.Set("Authorization", "Bearer "+m.opts.Key)
	}
	return m.place.Post(ctx, m.client, m.opts.BaseURL+"/api/chat", header, body)
}
