package browser

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

//go:embed js/prepare.js
var prepareJS string

// maxTyped is how many characters are typed key by key. A longer text is inserted
// at once.
const maxTyped = 200

// Type replaces the content of a field by a text, and waits until the effects have
// settled. An empty text empties the field. A date, a time, a colour and a range
// are set, since their widgets cannot be typed into; every other field gets the
// keys of the text.
func (t *Tab) Type(ctx context.Context, el *Element, text string) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		if el.Kind != "file" && !el.bare { // prepare.js refuses a file, which may be hidden
			_, err := t.point(ctx, el, nil)
			var why blocked
			if err != nil && !(el.Kind == "range" && errors.As(err, &why)) { // pages draw their own over it
				return err
			}
		}
		var how string
		if err := t.call(ctx, el.ref, prepareJS, &how, text); err != nil || how == "set" {
			return err
		}
		if el.editable || el.Tag == "textarea" { // an editor's own selection is not that of the browser
			all, _ := keyEvents("Control+a")
			if err := t.keys(ctx, all); err != nil {
				return err
			}
		}
		if text == "" {
			return t.keys(ctx, kb.Encode([]rune(kb.Delete)[0]))
		}
		return t.write(ctx, text, el.Tag != "textarea" && !el.editable)
	})
}

// write types a text where the focus is. singleLine says that the focus is in a
// field of one line, where a line break is the key Enter. A text that is long, or
// has characters that no keyboard has, is inserted as by an input method: pages
// get its input event and no keys.
func (t *Tab) write(ctx context.Context, text string, singleLine bool) error {
	typeable := func(r rune) bool { return r >= ' ' && r <= unicode.MaxASCII || singleLine && r == '\n' }
	if len(text) > maxTyped || strings.ContainsFunc(text, func(r rune) bool { return !typeable(r) }) {
		_, err := cdp.Call(ctx, t.s, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}
	var events []*input.DispatchKeyEventParams
	for _, r := range text {
		events = append(events, kb.Encode(r)...)
	}
	return t.keys(ctx, events)
}

// keys sends keyboard events and waits until the page has handled them.
func (t *Tab) keys(ctx context.Context, events []*input.DispatchKeyEventParams) error {
	return sendAll(ctx, t, "the keyboard", input.CommandDispatchKeyEvent, events)
}

// Keys presses keys where the focus is, one after the other: names such as Enter or
// Control+a with spaces between them. Anything else is typed as text.
func (t *Tab) Keys(ctx context.Context, keys string) (Outcome, error) {
	return t.do(ctx, nil, func(ctx context.Context) error {
		if events, ok := keyEvents(keys); ok {
			return t.keys(ctx, events)
		}
		return t.write(ctx, keys, true)
	})
}

// keyEvents returns the events of keys that are named; ok is false if keys is not
// a list of names.
func keyEvents(keys string) (events []*input.DispatchKeyEventParams, ok bool) {
	for _, word := range strings.Fields(keys) {
		combination, ok := chord(word)
		if !ok {
			return nil, false
		}
		events = append(events, combination...)
	}
	return events, len(events) > 0
}

// namedKeys are the keys that have a name, in lower case.
var namedKeys = map[string]string{
	"enter": kb.Enter, "return": kb.Enter, "tab": kb.Tab, "escape": kb.Escape, "esc": kb.Escape, "space": " ",
	"backspace": kb.Backspace, "delete": kb.Delete, "insert": kb.Insert, "home": kb.Home, "end": kb.End,
	"pageup": kb.PageUp, "pagedown": kb.PageDown,
	"arrowup": kb.ArrowUp, "arrowdown": kb.ArrowDown, "arrowleft": kb.ArrowLeft, "arrowright": kb.ArrowRight,
	"up": kb.ArrowUp, "down": kb.ArrowDown, "left": kb.ArrowLeft, "right": kb.ArrowRight,
	"f1": kb.F1, "f2": kb.F2, "f3": kb.F3, "f4": kb.F4, "f5": kb.F5, "f6": kb.F6,
	"f7": kb.F7, "f8": kb.F8, "f9": kb.F9, "f10": kb.F10, "f11": kb.F11, "f12": kb.F12,
}

// modifiers are the bits by which the protocol names the keys that modify others.
var modifiers = map[string]int64{
	"alt": altKey, "option": altKey, "control": controlKey, "ctrl": controlKey,
	"meta": metaKey, "command": metaKey, "cmd": metaKey, "shift": shiftKey,
}

const (
	altKey     = 1
	controlKey = 2
	metaKey    = 4
	shiftKey   = 8
)

// chord returns the events of keys that are pressed together, such as Control+a
// or Shift+Tab. ok is false if word is no such combination. A single character
// is one only after a modifier.
func chord(word string) (events []*input.DispatchKeyEventParams, ok bool) {
	parts := strings.Split(word, "+")
	if strings.HasSuffix(word, "++") { // the key +
		parts = append(parts[:len(parts)-2], "+")
	}
	last := parts[len(parts)-1]
	var held int64
	for _, p := range parts[:len(parts)-1] {
		bit := modifiers[strings.ToLower(p)]
		if bit == 0 {
			return nil, false
		}
		held |= bit
	}
	key := []rune(namedKeys[strings.ToLower(last)])
	if len(key) == 0 && held != 0 {
		key = []rune(last)
	}
	if len(key) != 1 {
		return nil, false
	}
	for _, e := range kb.Encode(key[0]) {
		e.Modifiers |= held
		if held&^shiftKey != 0 { // the keys write nothing
			if e.Type == input.DispatchKeyEventTypeChar {
				continue
			}
			e.Text, e.UnmodifiedText = "", ""
			if c := editingCommand(held, key[0]); c != "" && e.Type != input.DispatchKeyEventTypeKeyUp {
				e.Commands = []string{c}
			}
		}
		events = append(events, e)
	}
	return events, true
}

// editingCommand returns the editing command of a key with Control or Meta. With
// a window the system would issue it; a headless browser needs the command.
func editingCommand(held int64, key rune) string {
	if held&(controlKey|metaKey) == 0 {
		return ""
	}
	return map[rune]string{
		'a': "selectAll", 'c': "copy", 'x': "cut", 'v': "paste", 'z': "undo", 'y': "redo",
	}[unicode.ToLower(key)]
}
