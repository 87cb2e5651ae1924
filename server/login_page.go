package server

import (
	_ "embed"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The pages that need no login: the one that asks for it, and the one behind a link that
// approves a call (approval_link.go). They are HTML without scripts, with the style of the
// page, and speak the browser's language.

//go:embed public.html
var publicHTML string

// reloadPage is what a browser gets that comes from another site.
const reloadPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>OpenManus</title>
`

// anyone are the files of the page that need no login: the program's own style, font and
// icons, which the pages without login use, and what browsers fetch without a cookie.
var anyone = map[string]bool{
	"/index.css": true, "/geist-latin.woff2": true, "/icon.svg": true, "/icon-192.png": true, "/icon-512.png": true,
	"/icon-maskable.png": true, "/manifest.webmanifest": true, "/sw.js": true, "/robots.txt": true, "/favicon.ico": true,
}

// A say returns one of two texts, English or Chinese, escaped for HTML.
type say func(english, chinese string) string

// inLanguageOf returns the texts for the browser of a request.
func inLanguageOf(r *http.Request) (lang string, _ say) {
	if strings.HasPrefix(r.Header.Get("Accept-Language"), "zh") {
		return "zh", func(_, chinese string) string { return html.EscapeString(chinese) }
	}
	return "en", func(english, _ string) string { return html.EscapeString(english) }
}

// writePublic responds with public.html around the HTML that body returns. Nothing keeps
// it, since what it says may be over soon.
func writePublic(w http.ResponseWriter, r *http.Request, status int, body func(say) string) {
	lang, texts := inLanguageOf(r)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Language")
	w.WriteHeader(status)
	page := strings.NewReplacer("{lang}", lang, "{title}", "OpenManus", "{body}", body(texts)).Replace(publicHTML)
	_, _ = w.Write([]byte(page)) // an error means that the client is gone
}

// loginForm is the body of the login page. wrong says that what was entered is.
func loginForm(wrong bool) func(say) string {
	return func(t say) string {
		alert := ""
		if wrong {
			alert = `<p class="error" role="alert">` + t("This token or code is invalid, or no longer valid. "+
				"Use the link that openmanus serve printed last, or a new one-time link.",
				"此令牌或代码无效，或已过期。请使用 openmanus serve 最近打印的链接，或新的一次性链接。") + "</p>"
		}
		return "<h1>" + t("Sign in", "登录") + "</h1>" + alert + `<form method="post"><p>` +
			t("Open the link that openmanus serve printed when it started, or paste the link or its token here.",
				"请打开 openmanus serve 启动时打印的链接，或把链接或令牌粘贴到这里。") +
			`</p><label for="secret">` + t("Link or token", "链接或令牌") + "</label>" +
			`<input class="field" id="secret" name="secret" type="password" autocomplete="current-password" required autofocus>` +
			`<button class="btn primary">` + t("Sign in", "登录") + `</button><p class="tiny quiet">` +
			t("Signed in elsewhere? There, Settings, This device makes a one-time link and a QR code for a phone.",
				"已在其他浏览器登录？在那里的“设置 → 此设备”中可为手机生成一次性链接和二维码。") + "</p></form>"
	}
}

// codeForm is the body of the page behind a one-time link: a button that uses it.
func codeForm(code string) func(say) string {
	return func(t say) string {
		return "<h1>" + t("Sign in", "登录") + "</h1>" + `<form method="post"><p>` +
			t("This link signs one browser in. It works once.", "此链接可登录一个浏览器，只能使用一次。") +
			`</p><input type="hidden" name="secret" value="` + html.EscapeString(code) + `">` +
			`<button class="btn primary">` + t("Sign in on this browser", "在此浏览器登录") + "</button></form>"
	}
}

// askToLogIn responds to a request for a page without a valid cookie. A browser
// that comes from another site sends no cookie, since it is SameSite=Strict: it
// loads the address again, and sends the cookie then if it has one.
func (s *Server) askToLogIn(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	switch {
	case foreign(r) && safe(r.Method):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(reloadPage)) // an error means that the client is gone
	case r.URL.Path == "/login" && code != "":
		writePublic(w, r, http.StatusOK, codeForm(code))
	case r.URL.Path == "/login": // it was opened on purpose: nothing is wrong yet
		writePublic(w, r, http.StatusOK, loginForm(false))
	default:
		writePublic(w, r, http.StatusUnauthorized, loginForm(false))
	}
}

// logInByForm answers the form of the login page. Its one field takes a token, a
// one-time code, or a link with one of them. The browser keeps the part of the address
// after #, so the person arrives where they wanted to.
func (s *Server) logInByForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 10_000)
	if foreign(r) || r.ParseForm() != nil {
		writeProblem(w, http.StatusForbidden, "a form of another page cannot sign you in")
		return
	}
	secret := strings.TrimSpace(r.PostForm.Get("secret"))
	if link, err := url.Parse(secret); err == nil && link.Host != "" {
		q := link.Query()
		secret = q.Get("token") + q.Get("code")
	}
	u := s.users.byToken(secret)
	if u == nil {
		u = s.codes.redeem(secret, time.Now())
	}
	if u == nil {
		s.Log.Warn("a wrong token or code was entered", "from", origin(r))
		writePublic(w, r, http.StatusUnauthorized, loginForm(true))
		return
	}
	logInAs(w, r, u)
}

// logOut makes this browser forget its cookie. Other browsers stay signed in.
func (s *Server) logOut(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r.Host), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}

// address checks the server's address as a client says that it knows it, and returns it
// without a path. Links that are sent elsewhere begin with it, so it must be one of the
// server's own names.
func (s *Server) address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", errors.New("it must be http://HOST or https://HOST")
	}
	if !s.knowsHost(u.Host) {
		return "", errors.New(u.Host + " is no name of this server: add it to [serve] hosts")
	}
	return u.Scheme + "://" + u.Host, nil
}
