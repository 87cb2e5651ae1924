package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A browser that runs already connects without our proxy, so its requests are judged
// before it makes them: the browser pauses each request of a tab that is used here, the
// next hop of a redirect too, until it is allowed or refused. Tabs that only the
// browser's user uses are left alone.
//
// This judges names, and addresses that are written as such. It does not see what a
// name resolves to, nor the requests of service workers and WebSockets.

// judgeAll is the command that has the browser pause all requests of a process.
var judgeAll = fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*"}}}

// judge makes the requests of the tab be judged from now on, if those of its browser
// are.
func (t *Tab) judge(ctx context.Context) error {
	if (t.b.gate == nil || t.b.gate.check == nil) && locked(t.b, func() bool { return t.shelf == nil }) {
		return nil
	}
	var all []*session
	t.b.note(func() {
		if !t.judged {
			t.judged, all = true, append([]*session{t.s}, t.frames...)
		}
	})
	for i, s := range all {
		// a frame that is gone meanwhile requests nothing
		if _, err := cdp.Call(ctx, s, fetch.Enable, judgeAll); err != nil && (i == 0 || !errors.Is(err, errGone)) {
			t.b.note(func() { t.judged = false })
			return fmt.Errorf("what the tab requests cannot be judged: %w", err)
		}
	}
	return nil
}

// requestPaused lets a request go on, or refuses it. It does not wait.
func (b *Browser) requestPaused(s *session, params jsonv2.Value) {
	var ev struct {
		ID      fetch.RequestID `json:"requestId"`
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
	}
	if decode(params, &ev) != nil {
		return
	}
	if s.tab != nil {
		if sh := locked(b, func() *shelf { return s.tab.shelf }); sh != nil {
			go b.serve(s, sh, ev.ID, ev.Request.URL)
			return
		}
	}
	if b.gate == nil {
		return
	}
	go func() { // a rule may have to be read
		if err := b.gate.allows(ev.Request.URL); err != nil {
			b.gate.note(err)
			s.send(fetch.CommandFailRequest, fetch.FailRequestParams{RequestID: ev.ID, ErrorReason: network.ErrorReasonBlockedByClient})
			return
		}
		s.send(fetch.CommandContinueRequest, fetch.ContinueRequestParams{RequestID: ev.ID})
	}()
}

// allows returns why an address may not be requested, or nil. Addresses that connect
// to nothing are allowed.
func (g *gateway) allows(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	switch strings.ToLower(u.Scheme) {
	case "data", "blob", "about", "chrome", "devtools", "chrome-extension":
		return nil
	}
	return g.check(egress.WithNamed(context.Background(), g.isNamed), u)
}
