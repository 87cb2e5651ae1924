package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// users are the users of a server.
type users []*user

// A user is a [User] with what requests are checked against.
type user struct {
	User
	token [sha256.Size]byte // a hash, so that comparing takes the same time for all values
	used  usage
}

// minToken is the fewest bytes of a token. A shorter one can be guessed.
const minToken = 16

// newUsers checks users and applies the defaults of their fields. Names and tokens are
// unique, and tokens have a minimal length. Without users a server cannot start.
func newUsers(us []User) (users, error) {
	if len(us) == 0 {
		return nil, errors.New("a server needs at least one user")
	}
	var all users
	for _, u := range us {
		switch {
		case u.Name == "":
			return nil, errors.New("a user has no name")
		case len(u.Token) < minToken:
			return nil, fmt.Errorf("user %s: the token must have at least %d bytes", u.Name, minToken)
		case slices.ContainsFunc(all, func(v *user) bool { return v.Name == u.Name || v.Token == u.Token }):
			return nil, fmt.Errorf("user %s: another user has the same name or token", u.Name)
		}
		u.Quota = u.Quota.orDefault()
		all = append(all, &user{User: u, token: sha256.Sum256([]byte(u.Token))})
	}
	return all, nil
}

// byToken returns the user with this token, or nil. It takes the same time for
// every wrong token.
func (us users) byToken(token string) (found *user) {
	sum := sha256.Sum256([]byte(token))
	for _, u := range us {
		if subtle.ConstantTimeCompare(sum[:], u.token[:]) == 1 {
			found = u
		}
	}
	return found
}

// byName returns the user with this name, or nil.
func (us users) byName(name string) *user {
	for _, u := range us {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// userKey is the key of the user in the context of a request.
type userKey struct{}

// userOf returns the user whose request has the context ctx.
func userOf(ctx context.Context) *user { return ctx.Value(userKey{}).(*user) }

// guard returns a handler that passes on the requests of users. It defends the
// server against web pages of other sites that a user visits:
//
//   - Their requests could carry the user's cookie. The cookie is SameSite=Strict,
//     and cross-origin requests that change something are refused, by Origin and
//     Sec-Fetch-Site; see login.go.
//   - Their site's name may resolve to this server (DNS rebinding), which makes
//     them same-origin. Requests for names that are not the server's are refused.
//   - They may show the server's page in a frame, or load files as scripts. The
//     headers of every response forbid that.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusForbidden, "cross-origin request refused: it comes from a page of another site")
	}))
	inner := origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.admit(w, r, next) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.knowsHost(r.Host) {
			detail := fmt.Sprintf("this server does not answer for %q; if it should, add the name to [serve] hosts", r.Host)
			refuse(w, r, http.StatusMisdirectedRequest, detail)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		inner.ServeHTTP(w, r)
	})
}

// policy lets pages load only what this server serves, and run only scripts
// that are files of it.
const policy = "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; " +
	"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// maxBody is the most bytes of a request body.
const maxBody = 64 << 20

// admit authenticates a request, by its bearer token or its cookie, and passes
// it on with its user. It passes on health checks of anyone.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		next.ServeHTTP(w, r)
		return
	}
	if s.withoutUser(w, r) {
		return
	}
	var u *user
	if token, ok := bearer(r); ok {
		u = s.users.byToken(token)
	} else if u = s.users.byCookie(w, r, time.Now()); u != nil && !safe(r.Method) && !fromPage(r) {
		refuse(w, r, http.StatusForbidden, "this request has a cookie but neither an Origin of this server "+
			"nor the header "+pageHeader+": programs send Authorization: Bearer TOKEN")
		return
	}
	if u == nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		if wantsPage(r) {
			s.askToLogIn(w, r)
			return
		}
		refuse(w, r, http.StatusUnauthorized, "not authenticated: "+
			"open the link that openmanus serve printed, or send Authorization: Bearer TOKEN")
		return
	}
	next.ServeHTTP(w, r.WithContext(context.WithValue(inTrace(r), userKey{}, u)))
}

// traceKey is the key of the trace in the context of a request.
type traceKey struct{}

// traceparent is the form of the header of that name, of version 0, whose trace is
// recorded: see https://www.w3.org/TR/trace-context/.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f][13579bdf]$`)

// inTrace returns the context of a request that belongs to a trace, if it says so.
func inTrace(r *http.Request) context.Context {
	if trace := r.Header.Get("traceparent"); traceparent.MatchString(trace) {
		return context.WithValue(r.Context(), traceKey{}, trace)
	}
	return r.Context()
}

// traceOf returns the traceparent of a request; "": it has none.
func traceOf(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}

// bearer returns the token of a request. The case of the scheme does not matter (RFC 9110,
// section 11.1). Clients of Anthropic's API send the token in a header of their own.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimLeft(token, " "), true
	}
	token = r.Header.Get("X-Api-Key")
	return token, token != "" && strings.HasPrefix(r.URL.Path, "/v1/")
}

// withoutUser answers the requests that need no login, and reports whether this is one:
// those that log in, those with a link that approves a call, and some files.
func (s *Server) withoutUser(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get("token")
	switch {
	case token != "" && r.Method == http.MethodGet && r.URL.Path == "/":
		s.login(w, r, token)
	case r.Method == http.MethodPost && (r.URL.Path == "/" || r.URL.Path == "/login"):
		s.logInByForm(w, r)
	case s.A2A && safe(r.Method) && (r.URL.Path == a2aCard || r.URL.Path == a2aOld):
		s.serveCard(w, r)
	case s.signer != nil && safe(r.Method) && r.URL.Path == a2aKeys:
		s.serveKeys(w)
	case strings.HasPrefix(r.URL.Path, TriggerPath):
		s.serveTrigger(w, r)
	case r.URL.Path == "/approve":
		s.approve(w, r)
	case safe(r.Method) && r.URL.Path == "/login":
		s.askToLogIn(w, r)
	case safe(r.Method) && anyone[r.URL.Path]:
		s.page.ServeHTTP(w, r)
	default:
		return false
	}
	return true
}

// knowsHost reports whether host, with or without a port, is loopback or one
// of the server's names. Any other name was made to resolve to this server by
// its owner, who is not ours.
func (s *Server) knowsHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if isLoopback(name) {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool {
		return strings.EqualFold(h, name) || strings.EqualFold(h, host)
	})
}

// isLoopback reports whether a host, without a port, is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost"
}
