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

// A Model is an [llm.Model] that speaks generateContent. Body returns the exact
// bytes that are sent for a request, and Close closes the connections that are
// kept.
type Model struct{ adapter }

type adapter = wire.Adapter

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	opts.BaseURL = base(opts.BaseURL)
	opts.Model = strings.TrimPrefix(opts.Model, "models/")
	encoder := &gemini.Encoder{Model: opts.Model, Thinking: gemini.Thinking(opts.Thinking)}
	if opts.Thinking == "" {
		encoder.Thinking = thinking(opts.Model)
	}
	key := map[string]string{}
	if opts.Key != "" {
		key["X-Goog-Api-Key"] = opts.Key
	}
	header, secrets := wire.Credentials(opts.Header, key)
	e := wire.Endpoint{Model: opts.Model, BaseURL: opts.BaseURL, Example: DefaultURL,
		URL:    opts.BaseURL + "/models/" + url.PathEscape(opts.Model) + ":streamGenerateContent?alt=sse",
		Header: header, Secrets: secrets, Client: opts.HTTPClient, Hint: opts.Hint, Bearer: opts.Token, SignIn: wire.GoogleKey}
	return &Model{wire.Post(e, encoder, gemini.Read)}
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
