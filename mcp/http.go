package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// dialHTTP connects to a server that is reached by a URL: over streamable
// HTTP, or over the older transport if that is all that it knows.
func (l *link) dialHTTP(ctx context.Context) (*sdk.ClientSession, func() error, error) {
	u, err := url.Parse(l.cfg.URL)
	if err != nil {
		return nil, nil, err
	}
	web := l.web(u)
	end := func(sess *sdk.ClientSession) func() error {
		return func() error {
			sess.Close() // it says goodbye if it can
			web.base.CloseIdleConnections()
			return nil
		}
	}
	if l.cfg.Type != "sse" {
		t := &sdk.StreamableClientTransport{Endpoint: l.cfg.URL, HTTPClient: web.client(), MaxEventSize: maxMessage}
		if s := l.c.opts.SignIn; s != nil {
			t.OAuthHandler = s.handler(l, web)
		}
		sess, err := l.client().Connect(ctx, t, nil)
		if err == nil {
			return sess, end(sess), nil
		}
		status := int(web.status.Load())
		old := status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusBadRequest
		if l.cfg.Type == "http" || !old || ctx.Err() != nil {
			web.base.CloseIdleConnections()
			return nil, nil, reason(err, status)
		}
	}
	// The older transport hears the server by one request, which lasts as
	// long as the connection, and longer than ctx.
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	early := context.AfterFunc(ctx, stop)
	sess, err := l.client().Connect(live, &sdk.SSEClientTransport{Endpoint: l.cfg.URL, HTTPClient: web.client(), MaxEventSize: maxMessage}, &sdk.ClientSessionOptions{ProtocolVersion: legacy})
	early()
	if err != nil {
		stop()
		web.base.CloseIdleConnections()
		return nil, nil, reason(err, int(web.status.Load()))
	}
	return sess, func() error { defer stop(); return end(sess)() }, nil
}

// reason is err with what to try.
func reason(err error, status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("it refuses us (HTTP %d): %w; a key is given with --header, and openmanus mcp test signs in", status, err)
	}
	return err
}

// A web is how one server is reached by HTTP.
type web struct {
	home    *url.URL
	headers map[string]string
	base    *http.Transport
	status  atomic.Int32 // of the last answer that was an error
}

func (l *link) web(home *url.URL) *web {
	plain := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if l.c.opts.Dial != nil && addr != address(home) {
				return l.c.opts.Dial(ctx, network, addr)
			}
			return plain.DialContext(ctx, network, addr)
		},
	}
	return &web{home: home, headers: l.cfg.Headers, base: base}
}

// address is the host and port of u.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// client speaks to the server. It does not follow the server to another host:
// what was meant for one is not shown to another.
func (w *web) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case r.URL.Host != w.home.Host || r.URL.Scheme != w.home.Scheme:
			return fmt.Errorf("it sends us on to %s: if that is right, configure that address", r.URL.Host)
		case len(via) > 5:
			return errors.New("it sends us on again and again")
		}
		return nil
	}}
}

// RoundTrip implements [http.RoundTripper]: the configured headers go to the
// configured host, and an answer has a bounded size.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == w.home.Host && r.URL.Scheme == w.home.Scheme && len(w.headers) > 0 {
		r = r.Clone(r.Context())
		for name, v := range w.headers {
			r.Header.Set(name, v)
		}
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 && r.Method == http.MethodPost {
		w.status.Store(int32(resp.StatusCode))
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &bounded{resp.Body, maxMessage}
	}
	return resp, nil
}

// bounded is a body that is an error when it is too long.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxMessage)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
