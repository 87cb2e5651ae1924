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

	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// Options say which browser [Start] runs, and how. The zero value means a
// headless Chromium, the one that [Find] returns, with a new profile.
type Options struct {
	Path    string // the program; "" means the one that Find returns
	URL     string // a running browser to connect to instead, http://HOST:PORT or ws://…
	Profile string // the directory with cookies and log-ins; "" means a new one, removed by Close

	// NotIn are the directories that commands of the agent write: neither the program nor
	// what the browser keeps is looked for or put there.
	NotIn []string

	Window bool // whether it shows a window

	// NoSandbox turns off Chromium's own sandbox, without which it cannot run as
	// root. A page that breaks out of its renderer then has the user's rights.
	NoSandbox bool

	// Dialer makes all connections of the browser, which is given a proxy of its
	// own. With nil the browser connects directly. A browser at URL makes its
	// connections itself; its Dialer judges what the tabs request that are used here.
	Dialer *egress.Dialer

	DisableSecurity bool     // pages may read each other, and certificates are not checked
	Args            []string // further arguments of the program
	Width, Height   int      // of the view, in CSS pixels; 0 means 1280 and 900

	proxy string // of a gateway: http://HOST:PORT

	root bool // for tests: behave as if the user was root
}

// A Browser is a running Chromium. It is safe for concurrent use.
//
// What happens in the browser arrives as events, which one goroutine takes in.
// Each event is a change under mu, made by note, which wakes all that wait. So
// every wait in this package is a condition on the state below: see wait.
type Browser struct {
	c    *conn
	proc *process // nil if Start connected to a running browser
	dir  string   // for downloads and uploads; Close removes it
	gate *gateway // nil if the browser connects directly

	// patience is how long an action waits for its element, at least; hang is how
	// long a page may take for an answer that takes no time. Tests shorten them.
	patience, hang time.Duration

	// maxSingle is how many elements are looked up in the accessibility tree one by
	// one. For more of them the whole tree is fetched.
	maxSingle int

	// mu guards what follows, and the fields of tabs and downloads that say so.
	mu        sync.Mutex
	tabs      []*Tab // in the order in which they were opened
	active    *Tab
	nextTab   int
	downloads map[string]*Download // by the browser's id for them
	closed    bool
	changed   chan struct{} // closed and replaced by each note
	moment    int64         // counts the notes; it orders what happens
}

// Start starts a browser, or connects to the one at o.URL, and returns when it has
// a tab that can be used. ctx limits the start, not the life of the browser. If no
// Chromium is installed, the error is [ErrNoBrowser]. The caller closes the
// browser.
func Start(ctx context.Context, o Options) (*Browser, error) {
	o.Width, o.Height = cmp.Or(o.Width, 1280), cmp.Or(o.Height, 900)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	b := &Browser{
		patience:  readyTime,
		hang:      hangTime,
		maxSingle: 150,
		downloads: make(map[string]*Download),
		changed:   make(chan struct{}),
	}
	tr, err := b.transport(ctx, &o)
	if err != nil {
		b.gate.close()
		return nil, err
	}
	b.c = newConn(tr, b.event)
	if err := b.attach(ctx); err != nil {
		if b.proc != nil {
			killGroup(b.proc.cmd)
			<-b.proc.exited
			err = b.proc.failure(err)
		}
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// transport starts the process, or connects to the one that runs. It sets b.dir,
// and b.proc and b.gate if there is a process of ours.
func (b *Browser) transport(ctx context.Context, o *Options) (chromedp.Transport, error) {
	if o.URL == "" {
		if o.Dialer != nil {
			var err error
			if b.gate, err = startGateway(o.Dialer); err != nil {
				return nil, err
			}
			o.proxy = b.gate.url
		}
		p, err := launch(o)
		if err != nil {
			return nil, err
		}
		b.proc, b.dir = p, p.dir
		return p.tr, nil
	}
	if o.Dialer != nil {
		b.gate = &gateway{check: o.Dialer.CheckURL}
	}
	tr, err := connect(ctx, o.URL)
	if err != nil {
		return nil, fmt.Errorf("no browser answers at %s: %w", o.URL, err)
	}
	if b.dir, err = o.makeDir(); err != nil {
		tr.Close()
		return nil, err
	}
	return tr, nil
}

// connect returns a transport to the browser at an http or a WebSocket address.
func connect(ctx context.Context, url string) (chromedp.Transport, error) {
	if !strings.HasPrefix(url, "ws://") && !strings.HasPrefix(url, "wss://") {
		var err error
		if url, err = debuggerURL(ctx, url); err != nil {
			return nil, err
		}
	}
	return remote.DialContext(ctx, url)
}

// debuggerURL asks the browser at an http address for its WebSocket address.
func debuggerURL(ctx context.Context, url string) (string, error) {
	url = strings.TrimSuffix(url, "/") + "/json/version"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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
		return "", errors.New("it is not a Chromium that was started with --remote-debugging-port")
	}
	return v.URL, nil
}

// attach subscribes to tabs and downloads, and waits until there is a tab. A
// browser that was started here opens one by itself.
func (b *Browser) attach(ctx context.Context) error {
	dir := filepath.Join(b.dir, "downloads")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := cdp.Call(ctx, b.c.root, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior:      cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName,
		DownloadPath:  dir,
		EventsEnabled: ptr(true),
	})
	if err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, b.c.root, target.SetAutoAttach, attachTo("page")); err != nil {
		return err
	}
	if b.proc == nil {
		_, err := b.New(ctx)
		return err
	}
	if err := b.wait(ctx, func() bool { return b.active != nil }); err != nil {
		return err
	}
	return b.Active().started(ctx)
}

// attachTo asks the browser to attach us to new targets of these types, and to
// let them run only when we say so.
func attachTo(types ...string) target.SetAutoAttachParams {
	filter := make(target.Filter, len(types)+1)
	for i, t := range types {
		filter[i].Type = t
	}
	filter[len(types)].Exclude = true // everything else
	return target.SetAutoAttachParams{
		AutoAttach:             true,
		WaitForDebuggerOnStart: true,
		Flatten:                ptr(true),
		Filter:                 filter,
	}
}

// Close ends the browser if Start started it, and removes its files. From a
// browser at a URL it disconnects, and closes the tabs that were opened here.
// Calls under way fail. Close may be called more than once.
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
				t.closeTarget(ctx) // best effort: a tab that stays open does no harm
			}
		}
		err := b.c.tr.Close()
		<-b.c.done
		return errors.Join(err, removeAll(b.dir))
	}
	if wait, err := b.c.root.send(cdpbrowser.CommandClose, nil); err == nil {
		wait(ctx, nil) // it may exit before it answers
	}
	err := b.proc.end(ctx)
	<-b.c.done
	b.gate.close()
	return err
}

// Dead returns a channel that is closed when the connection to the browser has
// ended: it was closed, it crashed, or it was killed.
func (b *Browser) Dead() <-chan struct{} { return b.c.done }

// Tabs returns the open tabs in the order in which they were opened.
func (b *Browser) Tabs() []*Tab {
	return locked(b, func() []*Tab { return slices.Clone(b.tabs) })
}

// Active returns the tab that was opened or activated last, or nil if there is
// no tab.
func (b *Browser) Active() *Tab { return locked(b, func() *Tab { return b.active }) }

// New opens an empty tab and makes it the active one. It returns when the tab can
// be used.
func (b *Browser) New(ctx context.Context) (*Tab, error) {
	return b.newIn(ctx, target.CreateTargetParams{URL: "about:blank"})
}

// newIn is New with what the tab is opened with.
func (b *Browser) newIn(ctx context.Context, p target.CreateTargetParams) (*Tab, error) {
	res, err := cdp.Call(ctx, b.c.root, target.CreateTarget, p)
	if err != nil {
		return nil, fmt.Errorf("no tab can be opened: %w", err)
	}
	var t *Tab
	err = b.wait(ctx, func() bool {
		i := slices.IndexFunc(b.tabs, func(t *Tab) bool { return t.s.target == res.TargetID })
		if i >= 0 {
			t = b.tabs[i]
		}
		return i >= 0
	})
	if err != nil {
		return nil, err
	}
	t.ours = true
	if err := t.started(ctx); err != nil {
		return t, err
	}
	return t, t.judge(ctx)
}

// Open opens a page in a new tab and waits until it has loaded. After an error of
// the page, the tab is returned as well.
func (b *Browser) Open(ctx context.Context, url string) (*Tab, error) {
	t, err := b.New(ctx)
	if err != nil {
		return nil, err
	}
	_, err = t.Go(ctx, url)
	return t, err
}

// locked returns what get returns while b.mu is held.
func locked[T any](b *Browser, get func() T) T {
	b.mu.Lock()
	defer b.mu.Unlock()
	return get()
}

// note makes a change under b.mu and wakes every wait. It returns the moment of
// the change; within change, b.moment is that moment. change may be nil, and must
// not wait or lock.
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

// wait waits until ok returns true. It calls ok with b.mu held, at once and then
// after each note; a change between two calls is not lost, since the channel of
// the next change is taken under the same lock. The error is errDead or that of
// ctx.
func (b *Browser) wait(ctx context.Context, ok func() bool) error {
	for {
		b.mu.Lock()
		done, changed := ok(), b.changed
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-b.c.done:
			return errDead
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errDead is the error of waiting for a browser whose connection has ended.
var errDead = errors.New("the browser is gone")

// event handles one event. The connection's reader calls it, so it does not wait.
func (b *Browser) event(s *session, method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		b.attached(s, params)
	case "Target.detachedFromTarget":
		b.detached(s)
	case "Fetch.requestPaused":
		b.requestPaused(s, params)
	case "Browser.downloadWillBegin":
		b.downloadBegins(params)
	case "Browser.downloadProgress":
		b.downloadProgress(params)
	default:
		if s.tab != nil {
			s.tab.event(s, method, params)
		}
	}
}

// attached adds a new tab, or a frame that has a process of its own. Both are
// paused until prepare lets them run.
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
	default: // such as a worker: let it run
		go s.send(runtime.CommandRunIfWaitingForDebugger, nil)
	}
}

// detached removes a tab or a frame. If it was the active tab, its opener becomes
// the active one, or the tab that was opened last.
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
		switch {
		case b.active != t:
		case t.opener != nil && !t.opener.closed:
			b.active = t.opener
		case len(b.tabs) > 0:
			b.active = b.tabs[len(b.tabs)-1]
		default:
			b.active = nil
		}
	})
}

// ptr returns a pointer to v, for the optional parameters of the protocol.
func ptr[T any](v T) *T { return &v }
