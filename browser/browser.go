package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// Options say which browser, and how it is run. The zero value is a headless
// Chromium that is found, with a profile of its own.
type Options struct {
	Path    string // the program; "": one that is found
	URL     string // connect to this one instead: http://HOST:PORT or ws://…
	Profile string // the profile directory, with cookies and log-ins; "": a new one, removed by Close

	Window bool // show a window; else it is headless

	// NoSandbox runs it without Chromium's own sandbox, which root must do.
	// A page that breaks out of its renderer then has the user's rights.
	NoSandbox bool

	// Proxy is where all of its traffic goes, http://HOST:PORT. "": it goes
	// out directly. It is not for a browser at URL, which has its own.
	Proxy string

	DisableSecurity bool     // pages may read each other, and certificates are not checked
	Args            []string // more arguments for the program
	Width, Height   int      // of the view, in CSS pixels; 0: 1280, 900

	root bool // as if root ran it
}

// A Browser is a Chromium that runs. It is safe for concurrent use.
type Browser struct {
	c    *conn
	proc *process // nil if it was not started here
	dir  string   // where downloads land

	patience time.Duration // how long an action waits for its element, at least
	hang     time.Duration // how long a page may take for what takes no time

	single int // how many elements are asked for one by one, before all are asked for at once

	mu        sync.Mutex
	tabs      []*Tab // in the order in which they were opened
	active    *Tab
	nextTab   int
	downloads map[string]*Download
	closed    bool
	changed   chan struct{} // closed and replaced when something happens
	moment    int64         // counts what happens
}

// Start starts a browser, or connects to the one that o.URL names. ctx limits
// the starting, not the browser's life.
func Start(ctx context.Context, o Options) (*Browser, error) {
	o.Width, o.Height = cmp.Or(o.Width, 1280), cmp.Or(o.Height, 900)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	b := &Browser{patience: readyTime, hang: hangTime, single: 150, downloads: make(map[string]*Download), changed: make(chan struct{})}
	var tr chromedp.Transport
	if o.URL != "" {
		var err error
		if tr, err = connect(ctx, o.URL); err != nil {
			return nil, fmt.Errorf("no browser answers at %s: %w", o.URL, err)
		}
		if b.dir, err = os.MkdirTemp("", "openmanus-browser-"); err != nil {
			tr.Close()
			return nil, err
		}
	} else {
		p, err := launch(&o)
		if err != nil {
			return nil, err
		}
		b.proc, tr, b.dir = p, p.tr, p.tmp
	}
	b.c = newConn(tr, b.event)
	if err := b.begin(ctx); err != nil {
		if b.proc != nil {
			killGroup(b.proc.cmd)
			<-b.proc.exited
			err = b.proc.failure(err)
		}
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// connect returns the transport to a browser that runs.
func connect(ctx context.Context, url string) (chromedp.Transport, error) {
	if !strings.HasPrefix(url, "ws://") && !strings.HasPrefix(url, "wss://") {
		var err error
		if url, err = debugger(ctx, url); err != nil {
			return nil, err
		}
	}
	return remote.DialContext(ctx, url)
}

// debugger asks the browser at url for the address of its protocol.
func debugger(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/json/version", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var v struct {
		URL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil || v.URL == "" {
		return "", errors.New("it does not answer like a Chromium that was started with --remote-debugging-port")
	}
	return v.URL, nil
}

// begin asks for tabs and downloads to be told, and waits for the first tab.
func (b *Browser) begin(ctx context.Context) error {
	root := b.c.root
	down := filepath.Join(b.dir, "downloads")
	if err := os.MkdirAll(down, 0o700); err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, root, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: down, EventsEnabled: ptr(true)}); err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, root, target.SetAutoAttach, attachTo("page")); err != nil {
		return err
	}
	if b.proc == nil { // one that was started here opens a tab by itself
		_, err := b.New(ctx)
		return err
	}
	if err := b.wait(ctx, func() bool { return b.active != nil }); err != nil {
		return err
	}
	return b.Active().started(ctx)
}

// attachTo asks to be attached to new targets of a type before they run.
func attachTo(types ...string) target.SetAutoAttachParams {
	var filter target.Filter
	for _, t := range types {
		filter = append(filter, entry(t, false))
	}
	filter = append(filter, entry("", true))
	return target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: ptr(true), Filter: filter}
}

func entry(kind string, exclude bool) (e struct {
	Exclude bool   `json:"exclude"`
	Type    string `json:"type,omitempty,omitzero"`
}) {
	e.Exclude, e.Type = exclude, kind
	return e
}

// Close ends the browser, if it was started here, and removes what it left.
// Calls under way fail. It may be called again.
func (b *Browser) Close() error {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	b.mu.Unlock()
	if again {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if b.proc == nil {
		for _, t := range b.Tabs() {
			if t.ours {
				t.closeTarget(ctx) // the person's browser goes on; a tab too many does no harm
			}
		}
		err := b.c.tr.Close()
		<-b.c.done
		return errors.Join(err, removeAll(b.dir))
	}
	if wait, err := b.c.root.send(cdpbrowser.CommandClose, nil); err == nil {
		wait(ctx, nil) // it may be gone before it answers
	}
	err := b.proc.end(ctx)
	<-b.c.done
	return err
}

// Dead returns a channel that is closed when the browser is gone.
func (b *Browser) Dead() <-chan struct{} { return b.c.done }

// Tabs returns the tabs in the order in which they were opened.
func (b *Browser) Tabs() []*Tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.tabs)
}

// Active returns the tab that is used: the last that was opened or chosen. It
// is nil if there is none.
func (b *Browser) Active() *Tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.active
}

// New opens an empty tab and makes it the active one.
func (b *Browser) New(ctx context.Context) (*Tab, error) {
	res, err := cdp.Call(ctx, b.c.root, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		return nil, fmt.Errorf("no tab can be opened: %w", err)
	}
	var t *Tab
	err = b.wait(ctx, func() bool {
		i := slices.IndexFunc(b.tabs, func(t *Tab) bool { return t.s.target == res.TargetID })
		if i < 0 {
			return false
		}
		t = b.tabs[i]
		return true
	})
	if err != nil {
		return nil, err
	}
	t.ours = true
	return t, t.started(ctx)
}

// Open opens a page in a tab of its own.
func (b *Browser) Open(ctx context.Context, url string) (*Tab, error) {
	t, err := b.New(ctx)
	if err != nil {
		return nil, err
	}
	_, err = t.Go(ctx, url)
	return t, err
}

// wait waits until ok, which is asked with b.mu held whenever something
// happens.
func (b *Browser) wait(ctx context.Context, ok func() bool) error {
	for {
		b.mu.Lock()
		if ok() {
			b.mu.Unlock()
			return nil
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-b.c.done:
			return errDead
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errDead is the error of a browser that is gone.
var errDead = errors.New("the browser is gone")

// note changes what is known, and wakes who waits for it. It returns the
// moment.
func (b *Browser) note(change func()) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moment++
	if change != nil {
		change()
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return b.moment
}

// event takes in one event. It does not wait.
func (b *Browser) event(s *session, method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		b.attached(s, params)
	case "Target.detachedFromTarget":
		b.detached(s)
	case "Browser.downloadWillBegin", "Browser.downloadProgress":
		b.downloading(method, params)
	default:
		if s.tab != nil {
			s.tab.event(s, method, params)
		}
	}
}

// attached takes in a new tab, or a frame with a process of its own.
func (b *Browser) attached(s *session, params jsonv2.Value) {
	var ev target.EventAttachedToTarget
	if decode(params, &ev) != nil {
		return
	}
	switch {
	case ev.TargetInfo.Type == "page" && s.parent == b.c.root:
		t := newTab(b, s, ev.TargetInfo)
		b.note(func() {
			t.ID = b.nextTab
			b.nextTab++
			b.tabs = append(b.tabs, t)
			b.active = t
		})
		go t.prepare(s)
	case ev.TargetInfo.Type == "iframe" && s.parent.tab != nil:
		t := s.parent.tab
		s.tab = t
		b.note(func() {
			t.frames = append(t.frames, s)
			delete(t.left, cdp.FrameID(s.target))
		})
		go t.prepare(s)
	default:
		go func() { // not ours: let it run
			s.send(runtime.CommandRunIfWaitingForDebugger, nil)
		}()
	}
}

// detached takes in that a tab or a frame has gone.
func (b *Browser) detached(s *session) {
	t := s.tab
	if t == nil {
		return
	}
	b.note(func() {
		if s != t.s {
			t.frames = slices.DeleteFunc(t.frames, func(f *session) bool { return f == s })
			return
		}
		t.closed, t.dialog = true, nil
		b.tabs = slices.DeleteFunc(b.tabs, func(o *Tab) bool { return o == t })
		if b.active == t {
			b.active = nil
			if n := len(b.tabs); n > 0 {
				b.active = b.tabs[n-1]
			}
			if t.opener != nil && !t.opener.closed {
				b.active = t.opener
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }
