package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Transport returns a new transport that connects through d and through no
// other proxy, whatever the environment says. The caller closes its idle
// connections.
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

// maxRedirects is how many are followed.
const maxRedirects = 10

// Client returns a new client that fetches what the policy allows: every
// request is checked, also those that a redirect leads to. It keeps no cookies
// and sets no limit to the time that a body takes.
func (d *Dialer) Client() *http.Client {
	return &http.Client{Transport: &checked{d, d.Transport()}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("gave up after %d redirects", maxRedirects)
		}
		return nil
	}}
}

// CheckURL reports whether u may be fetched, before its host is resolved. The
// error is a [*Refused].
func (d *Dialer) CheckURL(u *url.URL) error {
	port := u.Port()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &Refused{Host: clean(u.Redacted()), Rule: fmt.Sprintf("only http and https are fetched, not %q", u.Scheme)}
	case u.Hostname() == "":
		return &Refused{Host: clean(u.Redacted()), Rule: "the address has no host"}
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	return d.Check("[" + u.Hostname() + "]:" + port)
}

// checked asks the policy about each request, also about one that could use a
// connection that is there.
type checked struct {
	d  *Dialer
	tr *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.d.CheckURL(req.URL); err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	return c.tr.RoundTrip(req)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (c *checked) CloseIdleConnections() { c.tr.CloseIdleConnections() }
