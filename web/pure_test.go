package web

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"
)

func TestParseAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.org/a#b": "https://example.org/a",
		"example.org/a?b=c":       "https://example.org/a?b=c",
		"http://127.0.0.1:1":      "http://127.0.0.1:1",
		"ftp://example.org/":      "",
		"file:///etc/passwd":      "",
		"https://":                "",
		"http://[::1":             "",
		"":                        "",
	} {
		got := ""
		u, err := parseAddress(address)
		if err == nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%q: %q, %v; want %q", address, got, err, want)
		}
	}
}

// Where the links of engines lead, which redirect to find out what is clicked.
func TestLinkAddresses(t *testing.T) {
	to := "https://example.org/a?b=c"
	for _, c := range []struct {
		name       string
		address    func(string) string
		href, want string
	}{
		{"duckduckgo", duckAddress, "//duckduckgo.example/l/?uddg=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc&rut=x", to},
		{"duckduckgo", duckAddress, to, to},
		{"duckduckgo", duckAddress, "http://[", "http://["},
		{"bing", bingAddress, "https://bing.example/ck/a?u=a1" + base64.RawURLEncoding.EncodeToString([]byte(to)), to},
		{"bing", bingAddress, "https://bing.example/ck/a?u=a1" + base64.URLEncoding.EncodeToString([]byte(to)), to},
		{"bing", bingAddress, "https://bing.example/ck/a?u=b2xx", "https://bing.example/ck/a?u=b2xx"},
		{"bing", bingAddress, "https://bing.example/ck/a?u=a1!", "https://bing.example/ck/a?u=a1!"},
		{"bing", bingAddress, to, to},
		{"google", googleAddress, "/url?q=https://example.org/a%3Fb%3Dc&sa=U", to},
		{"google", googleAddress, "/url?url=https://example.org/a%3Fb%3Dc", to},
		{"google", googleAddress, to, to},
	} {
		if got := c.address(c.href); got != c.want {
			t.Errorf("%s: %s leads to %s, want %s", c.name, c.href, got, c.want)
		}
	}
}

func TestTidy(t *testing.T) {
	hits := []Hit{
		{URL: "https://www.example.org/a/", Title: " One \n line "},
		{URL: "https://example.org/a"}, // the same page
		{URL: "https://example.org/a?b"},
		{URL: "javascript:x()"}, {URL: "/relative"}, {URL: "http://["},
		{URL: "https://EXAMPLE.org/a?b"}, // the same page
		{URL: "https://example.org/A"},
		{URL: "https://example.org/more"},
	}
	got := tidy(hits, "E", 3)
	var urls []string
	for _, h := range got {
		urls = append(urls, h.URL)
		if h.Source != "E" {
			t.Errorf("%s is from %q", h.URL, h.Source)
		}
	}
	if s := strings.Join(urls, " "); s != "https://www.example.org/a/ https://example.org/a?b https://example.org/A" {
		t.Errorf("kept: %s", s)
	}
	if got[0].Title != "One line" {
		t.Errorf("title %q", got[0].Title)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for value, want := range map[string]time.Duration{
			"": 0, "soon": 0, "-5": 0, "0": 0, "120": 2 * time.Minute, "86400": time.Hour,
			time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat): 10 * time.Minute,
			time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat):       0,
			time.Now().Add(48 * time.Hour).UTC().Format(http.TimeFormat):   time.Hour,
		} {
			if got := retryAfter(http.Header{"Retry-After": {value}}); got != want {
				t.Errorf("%q: %v, want %v", value, got, want)
			}
		}
	})
}

func TestAcceptLanguage(t *testing.T) {
	for want, q := range map[string]Query{
		"en":             {Country: "us"},
		"de":             {Lang: "de"},
		"de-AT,de;q=0.9": {Lang: "de", Country: "at"},
	} {
		if got := acceptLanguage(q); got != want {
			t.Errorf("%+v: %s", q, got)
		}
	}
}

func TestRefusal(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 204: "", 404: "HTTP 404", 500: "HTTP 500",
		202: "limited: it asks for proof that we are human (HTTP 202)",
		401: "limited: it refuses the key (HTTP 401)",
		403: "limited: it limits us (HTTP 403)",
		429: "limited: it limits us (HTTP 429)",
	} {
		got := ""
		if err := refusal(&http.Response{StatusCode: status, Header: http.Header{}}); err != nil {
			got = err.Error()
			if _, limited := err.(*Limited); limited {
				got = "limited: " + got
			}
		}
		if got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}

func TestCSVTable(t *testing.T) {
	for data, want := range map[string]string{
		"a,b\n1,2\n":       "| a | b |\n|---|---|\n| 1 | 2 |\n",
		"a\n\"x|y\nz\"\n":  "| a |\n|---|\n| x\\|y z |\n",
		"a,b\n1\n":         "| a | b |\n|---|---|\n| 1 |\n",
		"":                 "",
		"a \"quoted\" b\n": "| a \"quoted\" b |\n|---|\n",
	} {
		if got := csvTable([]byte(data)); got != want {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	}
}

func TestBeginning(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " one\n two ": "one two", "exactly te": "exactly te",
		"more than ten": "more than ...", "Grüße aus Köln": "Grüße aus ...",
	} {
		if got := beginning(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDeeper(t *testing.T) {
	doc, err := html.Parse(strings.NewReader("<div><div><p>text</p></div></div><div></div>"))
	if err != nil {
		t.Fatal(err)
	}
	// html, body, div, div, p and the text: six levels below the document.
	if !deeper(doc, 5) || deeper(doc, 6) {
		t.Error("it counts wrongly")
	}
}

// The main part, the text and what a page says about itself.
func TestMainPart(t *testing.T) {
	words := strings.Repeat("many words of an article. ", 20)
	for name, c := range map[string]struct{ source, in, out string }{
		"main":             {"<nav>Home</nav><main>" + words + "</main>", "many words", "Home"},
		"role":             {"<nav>Home</nav><div role=main>" + words + "</div>", "many words", "Home"},
		"article":          {"<nav>Home</nav><article>" + words + "</article>", "many words", "Home"},
		"too small":        {"<main>tiny</main><div>" + words + words + "</div>", "many words", ""},
		"article in main":  {"<main>" + words + "<article>quoted</article></main><nav>Home</nav>", "quoted", "Home"},
		"nothing but text": {"plain", "plain", ""},
	} {
		b := &Body{URL: "https://example.org/", Type: "text/html", Data: []byte(c.source)}
		p, err := new(Reader).Page(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.Markdown, c.in) || c.out != "" && strings.Contains(p.Markdown, c.out) {
			t.Errorf("%s:\n%s", name, p.Markdown)
		}
		if c.out != "" && !strings.Contains(p.Text, c.out) {
			t.Errorf("%s: the text lacks %q: %s", name, c.out, p.Text)
		}
	}
	p, err := new(Reader).Page(t.Context(), &Body{URL: "https://example.org/a/b", Type: "text/html", Data: []byte(
		`<base href="https://example.org/c/"><title> The
		title </title><svg><title>not this</title></svg><meta name=author content=Ann><time datetime=2026-01-02></time>
		<link rel="alternate CANONICAL" href=d><a href=e>E</a><a href=e#x>again</a>
		<a href=mailto:x>mail</a><a href="" title=T>none</a>`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "Title: The title\nURL: https://example.org/a/b\nAuthor: Ann\nDate: 2026-01-02\n" +
		"Canonical: https://example.org/c/d\n"
	if got := p.head(); got != want {
		t.Errorf("head:\n%s", got)
	}
	if got := p.listLinks(); got != "Links:\n- E: https://example.org/c/e\n" {
		t.Errorf("links:\n%s", got)
	}
	p.Links = make([]Link, maxLinks+3)
	if got := p.listLinks(); !strings.HasSuffix(got, "(3 more)\n") || strings.Count(got, "\n") != maxLinks+2 {
		t.Errorf("many links: …%s", got[len(got)-20:])
	}
}

func TestGuessType(t *testing.T) {
	for _, c := range [][3]string{
		{"/a.html", "", "text/html"}, {"/a.pdf", "", "application/pdf"}, {"/a", " <!doctype html>", "text/html"},
		{"/", "%PDF-1.7", "application/pdf"}, {"/x", "words", "text/plain"}, {"/x", "\x89PNG\r\n\x1a\n", "image/png"},
	} {
		if got := guessType(c[0], []byte(c[1])); got != c[2] {
			t.Errorf("%q: %s, want %s", c, got, c[2])
		}
	}
}
