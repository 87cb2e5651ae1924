//go:build unix

package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A provider is an authorization server, and an MCP server that wants its tokens: it checks what a careful one
// does, and says in wrong what it did not like.
type provider struct {
	*httptest.Server
	mcp     http.Handler
	lasting int // seconds that a token lasts

	mu       sync.Mutex
	clients  map[string]string     // the address to return to, by client
	codes    map[string]url.Values // what was asked for at /authorize
	access   map[string]bool
	refresh  map[string]bool
	counts   map[string]int // of requests, by path, or by kind of grant
	wrong    []string
	deny     string // the error with which the person comes back
	badCodes bool
}

func newProvider(t *testing.T) *provider {
	s := newServer(tool("t", ""))
	p := &provider{
		lasting: 3600, clients: map[string]string{}, codes: map[string]url.Values{},
		access: map[string]bool{}, refresh: map[string]bool{}, counts: map[string]int{},
		mcp: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", p.resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", p.metadata)
	mux.HandleFunc("POST /register", p.register)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("/mcp", p.serve)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) resource(w http.ResponseWriter, _ *http.Request) {
	p.send(w, http.StatusOK, map[string]any{"resource": p.URL + "/mcp", "authorization_servers": []string{p.URL}})
}

func (p *provider) metadata(w http.ResponseWriter, _ *http.Request) {
	p.send(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "registration_endpoint": p.URL + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"grant_types_supported": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	})
}

// count counts a request; the caller holds no lock, and gets it.
func (p *provider) count(what string) (n int, unlock func()) {
	p.mu.Lock()
	p.counts[what]++
	return p.counts[what], p.mu.Unlock
}

func (p *provider) register(w http.ResponseWriter, r *http.Request) {
	n, unlock := p.count("register")
	defer unlock()
	var in struct {
		Name  string   `json:"client_name"`
		Back  []string `json:"redirect_uris"`
		Grant []string `json:"grant_types"`
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	if err != nil || in.Name != "OpenManus" || len(in.Back) != 1 || !slices.Contains(in.Grant, "refresh_token") {
		p.wrong = append(p.wrong, fmt.Sprintf("registration: %+v, %v", in, err))
	}
	id := fmt.Sprint("client-", n)
	p.clients[id] = in.Back[0]
	p.send(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": in.Back, "token_endpoint_auth_method": "none"})
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	n, unlock := p.count("authorize")
	defer unlock()
	q := r.URL.Query()
	back, known := p.clients[q.Get("client_id")]
	if !known || q.Get("redirect_uri") != back || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 8 || q.Get("resource") != p.URL+"/mcp" {
		p.wrong = append(p.wrong, "authorize: "+r.URL.RawQuery)
	}
	out := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	if p.deny != "" {
		out.Set("error", p.deny)
		out.Set("error_description", "The person said no.")
	} else {
		code := fmt.Sprint("code-", n)
		p.codes[code] = q
		out.Set("code", code)
	}
	http.Redirect(w, r, back+"?"+out.Encode(), http.StatusFound)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	kind := r.PostFormValue("grant_type")
	n, unlock := p.count(kind)
	defer unlock()
	switch kind {
	case "authorization_code":
		q := p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if q == nil || p.badCodes {
			p.send(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "This code is not known."})
			return
		}
		if base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || r.PostFormValue("redirect_uri") != q.Get("redirect_uri") ||
			r.PostFormValue("client_id") != q.Get("client_id") || r.PostFormValue("resource") != p.URL+"/mcp" {
			p.wrong = append(p.wrong, "token: "+r.PostForm.Encode())
		}
	case "refresh_token":
		old := r.PostFormValue("refresh_token")
		if !p.refresh[old] {
			p.send(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		delete(p.refresh, old) // each is good once
	default:
		p.wrong = append(p.wrong, "token: "+kind)
	}
	access, refresh := fmt.Sprint("access-", kind, n), fmt.Sprint("refresh-", kind, n)
	p.access[access], p.refresh[refresh] = true, true
	p.send(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": p.lasting, "refresh_token": refresh})
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	known := p.access[token]
	p.mu.Unlock()
	if !known {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, p.URL))
		http.Error(w, "sign in", http.StatusUnauthorized)
		return
	}
	p.mcp.ServeHTTP(w, r)
}

// revoke forgets all tokens, or those for access alone.
func (p *provider) revoke(all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.access)
	if all {
		clear(p.refresh)
	}
}

// A person opens links in a browser, which goes where it is sent.
type person struct {
	t       *testing.T
	browser sync.WaitGroup
	before  func(link string) (open bool) // what happens before the link is opened

	mu    sync.Mutex
	pages []string // what the browser shows in the end
}

func (b *person) show(_, link string) {
	b.browser.Go(func() {
		if b.before == nil || b.before(link) {
			b.open(link)
		}
	})
}

func (b *person) open(address string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(address)
	if err != nil {
		b.t.Error(err)
		return
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages = append(b.pages, fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(data))))
}

// connect connects to the provider's MCP server, with the grants in dir and a person, if there is one.
func (p *provider) connect(t *testing.T, dir string, who *person) (*Client, *listener) {
	t.Helper()
	in := &SignIn{Dir: dir}
	if who != nil {
		in.Show = who.show
		t.Cleanup(who.browser.Wait)
	}
	return start(t, nil, Options{SignIn: in, Servers: []ServerConfig{{Name: "s", URL: p.URL + "/mcp", Type: "http"}}})
}

// counted compares how often the provider was asked, and what it did not like.
func (p *provider) counted(t *testing.T, want map[string]int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !maps.Equal(p.counts, want) || len(p.wrong) > 0 {
		t.Errorf("the provider was asked %v, and not %v; it did not like %q", p.counts, want, p.wrong)
	}
}

// The person signs in once: the grant is kept, readable by its owner alone, and later connections need nobody.
func TestSigningIn(t *testing.T) {
	p, dir, who := newProvider(t), t.TempDir(), &person{t: t}
	c, heard := p.connect(t, dir, who)
	if heard.String() != "" {
		t.Fatal(heard)
	}
	says(t, c, "mcp_s_t", `{"text":"x"}`, `t {"text":"x"}`)
	who.browser.Wait()
	if want := []string{"200 Done. You can close this page."}; !slices.Equal(who.pages, want) {
		t.Errorf("the browser shows %q", who.pages)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatalf("%d grants are kept", len(files))
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	c, _ = p.connect(t, dir, nil)
	says(t, c, "mcp_s_t", `{}`, "t {}")
	p.counted(t, map[string]int{"register": 1, "authorize": 1, "authorization_code": 1})
	if err := (&SignIn{Dir: dir}).Forget(ServerConfig{Name: "s", URL: p.URL + "/mcp", Type: "http"}); err != nil {
		t.Fatal(err)
	}
	if _, heard = p.connect(t, dir, nil); !strings.Contains(heard.String(), "you must sign in first") {
		t.Errorf("after the grant was forgotten: %s", heard)
	}
}

// A token that is about to expire is renewed, and what replaces it is kept: each renewal is good once.
func TestGrantsAreRenewed(t *testing.T) {
	p, dir := newProvider(t), t.TempDir()
	p.lasting = 5 // less than what counts as expired
	c, _ := p.connect(t, dir, &person{t: t})
	says(t, c, "mcp_s_t", `{}`, "t {}")
	for range 2 {
		p.revoke(false)
		c, heard := p.connect(t, dir, nil)
		if heard.String() != "" {
			t.Fatal(heard)
		}
		says(t, c, "mcp_s_t", `{}`, "t {}")
	}
	p.mu.Lock()
	if p.counts["refresh_token"] < 3 || p.counts["authorize"] != 1 || len(p.wrong) > 0 {
		t.Errorf("the provider was asked %v; it did not like %q", p.counts, p.wrong)
	}
	p.mu.Unlock()
	p.revoke(true)
	if _, heard := p.connect(t, dir, nil); !strings.Contains(heard.String(), "you must sign in first: openmanus mcp test s") {
		t.Errorf("after the grant was revoked: %s", heard)
	}
	c, _ = p.connect(t, dir, &person{t: t})
	says(t, c, "mcp_s_t", `{}`, "t {}")
}

// A person who says no, and a provider that takes its own code back, are told as what they are, and nothing is kept.
func TestSignInsThatFail(t *testing.T) {
	for name, f := range map[string]struct {
		set  func(*provider)
		want string
	}{
		"denied":      {func(p *provider) { p.deny = "access_denied" }, "signing in failed: access_denied The person said no."},
		"a dead code": {func(p *provider) { p.badCodes = true }, "This code is not known."},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := newProvider(t), t.TempDir()
			f.set(p)
			c, heard := p.connect(t, dir, &person{t: t})
			if c.Status()[0].Err == nil || !strings.Contains(heard.String(), f.want) {
				t.Errorf("%v: %s", c.Status()[0].Err, heard)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
				t.Errorf("%q is kept", files)
			}
		})
	}
}

// An address with another state is nobody's: another page can neither end the sign-in nor give it a code of its own.
func TestSignInWithTheWrongState(t *testing.T) {
	p, who := newProvider(t), &person{t: t}
	who.before = func(link string) bool {
		u, err := url.Parse(link)
		if err != nil {
			t.Error(err)
			return false
		}
		back := u.Query().Get("redirect_uri")
		who.open(back + "?code=theirs&state=guessed")
		who.open(back + "?error=access_denied")
		who.open(strings.Replace(back, "/callback", "/other", 1) + "?code=theirs&state=" + u.Query().Get("state"))
		return true
	}
	c, heard := p.connect(t, t.TempDir(), who)
	if heard.String() != "" {
		t.Fatal(heard)
	}
	says(t, c, "mcp_s_t", `{}`, "t {}")
	who.browser.Wait()
	lost := "404 404 page not found"
	if want := []string{lost, lost, lost, "200 Done. You can close this page."}; !slices.Equal(who.pages, want) {
		t.Errorf("the browser shows %q", who.pages)
	}
	p.counted(t, map[string]int{"register": 1, "authorize": 1, "authorization_code": 1})
}

// An answer in the name of another authorization server is refused, though its state is right.
func TestSignInFromAnotherIssuer(t *testing.T) {
	for _, iss := range []string{"", "https://evil.example.org"} {
		p, who := newProvider(t), &person{t: t}
		who.before = func(link string) bool {
			u, err := url.Parse(link)
			if err != nil {
				t.Error(err)
				return false
			}
			q := u.Query()
			out := url.Values{"state": {q.Get("state")}, "code": {"theirs"}, "iss": {iss}}
			who.open(q.Get("redirect_uri") + "?" + out.Encode())
			return false
		}
		c, _ := p.connect(t, t.TempDir(), who)
		if err := c.Status()[0].Err; err == nil || !strings.Contains(err.Error(), "iss") {
			t.Errorf("%q: %v", iss, err)
		}
		who.browser.Wait()
		p.mu.Lock()
		if n := p.counts["authorization_code"]; n > 0 {
			t.Errorf("%q: a code was redeemed %d times", iss, n)
		}
		p.mu.Unlock()
	}
}
