package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/jpeg"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A tab whose page has crashed says so, and is usable again.
func TestCrashedTab(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/": serve("<title>Fine</title><button>OK</button>")})
	p := newPlayer(t, Config{})
	p.run(`{"action":"go_to_url","url":"` + url + `/"}`)
	p.settled()
	tab := shared(t).Active()
	tab.s.send("Page.crash", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := shared(t).wait(ctx, func() bool { return tab.crashed }); err != nil {
		t.Fatal(err)
	}
	p.run(`{"action":"click_element","index":0}`)
	if p.err == nil || !strings.Contains(p.err.Error(), "has crashed: refresh it, or go elsewhere") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
	p.run(`{"action":"refresh"}`)
	if p.err != nil || !strings.Contains(p.said, "Title: Fine") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
	tab.s.send("Page.crash", nil)
	if err := shared(t).wait(ctx, func() bool { return tab.crashed }); err != nil {
		t.Fatal(err)
	}
	p.run(`{"action":"go_to_url","url":"` + url + `/"}`)
	if p.err != nil || !strings.Contains(p.said, "[0]<button> OK") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
}

// A page whose scripts do not end is stopped, and usable again.
func TestHungPage(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/": serve(`<title>Fine</title><body onkeydown="for (;;);"><button onclick="for (;;);">Hang</button><button onclick="this.textContent = 'Done'">Do</button>`)})
	p := newPlayer(t, Config{})
	shared(t).hang = time.Second
	defer func() { shared(t).hang = hangTime }()
	p.run(`{"action":"go_to_url","url":"` + url + `/"}`)
	p.settled()
	for _, in := range []string{`{"action":"click_element","index":0}`, `{"action":"send_keys","keys":"a"}`} {
		p.run(in)
		if p.err == nil || !strings.Contains(p.err.Error(), "the page does not answer because its scripts do not end: they were stopped") {
			t.Fatalf("%s: %s, %v", in, p.said, p.err)
		}
	}
	shared(t).hang = hangTime
	p.run(`{"action":"click_element","index":1}`)
	if p.err != nil || !strings.Contains(p.said, "[1]<button focused> Done") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
}

// A browser that dies is started again, and the model is told; so it is when
// the session goes on in another process.
func TestDeadBrowser(t *testing.T) {
	testbed.Need(t, "chromium")
	url := site(t, map[string]http.HandlerFunc{"/": serve("<title>Fine</title>")})
	p := newPlayer(t, Config{})
	started := 0
	p.tool.cfg.Start = func(ctx context.Context) (*Browser, error) {
		started++
		return Start(ctx, testOptions())
	}
	defer p.tool.Close()
	p.run(`{"action":"go_to_url","url":"` + url + `/"}`)
	p.settled()
	b := p.tool.slots["s"].b
	dir := b.dir
	killGroup(b.proc.cmd)
	<-b.Dead()
	p.run(`{"action":"get_text"}`)
	if p.err != nil || !strings.Contains(p.said, "The browser had died and was started again") || !strings.Contains(p.said, "The last page was "+url+"/") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what it left is there: %v", err)
	}
	if err := p.tool.CloseSession("s"); err != nil {
		t.Fatal(err)
	}
	p.last, _ = json.Marshal(Detail{URL: url + "/"})
	p.run(`{"action":"get_text"}`)
	if p.err != nil || started != 3 || !strings.Contains(p.said, "This is a new browser") || !strings.Contains(p.said, url) {
		t.Fatalf("%d: %s, %v", started, p.said, p.err)
	}
}

// A session that is forgotten has a new browser when it goes on, also where its
// call waited for its turn; a tool that is closed starts none.
func TestCloseSession(t *testing.T) {
	testbed.Need(t, "chromium")
	started := make(chan *Browser, 10)
	release := make(chan struct{})
	tool := NewTool(Config{Start: func(ctx context.Context) (*Browser, error) {
		b, err := Start(ctx, testOptions())
		started <- b
		<-release
		return b, err
	}})
	defer tool.Close()
	results := make(chan error, 2)
	run := func() {
		_, err := tool.Run(context.WithoutCancel(t.Context()), callOf(`{"action":"get_text"}`))
		results <- err
	}
	go run()
	first := <-started
	forgotten := make(chan error, 1)
	go func() { forgotten <- tool.CloseSession("s") }()
	go run()
	close(release)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if err := <-forgotten; err != nil {
		t.Error(err)
	}
	<-first.Dead()
	if err := tool.CloseSession("nobody"); err != nil {
		t.Error(err)
	}
	if err := tool.Close(); err != nil {
		t.Error(err)
	}
	for len(started) > 0 {
		<-(<-started).Dead()
	}
	if _, err := tool.Run(t.Context(), callOf(`{"action":"get_text"}`)); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("%v", err)
	}
}

// cdp_url connects to a running browser, which continues after the connection is closed,
// with the tabs that were open before.
func TestConnect(t *testing.T) {
	testbed.Need(t, "chromium")
	url := site(t, map[string]http.HandlerFunc{"/": serve("<title>Fine</title><button>OK</button>")})
	port := filepath.Join(t.TempDir(), "profile")
	theirs, err := Start(t.Context(), Options{NoSandbox: !canSandbox(), Profile: port, Args: []string{"--remote-debugging-port=0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	var data []byte
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for err = os.ErrNotExist; err != nil || !bytes.Contains(data, []byte("\n")); { // it writes this file when it listens
		if err := theirs.Active().drawn(ctx); err != nil {
			t.Fatal(err)
		}
		data, err = os.ReadFile(filepath.Join(port, "DevToolsActivePort"))
	}
	number, socket, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	for _, at := range []string{"http://127.0.0.1:" + number, "ws://127.0.0.1:" + number + socket} {
		p := newPlayer(t, Config{})
		p.tool.cfg.Start = func(ctx context.Context) (*Browser, error) { return Start(ctx, Options{URL: at}) }
		p.run(`{"action":"go_to_url","url":"` + url + `/"}`)
		if p.err != nil || !strings.Contains(p.said, "<button> OK") {
			t.Fatalf("%s: %s, %v", at, p.said, p.err)
		}
		if err := p.tool.Close(); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if err := theirs.wait(ctx, func() bool { return len(theirs.tabs) == 1 }); err != nil {
			t.Errorf("%s: its tab is still there: %v", at, err)
		}
	}
	if _, err := theirs.Active().Go(t.Context(), url+"/"); err != nil {
		t.Errorf("their browser: %v", err)
	}
	judgedBrowser(t, theirs, "ws://127.0.0.1:"+number+socket)
}

// judgedBrowser connects to a browser at an address with rules: whatever leads its tabs
// elsewhere is refused before it is requested, and its user goes where they like.
func judgedBrowser(t *testing.T, theirs *Browser, at string) {
	var elsewhere_ string
	var reached atomic.Int32
	mine := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Host, "localhost") {
				reached.Add(1)
			}
			h(w, r)
		}
	}
	url := site(t, map[string]http.HandlerFunc{
		"/": mine(func(w http.ResponseWriter, r *http.Request) {
			serve(strings.ReplaceAll(`<title>Fine</title><img src=OTHER/a><iframe src=OTHER/b></iframe><iframe src=/ok></iframe>`+
				`<a href=OTHER/c target=_blank>Other</a><a href=/pop target=_blank>Window</a><p id=p></p>`+
				`<script>fetch("OTHER/d", {mode: "no-cors"}).catch(() => p.textContent = "fetch failed");`+
				`new Worker(URL.createObjectURL(new Blob(['fetch("OTHER/e", {mode: "no-cors"}).catch(() => postMessage("worker failed"))'])))`+
				`.onmessage = e => document.body.append(e.data)</script>`, "OTHER", elsewhere_))(w, r)
		}),
		"/ok": mine(serve(`inner`)),
		"/pop": mine(func(w http.ResponseWriter, r *http.Request) {
			serve(`<title>Pop</title><img src=`+elsewhere_+`/f>popped`)(w, r)
		}),
		"/to": mine(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere_+"/g", http.StatusFound) }),
		"/a":  mine(serve(``)), "/b": mine(serve(``)), "/c": mine(serve(``)), "/d": mine(serve(``)), "/e": mine(serve(``)), "/f": mine(serve(``)), "/g": mine(serve(``)),
	})
	elsewhere_ = elsewhere(t, url)
	d, err := egress.New(egress.Policy{Mode: "hosts", Hosts: []string{strings.TrimPrefix(url, "http://")}, Section: "[web]"})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t, Config{})
	p.tool.cfg.Start = func(ctx context.Context) (*Browser, error) { return Start(ctx, Options{URL: at, Dialer: d}) }
	defer p.tool.Close()
	p.line("go_to_url url=" + url + "/")
	p.line("want Title: Fine")
	p.line("want inner")
	p.line(`wait text="fetch failed"`)
	p.line(`wait text="worker failed"`)
	p.line("go_to_url url=" + url + "/to")
	p.line("error it was blocked")
	p.line("go_to_url url=" + url + "/")
	p.line(`click_element index="Window"`)
	p.line("want popped")
	p.line("close_tab")
	p.line("go_to_url url=" + elsewhere_ + "/c")
	p.line("error not on the list")
	p.settled()
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	if _, err := theirs.Tabs()[0].Go(t.Context(), elsewhere_+"/c"); err != nil || reached.Load() != 1 {
		t.Errorf("their own tab: %v", err)
	}
}

// A certificate that nobody vouches for is an error that says so; the browser
// goes on.
func TestUnknownAuthority(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	url := site(t, map[string]http.HandlerFunc{"/": serve("<title>Fine</title>")})
	p := newPlayer(t, Config{})
	p.run(`{"action":"go_to_url","url":"` + s.URL + `/"}`)
	if p.err == nil || !strings.Contains(p.err.Error(), "its certificate was not issued by a trusted authority") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
	p.run(`{"action":"go_to_url","url":"` + url + `/"}`)
	if p.err != nil || !strings.Contains(p.said, "Title: Fine") {
		t.Fatalf("%s, %v", p.said, p.err)
	}
}

func TestNoBrowser(t *testing.T) {
	nowhere := func(string) (string, error) { return "", os.ErrNotExist }
	nothing := func(string) (os.FileInfo, error) { return nil, os.ErrNotExist }
	if _, err := findProgram(nowhere, nothing); !errors.Is(err, ErrNoBrowser) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if path, err := findProgram(nowhere, func(string) (os.FileInfo, error) { return os.Stat(os.Args[0]) }); err != nil || path != installed(runtime.GOOS, os.Getenv)[0] {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := Start(t.Context(), Options{Path: "/nowhere/chromium", NoSandbox: true}); err == nil || !strings.Contains(err.Error(), "/nowhere/chromium cannot be run") {
		t.Errorf("%v", err)
	}
	if _, err := Start(t.Context(), Options{URL: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "no browser answers at http://127.0.0.1:1") {
		t.Errorf("%v", err)
	}
}

// Root has no sandbox in Chromium: nothing is started without one unasked.
func TestRootNeedsToSaySo(t *testing.T) {
	_, err := launch(&Options{Path: os.Args[0], root: true})
	if !errors.Is(err, errNoSandbox) {
		t.Errorf("%v", err)
	}
}

// What Chromium prints when it cannot make its sandbox becomes what to do about it.
func TestWhyItDidNotStart(t *testing.T) {
	for printed, want := range map[string]error{
		"x\n[1:1:ERROR:zygote_host_impl_linux.cc] Running as root without --no-sandbox is not supported.":             errNoSandbox,
		"[1:1:FATAL:zygote_host_impl_linux.cc] No usable sandbox! If you want to live dangerously, use --no-sandbox.": errNoNamespaces,
		"cannot open display": errDead,
	} {
		p := &process{stderr: &tail{max: 1 << 10}}
		p.stderr.Write([]byte(printed))
		if err := p.failure(errDead); !errors.Is(err, want) {
			t.Errorf("%s: %v", printed, err)
		}
	}
}

// A call that is given up ends at once, and the browser goes on.
func TestCancelled(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/slow": slow, "/": serve("<title>Fine</title>")})
	_, tab := open(t, url+"/")
	ctx, cancel := context.WithCancel(t.Context())
	asked := tab.b.moment
	go func() {
		tab.b.wait(t.Context(), func() bool { return tab.b.moment > asked+3 })
		cancel()
	}()
	if _, err := tab.Go(ctx, url+"/slow"); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if out, err := tab.Go(t.Context(), url+"/"); err != nil || out.Loading {
		t.Fatalf("%+v, %v", out, err)
	}
}

// A model that sees gets the view with the elements' numbers drawn on it.
func TestMarkedScreenshot(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/": serve(`<body style="margin:0"><button style="position:absolute;left:100px;top:50px;width:200px;height:40px;background:#fff;border:0"></button>`)})
	ctx, tab := open(t, url+"/")
	p := look(t, ctx, tab)
	data, err := tab.Marked(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r, g, b, _ := img.At(200, 50).RGBA() // on the frame of the element
	if r>>8 < 120 || g>>8 > 120 || b>>8 > 120 {
		t.Errorf("the frame is %d %d %d", r>>8, g>>8, b>>8)
	}
	pl := newPlayer(t, Config{Vision: true})
	res, err := pl.tool.Run(t.Context(), callOf(`{"action":"go_to_url","url":"`+url+`/"}`))
	if err != nil {
		t.Fatal(err)
	}
	if blob, ok := res.Parts[len(res.Parts)-1].(llm.Blob); !ok || blob.MIME != "image/jpeg" {
		t.Errorf("there is no picture: %T", res.Parts[len(res.Parts)-1])
	}
}

// The page is small for the model, however large it is: what is in view first.
func TestLargePage(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/": serve(largePage(1600))})
	ctx, tab := open(t, url+"/")
	p := look(t, ctx, tab)
	if s := p.String(); len(s) > 8300 || !strings.Contains(s, "[0]<a> Link 0\n") || !strings.Contains(s, "more elements and") {
		t.Errorf("%d bytes:\n%.600s", len(s), s)
	}
}
