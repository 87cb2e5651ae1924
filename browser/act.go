package browser

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
)

const (
	readyTime = 5 * time.Second  // how long an action waits for its element, at least
	minLooks  = 10               // how often it looks for it, at least: a busy machine is slow
	hangTime  = 20 * time.Second // how long a page may take for what takes no time
)

// errHung is the error of a page whose scripts do not come to an end.
var errHung = errors.New("the page does not answer, since its scripts do not end: they were stopped; refresh it, or go elsewhere")

// The functions that run in the page, each a file that can be read.
var (
	//go:embed js/ready.js
	readyJS string
	//go:embed js/hit.js
	hitJS string
	//go:embed js/aim.js
	aimJS string
	//go:embed js/struck.js
	struckJS string
	//go:embed js/prepare.js
	prepareJS string
	//go:embed js/options.js
	optionsJS string
	//go:embed js/select.js
	selectJS string
	//go:embed js/scroll.js
	scrollJS string
)

// A blocked is why an element cannot be acted upon yet.
type blocked string

func (b blocked) Error() string { return string(b) }

// point waits until an element is visible, still, enabled and not covered, and
// returns a place where it can be hit; at, if not nil, is a place within it. An
// element is given up when time has passed and it was looked for often enough:
// a look that is cut short would say nothing of the page.
func (t *Tab) point(ctx context.Context, el *Element, at *Point) (Point, error) {
	began := time.Now()
	for look := 1; ; look++ {
		p, err := t.look(ctx, el, at)
		var why blocked
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return p, cause(ctx, err)
		case !errors.As(err, &why), look >= minLooks && time.Since(began) >= t.b.patience:
			return p, err
		}
		// It may come with the next frame that is drawn.
		if err := t.drawn(ctx); err != nil {
			return p, cause(ctx, err)
		}
	}
}

// look is tryPoint, with an end where the page does not answer.
func (t *Tab) look(ctx context.Context, el *Element, at *Point) (Point, error) {
	ctx, done := t.hanging(ctx)
	defer done()
	p, err := t.tryPoint(ctx, el, at)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return p, err
}

// hanging limits what a page answers at once, unless its scripts do not end:
// then they are stopped, and [cause] says so. A page that shows one dialog
// after the other does not hang.
func (t *Tab) hanging(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		for seen := -1; ; {
			t.b.mu.Lock()
			shown := t.shown
			t.b.mu.Unlock()
			if shown == seen {
				t.interrupt()
				cancel(errHung)
				return
			}
			seen = shown
			select {
			case <-ctx.Done():
				return
			case <-time.After(t.b.hang):
			}
		}
	}()
	return ctx, func() { cancel(nil); <-watch }
}

// interrupt ends the scripts that run in the page and its frames.
func (t *Tab) interrupt() {
	t.b.mu.Lock()
	sessions := append([]*session{t.s}, t.frames...)
	t.b.mu.Unlock()
	for _, s := range sessions {
		s.send(runtime.CommandTerminateExecution, nil)
	}
}

func (t *Tab) tryPoint(ctx context.Context, el *Element, at *Point) (Point, error) {
	id, err := t.object(ctx, el.ref)
	if err != nil {
		return Point{}, err
	}
	scroll, err := el.s.send("DOM.scrollIntoViewIfNeeded", map[string]any{"backendNodeId": el.node})
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
		return Point{}, blocked("it has no place on the page: it is hidden, or was taken away")
	}
	var q quads
	if err := el.s.Call(ctx, "DOM.getContentQuads", map[string]any{"backendNodeId": el.node}, &q); err != nil {
		return Point{}, blocked("it has no place on the page: it is hidden, or was taken away")
	}
	local, ok := q.middle()
	if !ok {
		return Point{}, blocked("it has no size: it is hidden")
	}
	if at != nil && len(q.Quads[0]) == 8 {
		local = Point{q.Quads[0][0] + at.X, q.Quads[0][1] + at.Y}
	}
	return t.uncovered(ctx, el, id, local)
}

// uncovered checks that what would be hit at a place is the element, in its
// own process and in those around it, and returns the place in the tab's view.
func (t *Tab) uncovered(ctx context.Context, el *Element, id runtime.RemoteObjectID, local Point) (Point, error) {
	var around []owner
	at := local
	for s := el.s; s != t.s && s.parent != nil && s.parent.id != ""; s = s.parent {
		o, err := t.ownerOf(ctx, s, at)
		if err != nil {
			return at, err
		}
		at.X, at.Y = at.X+o.at.X, at.Y+o.at.Y
		around = append(around, o)
	}
	if err := t.hits(ctx, el.ref, id, local); err != nil {
		return at, err
	}
	for _, o := range around {
		local.X, local.Y = local.X+o.at.X, local.Y+o.at.Y
		if err := t.hits(ctx, o.ref, "", local); err != nil {
			return at, err
		}
	}
	return at, nil
}

// owner is the element of a frame that has a process of its own.
type owner struct {
	ref
	at Point // where the frame's view begins
}

// ownerOf finds the element of a frame, and scrolls a place of the frame into
// view.
func (t *Tab) ownerOf(ctx context.Context, s *session, place Point) (owner, error) {
	o := owner{ref: ref{s: s.parent, frame: cdp.FrameID(s.parent.target)}}
	var res struct {
		Node cdp.BackendNodeID `json:"backendNodeId"`
	}
	if err := s.parent.Call(ctx, "DOM.getFrameOwner", map[string]any{"frameId": s.target}, &res); err != nil {
		return o, staleOr(err)
	}
	o.node = res.Node
	scroll := map[string]any{"backendNodeId": o.node, "rect": map[string]float64{"x": place.X - 5, "y": place.Y - 5, "width": 10, "height": 10}}
	if err := s.parent.Call(ctx, "DOM.scrollIntoViewIfNeeded", scroll, nil); err != nil {
		return o, blocked("its frame is hidden")
	}
	var box struct {
		Model struct {
			Content []float64 `json:"content"`
		} `json:"model"`
	}
	if err := s.parent.Call(ctx, "DOM.getBoxModel", map[string]any{"backendNodeId": o.node}, &box); err != nil || len(box.Model.Content) < 2 {
		return o, blocked("its frame is hidden")
	}
	o.at = Point{box.Model.Content[0], box.Model.Content[1]}
	return o, nil
}

// hits checks that what is at a place of a process is a node, or in it.
func (t *Tab) hits(ctx context.Context, r ref, id runtime.RemoteObjectID, at Point) error {
	var hit struct {
		Node  cdp.BackendNodeID `json:"backendNodeId"`
		Frame cdp.FrameID       `json:"frameId"`
	}
	// It wants a place in the document, not in the view.
	var m struct {
		View struct {
			X float64 `json:"pageX"`
			Y float64 `json:"pageY"`
		} `json:"cssLayoutViewport"`
	}
	if err := r.s.Call(ctx, "Page.getLayoutMetrics", nil, &m); err != nil {
		return err
	}
	err := r.s.Call(ctx, "DOM.getNodeForLocation", map[string]any{"x": int(at.X + m.View.X), "y": int(at.Y + m.View.Y)}, &hit)
	if err != nil {
		return blocked("it is outside of the view, and cannot be scrolled there")
	}
	if hit.Node == r.node {
		return nil
	}
	if hit.Frame != "" && hit.Frame != r.frame {
		return blocked("it is covered by something outside of its frame: close that, or scroll")
	}
	if id == "" {
		if id, err = t.object(ctx, r); err != nil {
			return err
		}
	}
	other, err := t.object(ctx, ref{r.s, r.frame, hit.Node})
	if err != nil { // of another frame, which lies over it
		return blocked("it is covered by something that is no part of its document")
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

// do does something to the page, and waits until what it set off has come to
// rest. A dialog that opens meanwhile ends it, and is an outcome.
func (t *Tab) do(ctx context.Context, el *Element, what func(context.Context) error) (Outcome, error) {
	return t.doing(ctx, el, t.drawn, what)
}

// doing is do, which has come to rest at first when due says so.
func (t *Tab) doing(ctx context.Context, el *Element, due, what func(context.Context) error) (Outcome, error) {
	ctx, done, err := t.act(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	was := t.before()
	err = cause(ctx, what(ctx))
	if el != nil {
		t.release(el.s)
	}
	if err != nil && !errors.Is(err, errDialog) && !errors.Is(err, errGone) {
		return Outcome{}, err
	}
	out, err := t.after(ctx, was, due)
	return out, cause(ctx, err)
}
