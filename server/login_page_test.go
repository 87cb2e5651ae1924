package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// form sends the form of the login page, as a browser does.
func (x *site) form(path, secret string, header map[string]string) (status int, cookie, body string) {
	x.t.Helper()
	all := map[string]string{"Authorization": "", "Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded", "Origin": x.url}
	for k, v := range header {
		all[k] = v
	}
	status, h, body := x.raw(wrong{method: "POST", path: path, header: all, body: url.Values{"secret": {secret}}.Encode()})
	cookie, _, _ = strings.Cut(h.Get("Set-Cookie"), ";")
	return status, cookie, body
}

// oneTimeLink returns a link that signs another browser in as ann.
func (x *site) oneTimeLink() *url.URL {
	x.t.Helper()
	status, _, data := x.raw(wrong{method: "POST", path: "/api/v1/logins", body: `{"address":"` + x.url + `"}`})
	var made struct {
		URL string
		QR  []string
	}
	if err := json.Unmarshal([]byte(data), &made); err != nil || status != 201 {
		x.t.Fatalf("%d %v %s", status, err, data)
	}
	link, err := url.Parse(made.URL)
	if err != nil || len(made.QR) < 29 || len(made.QR) != len(made.QR[0]) || strings.Contains(made.QR[0], "1") || !strings.HasPrefix(made.QR[4], "00001111111") {
		x.t.Fatalf("%v %v", err, made)
	}
	return link
}

// Whoever opens the address without a cookie is asked for what the server printed, and
// can enter it: the link, its token, or a one-time code.
func TestLoginPage(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	page := map[string]string{"Authorization": "", "Accept": "text/html"}
	for path, want := range map[string]int{"/": 401, "/?token=wrong": 401, "/login": 200} {
		status, h, body := x.raw(wrong{method: "GET", path: path, header: page})
		if status != want || !strings.Contains(body, `name="secret"`) || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if wrong := strings.Contains(body, `role="alert"`); wrong != strings.Contains(path, "token") {
			t.Errorf("%s says that something is wrong: %v", path, wrong)
		}
	}
	page["Accept-Language"] = "zh-CN,zh;q=0.9"
	if _, _, body := x.raw(wrong{method: "GET", path: "/", header: page}); !strings.Contains(body, `lang="zh"`) || !strings.Contains(body, "登录") {
		t.Errorf("in Chinese: %s", body)
	}
	for _, secret := range []string{annsToken, " " + annsToken + "\n", x.url + "/?token=" + annsToken, x.oneTimeLink().String(), x.oneTimeLink().Query().Get("code")} {
		status, cookie, _ := x.form("/", secret, nil)
		if status != http.StatusSeeOther {
			t.Errorf("%q: %d", secret, status)
		} else if status, _ := x.with(cookie, "GET", "/api/v1/sessions", ""); status != 200 {
			t.Errorf("%q: with its cookie %d", secret, status)
		}
	}
	for _, secret := range []string{"", "wrong", annsToken + "x", "https://example.org/?token=wrong", "<script>"} {
		if status, cookie, body := x.form("/", secret, nil); status != 401 || cookie != "" || !strings.Contains(body, `role="alert"`) || strings.Contains(body, "<script") {
			t.Errorf("%q: %d %q %s", secret, status, cookie, body)
		}
	}
	for _, header := range []map[string]string{{"Origin": "https://evil.example"}, {"Origin": "", "Referer": "https://evil.example/"}, {"Sec-Fetch-Site": "same-site"}} {
		if status, cookie, _ := x.form("/", annsToken, header); status != 403 || cookie != "" {
			t.Errorf("from %v: %d %q", header, status, cookie)
		}
	}
}

// A one-time link asks before it signs in, since what looks at links before people do must
// not use it up, and works once.
func TestOneTimeLinks(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	link := x.oneTimeLink()
	for range 2 {
		status, _, body := x.raw(wrong{method: "GET", path: link.RequestURI(), header: map[string]string{"Authorization": "", "Accept": "text/html"}})
		if status != 200 || !strings.Contains(body, `value="`+link.Query().Get("code")+`"`) {
			t.Fatalf("%d %s", status, body)
		}
	}
	code := link.Query().Get("code")
	if status, _, _ := x.form(link.RequestURI(), code, nil); status != http.StatusSeeOther {
		t.Fatalf("used once: %d", status)
	}
	if status, cookie, _ := x.form(link.RequestURI(), code, nil); status != 401 || cookie != "" {
		t.Errorf("used twice: %d %q", status, cookie)
	}
	for address, says := range map[string]string{"https://evil.example": "no name of this server", "javascript:alert(1)": "it must be", "": "it must be", "http://a@127.0.0.1": "it must be"} {
		status, _, body := x.raw(wrong{method: "POST", path: "/api/v1/logins", body: `{"address":"` + address + `"}`})
		if status != 422 || !strings.Contains(body, says) {
			t.Errorf("for %q: %d %s", address, status, body)
		}
	}
}

func TestLogout(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	_, cookie, _ := x.visit(nil)
	if status, _ := x.with(cookie, "POST", "/logout", ""); status != 403 {
		t.Errorf("a page of another site: %d", status)
	}
	status, h := x.with(cookie, "POST", "/logout", "", "OpenManus-Page", "1")
	if status != 204 || !strings.Contains(h.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %v", status, h)
	}
}

// The files of the page and JSON are compressed for clients that can read it, files of a
// browser are revalidated, and files that anyone may have say nothing of sessions.
func TestCompressionAndCaching(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	get := func(path string, header map[string]string) (int, http.Header, string) {
		return x.raw(wrong{method: "GET", path: path, header: header})
	}
	_, _, plain := get("/app.js", nil)
	_, h, packed := get("/app.js", map[string]string{"Accept-Encoding": "gzip, br;q=1.0"})
	read, err := io.ReadAll(brotli.NewReader(strings.NewReader(packed)))
	if err != nil || string(read) != plain || h.Get("Content-Encoding") != "br" || len(packed)*2 > len(plain) {
		t.Errorf("brotli: %v, %d of %d bytes, %v", err, len(packed), len(plain), h)
	}
	for accept, want := range map[string]string{"": "", "identity": "", "br;q=0": "", "br; q=0.0, gzip": "gzip", "gzip": "gzip"} {
		_, h, body := get("/app.js", map[string]string{"Accept-Encoding": accept})
		if h.Get("Content-Encoding") != want || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("for %q: %v", accept, h)
		}
		if want == "" && body != plain {
			t.Errorf("for %q it is not what it was", accept)
		}
	}
	tag := h.Get("ETag")
	for match, want := range map[string]int{tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
		if status, h, body := get("/app.js", map[string]string{"If-None-Match": match, "Accept-Encoding": "br"}); status != want || (want == 304) != (body == "") || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("If-None-Match: %s: %d, %d bytes, %v", match, status, len(body), h)
		}
	}
	_, h, packed = get("/api/v1/openapi.json", map[string]string{"Accept-Encoding": "gzip"})
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil || h.Get("Content-Encoding") != "gzip" {
		t.Fatalf("JSON: %v, %v", err, h)
	}
	if data, err := io.ReadAll(r); err != nil || !json.Valid(data) || !bytes.Contains(data, []byte("create-session")) {
		t.Errorf("JSON: %v, %.200s", err, data)
	}
	for path, want := range map[string]int{"/index.css": 200, "/manifest.webmanifest": 200, "/sw.js": 200, "/icon-192.png": 200, "/app.js": 401, "/api/v1/openapi.json": 401, "/index.html": 401} {
		if status, _, _ := x.raw(wrong{method: "GET", path: path, header: map[string]string{"Authorization": ""}}); status != want {
			t.Errorf("%s without a login: %d", path, status)
		}
	}
}
