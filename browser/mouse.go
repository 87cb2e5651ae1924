package browser

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
)

// A Button is one of a mouse, and how often it is pressed.
type Button struct {
	Right bool
	Count int    // 0: once
	At    *Point // within the element; nil: its middle
}

// Click clicks on an element and waits until what that set off at once has
// come to rest. For what comes with the next frame, see [Tab.Rest].
func (t *Tab) Click(ctx context.Context, el *Element, how Button) (Outcome, error) {
	return t.clicking(ctx, el, func(ctx context.Context) error {
		if done, err := t.strike(ctx, el, how); done {
			return err
		}
		p, err := t.reach(ctx, el, how.At)
		if err != nil {
			return err
		}
		return t.mouse(ctx, presses(p, how)...) // the mouse is there
	})
}

// clicking is do for what waits for no frame, and owes it.
func (t *Tab) clicking(ctx context.Context, el *Element, what func(context.Context) error) (Outcome, error) {
	return t.doing(ctx, el, t.ran, func(ctx context.Context) error {
		was := t.before()
		t.b.note(func() { t.owes = &was })
		return what(ctx)
	})
}

// strike clicks on an element that can be clicked at once: it takes no frame
// to be drawn, since a guard in the page stops what would hit something else.
// It reports false if it did not click, which has to be done with more care.
// Elsewhere than in the page's own process, what was drawn last matters.
func (t *Tab) strike(ctx context.Context, el *Element, how Button) (bool, error) {
	if how.At != nil || el.s != t.s || t.divided() {
		return false, nil
	}
	id, err := t.object(ctx, el.ref)
	if err != nil {
		return false, nil
	}
	at, err := t.aim(ctx, el, id)
	if err != nil || at == nil {
		return false, nil
	}
	if err := t.press(ctx, *at, how); err != nil {
		t.s.send(runtime.CommandCallFunctionOn, onObject(id, struckJS)) // it guards no longer
		return true, err
	}
	var hit bool
	if t.callOn(ctx, t.s, id, struckJS, &hit) != nil {
		return true, cause(ctx, ctx.Err()) // the document has gone with it
	}
	return hit, nil
}

// divided reports whether the page has frames in other processes.
func (t *Tab) divided() bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return len(t.frames) > 0
}

// aim scrolls an element into view, and returns where it can be hit, which is
// guarded then. It is nil where that is not to be seen at once.
func (t *Tab) aim(ctx context.Context, el *Element, id runtime.RemoteObjectID) (at *Point, err error) {
	ctx, done := t.hanging(ctx)
	defer done()
	if _, err := t.s.send("DOM.scrollIntoViewIfNeeded", map[string]any{"backendNodeId": el.node}); err != nil {
		return nil, err
	}
	return at, t.callOn(ctx, t.s, id, "function () { return ("+aimJS+").call(this, "+readyJS+", "+hitJS+") }", &at)
}

// reach moves the mouse to an element, and again if the element moved away
// from it, as it does when a menu closes that the mouse has left.
func (t *Tab) reach(ctx context.Context, el *Element, at *Point) (Point, error) {
	for try := 0; ; try++ {
		p, err := t.point(ctx, el, at)
		if err != nil {
			return p, err
		}
		// The browser finds the process that an event is for by what was
		// drawn last: after scrolling, each has to have drawn.
		for s := el.s; s != t.s && s != nil; s = s.parent {
			for range 2 {
				if err := errors.Join(t.drawnIn(ctx, s), t.drawn(ctx)); err != nil {
					return p, err
				}
			}
		}
		if err := t.mouse(ctx, mouse(input.DispatchMouseEventTypeMouseMoved, p)); err != nil {
			return p, err
		}
		again, err := t.look(ctx, el, at)
		if err == nil && again == p {
			return p, nil
		}
		if try == 5 {
			return p, blocked("it moves away from the mouse")
		}
	}
}

// ClickAt clicks at a place in the view.
func (t *Tab) ClickAt(ctx context.Context, p Point, how Button) (Outcome, error) {
	return t.clicking(ctx, nil, func(ctx context.Context) error { return t.press(ctx, p, how) })
}

// Hover moves the mouse over an element.
func (t *Tab) Hover(ctx context.Context, el *Element) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		_, err := t.reach(ctx, el, nil)
		return err
	})
}

func mouse(kind input.DispatchMouseEventType, p Point) input.DispatchMouseEventParams {
	return input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y}
}

// press moves the mouse to a place and clicks there. The events are sent
// without waiting in between: they are taken in that order.
func (t *Tab) press(ctx context.Context, p Point, how Button) error {
	move := mouse(input.DispatchMouseEventTypeMouseMoved, p)
	return t.mouse(ctx, append([]input.DispatchMouseEventParams{move}, presses(p, how)...)...)
}

// presses are the events of a click.
func presses(p Point, how Button) (events []input.DispatchMouseEventParams) {
	button, buttons := input.MouseButtonLeft, int64(1)
	if how.Right {
		button, buttons = input.MouseButtonRight, 2
	}
	for n := range max(1, how.Count) {
		down, up := mouse(input.DispatchMouseEventTypeMousePressed, p), mouse(input.DispatchMouseEventTypeMouseReleased, p)
		down.Button, down.Buttons, down.ClickCount = button, buttons, int64(n+1)
		up.Button, up.ClickCount = button, int64(n+1)
		events = append(events, down, up)
	}
	return events
}

// mouse sends events of the mouse, and waits until the page has taken them.
func (t *Tab) mouse(ctx context.Context, events ...input.DispatchMouseEventParams) error {
	return sendAll(ctx, t, "the mouse", input.CommandDispatchMouseEvent, events)
}

// sendAll sends commands without waiting in between, and waits until the page
// has taken them all. An error says what they are of.
func sendAll[P any](ctx context.Context, t *Tab, of, method string, params []P) error {
	var waits []func(context.Context, any) error
	for _, p := range params {
		wait, err := t.s.send(method, p)
		if err != nil {
			return err
		}
		waits = append(waits, wait)
	}
	ctx, done := t.hanging(ctx)
	defer done()
	for _, wait := range waits {
		if err := wait(ctx, nil); err != nil {
			return cause(ctx, fmt.Errorf("%s: %w", of, err))
		}
	}
	return nil
}
