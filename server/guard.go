package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// users are who may do something here, found by what they show.
type users struct {
	all []*user
}

// A user is a User with what it has open.
type user struct {
	User
	token, cookie [sha256.Size]byte // hashes of what shows who it is

	mu      sync.Mutex
	streams int
}

const minToken = 16

func newUsers(us []User) (*users, error) {
	if len(us) == 0 {
		return nil, errors.New("a server needs at least one user")
	}
	all := new(users)
	for _, u := range us {
		switch {
		case u.Name == "":
			return nil, errors.New("a user has no name")
		case len(u.Token) < minToken:
			return nil, fmt.Errorf("user %s: a token has %d bytes or more", u.Name, minToken)
		case slices.ContainsFunc(all.all, func(v *user) bool { return v.Name == u.Name || v.Token == u.Token }):
			return nil, fmt.Errorf("user %s: two users have the same name or token", u.Name)
		}
		if u.Sessions == 0 {
			u.Sessions = 100
		}
		if u.Streams == 0 {
			u.Streams = 100
		}
		all.all = append(all.all, &user{User: u, token: sha256.Sum256([]byte(u.Token)), cookie: sha256.Sum256([]byte(cookieOf(u.Token)))})
	}
	return all, nil
}

// cookieOf is what a browser keeps of a token.
func cookieOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("openmanus cookie"))
	return hex.EncodeToString(m.Sum(nil))
}

// byToken returns the user with a token, or nil. It takes the same time for
// every wrong one.
func (us *users) byToken(token string) *user {
	sum := sha256.Sum256([]byte(token))
	return us.find(func(u *user) bool { return subtle.ConstantTimeCompare(sum[:], u.token[:]) == 1 })
}

func (us *users) byCookie(value string) *user {
	sum := sha256.Sum256([]byte(value))
	return us.find(func(u *user) bool { return subtle.ConstantTimeCompare(sum[:], u.cookie[:]) == 1 })
}

func (us *users) find(is func(*user) bool) (found *user) {
	for _, u := range us.all {
		if is(u) {
			found = u
		}
	}
	return found
}

// stream takes one of the user's streams, which is to be given back.
func (u *user) stream() (done func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.streams >= u.Streams {
		return nil, false
	}
	u.streams++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.streams--
	}, true
}

type userKey struct{}

// userOf returns the user whose request ctx is that of.
func userOf(ctx context.Context) *user { return ctx.Value(userKey{}).(*user) }

const cookieName = "openmanus"

// guard lets in who may, under a name that is ours, from a page that is ours.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, http.StatusForbidden, "this request comes from the page of another site")
	}))
	inner := origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.admit(w, r, next) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.ours(r.Host) {
			writeProblem(w, http.StatusMisdirectedRequest, fmt.Sprintf("this server is not %q; name it in [serve] hosts if it is", r.Host))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		inner.ServeHTTP(w, r)
	})
}

// policy lets pages load what this server serves, and run no script that is
// not a file of it.
const policy = "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// maxBody is the most bytes of a request.
const maxBody = 64 << 20

// admit finds out who asks.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		next.ServeHTTP(w, r)
		return
	}
	if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet && r.URL.Path == "/" {
		s.login(w, r, token)
		return
	}
	var u *user
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		u = s.users.byToken(token)
	} else if c, err := r.Cookie(cookieName); err == nil {
		u = s.users.byCookie(c.Value)
	}
	if u == nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		if strings.HasPrefix(r.Header.Get("Accept"), "text/html") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(stranger)) // who has gone needs no page
			return
		}
		writeProblem(w, http.StatusUnauthorized, "who are you? Open the link that openmanus serve printed, or send Authorization: Bearer TOKEN")
		return
	}
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, u)))
}

// login turns the token of a link into a cookie, and takes it out of the
// address.
func (s *Server) login(w http.ResponseWriter, r *http.Request, token string) {
	if s.users.byToken(token) == nil {
		writeProblem(w, http.StatusUnauthorized, "this link is not valid (any more): use the one that openmanus serve printed last")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: cookieOf(token), Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode, MaxAge: 365 * 24 * 3600,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// ours reports whether host, with or without a port, is a name of this server.
// Any other means that somebody had a browser look us up under it.
func (s *Server) ours(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || name == "localhost" {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, name) || strings.EqualFold(h, host) })
}
