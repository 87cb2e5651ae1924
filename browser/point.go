package browser

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

const (
	readyTime = 5 * time.Second  // how long an action waits for its element, at least
	minLooks  = 10               // how often it looks at the element, at least
	hangTime  = 20 * time.Second // how long a page may take to answer what takes no time
)

// errHung is the error of a page whose scripts do not end.
var errHung = errors.New(
	"the page does not answer because its scripts do not end: they were stopped; refresh it, or go elsewhere")

var (
	//go:embed js/ready.js
	readyJS string
	//go:embed js/hit.js
	hitJS string
)

// blocked is an error that says why an element cannot be acted on yet.
type blocked string

func (b blocked) Error() string { return string(b) }

const (
	blockedNoPlace = blocked("it has no place on the page: it is hidden, or was removed")
	blockedFrame   = blocked("its frame is hidden")
)

// Where an element can be hit
//
// An action is done with real input events, which hit whatever is at a place. So
// before each action its place is found and checked: the element is scrolled into
// view; ready.js says whether it is visible, enabled and still; the middle of its
// first box is the place; and what the browser finds at that place has to be the
// element, or something in it. For an element in a frame that has a process of
// its own, the same is checked for each frame around it, from the inside out. If
// anything fails, the error is a blocked, which may be over after the next frame
// that the page draws.

// point waits until an element is visible, still, enabled and not covered, and
// returns a place in the view where it can be hit. offset, if not nil, is the
// wanted place from the element's upper left corner. point gives up when the
// patience of the browser has passed and it has looked minLooks times: on a busy
// machine, time alone says nothing about the page.
func (t *Tab) point(ctx context.Context, el *Element, offset *Point) (Point, error) {
	began := time.Now()
	for look := 1; ; look++ {
		p, err := t.look(ctx, el, offset)
		var why blocked
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return p, cause(ctx, err)
		case !errors.As(err, &why), look >= minLooks && time.Since(began) >= t.b.patience:
			return p, err
		}
		if err := t.drawn(ctx); err != nil { // the next frame may change it
			return p, cause(ctx, err)
		}
	}
}

// look is tryPoint with a limit for a page that hangs.
func (t *Tab) look(ctx context.Context, el *Element, offset *Point) (Point, error) {
	ctx, done := t.hanging(ctx)
	defer done()
	p, err := t.tryPoint(ctx, el, offset)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return p, err
}

// hanging returns a context for commands that a page answers at once unless its
// scripts do not end. If they have not been answered after the hang time, it
// stops the scripts and ends the context with errHung. A page that shows one
// dialog after the other does not hang.
func (t *Tab) hanging(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for last := -1; ; {
			dialogs := locked(t.b, func() int { return t.dialogCount })
			if dialogs == last {
				for _, s := range t.sessions() {
					s.send(runtime.CommandTerminateExecution, nil)
				}
				cancel(errHung)
				return
			}
			last = dialogs
			select {
			case <-ctx.Done():
				return
			case <-time.After(t.b.hang):
			}
		}
	}()
	return ctx, func() { cancel(nil); <-watched }
}

// tryPoint scrolls an element, or the label that stands for it, into view and returns
// where it can be hit now, or a blocked.
func (t *Tab) tryPoint(ctx context.Context, el *Element, offset *Point) (Point, error) {
	p, err := t.tryElement(ctx, el, offset)
	var why blocked
	if el.label == 0 || !errors.As(err, &why) {
		return p, err
	}
	label := *el
	label.node, label.label = el.label, 0
	return t.tryElement(ctx, &label, offset)
}

func (t *Tab) tryElement(ctx context.Context, el *Element, offset *Point) (Point, error) {
	id, err := t.object(ctx, el.ref)
	if err != nil {
		return Point{}, err
	}
	intoView := dom.ScrollIntoViewIfNeededParams{BackendNodeID: el.node}
	scroll, err := el.s.send(dom.CommandScrollIntoViewIfNeeded, intoView)
	if err != nil {
		return Point{}, err
	}
	var not string
	if err := t.callOn(ctx, el.s, id, readyJS, &not); err != nil {
		return Point{}, err
	}
	if not != "" {
		return Point{}, blocked(not)
	}
	if err := scroll(ctx, nil); err != nil && errors.Is(staleOr(err), errStale) {
		return Point{}, blockedNoPlace
	}
	boxes, err := cdp.Call(ctx, el.s, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: el.node})
	if err != nil {
		return Point{}, blockedNoPlace
	}
	place, ok := middle(boxes.Quads)
	if !ok {
		return Point{}, blocked("it has no size: it is hidden")
	}
	if first := boxes.Quads[0]; offset != nil && len(first) == 8 {
		place = Point{first[0] + offset.X, first[1] + offset.Y}
	}
	return t.uncovered(ctx, el, id, place)
}

// middle returns the middle of the first quadrilateral that is large enough to be
// hit. Each is four corners: x and y, eight numbers.
func middle(quads []dom.Quad) (Point, bool) {
	for _, q := range quads {
		if len(q) != 8 {
			continue
		}
		w := max(q[0], q[2], q[4], q[6]) - min(q[0], q[2], q[4], q[6])
		h := max(q[1], q[3], q[5], q[7]) - min(q[1], q[3], q[5], q[7])
		if w > 0.5 && h > 0.5 {
			return Point{(q[0] + q[2] + q[4] + q[6]) / 4, (q[1] + q[3] + q[5] + q[7]) / 4}, true
		}
	}
	return Point{}, false
}

// uncovered checks that a click at a place in the view of the element's process
// hits the element, there and in the processes around it. It returns the place in
// the view of the tab, which is what input events take. id is the element as a
// value of our world.
func (t *Tab) uncovered(
	ctx context.Context, el *Element, id runtime.RemoteObjectID, place Point,
) (Point, error) {
	var around []frameElement
	at := place
	for s := el.s; s != t.s && s.parent != nil && s.parent.id != ""; s = s.parent {
		f, err := t.frameElement(ctx, s, at)
		if err != nil {
			return at, err
		}
		at.X, at.Y = at.X+f.at.X, at.Y+f.at.Y
		around = append(around, f)
	}
	if err := t.hits(ctx, el.ref, id, place); err != nil {
		return at, err
	}
	for _, f := range around {
		place.X, place.Y = place.X+f.at.X, place.Y+f.at.Y
		if err := t.hits(ctx, f.ref, "", place); err != nil {
			return at, err
		}
	}
	return at, nil
}

// A frameElement is the <iframe> of a frame that has a process of its own.
type frameElement struct {
	ref
	at Point // where the view of the frame begins in the view around it
}

// frameElement finds the element of a frame and scrolls a place of the frame into
// view.
func (t *Tab) frameElement(ctx context.Context, s *session, place Point) (f frameElement, err error) {
	f.s, f.frame = s.parent, cdp.FrameID(s.parent.target)
	res, err := cdp.Call(ctx, f.s, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: cdp.FrameID(s.target)})
	if err != nil {
		return f, staleOr(err)
	}
	f.node = res.BackendNodeID
	scroll := dom.ScrollIntoViewIfNeededParams{
		BackendNodeID: f.node,
		Rect:          &dom.Rect{X: place.X - 5, Y: place.Y - 5, Width: 10, Height: 10},
	}
	if _, err := cdp.Call(ctx, f.s, dom.ScrollIntoViewIfNeeded, scroll); err != nil {
		return f, blockedFrame
	}
	box, err := cdp.Call(ctx, f.s, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: f.node})
	if err != nil || box.Model == nil || len(box.Model.Content) < 2 {
		return f, blockedFrame
	}
	f.at = Point{box.Model.Content[0], box.Model.Content[1]}
	return f, nil
}

// hits checks that a click at a place in the view of a process hits a node or
// what is in it. id is the node as a value of our world, if the caller has it. If
// something else is there, hit.js decides whether that counts as the node, as a
// label does for its field, and else describes it for the error.
func (t *Tab) hits(ctx context.Context, r ref, id runtime.RemoteObjectID, at Point) error {
	m, err := cdp.Call(ctx, r.s, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return err
	}
	if v := m.CSSLayoutViewport; v != nil { // the command takes a place in the document, not in the view
		at.X, at.Y = at.X+float64(v.PageX), at.Y+float64(v.PageY)
	}
	p := dom.GetNodeForLocationParams{X: int64(at.X), Y: int64(at.Y)}
	hit, err := cdp.Call(ctx, r.s, dom.GetNodeForLocation, p)
	switch {
	case err != nil:
		return blocked("it is outside of the view, and cannot be scrolled there")
	case hit.BackendNodeID == r.node:
		return nil
	case hit.FrameID != "" && hit.FrameID != r.frame:
		return blocked("it is covered by something outside of its frame: close that, or scroll")
	}
	if id == "" {
		if id, err = t.object(ctx, r); err != nil {
			return err
		}
	}
	other, err := t.object(ctx, ref{r.s, r.frame, hit.BackendNodeID})
	if err != nil { // it belongs to another frame
		return blocked("it is covered by something outside of its document")
	}
	var cover string
	if err := t.callOn(ctx, r.s, id, hitJS, &cover, other); err != nil {
		return err
	}
	if cover != "" {
		return blocked("it is covered by " + cover + ": close that, or scroll")
	}
	return nil
}
