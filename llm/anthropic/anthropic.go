// Package anthropic is the adapter for Anthropic's Messages, at Anthropic and on
// Google Vertex. For Claude on Amazon Bedrock see package bedrock.
//
//	model := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", Key: key})
//
// It asks for a stream, and accepts a plain response, too. It makes one attempt:
// wrap it in [llm.Retry]. The encoded messages of a conversation are kept in the
// request's [llm.Memo], and marked for Anthropic's cache, so that each request reads
// from the cache what the one before it wrote.
//
// An effort asks for thinking. Anthropic refuses a temperature beside thinking, so
// the temperature is left out then. It also refuses thinking where a tool is forced,
// or where the calls being answered came without thinking, so the thinking is left
// out then. A schema that Anthropic cannot enforce goes into the instructions.
package anthropic

import (
	"cmp"
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
	Model   string // the endpoint's name for it
	BaseURL string // up to /v1/messages, with or without the /v1; "": DefaultURL
	Key     string // sent as x-api-key; "": none is sent
	Token   string // sent as bearer token; "": none is sent
	Header  http.Header

	// HTTPClient sends the requests; nil: a new one. It should have no Timeout,
	// which would end long replies. Redirects are never followed.
	HTTPClient *http.Client

	Output   int    // tokens that a reply may have where the request does not say; 0: known from the name
	Thinking string // how it is asked to reason: "adaptive", "budget" or "none"; "": known from the name

	// Hint, if not nil, returns a sentence for errors of a kind, which only the
	// caller can write, such as where the key came from.
	Hint func(llm.Kind) string

	// Vertex says that BaseURL is that of Claude on Google Vertex, which ends in
	// /publishers/anthropic.
	Vertex bool
	// Bearer, if not nil, returns the bearer token of a request, for Vertex.
	Bearer func(context.Context) (string, error)
}

// A Model is an [llm.Model] that speaks Messages. Body returns the exact bytes
// that are sent for a request, and Close closes the connections that are kept.
type Model struct{ adapter }

// adapter is embedded under a name that is not exported.
type adapter = wire.Adapter

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	opts.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(opts.BaseURL, DefaultURL), "/"), "/v1")
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
