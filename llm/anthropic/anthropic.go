// Package anthropic is the adapter for Anthropic's Messages, at Anthropic
// itself and on Google Vertex. Claude on Amazon Bedrock is package bedrock's.
//
//	model := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", Key: key})
//
// It asks for a stream, and accepts a plain reply. It asks once: wrap it in
// [llm.Retry]. What is encoded of a conversation is kept in the request's
// [llm.Memo], and marked for Anthropic's cache so that each request reads what
// the one before it wrote.
//
// An effort asks for thinking. Anthropic takes no temperature beside it, which
// is then left out, and no thinking where a tool is forced or where the calls
// that are being answered came without, which is then left out. A schema that
// is looser than what is enforced goes into the instructions.
package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/messages"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// DefaultURL is Anthropic's own address.
const DefaultURL = "https://api.anthropic.com"

// Options say which model to ask, and where. Only Model is required.
type Options struct {
	Model   string // as the endpoint names it
	BaseURL string // up to /v1/messages, with or without the /v1; "": DefaultURL
	Key     string // sent as x-api-key; "": none is sent
	Token   string // sent as bearer token; "": none is sent
	Header  http.Header

	// HTTPClient is used if it is not nil. It should have no Timeout, which
	// would cut long replies. Redirects are never followed.
	HTTPClient *http.Client

	Output   int    // tokens that a reply may have where the request does not say; 0: known from the name
	Thinking string // how it is asked to reason: "adaptive", "budget" or "none"; "": known from the name

	// Hint, if not nil, returns a sentence for errors of a kind that only
	// who configured the model can write, such as where its key came from.
	Hint func(llm.Kind) string

	// Vertex says that BaseURL is where Google Vertex has Claude: it ends in
	// /publishers/anthropic.
	Vertex bool
	// Bearer, if not nil, returns the bearer token of a request, as Vertex
	// wants it.
	Bearer func(context.Context) (string, error)
}

// A Model is an [llm.Model] that speaks Messages. Body returns the exact bytes
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
	encoder := messages.New(opts.Model, opts.Output, messages.Thinking(opts.Thinking))
	if opts.Vertex {
		encoder.Host = messages.Vertex
	}
	header, secrets := wire.Credentials(opts.Header, wire.BearerKey(opts.Token))
	if opts.Key != "" {
		header.Set("x-api-key", opts.Key)
		secrets = append(secrets, opts.Key)
	}
	for _, beta := range encoder.Betas() {
		header.Add("anthropic-beta", beta)
	}
	e := wire.Endpoint{Model: opts.Model, BaseURL: opts.BaseURL, Example: DefaultURL, URL: opts.BaseURL + "/v1/messages",
		Header: header, Secrets: secrets, Client: opts.HTTPClient, Hint: opts.Hint, Bearer: opts.Bearer, SignIn: wire.GoogleKey}
	if opts.Vertex { // which names the model in the address, and the version in the body
		e.URL = opts.BaseURL + "/models/" + url.PathEscape(opts.Model) + ":streamRawPredict"
	} else {
		header.Set("anthropic-version", version)
	}
	return &Model{wire.Post(e, encoder, messages.Read)}
}

// version is the version of Messages that the bodies are written in.
const version = "2023-06-01"
