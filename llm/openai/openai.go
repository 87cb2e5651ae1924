// Package openai is the adapter for OpenAI Chat Completions, which OpenAI and
// nearly every other provider and local server speak.
//
//	model := openai.New(openai.Options{Model: "gpt-4.1", Key: key})
//	local := openai.New(openai.Options{Model: "qwen3", BaseURL: "http://localhost:11434/v1"})
//
// It always asks for a stream, and accepts a plain reply. It asks once: wrap
// it in [llm.Retry]. What is encoded of a conversation is kept in the
// request's [llm.Memo] and sent again as it is.
//
// Chat Completions has no place for some things. Images in the results of
// tools follow in a message of the user's. Text files are sent as text. A
// result that is an error begins with "Error:".
package openai

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai/internal/chat"
)

// DefaultURL is OpenAI's own address.
const DefaultURL = "https://api.openai.com/v1"

// Options say which model to ask, and where. Only Model is required.
type Options struct {
	Model   string // as the endpoint names it
	BaseURL string // up to /chat/completions; a query, such as Azure's api-version, is kept; "": DefaultURL
	Key     string // sent as bearer token; "": none is sent
	Header  http.Header

	// HTTPClient is used if it is not nil. It should have no Timeout, which
	// would cut long replies. Redirects are never followed.
	HTTPClient *http.Client

	Reasoning *bool // whether it takes max_completion_tokens and no temperature; nil: known from its name
	PDF       bool  // the endpoint takes PDF files; OpenAI's own does without saying so here
	Thoughts  bool  // the endpoint wants the reasoning_content that it sent back, as DeepSeek does
	NoUsage   bool  // the endpoint refuses stream_options

	// Hint, if not nil, returns a sentence for errors of a kind that only
	// who configured the model can write, such as where its key came from.
	Hint func(llm.Kind) string
}

// A Model is an [llm.Model] that speaks Chat Completions.
type Model struct {
	opts  Options
	base  *url.URL // what is shown of it: no query, no password
	chat  sdk.ChatCompletionService
	close func()
	wrong error // in the options: what every request fails with

	encoder *chat.Encoder
}

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultURL
	}
	m := &Model{opts: opts, encoder: &chat.Encoder{
		Model:    opts.Model,
		Reasons:  reasons(opts),
		ShortIDs: regexp.MustCompile(`(?i)stral|xtral`).MatchString(opts.Model), // Mistral, Codestral, Mixtral...
		PDF:      opts.PDF || opts.BaseURL == DefaultURL,
		Thoughts: opts.Thoughts,
		NoUsage:  opts.NoUsage,
	}}
	m.base, m.wrong = shownURL(opts)
	client := newClient(opts.HTTPClient)
	m.close = client.CloseIdleConnections
	options := []option.RequestOption{
		option.WithHTTPClient(client),
		option.WithBaseURL(opts.BaseURL),
		option.WithMaxRetries(0),
		option.WithAPIKey(opts.Key),
	}
	if u, err := url.Parse(opts.BaseURL); err == nil {
		for name, values := range u.Query() {
			options = append(options, option.WithQuery(name, values[0]))
		}
	}
	for name, values := range opts.Header {
		for _, v := range values {
			options = append(options, option.WithHeader(name, v))
		}
	}
	m.chat = sdk.NewChatCompletionService(options...) // reads no environment, unlike sdk.NewClient
	return m
}

// String says which model it is and where, and never the key.
func (m *Model) String() string { return m.opts.Model + " at " + m.base.Host }

// Close closes the connections that are kept for later requests.
func (m *Model) Close() error {
	m.close()
	return nil
}

func newClient(given *http.Client) *http.Client {
	c := &http.Client{}
	if given != nil {
		*c = *given
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 64 // many sessions ask one host
		c.Transport = t
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func shownURL(opts Options) (*url.URL, error) {
	u, err := url.Parse(opts.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return &url.URL{}, chat.Wrongf("the base URL %q is not one: it should look like %s", opts.BaseURL, DefaultURL)
	case opts.Model == "":
		return u, chat.Wrongf("no model is named for %s", u.Host)
	}
	shown := *u
	shown.User, shown.RawQuery = nil, ""
	return &shown, nil
}

// reasons reports whether a model is one of those that take
// max_completion_tokens and no temperature: o1, o4-mini, gpt-5 and so on.
func reasons(opts Options) bool {
	if opts.Reasoning != nil {
		return *opts.Reasoning
	}
	return regexp.MustCompile(`^([^/]*/)*(o[1-9]|gpt-([5-9]|\d\d))`).MatchString(opts.Model)
}

// settled is how long we wait for what may follow the end of a reply (usage,
// [DONE], the end of the response), which the reply does not need.
const settled = 10 * time.Second

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		res, err := m.send(inner, req)
		if err != nil {
			yield(llm.Delta{}, m.failure(ctx, err))
			return
		}
		defer res.Body.Close()
		timer := time.AfterFunc(settled, cancel)
		timer.Stop()
		defer timer.Stop()

		last, done, heard, err := chat.Read(res.Body, m.opts.Model, yield, func() { timer.Reset(settled) })
		if !heard {
			return
		}
		if err != nil {
			yield(llm.Delta{}, m.failure(ctx, err))
			return
		}
		yield(last, nil)
		if done { // to its end, so that the connection can be used again
			timer.Reset(time.Second / 4)
			io.CopyN(io.Discard, res.Body, 4096)
		}
	}
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
	var res *http.Response
	_, err = m.chat.New(ctx, sdk.ChatCompletionNewParams{},
		option.WithResponseBodyInto(&res),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			r.ContentLength = body.Size()
			r.GetBody = body.Open
			r.Body, _ = body.Open()
			res, err := next(r)
			if err == nil && res.StatusCode/100 != 2 {
				return nil, m.refusal(res)
			}
			return res, err
		}))
	return res, err
}
