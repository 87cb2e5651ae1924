package browser

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
)

// The limits of waiting. They bound what a page can hold up; no wait ends by them
// on a page that behaves.
const (
	loadTime  = 15 * time.Second // for a page to load
	extraTime = 5 * time.Second  // for what a readable page still loads
	quietTime = 4 * time.Second  // for the requests that an action caused
	frameTime = 5 * time.Second  // for the page to draw
	beginTime = 3 * time.Second  // for an expected effect to begin
)

// How the end of an action is found
//
// An action records a snapshot, does its work, and then waits until what it caused
// has settled. Whatever has a moment after that of the snapshot was caused by it,
// or happened at the same time by chance: the two cannot be told apart. First the
// page runs the tasks that were due and draws a frame, so that handlers have run
// and requests have been sent. Then loads and requests are awaited, and after
// them another frame, since an answer changes the page and may cause the next
// request. Everything has a limit: a page that never rests is given up, which is
// no error, and its Outcome says that it still loads.

// An Outcome lists the effects of an action that are known when the action
// returns.
type Outcome struct {
	URL       string      // of the page, if it has changed
	Moved     bool        // the tab shows another document
	Status    int         // of the HTTP response that the other document came with; 0: unknown
	Tab       *Tab        // that was opened
	Downloads []*Download // that began
	Dialogs   []Dialog    // that were shown
	Chooser   bool        // a file chooser is open
	Closed    bool        // the tab was closed
	Loading   bool        // something still loads
}

// A snapshot is the state of a tab before an action. diff compares the tab with
// it afterwards.
type snapshot struct {
	moment    int64 // whatever the action causes has a later one
	url       string
	loader    cdp.LoaderID
	tabs      []*Tab
	downloads []*Download
}

// snapshot records the state of the tab and forgets the effects of the action
// before.
func (t *Tab) snapshot() (s snapshot) {
	s.moment = t.b.note(func() {
		t.chooser, t.pending = nil, nil
		s.url, s.loader, s.tabs = t.url, t.loader, slices.Clone(t.b.tabs)
		for _, d := range t.b.downloads {
			s.downloads = append(s.downloads, d)
		}
	})
	return s
}

// diff returns what has happened since before. It takes the dialogs out of the
// tab.
func (t *Tab) diff(before snapshot) (out Outcome) {
	t.b.note(func() {
		if t.url != before.url || t.loader != before.loader {
			out.URL, out.Moved = t.url, t.loader != before.loader
			if out.Moved && t.response.loader == t.loader {
				out.Status = t.response.status
			}
		}
		for _, o := range t.b.tabs {
			if !slices.Contains(before.tabs, o) {
				out.Tab = o
			}
		}
		for _, d := range t.b.downloads {
			if !slices.Contains(before.downloads, d) {
				out.Downloads = append(out.Downloads, d)
			}
		}
		out.Dialogs, t.dialogs = t.dialogs, nil
		out.Chooser, out.Closed, out.Loading = t.chooser != nil, t.closed, t.busy(before.moment)
	})
	return out
}

// waitSettled waits until the effects of an action have settled and returns them.
// first is what it waits for at the start: t.drawn or t.ran. An open dialog ends
// the waiting, and is no error.
func (t *Tab) waitSettled(
	ctx context.Context, before snapshot, first func(context.Context) error,
) (Outcome, error) {
	err := t.settle(ctx, before, first)
	if err == nil {
		t.waitLanded(ctx, before)
	}
	out := t.diff(before)
	if out.Tab != nil {
		if err := out.Tab.started(ctx); err != nil {
			return out, err
		}
		if lerr := out.Tab.loaded(ctx); !errors.Is(lerr, errGone) && !errors.Is(lerr, errDialog) {
			err = errors.Join(err, lerr)
		}
	}
	if out.Closed && errors.Is(err, errGone) || errors.Is(err, errDialog) {
		err = nil
	}
	return out, err
}

// do runs an action on the page and waits until its effects have settled. If the
// action opens a dialog, it ends there; the dialog is in the Outcome. el is the
// element that the action is for, or nil.
func (t *Tab) do(ctx context.Context, el *Element, action func(context.Context) error) (Outcome, error) {
	return t.doUntil(ctx, el, t.drawn, action)
}

// doUntil is do with the first thing to wait for.
func (t *Tab) doUntil(
	ctx context.Context, el *Element, first, action func(context.Context) error,
) (Outcome, error) {
	ctx, done, err := t.act(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	before := t.snapshot()
	err = cause(ctx, action(ctx))
	if el != nil {
		t.release(el.s)
	}
	if err != nil && !errors.Is(err, errDialog) && !errors.Is(err, errGone) {
		return Outcome{}, err
	}
	out, err := t.waitSettled(ctx, before, first)
	return out, cause(ctx, err)
}

// Rest waits for the frame that the page draws after a click with this outcome,
// and for the effects that come with it. It returns the effects of both. After
// other actions it returns out at once. A program that clicks many times in a row
// does not have to call it: the next look at the page waits for the frame anyway.
func (t *Tab) Rest(ctx context.Context, out Outcome) (Outcome, error) {
	before := t.takePending()
	if before == nil {
		return out, nil
	}
	later := Outcome{}
	ctx, done, err := t.act(ctx)
	switch {
	case errors.Is(err, errDialog), errors.Is(err, errGone):
		later, err = t.diff(*before), nil
	case err == nil:
		defer done()
		later, err = t.waitSettled(ctx, *before, t.drawn)
	}
	later.Dialogs = slices.Concat(out.Dialogs, later.Dialogs)
	return later, cause(ctx, err)
}

// takePending returns the state before a click whose frame has not been awaited,
// or nil, and clears it.
func (t *Tab) takePending() (before *snapshot) {
	t.b.note(func() { before, t.pending = t.pending, nil })
	return before
}

// viewing runs read, which looks at the page, as an action that first waits for
// the frame after a click. Otherwise a look could miss what the click has changed.
func viewing[T any](ctx context.Context, t *Tab, read func(context.Context) (T, error)) (v T, err error) {
	ctx, done, err := t.act(ctx)
	if err != nil {
		return v, err
	}
	defer done()
	if before := t.takePending(); before != nil {
		if err := t.settle(ctx, *before, t.drawn); err != nil {
			return v, cause(ctx, err)
		}
	}
	v, err = read(ctx)
	return v, cause(ctx, err)
}

// waitLanded waits, within beginTime, for the outcome of a navigation that led to
// no page: in most cases a download is about to begin, and the browser reports it
// a moment after the navigation has ended.
func (t *Tab) waitLanded(ctx context.Context, before snapshot) {
	short, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	t.waitPage(short, func() bool {
		return !since(t.left, before.moment) || len(t.b.downloads) > len(before.downloads)
	})
}

// waitPage waits until ok returns true, or until an obstacle makes the wait
// pointless. It calls ok with b.mu held.
func (t *Tab) waitPage(ctx context.Context, ok func() bool) error {
	return t.b.wait(ctx, func() bool { return t.obstacleLocked() != nil || ok() })
}

// settle waits until no page, frame or request that began after before is on its
// way, each for a limited time. After each wait it looks again, since one effect
// causes the next; after four rounds it gives up. A page that keeps sending
// requests, as one does that asks for news, is waited for once.
func (t *Tab) settle(ctx context.Context, before snapshot, first func(context.Context) error) error {
	ready := first
	for round := range 4 {
		if err := ready(ctx); err != nil {
			return err
		}
		ready = t.drawn
		var requests, loads bool
		t.b.note(func() {
			requests, loads = since(t.requests, before.moment), since(t.loading, before.moment)
		})
		if !loads && (!requests || round > 0) { // a page that keeps sending requests is at rest
			return nil
		}
		if err := t.waitQuiet(ctx, before); err != nil {
			return err
		}
	}
	return nil
}

// waitQuiet waits for loads and requests to end; for requests, quietTime at most.
func (t *Tab) waitQuiet(ctx context.Context, before snapshot) error {
	short, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	err := t.waitPage(short, func() bool { return !t.busy(before.moment) })
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, t.obstacle())
	}
	if !locked(t.b, func() bool { return since(t.loading, before.moment) }) {
		return nil
	}
	return t.loaded(ctx)
}

// loaded waits until the page has loaded, loadTime at most. A page that can be
// read already gets extraTime for the rest. It is no error if it still loads.
func (t *Tab) loaded(ctx context.Context) error {
	main := cdp.FrameID(t.s.target)
	long, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	done := func() bool { return len(t.loading) == 0 }
	err := t.waitPage(long, func() bool { return done() || t.domReady || t.loading[main] == 0 })
	if err != nil {
		return late(ctx, err)
	}
	extra, cancel := context.WithTimeout(ctx, extraTime)
	defer cancel()
	if err := t.waitPage(extra, done); err != nil {
		return late(ctx, err)
	}
	return t.obstacle()
}

// late returns nil if err is the end of a time limit of ours, and ctx, the
// caller's, goes on. Otherwise it returns err.
func late(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// busy reports whether a load or request that began after a moment is under way.
// The caller holds b.mu.
func (t *Tab) busy(moment int64) bool { return since(t.requests, moment) || since(t.loading, moment) }

// since reports whether something in m began after a moment.
func since[K comparable](m map[K]int64, moment int64) bool {
	for _, at := range m {
		if at > moment {
			return true
		}
	}
	return false
}

var (
	//go:embed js/drawn.js
	drawnJS string
	//go:embed js/ran.js
	ranJS string
)

// drawn waits until the page has run the tasks that were due and has drawn a
// frame. It gives up on a busy page after frameTime, which is no error.
func (t *Tab) drawn(ctx context.Context) error { return t.await(ctx, t.s, drawnJS) }

// ran waits until the page has run the tasks that were due.
func (t *Tab) ran(ctx context.Context) error { return t.await(ctx, t.s, ranJS) }

// await waits, within frameTime, for a promise in one of the processes of the
// page. The promise resolves to true when the page is closing itself: then await
// waits until it is closed, which is the effect of the action. That the document
// is replaced meanwhile is no error.
func (t *Tab) await(ctx context.Context, s *session, promise string) error {
	short, cancel := context.WithTimeout(ctx, frameTime)
	defer cancel()
	p := runtime.EvaluateParams{Expression: promise, AwaitPromise: ptr(true), ReturnByValue: ptr(true)}
	res, err := cdp.Call(short, s, runtime.Evaluate, p)
	switch {
	case err == nil && res.Result != nil && string(res.Result.Value) == "true":
		return cause(ctx, t.waitPage(ctx, func() bool { return false })) // until it is closed
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return cause(ctx, err)
	case errors.Is(err, errGone):
		return err
	}
	return t.obstacle() // the document was replaced meanwhile, or the page is busy
}
