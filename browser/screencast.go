package browser

import (
	"context"
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
)

const (
	frameRate    = 4               // frames of a tab in a second, at most
	frameQuality = 60              // of their JPEG
	framePause   = time.Second     // for the first frame, before the browser is asked again
	stillTime    = 5 * time.Second // for a single picture
	marksTime    = 2 * time.Second // for looking where the elements are
)

// A screencast is what the browser sends while someone looks at a tab. b.mu guards it.
type screencast struct {
	lookers int    // how many look; without any the browser sends nothing
	comes   bool   // the browser has sent a frame since it was asked
	frame   []byte // the last one, as JPEG; nil before the first
	number  int64  // counts the frames
	width   float64
	height  float64 // of the view that the frame shows, in CSS pixels

	end func() // ends what the first looker began
}

// startCast begins to look at the tab, and returns what ends that. Frames then arrive in
// t.cast, each with a note.
func (t *Tab) startCast(ctx context.Context) (done func(), err error) {
	if err := t.started(ctx); err != nil {
		return nil, err
	}
	t.casting.Lock()
	defer t.casting.Unlock()
	first := false
	t.b.note(func() { t.cast.lookers++; first = t.cast.lookers == 1 })
	if first {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // others may look longer
		ended := make(chan struct{})
		go func() { defer close(ended); t.begin(ctx) }()
		t.cast.end = func() { cancel(); <-ended }
	}
	return t.stopCast, nil
}

// stopCast ends one startCast.
func (t *Tab) stopCast() {
	t.casting.Lock()
	defer t.casting.Unlock()
	last := false
	t.b.note(func() { t.cast.lookers--; last = t.cast.lookers == 0 })
	if last {
		t.cast.end()
		t.b.note(func() { t.cast.frame, t.cast.comes = nil, false })
	}
}

// begin asks the browser for frames until the first comes, and, when ctx ends, to send no
// more. One that is busy with another document may forget that it was asked, and one whose
// page is at rest may have nothing to send: it is then asked again, after longer and longer
// pauses, and meanwhile for a single picture.
func (t *Tab) begin(ctx context.Context) {
	defer t.s.send(page.CommandStopScreencast, nil) // a tab that is gone sends nothing anyway
	for pause := framePause; ; pause = min(2*pause, time.Minute) {
		t.s.send(page.CommandStartScreencast, page.StartScreencastParams{
			Format: page.StartScreencastFormatJpeg, Quality: ptr(int64(frameQuality)),
			MaxWidth: 1280, MaxHeight: 1280, MaxFramesInFlight: 1, SendLastFrame: ptr(true),
		}) // refused, it is asked again
		wait, cancel := context.WithTimeout(ctx, pause)
		err := t.b.wait(wait, func() bool { return t.cast.comes })
		cancel()
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			t.still(ctx)
			t.s.send(page.CommandStopScreencast, nil)
			continue
		}
		<-ctx.Done()
		return
	}
}

// still keeps a single picture as a frame, as long as the browser sends none by itself.
func (t *Tab) still(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stillTime)
	defer cancel()
	size, err := cdp.Call(ctx, t.s, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil || size.CSSVisualViewport == nil {
		return // begin tries again
	}
	p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: ptr(int64(frameQuality))}
	picture, err := cdp.Call(ctx, t.s, page.CaptureScreenshot, p)
	if err != nil {
		return
	}
	v := size.CSSVisualViewport
	t.b.note(func() {
		if !t.cast.comes {
			t.cast.frame, t.cast.width, t.cast.height = picture.Data, v.ClientWidth, v.ClientHeight
			t.cast.number++
		}
	})
}

// frameArrives keeps a frame. The browser sends the next one when this one is
// acknowledged, which sets the pace. The connection's reader calls it.
func (t *Tab) frameArrives(s *session, params jsonv2.Value) {
	var ev page.EventScreencastFrame
	if decode(params, &ev) != nil {
		return
	}
	t.b.note(func() {
		if t.cast.lookers == 0 {
			return
		}
		t.cast.frame, t.cast.comes = ev.Data, true
		t.cast.number++
		if m := ev.Metadata; m != nil {
			t.cast.width, t.cast.height = m.DeviceWidth, m.DeviceHeight
		}
	})
	time.AfterFunc(time.Second/frameRate, func() {
		s.send(page.CommandScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: ev.SessionID})
	})
}

// A Screen is what a person sees of a session's browser at one moment.
type Screen struct {
	Open   bool    `json:"open"` // the session has a browser; without one nothing else is set
	Taken  bool    `json:"taken,omitempty"`
	URL    string  `json:"url,omitempty"`
	Tabs   int     `json:"tabs,omitempty"`
	Image  []byte  `json:"image,omitempty"` // JPEG; nil: as before
	Width  float64 `json:"width,omitempty"`
	Height float64 `json:"height,omitempty"` // of the view, in CSS pixels: those of Marks, and of an [Input]
	Marks  []Mark  `json:"marks,omitempty"`  // if they were asked for, and the page is at rest
	Dialog *Dialog `json:"dialog,omitempty"` // that the page shows
}

// A Mark says where an element is in the view, in CSS pixels.
type Mark struct {
	Index  int     `json:"index"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Watch calls show with what the session's browser shows, now and after each change, at
// most a few times a second, until ctx ends, show fails or the session has no browser: see
// [Tool.Has]. It neither starts a browser nor waits for calls. With marks, a Screen says where
// the elements are that the model sees.
func (t *Tool) Watch(ctx context.Context, session string, marks bool, show func(Screen) error) error {
	for {
		_, b := t.open(session)
		if b == nil || ctx.Err() != nil {
			return nil
		}
		w := watcher{tool: t, session: session, marks: marks, show: show}
		if err := w.browser(ctx, b); err != nil {
			return err
		}
		if ctx.Err() == nil {
			t.present(session, b, nil)
		}
	}
}

// Has reports whether the session has a browser that can be watched. It starts none.
func (t *Tool) Has(session string) bool {
	_, b := t.open(session)
	return b != nil
}

// present makes b the browser that watchers of the session see, in place of old. Nil is none.
func (t *Tool) present(session string, old, b *Browser) {
	t.mu.Lock()
	other := !t.closed && t.shown[session] == old && old != b
	if other && b != nil {
		t.shown[session] = b
	} else if other {
		delete(t.shown, session)
	}
	t.mu.Unlock()
	if other && t.onChange != nil {
		t.onChange()
	}
}

// A watcher shows one browser to one person.
type watcher struct {
	tool    *Tool
	session string
	marks   bool
	show    func(Screen) error

	last   Screen // that was shown
	number int64  // of its frame
}

// browser shows the active tabs of b until it is gone, which is no error.
func (w *watcher) browser(ctx context.Context, b *Browser) error {
	for {
		tab := b.Active()
		if tab == nil {
			if b.wait(ctx, func() bool { return b.active != nil }) != nil {
				return nil
			}
			continue
		}
		done, err := tab.startCast(ctx)
		if err != nil {
			if b.wait(ctx, func() bool { return b.active != tab }) != nil {
				return nil
			}
			continue
		}
		err = w.tab(ctx, b, tab)
		done()
		if err != nil {
			return err
		}
		select {
		case <-b.Dead():
			return nil
		case <-ctx.Done():
			return nil
		default:
		}
	}
}

// tab shows a tab while it is the active one.
func (w *watcher) tab(ctx context.Context, b *Browser, tab *Tab) error {
	pace := time.NewTicker(time.Second / frameRate)
	defer pace.Stop()
	w.number = 0
	for again := true; ; {
		var now Screen
		var number int64
		other := false
		look := func() bool {
			other = b.active != tab
			number = tab.cast.number
			now = Screen{Open: true, URL: tab.url, Tabs: len(b.tabs), Width: tab.cast.width, Height: tab.cast.height,
				Dialog: tab.dialog, Image: tab.cast.frame}
			now.Taken = w.tool.taken(w.session)
			return other || again || number != w.number || now.URL != w.last.URL || now.Taken != w.last.Taken ||
				now.Tabs != w.last.Tabs || (now.Dialog == nil) != (w.last.Dialog == nil)
		}
		if b.wait(ctx, look) != nil || other {
			return nil
		}
		if number == w.number {
			now.Image = nil
		}
		if again = false; w.marks && now.Dialog == nil {
			var ok bool
			now.Marks, ok = tab.where(ctx)
			again = !ok
		}
		w.number, w.last = number, now
		if err := w.show(now); err != nil {
			return err
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// where returns where the elements in view are, or nil if the page does not tell soon. It
// does not disturb an action that is under way, or one that the next look completes.
// ok is false if it is worth another try.
func (t *Tab) where(ctx context.Context) (all []Mark, ok bool) {
	if locked(t.b, func() bool { return t.pending != nil || len(t.acting) > 0 }) {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, marksTime)
	defer cancel()
	p, err := t.State(ctx)
	if err != nil {
		return nil, true
	}
	for _, e := range p.Elements {
		if e.InView {
			all = append(all, Mark{e.Index, e.Box.X, e.Box.Y, e.Box.W, e.Box.H})
		}
	}
	return all, true
}
