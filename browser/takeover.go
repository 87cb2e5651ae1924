package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// The errors of taking over a browser.
var (
	ErrNotOpen  = errors.New("the agent has no browser open")
	ErrTaken    = errors.New("someone has taken over this browser already")
	ErrNotTaken = errors.New("the browser has not been taken over, or was handed back since")
)

const (
	// holdTime is how long a browser stays taken over without input or a call of Hold.
	holdTime = 2 * time.Minute

	// inputTime limits how long a page may take for the input of one request.
	inputTime = 3 * time.Second

	// minHidden is how many characters that a person typed in a row are taken out of
	// results wherever they occur. Fewer are too common to be told from other text.
	minHidden = 6

	// concealed stands for what a person typed.
	concealed = "(typed by the user)"
)

// A hold is the part of a slot that a person has taken over. The hold has a value in the
// slot's turn, so calls of the agent wait.
type hold struct {
	held   atomic.Bool // whether since is set, for those who must not wait for mu
	mu     sync.Mutex
	since  time.Time               // when it was taken; zero: it is not
	timer  *time.Timer             // hands it back when the person is gone
	before map[*Tab]map[key]string // what the fields held
	run    []rune                  // typed in a row since the focus may have moved

	// Texts that the agent must not learn and has not seen. They stay for the life of
	// the browser.
	typed []string
	told  bool          // a call has said that the browser was taken over
	lasts time.Duration // how long it was
}

// TakeOver gives the session's browser to a person: calls of the agent wait until
// [Tool.HandBack], or until nothing was heard of the person for two minutes. It waits for the
// call that is running. The error is [ErrNotOpen], [ErrTaken], or that of ctx.
func (t *Tool) TakeOver(ctx context.Context, session string) error {
	s, b := t.open(session)
	if b == nil {
		return ErrNotOpen
	}
	if s.hold.held.Load() {
		return ErrTaken
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.Dead():
		return ErrNotOpen
	}
	if s.removed || s.b != b {
		<-s.turn
		return ErrNotOpen
	}
	before := make(map[*Tab]map[key]string)
	for _, tab := range b.Tabs() {
		before[tab] = tab.fields(ctx)
	}
	h := &s.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since, h.before, h.told = time.Now(), before, false
	h.held.Store(true)
	h.timer = time.AfterFunc(holdTime, func() { t.handBack(context.Background(), session, s) })
	b.note(nil) // watchers see it
	return nil
}

// Hold says that the person who has taken over the browser is still there, and extends the
// time after which it goes back to the agent by itself. It returns [ErrNotTaken] if no
// person has it, also because that time is over.
func (t *Tool) Hold(session string) error {
	s, _ := t.open(session)
	if s == nil || !s.hold.extend() {
		return ErrNotTaken
	}
	return nil
}

// HandBack gives the browser back to the agent. lasted is how long the person had it. It
// returns [ErrNotTaken] if no person has it.
func (t *Tool) HandBack(ctx context.Context, session string) (lasted time.Duration, err error) {
	s, _ := t.open(session)
	if s == nil {
		return 0, ErrNotTaken
	}
	return t.handBack(ctx, session, s)
}

// handBack ends the hold of a slot. The content of fields that the person changed is
// concealed from then on, in pictures too.
func (t *Tool) handBack(ctx context.Context, session string, s *slot) (time.Duration, error) {
	h := &s.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return 0, ErrNotTaken
	}
	h.timer.Stop()
	h.endRun()
	if s.b != nil {
		for _, tab := range s.b.Tabs() {
			h.typed = append(h.typed, tab.conceal(ctx, h.before[tab])...)
			s.noteTyped(hostOf(tab.URL()))
		}
	}
	h.lasts = time.Since(h.since)
	h.since, h.before = time.Time{}, nil
	h.held.Store(false)
	<-s.turn
	if _, b := t.open(session); b != nil {
		b.note(nil)
	}
	return h.lasts, nil
}

// open returns the slot of a session and its browser, or nil.
func (t *Tool) open(session string) (*slot, *Browser) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slots[session], t.shown[session]
}

// taken reports whether a person has the session's browser.
func (t *Tool) taken(session string) bool {
	s, _ := t.open(session)
	return s != nil && s.hold.held.Load()
}

// extend lets a person keep the slot, and reports whether one has it.
func (h *hold) extend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return false
	}
	h.timer.Reset(holdTime)
	return true
}

// endRun ends a run of typed characters: the focus may move.
func (h *hold) endRun() {
	if len(h.run) >= minHidden {
		h.typed = append(h.typed, string(h.run))
	}
	h.run = nil
}

// note notes what an input types.
func (h *hold) note(in Input) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case in.Kind == "text":
		h.run = append(h.run, []rune(in.Text)...)
	case in.Kind == "dialog" && utf8.RuneCountInString(in.Text) >= minHidden:
		h.typed = append(h.typed, in.Text)
	case in.Kind == "key" && in.Key == "Backspace":
		h.run = h.run[:max(0, len(h.run)-1)]
	case in.Kind == "down", in.Kind == "key" && (in.Key == "Tab" || in.Key == "Enter"):
		h.endRun()
	}
}

// An Input is something that a person does with the pointer or the keyboard.
type Input struct {
	// Kind is move, down or up of the pointer, wheel, key, text, dialog, back or reload.
	Kind string

	X, Y   float64 // where the pointer is: CSS pixels of the view, as in [Screen]
	DX, DY float64 // of a wheel
	Button string  // left, middle or right; "" is none for a move, and else left
	Clicks int     // of a down and an up: 2 for the second of a double click
	Key    string  // such as Enter or Control+a; see [Tab.Keys]
	Text   string  // to type, or the answer to a prompt
	Accept bool    // of a dialog
}

// Input does what a person who has taken over the browser does, in the active tab. It does
// not wait for the effects, which [Tool.Watch] shows.
func (t *Tool) Input(ctx context.Context, session string, ins []Input) error {
	s, b := t.open(session)
	if s == nil || b == nil || !s.hold.extend() {
		return ErrNotTaken
	}
	ctx, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	for _, in := range ins {
		tab := b.Active()
		if tab == nil {
			return ErrNotOpen
		}
		s.hold.note(in)
		if err := tab.input(ctx, in); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// buttons are the buttons of a pointer, and their bits.
var buttons = map[string]struct {
	name input.MouseButton
	bit  int64
}{
	"": {input.MouseButtonLeft, 1}, "left": {input.MouseButtonLeft, 1},
	"right": {input.MouseButtonRight, 2}, "middle": {input.MouseButtonMiddle, 4},
}

// input does one thing in the tab.
func (t *Tab) input(ctx context.Context, in Input) error {
	at := Point{in.X, in.Y}
	switch in.Kind {
	case "move", "down", "up", "wheel":
		return t.pointer(ctx, in, at)
	case "key":
		events, ok := keyEvents(in.Key)
		if !ok {
			return fmt.Errorf("there is no key %q", clipKey(in.Key))
		}
		return t.keys(ctx, events)
	case "text":
		return t.write(ctx, in.Text, true)
	case "dialog":
		_, err := t.Answer(ctx, in.Accept, in.Text)
		return err
	case "back":
		_, err := t.Back(ctx)
		return err
	case "reload":
		_, err := t.Reload(ctx)
		return err
	}
	return fmt.Errorf("there is no input of the kind %q", clipKey(in.Kind))
}

// clipKey shortens a name for an error. It does not repeat the text that a
// person typed.
func clipKey(s string) string {
	if len(s) > 20 {
		return s[:20]
	}
	return s
}

// pointer moves the pointer, presses or releases a button, or turns the wheel.
func (t *Tab) pointer(ctx context.Context, in Input, at Point) error {
	kind := map[string]input.DispatchMouseEventType{
		"move": input.DispatchMouseEventTypeMouseMoved, "down": input.DispatchMouseEventTypeMousePressed,
		"up": input.DispatchMouseEventTypeMouseReleased, "wheel": input.DispatchMouseEventTypeMouseWheel,
	}[in.Kind]
	ev := mouseEvent(kind, at)
	button, ok := buttons[in.Button]
	if !ok {
		return errors.New("the button of the pointer is left, middle or right")
	}
	switch in.Kind {
	case "move":
		if in.Button != "" { // it drags
			ev.Button, ev.Buttons = button.name, button.bit
		}
	case "wheel":
		ev.DeltaX, ev.DeltaY = in.DX, in.DY
	default:
		ev.Button, ev.ClickCount = button.name, int64(min(3, max(1, in.Clicks)))
		if in.Kind == "down" {
			ev.Buttons = button.bit
		}
	}
	return t.mouse(ctx, ev)
}

// fields returns what the fields of the page hold.
func (t *Tab) fields(ctx context.Context) map[key]string {
	p, err := t.State(ctx)
	if err != nil {
		return nil
	}
	all := make(map[key]string)
	for _, e := range p.Elements {
		if e.Value != "" {
			all[key{e.s, e.node}] = e.Value
		}
	}
	return all
}

//go:embed js/conceal.js
var concealJS string

// conceal hides the values of the fields that hold something else than before: the
// agent's lists have a note in place of them, and the page draws them as it draws
// passwords. It returns the values.
func (t *Tab) conceal(ctx context.Context, before map[key]string) (values []string) {
	ctx, cancel := context.WithTimeout(ctx, marksTime)
	defer cancel()
	p, err := t.State(ctx)
	if err != nil {
		return nil
	}
	for _, e := range p.Elements {
		k := key{e.s, e.node}
		if e.Value == "" || e.Value == before[k] || e.Tag == "select" {
			continue
		}
		if utf8.RuneCountInString(e.Value) >= minHidden {
			values = append(values, e.Value)
		}
		t.b.note(func() { t.index.conceal(k) })
		_, _ = viewing(ctx, t, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, t.call(ctx, e.ref, concealJS, nil)
		}) // best effort: a field that is gone shows nothing
	}
	return values
}

// conceal makes lists of elements hide the value of a node.
func (x *index) conceal(k key) {
	if x.hidden == nil {
		x.hidden = make(map[key]bool)
	}
	x.hidden[k] = true
}

// afterHold completes the result of a call: the first one after a hold says that the
// browser was taken over, and what the person typed is taken out of all.
func (s *slot) afterHold(res *openmanus.Result, err error) error {
	h := &s.hold
	h.mu.Lock()
	note := ""
	if !h.told && h.lasts > 0 {
		h.told = true
		note = fmt.Sprintf("(The user took over the browser for %s and handed it back: the page may be another one, "+
			"and they may have signed in. What they typed is not shown to you.)\n", h.lasts.Round(time.Second))
	}
	hide := h.hider()
	h.mu.Unlock()
	for i, p := range res.Parts {
		if text, ok := p.(llm.Text); ok && hide != nil {
			text.Text = hide.Replace(text.Text)
			res.Parts[i] = text
		}
	}
	if note != "" {
		res.Parts = append(llm.Parts{llm.Text{Text: note}}, res.Parts...)
	}
	if hide == nil {
		return err
	}
	if d, ok := res.Detail.(Detail); ok {
		d.URL, d.Title, d.PageState = hide.Replace(d.URL), hide.Replace(d.Title), hide.Replace(d.PageState)
		d.Tabs = slices.Clone(d.Tabs)
		for i := range d.Tabs {
			d.Tabs[i].URL, d.Tabs[i].Title = hide.Replace(d.Tabs[i].URL), hide.Replace(d.Tabs[i].Title)
		}
		res.Detail = d
	}
	res.Source = hide.Replace(res.Source)
	for i := range res.Sources {
		res.Sources[i].From = hide.Replace(res.Sources[i].From)
		for j, w := range res.Sources[i].Words {
			res.Sources[i].Words[j] = hide.Replace(w)
		}
	}
	if err != nil && hide.Replace(err.Error()) != err.Error() {
		return errors.New(hide.Replace(err.Error()))
	}
	return err
}

// hider returns what takes typed texts out of others, or nil. They may be encoded as in
// addresses.
func (h *hold) hider() *strings.Replacer {
	var pairs []string
	typed := slices.Clone(h.typed)
	slices.SortFunc(typed, func(a, b string) int { return len(b) - len(a) }) // the longest first
	for _, s := range slices.Compact(typed) {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			pairs = append(pairs, form, concealed)
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}
