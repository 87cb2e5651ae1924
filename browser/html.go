package browser

import (
	"context"
	"html"
	"slices"
	"strings"
)

// HTML returns the present page: with the documents of its frames and what
// is in its shadow roots in place, and without scripts, styles and what is hidden.
func (t *Tab) HTML(ctx context.Context) (string, error) {
	return viewing(ctx, t, func(ctx context.Context) (string, error) {
		docs, _, err := t.capture(ctx)
		if err != nil {
			return "", err
		}
		var w htmlWriter
		w.document(docs[0])
		return w.out.String(), nil
	})
}

// maxNesting is how deeply elements are written.
const maxNesting = 400

// An htmlWriter writes captured documents as HTML, for readers that parse it
// again. Frames become <div>, and shadow roots disappear: what is in them stands
// where it is shown.
type htmlWriter struct {
	out     strings.Builder
	frames  int // around what is written
	nesting int
}

func (w *htmlWriter) document(d *document) {
	if len(d.nodes) > 0 {
		w.node(d.nodes[0])
	}
}

// node writes a node. Deeper than maxNesting, it leaves it out.
func (w *htmlWriter) node(n *node) {
	if w.nesting++; w.nesting <= maxNesting {
		switch n.kind {
		case textNode:
			if n.visibility != "hidden" {
				w.out.WriteString(html.EscapeString(n.source))
			}
		case elementNode:
			if !n.leftOut() {
				w.element(n)
			}
		default: // a document or a shadow root; comments have nothing in them
			w.inner(n)
		}
	}
	w.nesting--
}

// inner writes what is in a node.
func (w *htmlWriter) inner(n *node) {
	for _, k := range n.children {
		w.node(k)
	}
}

// leftOut reports whether an element is no part of what the page shows: it has no
// box, although elements of its kind have one.
func (n *node) leftOut() bool {
	switch n.tag {
	case "script", "style", "noscript", "template", "svg":
		return true
	case "html", "head", "title", "meta", "base":
		return false
	case "br", "wbr", "col", "colgroup", "slot", "area", "map", "source":
		return false
	}
	return !n.laid && n.display != "contents"
}

// keptAttributes are those that matter to a reader of the page.
var keptAttributes = strings.Fields(
	"href src alt title colspan rowspan lang datetime name content property start id class role")

// voidTags are the elements without an end tag. A parser takes </br> for another
// line break.
var voidTags = strings.Fields("area base br col embed hr img input link meta source track wbr")

// element writes an element that the page shows.
func (w *htmlWriter) element(n *node) {
	switch {
	case n.tag == "iframe", n.tag == "frame":
		if n.inner != nil && w.frames < maxFrames {
			w.frames++
			w.out.WriteString("<div>")
			w.document(n.inner)
			w.out.WriteString("</div>")
			w.frames--
		}
		return
	case w.frames > 0 && n.tag == "head":
		return
	case w.frames > 0 && (n.tag == "html" || n.tag == "body"):
		w.inner(n)
		return
	}
	w.out.WriteString("<" + n.tag)
	for _, a := range n.attrs {
		if slices.Contains(keptAttributes, a.name) {
			w.out.WriteString(" " + a.name + `="` + html.EscapeString(a.value) + `"`)
		}
	}
	w.out.WriteString(">")
	if !slices.Contains(voidTags, n.tag) {
		w.inner(n)
		w.out.WriteString("</" + n.tag + ">")
	}
}
