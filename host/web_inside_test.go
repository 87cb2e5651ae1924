package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// told is a resolver that knows what it was told.
type told map[string][]netip.Addr

func (n told) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if as, ok := n[host]; ok {
		return as, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// insiders are the addresses of the corpus, which lead to the canary at port.
func insiders(t *testing.T, port string) (urls []string, known told) {
	t.Helper()
	data, err := os.ReadFile("../sandbox/egress/testdata/ssrf.txt")
	if err != nil {
		t.Fatal(err)
	}
	known = make(told)
	for line := range strings.Lines(string(data)) {
		text, answer, _ := strings.Cut(strings.TrimSpace(line), " | ")
		if text == "" || text[0] == '#' {
			continue
		}
		text = strings.ReplaceAll(text, "PORT", port)
		urls = append(urls, text)
		if u, err := url.Parse(text); err == nil {
			for _, a := range strings.Fields(answer) {
				known[u.Hostname()] = append(known[u.Hostname()], netip.MustParseAddr(a))
			}
		}
	}
	if len(urls) < 80 {
		t.Fatalf("the corpus has %d addresses: has it been lost?", len(urls))
	}
	return urls, known
}

// sitter listens where nobody may come, over TCP and UDP in both families, and
// counts who does.
func sitter(t *testing.T) (port string, came *atomic.Int32) {
	t.Helper()
	came = new(atomic.Int32)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	accept := func(l net.Listener) {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				came.Add(1)
				c.Close()
			}
		}()
	}
	accept(l)
	if l6, err := net.Listen("tcp6", "[::1]:"+port); err == nil { // where there is IPv6
		accept(l6)
	}
	for network, host := range map[string]string{"udp4": "127.0.0.1:", "udp6": "[::1]:"} {
		p, err := net.ListenPacket(network, host+port)
		if err != nil {
			continue // the port is taken, or there is no IPv6
		}
		t.Cleanup(func() { p.Close() })
		go func() {
			for {
				if _, _, err := p.ReadFrom(make([]byte, 1500)); err != nil {
					return
				}
				came.Add(1)
			}
		}()
	}
	return port, came
}

// hostile is a site that leads inside, in every way that a page has. INSIDE is
// the list of addresses, PORT the canary's.
var hostile = map[string]string{
	"/loads": `each(INSIDE, u => new Promise(d => { const i = new Image(); i.onload = i.onerror = d; i.src = u }))`,
	"/fetches": `each(INSIDE, u => fetch(u, {mode: "no-cors"})).then(() => each(INSIDE, u => navigator.sendBeacon(u, "x"))).then(() =>
		each(INSIDE, u => new Promise(d => { const x = new XMLHttpRequest(); x.onloadend = d; x.open("POST", u); x.send("x") })))`,
	"/sockets": `each(INSIDE, u => new Promise(d => { const s = new WebSocket(u.replace(/^http/, "ws")); s.onclose = s.onopen = d }))`,
	"/streams": `each(INSIDE, u => new Promise(d => { const s = new EventSource(u); s.onerror = s.onopen = () => { s.close(); d() } }))`,
	"/frames":  `each(INSIDE.filter((u, i) => i % 8 == 0), u => new Promise(d => { const f = document.createElement("iframe"); f.onload = f.onerror = d; f.src = u; document.body.append(f); setTimeout(d, 3000) }))`,
	"/parts": `each(["script", "link", "video", "audio", "embed", "object"], tag => new Promise(d => {
		const e = document.createElement(tag); e.rel = "stylesheet"; e.onload = e.onerror = e.onstalled = d;
		e.src = e.href = e.data = "http://127.0.0.1:PORT/"; document.body.append(e); setTimeout(d, 1000) })).then(() => {
		const s = document.createElement("style");
		s.textContent = '@import "http://127.0.0.1:PORT/"; @font-face { font-family: f; src: url(http://127.0.0.1:PORT/f) } body { font-family: f; background: url(http://localhost:PORT/) }';
		document.head.append(s);
		for (const rel of ["preconnect", "dns-prefetch", "prefetch", "preload", "icon", "manifest", "modulepreload"]) {
			const l = document.createElement("link"); l.rel = rel; l.href = "http://127.0.0.1:PORT/"; l.as = "script"; document.head.append(l) }
		return new Promise(d => setTimeout(d, 300)) })`,
	"/talks": `each(["stun:127.0.0.1:PORT", "stun:[::1]:PORT", "turn:127.0.0.1:PORT?transport=tcp", "turn:127.0.0.1:PORT"], u => new Promise(d => {
		const c = new RTCPeerConnection({iceServers: [{urls: u, username: "u", credential: "c"}]});
		c.onicegatheringstatechange = () => { if (c.iceGatheringState == "complete") d() };
		setTimeout(d, 3000);
		c.createDataChannel("x"); c.createOffer().then(o => c.setLocalDescription(o)) }))`,
	"/workers": `new Promise(d => { const w = new Worker("/worker.js"); w.onmessage = d; w.onerror = e => { document.body.append("The worker failed: " + e.message); d() }; setTimeout(d, 15000) }).then(() =>
		navigator.serviceWorker.register("/service.js")).then(r => new Promise(d => {
			const w = r.installing; w.onstatechange = () => { if (w.state != "installed") d() }; setTimeout(d, 15000) }))`,
	"/moved": `each([301, 302, 303, 307, 308], c => fetch("/to?code=" + c + "&u=" + encodeURIComponent("http://127.0.0.1:PORT/"), {mode: "no-cors"})).then(() =>
		each([301, 302, 303, 307, 308], c => new Promise(d => { const i = new Image(); i.onload = i.onerror = d; i.src = "/to?code=" + c + "&u=" + encodeURIComponent("http://localhost:PORT/") })))`,
}

// worker is what a worker does: it says that it is there, and goes inside.
const worker = `const go = async () => fetch("/seen" + location.pathname).then(() => Promise.allSettled(INSIDE.map(async u => fetch(u, {mode: "no-cors", signal: AbortSignal.timeout(5000)}))));
self.oninstall = e => e.waitUntil(go());
if (location.pathname == "/worker.js") go().finally(() => self.postMessage("done"));
try { importScripts("http://127.0.0.1:PORT/") } catch (e) {}`

// hostileSite serves the site. seen has what its workers said.
func hostileSite(t *testing.T, urls []string, port string) (s *httptest.Server, seen *sync.Map) {
	t.Helper()
	list, err := json.Marshal(urls)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("INSIDE", string(list), "PORT", port).Replace
	seen = new(sync.Map)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch do, ok := hostile[r.URL.Path]; {
		case ok:
			fmt.Fprintf(w, `<!doctype html><title>Hostile</title><body><script>
				const each = (all, f) => Promise.allSettled(all.map(async u => f(u)));
				%s.finally(() => document.body.append("It has tried."));</script>`, fill(do))
		case strings.HasPrefix(r.URL.Path, "/seen/"):
			seen.Store(r.URL.Path, true)
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, fill(worker))
		case r.URL.Path == "/to":
			code, err := strconv.Atoi(r.FormValue("code"))
			if err != nil {
				t.Error(err)
				return
			}
			http.Redirect(w, r, r.FormValue("u"), code)
		case r.URL.Path == "/refresh":
			io.WriteString(w, fill(`<meta http-equiv=refresh content="0; url=http://127.0.0.1:PORT/">`))
		case r.URL.Path == "/location":
			io.WriteString(w, fill(`<script>location = "http://localhost:PORT/"</script>`))
		case r.URL.Path == "/form":
			io.WriteString(w, fill(`<form action="http://127.0.0.1:PORT/" method=post><button>Send</button></form><a download href="http://127.0.0.1:PORT/x">Get</a>`))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s, seen
}

// No tool of the web reaches addresses of this machine and the networks around
// it that a page, a model or a search engine names, except for the one address
// in the configuration.
func TestWebReachesNothingInside(t *testing.T) {
	testbed.Need(t, "chromium")
	port, came := sitter(t)
	urls, known := insiders(t, port)
	s, seen := hostileSite(t, urls, port)
	cfg := &config.Config{}
	cfg.Web = config.Web{Network: "allow", Hosts: []string{s.Listener.Addr().String()}}
	cfg.Browser.Headless = true
	cfg.Search = config.Search{Engine: "searxng", SearXNG: "http://127.0.0.1:" + port}
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	w, err := newWebTools(cfg, ws, nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.dialer.Resolver = known
	call := func(name string, input map[string]any) (string, error) {
		t.Helper()
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range w.tools {
			if tool.Spec().Name == name {
				res, err := tool.Run(t.Context(), openmanus.Call{Call: llm.Call{ID: "c", Name: name, Input: string(data)}, Session: "s", Blobs: new(journal.Memory), Live: io.Discard})
				return fmt.Sprint(res.Parts), err
			}
		}
		t.Fatalf("there is no tool %s", name)
		return "", nil
	}
	for _, u := range urls {
		if said, err := call("web_fetch", map[string]any{"url": u}); err == nil {
			t.Errorf("web_fetch %s: %.200s", u, said)
		}
	}
	for _, c := range []map[string]any{{"url": "http://127.0.0.1:" + port}, {"url": s.URL + "/to?code=302&u=http://127.0.0.1:" + port}} {
		if said, err := call("crawl", c); err == nil && !strings.Contains(said, "not public") {
			t.Errorf("crawl: %.300s", said)
		}
	}
	if said, err := call("web_search", map[string]any{"query": "inside"}); err == nil {
		t.Errorf("web_search: %.300s", said)
	}
	for path := range hostile {
		said, err := call("browser_use", map[string]any{"action": "go_to_url", "url": s.URL + path})
		if err == nil && !strings.Contains(said, "It has tried.") {
			said, err = call("browser_use", map[string]any{"action": "wait", "text": "It has tried.", "seconds": 50})
		}
		if err != nil || strings.Contains(said, "The worker failed") {
			t.Errorf("%s: %v: %.500s", path, err, said)
		}
	}
	for _, path := range []string{"/seen/service.js", "/seen/worker.js"} {
		if _, ok := seen.Load(path); !ok {
			t.Errorf("the worker did not run that says %s", path)
		}
	}
	for i, u := range urls {
		if i%10 == 0 {
			if said, err := call("browser_use", map[string]any{"action": "go_to_url", "url": u}); err == nil && !strings.Contains(said, "no connection to") {
				t.Errorf("go_to_url %s: %.200s", u, said)
			}
		}
	}
	for _, path := range []string{"/refresh", "/location", "/form"} {
		if said, err := call("browser_use", map[string]any{"action": "go_to_url", "url": s.URL + path}); err != nil {
			t.Logf("%s: %v: %.200s", path, err, said) // where it led was refused
		}
	}
	call("browser_use", map[string]any{"action": "click_element", "index": 1})
	call("browser_use", map[string]any{"action": "click_element", "index": 0})
	if said, err := call("browser_use", map[string]any{"action": "download", "url": "http://127.0.0.1:" + port + "/x"}); err == nil {
		t.Errorf("download: %.200s", said)
	}
	if n := came.Load(); n > 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}
