package browser

import (
	"context"
	_ "embed"
	"errors"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
)

var (
	//go:embed js/options.js
	optionsJS string
	//go:embed js/select.js
	selectJS string
	//go:embed js/scroll.js
	scrollJS string
)

// An Option is one of a drop-down.
type Option struct {
	Index    int    `json:"index"`
	Text     string `json:"text"`
	Value    string `json:"value"`
	Selected bool   `json:"selected"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Options returns the options of a drop-down: of a <select>, or of an element with
// that role, whose options are in it or in the list that it names.
func (t *Tab) Options(ctx context.Context, el *Element) ([]Option, error) {
	var all []Option
	_, err := t.do(ctx, el, func(ctx context.Context) error { return t.call(ctx, el.ref, optionsJS, &all) })
	return all, err
}

// Select chooses options of a <select> by their texts or values. More than one
// can be chosen only where the element allows it.
func (t *Tab) Select(ctx context.Context, el *Element, options ...string) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		return t.call(ctx, el.ref, selectJS, nil, options)
	})
}

// Scroll scrolls what an element is in, or the page if el is nil, by a number of
// pixels; 0 means a whole view. It returns how many pixels it has scrolled.
func (t *Tab) Scroll(ctx context.Context, el *Element, pixels int, up bool) (int, Outcome, error) {
	sign := 1
	if up {
		sign = -1
	}
	moved := 0
	out, err := t.do(ctx, el, func(ctx context.Context) error {
		r, err := t.refOf(ctx, el)
		if err != nil {
			return err
		}
		return t.call(ctx, r, scrollJS, &moved, sign*pixels, sign)
	})
	if moved == 0 && err == nil && el != nil {
		return t.wheel(ctx, el, pixels, sign)
	}
	return max(moved, -moved), out, err
}

// wheel turns the wheel of the mouse over an element, for lists that scroll by a script of
// theirs. It returns by how many pixels, or 0 if the page is as before.
func (t *Tab) wheel(ctx context.Context, el *Element, pixels, sign int) (int, Outcome, error) {
	if pixels == 0 {
		pixels = 400
	}
	before := t.fingerprint(ctx)
	out, err := t.do(ctx, el, func(ctx context.Context) error {
		p, err := t.point(ctx, el, nil)
		if err != nil {
			return err
		}
		turn := map[string]any{"type": "mouseWheel", "x": p.X, "y": p.Y, "deltaX": 0, "deltaY": sign * pixels}
		return sendAll(ctx, t, "the mouse", input.CommandDispatchMouseEvent, []map[string]any{turn})
	})
	var why blocked
	if errors.As(err, &why) || err == nil && before == t.fingerprint(ctx) {
		return 0, out, nil
	}
	return pixels, out, err
}

// ScrollTo scrolls to the first place on the page that has the text, in frames too. A text
// that is nowhere on the page is an error.
func (t *Tab) ScrollTo(ctx context.Context, text string) (Outcome, error) {
	return t.do(ctx, nil, func(ctx context.Context) error {
		docs, _, err := t.capture(ctx)
		if err != nil {
			return err
		}
		n := findText(docs, text)
		if n == nil {
			return errors.New("the page has no such text")
		}
		p := dom.ScrollIntoViewIfNeededParams{BackendNodeID: n.id}
		return staleOr(n.doc.s.Call(ctx, dom.CommandScrollIntoViewIfNeeded, p, nil))
	})
}

// Upload puts files into a file field. el may also be a button that opens a file
// chooser; if it is nil, the files go to the chooser that is open. The browser
// reads the files later, so they have to stay where they are.
func (t *Tab) Upload(ctx context.Context, el *Element, files ...string) (Outcome, error) {
	open := locked(t.b, func() *chooser { return t.chooser })
	return t.do(ctx, el, func(ctx context.Context) error {
		to := open
		switch {
		case el != nil && el.Kind == "file":
			to = &chooser{el.s, el.node}
		case el != nil:
			var err error
			if to, err = t.openChooser(ctx, el); err != nil {
				return err
			}
		case open == nil:
			return errors.New("the page has not asked for a file: give the index of the <input file>")
		}
		p := dom.SetFileInputFilesParams{Files: files, BackendNodeID: to.node}
		_, err := cdp.Call(ctx, to.s, dom.SetFileInputFiles, p)
		return staleOr(err)
	})
}

// openChooser clicks a button and waits for the file chooser that it opens.
func (t *Tab) openChooser(ctx context.Context, el *Element) (*chooser, error) {
	p, err := t.point(ctx, el, nil)
	if err != nil {
		return nil, err
	}
	if err := t.press(ctx, p, Button{}); err != nil {
		return nil, err
	}
	short, cancel := context.WithTimeout(ctx, frameTime)
	defer cancel()
	if t.b.wait(short, func() bool { return t.chooser != nil }) != nil {
		return nil, errors.New("it is not a file field, and opened no file chooser:" +
			" click what opens one, or name the <input file>")
	}
	return locked(t.b, func() *chooser { return t.chooser }), nil
}
