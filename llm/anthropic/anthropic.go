// Package anthropic is the adapter for Anthropic's Messages, at Anthropic
// itself, on Amazon Bedrock and on Google Vertex.
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
	"regexp"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic/internal/messages"
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
	encoder := &messages.Encoder{Model: opts.Model, Output: opts.Output, Thinking: messages.Thinking(opts.Thinking), Vertex: opts.Vertex}
	if opts.Output == 0 {
		encoder.Output = output(opts.Model)
	}
	if opts.Thinking == "" {
		encoder.Thinking = thinking(opts.Model)
	}
	opts.Header = opts.Header.Clone()
	noKey := opts.Key == "" && opts.Token == "" && opts.Header == nil && opts.Bearer == nil
	if opts.Header == nil {
		opts.Header = http.Header{}
	}
	shown, wrong := wire.BaseURL(opts.BaseURL, opts.Model, DefaultURL)
	x := wire.Exchange{Model: opts.Model, Wrong: wrong, Client: wire.Client(opts.HTTPClient), Encode: encoder.Encode, Read: messages.Read,
		Place: &wire.Place{Name: opts.Model + " at " + shown.Host, Hint: opts.Hint, NoKey: noKey,
			Secrets: append([]string{opts.Key, opts.Token}, wire.HeaderValues(opts.Header)...)}}
	if opts.Bearer != nil {
		x.Place.Key = wire.GoogleKey
	}
	if encoder.Thinking == messages.Budget { // between calls too, as the newer ones do anyway
		opts.Header.Add("anthropic-beta", "interleaved-thinking-2025-05-14")
	}
	if opts.Vertex {
		x.Send = opts.vertex(x.Place, x.Client)
	} else {
		x.Send = opts.messages(x.Place, x.Client)
	}
	return &Model{wire.New(x)}
}

// messages is what sends bodies to Anthropic, through its SDK.
func (o Options) messages(place *wire.Place, client *http.Client) func(context.Context, wire.Segments) (*http.Response, error) {
	options := []option.RequestOption{
		option.WithHTTPClient(client),
		option.WithBaseURL(o.BaseURL + "/"),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	if o.Key != "" {
		options = append(options, option.WithAPIKey(o.Key))
	}
	if o.Token != "" {
		options = append(options, option.WithAuthToken(o.Token))
	}
	for name, values := range o.Header {
		for _, v := range values {
			options = append(options, option.WithHeaderAdd(name, v))
		}
	}
	service := sdk.NewMessageService(options...) // reads no environment, unlike sdk.NewClient
	return func(ctx context.Context, body wire.Segments) (res *http.Response, err error) {
		send := place.Send(body)
		err = service.NewStreaming(ctx, sdk.MessageNewParams{}, option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err = send(r, next)
			return res, err
		})).Err()
		return res, err
	}
}

// vertex is what sends bodies to Google, whose address names the model. The
// SDK's own package for it would bring all of gRPC.
func (o Options) vertex(place *wire.Place, client *http.Client) func(context.Context, wire.Segments) (*http.Response, error) {
	at := o.BaseURL + "/models/" + url.PathEscape(o.Model) + ":streamRawPredict"
	return func(ctx context.Context, body wire.Segments) (*http.Response, error) {
		header := o.Header.Clone()
		if err := wire.Bearer(ctx, header, o.Bearer); err != nil {
			return nil, err
		}
		return place.Post(ctx, client, at, header, body)
	}
}

// version returns the family and version that a model's name tells, such as
// "opus" and "4-6", whatever stands around it; "" if it tells none.
func version(model string) (family, number string) {
	name := regexp.MustCompile(`claude-(?:(\d(?:[-.]\d)?)-)?([a-z]+)(?:-(\d{1,2}(?:[-.]\d{1,2})?)(?:\D|$))?`).FindStringSubmatch(strings.ToLower(model))
	if name == nil {
		return "", ""
	}
	return name[2], strings.ReplaceAll(name[1]+name[3], ".", "-")
}

// output is how many tokens a reply of the model may have.
func output(model string) int {
	family, number := version(model)
	switch {
	case number == "3", number == "3-0":
		return 4096
	case number == "3-5":
		return 8192
	case family == "opus" && (number == "4" || number == "4-0" || number == "4-1"):
		return 32000
	}
	return 64000
}

// thinking is how the model is asked to reason. What the name does not tell is
// taken for a model that is newer than this.
func thinking(model string) messages.Thinking {
	_, number := version(model)
	switch {
	case slices.Contains([]string{"2", "2-0", "2-1", "3", "3-0", "3-5"}, number):
		return messages.None
	case slices.Contains([]string{"3-7", "4", "4-0", "4-1", "4-5"}, number):
		return messages.Budget
	}
	return messages.Adaptive
}
