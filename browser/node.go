package browser

import (
	"iter"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// The kinds of nodes, as the DOM numbers them.
const (
	elementNode  = 1
	textNode     = 3
	fragmentNode = 11 // a shadow root
)

// A node is one node of a captured document. Nodes are not changed after the
// capture, except that ax is filled in.
type node struct {
	doc      *document
	id       cdp.BackendNodeID // unique in its process, and kept while the node lives
	parent   *node
	children []*node   // a shadow root comes before the children in the light
	inner    *document // of a frame: the document in it, or nil

	kind   int
	tag    string // of an element, in lower case; "" for other nodes
	attrs  []attr
	source string // of a text: what the document has

	// The browser's layout of the node. Without a place in the layout, it is not
	// shown, and the rest is zero.
	laid                        bool
	box                         Rect   // in its document
	shown                       string // the text that the page displays
	display, visibility, cursor string
	clips                       bool // what is in it does not reach beyond it
	editable                    bool // by its own or by what is around it

	field   *string // of an input or textarea: what is in it
	checked bool
	listens bool    // for clicks
	presses bool    // it listens for the beginning of presses
	ax      *axNode // what the accessibility tree says of it, or nil
}

// An attr is an attribute of an element; its name is in lower case in HTML.
type attr struct{ name, value string }

// label returns the label of a field that shows itself, or nil: one around it, or one that names it.
func (n *node) label() *node {
	for p := n.parent; p != nil; p = p.parent {
		if p.tag == "label" && !p.has("for") {
			return p.whereShown()
		}
	}
	id, ok := n.attr("id")
	if !ok {
		return nil
	}
	if n.doc.labels == nil {
		n.doc.labels = make(map[string]*node)
		for _, l := range n.doc.nodes {
			if l.tag == "label" && n.doc.labels[l.value("for")].whereShown() == nil {
				n.doc.labels[l.value("for")] = l
			}
		}
	}
	if l := n.doc.labels[id].whereShown(); l != nil && l.root() == n.root() {
		return l
	}
	return nil
}

// whereShown returns n if it has a place on the page, else nil; n may be nil.
func (n *node) whereShown() *node {
	if n == nil || !n.laid || n.visibility == "hidden" || n.box.W < 2 || n.box.H < 2 {
		return nil
	}
	return n
}

// root returns the shadow root that a node is in, or nil.
func (n *node) root() *node {
	for n = n.parent; n != nil && n.kind != fragmentNode; n = n.parent {
	}
	return n
}

// A document is one document of a page: that of the tab, or of a frame.
type document struct {
	s          *session
	frame      cdp.FrameID
	url, title string
	scroll     Point            // how far it is scrolled
	nodes      []*node          // all of them, each before those in it
	labels     map[string]*node // of fields, by their ids; nil until one is looked for
}

// attr returns the value of an attribute and whether the node has it.
func (n *node) attr(name string) (string, bool) {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value, true
		}
	}
	return "", false
}

// value returns the value of an attribute, or "".
func (n *node) value(name string) string {
	v, _ := n.attr(name)
	return v
}

// has reports whether the node has an attribute.
func (n *node) has(name string) bool {
	_, ok := n.attr(name)
	return ok
}

// inputKind returns the type of an <input>, in lower case.
func (n *node) inputKind() string { return strings.ToLower(n.value("type")) }

// ref returns the identity of the node.
func (n *node) ref() ref { return ref{n.doc.s, n.doc.frame, n.id} }

// below yields the nodes in n, each before those in it, without n itself.
func (n *node) below() iter.Seq[*node] {
	return func(yield func(*node) bool) { n.each(yield) }
}

// each calls yield for the nodes in n until it returns false, and reports whether it
// never did.
func (n *node) each(yield func(*node) bool) bool {
	for _, k := range n.children {
		if !yield(k) || !k.each(yield) {
			return false
		}
	}
	return true
}

// inside reports whether n or a node around it is such.
func (n *node) inside(such func(*node) bool) bool {
	for ; n != nil; n = n.parent {
		if such(n) {
			return true
		}
	}
	return false
}

// text returns the text that is shown in the node. It stops after the text node in
// which it reaches 300 bytes: names are shorter, and the nodes that contain most of
// a page would be expensive.
func (n *node) text() string {
	var b strings.Builder
	for k := range n.below() {
		if b.Len() >= 300 {
			break
		}
		if k.kind == textNode && k.laid {
			b.WriteString(k.shown)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// name returns a name for an element that has none in the accessibility tree:
// an attribute that names it, its text, or at least its id or class. A model can
// use an element only if it can guess what the element is for.
func (n *node) name() string {
	for _, name := range []string{"aria-label", "title", "alt", "placeholder", "name"} {
		if v := n.value(name); v != "" {
			return v
		}
	}
	if s := clip.OneLine(n.text()); s != "" {
		return s
	}
	if id, ok := n.attr("id"); ok {
		return "#" + id
	}
	if class := strings.Fields(n.value("class")); len(class) > 0 {
		return "." + strings.Join(class, ".")
	}
	return ""
}

// options describes the options of a <select>: the first six, each cut to 30
// bytes. The action get_dropdown_options lists all.
func (n *node) options() string {
	var names []string
	for k := range n.below() {
		if k.tag == "option" {
			names = append(names, k.optionText())
		}
	}
	if len(names) > 6 {
		names = append(names[:6], "…")
	}
	return "options=" + strings.Join(names, "|")
}

// optionText returns the text of an <option>. An option that is not open has no
// layout, so the source counts.
func (n *node) optionText() string {
	if label := n.value("label"); label != "" {
		return cut(label, 30)
	}
	var b strings.Builder
	for k := range n.below() {
		if k.kind == textNode {
			b.WriteString(k.source)
		}
	}
	return cut(clip.OneLine(b.String()), 30)
}

// line returns the node whose text makes one line together with this text node,
// and what separates the parts of that line: the row of a table, else the nearest
// block. It is nil where there is neither. A block in a cell does not end the
// line, so that a table is read row by row.
func (n *node) line() (block *node, separator string) {
	for p := n.parent; p != nil; p = p.parent {
		switch {
		case p.display == "table-cell":
			separator = " |"
		case p.display == "table-row" && separator != "":
			return p, separator
		case p.display == "", p.display == "contents", strings.HasPrefix(p.display, "inline"), separator != "":
		default:
			return p, ""
		}
	}
	return nil, separator
}

// bullet returns the mark that precedes the line of a heading or list item; n may
// be nil.
func (n *node) bullet() string {
	if n == nil {
		return ""
	}
	switch n.tag {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return strings.Repeat("#", int(n.tag[1]-'0')) + " "
	case "li":
		return "- "
	}
	return ""
}

// findText finds the first node that shows a text, regardless of case and
// spacing. Where tags break the text up, it finds the innermost node that has all
// of it.
func findText(docs []*document, text string) *node {
	fold := func(s string) string { return strings.ToLower(clip.OneLine(s)) }
	want := fold(text)
	for _, d := range docs {
		for _, n := range d.nodes {
			if n.kind == textNode && n.laid && strings.Contains(fold(n.shown), want) {
				return n
			}
		}
		for _, n := range slices.Backward(d.nodes) {
			if n.kind == elementNode && n.laid && strings.Contains(fold(n.text()), want) {
				return n
			}
		}
	}
	return nil
}

// A Point is a place in the view, in CSS pixels.
type Point struct{ X, Y float64 }

// A Rect is a rectangle in CSS pixels, from the upper left corner of the view.
type Rect struct{ X, Y, W, H float64 }
