// Package report makes reports of Markdown: one HTML file that holds
// everything it shows, and a PDF where a Chromium is installed.
//
// An image whose file is a chart of package chart becomes that chart: an
// interactive one on a screen, a drawing on paper and where scripts do not run.
// An image whose file is a table (CSV, XLSX, Parquet, …) becomes a table. The
// Markdown is untrusted: raw HTML in it is left out, and the page loads nothing
// from anywhere.
//
// [Make] builds the pages, [PDF] prints one.
package report

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the page
	"errors"
	"fmt"
	"html"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/openmanus-go/openmanus/data/chart"
)

//go:embed page.html
var page string

// Options are the options of [Make].
type Options struct {
	Title string // of the page; "" takes the first heading
	Lang  string // "en" or "zh"; "" means "en"

	// Name returns the file of fsys that the address of an image means, or an
	// error that says why there is none. Nil takes the address as the name.
	Name func(address string) (string, error)
}

// A Page is a report in its two forms.
type Page struct {
	HTML  []byte   // for a screen, with charts that are interactive where scripts run
	Print []byte   // for [PDF]: the same with drawings, and without any script
	Notes []string // the images that could not be shown, with the reasons
	Shown int      // how many charts, pictures and tables it has
}

// maxMarkdown is how long a report's Markdown may be.
const maxMarkdown = 4 << 20

// Make makes a report of Markdown (GitHub's dialect, with footnotes). It reads
// the files that the report shows from fsys. Where one cannot be shown, the
// page says why, and so does a note; that is no error.
func Make(ctx context.Context, fsys fs.FS, markdown []byte, o Options) (*Page, error) {
	if len(bytes.TrimSpace(markdown)) == 0 {
		return nil, errors.New("the report is empty")
	}
	if len(markdown) > maxMarkdown {
		return nil, errors.New("the Markdown of a report may have at most 4 MiB")
	}
	if o.Name == nil {
		o.Name = func(address string) (string, error) { return address, nil }
	}
	o.Lang = cmp.Or(o.Lang, "en")
	b := &builder{ctx: ctx, fsys: fsys, o: o, seen: make(map[string]*shown)}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(b, 1))),
	)
	doc := md.Parser().Parse(text.NewReader(markdown))
	direct(doc)
	heads := headings(doc, markdown)
	if o.Title == "" && len(heads) > 0 {
		b.o.Title = heads[0].text
	}
	p := &Page{}
	for _, form := range []struct {
		print bool
		to    *[]byte
	}{{false, &p.HTML}, {true, &p.Print}} {
		b.print, b.charts = form.print, nil
		var body bytes.Buffer
		if err := md.Renderer().Render(&body, markdown, doc); err != nil {
			return nil, err
		}
		var err error
		if *form.to, err = b.page(body.String(), heads); err != nil {
			return nil, err
		}
	}
	p.Notes, p.Shown = b.notes, b.count
	return p, ctx.Err()
}

// manyColumns is from how many columns on a table is printed across, in small letters.
const manyColumns = 9

// direct lets each block of a document run in the direction of its own first letter, and marks tables that
// are wide.
func direct(doc ast.Node) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // its only error is the function's
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Paragraph, *ast.Heading, *ast.Blockquote, *ast.List, *ast.ListItem, *east.TableCell:
			n.SetAttributeString("dir", []byte("auto"))
		case *east.Table:
			n.SetAttributeString("dir", []byte("auto"))
			if len(n.Alignments) >= manyColumns {
				n.SetAttributeString("class", []byte("wide"))
			}
		}
		return ast.WalkContinue, nil
	})
}

// A heading is one of the document's own, not one inside a quotation or list.
type heading struct {
	level    int
	id, text string
}

// headings returns the headings at the top level of a document, with the ids
// that the parser gave them.
func headings(doc ast.Node, source []byte) (hs []heading) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			b, _ := id.([]byte)
			hs = append(hs, heading{h.Level, string(b), plain(h, source)})
		}
	}
	return hs
}

// plain is the text inside a node, without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // its only error is the function's
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		} else if t, ok := n.(*ast.String); ok && entering {
			b.Write(t.Value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// page puts the rendered body into the page. The table of contents stands
// below the title. A printed page embeds the fonts of its text instead of
// scripts, and its policy lets no script run.
func (b *builder) page(body string, heads []heading) ([]byte, error) {
	head, rest, titled := strings.Cut(body, "</h1>\n")
	if titled {
		head += "</h1>\n"
	} else {
		head, rest = "", head
	}
	var faces, scripts, policy string
	var err error
	switch {
	case b.print:
		faces, err = chart.FontFaces(body + b.o.Title)
	case len(b.charts) > 0:
		policy = "script-src 'unsafe-inline'; "
		scripts, err = chart.Script()
		scripts = "<script>" + scripts + "</script>\n<script>\n" + strings.Join(b.charts, "\n") + "\n</script>"
	}
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer(
		"{lang}", html.EscapeString(b.o.Lang),
		"{title}", html.EscapeString(b.o.Title),
		"{csp}", policy,
		"{faces}", faces,
		"{head}", head,
		"{contents}", b.contents(heads),
		"{body}", rest,
		"{scripts}", scripts,
	).Replace(page)), nil
}

// contents is a list of the headings of the second level, if there are at
// least five.
func (b *builder) contents(heads []heading) string {
	var list strings.Builder
	n := 0
	for _, h := range heads {
		if h.level == 2 {
			fmt.Fprintf(&list, `<li><a href="#%s">%s</a></li>`, html.EscapeString(h.id), html.EscapeString(h.text))
			n++
		}
	}
	if n < 5 {
		return ""
	}
	title := "Contents"
	if b.o.Lang == "zh" {
		title = "目录"
	}
	return "<nav><b>" + title + "</b><ol>" + list.String() + "</ol></nav>"
}
