package mcp

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions say which HTTP requests a [Server] serves.
type HTTPOptions struct {
	Token string   // clients send "Authorization: Bearer TOKEN"; "" means that every client is served
	Hosts []string // names, without a port, to which requests may be addressed besides the loopback ones
}

// maxRequest is how many bytes a request may have.
const maxRequest = 4 << 20

// idle is how long a session of an older client may be silent.
const idle = time.Hour

// Handler serves streamable HTTP, in all versions of the protocol. It refuses
// requests from pages of another origin, requests to unknown host names (which
// is how a page reaches a local server by DNS rebinding), and requests without
// the token.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	get := func(*http.Request) *sdk.Server { return s.mcp }
	now := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxRequest, PropagateRequestCancellation: true,
	})
	old := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		MaxRequestBodyBytes: maxRequest, SessionTimeout: idle, EventStore: sdk.NewMemoryEventStore(nil),
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, why := o.refuses(r); status != 0 {
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, why, status)
			return
		}
		current, err := isCurrent(w, r)
		switch {
		case err != nil:
			http.Error(w, "the request cannot be read", http.StatusRequestEntityTooLarge)
		case current:
			now.ServeHTTP(w, r)
		default:
			old.ServeHTTP(w, r)
		}
	})
}

// refuses returns why a request is not served, or 0.
func (o HTTPOptions) refuses(r *http.Request) (status int, why string) {
	if !o.named(r.Host) {
		return http.StatusForbidden, "this server does not serve the host " + r.Host
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return http.StatusForbidden, "pages of another origin are not served"
		}
	}
	if o.Token == "" {
		return 0, ""
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(o.Token))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return http.StatusUnauthorized, "send the token: Authorization: Bearer TOKEN"
	}
	return 0, ""
}

// named reports whether requests may be addressed to host.
func (o HTTPOptions) named(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return loopback(name) || slices.Contains(o.Hosts, name)
}

// isCurrent reports whether a request uses a version of the protocol without
// sessions. It may read the body, and then replaces it.
func isCurrent(w http.ResponseWriter, r *http.Request) (bool, error) {
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" {
		return v > legacy, nil
	}
	if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "" {
		return false, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return false, errors.Join(err, r.Body.Close())
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r.Header.Get("Mcp-Method") != "" ||
		bytes.Contains(body, []byte("io.modelcontextprotocol/protocolVersion")), nil
}
