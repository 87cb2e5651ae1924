package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// names is a resolver that knows what it was told. Each answer is given once,
// and the last one from then on.
type names map[string][][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	answers := n[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n[host] = answers[1:]
	}
	return answers[0], nil
}

func addrs(text string) (as []netip.Addr) {
	for _, f := range strings.Fields(text) {
		as = append(as, netip.MustParseAddr(f))
	}
	return as
}

func dialer(t testing.TB, p Policy) *Dialer {
	t.Helper()
	d, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	d.local = func() ([]net.Addr, error) { return nil, nil }
	return d
}

// A canary listens on this machine, in both families on one port, and counts
// connections.
type canary struct {
	port string
	hits atomic.Int32
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := new(canary)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, c.port, _ = net.SplitHostPort(l.Addr().String())
	serve := func(l net.Listener) {
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "the canary was asked for %s", r.Host)
		}), ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				c.hits.Add(1)
			}
		}}}
		s.Start()
		t.Cleanup(s.Close)
	}
	serve(l)
	if l6, err := net.Listen("tcp6", "[::1]:"+c.port); err == nil { // where there is IPv6
		serve(l6)
	}
	return c
}

func corpus(t *testing.T, port string) (urls []string, known names) {
	t.Helper()
	data, err := os.ReadFile("testdata/ssrf.txt")
	if err != nil {
		t.Fatal(err)
	}
	known = make(names)
	for line := range strings.Lines(string(data)) {
		text, answer, _ := strings.Cut(strings.TrimSpace(line), " | ")
		if text == "" || text[0] == '#' {
			continue
		}
		text = strings.ReplaceAll(text, "PORT", port)
		urls = append(urls, text)
		if u, err := url.Parse(text); err == nil && answer != "" {
			known[u.Hostname()] = [][]netip.Addr{addrs(answer)}
		}
	}
	if len(urls) < 80 {
		t.Fatalf("the corpus has %d addresses: has it been lost?", len(urls))
	}
	return urls, known
}

// Nothing that is not public is connected to, however it is written.
func TestNothingInsideIsReached(t *testing.T) {
	c := newCanary(t)
	urls, known := corpus(t, c.port)
	d := dialer(t, Policy{Mode: Allow})
	d.Resolver = known
	client := d.Client()
	t.Cleanup(client.CloseIdleConnections)
	for _, u := range urls {
		t.Run(u, func(t *testing.T) {
			resp, err := client.Get(u)
			if err == nil {
				resp.Body.Close()
				t.Fatalf("was fetched: %s", resp.Status)
			}
			var unreadable *url.Error // url.Parse refused it
			if no := (*Refused)(nil); !errors.As(err, &no) && !(errors.As(err, &unreadable) && unreadable.Op == "parse") {
				t.Errorf("failed, and was not refused: %v", err)
			}
		})
	}
	if n := c.hits.Load(); n > 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}

// The same, where redirects lead there.
func TestRedirectsAreChecked(t *testing.T) {
	c := newCanary(t)
	urls, known := corpus(t, c.port)
	known["good.example"] = [][]netip.Addr{addrs("93.184.215.14")}
	d := dialer(t, Policy{Mode: Allow})
	d.Resolver = known
	var to string
	code := http.StatusFound
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}))
	t.Cleanup(outside.Close)
	dialOutside(d, outside)
	client := d.Client()
	t.Cleanup(client.CloseIdleConnections)
	for i, u := range urls {
		to, code = u, []int{301, 302, 303, 307, 308}[i%5]
		if strings.HasPrefix(u, "//") || strings.HasPrefix(u, "http:///") {
			continue // there it is an address like others, or none
		}
		resp, err := client.Get("http://good.example/")
		if err == nil {
			resp.Body.Close()
			t.Errorf("a redirect (%d) to %s was followed: %s", code, u, resp.Status)
		}
	}
	if n := c.hits.Load(); n > 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}

// dialOutside makes d connect to a test's server in place of 93.184.215.14.
func dialOutside(d *Dialer, s *httptest.Server) {
	real := d.dial
	d.dial = func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
		if to.Addr() == netip.MustParseAddr("93.184.215.14") {
			to = netip.MustParseAddrPort(s.Listener.Addr().String())
		}
		return real(ctx, network, to)
	}
}

// The dialled address is the one that was judged: a name is resolved once.
func TestRebinding(t *testing.T) {
	c := newCanary(t)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "outside") }))
	t.Cleanup(outside.Close)
	for name, answers := range map[string][][]netip.Addr{
		"public first":    {addrs("93.184.215.14"), addrs("127.0.0.1")},
		"mixed":           {addrs("127.0.0.1 93.184.215.14 ::1")},
		"mixed, inverted": {addrs("::1 93.184.215.14 127.0.0.1")},
	} {
		t.Run(name, func(t *testing.T) {
			d := dialer(t, Policy{Mode: Allow})
			d.Resolver = names{"rebind.example": answers}
			dialOutside(d, outside)
			client := d.Client()
			resp, err := client.Get("http://rebind.example:" + c.port)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			client.CloseIdleConnections()
			if string(body) != "outside" {
				t.Errorf("got %q", body)
			}
			if len(answers) > 1 { // the second time it is another address
				if _, err := client.Get("http://rebind.example:" + c.port); !errors.As(err, new(*Refused)) {
					t.Errorf("the second time: %v", err)
				}
			}
		})
	}
	if n := c.hits.Load(); n > 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}

// The canary sings: what is allowed gets there.
func TestWhatIsAllowedIsReached(t *testing.T) {
	c := newCanary(t)
	for _, hosts := range [][]string{{"127.0.0.1"}, {"127.0.0.1:PORT"}, {"127.0.0.0/8:*"}, {"localhost:PORT"}, {"intern.example", "127.0.0.0/8"}, {".example", "127.0.0.1"}} {
		for _, mode := range []Mode{Allow, Hosts} {
			list := strings.Split(strings.ReplaceAll(strings.Join(hosts, " "), "PORT", c.port), " ")
			if mode == Hosts && !strings.Contains(list[0], ":") {
				list[0] += ":*"
			}
			d := dialer(t, Policy{Mode: mode, Hosts: list})
			d.Resolver = names{"intern.example": {addrs("127.0.0.1")}}
			host := map[byte]string{'1': "127.0.0.1", 'l': "localhost"}[list[0][0]]
			if host == "" {
				host = "intern.example"
			}
			client := d.Client()
			resp, err := client.Get("http://" + host + ":" + c.port)
			if err != nil {
				t.Errorf("%s %v: %v", mode, list, err)
				continue
			}
			resp.Body.Close()
			client.CloseIdleConnections()
		}
	}
	if n := c.hits.Load(); n < 12 {
		t.Errorf("%d connections reached the canary", n)
	}
}

// An address on the list is not one for every name that points at it.
func TestListedAddressIsNoLicenceForNames(t *testing.T) {
	c := newCanary(t)
	d := dialer(t, Policy{Mode: Allow, Hosts: []string{"127.0.0.1"}})
	d.Resolver = names{"evil.example": {addrs("127.0.0.1")}}
	if _, err := d.DialContext(t.Context(), "tcp", "evil.example:"+c.port); !errors.As(err, new(*Refused)) {
		t.Errorf("got %v", err)
	}
	if c.hits.Load() > 0 {
		t.Error("it was reached")
	}
}

// A refused name is not even resolved: a query to a name server is a message to
// the owner of the name.
func TestRefusedNamesAreNotResolved(t *testing.T) {
	d := dialer(t, Policy{Mode: Hosts, Hosts: []string{"good.example"}})
	d.Resolver = resolverFunc(func(host string) { t.Errorf("%s was looked up", host) })
	for _, h := range []string{"c2VjcmV0.evil.example:443", "good.example.evil.example:443", "good.example:8443", "xgood.example:443"} {
		if _, err := d.DialContext(t.Context(), "tcp", h); !errors.As(err, new(*Refused)) {
			t.Errorf("%s: %v", h, err)
		}
	}
}

type resolverFunc func(string)

func (f resolverFunc) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	f(host)
	return nil, errors.New("not this one")
}

func TestThisMachineIsNotPublic(t *testing.T) {
	own := netip.MustParseAddr("93.184.215.14")
	d := dialer(t, Policy{Mode: Allow, Section: "[sandbox]"})
	d.local = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: own.AsSlice(), Mask: net.CIDRMask(24, 32)}}, nil
	}
	_, err := d.DialContext(t.Context(), "tcp", "93.184.215.14:80")
	if want := `no connection to 93.184.215.14:80: 93.184.215.14 is this machine; to allow it: [sandbox] hosts = ["93.184.215.14"]`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestOnlyTCP(t *testing.T) {
	d := dialer(t, Policy{Mode: Allow})
	for _, network := range []string{"udp", "ip4:icmp", "unix", "unixgram", ""} {
		if _, err := d.DialContext(t.Context(), network, "93.184.215.14:53"); !errors.As(err, new(*Refused)) {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// Proxies of the environment are not used: they would decide.
func TestNoProxyFromTheEnvironment(t *testing.T) {
	c := newCanary(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+c.port)
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:"+c.port)
	d := dialer(t, Policy{Mode: Allow})
	d.Resolver = names{}
	if _, err := d.Client().Get("http://good.example/"); err == nil {
		t.Error("it was fetched")
	}
	if c.hits.Load() > 0 {
		t.Error("the proxy was asked")
	}
}

func BenchmarkCheck(b *testing.B) {
	d := dialer(b, Policy{Mode: Hosts, Hosts: []string{".example.org", "registry.example.net", "10.0.0.0/8"}})
	for b.Loop() {
		if err := d.Check("registry.example.net:443"); err != nil {
			b.Fatal(err)
		}
	}
}
