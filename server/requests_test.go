package server_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A wrong is a request that must be refused in a certain way, and change nothing.
type wrong struct {
	what, method, path string
	header             map[string]string // Token: none, or another's
	body               string
	want               int
	says               string // in the answer
}

// TestHundredRequests sends requests as other web pages, other users and broken
// clients may send them.
func TestHundredRequests(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("done")))
	id := x.session(map[string]any{"workspace": "w"})
	x.call("POST", "/api/v1/sessions/"+id+"/messages", say("hi"), 202)
	x.until(id, "finished")
	secret := filepath.Join(x.dir, "secret.txt")
	files := map[string]string{secret: "the secret", filepath.Join(x.dir, "ann", "w", "in.txt"): "inside", filepath.Join(x.dir, "ann", "other.txt"): "another's"}
	for name, data := range files {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(x.dir, "ann", "w", "link")); err != nil {
		t.Fatal(err)
	}
	before := x.call("GET", "/api/v1/sessions/"+id, nil, 200)

	var all []wrong
	for _, more := range [][]wrong{rebinding(), crossOrigin(id), foreign(id), tokens(id), traversal(id), bodies(id), nonsense(id)} {
		all = append(all, more...)
	}
	if len(all) < 100 {
		t.Errorf("only %d requests", len(all))
	}
	for _, w := range all {
		status, header, body := x.raw(w)
		if status != w.want || !strings.Contains(body, w.says) {
			t.Errorf("%s: %s %.80s: %d, want %d and %q\n%.300s", w.what, w.method, w.path, status, w.want, w.says, body)
		}
		if strings.Contains(body, "the secret") || strings.Contains(body, "another's") {
			t.Errorf("%s: it tells a secret", w.what)
		}
		if status >= 400 && header.Get("Content-Type") != "application/problem+json" && status != 405 && !strings.HasPrefix(w.path, "/v1") {
			t.Errorf("%s: no problem document, but %s", w.what, header.Get("Content-Type"))
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Content-Security-Policy") == "" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the headers are %v", w.what, header)
		}
	}
	after := x.call("GET", "/api/v1/sessions/"+id, nil, 200)
	if after["events"] != before["events"] {
		t.Errorf("there are %v events, and were %v", after["events"], before["events"])
	}
	if data, _ := os.ReadFile(secret); string(data) != "the secret" {
		t.Error("a file outside was changed")
	}
}

// raw sends a request that an HTTP client would refuse to send.
func (x *site) raw(w wrong) (int, http.Header, string) {
	x.t.Helper()
	u, err := url.Parse(x.url)
	if err != nil {
		x.t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		x.t.Fatal(err)
	}
	defer conn.Close()
	header := map[string]string{"Host": u.Host, "Authorization": "Bearer " + annsToken, "Content-Length": fmt.Sprint(len(w.body)), "Content-Type": "application/json"}
	for k, v := range w.header {
		header[k] = v
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", w.method, w.path)
	for k, v := range header {
		if v != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", k, v)
		}
	}
	b.WriteString("Connection: close\r\n\r\n" + w.body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		x.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		x.t.Fatalf("%s: %v", w.what, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatalf("%s: %v", w.what, err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

func rebinding() (all []wrong) {
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::ffff:8.8.8.8]", "0.0.0.0"} {
		all = append(all, wrong{what: "DNS rebinding", method: "GET", path: "/api/v1/sessions", header: map[string]string{"Host": host}, want: 421})
	}
	return all
}

// Requests of a page of another site carry the cookie, but not the token.
func crossOrigin(id string) (all []wrong) {
	for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", "file://"} {
		for method, path := range map[string]string{"POST": "/api/v1/sessions/" + id + "/messages", "DELETE": "/api/v1/sessions/" + id, "PUT": "/api/v1/sessions/" + id + "/files/x", "post": "/api/v1/sessions/" + id + "/screen/input"} {
			method = strings.ToUpper(method)
			all = append(all, wrong{what: "CSRF", method: method, path: path, header: map[string]string{"Origin": origin}, body: `{"text":"delete everything"}`, want: 403})
		}
	}
	for _, site := range []string{"cross-site", "same-site"} {
		all = append(all, wrong{what: "CSRF", method: "POST", path: "/api/v1/sessions", header: map[string]string{"Sec-Fetch-Site": site}, body: `{}`, want: 403})
	}
	return all
}

// about returns requests about a session.
func about(id string) []wrong {
	p := "/api/v1/sessions/" + id
	return []wrong{
		{method: "GET", path: p}, {method: "PATCH", path: p, body: `{"title":"mine"}`}, {method: "DELETE", path: p},
		{method: "POST", path: p + "/fork", body: `{}`}, {method: "GET", path: p + "/export"},
		{method: "POST", path: p + "/messages", body: `{"text":"hi"}`}, {method: "POST", path: p + "/rulings", body: `{"call":"c0-1","allow":true}`},
		{method: "POST", path: p + "/answers", body: `{"call":"c0-1","answer":"x"}`}, {method: "POST", path: p + "/interrupt"}, {method: "POST", path: p + "/retry", body: `{}`},
		{method: "GET", path: p + "/events"}, {method: "GET", path: p + "/log"}, {method: "GET", path: p + "/files"}, {method: "GET", path: p + "/files/in.txt"},
		{method: "PUT", path: p + "/files/in.txt", body: "x"}, {method: "GET", path: p + "/blobs/sha256:" + strings.Repeat("0", 64)},
		{method: "GET", path: p + "/screen"}, {method: "POST", path: p + "/screen/takeover"}, {method: "DELETE", path: p + "/screen/takeover"},
		{method: "POST", path: p + "/screen/input", body: `{"inputs":[{"kind":"hold"}]}`},
	}
}

// Sessions of other users look as if they did not exist.
func foreign(id string) (all []wrong) {
	for _, w := range about(id) {
		w.what, w.want, w.header = "another's session", 404, map[string]string{"Authorization": "Bearer " + bobsToken}
		all = append(all, w)
	}
	for _, w := range about("20010101-0000-nosuch") {
		w.what, w.want = "an unknown session", 404
		all = append(all, w)
	}
	return all
}

func tokens(id string) (all []wrong) {
	for _, auth := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic YW5uOng=", "bearer " + annsToken[1:], "Bearer " + annsToken + "x"} {
		all = append(all, wrong{what: "no valid token", method: "GET", path: "/api/v1/sessions", header: map[string]string{"Authorization": auth}, want: 401})
	}
	return append(all,
		wrong{what: "a made-up cookie", method: "GET", path: "/api/v1/sessions/" + id, header: map[string]string{"Authorization": "", "Cookie": "openmanus=" + annsToken}, want: 401},
		wrong{what: "a token in the address of the API", method: "GET", path: "/api/v1/sessions?token=" + annsToken, header: map[string]string{"Authorization": ""}, want: 401},
		wrong{what: "a wrong link", method: "GET", path: "/?token=wrong", header: map[string]string{"Authorization": ""}, want: 401},
		wrong{what: "the page without a cookie", method: "GET", path: "/", header: map[string]string{"Authorization": ""}, want: 401},
		wrong{what: "metrics without a token", method: "GET", path: "/metrics", header: map[string]string{"Authorization": ""}, want: 401},
		wrong{what: "the API of OpenAI without a token", method: "POST", path: "/v1/chat/completions", header: map[string]string{"Authorization": ""}, body: `{}`, want: 401},
	)
}

func traversal(id string) (all []wrong) {
	for _, p := range []string{
		"%2e%2e/other.txt", "%2e%2e%2fother.txt", "..%2f..%2fsecret.txt", "..%5cother.txt", "a%2f..%2f..%2fother.txt", "%2fetc%2fpasswd", "link", "link%2f..",
		"in.txt%00.png", "%2e%2e", "nul%00", "%252e%252e%252fother.txt", "C:%5cWindows",
	} {
		w := wrong{what: "a way out of the workspace", method: "GET", path: "/api/v1/sessions/" + id + "/files/" + p, want: 422}
		if p == "..%5cother.txt" || p == "C:%5cWindows" || strings.HasPrefix(p, "%25") {
			w.want = 404 // a name like any other, where these are no separators
		}
		all = append(all, w)
	}
	return append(all,
		wrong{what: "a link out, written", method: "PUT", path: "/api/v1/sessions/" + id + "/files/%2e%2e%2fother.txt", body: "x", want: 422},
		wrong{what: "a workspace outside", method: "POST", path: "/api/v1/sessions", body: `{"workspace":"../bob"}`, want: 422, says: "workspace"},
		wrong{what: "a workspace outside", method: "POST", path: "/api/v1/sessions", body: `{"workspace":"/etc"}`, want: 422, says: "workspace"},
		wrong{what: "a workspace that is a link", method: "POST", path: "/api/v1/sessions", body: `{"workspace":"w/link"}`, want: 422, says: "workspace"},
	)
}

func bodies(id string) []wrong {
	p := "/api/v1/sessions/" + id
	return []wrong{
		{what: "no JSON", method: "POST", path: p + "/messages", body: "text=hi", want: 400},
		{what: "half of it", method: "POST", path: p + "/messages", body: `{"text":"h`, want: 400},
		{what: "nothing", method: "POST", path: p + "/messages", body: "", want: 400},
		{what: "a list", method: "POST", path: p + "/messages", body: "[]", want: 422},
		{what: "no text", method: "POST", path: p + "/messages", body: "{}", want: 422, says: "text"},
		{what: "empty text", method: "POST", path: p + "/messages", body: `{"text":"  "}`, want: 422, says: "text"},
		{what: "text that is none", method: "POST", path: p + "/messages", body: `{"text":7}`, want: 422, says: "body.text"},
		{what: "a field too many", method: "POST", path: p + "/messages", body: `{"text":"hi","sudo":true}`, want: 422, says: "sudo"},
		{what: "a wild id", method: "POST", path: p + "/messages", body: `{"text":"hi","id":"a/b"}`, want: 422, says: "body.id"},
		{what: "an attachment that is no base64", method: "POST", path: p + "/messages", body: `{"text":"hi","attachments":[{"name":"x","data":"?"}]}`, want: 422, says: "attachments[0]"},
		{what: "an attachment of no use", method: "POST", path: p + "/messages", body: `{"text":"hi","attachments":[{"name":"x","data":"/w=="}]}`, want: 422, says: "attachments[0]"},
		{what: "a call that is not there", method: "POST", path: p + "/rulings", body: `{"call":"c9-9","allow":true}`, want: 404, says: "body.call"},
		{what: "a ruling without a verdict", method: "POST", path: p + "/rulings", body: `{"call":"c0-1"}`, want: 422, says: "allow"},
		{what: "an answer to nothing", method: "POST", path: p + "/answers", body: `{"call":"c9-9","answer":"x"}`, want: 404, says: "body.call"},
		{what: "an unknown agent", method: "POST", path: "/api/v1/sessions", body: `{"agent":"nobody"}`, want: 422, says: "body.agent"},
		{what: "a model that is a file", method: "POST", path: "/api/v1/sessions", body: `{"model":"scripted:s"}`, want: 400, says: "body.model"},
		{what: "an unknown mode", method: "POST", path: "/api/v1/sessions", body: `{"approve":"yolo"}`, want: 422, says: "body.approve"},
		{what: "a limit below none", method: "POST", path: "/api/v1/sessions", body: `{"limits":{"steps":-5}}`, want: 422, says: "steps"},
		{what: "more than is allowed", method: "POST", path: "/api/v1/sessions", header: map[string]string{"Authorization": "Bearer " + bobsToken}, body: `{"approve":"all"}`, want: 422, says: "approve"},
		{what: "an empty title", method: "PATCH", path: p, body: `{"title":""}`, want: 422, says: "title"},
		{what: "2 MiB where a line is wanted", method: "PATCH", path: p, body: `{"title":"` + strings.Repeat("x", 2<<20) + `"}`, want: 413},
		{what: "chat without messages", method: "POST", path: "/v1/chat/completions", body: `{"model":"manus","messages":[]}`, want: 400, says: "messages"},
		{what: "chat with an unknown agent", method: "POST", path: "/v1/chat/completions", body: `{"model":"gpt-9","messages":[{"role":"user","content":"hi"}]}`, want: 404, says: "model"},
		{what: "an image from the web", method: "POST", path: "/v1/chat/completions", body: `{"model":"manus","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y.png"}}]}]}`, want: 400, says: "data:"},
		{what: "a response that goes on from nothing", method: "POST", path: "/v1/responses", body: `{"model":"manus","input":"hi","previous_response_id":"resp_x"}`, want: 400, says: "previous_response_id"},
	}
}

func nonsense(id string) []wrong {
	p := "/api/v1/sessions/" + id
	return []wrong{
		{what: "an unknown route", method: "GET", path: "/api/v2/sessions", want: 404},
		{what: "an unknown route of OpenAI", method: "POST", path: "/v1/embeddings", body: "{}", want: 404},
		{what: "an unknown query", method: "GET", path: p + "/log?limt=5", want: 422, says: "limt"},
		{what: "a limit of nothing", method: "GET", path: p + "/log?limit=0", want: 422, says: "limit"},
		{what: "a number that is none", method: "GET", path: p + "/events?after=x", want: 422, says: "after"},
		{what: "a last event that is none", method: "GET", path: p + "/events", header: map[string]string{"Last-Event-ID": "x"}, want: 422},
		{what: "a blob by another name", method: "GET", path: p + "/blobs/md5:0", want: 422, says: "ref"},
		{what: "a session with a slash", method: "GET", path: "/api/v1/sessions/a%2fb", want: 404},
		{what: "an upgrade to a WebSocket", method: "GET", path: p + "/events?after=x", header: map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Origin": "http://evil.example"}, want: 422},
	}
}

// A body of tens of megabytes is refused while it arrives, and a request that
// never ends is aborted.
func TestHugeBody(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.session(nil)
	req, err := http.NewRequestWithContext(t.Context(), "POST", x.url+"/api/v1/sessions/"+id+"/messages", io.LimitReader(zeros{}, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+annsToken)
	resp, err := x.http.Client().Do(req)
	if err != nil {
		return // it hung up while we were sending
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("1 GiB gets %d", resp.StatusCode)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// A user can open a limited number of streams. A closed one does not count.
func TestStreamsAreCounted(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.callAs(bobsToken, "POST", "/api/v1/sessions", map[string]any{}, 201)["id"].(string)
	path := "/api/v1/sessions/" + id + "/events"
	for range x.events(bobsToken, id, 0, "") {
		for range x.events(bobsToken, id, 0, "") {
			x.callAs(bobsToken, "GET", path, nil, 429)
			break
		}
		break
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		resp, err := http.NewRequestWithContext(t.Context(), "GET", x.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Header.Set("Authorization", "Bearer "+bobsToken)
		got, err := x.http.Client().Do(resp)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the streams are closed, and still count: %d", got.StatusCode)
		}
	}
}

// visit opens the link with ann's token and returns the cookie that the server
// sets, NAME=VALUE.
func (x *site) visit(header map[string]string) (status int, cookie string, h http.Header) {
	x.t.Helper()
	all := map[string]string{"Authorization": ""}
	maps.Copy(all, header)
	status, h, _ = x.raw(wrong{method: "GET", path: "/?token=" + annsToken, header: all})
	cookie, _, _ = strings.Cut(h.Get("Set-Cookie"), ";")
	return status, cookie, h
}

// with sends a request with a cookie and other headers, and without a token.
func (x *site) with(cookie, method, path, body string, header ...string) (int, http.Header) {
	x.t.Helper()
	all := map[string]string{"Authorization": "", "Cookie": cookie}
	for i := 0; i < len(header); i += 2 {
		all[header[i]] = header[i+1]
	}
	status, h, _ := x.raw(wrong{method: method, path: path, header: all, body: body})
	return status, h
}

// The link with the token sets the cookie that the page uses, and redirects to an
// address without the token.
func TestLogin(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	status, cookie, h := x.visit(map[string]string{"Sec-Fetch-Site": "none"})
	attributes := h.Get("Set-Cookie")
	if status != http.StatusSeeOther || h.Get("Location") != "/" || strings.Contains(attributes, annsToken) ||
		!strings.Contains(attributes, "HttpOnly") || !strings.Contains(attributes, "SameSite=Strict") || !strings.Contains(attributes, "Max-Age=86400") {
		t.Fatalf("%d %v", status, h)
	}
	if status, _ := x.with(cookie, "GET", "/api/v1/sessions", ""); status != 200 {
		t.Errorf("with the cookie: %d", status)
	}
	if _, again, _ := x.visit(nil); again == cookie {
		t.Error("two logins have the same cookie")
	}
	for _, bad := range []string{cookie + "0", strings.Replace(cookie, ".", "0.", 1), strings.Split(cookie, "=")[0] + "=" + annsToken, ""} {
		if status, _ := x.with(bad, "GET", "/api/v1/sessions", ""); status != 401 {
			t.Errorf("with the cookie %q: %d", bad, status)
		}
	}
}

// No page of another site, or of another port of this machine, signs a browser in.
func TestNoLoginByAForeignPage(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	for _, header := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Referer": "http://evil.example/"}, {"Referer": "http://127.0.0.1:1/"}, {"Referer": "%"},
	} {
		if status, cookie, _ := x.visit(header); status != 403 || cookie != "" {
			t.Errorf("%v: %d, cookie %q", header, status, cookie)
		}
	}
}

// A request that changes something needs, beside the cookie, an Origin of this
// server or a header that pages of other sites cannot send.
func TestTheCookieAloneChangesNothing(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	_, cookie, _ := x.visit(nil)
	for _, c := range []struct {
		name string
		want int
		more []string
	}{
		{"nothing else", 403, nil},
		{"an empty origin", 403, []string{"Origin", ""}},
		{"the origin of another port", 403, []string{"Origin", "http://127.0.0.1:1"}},
		{"no origin", 403, []string{"Origin", "null"}},
		{"our origin", 201, []string{"Origin", x.url}},
		{"the header", 201, []string{"OpenManus-Page", "1"}},
		{"the header, from another site", 403, []string{"OpenManus-Page", "1", "Sec-Fetch-Site", "cross-site"}},
	} {
		if status, _ := x.with(cookie, "POST", "/api/v1/sessions", "{}", c.more...); status != c.want {
			t.Errorf("%s: %d, want %d", c.name, status, c.want)
		}
	}
}

// Two servers on one machine have cookies of their own, although browsers send
// both to either of them. The cookie of one is of no use at the other.
func TestTwoServersOnOneMachine(t *testing.T) {
	x, y := open(t, t.TempDir(), llmtest.Script()), open(t, t.TempDir(), llmtest.Script())
	_, first, _ := x.visit(nil)
	_, second, _ := y.visit(nil)
	name := func(cookie string) string { return strings.Split(cookie, "=")[0] }
	if name(first) == name(second) {
		t.Fatalf("both cookies are named %s", name(first))
	}
	for _, s := range []*site{x, y} {
		if status, _ := s.with(first+"; "+second, "GET", "/api/v1/sessions", ""); status != 200 {
			t.Errorf("with both cookies: %d", status)
		}
	}
	stolen := name(second) + strings.TrimPrefix(first, name(first))
	if status, _ := y.with(stolen, "GET", "/api/v1/sessions", ""); status != 401 {
		t.Errorf("with the other server's cookie: %d", status)
	}
}

// A browser that comes from another site has not sent its cookie: it is asked to
// load the page again. A browser that has none learns how to sign in.
func TestArrivalFromAnotherSite(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	for site, want := range map[string]string{"cross-site": `http-equiv="refresh"`, "same-origin": "Open the link", "none": "Open the link"} {
		status, _, body := x.raw(wrong{method: "GET", path: "/", header: map[string]string{"Authorization": "", "Accept": "text/html", "Sec-Fetch-Site": site}})
		if status != 401 || !strings.Contains(body, want) {
			t.Errorf("from %s: %d %s", site, status, body)
		}
	}
}

// A user who takes too much is told what, and when to try again.
func TestQuotas(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("done")))
	id := ""
	attached := map[string]any{"text": "hi", "attachments": []any{map[string]any{"name": "a.txt", "data": base64.StdEncoding.EncodeToString(make([]byte, 700))}}}
	for _, c := range []struct {
		what, method, path string
		body               any
		want               int
		says, retry        string
	}{
		{"the first session", "POST", "", map[string]any{"workspace": "w"}, 201, "", ""},
		{"a file", "PUT", "/ID/files/a", strings.Repeat("x", 300), 204, "", ""},
		{"more than the disk holds", "PUT", "/ID/files/b", strings.Repeat("x", 1100), 413, "at most 1000 are allowed", "60"},
		{"a message", "POST", "/ID/messages", attached, 202, "", ""},
		{"more than may be uploaded", "POST", "/ID/messages", attached, 413, "the 1500 that are allowed", "3600"},
		{"words alone", "POST", "/ID/messages", say("hi"), 202, "", ""},
		{"the second session", "POST", "", map[string]any{}, 201, "", ""},
		{"one too many", "POST", "", map[string]any{}, 429, "delete some", "60"},
		{"a copy too many", "POST", "/ID/fork", map[string]any{}, 429, "delete some", "60"},
		{"deleted", "DELETE", "/ID", nil, 204, "", ""},
		{"the third session", "POST", "", map[string]any{}, 201, "", ""},
		{"deleted again", "DELETE", "/ID", nil, 204, "", ""},
		{"the fourth within an hour", "POST", "", map[string]any{}, 429, "within an hour", "3600"},
	} {
		path := "/api/v1/sessions" + strings.Replace(c.path, "ID", id, 1)
		status, header, data := x.sendAs(evesToken, c.method, path, c.body)
		if status != c.want || !strings.Contains(string(data), c.says) {
			t.Errorf("%s: %d %s, want %d", c.what, status, data, c.want)
		}
		if got := header.Get("Retry-After"); (got == "") != (c.retry == "") || len(got) != len(c.retry) {
			t.Errorf("%s: Retry-After is %q, want about %q", c.what, got, c.retry)
		}
		if status == 201 {
			var s struct{ ID string }
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			id = s.ID
		}
	}
	status, header, data := x.sendAs(evesToken, "POST", "/v1/chat/completions", map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}})
	if status != 429 || header.Get("Retry-After") == "" || !strings.Contains(string(data), "within an hour") {
		t.Errorf("a completion: %d %v %s", status, header, data)
	}
	if entries, err := os.ReadDir(filepath.Join(x.dir, "eve")); err != nil || len(entries) != 3 {
		t.Errorf("the directories are %v, %v", entries, err)
	}
	x.session(nil) // others are not concerned
}

// The metrics are about all users.
func TestMetricsAreForAdministrators(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	x.callAs(bobsToken, "GET", "/metrics", nil, 403)
	if status, _ := x.send(annsToken, "GET", "/metrics", nil); status != 200 {
		t.Errorf("for an administrator: %d", status)
	}
}

// A browser is never served a file in a way that it would run, whatever the name.
func TestFilesCannotRun(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.session(map[string]any{"workspace": "w"})
	evil := "<script>alert(1)</script>"
	for _, name := range []string{"a.html", "a.htm", "a.xhtml", "a.svg", "a.js", "a.mjs", "a.xml", "a.shtml", "a.swf", "a.txt", "a", "<img src=x onerror=alert(1)>.html", `a";filename="b.html`, "a\nb.html"} {
		path := "/api/v1/sessions/" + id + "/files/" + url.PathEscape(name)
		x.call("PUT", path, evil, 204)
		for _, query := range []string{"", "?inline=true"} {
			_, header, body := x.raw(wrong{method: "GET", path: path + query})
			kind := header.Get("Content-Type")
			if body != evil || strings.Contains(kind, "html") || strings.Contains(kind, "javascript") || !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%q%s comes as %s with %v: %s", name, query, kind, header, body)
			}
			if query == "" && !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
				t.Errorf("%q comes as %s", name, header.Get("Content-Disposition"))
			}
		}
	}
	status, header, body := x.raw(wrong{method: "GET", path: "/api/v1/sessions/" + id + "/files/a.txt", header: map[string]string{"Range": "bytes=1-6"}})
	if status != 206 || body != "script" || header.Get("Content-Range") != fmt.Sprintf("bytes 1-6/%d", len(evil)) {
		t.Errorf("a range: %d %q %v", status, body, header)
	}
	if items := x.call("GET", "/api/v1/sessions/"+id+"/files", nil, 200)["items"].([]any); len(items) != 14 {
		t.Errorf("%d files are listed", len(items))
	}
}
