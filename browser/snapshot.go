package browser

import (
	"context"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/domsnapshot"
)

// A capture is the browser's own view of a page or frame that has a process of
// its own, with all frames that share the process.
type capture struct {
	s       *session
	owner   cdp.BackendNodeID // the frame's element in the parent's process
	strings []string
	docs    []*document
	ax      map[cdp.BackendNodeID]*axNode
}

// A document is one of a capture.
type document struct {
	*domsnapshot.DocumentSnapshot
	frame    cdp.FrameID
	layout   []int            // by node: its place in Layout, or -1
	contents map[int64]int64  // by node: the document in it
	shadow   map[int64]int64  // by node that is a shadow root: its type
	checked  map[int64]bool   // by node
	clicks   map[int64]bool   // by node: it listens for clicks
	values   map[int64]string // by node: what is in the field
}

// axNode is what the accessibility tree knows of a node.
type axNode struct {
	Ignored    bool     `json:"ignored"`
	Role       axValue  `json:"role"`
	Name       axValue  `json:"name"`
	Value      axValue  `json:"value"`
	Properties []axProp `json:"properties"`

	Node cdp.BackendNodeID `json:"backendDOMNodeId"`
}

type axProp struct {
	Name  string  `json:"name"`
	Value axValue `json:"value"`
}

type axValue struct {
	Value jsonv2.Value `json:"value"`
}

// text is the value as a person would read it.
func (v axValue) text() string {
	raw := string(v.Value)
	if len(raw) > 1 && raw[0] == '"' {
		var s string
		if decode(v.Value, &s) == nil {
			return s
		}
	}
	return raw
}

// styles are the computed styles that a capture has of every node, in order.
var styles = [...]string{"display", "visibility", "cursor"}

const (
	styleDisplay = iota
	styleVisibility
	styleCursor
)

type metrics struct {
	View struct {
		PageY        float64 `json:"pageY"`
		ClientWidth  float64 `json:"clientWidth"`
		ClientHeight float64 `json:"clientHeight"`
	} `json:"cssVisualViewport"`
	Content struct {
		Height float64 `json:"height"`
	} `json:"cssContentSize"`
	Device struct {
		ClientWidth float64 `json:"clientWidth"`
	} `json:"visualViewport"`
}

// scale is how many pixels of the device are one of CSS.
func (m *metrics) scale() float64 {
	if m.View.ClientWidth <= 0 || m.Device.ClientWidth <= 0 {
		return 1
	}
	return m.Device.ClientWidth / m.View.ClientWidth
}

// pending is what a capture waits for.
type pending struct {
	c                *capture
	snap, root, node func(context.Context, any) error
}

// capture takes in the page and all of its frames at once. The first capture
// is the page's.
func (t *Tab) capture(ctx context.Context) ([]*capture, *metrics, error) {
	t.b.mu.Lock()
	sessions := append([]*session{t.s}, t.frames...)
	t.b.mu.Unlock()
	size, err := t.s.send("Page.getLayoutMetrics", nil)
	if err != nil {
		return nil, nil, err
	}
	var all []*pending
	for _, s := range sessions {
		p := &pending{c: &capture{s: s, ax: make(map[cdp.BackendNodeID]*axNode)}}
		if err := p.ask(); err == nil {
			all = append(all, p)
		} else if s == t.s {
			return nil, nil, err
		}
	}
	m := new(metrics)
	if err := size(ctx, m); err != nil {
		return nil, nil, err
	}
	var captures []*capture
	for _, p := range all {
		if err := p.collect(ctx, t.b.single); err == nil {
			captures = append(captures, p.c)
		} else if p.c.s == t.s {
			return nil, nil, fmt.Errorf("the page cannot be read: %w", err)
		} // a frame that has gone meanwhile is no part of the page
	}
	return captures, m, nil
}

// ask sends what a capture is made of.
func (p *pending) ask() (err error) {
	if p.c.s.parent.id != "" {
		if p.node, err = p.c.s.parent.send("DOM.getFrameOwner", map[string]any{"frameId": p.c.s.target}); err != nil {
			return err
		}
	}
	if p.snap, err = p.c.s.send("DOMSnapshot.captureSnapshot", domsnapshot.CaptureSnapshotParams{ComputedStyles: styles[:]}); err != nil {
		return err
	}
	p.root, err = p.c.s.send("DOM.getDocument", map[string]int{"depth": 0})
	return err
}

// collect takes in the answers, and asks for what the elements are called: one
// by one, if those of which that is not plain are at most so many.
func (p *pending) collect(ctx context.Context, single int) error {
	if p.node != nil {
		var owner struct {
			Node cdp.BackendNodeID `json:"backendNodeId"`
		}
		if err := p.node(ctx, &owner); err != nil {
			return err
		}
		p.c.owner = owner.Node
	}
	var snap domsnapshot.CaptureSnapshotResult
	if err := p.snap(ctx, &snap); err != nil {
		return err
	}
	if len(snap.Documents) == 0 {
		return fmt.Errorf("there is no document")
	}
	p.c.strings = snap.Strings
	for _, d := range snap.Documents {
		p.c.docs = append(p.c.docs, newDocument(d, p.c.strings))
	}
	focus, err := p.focus(ctx)
	if err != nil {
		return err
	}
	if ask := p.c.unknown(focus); len(ask) <= single {
		return p.c.each(ctx, ask)
	}
	return p.c.trees(ctx)
}

// focus is the element of the first document that has the focus, or 0.
func (p *pending) focus(ctx context.Context) (cdp.BackendNodeID, error) {
	var doc struct {
		Root struct {
			ID int64 `json:"nodeId"`
		} `json:"root"`
	}
	if err := p.root(ctx, &doc); err != nil {
		return 0, err
	}
	var has struct {
		ID int64 `json:"nodeId"`
	}
	if err := p.c.s.Call(ctx, "DOM.querySelector", map[string]any{"nodeId": doc.Root.ID, "selector": ":focus"}, &has); err != nil || has.ID == 0 {
		return 0, ctx.Err() // the document may have gone meanwhile, and the focus with it
	}
	var el struct {
		Node struct {
			ID cdp.BackendNodeID `json:"backendNodeId"`
		} `json:"node"`
	}
	if err := p.c.s.Call(ctx, "DOM.describeNode", map[string]any{"nodeId": has.ID}, &el); err != nil {
		return 0, ctx.Err()
	}
	return el.Node.ID, nil
}

// each takes in what the accessibility tree knows of some elements.
func (c *capture) each(ctx context.Context, nodes []cdp.BackendNodeID) error {
	waits := make([]func(context.Context, any) error, len(nodes))
	for i, n := range nodes {
		var err error
		if waits[i], err = c.s.send("Accessibility.getPartialAXTree", map[string]any{"backendNodeId": n, "fetchRelatives": false}); err != nil {
			return err
		}
	}
	for _, wait := range waits {
		if err := c.names(ctx, wait); err != nil && ctx.Err() != nil {
			return err
		} // an element that has gone meanwhile has no name
	}
	return nil
}

// trees takes in the whole accessibility trees of all documents.
func (c *capture) trees(ctx context.Context) error {
	var waits []func(context.Context, any) error
	for _, d := range c.docs {
		wait, err := c.s.send("Accessibility.getFullAXTree", map[string]any{"frameId": d.frame})
		if err != nil {
			return err
		}
		waits = append(waits, wait)
	}
	for i, wait := range waits {
		if err := c.names(ctx, wait); err != nil && i == 0 {
			return err
		}
	}
	return nil
}

// names takes in an accessibility tree.
func (c *capture) names(ctx context.Context, wait func(context.Context, any) error) error {
	var tree struct {
		Nodes []axNode `json:"nodes"`
	}
	if err := wait(ctx, &tree); err != nil {
		return err
	}
	for i := range tree.Nodes {
		if n := &tree.Nodes[i]; n.Node != 0 {
			if old := c.ax[n.Node]; old == nil || old.Ignored {
				c.ax[n.Node] = n
			}
		}
	}
	return nil
}

func newDocument(d *domsnapshot.DocumentSnapshot, strs []string) *document {
	n := len(d.Nodes.NodeType)
	doc := &document{DocumentSnapshot: d, frame: cdp.FrameID(at(strs, int64(d.FrameID))), layout: make([]int, n),
		contents: make(map[int64]int64), shadow: make(map[int64]int64), checked: make(map[int64]bool),
		clicks: make(map[int64]bool), values: make(map[int64]string)}
	for i := range doc.layout {
		doc.layout[i] = -1
	}
	for l := len(d.Layout.NodeIndex) - 1; l >= 0; l-- { // the first of several counts
		if i := d.Layout.NodeIndex[l]; i >= 0 && int(i) < n {
			doc.layout[i] = l
		}
	}
	if r := d.Nodes.ContentDocumentIndex; r != nil {
		for i, node := range r.Index {
			doc.contents[node] = r.Value[i]
		}
	}
	if r := d.Nodes.InputChecked; r != nil {
		for _, node := range r.Index {
			doc.checked[node] = true
		}
	}
	if r := d.Nodes.IsClickable; r != nil {
		for _, node := range r.Index {
			doc.clicks[node] = true
		}
	}
	for _, r := range []*domsnapshot.RareStringData{d.Nodes.InputValue, d.Nodes.TextValue} {
		if r != nil {
			for i, node := range r.Index {
				doc.values[node] = at(strs, int64(r.Value[i]))
			}
		}
	}
	return doc
}

// at is the string with a number; "" if there is none.
func at(strs []string, i int64) string {
	if i < 0 || int(i) >= len(strs) {
		return ""
	}
	return strs[i]
}

// tag is the name of an element, in small letters; "" for other nodes.
func (c *capture) tag(d *document, node int) string {
	if d.Nodes.NodeType[node] != 1 {
		return ""
	}
	return strings.ToLower(at(c.strings, int64(d.Nodes.NodeName[node])))
}

// attr is the value of an attribute, and whether it is there.
func (c *capture) attr(d *document, node int, name string) (string, bool) {
	attrs := d.Nodes.Attributes[node]
	for i := 0; i+1 < len(attrs); i += 2 {
		if at(c.strings, int64(attrs[i])) == name {
			return at(c.strings, int64(attrs[i+1])), true
		}
	}
	return "", false
}

// style is a computed style of a node that has a place in the layout.
func (c *capture) style(d *document, node, which int) string {
	l := d.layout[node]
	if l < 0 || which >= len(d.Layout.Styles[l]) {
		return ""
	}
	return at(c.strings, int64(d.Layout.Styles[l][which]))
}

// A Rect is a rectangle in CSS pixels, from the upper left corner of the view.
type Rect struct{ X, Y, W, H float64 }

// box is where a node is in its own document.
func (d *document) box(node int) (r Rect, ok bool) {
	l := d.layout[node]
	if l < 0 || len(d.Layout.Bounds[l]) < 4 {
		return r, false
	}
	b := d.Layout.Bounds[l]
	return Rect{b[0], b[1], b[2], b[3]}, true
}
