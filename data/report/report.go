// Package report makes a page that can be sent to somebody out of Markdown:
// one HTML file with everything in it, and a PDF where a Chromium is.
//
// An image whose file is a chart becomes that chart: one can point at it and
// zoom it on the screen, and it is a drawing on paper. An image whose file is
// a table (CSV, XLSX, Parquet, …) becomes that table. Raw HTML in the Markdown
// is left out, and nothing is loaded from anywhere.
package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/openmanus-go/openmanus/data/chart"
)

// Options say how a report is made.
type Options struct {
	Title string // none: the first heading
	Lang  string // "en" or "zh"; none: "en"

	// Name finds the file of fsys that an image's address means, or says why
	// there is none. None: the address is the name.
	Name func(address string) (string, error)
}

// A Page is a report.
type Page struct {
	HTML  []byte   // to look at: charts answer to the pointer
	Print []byte   // to print: the same with drawings, without any script
	Notes []string // what was asked for and could not be shown
	Shown int      // how many charts, images and tables are in it
}

// Make makes a report of Markdown. The files that it shows are read from fsys.
// One that cannot be shown is a note, and a line in the report says so.
func Make(ctx context.Context, fsys fs.FS, markdown []byte, o Options) (*Page, error) {
	if len(bytes.TrimSpace(markdown)) == 0 {
		return nil, errors.New("the report is empty")
	}
	if len(markdown) > 4<<20 {
		return nil, errors.New("the Markdown of a report has at most 4 MiB")
	}
	if o.Name == nil {
		o.Name = func(a string) (string, error) { return a, nil }
	}
	if o.Lang == "" {
		o.Lang = "en"
	}
	b := &builder{ctx: ctx, fsys: fsys, o: o, seen: make(map[string]*shown)}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(b, 1))),
	)
	doc := md.Parser().Parse(text.NewReader(markdown))
	heads := headings(doc, markdown)
	if b.o.Title == "" && len(heads) > 0 {
		b.o.Title = heads[0].Text
	}
	page := &Page{}
	var err error
	if page.HTML, err = b.render(md, doc, markdown, heads, false); err != nil {
		return nil, err
	}
	if page.Print, err = b.render(md, doc, markdown, heads, true); err != nil {
		return nil, err
	}
	page.Notes, page.Shown = b.notes, b.count
	return page, ctx.Err()
}

type heading struct {
	Level    int
	ID, Text string
}

func headings(doc ast.Node, source []byte) (hs []heading) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		id, _ := h.AttributeString("id")
		b, _ := id.([]byte)
		hs = append(hs, heading{h.Level, string(b), plain(h, source)})
	}
	return hs
}

func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		} else if t, ok := n.(*ast.String); ok && entering {
			b.Write(t.Value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// render writes the page once for the screen or once for paper.
func (b *builder) render(md goldmark.Markdown, doc ast.Node, source []byte, heads []heading, print bool) ([]byte, error) {
	b.print, b.figures = print, nil
	var body bytes.Buffer
	if err := md.Renderer().Render(&body, source, doc); err != nil {
		return nil, err
	}
	// The contents stand below the title.
	head, rest, titled := strings.Cut(body.String(), "</h1>\n")
	if titled {
		head += "</h1>\n"
	} else {
		head, rest = "", head
	}
	var faces, scripts string
	csp := ""
	if print {
		var err error
		if faces, err = chart.FontFaces(body.String() + b.o.Title); err != nil {
			return nil, err
		}
	} else if len(b.figures) > 0 {
		js, err := chart.ECharts()
		if err != nil {
			return nil, err
		}
		csp, scripts = "script-src 'unsafe-inline'; ", "<script>"+js+"</script>\n"+b.script()
	}
	out := strings.NewReplacer(
		"{lang}", html.EscapeString(b.o.Lang), "{title}", html.EscapeString(b.o.Title), "{csp}", csp, "{faces}", faces,
		"{head}", head, "{contents}", b.contents(heads), "{body}", rest, "{scripts}", scripts,
	).Replace(page)
	return []byte(out), nil
}

// contents lists the headings of the second level, if there are enough of them
// to look for something.
func (b *builder) contents(heads []heading) string {
	var list strings.Builder
	n := 0
	for _, h := range heads {
		if h.Level == 2 {
			fmt.Fprintf(&list, `<li><a href="#%s">%s</a></li>`, html.EscapeString(h.ID), html.EscapeString(h.Text))
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

// script draws the charts.
func (b *builder) script() string {
	var list strings.Builder
	for _, f := range b.figures {
		fmt.Fprintf(&list, "\n{id: %q, option: %s},", f.id, f.option)
	}
	return `<script>
const charts = [` + list.String() + `
].map(c => { const e = echarts.init(document.getElementById(c.id)); e.setOption(c.option); return e; });
addEventListener("resize", () => charts.forEach(c => c.resize()));
</script>`
}

const page = `<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {csp}style-src 'unsafe-inline'; font-src data:; img-src data: blob:">
<title>{title}</title>
<style>
{faces}
:root{--ink:#1f2937;--soft:#4b5563;--line:#e5e7eb;--link:#0072b2}
*{box-sizing:border-box}
body{margin:0;background:#fff;color:var(--ink);font:16px/1.6 "Noto Sans","Helvetica Neue",Arial,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC","Chart Fallback",sans-serif}
main{max-width:900px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:30px;line-height:1.25;margin:0 0 20px}
h2{font-size:22px;margin:40px 0 12px;padding-bottom:6px;border-bottom:1px solid var(--line)}
h3{font-size:17px;margin:28px 0 8px}
a{color:var(--link)}
p,ul,ol{margin:12px 0}
code,pre{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace;background:#f3f4f6;border-radius:4px}
code{padding:1px 4px}pre{padding:12px;overflow:auto}pre code{padding:0}
blockquote{margin:16px 0;padding:4px 16px;border-left:4px solid var(--link);color:var(--soft)}
table{border-collapse:collapse;width:100%;margin:16px 0;font-size:14px}
th,td{padding:6px 10px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{border-bottom:2px solid #9ca3af}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
figure{margin:24px 0}
figcaption{color:var(--soft);font-size:13px;margin-top:6px}
figure img,figure svg{max-width:100%;height:auto;display:block}
.chart{width:100%}
.scroll{overflow-x:auto}
.missing{border:1px solid #d55e00;color:#b45309;padding:8px 12px;border-radius:4px}
nav{background:#f9fafb;padding:12px 20px;border-radius:6px;margin:20px 0;font-size:14px}
nav ol{margin:4px 0}
@page{size:A4;margin:18mm 16mm}
@media print{body{font-size:11pt}main{padding:0;max-width:none}h2,h3{break-after:avoid}figure,tr,pre{break-inside:avoid}thead{display:table-header-group}a{color:inherit;text-decoration:none}}
</style>
</head>
<body>
<main dir="auto">
{head}
{contents}
{body}
</main>
{scripts}
</body>
</html>
`
