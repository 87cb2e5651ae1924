package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Transport returns a new transport that connects through d and through no other
// proxy, whatever the environment says. The caller closes its idle connections.
func (d *Dialer) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            d.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           32,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		ResponseHeaderTimeout:  2 * time.Minute,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// maxRedirects is how many redirects a client follows.
const maxRedirects = 10

// Client returns a new client whose every request is checked, those that a
// redirect leads to included. It keeps no cookies, and does not limit how long a
// body takes. The caller closes its idle connections.
func (d *Dialer) Client() *http.Client {
	return &http.Client{Transport: &checked{d, d.Transport()},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("gave up after %d redirects", maxRedirects)
			}
			return nil
		}}
}

// CheckURL returns a [*Refused] if u may not be fetched. It does not resolve the
// host, so a nil error does not mean that its addresses are allowed. It uses the
// name that [WithNamed] put into ctx.
func (d *Dialer) CheckURL(ctx context.Context, u *url.URL) error {
	port := u.Port()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse(u.Redacted(), "only http and https are fetched, not %q", u.Scheme)
	case u.Hostname() == "":
		return refuse(u.Redacted(), "the address has no host")
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	_, _, err := d.check(ctx, "["+u.Hostname()+"]:"+port)
	return err
}

// A checked transport asks the policy about each request, also about one that
// could use a connection that is open.
type checked struct {
	d  *Dialer
	tr *http.Transport
}

// RoundTrip implements [http.RoundTripper]. It checks each request, redirects included,
// before a name is resolved. An allowance for a local server holds for the host that the
// caller named, and not for one that it redirects to.
func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if from := req.Response; from != nil && from.Request != nil && TargetOf(from.Request.URL) != TargetOf(req.URL) {
		req = withoutLocal(req) // it is a redirect of another server
	}
	if err := c.d.CheckURL(req.Context(), req.URL); err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	return c.d.ownConnection(req, c.tr).RoundTrip(req)
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (c *checked) CloseIdleConnections() { c.tr.CloseIdleConnections() }

// ParseURL parses an address as users and models write it: with or without a
// scheme, which is then https, and with space around it. The result has a host,
// and any scheme. All that rules on addresses and all that requests them must
// use it, so that both mean the same host.
func ParseURL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%s is not an address", clean(text))
	}
	return u, nil
}
