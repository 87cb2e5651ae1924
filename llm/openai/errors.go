package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai/internal/chat"
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
	said.Err = &located{m.String(), m.clean(e.Err.Error()), e.Err}
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
	e, why := chat.Refusal(res.StatusCode, res.Header, body)
	e.Err = errors.New(m.advice(e, res, why))
	return e
}

// advice says what to look at.
func (m *Model) advice(e *llm.Error, res *http.Response, why string) string {
	switch {
	case e.Status/100 == 3:
		return fmt.Sprintf("it redirects to %s: put that into the base URL", chat.OneLine(res.Header.Get("Location"), 200))
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
