package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

var errJudged = errors.New("a rule denies it")

// judging is a site at one address under several names, a dialer for it whose
// Judge denies denied.example and 127.0.0.3, and allows asked.example to calls
// that name it alone, and a count of the requests to these hosts.
func judging(t *testing.T) (d *Dialer, port string, came *atomic.Int32) {
	t.Helper()
	came = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Host, "good.example") {
			came.Add(1)
		}
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d = dialer(t, Policy{Mode: Allow, Hosts: []string{"127.0.0.0/8", "good.example:*", "denied.example:*", "asked.example:*", "alias.example:*"}})
	d.Resolver = names{
		"good.example": {addrs("127.0.0.1")}, "denied.example": {addrs("127.0.0.1")}, "asked.example": {addrs("127.0.0.1")},
		"alias.example": {addrs("127.0.0.3")},
	}
	d.Judge = func(host string, named bool) error {
		if host == "denied.example" || host == "127.0.0.3" || host == "asked.example" && !named {
			return errJudged
		}
		return nil
	}
	return d, port, came
}

// What Judge refuses is not reached: asked for directly, by a redirect, or by the
// address that a name has; through the client or a proxy.
func TestJudge(t *testing.T) {
	d, port, came := judging(t)
	onlyAsked := func(host string) bool { return host == "asked.example" }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var named atomic.Bool
	proxy := &Proxy{Dialer: d, Named: func(host string) bool { return named.Load() && onlyAsked(host) }}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- proxy.Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); <-served })
	through := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
	}}
	direct := d.Client()
	t.Cleanup(direct.CloseIdleConnections)
	for _, c := range []struct {
		address string
		ok      bool
	}{
		{"http://good.example:PORT/", true},
		{"http://denied.example:PORT/", false},
		{"http://DENIED.example:PORT/", false},
		{"http://x@denied.example:PORT/", false},
		{"http://denied.example.:PORT/", false},
		{"http://127.0.0.3:PORT/", false},
		{"http://alias.example:PORT/", false},
		{"http://asked.example:PORT/", false},
		{"http://good.example:PORT/?to=http://denied.example:PORT/", false},
		{"http://good.example:PORT/?to=//denied.example:PORT/", false},
		{"http://good.example:PORT/?to=http://asked.example:PORT/", false},
		{"http://good.example:PORT/?to=http://good.example:PORT/", true},
	} {
		address := strings.ReplaceAll(c.address, "PORT", port)
		for name, client := range map[string]*http.Client{"client": direct, "proxy": through} {
			res, err := client.Get(address)
			if err == nil {
				res.Body.Close()
			}
			if ok := err == nil && res.StatusCode == http.StatusOK; ok != c.ok {
				t.Errorf("%s: %s: %v %v", name, address, res, err)
			}
			if name == "client" && !c.ok && !errors.Is(err, errJudged) && !strings.Contains(address, ".:") {
				t.Errorf("%s: the error is not the judge's: %v", address, err)
			}
		}
	}
	if n := came.Load(); n > 0 {
		t.Errorf("%d requests reached what was refused", n)
	}

	// A call that names the host has been ruled on.
	req, err := http.NewRequestWithContext(WithNamed(t.Context(), onlyAsked), http.MethodGet, "http://asked.example:"+port+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := direct.Do(req)
	if err != nil || came.Load() != 1 {
		t.Fatalf("a named host: %v, %d requests", err, came.Load())
	}
	res.Body.Close()
	named.Store(true)
	for host, want := range map[string]int{"asked.example": http.StatusOK, "denied.example": http.StatusForbidden} {
		res, err := through.Get("http://" + host + ":" + port + "/")
		if err != nil || res.StatusCode != want {
			t.Fatalf("a host that the user of the proxy named, and one that is denied: %s: %v %v", host, res, err)
		}
		res.Body.Close()
	}
	if _, err := d.DialContext(WithNamed(t.Context(), onlyAsked), "tcp", "denied.example:"+port); !errors.Is(err, errJudged) {
		t.Errorf("what is denied is denied to a call that names another host: %v", err)
	}
}

// Judge gets hosts as they were parsed, whatever they were written like.
func TestJudgeGetsParsedHosts(t *testing.T) {
	d := dialer(t, Policy{Mode: Allow})
	var got string
	d.Judge = func(host string, _ bool) error { got = host; return nil }
	for target, want := range map[string]string{
		"EXAMPLE.org:443": "example.org", "[2001:4860:4860:0:0::8888]:80": "2001:4860:4860::8888", "8.8.8.8:53": "8.8.8.8",
	} {
		if err := d.Check(target); err != nil || got != want {
			t.Errorf("%s: %q %v", target, got, err)
		}
	}
	for _, target := range []string{"0x08080808:80", "134744072:80", "010.8.8.8:80", "[::ffff:8.8.8.8]:80", "exa\x00mple.org:80", "example.org.:80", "exam%70le.org:80"} {
		if err := d.Check(target); err == nil {
			t.Errorf("%q passes", target)
		}
	}
}

// TestParseURL: what rules and requests read as an address.
func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"example.org":                "https://example.org",
		" http://A.example/x?y#z \n": "http://A.example/x?y#z",
		"example.org:8080/x":         "https://example.org:8080/x",
		"[::1]:80":                   "https://[::1]:80",
		"ws://example.org/x":         "ws://example.org/x",
		"mailto:a@b.example":         "https://mailto:a@b.example", // to b.example, wherever it is read
		"http://a@b.example/":        "http://a@b.example/",
		"":                           "", "http://": "", "http:///x": "", "//x": "", "http://a\x00b/": "",
		"http://a\\b/": "", "http://a%2eb/": "", "http://a b/": "", "javascript:alert(1)": "", "http://[::1": "",
	} {
		u, err := ParseURL(text)
		if want == "" != (err != nil) || err == nil && u.String() != want {
			t.Errorf("%q: got %v %v, want %q", text, u, err, want)
		}
	}
}
