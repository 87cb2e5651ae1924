package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A Tab is a page with its frames. Its methods are safe for concurrent use; the
// actions of a tab run one after the other.
type Tab struct {
	ID int // counts from 0 in the order in which the browser opened its tabs

	b      *Browser
	s      *session // of the page itself
	opener *Tab     // whose page opened it, or nil
	ours   bool     // New opened it, not a page or the user of the browser

	// judged means that what the page requests is judged: see judge. b.mu guards it.
	judged bool

	// shelf has the files that are the pages of the tab, or is nil. b.mu guards it.
	shelf *shelf

	// ready is closed when prepare has subscribed to all events: an event that is
	// missed would be waited for in vain.
	ready chan struct{}

	// acting holds a value while an action runs.
	acting chan struct{}

	// casting is held while a person begins to look, or stops: the browser hears of both in
	// their order.
	casting sync.Mutex

	// b.mu guards the rest. A map to int64 holds the moment at which an entry was
	// made, so that an action can tell what it caused from what was there before.

	frames  []*session // of the frames that have a process of their own
	closed  bool
	crashed bool
	url     string
	loader  cdp.LoaderID // of the document: another document has another loader

	// leaving is true while an action of ours replaces or closes the page: a
	// beforeunload dialog is then accepted.
	leaving bool

	// domReady is true when the document can be read, though parts may still load.
	domReady bool

	// sameDocument is the moment of the last navigation within the document, such
	// as to an anchor.
	sameDocument int64

	// left has the frames that set out for another document and have not reached
	// it. A frame whose navigation becomes a download stays in left until it
	// navigates again.
	left map[cdp.FrameID]int64

	loading  map[cdp.FrameID]int64       // frames that load
	requests map[network.RequestID]int64 // requests under way that will end

	// worlds has the contexts in which our functions run, by frame. They end with
	// the document.
	worlds map[cdp.FrameID]runtime.ExecutionContextID

	dialog      *Dialog  // open now, or nil
	dialogs     []Dialog // shown since the last Outcome
	dialogCount int      // shown in the life of the tab
	chooser     *chooser // open now, or nil

	// pending is the state before a click after which no frame has been drawn: see
	// Rest.
	pending *snapshot

	// response is the last answer to a request for the page itself.
	response struct {
		loader cdp.LoaderID
		status int
	}

	cast  screencast
	drag  *input.DragData // of the HTML drag that the page began last
	index *index          // of the document
}

// A chooser is a file chooser that the page opened; node is the field it is for.
type chooser struct {
	s    *session
	node cdp.BackendNodeID
}

// newTab returns the tab of a session. It finds the opener among the open tabs.
func newTab(b *Browser, s *session, info *target.Info) *Tab {
	t := &Tab{
		b:        b,
		s:        s,
		url:      info.URL,
		ready:    make(chan struct{}),
		acting:   make(chan struct{}, 1),
		left:     make(map[cdp.FrameID]int64),
		loading:  make(map[cdp.FrameID]int64),
		requests: make(map[network.RequestID]int64),
		worlds:   make(map[cdp.FrameID]runtime.ExecutionContextID),
		index:    newIndex(),
	}
	s.tab = t
	for _, o := range b.Tabs() {
		if info.OpenerID != "" && o.s.target == info.OpenerID {
			t.opener = o
			b.note(func() { t.judged, t.shelf = o.judged, o.shelf })
		}
	}
	return t
}

// prepare subscribes to the events of a page or frame, and then lets it run: the
// browser starts targets paused, so that no event is missed. It does not wait
// between the commands, which the browser carries out in their order.
func (t *Tab) prepare(s *session) {
	type command struct {
		method string
		params any
	}
	commands := []command{
		{"Inspector.enable", nil},
		{page.CommandEnable, nil},
		{network.CommandEnable, nil},
		{"DOM.enable", nil},
		{"Accessibility.enable", nil},
		{target.CommandSetAutoAttach, attachTo("iframe", "worker")}, // without it, workers never run
	}
	if s == t.s {
		defer close(t.ready)
		commands = append(commands,
			command{"Page.setInterceptFileChooserDialog", page.SetInterceptFileChooserDialogParams{Enabled: true}},
			command{"Emulation.setFocusEmulationEnabled", map[string]bool{"enabled": true}})
	}
	if locked(t.b, func() bool { return t.judged }) {
		commands = append(commands, command{fetch.CommandEnable, judgeAll})
	}
	commands = append(commands, command{runtime.CommandRunIfWaitingForDebugger, nil})
	var last reply
	for _, c := range commands {
		var err error
		if last, err = s.send(c.method, c.params); err != nil {
			return // it is gone again
		}
	}
	last(context.Background(), nil) // returns when the session ends, at the latest
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

// event handles an event of the page or of one of its frames. The connection's
// reader calls it, so it does not wait.
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
	case "Page.javascriptDialogOpening":
		t.dialogOpens(s, params)
	case "Page.javascriptDialogClosed":
		t.b.note(func() { t.dialog = nil })
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
	case "Page.screencastFrame":
		t.frameArrives(s, params)
	case "Page.domContentEventFired":
		t.b.note(func() { t.domReady = t.domReady || s == t.s })
	case "Page.frameStartedLoading", "Page.frameRequestedNavigation", "Page.frameStartedNavigating",
		"Page.frameStoppedLoading", "Page.frameDetached", "Page.frameNavigated", "Page.navigatedWithinDocument":
		t.frameEvent(s, method, params)
	case "Network.responseReceived":
		t.responseEvent(s, params)
	case "Network.requestWillBeSent", "Network.loadingFinished", "Network.loadingFailed":
		t.requestEvent(method, params)
	}
}

// frameEvent keeps track of which frames are on their way to another document. In
// the order of a navigation, the browser reports that it was requested, that it
// starts (for another document, or within the same one), that the document was
// received (navigated), and that it has loaded.
func (t *Tab) frameEvent(s *session, method string, params jsonv2.Value) {
	var ev struct {
		Frame struct {
			ID       cdp.FrameID  `json:"id"`
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
			if strings.Contains(strings.ToLower(ev.NavigationType), "samedocument") {
				delete(t.loading, ev.FrameID)
				break
			}
			t.loading[ev.FrameID], t.left[ev.FrameID] = t.b.moment, t.b.moment
		case "Page.frameStoppedLoading":
			delete(t.loading, ev.FrameID)
		case "Page.frameDetached":
			delete(t.left, ev.FrameID)
			delete(t.loading, ev.FrameID)
			delete(t.worlds, ev.FrameID)
		case "Page.navigatedWithinDocument":
			if ev.FrameID == main {
				t.url, t.sameDocument = ev.URL, t.b.moment
			}
		case "Page.frameNavigated":
			delete(t.worlds, ev.Frame.ID)
			delete(t.left, ev.Frame.ID)
			if ev.Frame.ID == main && s == t.s {
				t.url, t.loader, t.domReady, t.crashed = ev.Frame.URL, ev.Frame.LoaderID, false, false
				t.chooser = nil
				clear(t.requests)
			}
		}
	})
}

// requestEvent keeps track of the requests under way. Only the kinds count on
// which a page waits for its content: images may be slow and are not read, and
// streams and sockets may never end.
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

// responseEvent keeps the status of the answer that brought the page.
func (t *Tab) responseEvent(s *session, params jsonv2.Value) {
	var ev struct {
		LoaderID cdp.LoaderID `json:"loaderId"`
		FrameID  cdp.FrameID  `json:"frameId"`
		Type     string       `json:"type"`
		Response struct {
			Status int `json:"status"`
		} `json:"response"`
	}
	if decode(params, &ev) != nil || ev.Type != "Document" || s != t.s || ev.FrameID != cdp.FrameID(t.s.target) {
		return
	}
	t.b.note(func() { t.response.loader, t.response.status = ev.LoaderID, ev.Response.Status })
}

// URL returns the address of the page.
func (t *Tab) URL() string { return locked(t.b, func() string { return t.url }) }

// Activate makes the tab the active one, to which later actions go, and brings it to the
// front of a window.
func (t *Tab) Activate(ctx context.Context) error {
	p := target.ActivateTargetParams{TargetID: t.s.target}
	if _, err := cdp.Call(ctx, t.b.c.root, target.ActivateTarget, p); err != nil {
		return fmt.Errorf("tab %d: %w", t.ID, err)
	}
	t.b.note(func() { t.b.active = t })
	return nil
}

// Close closes the tab and returns when it is closed. The page cannot prevent it: a
// beforeunload dialog is accepted.
func (t *Tab) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	t.b.note(func() { t.leaving = true })
	if err := t.closeTarget(ctx); err != nil {
		return fmt.Errorf("tab %d: %w", t.ID, err)
	}
	return t.b.wait(ctx, func() bool { return t.closed })
}

// closeTarget asks the browser to close the tab, and does not wait for it.
func (t *Tab) closeTarget(ctx context.Context) error {
	_, err := cdp.Call(ctx, t.b.c.root, target.CloseTarget, target.CloseTargetParams{TargetID: t.s.target})
	return err
}

// sessions returns the session of the page and those of its frames that have
// processes of their own.
func (t *Tab) sessions() []*session {
	return locked(t.b, func() []*session { return append([]*session{t.s}, t.frames...) })
}

// The errors that interrupt every action on a page.
var (
	errDialog  = errors.New("the page shows a dialog, and does nothing until it is answered")
	errCrashed = errors.New("the page has crashed: refresh it, or go elsewhere")
)

// act begins an action: it waits for the previous one to end. The context that it
// returns ends when the page opens a dialog, crashes or is closed, since then the
// browser would leave commands unanswered; [cause] tells which. If one of these
// holds already, act returns it as the error. The caller calls done when the
// action ends.
func (t *Tab) act(ctx context.Context) (_ context.Context, done func(), err error) {
	select {
	case t.acting <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if err = t.started(ctx); err == nil {
		err = t.obstacle()
	}
	if err != nil {
		<-t.acting
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		var why error
		err := t.b.wait(ctx, func() bool { why = t.obstacleLocked(); return why != nil })
		cancel(errors.Join(why, err))
	}()
	return ctx, func() { cancel(nil); <-watched; <-t.acting }, nil
}

// obstacle returns the error with which every action on the page would fail now:
// errGone, errCrashed, errDialog, or nil.
func (t *Tab) obstacle() error { return locked(t.b, t.obstacleLocked) }

// obstacleLocked is obstacle for a caller that holds b.mu.
func (t *Tab) obstacleLocked() error {
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

// cause returns the reason for which ctx ended if err is only a consequence of
// that, else err. It is nil if err is nil.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errGone)) {
		if c := context.Cause(ctx); c != nil {
			return c
		}
	}
	return err
}
