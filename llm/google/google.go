// Package google is the adapter for Gemini, at Google's own address and on
// Vertex.
//
//	model := google.New(google.Options{Model: "gemini-2.5-pro", Key: key})
//
// It asks for a stream, and accepts a plain reply. It asks once: wrap it in
// [llm.Retry]. What is encoded of a conversation is kept in the request's
// [llm.Memo] and sent again as it is.
//
// The signatures of thoughts go back with the parts that they came with. What
// is no text in the results of tools follows after them, in the same message.
// The input of a call that is no JSON object goes back in one.
//
// It speaks to the REST interface itself, without Google's client: that reads
// the environment, writes to the log, rounds large numbers in the arguments of
// calls, and breaks on comments in a stream.
package google

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/google/internal/gemini"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// DefaultURL is the address of the Gemini API.
const DefaultURL = "https://generativelanguage.googleapis.com"

// Options say which model to ask, and where. Only Model is required.
type Options struct {
	Model string // as the endpoint names it

	// BaseURL is up to /models/, with the version; where that is missing it
	// is /v1beta. On Vertex it ends in /publishers/google. "": DefaultURL.
	BaseURL string
	Key     string // sent as x-goog-api-key; "": none is sent
	Header  http.Header

	// Token, if not nil, returns the bearer token of a request, as Vertex
	// wants it.
	Token func(context.Context) (string, error)

	// HTTPClient is used if it is not nil. It should have no Timeout, which
	// would cut long replies. Redirects are never followed.
	HTTPClient *http.Client

	Thinking string // how it is asked to reason: "level", "budget" or "none"; "": known from the name

	// Hint, if not nil, returns a sentence for errors of a kind that only
	// who configured the model can write, such as where its key came from.
	Hint func(llm.Kind) string
}

// A Model is an [llm.Model] that speaks generateContent.
type Model struct {
	opts    Options
	place   *wire.Place
	client  *http.Client
	url     string
	wrong   error // in the options: what every request fails with
	encoder *gemini.Encoder
}

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	opts.BaseURL = base(opts.BaseURL)
	opts.Model = strings.TrimPrefix(opts.Model, "models/")
	m := &Model{opts: opts, client: wire.Client(opts.HTTPClient), encoder: &gemini.Encoder{Model: opts.Model, Thinking: gemini.Thinking(opts.Thinking)}}
	if opts.Thinking == "" {
		m.encoder.Thinking = thinking(opts.Model)
	}
	shown, wrong := wire.BaseURL(opts.BaseURL, opts.Model, DefaultURL)
	m.wrong = wrong
	m.place = &wire.Place{Name: opts.Model + " at " + shown.Host, Hint: opts.Hint, NoKey: opts.Key == "" && opts.Token == nil && opts.Header == nil,
		Secrets: append([]string{opts.Key}, wire.HeaderValues(opts.Header)...)}
	m.url = opts.BaseURL + "/models/" + url.PathEscape(opts.Model) + ":streamGenerateContent?alt=sse"
	return m
}

// base completes a base URL. What names Google's interface in the manner of
// OpenAI is taken for its own.
func base(s string) string {
	if s == "" {
		s = DefaultURL
	}
	s = strings.TrimSuffix(strings.TrimRight(s, "/"), "/openai")
	if u, err := url.Parse(s); err == nil && !regexp.MustCompile(`/v\d`).MatchString(u.Path) {
		s += "/v1beta"
	}
	return s
}

// thinking is how the model is asked to reason. What the name does not tell is
// taken for a model that is newer than this.
func thinking(model string) gemini.Thinking {
	switch {
	case regexp.MustCompile(`gemini-2\.5|robotics`).MatchString(model):
		return gemini.Budget
	case regexp.MustCompile(`gemini-(1|2\.0|pro-vision)|gemma|learnlm|-image`).MatchString(model):
		return gemini.None
	}
	return gemini.Level
}

// String says which model it is and where, and never the key.
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
		return gemini.Read(body, m.opts.Model, yield, finished)
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
	for name, values := range m.opts.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if m.opts.Key != "" {
		header.Set("X-Goog-Api-Key", m.opts.Key)
	}
	if m.opts.Token != nil {
		token, err := m.opts.Token(ctx)
		if err != nil {
			return nil, &llm.Error{Kind: llm.Auth, Permanent: true, Err: err}
		}
		header.Set("Authorization", "Bearer "+token)
	}
	return m.place.Post(ctx, m.client, m.url, header, body)
}
