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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// SignIn signs in to servers that want OAuth: a person opens a link, and the
// grant is kept for later.
type SignIn struct {
	Dir string // where grants are kept, readable by their owner alone

	// Show shows a person the link to open, and does not wait. If nil, no person
	// is there, and only earlier grants can be used.
	Show func(server, link string)

	// Metadata is the address of this client's metadata document, which some
	// servers accept instead of a registration. It may be empty.
	Metadata string
}

// A grant is what is kept for one server.
type grant struct {
	Server string         `json:"server"`
	Client *oauth2.Config `json:"client"`
	Token  *oauth2.Token  `json:"token"`
}

// path returns the file of a server's grant.
func (s *SignIn) path(l *link) string {
	sum := sha256.Sum256([]byte(cmp.Or(l.cfg.ID, l.cfg.Name+" "+l.cfg.URL)))
	return filepath.Join(s.Dir, fmt.Sprintf("%x.json", sum)[:32])
}

// Forget deletes the grant for the server, so that the next connection asks the person to
// sign in again. It is no error if there is none.
func (s *SignIn) Forget(cfg ServerConfig) error {
	err := os.Remove(s.path(&link{cfg: cfg}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// handler returns what signs in to one server.
func (s *SignIn) handler(l *link, w *web) auth.OAuthHandler {
	client := &http.Client{Transport: &web{home: w.home, base: w.base}, Timeout: 30 * time.Second}
	return &signer{SignIn: s, link: l, client: client}
}

// A signer is an [auth.OAuthHandler] that keeps grants. The SDK asks it for a
// token before each request, and calls Authorize when the server refuses one.
type signer struct {
	*SignIn
	link   *link
	client *http.Client // for authorization servers: without the configured headers

	mu     sync.Mutex
	loaded bool
	source oauth2.TokenSource // of an earlier grant
	inner  *auth.AuthorizationCodeHandler
	back   string                     // the local address to which the browser returns
	open   map[string]chan url.Values // links that were shown, by their state
}

// TokenSource implements [auth.OAuthHandler]. It returns the grant of an earlier sign-in,
// which it reads from its file once, or nil if there is none. A file that cannot be read
// is an error that names it.
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
		err = errors.Join(err, errors.New("delete it, and sign in again"))
		return nil, fmt.Errorf("%s cannot be read: %w", s.path(s.link), err)
	}
	s.source = s.storing(g.Client, g.Token)
	return s.source, nil
}

// storing returns a source of tokens that stores each new one.
func (s *signer) storing(client *oauth2.Config, token *oauth2.Token) oauth2.TokenSource {
	ctx := context.WithValue(s.link.life, oauth2.HTTPClient, s.client)
	return &keeper{signer: s, client: client, last: token.AccessToken, source: client.TokenSource(ctx, token)}
}

// A keeper is a source of tokens that stores each new one.
type keeper struct {
	*signer
	client *oauth2.Config
	source oauth2.TokenSource

	one  sync.Mutex
	last string
}

// Token implements [oauth2.TokenSource]. A renewed token is stored at once. If the grant
// was revoked, it returns a token that the server refuses, so that the server asks for a
// new sign-in.
func (k *keeper) Token() (*oauth2.Token, error) {
	t, err := k.source.Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) { // the grant was revoked: a bad token makes the server ask for a new one
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

// save stores a grant. A failure is reported to the person; the sign-in is
// still good for this process.
func (s *signer) save(client *oauth2.Config, t *oauth2.Token) {
	if err := wholefile.WriteJSON(s.path(s.link), grant{s.link.cfg.Name, client, t}); err != nil {
		s.link.c.say("%s: the grant could not be stored: %v", clip.Clean(s.link.cfg.Name), err)
	}
}

// Authorize implements [auth.OAuthHandler]. It leads the person through the sign-in. Where
// no person can be led, it fails with the command by which one signs in.
func (s *signer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if s.Show == nil {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be reused
		resp.Body.Close()
		return fmt.Errorf("you must sign in first: openmanus mcp test %s", word(s.link.cfg.Name))
	}
	inner, err := s.begin()
	if err != nil {
		resp.Body.Close()
		return err
	}
	return inner.Authorize(ctx, req, resp)
}

// begin makes the handler that signs in, once for each connection.
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
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "OpenManus", RedirectURIs: []string{s.back},
				GrantTypes:    []string{"authorization_code", "refresh_token"},
				ResponseTypes: []string{"code"},
			},
		},
		NewTokenSource: func(
			_ context.Context, client *oauth2.Config, t *oauth2.Token,
		) (oauth2.TokenSource, error) {
			s.save(client, t)
			return s.storing(client, t), nil
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

// listen serves the local address to which browsers return, until the client is
// closed.
func (s *signer) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.back, s.open = "http://"+l.Addr().String()+"/callback", map[string]chan url.Values{}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: s}
	c := s.link.c
	if !c.background(func() {
		defer context.AfterFunc(s.link.life, func() { srv.Close() })()
		srv.Serve(l) // until it is closed
	}) {
		l.Close()
		return errClosed
	}
	return nil
}

// ServeHTTP takes the answer of the authorization server from a browser, if it
// belongs to a link that was shown.
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
	const done = "Done. You can close this page.\n"
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(done)))
	io.WriteString(w, done)
	_ = http.NewResponseController(w).Flush() // first: a sign-in that fails closes this server, and all connections
	select {
	case got <- q:
	default: // the browser came back before
	}
}

// signInTime is how long a person may take to sign in.
const signInTime = 5 * time.Minute

// fetch shows the person the link, and waits until the browser has come back.
func (s *signer) fetch(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return nil, fmt.Errorf("its sign-in page is not safe to open: %s", line(a.URL, 100))
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
	s.Show(clip.Clean(s.link.cfg.Name), u.String())
	t := time.NewTimer(signInTime)
	defer t.Stop()
	select {
	case q := <-got:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("signing in failed: %s",
				line(strings.TrimSpace(e+" "+q.Get("error_description")), 200))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-t.C:
		return nil, fmt.Errorf("the person did not sign in within %s", signInTime)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loopback reports whether host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
