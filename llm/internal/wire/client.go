package wire

import (
	"cmp"
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
	"sync/atomic"
	"syscall"

	"github.com/openmanus-go/openmanus/llm"
)

// Client returns a copy of given, or a new client if that is nil. It follows no
// redirects, which would send the key to another address.
func Client(given *http.Client) *http.Client {
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

// BaseURL parses a base URL and returns it without its query and password, which
// must not be shown. The error shows example, a right one.
func BaseURL(base, model, example string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return &url.URL{}, Wrongf("the base URL %q is not one: it should look like %s", base, example)
	case model == "":
		return u, Wrongf("no model is named for %s", u.Host)
	}
	shown := *u
	shown.User, shown.RawQuery = nil, ""
	return &shown, nil
}

// A Place describes a model and its endpoint in errors. It must not be copied.
type Place struct {
	Name    string                // the model and its host
	Secrets []string              // values that no error shows; "" is none
	Hint    func(llm.Kind) string // a sentence of the configuration; may be nil
	NoKey   bool                  // no credentials are sent
	Key     string                // what errors call the credentials; "": the API key

	reached atomic.Bool // it has answered a request
}

// GoogleKey is [Place].Key on Vertex.
const GoogleKey = "the credentials at Google"

// Failure returns err as the error of a request: ctx's own if ctx ended, or an
// [*llm.Error] that names the place and what to look at, on one line and without
// secrets.
func (p *Place) Failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		var away bool
		if e, away = transport(err); away && !p.reached.Load() {
			e.Permanent = true // what never answered is more likely to be wrong than to be down
		}
	}
	said := *e
	text := p.Name + ": " + p.clean(e.Err.Error())
	if p.Hint != nil {
		if hint := p.Hint(e.Kind); hint != "" {
			text = strings.Replace(text+"; "+hint, "?; ", "? ", 1)
		}
	}
	said.Err = &located{text, e.Err}
	return &said
}

// A located is an error whose text names the place and contains no secret.
type located struct {
	text string
	err  error
}

// Error implements error.
func (l *located) Error() string { return l.text }

// Unwrap returns the error without the place.
func (l *located) Unwrap() error { return l.err }

var keyLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|gsk|xai|key)[-_][\w*.-]{8,}`)
})

// clean removes the secrets, and all that looks like a key, from a text of a
// provider or a library.
func (p *Place) clean(s string) string {
	for _, secret := range p.Secrets {
		if len(secret) >= 8 {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return keyLike().ReplaceAllString(s, "$1-***")
}

// transport returns the error of a connection. away reports whether nothing was
// reached at all.
func transport(err error) (e *llm.Error, away bool) {
	var op *url.Error
	if errors.As(err, &op) { // its text repeats the address, with the query
		err = op.Err
	}
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var dial *net.OpError
	errors.As(err, &dial)
	switch {
	case dial != nil && dial.Op == "proxyconnect":
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the proxy cannot be reached (%w): are HTTPS_PROXY, HTTP_PROXY and NO_PROXY right?", dial.Err)}, true
	case strings.Contains(err.Error(), "Proxy Authentication Required"):
		return &llm.Error{Kind: llm.Auth, Permanent: true, Err: errors.New("the proxy wants a password: write it into HTTPS_PROXY, as http://USER:PASSWORD@HOST:PORT")}, false
	case errors.As(err, &cert):
		return &llm.Error{Kind: llm.Network, Permanent: true, Err: fmt.Errorf("its certificate is not trusted: %w; where a company has its own authority, SSL_CERT_FILE names its certificate", err)}, false
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return &llm.Error{Kind: llm.Network, Permanent: true, Err: fmt.Errorf("it does not speak TLS (%w): should the base URL begin with http:// ?", err)}, false
	case errors.As(err, &dns):
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("its name cannot be looked up (%w): is the network up, and the base URL right?", err)}, true
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.Timeout, Err: fmt.Errorf("no answer in time: %w", err)}, false
	case errors.Is(err, syscall.ECONNREFUSED):
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("nothing listens there (%w): is the server running, and the base URL right?", err)}, true
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the connection was closed in the middle of the reply: %w", err)}, false
	}
	return &llm.Error{Kind: llm.Network, Err: fmt.Errorf("the connection failed: %w", err)}, false
}

// Check returns res if its status is one of success. Otherwise it closes res and
// returns an [*llm.Error].
func (p *Place) Check(res *http.Response) (*http.Response, error) {
	p.reached.Store(true)
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	e, why := Refusal(res.StatusCode, res.Header, body)
	if res.StatusCode/100 == 3 || res.StatusCode == http.StatusMethodNotAllowed { // something else is there
		e.Kind, e.Permanent = llm.Network, true
	}
	e.Err = errors.New(p.advice(e, res, why))
	return nil, e
}

// advice returns what to look at, and the words of the provider.
func (p *Place) advice(e *llm.Error, res *http.Response, why string) string {
	switch {
	case e.Status/100 == 3:
		return fmt.Sprintf("it redirects to %s: put that into the base URL", OneLine(res.Header.Get("Location"), 200))
	case e.Kind == llm.Auth && p.NoKey:
		return "it wants an API key, and none is configured: " + why
	case e.Kind == llm.Auth:
		return "it does not accept " + cmp.Or(p.Key, "the API key") + ": " + why
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

// Bearer sets the bearer token of a request in its header. A nil token does
// nothing.
func Bearer(ctx context.Context, header http.Header, token func(context.Context) (string, error)) error {
	if token == nil {
		return nil
	}
	t, err := token(ctx)
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		return err
	}
	if err != nil {
		return &llm.Error{Kind: llm.Auth, Permanent: true, Err: err}
	}
	header.Set("Authorization", "Bearer "+t)
	return nil
}

// NewRequest returns the request that sends body to url as JSON.
func NewRequest(ctx context.Context, url string, header http.Header, body Segments) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, Wrongf("the base URL makes no address: %w", err)
	}
	for name, values := range header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	r.Header.Set("Content-Type", "application/json")
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "openmanus") // some firewalls refuse Go's own
	}
	body.put(r)
	return r, nil
}

// Post sends body to url as JSON, and returns the response if it is one of success:
// see [Place.Check].
func (p *Place) Post(ctx context.Context, client *http.Client, url string, header http.Header, body Segments) (*http.Response, error) {
	r, err := NewRequest(ctx, url, header, body)
	if err != nil {
		return nil, err
	}
	return p.Do(client, r)
}

// Do sends r, and returns the response if it is one of success: see [Place.Check].
func (p *Place) Do(client *http.Client, r *http.Request) (*http.Response, error) {
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	return p.Check(res)
}
