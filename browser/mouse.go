package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
)

var (
	//go:embed js/aim.js
	aimJS string
	//go:embed js/struck.js
	struckJS string
)

// A Button says how a click is made. The zero value is one click with the left
// button in the middle of the element.
type Button struct {
	Right bool
	Count int    // how often the button is pressed; 0 means once
	At    *Point // from the element's upper left corner; nil means its middle
}

// Click clicks an element and waits until the immediate effects have settled. For
// those that come with the next frame, see [Tab.Rest]. If the element cannot be
// hit, the error says what is in the way.
func (t *Tab) Click(ctx context.Context, el *Element, how Button) (Outcome, error) {
	return t.clicking(ctx, el, func(ctx context.Context) error {
		if done, err := t.clickGuarded(ctx, el, how); done {
			return err
		}
		p, err := t.reach(ctx, el, how.At)
		if err != nil {
			return err
		}
		return t.mouse(ctx, presses(p, how)...) // the mouse is there already
	})
}

// ClickAt clicks at a place in the view.
func (t *Tab) ClickAt(ctx context.Context, p Point, how Button) (Outcome, error) {
	return t.clicking(ctx, nil, func(ctx context.Context) error { return t.press(ctx, p, how) })
}

// clicking is do for a click: it does not wait for the next frame, and leaves
// that to whatever looks at the page next.
func (t *Tab) clicking(ctx context.Context, el *Element, click func(context.Context) error) (Outcome, error) {
	return t.doUntil(ctx, el, t.ran, func(ctx context.Context) error {
		before := t.snapshot()
		t.b.note(func() { t.pending = &before })
		return click(ctx)
	})
}

// clickGuarded clicks an element at once if it can be hit now. It is the fast way,
// since it needs no frame to be drawn: between the check and the press the page
// may change, so aim.js sets a guard in the page that suppresses a press which
// would hit something else. It reports false if it has not clicked the element,
// which then takes more care. It is not for elements in other processes, where
// what was drawn last decides which process gets an event.
func (t *Tab) clickGuarded(ctx context.Context, el *Element, how Button) (bool, error) {
	if how.At != nil || el.s != t.s || len(t.sessions()) > 1 {
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
		t.s.send(runtime.CommandCallFunctionOn, onObject(id, struckJS)) // remove the guard
		return true, err
	}
	var hit bool
	if t.callOn(ctx, t.s, id, struckJS, &hit) != nil {
		return true, cause(ctx, ctx.Err()) // the click replaced the document
	}
	return hit, nil
}

// aim scrolls an element into view, sets the guard, and returns where the element
// can be hit; nil if that is not known at once.
func (t *Tab) aim(ctx context.Context, el *Element, id runtime.RemoteObjectID) (at *Point, err error) {
	ctx, done := t.hanging(ctx)
	defer done()
	scroll := dom.ScrollIntoViewIfNeededParams{BackendNodeID: el.node}
	if _, err := t.s.send(dom.CommandScrollIntoViewIfNeeded, scroll); err != nil {
		return nil, err
	}
	aim := "function () { return (" + aimJS + ").call(this, " + readyJS + ", " + hitJS + ") }"
	return at, t.callOn(ctx, t.s, id, aim, &at)
}

// reach moves the mouse to an element. If the element then moves away, as it does
// when a menu closes that the mouse has left, it tries again.
func (t *Tab) reach(ctx context.Context, el *Element, offset *Point) (Point, error) {
	for try := 0; ; try++ {
		p, err := t.point(ctx, el, offset)
		if err != nil {
			return p, err
		}
		// The browser finds the process that gets an event by what was drawn last.
		// After scrolling, each process around the element has to draw.
		for s := el.s; s != t.s && s != nil; s = s.parent {
			for range 2 {
				if err := errors.Join(t.await(ctx, s, drawnJS), t.drawn(ctx)); err != nil {
					return p, err
				}
			}
		}
		if err := t.mouse(ctx, mouseEvent(input.DispatchMouseEventTypeMouseMoved, p)); err != nil {
			return p, err
		}
		again, err := t.look(ctx, el, offset)
		if err == nil && again == p {
			return p, nil
		}
		if try == 5 {
			return p, blocked("it moves away from the mouse")
		}
	}
}

// Hover moves the mouse over an element and waits until the effects have settled. The
// element is scrolled into view first. It is an error if something covers it or it is
// gone.
func (t *Tab) Hover(ctx context.Context, el *Element) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		_, err := t.reach(ctx, el, nil)
		return err
	})
}

// mouseEvent returns an event of the mouse without a button.
func mouseEvent(kind input.DispatchMouseEventType, p Point) input.DispatchMouseEventParams {
	return input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y}
}

// press moves the mouse to a place and clicks there.
func (t *Tab) press(ctx context.Context, p Point, how Button) error {
	move := mouseEvent(input.DispatchMouseEventTypeMouseMoved, p)
	return t.mouse(ctx, append([]input.DispatchMouseEventParams{move}, presses(p, how)...)...)
}

// presses returns the events of a click.
func presses(p Point, how Button) (events []input.DispatchMouseEventParams) {
	button, buttons := input.MouseButtonLeft, int64(1)
	if how.Right {
		button, buttons = input.MouseButtonRight, 2
	}
	for n := range max(1, how.Count) {
		down := mouseEvent(input.DispatchMouseEventTypeMousePressed, p)
		down.Button, down.Buttons, down.ClickCount = button, buttons, int64(n+1)
		up := mouseEvent(input.DispatchMouseEventTypeMouseReleased, p)
		up.Button, up.ClickCount = button, int64(n+1)
		events = append(events, down, up)
	}
	return events
}

// mouse sends mouse events and waits until the page has handled them.
func (t *Tab) mouse(ctx context.Context, events ...input.DispatchMouseEventParams) error {
	return sendAll(ctx, t, "the mouse", input.CommandDispatchMouseEvent, events)
}

// sendAll sends the same command with several parameters, without waiting in
// between, and then waits for all of them. The browser answers an input event when
// the page has handled it, so a handler that does not end is found here. device is
// named in an error.
func sendAll[P any](ctx context.Context, t *Tab, device, method string, params []P) error {
	var replies []reply
	for _, p := range params {
		r, err := t.s.send(method, p)
		if err != nil {
			return err
		}
		replies = append(replies, r)
	}
	ctx, done := t.hanging(ctx)
	defer done()
	for _, r := range replies {
		if err := r(ctx, nil); err != nil {
			return cause(ctx, fmt.Errorf("%s: %w", device, err))
		}
	}
	return nil
}

// dragSteps is how many moves of the mouse a drag is made of.
const dragSteps = 6

// Drag drags an element to another one, or to a place. With to, at is the place
// within it, and nil its middle; without to, at is the place from the middle of
// the dragged element. It works for pages that follow the mouse and for those
// that use the drag and drop of HTML.
func (t *Tab) Drag(ctx context.Context, el, to *Element, at *Point) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		from, err := t.point(ctx, el, nil)
		if err != nil {
			return err
		}
		end := from
		if to != nil {
			if end, err = t.point(ctx, to, at); err != nil {
				return err
			}
			if from, err = t.point(ctx, el, nil); err != nil { // the page may have scrolled
				return err
			}
		} else if at != nil {
			end = Point{from.X + at.X, from.Y + at.Y}
		}
		return t.dragMouse(ctx, from, end)
	})
}

// dragMouse drags from one place to another. An HTML drag, which the browser would
// hand to the drag and drop of the system, is intercepted and carried out here.
func (t *Tab) dragMouse(ctx context.Context, from, to Point) error {
	intercept := input.SetInterceptDragsParams{Enabled: true}
	if err := t.s.Call(ctx, input.CommandSetInterceptDrags, intercept, nil); err != nil {
		return err
	}
	defer t.s.send(input.CommandSetInterceptDrags, input.SetInterceptDragsParams{})
	t.b.note(func() { t.drag = nil })
	click := presses(from, Button{})
	if err := t.mouse(ctx, mouseEvent(input.DispatchMouseEventTypeMouseMoved, from), click[0]); err != nil {
		return err
	}
	var drag *input.DragData // set as soon as the page begins an HTML drag
	for i := 1; i <= dragSteps; i++ {
		f := float64(i) / dragSteps
		p := Point{from.X + (to.X-from.X)*f, from.Y + (to.Y-from.Y)*f}
		if drag == nil {
			move := mouseEvent(input.DispatchMouseEventTypeMouseMoved, p)
			move.Button, move.Buttons = input.MouseButtonLeft, 1
			if err := t.mouse(ctx, move); err != nil {
				return err
			}
			t.b.note(func() { drag = t.drag })
			if drag == nil || t.dragEvent(ctx, input.DispatchDragEventTypeDragEnter, p, drag) == nil {
				continue
			}
		}
		if err := t.dragEvent(ctx, input.DispatchDragEventTypeDragOver, p, drag); err != nil {
			return err
		}
	}
	if drag, err := t.holdDrag(ctx, to, drag); err != nil {
		return err
	} else if err := t.drop(ctx, to, drag); err != nil {
		return err
	}
	return t.mouse(ctx, presses(to, Button{})[1])
}

// A page takes note of a drag now and then, and pays no attention for a moment after it
// has moved something. A person holds what they drag before they let it go.
const (
	rests    = 4
	restTime = 60 * time.Millisecond // each
)

// holdDrag stays at the end of a drag for a moment. It returns the HTML drag, which the browser may report only
// now, or nil.
func (t *Tab) holdDrag(ctx context.Context, at Point, drag *input.DragData) (*input.DragData, error) {
	for i := range rests {
		select {
		case <-ctx.Done():
			return drag, ctx.Err()
		case <-time.After(restTime):
		}
		if drag != nil {
			if err := t.dragEvent(ctx, input.DispatchDragEventTypeDragOver, at, drag); err != nil {
				return drag, err
			}
			continue
		}
		move := mouseEvent(input.DispatchMouseEventTypeMouseMoved, Point{at.X + float64(i%2), at.Y})
		move.Button, move.Buttons = input.MouseButtonLeft, 1
		if err := t.mouse(ctx, move); err != nil {
			return drag, err
		}
		t.b.note(func() { drag = t.drag })
		if drag != nil {
			if err := t.dragEvent(ctx, input.DispatchDragEventTypeDragEnter, at, drag); err != nil {
				return drag, err
			}
		}
	}
	return drag, nil
}

// drop ends an HTML drag. The browser may report the drag only now; without one,
// drop does nothing.
func (t *Tab) drop(ctx context.Context, to Point, drag *input.DragData) error {
	kinds := []dragKind{input.DispatchDragEventTypeDrop}
	if drag == nil {
		if err := t.drawn(ctx); err != nil {
			return err
		}
		if t.b.note(func() { drag = t.drag }); drag == nil {
			return nil
		}
		kinds = []dragKind{
			input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, kinds[0]}
	}
	for _, kind := range kinds {
		if err := t.dragEvent(ctx, kind, to, drag); err != nil {
			return err
		}
	}
	return nil
}

// A dragKind is one of the steps of an HTML drag.
type dragKind = input.DispatchDragEventType

func (t *Tab) dragEvent(ctx context.Context, kind dragKind, p Point, d *input.DragData) error {
	event := input.DispatchDragEventParams{Type: kind, X: p.X, Y: p.Y, Data: d}
	return t.s.Call(ctx, input.CommandDispatchDragEvent, event, nil)
}
