// Package site makes pages in Markdown into a site of HTML files that is read offline:
// no script, nothing from elsewhere.
package site

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	_ "embed"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A Site is what is to be written.
type Site struct {
	// Pages has the pages (NAME.md) and the pictures that they show. README.md is the table of
	// contents: its headings and lists of links are the navigation of all pages.
	Pages fs.FS
	// More has further pages in Markdown, by name: "commands/run.md".
	More map[string]string
	// Version is shown on every page.
	Version string
	// Source is the address before the names of files that are no page of the site:
	// https://example.org/tree/v1/docs/.
	Source string
}

//go:embed site.css
var style string

// Write writes the site into a directory, which it makes. index.html is its first page.
// Other files in the directory stay.
func (s *Site) Write(dir string) error {
	pages, files, err := s.read()
	if err != nil {
		return err
	}
	nav := navigation(pages["README.md"])
	for name, source := range pages {
		body := s.page(name, source, pages, files, nav)
		if err := write(filepath.Join(dir, filepath.FromSlash(target(name))), body); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := write(filepath.Join(dir, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	return write(filepath.Join(dir, "site.css"), []byte(style))
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// read returns the pages, and the files that are none.
func (s *Site) read() (pages map[string][]byte, files map[string][]byte, err error) {
	pages, files = make(map[string][]byte), make(map[string][]byte)
	for name, source := range s.More {
		pages[name] = []byte(source)
	}
	err = fs.WalkDir(s.Pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		into := files
		if path.Ext(name) == ".md" {
			into = pages
		}
		into[name], err = fs.ReadFile(s.Pages, name)
		return err
	})
	return pages, files, err
}

// target returns the name of a page's file.
func target(name string) string {
	if name == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// A link of the navigation, or a title above several.
type entry struct{ title, page string }

// navigation returns the headings and the links in the lists of the table of contents.
func navigation(source []byte) (nav []entry) {
	doc := goldmark.New().Parser().Parse(text.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level > 1 {
				nav = append(nav, entry{title: plain(n, source)})
			}
		case *ast.Link:
			if n.Parent() != nil && n.Parent().Parent() != nil && n.Parent().Parent().Kind() == ast.KindListItem {
				nav = append(nav, entry{plain(n, source), string(n.Destination)})
			}
		}
		return ast.WalkContinue, nil
	})
	return nav
}

// plain returns the words of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// page returns a page as HTML.
func (s *Site) page(name string, source []byte, pages, files map[string][]byte, nav []entry) []byte {
	up := strings.Repeat("../", strings.Count(name, "/"))
	md := goldmark.New(
		goldmark.WithExtensions(extension.Strikethrough, extension.TaskList, extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{goldhtml.NewConfig()}, 1))),
	)
	doc := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(make(ids)))))
	title := name
	var within []entry
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.address(name, string(n.Destination), pages, files))
		case *ast.Image:
			n.Destination = []byte(s.address(name, string(n.Destination), pages, files))
		case *ast.Heading:
			if n.Level == 1 {
				title = plain(n, source)
			} else if id, ok := n.AttributeString("id"); n.Level == 2 && ok {
				within = append(within, entry{plain(n, source), string(id.([]byte))})
			}
		}
		return ast.WalkContinue, nil
	})
	var body bytes.Buffer
	_ = md.Renderer().Render(&body, source, doc) // a buffer takes everything
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · OpenManus</title>
<link rel="stylesheet" href="%ssite.css">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<nav aria-label="Pages">
<p class="home"><a href="%sindex.html">OpenManus</a> <small>%s</small></p>
`, html.EscapeString(title), up, up, html.EscapeString(s.Version))
	open := false
	for _, e := range nav {
		if e.page == "" {
			if open {
				b.WriteString("</ul>\n")
			}
			fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>\n", html.EscapeString(e.title))
			open = true
			continue
		}
		here := ""
		if e.page == name {
			here = ` aria-current="page"`
		}
		fmt.Fprintf(&b, "<li><a href=\"%s\"%s>%s</a></li>\n", html.EscapeString(up+target(e.page)), here, html.EscapeString(e.title))
	}
	if open {
		b.WriteString("</ul>\n")
	}
	b.WriteString("</nav>\n<main id=\"main\">\n")
	head, rest, ok := strings.Cut(body.String(), "</h1>\n")
	if ok {
		head += "</h1>\n"
	} else {
		head, rest = "", head
	}
	b.WriteString(head)
	if len(within) > 2 && name != "README.md" {
		b.WriteString("<ul class=\"within\" aria-label=\"On this page\">\n")
		for _, e := range within {
			fmt.Fprintf(&b, "<li><a href=\"#%s\">%s</a></li>\n", html.EscapeString(e.page), html.EscapeString(e.title))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString(rest)
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.Bytes()
}

// address returns the address of what a page refers to: a page or a file of the site, or
// the source of anything else in the repository.
func (s *Site) address(from, to string, pages, files map[string][]byte) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Path == "" {
		return to
	}
	name := path.Join(path.Dir(from), u.Path)
	up := strings.Repeat("../", strings.Count(from, "/"))
	if _, ok := pages[name]; ok {
		u.Path = up + target(name)
		return u.String()
	}
	if _, ok := files[name]; ok {
		u.Path = up + name
		return u.String()
	}
	return s.Source + path.Clean("/docs/" + name)[1:] + fragment(u)
}

func fragment(u *url.URL) string {
	if u.Fragment == "" {
		return ""
	}
	return "#" + u.Fragment
}

// ids makes the ids of headings as GitHub does, so that a link to a part of a page leads there
// in both places.
type ids map[string]int

// Generate implements [parser.IDs].
func (d ids) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd):
			b.WriteRune(r)
		}
	}
	id := b.String()
	n := d[id]
	d[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements [parser.IDs].
func (d ids) Put(value []byte) { d[string(value)]++ }

// blocks draws code so that a keyboard can scroll it, and HTML as text; comments are left out.
type blocks struct{ goldhtml.Config }

// RegisterFuncs implements [renderer.NodeRenderer].
func (r blocks) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	code := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString(`<pre tabindex="0"><code>`)
		lines := n.Lines()
		for i := range lines.Len() {
			line := lines.At(i)
			_, _ = w.WriteString(html.EscapeString(string(line.Value(source))))
		}
		_, _ = w.WriteString("</code></pre>\n")
		return ast.WalkSkipChildren, nil
	}
	raw := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		lines := n.Lines
		if inline, ok := n.(*ast.RawHTML); ok {
			lines = func() *text.Segments { return inline.Segments }
		}
		for i := 0; entering && i < lines().Len(); i++ {
			part := lines().At(i)
			if text := string(part.Value(source)); !strings.HasPrefix(strings.TrimSpace(text), "<!--") {
				_, _ = w.WriteString(html.EscapeString(text))
			}
		}
		return ast.WalkSkipChildren, nil
	}
	reg.Register(ast.KindRawHTML, raw)
	reg.Register(ast.KindHTMLBlock, raw)
	reg.Register(ast.KindFencedCodeBlock, code)
	reg.Register(ast.KindCodeBlock, code)
}

// Names returns the names of a site's pages in order.
func (s *Site) Names() ([]string, error) {
	pages, _, err := s.read()
	return slices.Sorted(maps.Keys(pages)), err
}
