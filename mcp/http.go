package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// dialHTTP connects to a server with a URL: over streamable HTTP, or over the
// older transport if the server does not know that.
func (l *link) dialHTTP(ctx context.Context) (*sdk.ClientSession, func() error, error) {
	u, err := url.Parse(l.cfg.URL)
	if err != nil {
		return nil, nil, err
	}
	web := l.web(u)
	end := func(sess *sdk.ClientSession) func() error {
		return func() error {
			sess.Close() // an error means that the server is gone already
			web.base.CloseIdleConnections()
			return nil
		}
	}
	if l.cfg.Type != "sse" {
		t := &sdk.StreamableClientTransport{
			Endpoint: l.cfg.URL, HTTPClient: web.client(), MaxEventSize: maxMessage,
		}
		if s := l.c.opts.SignIn; s != nil {
			t.OAuthHandler = s.handler(l, web)
		}
		sess, err := l.client().Connect(ctx, t, nil)
		if err == nil {
			return sess, end(sess), nil
		}
		status := int(web.status.Load())
		old := slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusBadRequest},
			status)
		if l.cfg.Type == "http" || !old || ctx.Err() != nil {
			web.base.CloseIdleConnections()
			return nil, nil, reason(err, status)
		}
	}
	// The older transport receives everything in the response to one request,
	// which lasts as long as the connection and must outlive ctx.
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	early := context.AfterFunc(ctx, stop)
	t := &sdk.SSEClientTransport{Endpoint: l.cfg.URL, HTTPClient: web.client(), MaxEventSize: maxMessage}
	sess, err := l.client().Connect(live, t, &sdk.ClientSessionOptions{ProtocolVersion: legacy})
	early()
	if err != nil {
		stop()
		web.base.CloseIdleConnections()
		return nil, nil, reason(err, int(web.status.Load()))
	}
	return sess, func() error { defer stop(); return end(sess)() }, nil
}

// reason adds to err what to try.
func reason(err error, status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("it refuses access (HTTP %d): %w; give a key with --header, or sign in with "+
			"openmanus mcp test", status, err)
	}
	return err
}

// A web is the HTTP transport to one server. The configured headers hold keys:
// they are sent to home and nowhere else.
type web struct {
	home    *url.URL
	headers map[string]string
	base    *http.Transport
	status  atomic.Int32 // of the last response to a POST that was an error
}

// web returns the transport to the server at home. Only connections to other
// hosts go through [Options].Dial: the configuration names this one.
func (l *link) web(home *url.URL) *web {
	plain := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if l.c.opts.Dial != nil && addr != address(home) {
				return l.c.opts.Dial(ctx, network, addr)
			}
			return plain.DialContext(ctx, network, addr)
		},
	}
	return &web{home: home, headers: l.cfg.Headers, base: base}
}

// address returns the host and port of u.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// client returns the client for the server. It does not follow redirects to
// another host, which would learn what is meant for this one.
func (w *web) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case r.URL.Host != w.home.Host || r.URL.Scheme != w.home.Scheme:
			return fmt.Errorf("it redirects to %s: if that is right, configure that address", r.URL.Host)
		case len(via) > 5:
			return errors.New("it redirects too often")
		}
		return nil
	}}
}

// RoundTrip implements [http.RoundTripper]. It adds the configured headers to
// requests to the configured host, and bounds the size of responses. Event
// streams are bounded by message.
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

// bounded is a body that fails when it is too long.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read reads at most as much as is left, and then fails: a server's answer must not fill
// the memory.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxMessage)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
