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

// A builder renders the images of one report.
type builder struct {
	ctx   context.Context
	fsys  fs.FS
	o     Options
	fonts chart.Fonts
	seen  map[string]*shown // by address

	print   bool
	figures []live
	notes   []string
	count   int
}

// shown is what an address stands for: one of these, or why it is nothing.
type shown struct {
	figure *chart.Figure
	svg    []byte
	table  *data.Table
	mime   string
	image  []byte
	err    error
}

// A live chart is one that a script draws.
type live struct {
	id, option string
}

// RegisterFuncs implements goldmark's renderer.NodeRenderer.
func (b *builder) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, b.image)
	r.Register(ast.KindParagraph, b.paragraph)
}

// paragraph leaves out the tags around an image that stands alone: what is
// shown for it may not stand in a paragraph.
func (b *builder) paragraph(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "<p>"
	if !entering {
		tag = "</p>\n"
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if _, ok := c.(*ast.Image); ok {
			tag = map[bool]string{true: "<div>", false: "</div>\n"}[entering]
		}
	}
	_, err := w.WriteString(tag)
	return ast.WalkContinue, err
}

func (b *builder) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	img := n.(*ast.Image)
	_, err := w.WriteString(b.show(string(img.Destination), plain(img, source)))
	return ast.WalkSkipChildren, err
}

// show is the HTML for an address.
func (b *builder) show(address, caption string) string {
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
	var body string
	switch {
	case s.err != nil:
		return fmt.Sprintf(`<p class="missing">%s: %s</p>`, html.EscapeString(address), html.EscapeString(s.err.Error()))
	case s.figure != nil && b.print:
		body = string(s.svg)
	case s.figure != nil:
		option, err := s.figure.MarshalOption()
		if err != nil {
			return fmt.Sprintf(`<p class="missing">%s: %s</p>`, html.EscapeString(address), html.EscapeString(err.Error()))
		}
		id := fmt.Sprintf("chart-%d", len(b.figures)+1)
		b.figures = append(b.figures, live{id, option})
		body = fmt.Sprintf(`<div class="chart" id="%s" role="img" aria-label="%s" style="height:%dpx"></div>`, id, html.EscapeString(s.figure.Title), 520)
	case s.table != nil:
		body = table(s.table)
	default:
		body = fmt.Sprintf(`<img alt="%s" src="data:%s;base64,%s">`, html.EscapeString(caption), s.mime, base64.StdEncoding.EncodeToString(s.image))
	}
	if caption != "" {
		body += "<figcaption>" + html.EscapeString(caption) + "</figcaption>"
	}
	return "<figure>" + body + "</figure>\n"
}

// maxImage is the size of an image that is put into a report.
const maxImage = 20 << 20

func (b *builder) load(address string) *shown {
	fail := func(err error) *shown { return &shown{err: err} }
	if strings.Contains(address, "://") || strings.HasPrefix(address, "data:") {
		return fail(errors.New("a report shows files of the workspace and loads nothing from elsewhere: save the picture first"))
	}
	name, err := b.o.Name(address)
	if err != nil {
		return fail(err)
	}
	ext := strings.ToLower(path.Ext(name))
	switch ext {
	case ".html", ".json", ".png", ".svg":
		spec, err := fs.ReadFile(b.fsys, strings.TrimSuffix(name, path.Ext(name))+".json")
		if err == nil {
			f, err := chart.Parse(spec)
			if err == nil {
				svg, err := f.SVG(&b.fonts)
				return &shown{figure: f, svg: svg, err: err}
			}
			if ext == ".html" {
				return fail(err)
			}
		} else if ext == ".html" {
			return fail(errors.New("it is no chart of data_visualization: its specification (.json) is not beside it"))
		}
	}
	switch ext {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg":
		return b.picture(name)
	}
	t, err := data.Read(b.ctx, b.fsys, name, data.Options{MaxCells: 200_000})
	return &shown{table: t, err: err}
}

func (b *builder) picture(name string) *shown {
	info, err := fs.Stat(b.fsys, name)
	if err != nil {
		return &shown{err: err}
	}
	if info.Size() > maxImage {
		return &shown{err: fmt.Errorf("the picture has %d bytes; at most %d fit", info.Size(), maxImage)}
	}
	img, err := fs.ReadFile(b.fsys, name)
	if err != nil {
		return &shown{err: err}
	}
	mime := http.DetectContentType(img)
	if strings.HasSuffix(strings.ToLower(name), ".svg") && bytes.Contains(img[:min(len(img), 4096)], []byte("<svg")) {
		mime = "image/svg+xml" // in an img, scripts in it do not run
	}
	if !strings.HasPrefix(mime, "image/") {
		return &shown{err: fmt.Errorf("it is not a picture but %s", mime)}
	}
	return &shown{mime: mime, image: img}
}

const tableRows = 40

// table is the first rows of a table, numbers on the right.
func table(t *data.Table) string {
	var b strings.Builder
	b.WriteString(`<div class="scroll"><table><thead><tr>`)
	class := func(c *data.Column) string {
		if c.Kind == data.Number {
			return ` class="n"`
		}
		return ""
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "<th%s>%s</th>", class(c), html.EscapeString(c.Name))
	}
	b.WriteString("</tr></thead><tbody>")
	for i := range min(t.Rows(), tableRows) {
		b.WriteString("<tr>")
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "<td%s>%s</td>", class(c), html.EscapeString(c.Label(i)))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table></div>")
	if more := t.Rows() - tableRows; more > 0 {
		fmt.Fprintf(&b, "<small>%d more rows in %s</small>", more, html.EscapeString(t.Name))
	}
	return b.String()
}
