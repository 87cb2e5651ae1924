package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/domdebugger"
	"github.com/chromedp/cdproto/domsnapshot"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// A capture is the browser's snapshot of a process of the page: of the page or a
// frame that has a process of its own, with all frames that share the process.
// It is made in three steps: send asks for all that is needed, receive builds the
// documents and asks the accessibility tree, and link joins the captures. The page
// can change between the steps; what is gone meanwhile is left out.
type capture struct {
	s    *session
	docs []*document // the first is the one that the process is for
	byID map[cdp.BackendNodeID]*node

	// The replies that receive and link await: to the frame's element in the
	// parent's process (nil for the page), the snapshot, and the document's node.
	owner, snapshot, root reply
}

// pressEvents are the events by which pages begin a drag of their own.
var pressEvents = []string{"pointerdown", "mousedown", "touchstart"}

// sorted notes the nodes that listen for presses, which the snapshot does not tell: what
// is in such a list is dragged. Without an answer, none is known.
func (c *capture) sorted(ctx context.Context) error {
	doc, err := cdp.Call(ctx, c.s, runtime.Evaluate, runtime.EvaluateParams{Expression: "document", ObjectGroup: objectGroup})
	if err != nil || doc.Result == nil || doc.Result.ObjectID == "" {
		return ctx.Err()
	}
	p := domdebugger.GetEventListenersParams{ObjectID: doc.Result.ObjectID, Depth: ptr(int64(-1)), Pierce: ptr(true)}
	found, err := cdp.Call(ctx, c.s, domdebugger.GetEventListeners, p)
	c.s.send(runtime.CommandReleaseObject, runtime.ReleaseObjectParams{ObjectID: doc.Result.ObjectID})
	if err != nil {
		return ctx.Err()
	}
	for _, l := range found.Listeners {
		if n := c.byID[l.BackendNodeID]; n != nil && slices.Contains(pressEvents, l.Type) {
			n.presses = true
		}
	}
	return nil
}

// An axNode is what the accessibility tree says of a node: the part of it that is
// used, since whole trees are large.
type axNode struct {
	Ignored    bool     `json:"ignored"`
	Role       axValue  `json:"role"`
	Name       axValue  `json:"name"`
	Value      axValue  `json:"value"`
	Properties []axProp `json:"properties"`

	Node cdp.BackendNodeID `json:"backendDOMNodeId"`
}

// An axProp is a property of an axNode, such as "checked" or "valuemax".
type axProp struct {
	Name  string  `json:"name"`
	Value axValue `json:"value"`
}

// An axValue is a string, a boolean or a number, as text.
type axValue string

// UnmarshalJSON implements [encoding/json.Unmarshaler]. Values of the accessibility tree
// are texts, numbers or booleans; all of them become text.
func (v *axValue) UnmarshalJSON(data []byte) error {
	var in struct {
		Value jsonv2.Value `json:"value"`
	}
	if err := decode(data, &in); err != nil {
		return err
	}
	s := string(in.Value)
	if strings.HasPrefix(s, `"`) {
		if err := decode(in.Value, &s); err != nil {
			return err
		}
	}
	*v = axValue(s)
	return nil
}

// metrics are the sizes of the view and of the page.
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

// scale returns how many device pixels make one CSS pixel. The boxes of a snapshot
// are in device pixels.
func (m *metrics) scale() float64 {
	if m.View.ClientWidth <= 0 || m.Device.ClientWidth <= 0 {
		return 1
	}
	return m.Device.ClientWidth / m.View.ClientWidth
}

// capture takes a snapshot of the page with all of its frames. The first document
// is that of the page; those of frames are linked to the frames' nodes. All
// commands are sent before the first reply is awaited.
func (t *Tab) capture(ctx context.Context) ([]*document, *metrics, error) {
	size, err := t.s.send(page.CommandGetLayoutMetrics, nil)
	if err != nil {
		return nil, nil, err
	}
	var captures []*capture
	for _, s := range t.sessions() {
		c := &capture{s: s, byID: make(map[cdp.BackendNodeID]*node)}
		if err := c.send(); err == nil {
			captures = append(captures, c)
		} else if s == t.s {
			return nil, nil, err
		}
	}
	m := new(metrics)
	if err := size(ctx, m); err != nil {
		return nil, nil, err
	}
	var docs []*document
	of := make(map[*session]*capture) // the captures that succeeded
	for _, c := range captures {
		if err := c.receive(ctx, t.b.maxSingle); err == nil {
			of[c.s], docs = c, append(docs, c.docs...)
		} else if c.s == t.s {
			return nil, nil, fmt.Errorf("the page cannot be read: %w", err)
		} // a frame that was removed meanwhile is not part of the page
	}
	for _, c := range of {
		if err := c.link(ctx, of[c.s.parent]); err != nil {
			return nil, nil, err
		}
	}
	return docs, m, nil
}

// send sends the commands of a capture.
func (c *capture) send() (err error) {
	if c.s.parent.id != "" {
		p := dom.GetFrameOwnerParams{FrameID: cdp.FrameID(c.s.target)}
		if c.owner, err = c.s.parent.send(dom.CommandGetFrameOwner, p); err != nil {
			return err
		}
	}
	p := domsnapshot.CaptureSnapshotParams{ComputedStyles: []string{"display", "visibility", "cursor", "overflow-y", "-webkit-user-modify"}}
	if c.snapshot, err = c.s.send(domsnapshot.CommandCaptureSnapshot, p); err != nil {
		return err
	}
	c.root, err = c.s.send(dom.CommandGetDocument, dom.GetDocumentParams{Depth: ptr(int64(0))})
	return err
}

// receive awaits the snapshot, and asks for what only the accessibility tree
// knows: element by element, or everything where more than maxSingle elements
// are in question.
func (c *capture) receive(ctx context.Context, maxSingle int) error {
	var snap domsnapshot.CaptureSnapshotResult
	if err := c.snapshot(ctx, &snap); err != nil {
		return err
	}
	if len(snap.Documents) == 0 {
		return errors.New("there is no document")
	}
	c.build(&snap)
	if err := c.sorted(ctx); err != nil {
		return err
	}
	focus, err := c.focus(ctx)
	if err != nil {
		return err
	}
	nodes := unknown(c.docs, focus)
	return c.ask(ctx, nodes, len(nodes) <= maxSingle)
}

// link puts the capture's first document into its frame's node, which is in the
// capture of the parent. A frame whose node is gone is not part of the page.
func (c *capture) link(ctx context.Context, parent *capture) error {
	if c.owner == nil {
		return nil
	}
	var owner dom.GetFrameOwnerResult
	if err := c.owner(ctx, &owner); err != nil || parent == nil {
		return ctx.Err()
	}
	if n := parent.byID[owner.BackendNodeID]; n != nil {
		n.inner = c.docs[0]
	}
	return nil
}

// focus returns the element of the first document that has the focus, or 0. The
// snapshot does not tell, and no script is run to ask.
func (c *capture) focus(ctx context.Context) (cdp.BackendNodeID, error) {
	var doc dom.GetDocumentResult
	if err := c.root(ctx, &doc); err != nil {
		return 0, err
	}
	query := dom.QuerySelectorParams{NodeID: doc.Root.NodeID, Selector: ":focus"}
	found, err := cdp.Call(ctx, c.s, dom.QuerySelector, query)
	if err != nil || found.NodeID == 0 {
		return 0, ctx.Err() // none has, or the document is gone
	}
	el, err := cdp.Call(ctx, c.s, dom.DescribeNode, dom.DescribeNodeParams{NodeID: found.NodeID})
	if err != nil {
		return 0, ctx.Err()
	}
	return el.Node.BackendNodeID, nil
}

// ask fetches what the accessibility tree says about some nodes: node by node if
// each is true, else the whole trees of all documents.
func (c *capture) ask(ctx context.Context, nodes []*node, each bool) error {
	var replies []reply
	send := func(method string, params any) error {
		r, err := c.s.send(method, params)
		replies = append(replies, r)
		return err
	}
	var err error
	if each {
		for _, n := range nodes {
			p := accessibility.GetPartialAXTreeParams{BackendNodeID: n.id, FetchRelatives: ptr(false)}
			err = errors.Join(err, send(accessibility.CommandGetPartialAXTree, p))
		}
	} else {
		for _, d := range c.docs {
			p := accessibility.GetFullAXTreeParams{FrameID: d.frame}
			err = errors.Join(err, send(accessibility.CommandGetFullAXTree, p))
		}
	}
	if err != nil {
		return err
	}
	for i, r := range replies {
		// An element or a frame that is gone meanwhile has no name.
		if err := c.addNames(ctx, r); err != nil && (ctx.Err() != nil || !each && i == 0) {
			return err
		}
	}
	return nil
}

// addNames adds what an accessibility tree says to the nodes. A node can be in the
// tree twice, once as ignored; the other entry counts.
func (c *capture) addNames(ctx context.Context, r reply) error {
	var tree struct {
		Nodes []axNode `json:"nodes"`
	}
	if err := r(ctx, &tree); err != nil {
		return err
	}
	for i := range tree.Nodes {
		ax := &tree.Nodes[i]
		if n := c.byID[ax.Node]; n != nil && (n.ax == nil || n.ax.Ignored) {
			n.ax = ax
		}
	}
	return nil
}

// build makes the documents of a snapshot.
func (c *capture) build(snap *domsnapshot.CaptureSnapshotResult) {
	str := table(snap.Strings)
	for range snap.Documents {
		c.docs = append(c.docs, new(document))
	}
	for i, d := range snap.Documents {
		*c.docs[i] = document{
			s:      c.s,
			frame:  cdp.FrameID(str.at(int64(d.FrameID))),
			url:    str.at(int64(d.DocumentURL)),
			title:  str.at(int64(d.Title)),
			scroll: Point{d.ScrollOffsetX, d.ScrollOffsetY},
		}
		c.nodes(c.docs[i], d, str)
	}
}

// nodes makes the nodes of a document. The snapshot is a set of parallel arrays
// with an entry for each node, parents before children, and another set with an
// entry for each node that has a place in the layout. Strings are numbers into a
// table.
func (c *capture) nodes(doc *document, d *domsnapshot.DocumentSnapshot, str table) {
	all := make([]node, len(d.Nodes.NodeType))
	doc.nodes = make([]*node, len(all))
	for i := range all {
		n := &all[i]
		doc.nodes[i] = n
		n.doc, n.id, n.kind = doc, d.Nodes.BackendNodeID[i], int(d.Nodes.NodeType[i])
		n.source = str.at(int64(d.Nodes.NodeValue[i]))
		if n.kind == elementNode {
			n.tag = strings.ToLower(str.at(int64(d.Nodes.NodeName[i])))
		}
		for a, attrs := 0, d.Nodes.Attributes[i]; a+1 < len(attrs); a += 2 {
			n.attrs = append(n.attrs, attr{str.at(attrs[a]), str.at(attrs[a+1])})
		}
		if p := d.Nodes.ParentIndex[i]; p >= 0 && int(p) < i {
			n.parent = &all[p]
			n.parent.children = append(n.parent.children, n)
		}
		c.byID[n.id] = n
	}
	for l, i := range d.Layout.NodeIndex {
		if i < 0 || int(i) >= len(all) || all[i].laid {
			continue // the first of several places of a node counts
		}
		n := &all[i]
		n.laid, n.shown = true, str.at(int64(d.Layout.Text[l]))
		if b := d.Layout.Bounds[l]; len(b) >= 4 {
			n.box = Rect{b[0], b[1], b[2], b[3]}
		}
		if s := d.Layout.Styles[l]; len(s) >= 5 {
			n.display, n.visibility, n.cursor = str.at(s[0]), str.at(s[1]), str.at(s[2])
			n.clips = str.at(s[3]) != "visible"
			n.editable = strings.HasPrefix(str.at(s[4]), "read-write")
		}
	}
	c.rare(all, d.Nodes, str)
}

// rare adds what only few nodes have. The browser leaves out what no node has.
func (c *capture) rare(all []node, d *domsnapshot.NodeTreeSnapshot, str table) {
	if r := d.ContentDocumentIndex; r != nil {
		for k, i := range r.Index {
			all[i].inner = c.docs[r.Value[k]]
		}
	}
	if r := d.InputChecked; r != nil {
		for _, i := range r.Index {
			all[i].checked = true
		}
	}
	if r := d.IsClickable; r != nil {
		for _, i := range r.Index {
			all[i].listens = true
		}
	}
	for _, r := range []*domsnapshot.RareStringData{d.InputValue, d.TextValue} {
		if r != nil {
			for k, i := range r.Index {
				all[i].field = ptr(str.at(int64(r.Value[k])))
			}
		}
	}
}

// A table is the strings of a snapshot, which the rest of it names by number.
type table []string

// at returns a string, or "" for a number that the table does not have.
func (t table) at(i int64) string {
	if i < 0 || int(i) >= len(t) {
		return ""
	}
	return t[i]
}
