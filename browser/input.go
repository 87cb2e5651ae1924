package browser

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// typed is how many characters are typed key by key. More are put in at once.
const typed = 200

// Type puts text into a field, in place of what is in it. No text empties it.
func (t *Tab) Type(ctx context.Context, el *Element, text string) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		if el.Kind != "file" {
			if _, err := t.point(ctx, el, nil); err != nil {
				return err
			}
		}
		var how string
		if err := t.call(ctx, el.ref, prepareJS, &how, text); err != nil || how == "set" {
			return err
		}
		if text == "" {
			return t.keys(ctx, kb.Encode([]rune(kb.Delete)[0])...)
		}
		return t.write(ctx, text, el.Tag != "textarea" && el.Tag != "div")
	})
}

// write types text where the focus is. A line break is the key Enter only if
// it ends what goes into a single line.
func (t *Tab) write(ctx context.Context, text string, single bool) error {
	plain := strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' && !(single && r == '\n') }) < 0
	if plain && len(text) <= typed {
		var events []*input.DispatchKeyEventParams
		for _, r := range text {
			events = append(events, kb.Encode(r)...)
		}
		return t.keys(ctx, events...)
	}
	_, err := cdp.Call(ctx, t.s, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// keys sends events of the keyboard, and waits until the page has taken them.
func (t *Tab) keys(ctx context.Context, events ...*input.DispatchKeyEventParams) error {
	return sendAll(ctx, t, "the keyboard", input.CommandDispatchKeyEvent, events)
}

// Keys presses keys: names such as Enter or Control+a, one after the other
// with spaces between. What is no such name is typed as it is.
func (t *Tab) Keys(ctx context.Context, keys string) (Outcome, error) {
	return t.do(ctx, nil, func(ctx context.Context) error {
		var events []*input.DispatchKeyEventParams
		for _, word := range strings.Fields(keys) {
			combo, ok := chord(word)
			if !ok {
				return t.write(ctx, keys, true)
			}
			events = append(events, combo...)
		}
		if len(events) == 0 {
			return t.write(ctx, keys, true)
		}
		return t.keys(ctx, events...)
	})
}

// named are keys that have names.
func namedKey(name string) (rune, bool) {
	names := map[string]string{
		"enter": kb.Enter, "return": kb.Enter, "tab": kb.Tab, "escape": kb.Escape, "esc": kb.Escape, "backspace": kb.Backspace,
		"delete": kb.Delete, "insert": kb.Insert, "home": kb.Home, "end": kb.End, "pageup": kb.PageUp, "pagedown": kb.PageDown,
		"arrowup": kb.ArrowUp, "arrowdown": kb.ArrowDown, "arrowleft": kb.ArrowLeft, "arrowright": kb.ArrowRight,
		"up": kb.ArrowUp, "down": kb.ArrowDown, "left": kb.ArrowLeft, "right": kb.ArrowRight, "space": " ",
		"f1": kb.F1, "f2": kb.F2, "f3": kb.F3, "f4": kb.F4, "f5": kb.F5, "f6": kb.F6, "f7": kb.F7, "f8": kb.F8, "f9": kb.F9, "f10": kb.F10, "f11": kb.F11, "f12": kb.F12,
	}
	s, ok := names[strings.ToLower(name)]
	if !ok {
		return 0, false
	}
	return []rune(s)[0], true
}

// chord is the events of keys that are pressed together, as in Control+a.
func chord(word string) ([]*input.DispatchKeyEventParams, bool) {
	parts := strings.Split(word, "+")
	if strings.HasSuffix(word, "++") {
		parts = append(parts[:len(parts)-2], "+")
	}
	var mods int64
	for _, p := range parts[:len(parts)-1] {
		bit, ok := map[string]int64{"alt": 1, "option": 1, "control": 2, "ctrl": 2, "meta": 4, "command": 4, "cmd": 4, "shift": 8}[strings.ToLower(p)]
		if !ok {
			return nil, false
		}
		mods |= bit
	}
	last := parts[len(parts)-1]
	r, ok := namedKey(last)
	if !ok {
		runes := []rune(last)
		if len(runes) != 1 || len(parts) == 1 {
			return nil, false
		}
		r = runes[0]
	}
	var events []*input.DispatchKeyEventParams
	for _, e := range kb.Encode(r) {
		e.Modifiers |= mods
		if mods&^8 != 0 { // with more than Shift it writes nothing
			if e.Type == input.DispatchKeyEventTypeChar {
				continue
			}
			e.Text, e.UnmodifiedText = "", ""
			if c := editing(mods, r); c != "" && e.Type != input.DispatchKeyEventTypeKeyUp {
				e.Commands = []string{c}
			}
		}
		events = append(events, e)
	}
	return events, true
}

// editing is what a system does with keys in a field, which a browser without
// a window is not told.
func editing(mods int64, r rune) string {
	if mods&(2|4) == 0 {
		return ""
	}
	return map[rune]string{'a': "selectAll", 'c': "copy", 'x': "cut", 'v': "paste", 'z': "undo", 'y': "redo"}[unicode.ToLower(r)]
}

// Scroll scrolls what an element is in, or the page if el is nil: by so many
// pixels, or by a view if that is 0, down or up. It returns how far it went.
func (t *Tab) Scroll(ctx context.Context, el *Element, pixels int, up bool) (int, Outcome, error) {
	sign := 1
	if up {
		sign = -1
	}
	moved := 0
	out, err := t.do(ctx, el, func(ctx context.Context) error {
		if el != nil {
			return t.call(ctx, el.ref, scrollJS, &moved, sign*pixels, sign)
		}
		var doc struct {
			Root struct {
				Node cdp.BackendNodeID `json:"backendNodeId"`
			} `json:"root"`
		}
		if err := t.s.Call(ctx, "DOM.getDocument", map[string]int{"depth": 0}, &doc); err != nil {
			return err
		}
		return t.call(ctx, ref{t.s, cdp.FrameID(t.s.target), doc.Root.Node}, scrollJS, &moved, sign*pixels, sign)
	})
	if moved < 0 {
		moved = -moved
	}
	return moved, out, err
}

// ScrollTo scrolls to a text, wherever on the page it is.
func (t *Tab) ScrollTo(ctx context.Context, text string) (Outcome, error) {
	return t.do(ctx, nil, func(ctx context.Context) error {
		captures, _, err := t.capture(ctx)
		if err != nil {
			return err
		}
		r, ok := findText(captures, text)
		if !ok {
			return errors.New("the page has no such text")
		}
		return staleOr(r.s.Call(ctx, "DOM.scrollIntoViewIfNeeded", map[string]any{"backendNodeId": r.node}, nil))
	})
}

// findText finds the first node that shows a text, whatever its case and
// spaces; where it is broken up by tags, the node that has all of it.
func findText(captures []*capture, text string) (ref, bool) {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	want := fold(text)
	for _, c := range captures {
		for _, d := range c.docs {
			for i := range d.Nodes.NodeType {
				if l := d.layout[i]; l >= 0 && d.Nodes.NodeType[i] == 3 && strings.Contains(fold(at(c.strings, int64(d.Layout.Text[l]))), want) {
					return ref{c.s, d.frame, d.Nodes.BackendNodeID[i]}, true
				}
			}
			for i := len(d.Nodes.NodeType) - 1; i > 0; i-- { // the innermost
				var b strings.Builder
				if d.layout[i] >= 0 && d.Nodes.NodeType[i] == 1 {
					c.textIn(d, i, &b)
				}
				if strings.Contains(fold(b.String()), want) {
					return ref{c.s, d.frame, d.Nodes.BackendNodeID[i]}, true
				}
			}
		}
	}
	return ref{}, false
}

// An Option is one of a drop-down.
type Option struct {
	Index    int    `json:"index"`
	Text     string `json:"text"`
	Value    string `json:"value"`
	Selected bool   `json:"selected"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Options returns the options of a drop-down.
func (t *Tab) Options(ctx context.Context, el *Element) ([]Option, error) {
	var all []Option
	_, err := t.do(ctx, el, func(ctx context.Context) error { return t.call(ctx, el.ref, optionsJS, &all) })
	return all, err
}

// Select chooses options of a select by their texts or values.
func (t *Tab) Select(ctx context.Context, el *Element, options ...string) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error { return t.call(ctx, el.ref, selectJS, nil, options) })
}
