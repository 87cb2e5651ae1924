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
	"io"
	"iter"
	"net/http"
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

	// Via, if not nil, returns how requests reach a cloud that has the model:
	// an option of the SDK that comes after all others. It is asked once,
	// by the first request; a request that finds it fail asks again.
	Via func(context.Context) (option.RequestOption, error)
	// Where says where that is, for errors; used with Via.
	Where string
}

// A Model is an [llm.Model] that speaks Messages.
type Model struct {
	opts    Options
	place   *wire.Place
	options []option.RequestOption
	via     wire.Once[option.RequestOption]
	close   func()
	wrong   error // in the options: what every request fails with

	encoder *messages.Encoder
}

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultURL
	}
	opts.BaseURL = strings.TrimSuffix(strings.TrimRight(opts.BaseURL, "/"), "/v1")
	m := &Model{opts: opts, encoder: &messages.Encoder{Model: opts.Model, Output: opts.Output, Thinking: messages.Thinking(opts.Thinking)}}
	if opts.Output == 0 {
		m.encoder.Output = output(opts.Model)
	}
	if opts.Thinking == "" {
		m.encoder.Thinking = thinking(opts.Model)
	}
	shown, wrong := wire.BaseURL(opts.BaseURL, opts.Model, DefaultURL)
	m.wrong = wrong
	m.place = &wire.Place{Name: opts.Model + " at " + shown.Host, Hint: opts.Hint,
		NoKey:   opts.Key == "" && opts.Token == "" && opts.Header == nil && opts.Via == nil,
		Secrets: append([]string{opts.Key, opts.Token}, wire.HeaderValues(opts.Header)...)}
	if opts.Via != nil {
		m.place.Name = opts.Model + " at " + opts.Where
		m.via.Get = opts.Via
	}
	client := wire.Client(opts.HTTPClient)
	m.close = client.CloseIdleConnections
	m.options = []option.RequestOption{
		option.WithHTTPClient(client),
		option.WithBaseURL(opts.BaseURL + "/"),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	if opts.Key != "" {
		m.options = append(m.options, option.WithAPIKey(opts.Key))
	}
	if opts.Token != "" {
		m.options = append(m.options, option.WithAuthToken(opts.Token))
	}
	for name, values := range opts.Header {
		for _, v := range values {
			m.options = append(m.options, option.WithHeader(name, v))
		}
	}
	if m.encoder.Thinking == messages.Budget { // between calls too, as the newer ones do anyway
		m.options = append(m.options, option.WithHeader("anthropic-beta", "interleaved-thinking-2025-05-14"))
	}
	return m
}

// String says which model it is and where, and never the key.
func (m *Model) String() string { return m.place.Name }

// Close closes the connections that are kept for later requests.
func (m *Model) Close() error {
	m.close()
	return nil
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

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	send := func(ctx context.Context) (*http.Response, error) { return m.send(ctx, req) }
	return m.place.Stream(ctx, send, func(body io.Reader, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, bool, error) {
		return messages.Read(body, m.opts.Model, yield, finished)
	})
}

// Body returns the exact bytes that are sent for req, to Anthropic itself.
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
	var res *http.Response
	options := append(slices.Clone(m.options), option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		r.ContentLength = body.Size()
		r.GetBody = body.Open
		r.Body, _ = body.Open()
		got, err := next(r)
		if err != nil {
			return nil, err
		}
		res, err = m.place.Check(got)
		return res, err
	}))
	if m.opts.Via != nil {
		via, err := m.via.Do(ctx)
		if err != nil {
			return nil, err
		}
		options = append(options, via)
	}
	service := sdk.NewMessageService(options...) // reads no environment, unlike sdk.NewClient
	err = service.NewStreaming(ctx, sdk.MessageNewParams{}).Err()
	return res, err
}
