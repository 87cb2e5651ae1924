package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// SignIn is how servers are signed in to that want OAuth: a person opens a
// link, and what they grant is kept for the next time.
type SignIn struct {
	Dir string // where tokens are kept, readable by the owner alone

	// Show shows a person the link to open. It does not wait. Nil: nobody is
	// there, and only what was granted before can be used.
	Show func(server, link string)

	// Metadata is the address of this client's own metadata document, which
	// some servers take instead of a registration. It may be empty.
	Metadata string
}

// A grant is what is kept of one server.
type grant struct {
	Server string         `json:"server"`
	Client *oauth2.Config `json:"client"`
	Token  *oauth2.Token  `json:"token"`
}

func (s *SignIn) path(l *link) string {
	return filepath.Join(s.Dir, fmt.Sprintf("%x.json", sha256.Sum256([]byte(cmp.Or(l.cfg.ID, l.cfg.Name+" "+l.cfg.URL))))[:32])
}

// Forget deletes what was granted for the server.
func (s *SignIn) Forget(cfg ServerConfig) error {
	err := os.Remove(s.path(&link{cfg: cfg}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// handler signs in to one server.
func (s *SignIn) handler(l *link, w *web) auth.OAuthHandler {
	return &signer{SignIn: s, link: l, client: &http.Client{Transport: &web{home: w.home, base: w.base}, Timeout: 30 * time.Second}}
}

// A signer is a [auth.OAuthHandler] that remembers.
type signer struct {
	*SignIn
	link   *link
	client *http.Client // for the servers of OAuth: without the headers of ours

	mu     sync.Mutex
	loaded bool
	source oauth2.TokenSource // of what was granted before
	inner  *auth.AuthorizationCodeHandler
	back   string                     // the address on this machine to which the browser returns
	open   map[string]chan url.Values // who waits for it, by the state of the link
}

// TokenSource implements [auth.OAuthHandler].
func (s *signer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil {
		return s.inner.TokenSource(ctx)
	}
	if s.loaded {
		return s.source, nil
	}
	s.loaded = true
	data, err := os.ReadFile(s.path(s.link))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var g grant
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil || g.Client == nil || g.Token == nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.path(s.link), errors.Join(err, errors.New("delete it, and sign in again")))
	}
	s.source = s.kept(g.Client, g.Token)
	return s.source, nil
}

// kept is a source of tokens that keeps each new one.
func (s *signer) kept(client *oauth2.Config, token *oauth2.Token) oauth2.TokenSource {
	ctx := context.WithValue(s.link.c.life, oauth2.HTTPClient, s.client)
	return &keeper{signer: s, client: client, last: token.AccessToken, source: client.TokenSource(ctx, token)}
}

type keeper struct {
	*signer
	client *oauth2.Config
	source oauth2.TokenSource

	one  sync.Mutex
	last string
}

// Token implements [oauth2.TokenSource].
func (k *keeper) Token() (*oauth2.Token, error) {
	t, err := k.source.Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) { // what was granted is gone: without a token, the server asks for a new one
		return &oauth2.Token{AccessToken: "expired"}, nil
	}
	if err != nil {
		return nil, err
	}
	k.one.Lock()
	defer k.one.Unlock()
	if t.AccessToken != k.last {
		k.last = t.AccessToken
		k.save(k.client, t)
	}
	return t, nil
}

func (s *signer) save(client *oauth2.Config, t *oauth2.Token) {
	err := os.MkdirAll(s.Dir, 0o700)
	if err == nil {
		err = writePrivate(s.path(s.link), grant{s.link.cfg.Name, client, t})
	}
	if err != nil {
		s.link.c.say("%s: what was granted could not be kept: %v", clean(s.link.cfg.Name), err)
	}
}

// Authorize implements [auth.OAuthHandler].
func (s *signer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if s.Show == nil {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
		resp.Body.Close()
		return fmt.Errorf("it wants you to sign in: openmanus mcp test %s", word(s.link.cfg.Name))
	}
	inner, err := s.begin()
	if err != nil {
		resp.Body.Close()
		return err
	}
	return inner.Authorize(ctx, req, resp)
}

// begin makes what does the signing in, once for each connection.
func (s *signer) begin() (*auth.AuthorizationCodeHandler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil {
		return s.inner, nil
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: s.back, AuthorizationCodeFetcher: s.fetch, Client: s.client, RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "OpenManus", RedirectURIs: []string{s.back}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		NewTokenSource: func(_ context.Context, client *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			s.save(client, t)
			return s.kept(client, t), nil
		},
	}
	if s.Metadata != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.Metadata}
	}
	if id := s.link.cfg.ClientID; id != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id}
		if secret := s.link.cfg.ClientSecret; secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
	}
	inner, err := auth.NewAuthorizationCodeHandler(c)
	s.inner = inner
	return inner, err
}

// listen waits for browsers that come back, until the client is closed.
func (s *signer) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.back, s.open = "http://"+l.Addr().String()+"/callback", map[string]chan url.Values{}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: s}
	c := s.link.c
	if !c.background(func() {
		defer context.AfterFunc(c.life, func() { srv.Close() })()
		srv.Serve(l) // until it is closed
	}) {
		l.Close()
		return errClosed
	}
	return nil
}

// ServeHTTP takes what a browser brings back, if it is for a link that was
// shown.
func (s *signer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	got := s.open[q.Get("state")]
	home := s.back == "http://"+r.Host+r.URL.Path
	s.mu.Unlock()
	if got == nil || !home {
		http.NotFound(w, r)
		return
	}
	select {
	case got <- q:
	default: // it came before
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "Done. You can close this page.\n")
}

// signInTime is how long a person has to sign in.
const signInTime = 5 * time.Minute

// fetch shows the person the link, and waits for the browser to come back.
func (s *signer) fetch(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return nil, fmt.Errorf("it wants a page to be opened that is not safe to open: %s", line(a.URL, 100))
	}
	state, got := u.Query().Get("state"), make(chan url.Values, 1)
	s.mu.Lock()
	s.open[state] = got
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, state)
	}()
	if lim, _ := ctx.Value(limitKey{}).(*limit); lim != nil {
		lim.wait(2*signInTime, func() {})
		defer lim.start()
	}
	s.Show(clean(s.link.cfg.Name), u.String())
	t := time.NewTimer(signInTime)
	defer t.Stop()
	select {
	case q := <-got:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("signing in failed: %s", line(strings.TrimSpace(e+" "+q.Get("error_description")), 200))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-t.C:
		return nil, fmt.Errorf("nobody signed in within %s", signInTime)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
