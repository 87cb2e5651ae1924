// Package google is the adapter for Gemini, at Google's own address and on
// Vertex.
//
//	model := google.New(google.Options{Model: "gemini-2.5-pro", Key: key})
//
// It asks for a stream, and accepts a plain response, too. It makes one attempt:
// wrap it in [llm.Retry]. The encoded messages of a conversation are kept in the
// request's [llm.Memo], and sent again unchanged.
//
// Signatures of thinking go back with the parts that they came with. Files in the
// results of tools follow after the results, in the same message. The input of a
// call that is no JSON object goes back inside one.
//
// The adapter does not use Google's client, which reads the environment, writes to
// the log, rounds large numbers in the arguments of calls, and fails on comments in
// a stream.
package google

import (
	"cmp"
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
	Model string // the endpoint's name for it

	// BaseURL is up to /models/, with the version; where that is missing it
	// is /v1beta. On Vertex it ends in /publishers/google. "": DefaultURL.
	BaseURL string
	Key     string // sent as x-goog-api-key; "": none is sent
	Header  http.Header

	// Token, if not nil, returns the bearer token of a request, for Vertex.
	Token func(context.Context) (string, error)

	// HTTPClient sends the requests; nil: a new one. It should have no Timeout,
	// which would end long replies. Redirects are never followed.
	HTTPClient *http.Client

	Thinking string // how it is asked to reason: "level", "budget" or "none"; "": known from the name

	// Hint, if not nil, returns a sentence for errors of a kind, which only the
	// caller can write, such as where the key came from.
	Hint func(llm.Kind) string
}

// A Model is an [llm.Model] that speaks generateContent. Body returns the exact
// bytes that are sent for a request, and Close closes the connections that are
// kept.
type Model struct{ adapter }

// adapter is embedded under a name that is not exported.
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

// base completes a base URL. That of Google's OpenAI-compatible interface becomes
// that of the Gemini API.
func base(s string) string {
	s = cmp.Or(s, DefaultURL)
	s = strings.TrimSuffix(strings.TrimRight(s, "/"), "/openai")
	if u, err := url.Parse(s); err == nil && !regexp.MustCompile(`/v\d`).MatchString(u.Path) {
		s += "/v1beta"
	}
	return s
}

// thinking returns the way in which the model is asked to reason. An unknown name
// counts as that of a newer model.
func thinking(model string) gemini.Thinking {
	switch {
	case regexp.MustCompile(`gemini-2\.5|robotics`).MatchString(model):
		return gemini.Budget
	case regexp.MustCompile(`gemini-(1|2\.0|pro-vision)|gemma|learnlm|-image`).MatchString(model):
		return gemini.None
	}
	return gemini.Level
}
