// Package openai is the adapter for OpenAI's two interfaces: Chat Completions,
// which nearly every other provider and local server speak too, and Responses.
//
//	model := openai.New(openai.Options{Model: "gpt-5", Key: key, API: openai.Responses})
//	local := openai.New(openai.Options{Model: "qwen3", BaseURL: "http://localhost:11434/v1"})
//
// It asks for a stream, and accepts a plain response, too. It makes one attempt:
// wrap it in [llm.Retry]. The encoded messages of a conversation are kept in the
// request's [llm.Memo], and sent again unchanged.
//
// With Responses, OpenAI stores nothing: the reasoning comes back encrypted, and
// goes along with the next request. Chat Completions cannot express some things:
// images in the results of tools follow in a user's message, and text files are
// sent as text. In both, a result that is an error begins with "Error:".
package openai

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/openai/internal/chat"
	"github.com/openmanus-go/openmanus/llm/openai/internal/responses"
)

// DefaultURL is OpenAI's own address.
const DefaultURL = "https://api.openai.com/v1"

// The interfaces.
const (
	Chat      = "chat"
	Responses = "responses"
)

// Options say which model to ask, and where. Only Model is required.
type Options struct {
	Model   string // the endpoint's name for it
	API     string // Chat or Responses; "": Chat
	BaseURL string // up to /chat/completions or /responses; a query, such as Azure's api-version, is kept; "": DefaultURL
	Key     string // sent as bearer token; "": none is sent
	Header  http.Header

	// HTTPClient sends the requests; nil: a new one. It should have no Timeout,
	// which would end long replies. Redirects are never followed.
	HTTPClient *http.Client

	Reasoning *bool // whether it takes max_completion_tokens and no temperature; nil: known from its name
	PDF       bool  // the endpoint takes PDF files; not needed for OpenAI's own
	Progress  bool  // it is asked to tell how much of the prompt it has read, as llama.cpp can
	NoUsage   bool  // the endpoint refuses stream_options
	Summaries bool  // ask Responses for summaries of the reasoning, which only verified organizations get

	// Thoughts says how reasoning goes back to the model that wrote it in Chat
	// Completions: "" or "auto", in the fields in which it came; "none", not at
	// all; any other word is the one field that it goes into.
	Thoughts string

	// Hint, if not nil, returns a sentence for errors of a kind, which only the
	// caller can write, such as where the key came from.
	Hint func(llm.Kind) string

	// Bearer, if not nil, returns the bearer token of a request, in place of
	// Key, such as one of Microsoft Entra's for Azure. SignIn is what errors
	// call the credentials behind it.
	Bearer func(context.Context) (string, error)
	SignIn string
}

// A Model is an [llm.Model] that speaks Chat Completions or Responses. Body
// returns the exact bytes that it sends for a request, and Close closes its idle
// connections.
type Model struct{ adapter }

// adapter is embedded under a name that is not exported.
type adapter = wire.Adapter

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	opts.BaseURL = cmp.Or(opts.BaseURL, DefaultURL)
	header, secrets := wire.Credentials(opts.Header, wire.BearerKey(opts.Key))
	path, format, read := opts.speak()
	return &Model{wire.Post(wire.Endpoint{Model: opts.Model, BaseURL: opts.BaseURL, Example: DefaultURL,
		URL: endpoint(opts.BaseURL, path), Header: header, Secrets: secrets, Client: opts.HTTPClient, Hint: opts.Hint,
		Bearer: opts.Bearer, SignIn: opts.SignIn}, format, read)}
}

// endpoint returns the address of path below base, with the query of base.
func endpoint(base, path string) string {
	base, query, found := strings.Cut(base, "?")
	if base = strings.TrimRight(base, "/") + "/" + path; found {
		return base + "?" + query
	}
	return base
}

// speak returns the path of the interface below the base URL, and its format.
func (o *Options) speak() (path string, f wire.Format, read wire.Reader) {
	if o.API == Responses {
		return "responses", &responses.Encoder{Model: o.Model, Reasons: reasons(o), Summary: o.Summaries}, responses.Read
	}
	return "chat/completions", &chat.Encoder{
		Model:     o.Model,
		Reasons:   reasons(o),
		Mistral:   regexp.MustCompile(`(?i)stral|xtral`).MatchString(o.Model), // Mistral, Codestral, Mixtral...
		Reasoning: regexp.MustCompile(`(?i)deepseek|kimi`).MatchString(o.Model),
		PDF:       o.PDF || o.BaseURL == DefaultURL,
		Thoughts:  o.Thoughts,
		NoUsage:   o.NoUsage,
		Tells:     o.Progress,
	}, chat.Read
}

// reasons reports whether a model takes max_completion_tokens and no temperature:
// o1, o4-mini, gpt-5 and so on.
func reasons(opts *Options) bool {
	if opts.Reasoning != nil {
		return *opts.Reasoning
	}
	return regexp.MustCompile(`^([^/]*/)*(o[1-9]|gpt-([5-9]|\d\d))`).MatchString(opts.Model)
}
