package browser

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// An Element is a part of a page that can be used.
type Element struct {
	Index  int
	Tag    string   // such as "button"
	Kind   string   // the type of an <input>
	Role   string   // such as "checkbox", unless the tag says it
	Name   string   // as a screen reader says it
	Value  string   // what is typed or chosen
	State  []string // such as "checked", "disabled", "collapsed"
	New    bool     // it was not there when the page was last seen: see Tab.Seen
	Box    Rect
	InView bool

	ref
	label      cdp.BackendNodeID // that can be hit in its place, or 0
	editable   bool              // it is a text without being an <input> or a <textarea>
	bare       bool              // it has no size: the place is that of what is around it
	byListener bool              // it is listed only because it listens for clicks
	container  bool              // it contains elements that are listed instead of it
}

// A ref identifies a node: one of a frame that belongs to a session. It is valid
// while the node is in its document.
type ref struct {
	s     *session
	frame cdp.FrameID
	node  cdp.BackendNodeID
}

// An index numbers the elements of a document, in the order in which they are
// found. The same node keeps its number, and the number of a node that is gone is
// not given again: a model that names an old index gets an error and not another
// element. A new document gets a new index.
type index struct {
	loader cdp.LoaderID // of the document
	number map[key]int
	at     map[int]*Element // the elements of the last look
	shown  int              // the numbers below it have been seen
	seen   bool             // the document has been seen at all
	hidden map[key]bool     // whose values a person typed
}

// A key identifies a node in a browser: node ids are unique in a process only.
type key struct {
	s    *session
	node cdp.BackendNodeID
}

func newIndex() *index { return &index{number: make(map[key]int), at: make(map[int]*Element)} }

// assign gives an element its number.
func (x *index) assign(el *Element) {
	k := key{el.s, el.node}
	n, ok := x.number[k]
	if !ok {
		n = len(x.number)
		x.number[k] = n
	}
	el.Index, el.New = n, x.seen && n >= x.shown
	if x.hidden[k] && el.Value != "" {
		el.Value = concealed
	}
	x.at[n] = el
}

// An item is an element or a line of text. The items of a page are in its order.
type item struct {
	el     *Element // or nil
	text   string   // if el is nil
	depth  int      // how many frames it is in
	box    Rect
	inView bool
}

// maxFrames is how deeply frames are looked into.
const maxFrames = 8

// A builder makes the items of a page.
type builder struct {
	view  Rect
	scale float64 // device pixels in a CSS pixel
	items []item

	// The frame that is being read.
	depth  int
	offset Point // of its document, from the view

	// The line of text that is being put together.
	line    strings.Builder
	lineOf  *node
	lineBox Rect
}

// build returns the items of a page, numbered by idx.
func build(doc *document, m *metrics, idx *index) []item {
	b := &builder{scale: m.scale(), view: Rect{0, 0, m.View.ClientWidth, m.View.ClientHeight}}
	b.document(doc, Point{})
	b.endLine()
	items := withoutLabels(b.items)
	for _, it := range items {
		if it.el != nil {
			idx.assign(it.el)
		}
	}
	return items
}

// withoutLabels leaves out the elements that are containers of others, and the
// texts that repeat the name of the element beside them: in most cases these are
// its label.
func withoutLabels(items []item) []item {
	items = slices.DeleteFunc(items, func(it item) bool { return it.el != nil && it.el.container })
	named := func(i int, text string) bool {
		return i >= 0 && i < len(items) && items[i].el != nil && items[i].el.Name == text
	}
	var kept []item
	for i, it := range items {
		if it.el != nil || !named(i-1, it.text) && !named(i+1, it.text) {
			kept = append(kept, it)
		}
	}
	return kept
}

// document adds the items of a document whose view begins at a place.
func (b *builder) document(d *document, at Point) {
	outer := b.offset
	b.offset = Point{at.X - d.scroll.X/b.scale, at.Y - d.scroll.Y/b.scale}
	if len(d.nodes) > 0 {
		b.node(d.nodes[0], nil)
	}
	b.offset = outer
}

// node adds a node and the nodes in it. within is the listed element around it,
// or nil.
func (b *builder) node(n *node, within *Element) {
	switch n.kind {
	case textNode:
		if within == nil || within.byListener {
			b.text(n)
		}
		return
	case elementNode:
		var deeper bool
		if within, deeper = b.element(n, within); !deeper {
			return
		}
		defer b.hint(n)
	}
	for _, k := range n.children {
		b.node(k, within)
	}
}

// place returns where a node is in the view.
func (b *builder) place(n *node) Rect {
	return Rect{b.offset.X + n.box.X/b.scale, b.offset.Y + n.box.Y/b.scale, n.box.W / b.scale, n.box.H / b.scale}
}

// sees reports whether a part of r is in view.
func (b *builder) sees(r Rect) bool {
	return r.X < b.view.W && r.Y < b.view.H && r.X+r.W > 0 && r.Y+r.H > 0
}

// element adds an element if it is usable, and the document of a frame. It
// returns the listed element around the nodes in it, and whether these are added.
// The nodes in an element that is not shown may be shown all the same, by their
// own style; only those of a <select> are never.
func (b *builder) element(n *node, within *Element) (_ *Element, deeper bool) {
	switch n.tag {
	case "script", "style", "noscript", "template", "head", "meta", "link":
		return within, false
	case "iframe", "frame":
		b.frame(n)
		return within, false
	}
	opaque := n.tag == "select" || n.tag == "textarea" || n.tag == "input" // what is in it is its value
	file := n.tag == "input" && n.inputKind() == "file"                    // usable even if it is hidden
	shown, box := n, b.place(n)
	if l := n.labelled(); l != nil && (n.whereShown() == nil || !b.reachable(box)) {
		shown, box = l, b.place(l) // its label stands for it
	}
	bare := n.laid && n.value("role") == "textbox" && (box.W == 0 || box.H == 0)
	for p := n.parent; bare && p != nil && (box.W == 0 || box.H == 0); p = p.parent {
		box = b.place(p) // a field that gets keys for what an editor draws
	}
	if !file && (!shown.laid || shown.visibility == "hidden") {
		return within, n.tag != "select"
	}
	usable, byListener := n.usable(within, b.view, box)
	if !usable || !file && n.tag != "a" && !b.reachable(box) {
		return within, !opaque
	}
	el := n.describe()
	el.ref, el.Box, el.InView, el.byListener = n.ref(), box, shown.laid && b.sees(box), byListener
	el.editable, el.bare = n.editable || bare, bare
	if within != nil && within.byListener {
		within.container = true
	}
	b.add(item{el: el, box: box, inView: el.InView})
	return el, !opaque
}

// reachable reports whether an element has a size and is not placed beyond the
// left or upper edge of its document, where no scrolling leads.
func (b *builder) reachable(box Rect) bool {
	left := -max(0, b.offset.X) - 1
	return box.W > 0 && box.H > 0 && box.X+box.W >= left && box.Y+box.H >= b.offset.Y-1
}

// frame adds what is in a frame: a line that names its address, and its items. A
// frame of a pixel or less is there for counting visitors.
func (b *builder) frame(n *node) {
	box := b.place(n)
	if !n.laid || n.inner == nil || box.W < 2 || box.H < 2 {
		return
	}
	b.add(item{text: "frame " + n.inner.url + ":", box: box, inView: b.sees(box)})
	b.depth++
	if b.depth <= maxFrames {
		b.document(n.inner, Point{box.X, box.Y})
	}
	b.endLine()
	b.depth--
}

// add ends the line of text and adds an item.
func (b *builder) add(it item) {
	b.endLine()
	it.depth = b.depth
	b.items = append(b.items, it)
}

// text adds a text to the line that is being put together, or begins the next. A
// line is what one block shows, or the row of a table, whatever the tags in it.
func (b *builder) text(n *node) {
	box := b.place(n)
	if !n.laid || n.visibility == "hidden" {
		return
	}
	words := clip.OneLine(n.shown)
	if words == "" || box.W < 1 || box.H < 1 {
		if words == "" && n.shown != "" && b.line.Len() > 0 {
			b.line.WriteByte(' ') // it separates what is around it
		}
		return
	}
	block, separator := n.line()
	if b.line.Len() > 0 && block != b.lineOf {
		b.endLine()
	}
	if b.line.Len() == 0 {
		b.lineOf, b.lineBox = block, box
		b.line.WriteString(block.bullet())
	} else if separator != "" || strings.HasPrefix(n.shown, " ") || strings.HasPrefix(n.shown, "\n") {
		b.line.WriteString(separator + " ")
	}
	b.line.WriteString(words)
	if strings.HasSuffix(n.shown, " ") || strings.HasSuffix(n.shown, "\n") {
		b.line.WriteByte(' ')
	}
}

// endLine adds the line that is being put together.
func (b *builder) endLine() {
	if s := clip.OneLine(b.line.String()); s != "" {
		b.items = append(b.items, item{text: s, depth: b.depth, box: b.lineBox, inView: b.sees(b.lineBox)})
	}
	b.line.Reset()
}
