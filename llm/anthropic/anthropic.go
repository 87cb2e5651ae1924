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
	opts.Header = opts.Header.Clone()
	noKey := opts.Key == "" && opts.Token == "" && opts.Header == nil && opts.Bearer == nil
	if opts.Header == nil {
		opts.Header = http.Header{}
	}
	shown, wrong := wire.BaseURL(opts.BaseURL, opts.Model, DefaultURL)
	x := wire.Exchange{Model: opts.Model, Wrong: wrong, Client: wire.Client(opts.HTTPClient), Format: encoder, Read: messages.Read,
		Place: &wire.Place{Name: opts.Model + " at " + shown.Host, Hint: opts.Hint, NoKey: noKey,
			Secrets: append([]string{opts.Key, opts.Token}, wire.HeaderValues(opts.Header)...)}}
	if opts.Bearer != nil {
		x.Place.Key = wire.GoogleKey
	}
	for _, beta := range encoder.Betas() {
		opts.Header.Add("anthropic-beta", beta)
	}
	at := opts.address()
	x.Send = func(ctx context.Context, body wire.Segments) (*http.Response, error) {
		header := opts.Header.Clone()
		if err := wire.Bearer(ctx, header, opts.Bearer); err != nil {
			return nil, err
		}
		return x.Place.Post(ctx, x.Client, at, header, body)
	}
	return &Model{wire.New(x)}
}

// version is the version of Messages that the bodies are written in. On Vertex
// it stands in the body.
const version = "2023-06-01"

// address returns where requests go, and completes the header for it. Vertex
// names the model in the address.
func (o *Options) address() string {
	if o.Vertex {
		return o.BaseURL + "/models/" + url.PathEscape(o.Model) + ":streamRawPredict"
	}
	o.Header.Set("anthropic-version", version)
	if o.Key != "" {
		o.Header.Set("x-api-key", o.Key)
	}
	if o.Token != "" {
		o.Header.Set("Authorization", "Bearer "+o.Token)
	}
	return o.BaseURL + "/v1/messages"
}
