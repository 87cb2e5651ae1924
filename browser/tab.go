package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A Tab is a page with its frames. Its methods are safe for concurrent use, and
// make little sense at once.
type Tab struct {
	ID int // counted from 0 in the order in which tabs were opened

	b      *Browser
	s      *session
	opener *Tab
	ours   bool          // opened by us, not by the person whose browser it is
	ready  chan struct{} // closed when it may be used

	// Guarded by b.mu.
	frames   []*session // of frames that have a process of their own
	closed   bool
	crashed  bool
	leaving  bool // it was asked to go to another page
	url      string
	loader   cdp.LoaderID
	within   int64 // the moment at which it last went elsewhere within its document
	domReady bool
	left     map[cdp.FrameID]int64       // frames that set out for another document and have not come to one
	loading  map[cdp.FrameID]int64       // frames that load, and since which moment
	requests map[network.RequestID]int64 // under way, and since which moment
	worlds   map[cdp.FrameID]runtime.ExecutionContextID
	dialog   *Dialog
	said     []Dialog // those that came since the last action began
	shown    int      // how many dialogs there were
	chooser  *chooser
	owes     *before         // of a click whose frame nobody waited for yet
	drag     *input.DragData // a drag of HTML's own kind that the page began
	index    *index

	acting chan struct{} // held by the action that runs
}

// chooser is a file chooser that the page opened.
type chooser struct {
	s    *session
	node cdp.BackendNodeID
}

func newTab(b *Browser, s *session, info *target.Info) *Tab {
	t := &Tab{b: b, s: s, ready: make(chan struct{}), acting: make(chan struct{}, 1), url: info.URL,
		left: make(map[cdp.FrameID]int64), loading: make(map[cdp.FrameID]int64), requests: make(map[network.RequestID]int64),
		worlds: make(map[cdp.FrameID]runtime.ExecutionContextID), index: newIndex()}
	s.tab = t
	if info.OpenerID != "" {
		for _, o := range b.Tabs() {
			if o.s.target == info.OpenerID {
				t.opener = o
			}
		}
	}
	return t
}

// prepare asks a page or frame to tell what happens in it, and lets it run.
func (t *Tab) prepare(s *session) {
	if s == t.s {
		defer close(t.ready)
	}
	commands := []struct {
		method string
		params any
	}{
		{"Inspector.enable", nil},
		{page.CommandEnable, nil},
		{network.CommandEnable, nil},
		{"DOM.enable", nil},
		{"Accessibility.enable", nil},
		{"Target.setAutoAttach", attachTo("iframe", "worker")}, // a worker is not let run otherwise
		{"Page.setInterceptFileChooserDialog", page.SetInterceptFileChooserDialogParams{Enabled: true}},
		{"Emulation.setFocusEmulationEnabled", map[string]bool{"enabled": true}},
		{runtime.CommandRunIfWaitingForDebugger, nil},
	}
	if s != t.s { // these belong to the page
		commands = append(commands[:6:6], commands[8])
	}
	var last func(context.Context, any) error
	for _, c := range commands {
		wait, err := s.send(c.method, c.params)
		if err != nil {
			return // it has gone again
		}
		last = wait
	}
	last(context.Background(), nil) // ends with the session
}

// started waits until the tab can be used.
func (t *Tab) started(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// event takes in what happens on the page. It does not wait.
func (t *Tab) event(s *session, method string, params jsonv2.Value) {
	switch method {
	case "Inspector.targetCrashed":
		t.b.note(func() {
			if s == t.s {
				t.crashed, t.dialog = true, nil
				clear(t.loading)
				clear(t.left)
				clear(t.requests)
			}
		})
	case "Page.javascriptDialogOpening", "Page.javascriptDialogClosed":
		t.dialogEvent(s, method, params)
	case "Page.fileChooserOpened":
		var ev page.EventFileChooserOpened
		if decode(params, &ev) == nil {
			t.b.note(func() { t.chooser = &chooser{s, ev.BackendNodeID} })
		}
	case "Input.dragIntercepted":
		var ev input.EventDragIntercepted
		if decode(params, &ev) == nil {
			t.b.note(func() { t.drag = ev.Data })
		}
	case "Page.domContentEventFired":
		t.b.note(func() { t.domReady = t.domReady || s == t.s })
	case "Page.frameStartedLoading", "Page.frameStoppedLoading", "Page.frameNavigated", "Page.navigatedWithinDocument",
		"Page.frameDetached", "Page.frameStartedNavigating", "Page.frameRequestedNavigation":
		t.frameEvent(s, method, params)
	case "Network.requestWillBeSent", "Network.loadingFinished", "Network.loadingFailed":
		t.requestEvent(method, params)
	}
}

// frameEvent takes in that a frame goes somewhere.
func (t *Tab) frameEvent(s *session, method string, params jsonv2.Value) {
	var ev struct {
		Frame struct {
			ID       cdp.FrameID  `json:"id"`
			ParentID cdp.FrameID  `json:"parentId"`
			LoaderID cdp.LoaderID `json:"loaderId"`
			URL      string       `json:"url"`
		} `json:"frame"`
		FrameID        cdp.FrameID `json:"frameId"`
		URL            string      `json:"url"`
		NavigationType string      `json:"navigationType"`
	}
	if decode(params, &ev) != nil {
		return
	}
	main := cdp.FrameID(t.s.target)
	t.b.note(func() {
		switch method {
		case "Page.frameStartedLoading", "Page.frameRequestedNavigation":
			t.loading[ev.FrameID] = t.b.moment
		case "Page.frameStartedNavigating":
			if !strings.Contains(strings.ToLower(ev.NavigationType), "samedocument") {
				t.loading[ev.FrameID], t.left[ev.FrameID] = t.b.moment, t.b.moment
			} else {
				delete(t.loading, ev.FrameID)
			}
		case "Page.frameStoppedLoading":
			delete(t.loading, ev.FrameID)
		case "Page.frameDetached":
			delete(t.left, ev.FrameID)
			delete(t.loading, ev.FrameID)
			delete(t.worlds, ev.FrameID)
		case "Page.navigatedWithinDocument":
			if ev.FrameID == main {
				t.url, t.within = ev.URL, t.b.moment
			}
		case "Page.frameNavigated":
			delete(t.worlds, ev.Frame.ID)
			delete(t.left, ev.Frame.ID)
			if ev.Frame.ID == main && s == t.s {
				t.url, t.loader, t.domReady, t.crashed = ev.Frame.URL, ev.Frame.LoaderID, false, false
				clear(t.requests)
				t.chooser = nil
			}
		}
	})
}

// requestEvent takes in which requests are under way. Those that may never
// end, such as streams, do not count.
func (t *Tab) requestEvent(method string, params jsonv2.Value) {
	var ev struct {
		RequestID network.RequestID `json:"requestId"`
		Type      string            `json:"type"`
	}
	if decode(params, &ev) != nil {
		return
	}
	if method != "Network.requestWillBeSent" {
		t.b.note(func() { delete(t.requests, ev.RequestID) })
		return
	}
	switch ev.Type {
	case "Document", "XHR", "Fetch", "Script", "Stylesheet":
		t.b.note(func() { t.requests[ev.RequestID] = t.b.moment })
	}
}

// URL is the address of the page.
func (t *Tab) URL() string {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return t.url
}

// Activate makes the tab the active one.
func (t *Tab) Activate(ctx context.Context) error {
	if _, err := cdp.Call(ctx, t.b.c.root, target.ActivateTarget, target.ActivateTargetParams{TargetID: t.s.target}); err != nil {
		return fmt.Errorf("tab %d: %w", t.ID, err)
	}
	t.b.note(func() { t.b.active = t })
	return nil
}

// Close closes the tab, whatever its page has to say about it.
func (t *Tab) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	t.b.note(func() { t.leaving = true })
	if err := t.closeTarget(ctx); err != nil {
		return fmt.Errorf("tab %d: %w", t.ID, err)
	}
	return t.b.wait(ctx, func() bool { return t.closed })
}

func (t *Tab) closeTarget(ctx context.Context) error {
	_, err := cdp.Call(ctx, t.b.c.root, target.CloseTarget, target.CloseTargetParams{TargetID: t.s.target})
	return err
}

// The errors of an action that the page stands in the way of.
var (
	errDialog  = errors.New("the page shows a dialog, and does nothing until it is answered")
	errCrashed = errors.New("the page has crashed: refresh it, or go elsewhere")
)

// act begins an action: it waits for the one before, and for what stops it.
// The context ends when the page opens a dialog, crashes or goes; its cause
// says which. done ends the action.
func (t *Tab) act(ctx context.Context) (_ context.Context, done func(), err error) {
	select {
	case t.acting <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if err := t.started(ctx); err != nil {
		<-t.acting
		return nil, nil, err
	}
	if err := t.stopped(); err != nil {
		<-t.acting
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		var why error
		err := t.b.wait(ctx, func() bool { why = t.stop(); return why != nil })
		cancel(errors.Join(why, err))
	}()
	return ctx, func() { cancel(nil); <-over; <-t.acting }, nil
}

// stopped says what stands in the way of actions, if something does.
func (t *Tab) stopped() error {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return t.stop()
}

func (t *Tab) stop() error {
	switch {
	case t.closed:
		return errGone
	case t.crashed:
		return errCrashed
	case t.dialog != nil:
		return errDialog
	}
	return nil
}

// cause is err, or why its context ended.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errGone)) {
		if c := context.Cause(ctx); c != nil {
			return c
		}
	}
	return err
}
