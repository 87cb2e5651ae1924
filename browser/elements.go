package browser

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
)

// An Element is something on a page that can be used.
type Element struct {
	Index  int
	Tag    string   // such as "button"
	Kind   string   // the type of an input
	Role   string   // such as "checkbox", if it is not what the tag says
	Name   string   // what it is called, as a screen reader says it
	Value  string   // what is in it, or chosen
	State  []string // such as "checked", "disabled", "expanded=false"
	New    bool     // it was not there when the page was last looked at
	Box    Rect
	InView bool

	ref
	listens bool // there is no other reason to list it than that it listens for clicks
	stands  bool // it stands for others, which are listed
}

// ref says which node of which process an element is.
type ref struct {
	s     *session
	frame cdp.FrameID
	node  cdp.BackendNodeID
}

// index gives elements their numbers.
type index struct {
	loader cdp.LoaderID
	number map[key]int
	at     map[int]*Element
	shown  int  // numbers below it were seen before
	again  bool // the document was looked at before
}

type key struct {
	s    *session
	node cdp.BackendNodeID
}

func newIndex() *index { return &index{number: make(map[key]int), at: make(map[int]*Element)} }

// An item is an element or a line of text, in the order of the page.
type item struct {
	el    *Element
	text  string
	inner int // how many frames it is in
	box   Rect
	see   bool // in view
}

// A builder makes the items of a page from its captures.
type builder struct {
	captures []*capture
	view     Rect
	scale    float64
	idx      *index
	items    []item

	line   strings.Builder // text that is being put together
	block  [3]int          // whose text that is: capture, document, node
	lineAt Rect
}

// build returns the items of the page.
func build(captures []*capture, m *metrics, idx *index) []item {
	b := &builder{captures: captures, idx: idx, scale: m.scale(), view: Rect{0, 0, m.View.ClientWidth, m.View.ClientHeight}}
	b.document(0, 0, Rect{}, 0)
	b.flush(0)
	items := unlabelled(b.items)
	for _, it := range items {
		if it.el != nil {
			b.number(it.el)
		}
	}
	return items
}

// unlabelled leaves out the elements that stand for others, which are listed,
// and the texts that only say what the element beside them is called.
func unlabelled(items []item) []item {
	named := func(i int, text string) bool {
		return i >= 0 && i < len(items) && items[i].el != nil && items[i].el.Name == text
	}
	items = slices.DeleteFunc(items, func(it item) bool { return it.el != nil && it.el.stands })
	var kept []item
	for i, it := range items {
		if it.el == nil && (named(i-1, it.text) || named(i+1, it.text)) {
			continue
		}
		kept = append(kept, it)
	}
	return kept
}

// frameOf is the capture of the frame whose element a node is, or -1.
func (b *builder) frameOf(c *capture, node cdp.BackendNodeID) int {
	return slices.IndexFunc(b.captures, func(o *capture) bool { return o.owner == node && o.s.parent == c.s })
}

// document adds what is in a document whose view begins at offset.
func (b *builder) document(ci, di int, offset Rect, depth int) {
	if depth > 8 {
		return
	}
	c := b.captures[ci]
	d := c.docs[di]
	offset.X -= d.ScrollOffsetX / b.scale
	offset.Y -= d.ScrollOffsetY / b.scale
	n := len(d.Nodes.NodeType)
	within := make([]*Element, n) // the listed element that a node is in
	skip := make([]bool, n)
	for i := range n {
		if p := d.Nodes.ParentIndex[i]; p >= 0 && int(p) < i {
			within[i], skip[i] = within[p], skip[p]
		}
		if skip[i] {
			continue
		}
		switch d.Nodes.NodeType[i] {
		case 3:
			if within[i] == nil || within[i].listens {
				b.text(ci, di, i, offset, depth)
			}
		case 1:
			skip[i] = b.element(ci, di, i, offset, depth, within)
		}
	}
}

// place is where a node is in the view.
func (b *builder) place(d *document, i int, offset Rect) (Rect, bool) {
	r, ok := d.box(i)
	return Rect{offset.X + r.X/b.scale, offset.Y + r.Y/b.scale, r.W / b.scale, r.H / b.scale}, ok
}

func (b *builder) sees(r Rect) bool {
	return r.X < b.view.W && r.Y < b.view.H && r.X+r.W > 0 && r.Y+r.H > 0
}

// element adds an element, if it can be used, and the frame in it. skip says
// that what is in it is not for the reader.
func (b *builder) element(ci, di, i int, offset Rect, depth int, within []*Element) (skip bool) {
	c := b.captures[ci]
	d := c.docs[di]
	tag := c.tag(d, i)
	switch tag {
	case "script", "style", "noscript", "template", "head", "meta", "link":
		return true
	}
	box, laid := b.place(d, i, offset)
	node := d.Nodes.BackendNodeID[i]
	if tag == "iframe" || tag == "frame" {
		if laid {
			b.frame(ci, di, i, box, depth)
		}
		return true
	}
	file := false
	if tag == "input" {
		kind, _ := c.attr(d, i, "type")
		file = strings.EqualFold(kind, "file")
	}
	if !laid && !file || c.style(d, i, styleVisibility) == "hidden" && !file {
		return tag == "select"
	}
	usable, listens := c.usable(d, i, tag, within[i], b.view, box)
	if usable && !file && (box.W <= 0 || box.H <= 0 || box.X+box.W < -offset.far() || box.Y+box.H < offset.Y-1) && tag != "a" {
		usable = file
	}
	if usable {
		el := c.describe(d, i, tag)
		el.ref, el.Box, el.InView, el.listens = ref{c.s, d.frame, node}, box, b.sees(box) && laid, listens
		if within[i] != nil && within[i].listens {
			within[i].stands = true
		}
		b.flush(depth)
		b.items = append(b.items, item{el: el, inner: depth, box: box, see: el.InView})
		within[i] = el
	}
	return tag == "select" || tag == "textarea" || tag == "input"
}

// far is how far to the left something may be and still be reached.
func (r Rect) far() float64 { return max(0, r.X) + 1 }

// frame adds what is in a frame.
func (b *builder) frame(ci, di, i int, box Rect, depth int) {
	c := b.captures[ci]
	d := c.docs[di]
	to, doc := ci, -1
	if inner, ok := d.contents[int64(i)]; ok {
		doc = int(inner)
	} else if to = b.frameOf(c, d.Nodes.BackendNodeID[i]); to >= 0 {
		doc = 0
	}
	if doc < 0 || box.W < 2 || box.H < 2 {
		return
	}
	b.flush(depth)
	inner := b.captures[to].docs[doc]
	b.items = append(b.items, item{text: "frame " + at(b.captures[to].strings, int64(inner.DocumentURL)) + ":", inner: depth, box: box, see: b.sees(box)})
	b.document(to, doc, box, depth+1)
	b.flush(depth + 1)
}

// number gives an element its index.
func (b *builder) number(el *Element) {
	k := key{el.s, el.node}
	n, ok := b.idx.number[k]
	if !ok {
		n = len(b.idx.number)
		b.idx.number[k] = n
	}
	el.Index, el.New = n, b.idx.again && n >= b.idx.shown
	b.idx.at[n] = el
}

// text adds to the line that is being put together.
func (b *builder) text(ci, di, i int, offset Rect, depth int) {
	c := b.captures[ci]
	d := c.docs[di]
	l := d.layout[i]
	if l < 0 || c.style(d, i, styleVisibility) == "hidden" {
		return
	}
	s := at(c.strings, int64(d.Layout.Text[l]))
	words := strings.Join(strings.Fields(s), " ")
	box, _ := b.place(d, i, offset)
	if words == "" || box.W < 1 || box.H < 1 {
		if b.line.Len() > 0 && s != "" && words == "" {
			b.line.WriteByte(' ')
		}
		return
	}
	node, sep := c.blockOf(d, i)
	block := [3]int{ci, di, node}
	if b.line.Len() > 0 && block != b.block {
		b.flush(depth)
	}
	if b.line.Len() == 0 {
		b.block, b.lineAt = block, box
		b.line.WriteString(c.heading(d, node))
	} else if sep != "" || s[0] == ' ' || s[0] == '\n' {
		b.line.WriteString(sep + " ")
	}
	b.line.WriteString(words)
	if s[len(s)-1] == ' ' || s[len(s)-1] == '\n' {
		b.line.WriteByte(' ')
	}
}

// flush ends the line that is being put together.
func (b *builder) flush(depth int) {
	if s := strings.Join(strings.Fields(b.line.String()), " "); s != "" {
		b.items = append(b.items, item{text: s, inner: depth, box: b.lineAt, see: b.sees(b.lineAt)})
	}
	b.line.Reset()
}

// blockOf is the node whose text is one line, and what stands between its
// parts: the row of a table, else the next block.
func (c *capture) blockOf(d *document, i int) (node int, sep string) {
	for p := d.Nodes.ParentIndex[i]; p >= 0; p = d.Nodes.ParentIndex[p] {
		switch display := c.style(d, int(p), styleDisplay); {
		case display == "table-cell":
			sep = " |"
		case display == "table-row" && sep != "":
			return int(p), sep
		case display != "" && !strings.HasPrefix(display, "inline") && display != "contents" && sep == "":
			return int(p), ""
		}
	}
	return 0, sep
}

// heading is what stands before a line that is a heading or a point of a list.
func (c *capture) heading(d *document, node int) string {
	switch tag := c.tag(d, node); tag {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return strings.Repeat("#", int(tag[1]-'0')) + " "
	case "li":
		return "- "
	}
	return ""
}
