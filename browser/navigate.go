package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// Go opens a page in the tab and waits until it has loaded. A page that still
// loads after the time limit is no error: the Outcome says so.
func (t *Tab) Go(ctx context.Context, url string) (Outcome, error) {
	t.b.note(func() { t.crashed = false })
	return t.leave(ctx, func(ctx context.Context, before snapshot) error { return t.navigate(ctx, url) })
}

// navigate opens a page and waits until its document has been received. A server
// that does not answer within twice the load time is given up, and the tab stays
// where it was.
func (t *Tab) navigate(ctx context.Context, url string) error {
	long, cancel := context.WithTimeout(ctx, 2*loadTime)
	defer cancel()
	res, err := cdp.Call(long, t.s, page.Navigate, page.NavigateParams{URL: url})
	if err != nil && long.Err() != nil {
		t.s.send("Page.stopLoading", nil)
		t.b.note(func() { clear(t.loading) })
	}
	switch {
	case err != nil && long.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%s did not answer within %v", url, 2*loadTime)
	case err != nil:
		return fmt.Errorf("%s: %w", url, err)
	case res.ErrorText == "net::ERR_ABORTED": // a download, or an answer without a page
		return nil
	case res.ErrorText != "":
		return fmt.Errorf("%s cannot be opened: %s", url, netError(res.ErrorText))
	case res.LoaderID == "" || res.IsDownload:
		return nil
	}
	return t.waitPage(ctx, func() bool { return t.loader == res.LoaderID })
}

// Back goes back by one page in the history of the tab and waits until that page
// has loaded. It is an error if there is none.
func (t *Tab) Back(ctx context.Context) (Outcome, error) {
	return t.leave(ctx, func(ctx context.Context, before snapshot) error {
		h, err := cdp.Call(ctx, t.s, page.GetNavigationHistory, cdp.Empty{})
		if err != nil {
			return err
		}
		if h.CurrentIndex == 0 || h.CurrentIndex > int64(len(h.Entries)) {
			return errors.New("there is no page to go back to")
		}
		to := page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex-1].ID}
		if _, err := cdp.Call(ctx, t.s, page.NavigateToHistoryEntry, to); err != nil {
			return err
		}
		t.waitLeaving(ctx, before)
		return nil
	})
}

// Reload loads the page again and waits until it has loaded. It also revives a
// page that has crashed.
func (t *Tab) Reload(ctx context.Context) (Outcome, error) {
	t.b.note(func() { t.crashed = false })
	return t.leave(ctx, func(ctx context.Context, before snapshot) error {
		if err := t.s.Call(ctx, page.CommandReload, nil, nil); err != nil {
			return err
		}
		t.waitLeaving(ctx, before)
		return nil
	})
}

// answersForm reports whether the page is the answer to a form that was sent,
// redirects included.
func (t *Tab) answersForm(ctx context.Context) bool {
	h, err := cdp.Call(ctx, t.s, page.GetNavigationHistory, cdp.Empty{})
	i := int(h.CurrentIndex)
	return err == nil && i >= 0 && i < len(h.Entries) && h.Entries[i].TransitionType == page.TransitionTypeFormSubmit
}

// leave runs an action that leads to another page, and waits until that page has
// loaded. The present page cannot object: while leaving is set, a beforeunload
// dialog is accepted.
func (t *Tab) leave(ctx context.Context, action func(context.Context, snapshot) error) (Outcome, error) {
	t.b.note(func() { t.leaving = true })
	defer t.b.note(func() { t.leaving = false })
	ctx, done, err := t.act(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	before := t.snapshot()
	if err := action(ctx, before); err != nil {
		return Outcome{}, cause(ctx, err)
	}
	err = t.loaded(ctx)
	if !locked(t.b, func() bool { return t.loader == before.loader }) {
		before.moment = t.b.note(nil) // what loads until now has had its time
	} // else the document is the same, and its handler may have sent requests already
	out, serr := t.waitSettled(ctx, before, t.drawn)
	if err == nil {
		err = serr
	}
	t.b.note(func() { out.Loading = len(t.loading) > 0 })
	return out, cause(ctx, err)
}

// waitLeaving waits until the tab is on its way to another page. If that does not
// begin within beginTime, there was nothing to begin.
func (t *Tab) waitLeaving(ctx context.Context, before snapshot) {
	ctx, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	t.waitPage(ctx, func() bool {
		return since(t.loading, before.moment) || t.sameDocument > before.moment ||
			t.url != before.url || t.loader != before.loader
	})
}

//go:embed data/neterrors.txt
var netErrors string

// netError explains one of Chromium's network errors in words, and returns those
// that it does not know unchanged.
func netError(name string) string {
	for line := range strings.Lines(netErrors) {
		if known, words, ok := strings.Cut(line, " "); ok && known == name && known != "#" {
			return strings.TrimSpace(words) + " (" + name + ")"
		}
	}
	return name
}
