package openai

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/openmanus-go/openmanus/llm"
)

// failure returns err as the error of a request: ctx's own, or an [*llm.Error]
// that says where it happened and what to look at.
func (m *Model) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		e = transport(err)
	}
	said := *e
	said.Err = &located{m.opts.Model + " at " + m.base.Host, m.clean(e.Err.Error()), e.Err}
	if m.opts.Hint != nil {
		if hint := m.opts.Hint(e.Kind); hint != "" {
			said.Err.(*located).text += "; " + hint
		}
	}
	return &said
}

// located is an error with the place where it happened, and without keys.
type located struct {
	place, text string
	err         error
}

func (l *located) Error() string { return l.place + ": " + l.text }
func (l *located) Unwrap() error { return l.err }

var keyLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|gsk|xai|key)[-_][\w*.-]{8,}`)
})

// clean takes keys out of what a provider or a library said.
func (m *Model) clean(s string) string {
	for _, secret := range append([]string{m.opts.Key}, headerValues(m.opts.Header)...) {
		if len(secret) >= 8 {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return keyLike().ReplaceAllString(s, "$1-***")
}

func headerValues(h http.Header) (all []string) {
	for _, vs := range h {
		all = append(all, vs...)
	}
	return all
}

// transport is the error of a connection.
func transport(err error) *llm.Error {
	var op *url.Error
	if errors.As(err, &op) { // it repeats the address, with its query
		err = op.Err
	}
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	switch {
	case errors.As(err, &cert):
		return &llm.Error{Kind: llm.Network, Permanent: true, Err: fmt.Errorf("its certificate is not trusted: %w", err)}
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return &llm.Error{Kind: llm.Network, Permanent: true, Err: fmt.Errorf("it does not speak TLS (%w): should the base URL begin with http:// ?", err)}
	case errors.As(err, &dns):
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("its name cannot be looked up (%w): is the network up, and the base URL right?", err)}
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.Timeout, Err: fmt.Errorf("no answer in time: %w", err)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("nothing listens there (%w): is the server running, and the base URL right?", err)}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the connection was closed in mid-reply: %w", err)}
	}
	return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the connection failed: %w", err)}
}

// refusal is the error of a response that is not one of success.
func (m *Model) refusal(res *http.Response) error {
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	said := explain(body)
	e := &llm.Error{Kind: kindOfStatus(res.StatusCode), Status: res.StatusCode, RetryAfter: retryAfter(res.Header, time.Now())}
	said.refine(e)
	e.Err = errors.New(m.advice(e, res, said))
	return e
}

func (m *Model) advice(e *llm.Error, res *http.Response, said said) string {
	why := cmp.Or(said.text, http.StatusText(e.Status))
	switch {
	case e.Status/100 == 3:
		return fmt.Sprintf("it redirects to %s: put that into the base URL", oneLine(res.Header.Get("Location"), 200))
	case e.Kind == llm.Auth && m.opts.Key == "" && m.opts.Header == nil:
		return "it wants an API key, and none is configured: " + why
	case e.Kind == llm.Auth:
		return "it does not accept the API key: " + why
	case e.Kind == llm.NoModel:
		return "it has no such model, or no such address (check the model's name and the base URL): " + why
	case e.Kind == llm.Context:
		return "the conversation is too long for the model: " + why
	case e.Kind == llm.RateLimit && e.Permanent:
		return "there is no credit left: " + why
	case e.Kind == llm.RateLimit:
		return "too many requests, or too busy: " + why
	case e.Status == http.StatusMethodNotAllowed:
		return "it takes no requests at this address; check the base URL: " + why
	}
	return "it answered: " + why
}

func kindOfStatus(status int) llm.Kind {
	switch {
	case status == 401 || status == 403 || status == 407:
		return llm.Auth
	case status == 402 || status == 429 || status == 529:
		return llm.RateLimit
	case status == 404:
		return llm.NoModel
	case status == 408 || status == 504 || status == 524:
		return llm.Timeout
	case status == 413:
		return llm.Context
	case status == 409 || status == 425 || status >= 500:
		return llm.Network
	}
	return llm.Protocol
}

// said is what an error's body says: words for people, and codes.
type said struct{ text, codes string }

// refine makes e what the body says it is, where the status is too coarse.
func (s said) refine(e *llm.Error) {
	text := strings.ToLower(s.text)
	has := func(codes ...string) bool {
		for _, c := range codes {
			if strings.Contains(s.codes, c) {
				return true
			}
		}
		return false
	}
	switch {
	case has("context_length_exceeded", "exceed_context_size", "string_above_max_length") || tooLong().MatchString(text):
		e.Kind = llm.Context
	case has("insufficient_quota", "billing", "insufficient_balance") || e.Status == 402:
		e.Kind, e.Permanent = llm.RateLimit, true
	case has("model_not_found"):
		e.Kind = llm.NoModel
	case has("invalid_api_key", "authentication_error"):
		e.Kind = llm.Auth
	case has("content_filter", "content_policy"):
		e.Kind = llm.Filtered
	case has("rate_limit", "overloaded") && e.Kind == llm.Protocol:
		e.Kind = llm.RateLimit
	case has("server_error", "internal_error", "timeout") && e.Kind == llm.Protocol && e.Status == 0:
		e.Kind = llm.Network
	}
	e.Permanent = e.Permanent || e.Status == http.StatusNotImplemented
}

// tooLong is how providers say that a request is larger than the model's
// window, when they have no code for it.
var tooLong = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`(maximum|available|the) context (length|size|window)`, // OpenAI, vLLM, OpenRouter, llama.cpp, LM Studio
		`context (length|window)( is)? exceed`,
		`context window exceeds`, // MiniMax
		`maximum prompt length`,  // xAI
		`prompt (is )?too long`,  // Anthropic, Atlas
		`input is too long`,      // Bedrock

		`exceeded model token limit`,                       // Moonshot
		`reduce the length of the (messages|prompt)`,       // Groq, Cerebras
		`too large for model with .* context`,              // Mistral
		`request too large for .* tokens per min`,          // OpenAI: longer than a minute's allowance
		`(input|prompt) (length|is|token count).* exceeds`, // GLM, Poolside, SGLang
	}, "|"))
})

// explain reads the forms in which servers report errors.
func explain(body []byte) said {
	var text string
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
			for _, key := range []string{"code", "type", "status", "innererror"} {
				codes = append(codes, strings.ToLower(string(object[key])))
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
	return said{oneLine(text, 500), strings.Join(codes, " ")}
}

// page is what a web page has beside its words.
var page = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<[^>]*>`)
})

// inBand returns the error that an event is, or nil.
func inBand(data []byte) error {
	var ev struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
		Type   string          `json:"type"`
		Detail json.RawMessage `json:"detail"`
	}
	if data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return nil
		}
		return inBand(list[0])
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
			e.Kind = kindOfStatus(int(n))
			e.Status = int(n)
		}
	}
	said.refine(e)
	e.Err = fmt.Errorf("it reports an error in the stream: %s", cmp.Or(said.text, oneLine(string(data), 200)))
	return e
}

// errorBeside is inBand for an event that has choices too.
func errorBeside(data []byte) error {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	return inBand(data)
}

// retryAfter is how long the provider asks to wait, or 0.
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
				now = theirs // their clock, if it differs from ours
			}
			return max(t.Sub(now), 0)
		}
	}
	return 0
}

// oneLine returns s in one line of at most n bytes, without control characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}
