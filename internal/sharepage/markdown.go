package sharepage

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// markdown is an agent's text (GitHub's dialect, with formulas) as HTML that neither runs nor loads
// anything. HTML in it stands there as text.
func (p *page) markdown(source string) string {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Strikethrough, extension.Linkify, extension.TaskList,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(formulas{}, 50))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(drawer{p}, 1))),
	)
	var out bytes.Buffer
	if err := md.Convert([]byte(prose(source)), &out); err != nil {
		return "<pre>" + exact(source) + "</pre>"
	}
	return "<div class=\"prose\">" + out.String() + "</div>"
}

// prose makes what hides or turns the direction of writing visible, and leaves what letters and
// pictures of many languages are joined by.
func prose(source string) string {
	var b strings.Builder
	for i, r := range source {
		switch {
		case r == '\u200c' || r == '\u200d' || r == '\ufe0e' || r == '\ufe0f' || unicode.Is(unicode.Zs, r):
			b.WriteRune(r)
		case r == unicode.ReplacementChar: // a byte that is no UTF-8, or that character
			b.WriteString(clip.Visible(source[i : i+1]))
		default:
			b.WriteString(clip.Visible(string(r)))
		}
	}
	return b.String()
}

// A formula is TeX between dollars or escaped brackets.
type formula struct {
	ast.BaseInline
	tex   string
	block bool
}

var kindFormula = ast.NewNodeKind("Formula")

// Kind implements [ast.Node].
func (f *formula) Kind() ast.NodeKind { return kindFormula }

// Dump implements [ast.Node].
func (f *formula) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// formulas finds them within a paragraph.
type formulas struct{}

// Trigger implements [parser.InlineParser].
func (formulas) Trigger() []byte { return []byte{'$', '\\'} }

// brackets are what stands around formulas. One dollar is money as often: no space stands inside
// then, no digit after, and both are on one line.
var brackets = []struct {
	open, shut string
	block      bool
}{{"$$", "$$", true}, {`\[`, `\]`, true}, {`\(`, `\)`, false}, {"$", "$", false}}

// Parse implements [parser.InlineParser].
func (formulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	first, _ := block.PeekLine()
	for _, k := range brackets {
		if !bytes.HasPrefix(first, []byte(k.open)) {
			continue
		}
		line, from := block.Position()
		block.Advance(len(k.open))
		var tex strings.Builder
		for {
			rest, _ := block.PeekLine()
			if rest == nil {
				break
			}
			if i := bytes.Index(rest, []byte(k.shut)); i >= 0 {
				tex.Write(rest[:i])
				after := rest[i+len(k.shut):]
				if k.open == "$" && !single(tex.String(), after) || strings.TrimSpace(tex.String()) == "" {
					break
				}
				block.Advance(i + len(k.shut))
				return &formula{tex: strings.TrimSpace(tex.String()), block: k.block}
			}
			if k.open == "$" {
				break
			}
			tex.Write(rest)
			block.AdvanceLine()
		}
		block.SetPosition(line, from)
	}
	return nil
}

// single reports whether what stands between single dollars is a formula.
func single(tex string, after []byte) bool {
	return tex == strings.TrimSpace(tex) && !strings.HasSuffix(tex, `\`) && (len(after) == 0 || after[0] < '0' || after[0] > '9')
}

// A drawer renders what goldmark would render in another way. It implements [renderer.NodeRenderer].
type drawer struct{ p *page }

// RegisterFuncs implements [renderer.NodeRenderer].
func (d drawer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindFencedCodeBlock, fenced)
	r.Register(ast.KindLink, d.link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, d.image)
	r.Register(extast.KindTaskCheckBox, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(map[bool]string{true: "☑ ", false: "☐ "}[n.(*extast.TaskCheckBox).IsChecked])
		}
		return ast.WalkContinue, nil
	})
	r.Register(kindFormula, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			f := n.(*formula)
			_, _ = w.WriteString(mathML(f.tex, f.block))
		}
		return ast.WalkSkipChildren, nil
	})
}

func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(esc(string(n.(*ast.RawHTML).Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		b := n.(*ast.HTMLBlock)
		whole := b.Lines().Value(source)
		if b.HasClosure() {
			whole = append(whole, b.ClosureLine.Value(source)...)
		}
		_, _ = fmt.Fprintf(w, "<p>%s</p>\n", esc(string(whole)))
	}
	return ast.WalkSkipChildren, nil
}

func fenced(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		b := n.(*ast.FencedCodeBlock)
		_, _ = fmt.Fprintf(w, "<pre><code>%s</code></pre>\n", colours(string(b.Lines().Value(source)), string(b.Language(source))))
	}
	return ast.WalkSkipChildren, nil
}

// address returns where a link of Markdown leads: a file of this page, another place in the web, or
// nowhere.
func (p *page) address(href string) string {
	u, err := url.Parse(href)
	switch {
	case err != nil:
		return ""
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", u.Scheme == "mailto":
		return u.String()
	case u.Scheme != "" || u.Host != "":
		return ""
	}
	return p.anchor(strings.TrimPrefix(path.Clean("/"+u.Path), "/"))
}

func (d drawer) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if to := d.p.address(string(n.(*ast.Link).Destination)); to != "" && entering {
		_, _ = fmt.Fprintf(w, `<a href="%s" rel="noopener noreferrer nofollow" title="%s">`, esc(to), esc(to))
	} else if to != "" {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	l := n.(*ast.AutoLink)
	to, label := string(l.URL(source)), esc(string(l.Label(source)))
	if l.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
		to = "mailto:" + to
	}
	if to = (&page{}).address(to); to != "" {
		label = fmt.Sprintf(`<a href="%s" rel="noopener noreferrer nofollow">%s</a>`, esc(to), label)
	}
	_, _ = w.WriteString(label)
	return ast.WalkSkipChildren, nil
}

// image renders a picture of the workspace as one, and every other as a link to where it is.
func (d drawer) image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	href := string(n.(*ast.Image).Destination)
	to := d.p.address(href)
	if src := d.p.drawn(to); src != "" {
		if entering {
			_, _ = fmt.Fprintf(w, `<img src="%s" alt="%s">`, src, esc(href))
		}
		return ast.WalkSkipChildren, nil
	}
	switch {
	case to != "" && entering:
		_, _ = fmt.Fprintf(w, `<a href="%s" rel="noopener noreferrer nofollow">`, esc(to))
	case to != "":
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}
