package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A bench is a proxy on a Unix socket, and behind it two hosts of the outside
// world: good.example, which is allowed, and evil.example.
type bench struct {
	socket  string
	refused func() []error
	good    *httptest.Server // over TLS: 443
	plain   *httptest.Server // 80
	echo    net.Listener     // 7000: says hello first, then repeats
	seen    func() []string  // hosts that were asked for
}

func newBench(t *testing.T, mode Mode, tune ...func(*Proxy)) *bench {
	t.Helper()
	b := &bench{socket: filepath.Join(t.TempDir(), "proxy.sock")}
	var mu sync.Mutex
	var seen []string
	var refused []error
	b.seen = func() []string { mu.Lock(); defer mu.Unlock(); return seen }
	b.refused = func() []error { mu.Lock(); defer mu.Unlock(); return refused }
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Host)
		mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s%s %s", r.Method, r.Host, r.URL.Path, body)
	})
	b.good, b.plain = httptest.NewUnstartedServer(handler), httptest.NewServer(handler)
	b.good.Config.ErrorLog = log.New(io.Discard, "", 0) // of hands that were not shaken
	b.good.StartTLS()
	t.Cleanup(b.good.Close)
	t.Cleanup(b.plain.Close)
	b.echo = echo(t)

	d := dialer(t, Policy{Mode: mode, Hosts: []string{"good.example", "good.example:7000", "inside.example"}, Section: "[sandbox]"})
	d.Resolver = names{"good.example": {addrs("93.184.215.14")}, "evil.example": {addrs("93.184.215.15")}, "inside.example": {addrs("127.0.0.1")}}
	d.dial = func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
		l := map[uint16]net.Listener{443: b.good.Listener, 80: b.plain.Listener, 7000: b.echo}[to.Port()]
		if l == nil {
			return nil, fmt.Errorf("no server at %s", to)
		}
		var nd net.Dialer
		return nd.DialContext(ctx, network, l.Addr().String())
	}
	p := &Proxy{Dialer: d, Refused: func(err error) { mu.Lock(); defer mu.Unlock(); refused = append(refused, err) }}
	for _, f := range tune {
		f(p)
	}
	l, err := net.Listen("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return b
}

func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer c.Close()
				io.WriteString(c, "hello\n")
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wait.Wait() })
	return l
}

func (b *bench) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// client is one that uses the proxy.
func (b *bench) client(t *testing.T, scheme string) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(b.good.Certificate())
	tr := &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: "proxy"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", b.socket)
		},
		TLSClientConfig: &tls.Config{RootCAs: roots, InsecureSkipVerify: true}, // its certificate is for example.com
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestProxy(t *testing.T) {
	for _, mode := range []Mode{Hosts, Allow} {
		for _, scheme := range []string{"http", "socks5"} {
			t.Run(string(mode)+" "+scheme, func(t *testing.T) {
				b := newBench(t, mode)
				client := b.client(t, scheme)
				for _, u := range []string{"http://good.example/a", "https://good.example/b", "http://GOOD.example/c"} {
					for range 2 { // the second time on the same connection
						resp, err := client.Post(u, "text/plain", strings.NewReader("hello"))
						if err != nil {
							t.Fatal(err)
						}
						body, err := io.ReadAll(resp.Body)
						resp.Body.Close()
						if want := "POST " + strings.SplitN(u, "/", 3)[2] + " hello"; err != nil || string(body) != want {
							t.Errorf("%s: got %q, %v; want %q", u, body, err, want)
						}
					}
				}
				resp, err := client.Get("http://inside.example/")
				if err == nil {
					resp.Body.Close()
					if resp.StatusCode != http.StatusForbidden {
						t.Errorf("inside.example: %s", resp.Status)
					}
				}
				if mode == Hosts {
					resp, err := client.Get("https://evil.example/")
					if err == nil {
						resp.Body.Close()
						t.Errorf("evil.example: %s", resp.Status)
					}
				}
				if len(b.refused()) == 0 {
					t.Error("Refused was not called")
				}
			})
		}
	}
}

// Everything that is said to the proxy in one go, and what becomes of it.
func TestProxyRefuses(t *testing.T) {
	b := newBench(t, Hosts)
	for name, said := range map[string]string{
		"a host that is not allowed":  "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		"the host of the header":      "CONNECT evil.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n",
		"an allowed host, inside":     "CONNECT inside.example:443 HTTP/1.1\r\nHost: inside.example:443\r\n\r\n",
		"GET of it":                   "GET http://inside.example/ HTTP/1.1\r\nHost: inside.example\r\n\r\n",
		"SOCKS: an allowed, inside":   socksSaid("inside.example", 443),
		"another port":                "CONNECT good.example:22 HTTP/1.1\r\nHost: good.example:22\r\n\r\n",
		"no port":                     "CONNECT good.example HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"a NUL":                       "CONNECT evil.example\x00.good.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"%00":                         "CONNECT evil.example%00.good.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"%2e":                         "CONNECT good%2eexample:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a dot at the end":            "CONNECT good.example.:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a user":                      "CONNECT good.example@evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"punycode of another":         "CONNECT xn--gd-fka.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a decimal address":           "CONNECT 2130706433:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"an octal address":            "CONNECT 0177.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a hexadecimal address":       "CONNECT 0x7f000001:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"an address within":           "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a path":                      "CONNECT /good.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a URL":                       "CONNECT http://good.example:443/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET of what is not allowed":  "GET http://evil.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"GET with a user":             "GET http://good.example@evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET with a user, allowed":    "GET http://user:pass@good.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET of https":                "GET https://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"GET of a file":               "GET file:///etc/passwd HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"GET of nothing":              "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"OPTIONS":                     "OPTIONS * HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"CR in the target":            "GET http://good.example\r/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"HTTP/2 without asking":       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"SOCKS: not allowed":          socksSaid("evil.example", 443),
		"SOCKS: NUL":                  socksSaid("evil.example\x00.good.example", 443),
		"SOCKS: CR LF":                socksSaid("good.example\r\n", 443),
		"SOCKS: a dot at the end":     socksSaid("good.example.", 443),
		"SOCKS: a name, an address":   socksSaid("127.0.0.1", 443),
		"SOCKS: decimal":              socksSaid("2130706433", 443),
		"SOCKS: no name":              socksSaid("", 443),
		"SOCKS: port 0":               socksSaid("good.example", 0),
		"SOCKS: an address":           "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb",
		"SOCKS: IPv6":                 "\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x01\xbb",
		"SOCKS: IPv4 in IPv6":         "\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x01\xbb",
		"SOCKS: UDP":                  "\x05\x01\x00\x05\x03\x00\x01\x5d\xb8\xd7\x0e\x00\x35",
		"SOCKS: listening":            "\x05\x01\x00\x05\x02\x00\x01\x5d\xb8\xd7\x0e\x00\x35",
		"SOCKS: a type that is none":  "\x05\x01\x00\x05\x01\x00\x09\x5d\xb8\xd7\x0e\x00\x35",
		"SOCKS: only with a password": "\x05\x01\x02",
		"SOCKS 4":                     "\x04\x01\x01\xbb\x5d\xb8\xd7\x0e\x00",
		"noise":                       "\xde\xad\xbe\xef\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := b.dial(t)
			c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(c, said); err != nil {
				t.Fatal(err)
			}
			c.(*net.UnixConn).CloseWrite()
			answer, err := io.ReadAll(c)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Logf("reading: %v", err)
			}
			if bytes.Contains(answer, []byte("200")) || bytes.HasPrefix(answer, []byte("\x05\x00\x05\x00")) {
				t.Errorf("was let through: %q", answer)
			}
		})
	}
	if seen := b.seen(); len(seen) > 0 {
		t.Errorf("requests arrived: %q", seen)
	}
}

func socksSaid(host string, port uint16) string {
	said := append([]byte("\x05\x01\x00\x05\x01\x00\x03"), byte(len(host)))
	return string(binary.BigEndian.AppendUint16(append(said, host...), port))
}

// open opens a tunnel and returns its end.
func (b *bench) open(t *testing.T, target string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := b.dial(t)
	c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("CONNECT %s: %v, %v", target, resp, err)
	}
	return c, r
}

// In a tunnel to a host that is allowed, no other can be asked for.
func TestTunnelIsHeldToItsHost(t *testing.T) {
	b := newBench(t, Hosts)
	for sni, ok := range map[string]bool{"good.example": true, "GOOD.example": true, "evil.example": false, "sub.good.example": false, "": false} {
		t.Run("TLS for "+sni, func(t *testing.T) {
			c, _ := b.open(t, "good.example:443")
			err := tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: true}).Handshake()
			if (err == nil) != ok {
				t.Errorf("got %v", err)
			}
		})
	}
	for said, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n":                        "200",
		"GET / HTTP/1.1\r\nHost: good.example:80\r\n\r\n":                     "200",
		"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n":                        "403",
		"GET / HTTP/1.1\r\nHost: good.example:81\r\n\r\n":                     "403",
		"GET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r":                  "403",
		"\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n":                    "40",
		"GET / HTTP/1.0\r\n\r\n":                                              "403",
		"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n": "403",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                    "40",
		"SSH-2.0-OpenSSH\r\n":                                                 "400",
	} {
		t.Run(said, func(t *testing.T) {
			c, r := b.open(t, "good.example:80")
			io.WriteString(c, said+"\n")
			line, err := r.ReadString('\n')
			if err != nil || !strings.Contains(line, " "+want) {
				t.Errorf("got %q, %v", line, err)
			}
		})
	}
	for _, host := range b.seen() {
		if strings.Contains(host, "evil") {
			t.Errorf("%s was asked for", host)
		}
	}
}

// The second request on a connection is checked like the first.
func TestTunnelIsHeldToItsHostLater(t *testing.T) {
	b := newBench(t, Hosts)
	c, r := b.open(t, "good.example:80")
	for _, host := range []string{"good.example", "evil.example"} {
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if want := map[string]int{"good.example": 200, "evil.example": 403}[host]; resp.StatusCode != want {
			t.Errorf("%s: %s", host, resp.Status)
		}
	}
}

// A name that comes in many pieces is the same name.
func TestNameInPieces(t *testing.T) {
	b := newBench(t, Hosts)
	c, _ := b.open(t, "good.example:443")
	err := tls.Client(pieces{c}, &tls.Config{ServerName: "evil.example", InsecureSkipVerify: true}).Handshake()
	if err == nil {
		t.Error("evil.example was reached")
	}
	c, _ = b.open(t, "good.example:443")
	if err := tls.Client(pieces{c}, &tls.Config{ServerName: "good.example", InsecureSkipVerify: true}).Handshake(); err != nil {
		t.Error(err)
	}
}

// pieces is a connection that sends byte by byte.
type pieces struct{ net.Conn }

func (p pieces) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := p.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// On other ports the server may speak first, and any protocol may be spoken.
func TestServerSpeaksFirst(t *testing.T) {
	b := newBench(t, Hosts)
	c, r := b.open(t, "good.example:7000")
	if line, err := r.ReadString('\n'); line != "hello\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	io.WriteString(c, "and again")
	c.(*net.UnixConn).CloseWrite()
	if rest, err := io.ReadAll(r); string(rest) != "and again" || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
}

// Bytes right behind CONNECT, before the answer, are not lost.
func TestImpatientClient(t *testing.T) {
	b := newBench(t, Hosts)
	c := b.dial(t)
	io.WriteString(c, "CONNECT good.example:7000 HTTP/1.1\r\nHost: good.example:7000\r\n\r\nearly")
	c.(*net.UnixConn).CloseWrite()
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasSuffix(string(answer), "hello\nearly") {
		t.Errorf("got %q, %v", answer, err)
	}
}

// On a busy machine it may be cut before the server has said its word.
func TestTunnelThatIsSilentIsCut(t *testing.T) {
	b := newBench(t, Hosts, func(p *Proxy) { p.Idle = 50 * time.Millisecond })
	_, r := b.open(t, "good.example:7000")
	if rest, err := io.ReadAll(r); errors.Is(err, os.ErrDeadlineExceeded) || string(rest) != "hello\n" && len(rest) > 0 {
		t.Errorf("got %q, %v", rest, err)
	}
}

// No more are served at once than may be; the others are served later.
func TestCrowd(t *testing.T) {
	b := newBench(t, Hosts, func(p *Proxy) { p.MaxConns = 4 })
	var wait sync.WaitGroup
	for range 40 {
		wait.Go(func() {
			c, err := net.Dial("unix", b.socket)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprint(c, "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n")
			answer, err := io.ReadAll(c)
			if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
				t.Errorf("got %q, %v", answer, err)
			}
		})
	}
	wait.Wait()
}

func TestRefusalIsExplained(t *testing.T) {
	b := newBench(t, Hosts)
	c := b.dial(t)
	fmt.Fprint(c, "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	want := `no connection to evil.example:443: the host is not on the list; to allow it: [sandbox] hosts = ["evil.example"]`
	if strings.TrimSpace(string(body)) != want || !strings.Contains(resp.Header.Get("Proxy-Status"), "not on the list") {
		t.Errorf("got %q, %q", body, resp.Header.Get("Proxy-Status"))
	}
	if told := b.refused(); len(told) != 1 || told[0].Error() != want {
		t.Errorf("told of %v", told)
	}
}
