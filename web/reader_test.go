package web

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"golang.org/x/text/encoding/charmap"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// local is a site of some pages, and a reader for it.
func local(t testing.TB, pages map[string]http.HandlerFunc) (string, *Reader) {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range pages {
		mux.HandleFunc(path, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, &Reader{Client: s.Client()}
}

func sends(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
}

const article = `<!doctype html><html><head><title>The  Tower</title><base href="/sub/"><link rel=canonical href="/tower">
<meta name=author content="Ann B."><meta property="article:published_time" content="2025-05-06"></head><body>
<nav><a href=/nav>Navigation</a></nav><article><h1>The Tower</h1><p>The tower is <b>330</b> metres high. It was built in 1889, and it is painted every seven years,
which takes sixty tons of paint and about eighteen months of work.</p><p>More on <a href="paint">the paint</a>, which is brown. The lifts carry five million people a year, and the stairs fewer.</p>
<table><tr><th>Year</th><th>Height</th></tr><tr><td>1889</td><td>312</td></tr></table></article><script>secret()</script><footer>Imprint</footer></body></html>`

func TestReadArticle(t *testing.T) {
	url, r := local(t, map[string]http.HandlerFunc{"/a": sends("text/html", article)})
	p, err := r.Read(t.Context(), url+"/a#part")
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "The Tower" || p.Author != "Ann B." || p.Date != "2025-05-06" || p.Canonical != url+"/tower" {
		t.Errorf("%q %q %q %q", p.Title, p.Author, p.Date, p.Canonical)
	}
	for _, want := range []string{"The tower is **330** metres high.", "| Year | Height |", "| 1889 | 312"} {
		if !strings.Contains(p.Markdown, want) {
			t.Errorf("there is no %q in:\n%s", want, p.Markdown)
		}
	}
	if strings.Contains(p.Markdown, "secret") || strings.Contains(p.Text, "secret") {
		t.Error("scripts are in it")
	}
	if !strings.Contains(p.Text, "Imprint") {
		t.Errorf("all of the text is not in %q", p.Text)
	}
	found := false
	for _, l := range p.Links {
		found = found || l == Link{"the paint", url + "/sub/paint"}
	}
	if !found {
		t.Errorf("links: %v", p.Links)
	}
}

func TestReadEncodings(t *testing.T) {
	latin, err := charmap.ISO8859_1.NewEncoder().String("<p>Grüße aus Köln</p>")
	if err != nil {
		t.Fatal(err)
	}
	packed := func(name string, pack func(io.Writer) io.WriteCloser) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Encoding", name)
			z := pack(w)
			io.WriteString(z, "<p>Grüße aus Köln</p>")
			z.Close()
		}
	}
	url, r := local(t, map[string]http.HandlerFunc{
		"/header": sends("text/html; charset=iso-8859-1", latin),
		"/meta":   sends("text/html", "<meta charset=iso-8859-1>"+latin),
		"/bom":    sends("text/html", "\ufeff<p>Grüße aus Köln</p>"),
		"/gzip":   packed("gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"/zlib":   packed("deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"/raw":    packed("deflate", func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 6); return z }),
		"/br":     packed("br", func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }),
	})
	for _, path := range []string{"/header", "/meta", "/bom", "/gzip", "/zlib", "/raw", "/br"} {
		p, err := r.Read(t.Context(), url+path)
		if err != nil || p.Markdown != "Grüße aus Köln" {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
}

func TestReadOtherTypes(t *testing.T) {
	url, r := local(t, map[string]http.HandlerFunc{
		"/x.csv":  sends("text/csv", "month,sum\nMay,1|2\n"),
		"/x.json": sends("application/json", `{"a":[1,2]}`),
		"/x.txt":  sends("text/plain", "plain"),
		"/x.pdf":  sends("application/pdf", "%PDF-1.7"),
		"/x.png":  sends("image/png", "\x89PNG"),
		"/x.bin":  sends("application/x-thing", "\x00\x01"),
	})
	r.Convert = func(_ context.Context, name string, data []byte) (string, error) {
		if name == "x.pdf" {
			return "text of " + name, nil
		}
		return "", errors.New("not a document")
	}
	for path, want := range map[string]string{
		"/x.csv": "| month | sum |\n|---|---|\n| May | 1\\|2 |\n", "/x.json": "```json\n{\n  \"a\": [\n    1,\n    2\n  ]\n}\n```",
		"/x.txt": "plain", "/x.pdf": "text of x.pdf", "/x.png": "(an image, image/png, 4 bytes)",
	} {
		if p, err := r.Read(t.Context(), url+path); err != nil || p.Markdown != want {
			t.Errorf("%s: %q, %v", path, p.Markdown, err)
		}
	}
	if _, err := r.Read(t.Context(), url+"/x.bin"); err == nil || !strings.Contains(err.Error(), "(application/x-thing): not a document") {
		t.Errorf("x.bin: %v", err)
	}
}

func TestReadWhatGoesWrong(t *testing.T) {
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(make([]byte, 4<<20))
		z.Close()
	}
	url, r := local(t, map[string]http.HandlerFunc{
		"/loop":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) },
		"/large": func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) },
		"/bomb":  bomb,
		"/never": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/file": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
		"/deep": sends("text/html", strings.Repeat("<div>", 2000)),
	})
	r.MaxBytes = 1 << 20
	for address, want := range map[string]string{
		url + "/loop": "redirects more than 10 times", url + "/large": "larger than 1 MB", url + "/bomb": "larger than 1 MB",
		url + "/gone": "HTTP 404", url + "/file": "unsupported protocol", url + "/deep": "cannot be read",
		"file:///etc/passwd": "not a web address", "javascript:alert(1)": "not a web address", "": "not a web address",
	} {
		if _, err := r.Read(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	r.Timeout = 50 * time.Millisecond
	if _, err := r.Read(t.Context(), url+"/never"); err == nil || !strings.Contains(err.Error(), "was not read within 50ms") {
		t.Errorf("never: %v", err)
	}
}

func TestRobots(t *testing.T) {
	for _, c := range []struct {
		text, path string
		want       bool
	}{
		{"", "/", true},
		{"User-agent: *\nDisallow: /private", "/private/x", false},
		{"User-agent: *\nDisallow: /private", "/public", true},
		{"User-agent: *\nDisallow: /\nAllow: /open", "/open/x", true},
		{"User-agent: *\nDisallow: /\n\nUser-agent: OpenManus\nDisallow: /no", "/yes", true},
		{"User-agent: *\n\nUser-agent: openmanus # us\nDisallow: /no", "/no", false},
		{"User-agent: other\nDisallow: /", "/", true},
		{"User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", false},
		{"User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", true},
		{"User-agent: *\nDisallow: /a*b*c", "/axxbxxcxx", false},
		{"User-agent: *\nDisallow:", "/x", true},
		// RFC 9309, 2.2.2: of equally long rules, the one that allows.
		{"User-agent: *\nDisallow: /p\nAllow: /p", "/p/x", true},
		// The length of the pattern counts, not what it matches.
		{"User-agent: *\nDisallow: /a.b/*\nAllow: /a.b/cd", "/a.b/cd", true},
		// 2.2.1: groups for the same robot are one group; the name is all of it.
		{"User-agent: openmanus\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: openmanus\nDisallow: /b", "/a", false},
		{"User-agent: openmanus\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: openmanus\nDisallow: /b", "/b", false},
		{"User-agent: open\nDisallow: /a\n\nUser-agent: *\nAllow: /", "/a", true},
		{"User-agent: x\nUser-agent: openmanus\nDisallow: /a", "/a", false},
		{"User-agent: openmanus\n\nUser-agent: *\nDisallow: /", "/a", false}, // a blank line ends no group
		// 2.2: what is not understood is ignored, and the rest holds.
		{"Disallow: /x\nUser-agent: *\nDisallow: /private", "/private/x", false},
		{"Crawl-delay: fast\nUser-agent: *\nCrawl-delay: x\nDisallow: /private", "/private/x", false},
		{"\ufeffUser-agent: *\nDisallow: /a", "/a", false},
		{"User-agent: *\r\nDisallow: /a\r\n", "/a", false},
		{"nonsense\x00\n:::", "/x", true},
	} {
		if got := parseRobots(c.text).allow(c.path); got != c.want {
			t.Errorf("%q: %s: %v", c.text, c.path, got)
		}
	}
	url, r := local(t, map[string]http.HandlerFunc{
		"/robots.txt": sends("text/plain", "User-agent: *\nDisallow: /private"),
		"/private":    sends("text/html", "<p>private"), "/open": sends("text/html", "<p>open"),
	})
	r.Robots = true
	if _, err := r.Read(t.Context(), url+"/private"); err == nil || !strings.Contains(err.Error(), "robots.txt") {
		t.Errorf("private: %v", err)
	}
	if p, err := r.Read(t.Context(), url+"/open"); err != nil || p.Markdown != "open" {
		t.Errorf("open: %v", err)
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /*a$\nAllow: /", "/xa")
	f.Fuzz(func(t *testing.T, text, path string) {
		r := parseRobots(text)
		if r.allow(path) != parseRobots(text+"\n# remark").allow(path) {
			t.Error("a remark changes it")
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add([]byte(article), "text/html")
	f.Add([]byte("a,b\n\"x"), "text/csv")
	f.Add([]byte("{"), "application/json")
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		r := &Reader{}
		b := &Body{URL: "http://example.com/a", Type: kind, ContentType: kind, Data: data}
		one, err := r.Page(t.Context(), b)
		if err != nil {
			return
		}
		two, err := r.Page(t.Context(), b)
		if err != nil || one.Text != two.Text || one.Markdown != two.Markdown {
			t.Errorf("the same bytes make another page: %v", err)
		}
	})
}

// call makes a call of a tool.
func call(t testing.TB, tool openmanus.Tool, blobs openmanus.Blobs, last any, input any) (openmanus.Result, error) {
	t.Helper()
	in, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := json.Marshal(last)
	if last == nil {
		was = nil
	}
	return tool.Run(t.Context(), openmanus.Call{Call: llm.Call{ID: "c", Name: tool.Spec().Name, Input: string(in)}, Session: "s", Last: was, Blobs: blobs, Live: io.Discard})
}

func text(r openmanus.Result) string {
	var b strings.Builder
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// The page is kept, and named as coming from outside.
func TestFetchKeepsThePage(t *testing.T) {
	url, r := local(t, map[string]http.HandlerFunc{"/a": sends("text/html", article)})
	blobs := new(journal.Memory)
	res, err := call(t, NewFetch(r, nil), blobs, nil, map[string]any{"url": url + "/a", "links": true})
	if err != nil || res.Source != url+"/a" || !strings.Contains(text(res), "Author: Ann B.") || !strings.Contains(text(res), "- the paint: "+url+"/sub/paint") {
		t.Fatalf("%+v, %v", res, err)
	}
	rc, err := blobs.Get(t.Context(), res.Detail.(Saved).Blob)
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	if data, _ := io.ReadAll(rc); string(data) != article {
		t.Errorf("kept: %.100q", data)
	}
}

// A page that its scripts draw gives little more than a title, and the result says so.
func TestFetchOfADrawnPage(t *testing.T) {
	long := "<p>" + strings.Repeat("word ", 60) + "</p>"
	for name, c := range map[string]struct {
		page string
		says bool
	}{
		"an empty root":              {`<title>Shop</title><div id=root></div><script src=app.js></script>`, true},
		"a module":                   {`<title>Shop</title><div id=app>Loading…</div><script type=module src=app.js></script>`, true},
		"what it says without":       {`<title>Shop</title><noscript>Enable JavaScript to run this app.</noscript><script>draw()</script>`, true},
		"a text and a script":        {`<title>Shop</title>` + long + `<script src=count.js></script>`, false},
		"a short page":               {`<title>Shop</title><p>Closed.</p>`, false},
		"a short page that has data": {`<title>Shop</title><p>Closed.</p><script type="application/ld+json">{}</script>`, false},
	} {
		t.Run(name, func(t *testing.T) {
			url, r := local(t, map[string]http.HandlerFunc{"/a": sends("text/html", c.page)})
			res, err := call(t, NewFetch(r, nil), new(journal.Memory), nil, map[string]any{"url": url + "/a"})
			if says := strings.Contains(text(res), "hardly any text of its own"); err != nil || says != c.says || !strings.Contains(text(res), "Shop") {
				t.Errorf("%s, %v", text(res), err)
			}
		})
	}
}

func TestCrawl(t *testing.T) {
	page := func(n int, links ...string) http.HandlerFunc {
		body := fmt.Sprintf("<title>Page %d</title><p>%s</p>", n, strings.Repeat("word ", 20))
		for _, l := range links {
			body += "<a href=" + l + ">x</a>"
		}
		return sends("text/html", body)
	}
	url, r := local(t, map[string]http.HandlerFunc{"/1": page(1, "/2", "/3", "/1", "http://elsewhere.example/"), "/2": page(2, "/4"), "/3": page(3, "/gone"), "/4": page(4, "/5"), "/5": page(5)})
	res, err := call(t, NewCrawl(r), new(journal.Memory), nil, map[string]any{"urls": []string{url + "/1"}, "depth": 2})
	if err != nil {
		t.Fatal(err)
	}
	said := text(res)
	for _, want := range []string{"Total: 5, successful: 4, failed: 1", "Title: Page 4", "/gone\n   failed: "} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "Title: Page 5") || strings.Contains(said, "\nhttp://elsewhere") {
		t.Errorf("it went too far:\n%s", said)
	}
	if _, err := call(t, NewCrawl(r), new(journal.Memory), nil, map[string]any{"urls": []string{"ftp://x"}}); err == nil || err.Error() != "No valid URLs provided" {
		t.Errorf("%v", err)
	}
}

// A page of 1 MB is to be Markdown within 60 ms.
func BenchmarkPage(b *testing.B) {
	var buf bytes.Buffer
	buf.WriteString("<html><title>T</title><article>")
	for i := 0; buf.Len() < 1<<20; i++ {
		fmt.Fprintf(&buf, "<h2>Part %d</h2><p>Some words with <b>strong</b> ones, <a href=/p%d>a link</a>, and so on until the line is as long as lines are.</p><ul><li>one<li>two</ul>", i, i)
	}
	r := &Reader{}
	body := &Body{URL: "http://example.com/a", Type: "text/html", Data: buf.Bytes()}
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		if _, err := r.Page(b.Context(), body); err != nil {
			b.Fatal(err)
		}
	}
}
