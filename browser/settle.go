package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
)

const (
	loadTime  = 15 * time.Second // for a page to load
	extraTime = 5 * time.Second  // for what a page still loads when it can be read
	quietTime = 4 * time.Second  // for requests that an action set off
	frameTime = 5 * time.Second  // for the page to draw
	beginTime = 3 * time.Second  // for what was asked for to begin
)

// An Outcome is what came of an action.
type Outcome struct {
	URL       string      // of the page, if it is another one or has another address
	Moved     bool        // it is another document
	Tab       *Tab        // a tab that was opened
	Downloads []*Download // that were begun
	Dialogs   []Dialog    // that were shown
	Chooser   bool        // a file chooser was opened
	Closed    bool        // the tab was closed
	Loading   bool        // something is still on its way
}

// before is how things stood before an action.
type before struct {
	moment int64
	url    string
	loader cdp.LoaderID
	tabs   []*Tab
	loads  []*Download
}

func (t *Tab) before() (b before) {
	b.moment = t.b.note(func() {
		t.chooser, t.owes = nil, nil
		b.url, b.loader, b.tabs = t.url, t.loader, slices.Clone(t.b.tabs)
		for _, d := range t.b.downloads {
			b.loads = append(b.loads, d)
		}
	})
	return b
}

// after waits until what an action set off has come to rest, and says what it
// was. A dialog that is open ends the waiting, and is no error.
func (t *Tab) after(ctx context.Context, was before, due func(context.Context) error) (Outcome, error) {
	err := t.settle(ctx, was, due)
	if err == nil {
		t.landed(ctx, was)
	}
	out := t.came(was)
	if out.Tab != nil {
		if err := out.Tab.started(ctx); err != nil {
			return out, err
		}
		if lerr := out.Tab.loaded(ctx); lerr != nil && !errors.Is(lerr, errGone) && !errors.Is(lerr, errDialog) {
			err = errors.Join(err, lerr)
		}
	}
	if out.Closed && errors.Is(err, errGone) || errors.Is(err, errDialog) {
		err = nil
	}
	return out, err
}

// came says what came of an action until now.
func (t *Tab) came(was before) (out Outcome) {
	t.b.note(func() {
		if t.url != was.url || t.loader != was.loader {
			out.URL, out.Moved = t.url, t.loader != was.loader
		}
		for _, o := range t.b.tabs {
			if !slices.Contains(was.tabs, o) {
				out.Tab = o
			}
		}
		for _, d := range t.b.downloads {
			if !slices.Contains(was.loads, d) {
				out.Downloads = append(out.Downloads, d)
			}
		}
		out.Dialogs, t.said = t.said, nil
		out.Chooser, out.Closed, out.Loading = t.chooser != nil, t.closed, t.busy(was.moment)
	})
	return out
}

// Rest waits for the next frame after a click that had this outcome, and for
// what came with it, and says what came of both. After other actions there is
// nothing to wait for.
func (t *Tab) Rest(ctx context.Context, out Outcome) (Outcome, error) {
	was := t.owed()
	if was == nil {
		return out, nil
	}
	later := Outcome{}
	ctx, done, err := t.act(ctx)
	switch {
	case errors.Is(err, errDialog), errors.Is(err, errGone):
		later, err = t.came(*was), nil
	case err == nil:
		defer done()
		later, err = t.after(ctx, *was, t.drawn)
	}
	later.Dialogs = slices.Concat(out.Dialogs, later.Dialogs)
	return later, cause(ctx, err)
}

// owed is how things stood before a click whose frame nobody waited for yet.
func (t *Tab) owed() (was *before) {
	t.b.note(func() { was, t.owes = t.owes, nil })
	return was
}

// view begins what looks at the page: an action, and one that sees what a
// click does with the next frame.
func (t *Tab) view(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, done, err = t.act(ctx)
	if err != nil {
		return nil, nil, err
	}
	if was := t.owed(); was != nil {
		if err := t.settle(ctx, *was, t.drawn); err != nil {
			err = cause(ctx, err)
			done()
			return nil, nil, err
		}
	}
	return ctx, done, nil
}

// landed waits until it is known what became of a navigation that led to no
// page: mostly, a download is about to begin. One that was given up is not
// waited for long.
func (t *Tab) landed(ctx context.Context, was before) {
	short, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	t.b.wait(short, func() bool {
		return !since(t.left, was.moment) || len(t.b.downloads) > len(was.loads) || t.stop() != nil
	})
}

// settle waits until the page has run what was due and no page, frame or
// request that began since then is on its way; each for a limited time.
func (t *Tab) settle(ctx context.Context, was before, due func(context.Context) error) error {
	for round := range 4 {
		if err := due(ctx); err != nil {
			return err
		}
		due = t.drawn
		busy := false
		t.b.note(func() { busy = t.busy(was.moment) })
		if !busy {
			return nil
		}
		if round > 0 && !t.pageBusy(was) {
			return nil // it asks again and again
		}
		if err := t.rest(ctx, was); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tab) pageBusy(was before) bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return t.loads(was.moment)
}

// rest waits for loads and requests.
func (t *Tab) rest(ctx context.Context, was before) error {
	short, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	err := t.b.wait(short, func() bool { return t.stop() != nil || !t.busy(was.moment) })
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, t.stopped())
	}
	if !t.pageBusy(was) {
		return nil // requests that do not end
	}
	return t.loaded(ctx)
}

// loaded waits until the page has loaded; if it can be read already, not for
// long. That it still loads is no error.
func (t *Tab) loaded(ctx context.Context) error {
	main := cdp.FrameID(t.s.target)
	long, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	done := func() bool { return len(t.loading) == 0 }
	if err := t.b.wait(long, func() bool { return t.stop() != nil || done() || t.domReady || t.loading[main] == 0 }); err != nil {
		return late(ctx, err)
	}
	extra, cancel := context.WithTimeout(ctx, extraTime)
	defer cancel()
	if err := t.b.wait(extra, func() bool { return t.stop() != nil || done() }); err != nil {
		return late(ctx, err)
	}
	return t.stopped()
}

// late is err, unless only our own patience has ended.
func late(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// busy reports whether something is on its way that began after a moment. b.mu
// is held.
func (t *Tab) busy(moment int64) bool { return since(t.requests, moment) || t.loads(moment) }

func (t *Tab) loads(moment int64) bool { return since(t.loading, moment) }

// since reports whether something in m began after a moment.
func since[K comparable](m map[K]int64, moment int64) bool {
	for _, at := range m {
		if at > moment {
			return true
		}
	}
	return false
}

// drawn waits until the page has run what was due, and has drawn a frame. A
// page that is busy is not waited for long.
func (t *Tab) drawn(ctx context.Context) error { return t.drawnIn(ctx, t.s) }

// drawnIn is drawn for one of the page's processes.
func (t *Tab) drawnIn(ctx context.Context, s *session) error {
	return t.awaits(ctx, s, `new Promise(done => {
		const end = () => done(window.closed);
		setTimeout(end, document.hidden ? 500 : 3000); // a hidden page draws nothing
		setTimeout(() => requestAnimationFrame(() => setTimeout(end)));
	})`)
}

// ran waits until the page has run what was due.
func (t *Tab) ran(ctx context.Context) error {
	return t.awaits(ctx, t.s, `new Promise(done => setTimeout(() => setTimeout(() => done(window.closed))))`)
}

// awaits waits for a promise that tells whether the page closes itself.
func (t *Tab) awaits(ctx context.Context, s *session, due string) error {
	short, cancel := context.WithTimeout(ctx, frameTime)
	defer cancel()
	res, err := cdp.Call(short, s, runtime.Evaluate, runtime.EvaluateParams{Expression: due, AwaitPromise: ptr(true), ReturnByValue: ptr(true)})
	switch {
	case err == nil && res.Result != nil && string(res.Result.Value) == "true":
		return cause(ctx, t.b.wait(ctx, func() bool { return t.stop() != nil })) // it closes itself
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return cause(ctx, err)
	case errors.Is(err, errGone):
		return err
	}
	// The document went away while we waited, or the page is busy.
	return t.stopped()
}

// Go goes to a page and waits until it has loaded.
func (t *Tab) Go(ctx context.Context, url string) (Outcome, error) {
	t.b.note(func() { t.crashed, t.leaving = false, true })
	defer t.b.note(func() { t.leaving = false })
	ctx, done, err := t.act(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	was := t.before()
	if err := t.navigate(ctx, url); err != nil {
		return Outcome{}, err
	}
	return t.arrived(ctx, was)
}

// navigate goes to a page and waits until it answers.
func (t *Tab) navigate(ctx context.Context, url string) error {
	long, cancel := context.WithTimeout(ctx, 2*loadTime)
	defer cancel()
	var res struct {
		ErrorText  string       `json:"errorText"`
		LoaderID   cdp.LoaderID `json:"loaderId"`
		IsDownload bool         `json:"isDownload"`
	}
	err := t.s.Call(long, "Page.navigate", map[string]string{"url": url}, &res)
	if err != nil && long.Err() != nil { // nobody waits for it any more
		t.s.send("Page.stopLoading", nil)
		t.b.note(func() { clear(t.loading) })
	}
	switch {
	case err != nil && long.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%s did not answer within %v", url, 2*loadTime)
	case err != nil:
		return cause(ctx, fmt.Errorf("%s: %w", url, err))
	case res.ErrorText == "net::ERR_ABORTED": // a download, or a page that does not change
		return nil
	case res.ErrorText != "":
		return fmt.Errorf("%s cannot be opened: %s", url, netError(res.ErrorText))
	}
	if res.LoaderID != "" && !res.IsDownload {
		return t.b.wait(ctx, func() bool { return t.stop() != nil || t.loader == res.LoaderID })
	}
	return nil
}

// Back goes back by one page.
func (t *Tab) Back(ctx context.Context) (Outcome, error) {
	return t.leave(ctx, func(ctx context.Context) error {
		var h struct {
			CurrentIndex int `json:"currentIndex"`
			Entries      []struct {
				ID int64 `json:"id"`
			} `json:"entries"`
		}
		if err := t.s.Call(ctx, "Page.getNavigationHistory", nil, &h); err != nil {
			return err
		}
		if h.CurrentIndex == 0 || h.CurrentIndex > len(h.Entries) {
			return errors.New("there is no page to go back to")
		}
		return t.s.Call(ctx, "Page.navigateToHistoryEntry", map[string]int64{"entryId": h.Entries[h.CurrentIndex-1].ID}, nil)
	})
}

// Reload loads the page again.
func (t *Tab) Reload(ctx context.Context) (Outcome, error) {
	t.b.note(func() { t.crashed = false })
	return t.leave(ctx, func(ctx context.Context) error {
		return t.s.Call(ctx, "Page.reload", nil, nil)
	})
}

// leave does what leads to another page, and waits until that is there.
func (t *Tab) leave(ctx context.Context, do func(context.Context) error) (Outcome, error) {
	t.b.note(func() { t.leaving = true })
	defer t.b.note(func() { t.leaving = false })
	ctx, done, err := t.act(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	was := t.before()
	if err := do(ctx); err != nil {
		return Outcome{}, cause(ctx, err)
	}
	begun, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	// It begins soon, or there was nothing to begin.
	t.b.wait(begun, func() bool {
		return t.stop() != nil || t.loads(was.moment) || t.within > was.moment || t.url != was.url || t.loader != was.loader
	})
	return t.arrived(ctx, was)
}

// arrived waits until a page has loaded that was gone to.
func (t *Tab) arrived(ctx context.Context, was before) (Outcome, error) {
	err := t.loaded(ctx)
	was.moment = t.b.note(nil) // what loads still has been waited for
	out, aerr := t.after(ctx, was, t.drawn)
	if err == nil {
		err = aerr
	}
	t.b.note(func() { out.Loading = len(t.loading) > 0 })
	return out, cause(ctx, err)
}

// netError says in words what Chromium's error means.
func netError(text string) string {
	words := map[string]string{
		"net::ERR_NAME_NOT_RESOLVED":          "there is no such host",
		"net::ERR_CONNECTION_REFUSED":         "nobody answers there (connection refused)",
		"net::ERR_CONNECTION_RESET":           "the connection was reset",
		"net::ERR_CONNECTION_CLOSED":          "the connection was closed",
		"net::ERR_EMPTY_RESPONSE":             "the server closed the connection without an answer",
		"net::ERR_TOO_MANY_REDIRECTS":         "it redirects in a loop",
		"net::ERR_CERT_AUTHORITY_INVALID":     "its certificate is from nobody that is trusted",
		"net::ERR_CERT_COMMON_NAME_INVALID":   "its certificate is for another host",
		"net::ERR_CERT_DATE_INVALID":          "its certificate has expired",
		"net::ERR_TUNNEL_CONNECTION_FAILED":   "the connection was not allowed, or failed: private and loopback addresses are refused unless the configuration allows them",
		"net::ERR_PROXY_CONNECTION_FAILED":    "the proxy does not answer",
		"net::ERR_INTERNET_DISCONNECTED":      "there is no network",
		"net::ERR_TIMED_OUT":                  "it did not answer in time",
		"net::ERR_CONNECTION_TIMED_OUT":       "it did not answer in time",
		"net::ERR_INVALID_AUTH_CREDENTIALS":   "it wants a log-in",
		"net::ERR_HTTP_RESPONSE_CODE_FAILURE": "it answers with an error and no page",
		"net::ERR_BLOCKED_BY_CLIENT":          "it was blocked",
		"net::ERR_ADDRESS_UNREACHABLE":        "it cannot be reached",
		"net::ERR_UNSAFE_PORT":                "browsers do not connect to this port",
		"net::ERR_SSL_PROTOCOL_ERROR":         "it does not speak TLS as it should",
	}
	if w, ok := words[text]; ok {
		return w + " (" + text + ")"
	}
	return text
}
