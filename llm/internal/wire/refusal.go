package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/openmanus-go/openmanus/llm"
)

// Refusal returns the error of a response that is no success, and the provider's
// words for people. Err is not set.
func Refusal(status int, header http.Header, body []byte) (*llm.Error, string) {
	said := explain(body)
	e := &llm.Error{Kind: llm.KindOfStatus(status), Status: status, RetryAfter: retryAfter(header, time.Now()), Field: said.param}
	said.refine(e)
	if e.RetryAfter == 0 && e.Kind == llm.RateLimit {
		e.RetryAfter = said.delay()
	}
	return e, cmp.Or(said.text, http.StatusText(status))
}

// A said is the content of an error's body: words for people, and codes.
type said struct{ text, codes, param string }

// delay returns how long Google asks to wait, which stands in the body; 0: not at
// all.
func (s said) delay() time.Duration {
	m := regexp.MustCompile(`"retrydelay":\s*"([0-9.]{1,12}s)"`).FindStringSubmatch(s.codes)
	if m == nil {
		return 0
	}
	d, _ := time.ParseDuration(m[1])
	return d
}

// refine sets the kind of e by the body, where the status is too coarse.
func (s said) refine(e *llm.Error) {
	text := strings.ToLower(s.text)
	has := func(codes ...string) bool {
		return slices.ContainsFunc(codes, func(c string) bool { return strings.Contains(s.codes, c) })
	}
	switch {
	case has("context_length_exceeded", "exceed_context_size", "string_above_max_length") || tooLong().MatchString(text):
		e.Kind = llm.Context
	case has("insufficient_quota", "billing", "insufficient_balance") || e.Status == 402 || noCredit().MatchString(text):
		e.Kind, e.Permanent = llm.RateLimit, true
	case s.images(e.Status) != "":
		e.Images, e.Kind, e.Permanent = s.images(e.Status), llm.Protocol, true
	case template().MatchString(text):
		e.Kind, e.Permanent = llm.Protocol, true
	case has("model_not_found") || strings.Contains(text, "model identifier is invalid"): // the second is Bedrock's
		e.Kind = llm.NoModel
	case has("invalid_api_key", "api_key_invalid", "authentication_error"):
		e.Kind = llm.Auth
	case has("content_filter", "content_policy"):
		e.Kind = llm.Filtered
	case has("rate_limit", "overloaded") && e.Kind == llm.Protocol:
		e.Kind = llm.RateLimit
	case has("server_error", "internal_error", "api_error", "timeout") && e.Kind == llm.Protocol && e.Status == 0:
		e.Kind = llm.Network
	}
	if e.Status == http.StatusServiceUnavailable && loading().MatchString(text) {
		e.Kind, e.Loading = llm.Network, true
	}
	e.Permanent = e.Permanent || e.Status == http.StatusNotImplemented
}

// tooLong matches how providers without a code for it say that a request is larger
// than the model's window.
var tooLong = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`(maximum|available|the) context (length|size|window)`, // OpenAI, vLLM, OpenRouter, llama.cpp, LM Studio
		`context (length|window)( is)? exceed`,
		`context window exceeds`,                                                // MiniMax
		`maximum prompt length`,                                                 // xAI
		`prompt (is )?too long`,                                                 // Anthropic, Atlas
		`exceed context limit`,                                                  // Anthropic: with the reply that was asked for
		`exceed(ed|s)? (this |the )?(model('s)? )?context (window|size|length)`, // Cloudflare, llama-cpp-python
		`context size (has been |was )?exceeded`,                                // llama.cpp, with HTTP 500
		`tokens to keep from the initial prompt|keep the first \d+ tokens`,      // LM Studio
		`longer than the (model's |maximum )+(context|model) length`,            // SGLang, Together, vLLM
		`input is too long`,                                                     // Bedrock

		`exceeded model token limit`,                        // Moonshot
		`reduce the length of the (messages|prompt)`,        // Groq, Cerebras
		`too large for model with .* context`,               // Mistral
		`request too large for .* tokens per min`,           // OpenAI: longer than a minute's allowance
		`(input|prompt) (length|is|token count).* exceeds`,  // GLM, Poolside, SGLang
		`range of input length should be`,                   // DashScope
		`(prompt|input) exceeds max(imum)? length`,          // GLM
		`trying to keep the first \d+ tokens when`,          // LM Studio
		`context size.{0,20} exceed`,                        // llama.cpp
		"`inputs`.{0,40} must (be <=|have less than)",       // TGI
		`decoder prompt \(length \d+\) is longer`,           // vLLM
		`inputs.? tokens \+ .?max_new_tokens`,               // TGI
		`maximum supported sequence length`,                 // SambaNova
		`prompt length .*(exceed|longer|larger)`,            // TensorRT-LLM
		`too many tokens.*(prompt|input).*(exceed|at most)`, // Cohere
	}, "|"))
})

// loading matches how servers say that they are reading a model: llama.cpp, Hugging Face.
var loading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`loading model|model .{0,100}is (currently )?loading|still loading|warming up`)
})

// template matches how servers say that they cannot make a prompt of a conversation. Some
// call that their own fault, with a status of 500, and asking again does not help.
var template = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`failed to parse (tool call arguments|messages)`, // llama.cpp
		`roles must alternate`,                           // templates of Gemma and Mistral
		`jinja|chat template|template error`,             // llama.cpp, LM Studio, vLLM, TGI
		`no user query found in messages`,                // templates of Qwen
		`tool call ids? .{0,60}length`,                   // templates of Mistral
	}, "|"))
})

// images returns what the body of a refusal says of the images of a request; "" if
// nothing. A server that is at fault itself has to say so in as many words.
func (s said) images(status int) llm.Images {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return ""
	}
	text := strings.ToLower(s.text) + " " + s.codes
	words := imageWords()
	switch {
	case words.textOnly.MatchString(text):
		return llm.NoImages
	case !words.image.MatchString(text):
		return ""
	case !words.format.MatchString(text) && words.unable.MatchString(text):
		return llm.NoImages
	case status < 500 || words.fault.MatchString(text):
		return llm.BadImages
	}
	return ""
}

// imageWords returns what matches how servers refuse images.
var imageWords = sync.OnceValue(func() (w struct{ image, textOnly, unable, format, fault *regexp.Regexp }) {
	// a mention of images
	w.image = regexp.MustCompile(`(\b|_)(images?|vision|multi-?modal|mmproj|pictures?)(\b|_)`)
	// the model takes nothing but text: Groq, DeepSeek, GLM
	w.textOnly = regexp.MustCompile("content.{0,40}(must be|should be|expected).{0,20}string|invalid type: sequence, expected a string|" +
		"unknown variant .?image_url|content\\.type.{0,40}\\[.?text.?\\]")
	// with such a mention: the model takes none. llama.cpp, OpenAI, Ollama, LM Studio, vLLM, OpenRouter, Bedrock, Google, xAI
	w.unable = regexp.MustCompile(`(not|n't|never) (currently |yet |been )?(an? )?(support|enabled|allowed|accept|available|permitted|have|handle|include|multi|vision)|` +
		`unsupported|no endpoints found that support|only supported by|(missing|without|no) (data required for |the )?(image|vision|mmproj)|at most 0 image|text[- ]only`)
	// with such a mention: it is about the form of an image
	w.format = regexp.MustCompile(`format|mime|media.type|file type|image type|unsupported.image\b|valid image`)
	// with such a mention: it is about an image, though the server calls it its own fault
	w.fault = regexp.MustCompile(`(process|decod|load|read|open|pars|identif|invalid|input|exceed|too (large|big|many)|corrupt|truncat|damaged)`)
	return w
})

// noCredit matches how providers without a code for it say that no credit is left.
var noCredit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`credit balance is too low|credits are depleted|key limit exceeded`) // Anthropic, Google, OpenRouter
})

// explain decodes the forms in which servers report errors.
func explain(body []byte) said {
	var text, sizes, param string
	var codes []string
	var look func(raw json.RawMessage, depth int)
	look = func(raw json.RawMessage, depth int) {
		raw = bytes.TrimSpace(raw)
		var s string
		var list []json.RawMessage
		var object map[string]json.RawMessage
		switch {
		case len(raw) == 0 || depth > 4:
		case json.Unmarshal(raw, &s) == nil:
			text = cmp.Or(text, s)
		case json.Unmarshal(raw, &list) == nil && len(list) > 0:
			look(list[0], depth+1)
		case json.Unmarshal(raw, &object) == nil:
			for _, key := range []string{"code", "type", "status", "innererror", "details", "__type"} {
				codes = append(codes, strings.ToLower(string(object[key])))
			}
			if json.Unmarshal(object["param"], &s) == nil {
				param = cmp.Or(param, s)
			}
			var upstream struct{ Raw string }
			if json.Unmarshal(object["metadata"], &upstream) == nil && upstream.Raw != "" { // OpenRouter: what the provider behind it said
				if json.Valid([]byte(upstream.Raw)) {
					look(json.RawMessage(upstream.Raw), depth+1)
				} else {
					text = cmp.Or(text, upstream.Raw)
				}
			}
			for _, key := range []string{"n_prompt_tokens", "n_ctx"} { // llama.cpp
				if n := string(object[key]); n != "" && len(n) < 12 {
					sizes += " " + key + " " + n
				}
			}
			for _, key := range []string{"error", "message", "msg", "detail", "error_message"} {
				look(object[key], depth+1)
			}
		}
	}
	if json.Valid(body) {
		look(body, 0)
	} else {
		text = page().ReplaceAllString(string(body), " ")
	}
	text = OneLine(text, 500)
	if sizes != "" {
		text += " (" + sizes[1:] + ")"
	}
	return said{text, strings.Join(codes, " "), param}
}

// page matches the parts of a web page that are no words.
var page = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<[^>]*>`)
})

// InBand returns the error that an event of a stream reports; nil if it reports
// none.
func InBand(data []byte) error {
	var ev struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
		Type   string          `json:"type"`
		Detail json.RawMessage `json:"detail"`
	}
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return nil
		}
		return InBand(list[0])
	}
	if json.Unmarshal(data, &ev) != nil {
		return nil
	}
	none := len(ev.Error) == 0 || slices.Contains([]string{"null", "{}", `""`, "false"}, string(ev.Error))
	if none && ev.Object != "error" && ev.Type != "error" && ev.Detail == nil {
		return nil
	}
	said := explain(data)
	e := &llm.Error{Kind: llm.Protocol}
	var coded struct{ Code json.Number }
	if json.Unmarshal(ev.Error, &coded) == nil {
		if n, err := coded.Code.Int64(); err == nil && n >= 400 && n < 600 { // OpenRouter, vLLM: a status
			e.Kind = llm.KindOfStatus(int(n))
			e.Status = int(n)
		}
	}
	said.refine(e)
	e.Err = fmt.Errorf("it reports an error in the stream: %s", cmp.Or(said.text, OneLine(string(data), 200)))
	return e
}

// ErrorBeside is [InBand] for an event that may hold a part of a reply as well.
func ErrorBeside(data []byte) error {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	return InBand(data)
}

// retryAfter returns how long the provider asks to wait in its header; 0: not at
// all.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, f := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		v := strings.TrimSpace(h.Get(f.name))
		if n, err := strconv.ParseFloat(v, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			if d := n * float64(f.unit); d > 0 { // neither negative nor NaN
				return time.Duration(min(d, math.MaxInt64/2))
			}
			continue
		}
		if t, err := http.ParseTime(v); err == nil {
			if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
				now = theirs // the server's clock may differ
			}
			return max(t.Sub(now), 0)
		}
	}
	return 0
}

// OneLine returns s in one line of at most n bytes, without control characters.
func OneLine(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}

// Wrongf returns a permanent error of kind [llm.Protocol].
func Wrongf(format string, a ...any) error {
	return &llm.Error{Kind: llm.Protocol, Permanent: true, Err: fmt.Errorf(format, a...)}
}

// Elsewhere returns the permanent error of an address that serves no model but
// something else, such as a web page.
func Elsewhere(format string, a ...any) error {
	return &llm.Error{Kind: llm.Network, Permanent: true, Err: fmt.Errorf(format, a...)}
}

// NoEvent returns the error of an event that cannot be decoded.
func NoEvent(data []byte, err error) error {
	return &llm.Error{Kind: llm.Protocol, Err: fmt.Errorf("the stream contains something other than a chunk of a reply: %s: %w", OneLine(string(data), 100), err)}
}
