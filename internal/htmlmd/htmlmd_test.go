package htmlmd

import (
	"bytes"
	"flag"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what comes out as what is wanted")

func convert(t testing.TB, source string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse("https://example.com/a/b")
	if err != nil {
		t.Fatal(err)
	}
	return Convert(doc, base)
}

// cases are the pages of the archive: their HTML, and the place of their
// Markdown.
func cases(t testing.TB) (a *txtar.Archive, at []int) {
	t.Helper()
	data, err := os.ReadFile("testdata/page.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a = txtar.Parse(data)
	for i, f := range a.Files {
		if strings.HasSuffix(f.Name, ".html") {
			at = append(at, i)
		}
	}
	return a, at
}

func TestConvert(t *testing.T) {
	a, at := cases(t)
	for _, i := range at {
		t.Run(a.Files[i].Name, func(t *testing.T) {
			got := convert(t, string(a.Files[i].Data)) + "\n"
			if want := string(a.Files[i+1].Data); got != want && !*update {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			a.Files[i+1].Data = []byte(got)
		})
	}
	if *update {
		if err := os.WriteFile("testdata/page.txtar", txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The rendered Markdown has the words of the page, in their order.
func TestRoundTrip(t *testing.T) {
	a, at := cases(t)
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	for _, i := range at {
		t.Run(a.Files[i].Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := md.Convert([]byte(convert(t, string(a.Files[i].Data))), &out); err != nil {
				t.Fatal(err)
			}
			page, rendered := words(t, string(a.Files[i].Data)), words(t, out.String())
			if !slices.Equal(page, rendered) {
				t.Errorf("the page says\n%q\nand its Markdown\n%q\n%s", page, rendered, out.String())
			}
		})
	}
}

// words are the words that a page shows, links and images that have none
// aside.
func words(t testing.TB, source string) []string {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.Type == html.ElementNode:
			switch n.Data {
			case "head", "script", "style", "noscript", "svg", "select", "textarea", "iframe", "template":
				return
			}
			block := IsBlock(n.DataAtom)
			if block {
				b.WriteByte(' ')
				defer b.WriteByte(' ')
			}
			if title := Attr(n, "title"); title != "" && !shows(n) || n.Data == "img" && strings.HasPrefix(Attr(n, "src"), "data:") {
				b.WriteString(" " + title + Attr(n, "alt")) // which stands for what is not there
			}
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			walk(k)
		}
	}
	walk(doc)
	return strings.Fields(b.String())
}

func FuzzConvert(f *testing.F) {
	a, at := cases(f)
	for _, i := range at {
		f.Add(string(a.Files[i].Data))
	}
	f.Add(strings.Repeat("<table><tr><td colspan=1000 rowspan=1000>x", 20))
	f.Add(strings.Repeat("<b><ul><li><blockquote>x", 50))
	f.Fuzz(func(t *testing.T, source string) {
		if strings.Count(source, "<") > 500 {
			return // nested more deeply than pages are read
		}
		md := convert(t, source)
		if utf8.ValidString(source) && !utf8.ValidString(md) {
			t.Errorf("%q is not UTF-8", md)
		}
		tags := strings.ReplaceAll(md, `\<script`, "")
		if strings.HasPrefix(md, "\n") || strings.Contains(tags, "<script") && !strings.Contains(md, "`") {
			t.Errorf("%q", md)
		}
	})
}

// largePage is a page of a megabyte.
func largePage() string {
	var b strings.Builder
	for b.Len() < 1<<20 {
		b.WriteString("<h2>Part</h2><p>Some words with <b>strong</b> ones, <a href=/p>a link</a>, and so on until the line is as long as lines are.</p><ul><li>one<li>two</ul>")
	}
	return b.String()
}

func BenchmarkConvert(b *testing.B) {
	doc, err := html.Parse(strings.NewReader(largePage()))
	if err != nil {
		b.Fatal(err)
	}
	base := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	for b.Loop() {
		Convert(doc, base)
	}
}
