package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A browser signs in by a link with the user's token, /?token=TOKEN, and has a
// cookie from then on. The cookie is a login of its own: ISSUED.NONCE.MAC, where
// MAC is made with a key that is derived from the token. So a stolen cookie does
// not reveal the token, ends soon, and is not valid for another server, not even
// one with the same users on another port; and a server knows its logins after a
// restart without storing them. A new token ends all logins of its user.
const (
	// loginTime is how long a cookie is valid. An open page renews it in time.
	loginTime = 24 * time.Hour

	// renewAfter is the age from which on a request renews the cookie.
	renewAfter = time.Hour
)

// pageHeader is a header that the page sends with every request. A page of another
// site cannot send it without the server's permission, which it never gets.
const pageHeader = "OpenManus-Page"

// cookieName returns the name of the cookie of a server that the browser knows by
// this host. It contains the port: browsers send cookies to all ports of a host, so
// the cookies of two servers would replace each other otherwise.
func cookieName(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return "openmanus-" + port
	}
	return "openmanus"
}

// cookie returns the value of a cookie of the user.
func (u *user) cookie(name, nonce string, issued time.Time) string {
	key := hmac.New(sha256.New, []byte(u.Token))
	key.Write([]byte("openmanus cookie"))
	value := strconv.FormatInt(issued.Unix(), 36) + "." + nonce
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(name + "." + value))
	return value + "." + hex.EncodeToString(mac.Sum(nil))
}

// login returns when a cookie was issued to the user, and its nonce. ok is false
// unless it is a valid cookie of the user at the time now.
func (u *user) login(name, value string, now time.Time) (issued time.Time, nonce string, ok bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return issued, "", false
	}
	seconds, err := strconv.ParseInt(parts[0], 36, 64)
	if err != nil {
		return issued, "", false
	}
	issued, nonce = time.Unix(seconds, 0), parts[1]
	age := now.Sub(issued)
	return issued, nonce, age < loginTime && age > -time.Minute &&
		hmac.Equal([]byte(value), []byte(u.cookie(name, nonce, issued)))
}

// byCookie returns the user whose cookie a request has, or nil. It renews a cookie
// that is older than renewAfter.
func (us users) byCookie(w http.ResponseWriter, r *http.Request, now time.Time) *user {
	name := cookieName(r.Host)
	for _, c := range r.CookiesNamed(name) {
		for _, u := range us {
			issued, nonce, ok := u.login(name, c.Value, now)
			if !ok {
				continue
			}
			if now.Sub(issued) > renewAfter {
				u.setCookie(w, r, nonce, now)
			}
			return u
		}
	}
	return nil
}

// setCookie gives the browser a cookie that is issued now.
func (u *user) setCookie(w http.ResponseWriter, r *http.Request, nonce string, now time.Time) {
	name := cookieName(r.Host)
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: u.cookie(name, nonce, now), Path: "/", MaxAge: int(loginTime.Seconds()),
		HttpOnly: true, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https", SameSite: http.SameSiteStrictMode,
	})
}

// safe reports whether requests with a method change nothing.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// fromPage reports whether a request comes from a page of this server, as far as
// its headers say so. A browser lets no page of another site send such headers.
func fromPage(r *http.Request) bool {
	if r.Header.Get(pageHeader) != "" {
		return true
	}
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && u.Host == r.Host
}

// foreign reports whether a page of another site, or of another port of this
// machine, made the browser send a request. Browsers that do not send
// Sec-Fetch-Site may send a Referer.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "none", "same-origin":
		return false
	case "":
		u, err := url.Parse(r.Header.Get("Referer"))
		return err != nil || u.Host != "" && u.Host != r.Host
	}
	return true
}

// login answers a link with a token: it sets the cookie and redirects to an
// address without the token, so that the token stays out of the history. A link on
// a page of another site could sign the browser in as the user of that page's
// author, who would then read what is written here: such links are refused.
func (s *Server) login(w http.ResponseWriter, r *http.Request, token string) {
	if foreign(r) {
		writeProblem(w, http.StatusForbidden, "a link on another page cannot sign you in: "+
			"copy the link that openmanus serve printed into the address bar")
		return
	}
	u := s.users.byToken(token)
	switch {
	case u != nil:
		logInAs(w, r, u)
	case wantsPage(r):
		writePublic(w, r, http.StatusUnauthorized, loginForm(true))
	default:
		writeProblem(w, http.StatusUnauthorized,
			"this link is invalid or no longer valid: use the one that openmanus serve printed last")
	}
}

// logInAs gives the browser a cookie of the user and sends it to the page.
func logInAs(w http.ResponseWriter, r *http.Request, u *user) {
	u.setCookie(w, r, rand.Text(), time.Now())
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// wantsPage reports whether a person sees the response, and no program reads it.
func wantsPage(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Accept"), "text/html") }

// origin says where a request came from: its address and, if a proxy names one, the
// address that the proxy got it from, which the proxy alone vouches for.
func origin(r *http.Request) string {
	from := r.RemoteAddr
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	for _, text := range strings.Split(r.Header.Get("X-Forwarded-For"), ",") {
		if ip := net.ParseIP(strings.TrimSpace(text)); ip != nil {
			return from + " for " + ip.String()
		}
	}
	return from
}
