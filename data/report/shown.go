package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/chart"
)

// A builder renders one report, once for the screen and once for paper. It
// implements [renderer.NodeRenderer] for images, and reads each file once.
type builder struct {
	ctx   context.Context
	fsys  fs.FS
	o     Options
	fonts chart.Fonts
	seen  map[string]*shown // by address

	print  bool
	charts []string // of this rendering: the calls that draw them
	notes  []string
	count  int
}

// shown is the content of an image's file: one of a chart, a table and a
// picture, or the reason why there is none.
type shown struct {
	chart   *chart.Figure
	still   string // the chart on paper, and on a screen without scripts
	script  string // the chart on a screen
	table   *data.Table
	mime    string
	picture []byte
	err     error
}

// RegisterFuncs implements [renderer.NodeRenderer].
func (b *builder) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, b.image)
	r.Register(ast.KindParagraph, b.paragraph)
}

// paragraph renders a paragraph as a div if there is an image in it: a figure
// may not stand in a p element.
func (b *builder) paragraph(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	begin, end := "<p>", "</p>\n"
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if _, ok := c.(*ast.Image); ok {
			begin, end = "<div>", "</div>\n"
		}
	}
	tag := end
	if entering {
		tag = begin
	}
	_, err := w.WriteString(tag)
	return ast.WalkContinue, err
}

// image renders an image as a figure. Its alternative text is the caption.
func (b *builder) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	img := n.(*ast.Image)
	_, err := w.WriteString(b.figure(string(img.Destination), plain(img, source)))
	return ast.WalkSkipChildren, err
}

// figure is the HTML of an image.
func (b *builder) figure(address, caption string) string {
	s, ok := b.seen[address]
	if !ok {
		s = b.load(address)
		b.seen[address] = s
		if s.err != nil {
			b.notes = append(b.notes, fmt.Sprintf("%s: %v", address, s.err))
		} else {
			b.count++
		}
	}
	if s.err != nil {
		return fmt.Sprintf(`<p class="missing">%s: %s</p>`,
			html.EscapeString(address), html.EscapeString(s.err.Error()))
	}
	body := ""
	switch {
	case s.chart != nil && b.print:
		body = s.still
	case s.chart != nil:
		id := fmt.Sprintf("chart-%d", len(b.charts)+1)
		b.charts = append(b.charts, fmt.Sprintf("drawChart(%q, %s);", id, s.script))
		body = fmt.Sprintf(`<div class="chart" id="%s" role="img" aria-label="%s">%s</div>`,
			id, html.EscapeString(s.chart.Title), s.still)
	case s.table != nil:
		body = table(s.table)
	default:
		body = fmt.Sprintf(`<img alt="%s" src="data:%s;base64,%s">`,
			html.EscapeString(caption), s.mime, base64.StdEncoding.EncodeToString(s.picture))
	}
	if caption != "" {
		body += "<figcaption>" + html.EscapeString(caption) + "</figcaption>"
	}
	return "<figure>" + body + "</figure>\n"
}

// load reads what an address means. The files of a chart (HTML, PNG or SVG)
// stand for it if its specification lies beside them.
func (b *builder) load(address string) *shown {
	if strings.Contains(address, "://") || strings.HasPrefix(address, "data:") {
		return &shown{err: errors.New("a report shows files of the workspace only: save the picture there first")}
	}
	name, err := b.o.Name(address)
	if err != nil {
		return &shown{err: err}
	}
	ext := strings.ToLower(path.Ext(name))
	switch ext {
	case ".html", ".json", ".png", ".svg":
		spec, err := fs.ReadFile(b.fsys, strings.TrimSuffix(name, path.Ext(name))+".json")
		if err == nil {
			s := b.chart(spec)
			if s.chart != nil || ext == ".html" {
				return s
			}
		} else if ext == ".html" {
			return &shown{err: errors.New("not a chart of data_visualization: " +
				"its specification (.json) is not beside it")}
		}
	}
	switch ext {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg":
		return b.picture(name)
	}
	t, err := data.Read(b.ctx, b.fsys, name, data.Options{MaxCells: 200_000})
	return &shown{table: t, err: err}
}

// chart reads a chart in both of its forms, as the page is rendered twice.
func (b *builder) chart(spec []byte) *shown {
	f, err := chart.Parse(spec)
	if err != nil {
		return &shown{err: err}
	}
	s := &shown{chart: f}
	if s.still, s.err = f.Still(&b.fonts); s.err == nil {
		s.script, s.err = f.ScriptData()
	}
	return s
}

// maxPicture is how many bytes a picture may have.
const maxPicture = 20 << 20

// picture reads a picture. It tells its type from the content; an SVG stands
// in an img element, where its scripts do not run.
func (b *builder) picture(name string) *shown {
	info, err := fs.Stat(b.fsys, name)
	if err != nil {
		return &shown{err: err}
	}
	if info.Size() > maxPicture {
		return &shown{err: fmt.Errorf("the picture has %d bytes; at most %d are allowed", info.Size(), maxPicture)}
	}
	img, err := fs.ReadFile(b.fsys, name)
	if err != nil {
		return &shown{err: err}
	}
	mime := http.DetectContentType(img)
	if strings.ToLower(path.Ext(name)) == ".svg" && bytes.Contains(img[:min(len(img), 4096)], []byte("<svg")) {
		mime = "image/svg+xml"
	}
	if !strings.HasPrefix(mime, "image/") {
		return &shown{err: fmt.Errorf("not a picture but %s", mime)}
	}
	return &shown{mime: mime, picture: img}
}

// tableRows is how many rows of a table a report shows.
const tableRows = 40

// table is the first rows of a table as HTML, with numbers aligned right.
func table(t *data.Table) string {
	var b strings.Builder
	row := func(element string, cell func(c *data.Column) string) {
		b.WriteString("<tr>")
		for _, c := range t.Columns {
			class := ""
			if c.Kind == data.Number {
				class = ` class="n"`
			}
			fmt.Fprintf(&b, "<%s%s>%s</%s>", element, class, html.EscapeString(cell(c)), element)
		}
		b.WriteString("</tr>")
	}
	fmt.Fprintf(&b, `<div class="scroll%s"><table dir="auto"><thead>`, map[bool]string{true: " wide"}[len(t.Columns) >= manyColumns])
	row("th", func(c *data.Column) string { return c.Name })
	b.WriteString("</thead><tbody>")
	for i := range min(t.Rows(), tableRows) {
		row("td", func(c *data.Column) string { return c.Cell(i) })
	}
	b.WriteString("</tbody></table></div>")
	if more := t.Rows() - tableRows; more > 0 {
		fmt.Fprintf(&b, "<small>%d more rows in %s</small>", more, html.EscapeString(t.Name))
	}
	return b.String()
}
