package browser

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
)

func TestParseAddress(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.org/a?b#c": "https://example.org/a?b#c",
		" example.org ":             "https://example.org",
		"example.org:8080/x":        "https://example.org:8080/x",
		"localhost:3000":            "https://localhost:3000",
		"http://127.0.0.1:1/":       "http://127.0.0.1:1/",
		"about:blank":               "about:blank",
		"file:///etc/passwd":        "error: only http and https",
		"javascript:alert(1)":       "error: only http and https",
		"data:text/html,x":          "error: only http and https",
		"chrome://settings":         "error: only http and https",
		"view-source:http://x":      "error: only http and https",
		"https://":                  "error: is not an address",
		"http://[::1":               "error: is not an address",
		"https://a b/":              "error: is not an address",
	} {
		u, err := parseAddress(raw)
		if msg, wrong := strings.CutPrefix(want, "error: "); wrong {
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%q: %v, %v; want an error with %q", raw, u, err, msg)
			}
		} else if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", raw, u, err, want)
		}
	}
}

// The schema, the table of actions and OpenManus' words for what is missing.
func TestNeeds(t *testing.T) {
	for action, want := range map[string]string{
		"go_to_url":              "URL is required for 'go_to_url' action",
		"click_element":          "Index is required for 'click_element' action",
		"input_text":             "Index and text are required for 'input_text' action",
		"send_keys":              "Keys are required for 'send_keys' action",
		"switch_tab":             "Tab ID is required for 'switch_tab' action",
		"scroll_to_text":         "Text is required for 'scroll_to_text' action",
		"upload_file":            "File path is required for 'upload_file' action",
		"drag":                   "Index and to_index or x and y are required for 'drag' action",
		"download":               "Index or url is required for 'download' action",
		"handle_dialog":          "Accept is required for 'handle_dialog' action",
		"wait":                   "",
		"scroll_down":            "",
		"close_tab":              "",
		"select_dropdown_option": "Index and text are required for 'select_dropdown_option' action",
	} {
		got := ""
		if err := actions[action].check(params{Action: action}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", action, got, want)
		}
	}
	empty, blanks, one, x := "", "  ", 1, 2.5
	for _, c := range []struct {
		in params
		ok bool
	}{
		{params{Action: "input_text", Index: &one, Text: &empty}, true}, // it empties the field
		{params{Action: "input_text", Text: &empty}, false},
		{params{Action: "scroll_to_text", Text: &blanks}, false},
		{params{Action: "go_to_url", URL: "  "}, false},
		{params{Action: "click_element", X: &x, Y: &x}, true},
		{params{Action: "click_element", X: &x}, false},
		{params{Action: "drag", Index: &one, X: &x, Y: &x}, true},
		{params{Action: "download", URL: "example.org/a.csv"}, true},
	} {
		if err := actions[c.in.Action].check(c.in); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.in, err)
		}
	}
	for name := range actions {
		if !strings.Contains(schema, `"`+name+`"`) {
			t.Errorf("the schema does not offer %s", name)
		}
	}
	enum := schema[strings.Index(schema, `"enum"`):strings.Index(schema, "]")]
	if n := strings.Count(enum, `"`)/2 - 1; n != len(actions) {
		t.Errorf("the schema offers %d actions, and there are %d", n, len(actions))
	}
}

func TestEffects(t *testing.T) {
	confirm := Dialog{Kind: "confirm", Message: "Sure?", Open: true}
	alert := Dialog{Kind: "alert", Message: "Hello"}
	for want, out := range map[string]Outcome{
		"":                                     {},
		"; the page went to https://x.example": {URL: "https://x.example", Moved: true},
		"; it opened a tab, which is active now; its tab was closed": {Tab: new(Tab), Closed: true},
		"; it asks for a file: upload_file provides one":             {Chooser: true},
		"; something is still loading":                               {Loading: true},
		`; it showed the dialog (alert) "Hello", which was accepted` +
			`; it shows a dialog (confirm): "Sure?", which handle_dialog answers`: {
			Dialogs: []Dialog{alert, confirm}},
	} {
		if got := new(runner).effects(t.Context(), "Clicked", out); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	many := new(runner).effects(t.Context(), "", Outcome{Dialogs: slices.Repeat([]Dialog{alert}, maxDialogs)})
	if strings.Count(many, "Hello") != maxDialogs-1 || !strings.Contains(many, "more dialogs than that") {
		t.Errorf("many dialogs: %s", many)
	}
	moved := Outcome{URL: "https://x.example"}
	if got := new(runner).effects(t.Context(), "Navigated to https://x.example", moved); got != "" {
		t.Errorf("it repeats the address: %s", got)
	}
}

func TestExplain(t *testing.T) {
	live := &Browser{c: &conn{done: make(chan struct{})}}
	dead := &Browser{c: &conn{done: make(chan struct{})}}
	close(dead.c.done)
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	seven := 7
	for _, c := range []struct {
		b       *Browser
		limited context.Context
		err     error
		want    string
	}{
		{live, t.Context(), errors.New("why"), "Browser action 'a' failed: why"},
		{live, t.Context(), blocked("it is disabled"), "Browser action 'a' failed: element 7: it is disabled"},
		{live, t.Context(), fmt.Errorf("now: %w", errStale), "failed: element 7: now: it is no longer"},
		{live, t.Context(), errDialog, "until it is answered (handle_dialog)"},
		{live, late, context.DeadlineExceeded, "Browser action 'a' failed: it was not done within 1m0s"},
		{live, t.Context(), context.DeadlineExceeded, "Browser action 'a' failed: context deadline exceeded"},
		{dead, t.Context(), errGone, "the browser died; the next call starts it again"},
	} {
		r := &runner{b: c.b, ctx: t.Context(), in: params{Action: "a", Index: &seven}}
		if got := r.explain(c.limited, c.err).Error(); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestListTabs(t *testing.T) {
	one := TabInfo{ID: 0, URL: "https://a.example/", Title: "A"}
	two := TabInfo{ID: 3, URL: "https://b.example/", Active: true}
	if got := listTabs([]TabInfo{one}); got != "" {
		t.Errorf("one tab: %q", got)
	}
	want := "Tabs:\n  0: A https://a.example/\n  3: (no title) https://b.example/ (active)\n"
	if got := listTabs([]TabInfo{one, two}); got != want {
		t.Errorf("two tabs: %q", got)
	}
}

func TestFileNames(t *testing.T) {
	for suggested, want := range map[string]string{
		"a.csv": "a.csv", "dir/a.csv": "a.csv", "../../etc/passwd": "passwd",
		"/": "download", "": "download", ".": "download", "..": "download",
	} {
		if got := fileName(suggested); got != want {
			t.Errorf("%q becomes %q, want %q", suggested, got, want)
		}
	}
	for address, want := range map[string]string{
		"https://x.example/a/b.csv?c": "b.csv", "https://x.example/report": "report.png",
		"https://x.example/": "download.png", "https://x.example": "download.png",
	} {
		if got := suggestName(address, "image/png"); got != want {
			t.Errorf("%s becomes %q, want %q", address, got, want)
		}
	}
	files := fstest.MapFS{"downloads/a.csv": {}, "downloads/a (1).csv": {}, "b.csv": {}}
	for suggested, want := range map[string]string{
		"a.csv": "downloads/a (2).csv", "b.csv": "downloads/b.csv", "c": "downloads/c",
	} {
		if got := freeName(files, suggested); got != want {
			t.Errorf("%s becomes %q, want %q", suggested, got, want)
		}
	}
}

// Each key is described by its first event: the name of the key, the modifiers,
// and the command that it gives.
func TestKeyEvents(t *testing.T) {
	for keys, want := range map[string]string{
		"Enter":                 "Enter",
		"Control+a":             "a+2 selectAll",
		"ctrl+C":                "C+10 copy",
		"Meta+z":                "z+4 undo",
		"Shift+Tab":             "Tab+8",
		"Control+Shift+x":       "x+10 cut",
		"Alt+F4":                "F4+1",
		"Control++":             "++10",
		"ArrowDown ArrowDown":   "ArrowDown ArrowDown",
		" down\tEnter ":         "ArrowDown Enter",
		"Space":                 " ",
		"a":                     "text", // one letter is text
		"hello world":           "text",
		"Enter hello":           "text",
		"Hyper+a":               "text",
		"Control+":              "text",
		"":                      "text",
		"Control+Enter Control": "text",
	} {
		events, ok := keyEvents(keys)
		var got []string
		for _, e := range events {
			if e.Type == input.DispatchKeyEventTypeKeyUp || e.Type == input.DispatchKeyEventTypeChar {
				continue
			}
			s := e.Key
			if e.Modifiers != 0 {
				s += fmt.Sprintf("+%d", e.Modifiers)
			}
			got = append(got, strings.Join(append([]string{s}, e.Commands...), " "))
		}
		if !ok {
			got = []string{"text"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
	}
	events, _ := keyEvents("Control+a")
	for _, e := range events {
		if e.Text != "" || e.Type == input.DispatchKeyEventTypeChar {
			t.Errorf("Control+a writes %q", e.Text)
		}
	}
}

func TestPresses(t *testing.T) {
	for want, how := range map[string]Button{
		"pressed left 1, released left 1":                                  {},
		"pressed right 1, released right 1":                                {Right: true},
		"pressed left 1, released left 1, pressed left 2, released left 2": {Count: 2},
	} {
		var got []string
		for _, e := range presses(Point{3, 4}, how) {
			if e.X != 3 || e.Y != 4 {
				t.Errorf("it is at %g, %g", e.X, e.Y)
			}
			kind := strings.ToLower(strings.TrimPrefix(string(e.Type), "mouse"))
			got = append(got, fmt.Sprintf("%s %s %d", kind, e.Button, e.ClickCount))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%+v: %s", how, s)
		}
	}
}

func TestMiddle(t *testing.T) {
	square := dom.Quad{10, 10, 30, 10, 30, 50, 10, 50}
	flat := dom.Quad{0, 0, 100, 0, 100, 0.2, 0, 0.2}
	for _, c := range []struct {
		quads []dom.Quad
		want  Point
		ok    bool
	}{
		{[]dom.Quad{square}, Point{20, 30}, true},
		{[]dom.Quad{flat, square}, Point{20, 30}, true},
		{[]dom.Quad{{1, 2}, square}, Point{20, 30}, true},
		{[]dom.Quad{flat}, Point{}, false},
		{nil, Point{}, false},
	} {
		if got, ok := middle(c.quads); got != c.want || ok != c.ok {
			t.Errorf("%v: %v, %v", c.quads, got, ok)
		}
	}
}

func TestNetError(t *testing.T) {
	if got := netError("net::ERR_NAME_NOT_RESOLVED"); got != "there is no such host (net::ERR_NAME_NOT_RESOLVED)" {
		t.Error(got)
	}
	for _, unknown := range []string{"net::ERR_NEVER_HEARD_OF", "", "#", "net::ERR"} {
		if got := netError(unknown); got != unknown {
			t.Errorf("%q becomes %q", unknown, got)
		}
	}
	for line := range strings.Lines(netErrors) {
		f := strings.Fields(line)
		if len(f) > 0 && f[0] != "#" && (len(f) < 3 || !strings.HasPrefix(line, "net::ERR_")) {
			t.Errorf("data/neterrors.txt: %s", line)
		}
	}
}

func TestArguments(t *testing.T) {
	o := Options{Width: 800, Height: 600, Args: []string{"--mine"}}
	plain := o.arguments("/p")
	for _, want := range []string{
		"--remote-debugging-pipe", "--user-data-dir=/p", "--window-size=800,600", "--headless", "--disable-quic",
	} {
		if !slices.Contains(plain, want) {
			t.Errorf("there is no %s in %q", want, plain)
		}
	}
	if plain[len(plain)-1] != "--mine" {
		t.Error("the caller's arguments are not the last, which count")
	}
	for _, a := range plain {
		if a == "--no-sandbox" || strings.HasPrefix(a, "--proxy") || strings.ContainsAny(a, " #\n") {
			t.Errorf("nobody asked for %q", a)
		}
	}
	for flag, o := range map[string]Options{
		"--no-sandbox":                    {NoSandbox: true},
		"--proxy-bypass-list=<-loopback>": {proxy: "http://127.0.0.1:1"},
		"--ignore-certificate-errors":     {DisableSecurity: true},
	} {
		if !slices.Contains(o.arguments("/p"), flag) {
			t.Errorf("%+v: there is no %s", o, flag)
		}
	}
	if slices.Contains((&Options{Window: true}).arguments("/p"), "--headless") {
		t.Error("a browser with a window is headless")
	}
}

func TestInstalled(t *testing.T) {
	getenv := func(name string) string { return "/" + name }
	for goos, want := range map[string]string{
		"darwin":  filepath.Join("/HOME", "Applications", "Chromium.app/Contents/MacOS/Chromium"),
		"windows": filepath.Join("/LocalAppData", `Google\Chrome\Application\chrome.exe`),
		"linux":   "/snap/bin/chromium",
	} {
		if !slices.Contains(installed(goos, getenv), want) {
			t.Errorf("%s: there is no %s in %q", goos, want, installed(goos, getenv))
		}
	}
}

// newTestTab is a tab of no browser: only events happen to it.
func newTestTab() *Tab {
	b := &Browser{changed: make(chan struct{}), downloads: make(map[string]*Download)}
	b.c = &conn{done: make(chan struct{})}
	return newTab(b, &session{target: "main"}, new(target.Info))
}

// The events of the page say what loads; requests that began before an action do
// not count for it.
func TestFrameEvents(t *testing.T) {
	tab := newTestTab()
	event := func(method, params string) { tab.event(tab.s, method, []byte(params)) }
	event("Network.requestWillBeSent", `{"requestId": "old", "type": "XHR"}`)
	event("Page.frameStartedLoading", `{"frameId": "ad"}`)
	before := tab.snapshot()
	steps := []struct {
		method, params string
		busy           bool
	}{
		{"Network.requestWillBeSent", `{"requestId": "socket", "type": "WebSocket"}`, false}, // it may never end
		{"Network.requestWillBeSent", `{"requestId": "r", "type": "Fetch"}`, true},
		{"Network.loadingFinished", `{"requestId": "r"}`, false},
		{"Network.requestWillBeSent", `{"requestId": "s", "type": "Script"}`, true},
		{"Network.loadingFailed", `{"requestId": "s"}`, false},
		{"Page.frameStartedNavigating", `{"frameId": "main", "navigationType": "sameDocument"}`, false},
		{"Page.frameStartedNavigating", `{"frameId": "main", "navigationType": "differentDocument"}`, true},
		{"Page.frameNavigated", `{"frame": {"id": "main", "loaderId": "L2", "url": "https://example.org/2"}}`, true},
		{"Page.frameStoppedLoading", `{"frameId": "main"}`, false},
		{"Page.frameRequestedNavigation", `{"frameId": "child"}`, true},
		{"Page.frameDetached", `{"frameId": "child"}`, false},
	}
	for _, s := range steps {
		event(s.method, s.params)
		if tab.busy(before.moment) != s.busy {
			t.Errorf("after %s %s: busy is %v", s.method, s.params, !s.busy)
		}
	}
	out := tab.diff(before)
	if out.URL != "https://example.org/2" || !out.Moved || out.Loading || out.Tab != nil || len(out.Downloads) > 0 {
		t.Errorf("%+v", out)
	}
}

func TestDiff(t *testing.T) {
	tab := newTestTab()
	before := tab.snapshot()
	if out := tab.diff(before); out.URL != "" || out.Moved || out.Dialogs != nil {
		t.Errorf("nothing happened: %+v", out)
	}
	tab.event(tab.s, "Page.navigatedWithinDocument", []byte(`{"frameId": "main", "url": "https://example.org/#a"}`))
	tab.event(tab.s, "Page.javascriptDialogOpening", []byte(`{"type": "confirm", "message": "Sure?"}`))
	tab.event(tab.s, "Page.fileChooserOpened", []byte(`{"frameId": "main", "backendNodeId": 7}`))
	tab.b.downloadBegins([]byte(`{"guid": "g", "url": "https://example.org/d", "suggestedFilename": "../d.csv"}`))
	tab.b.note(func() { tab.b.tabs = append(tab.b.tabs, tab) })
	if err := tab.obstacle(); err != errDialog {
		t.Errorf("with a dialog: %v", err)
	}
	out := tab.diff(before)
	if out.URL != "https://example.org/#a" || out.Moved || out.Tab != tab || !out.Chooser {
		t.Errorf("%+v", out)
	}
	if len(out.Dialogs) != 1 || !out.Dialogs[0].Open || out.Dialogs[0].Message != "Sure?" {
		t.Errorf("dialogs: %+v", out.Dialogs)
	}
	if len(out.Downloads) != 1 || out.Downloads[0].Name != "d.csv" {
		t.Errorf("downloads: %+v", out.Downloads)
	}
	if out := tab.diff(tab.snapshot()); out.Tab != nil || out.Dialogs != nil || out.Downloads != nil || out.Chooser {
		t.Errorf("the next action has the effects of the last: %+v", out)
	}
	tab.event(tab.s, "Page.javascriptDialogClosed", []byte(`{}`))
	tab.event(tab.s, "Inspector.targetCrashed", []byte(`{}`))
	if err := tab.obstacle(); err != errCrashed {
		t.Errorf("after a crash: %v", err)
	}
}

// A page that sends requests without end is at rest after a while, one that loads
// gets more time, and a dialog ends the waiting at once.
func TestWaits(t *testing.T) {
	const (
		asks  = `Network.requestWillBeSent {"requestId": "r", "type": "XHR"}`
		loads = `Page.frameStartedLoading {"frameId": "main"}`
	)
	for name, c := range map[string]struct {
		begin, then string // events: method and parameters
		after       time.Duration
		want        time.Duration
		err         error
	}{
		"nothing":          {want: 0},
		"a request ends":   {asks, `Network.loadingFinished {"requestId": "r"}`, time.Second, time.Second, nil},
		"a request stays":  {asks, "", 0, quietTime, nil},
		"a page loads":     {loads, `Page.frameStoppedLoading {"frameId": "main"}`, 6 * time.Second, 6 * time.Second, nil},
		"a page is stuck":  {loads, "", 0, quietTime + loadTime, nil},
		"a frame is stuck": {`Page.frameStartedLoading {"frameId": "ad"}`, "", 0, quietTime + extraTime, nil},
		"a dialog opens":   {loads, `Page.javascriptDialogOpening {"type": "confirm"}`, time.Second, time.Second, errDialog},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab := newTestTab()
				event := func(line string) {
					if method, params, ok := strings.Cut(line, " "); ok {
						tab.event(tab.s, method, []byte(params))
					}
				}
				before := tab.snapshot()
				event(c.begin)
				begin := time.Now()
				go func() {
					time.Sleep(c.after)
					event(c.then)
				}()
				err := tab.waitQuiet(t.Context(), before)
				if took := time.Since(begin); !errors.Is(err, c.err) || took != c.want {
					t.Errorf("it took %v and returned %v, want %v and %v", took, err, c.want, c.err)
				}
			})
		})
	}
}

// A server on this machine stays allowed as long as a tab shows it.
func TestGatewayAllowsLocalServers(t *testing.T) {
	g := new(gateway)
	for _, c := range []struct {
		target string
		open   []string
		want   bool
	}{
		{"", []string{"127.0.0.1:8000"}, false},
		{"127.0.0.1:8000", nil, true},
		{"", []string{"127.0.0.1:8000"}, true},
		{"", []string{"example.org:443", "127.0.0.1:8000"}, true},
		{"127.0.0.1:9000", []string{"127.0.0.1:8000"}, true},
		{"", []string{"example.org:443"}, false},
		{"", []string{"127.0.0.1:8000"}, false},
	} {
		g.allow(c.target, c.open)
		if got := g.isLocal("127.0.0.1:8000"); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
		if g.isLocal("127.0.0.1:22") || g.isLocal("") {
			t.Errorf("%+v: another server is allowed", c)
		}
	}
}
