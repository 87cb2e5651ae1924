package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A user may allow loopback and private addresses, also by name, and nothing that
// the policy refuses for another reason.
func TestLocal(t *testing.T) {
	for _, c := range []struct {
		policy  Policy
		address string
		want    string // target, address and whether it is here; "": not local
	}{
		{Policy{Mode: Allow}, "http://127.0.0.1:8000/x", "127.0.0.1:8000 127.0.0.1 here"},
		{Policy{Mode: Allow}, "localhost:3000", "localhost:3000 127.0.0.1 here"},
		{Policy{Mode: Allow}, "http://app.localhost/", "app.localhost:80 127.0.0.1 here"},
		{Policy{Mode: Allow}, "https://[::1]/", "[::1]:443 ::1 here"},
		{Policy{Mode: Allow}, "http://0.0.0.0:8000/", "0.0.0.0:8000 0.0.0.0 here"},
		{Policy{Mode: Allow}, "http://192.168.1.5/", "192.168.1.5:80 192.168.1.5 there"},
		{Policy{Mode: Allow}, "http://wiki.corp.example/", "wiki.corp.example:80 10.1.2.3 there"},
		{Policy{Mode: Allow}, "http://loop.example:81/", "loop.example:81 127.0.0.1 here"},
		{Policy{Mode: Allow}, "http://[fd00::1]/", "[fd00::1]:80 fd00::1 there"},

		{Policy{Mode: Allow}, "http://public.example/", ""},
		{Policy{Mode: Allow}, "http://both.example/", ""}, // the public one is reached
		{Policy{Mode: Allow}, "http://unknown.example/", ""},
		{Policy{Mode: Allow}, "http://169.254.169.254/latest", ""},
		{Policy{Mode: Allow}, "http://[fd00:ec2::254]/", ""},
		{Policy{Mode: Allow}, "http://100.100.100.200/", ""},
		{Policy{Mode: Allow}, "http://meta.example/", ""},
		{Policy{Mode: Allow}, "http://169.254.1.1/", ""},
		{Policy{Mode: Allow}, "http://224.0.0.1/", ""},
		{Policy{Mode: Allow}, "http://[::ffff:127.0.0.1]/", ""},
		{Policy{Mode: Allow}, "http://2130706433/", ""},
		{Policy{Mode: Allow}, "http://[64:ff9b::7f00:1]/", ""},
		{Policy{Mode: Allow}, "http://", ""},
		{Policy{Mode: Allow, Hosts: []string{"127.0.0.1:8000"}}, "http://127.0.0.1:8000/", ""}, // it is allowed
		{Policy{Mode: Allow, Ports: []uint16{80}}, "http://127.0.0.1:8000/", ""},
		{Policy{Mode: Hosts, Hosts: []string{"good.example"}}, "http://127.0.0.1/", ""},
		{Policy{Mode: None}, "http://127.0.0.1/", ""},
	} {
		d := dialer(t, c.policy)
		d.Resolver = names{
			"wiki.corp.example": {addrs("10.1.2.3")}, "loop.example": {addrs("127.0.0.1")}, "public.example": {addrs("93.184.215.14")},
			"both.example": {addrs("10.1.2.3 93.184.215.14")}, "meta.example": {addrs("169.254.169.254")},
		}
		l, ok := d.Local(t.Context(), c.address)
		got := ""
		if ok {
			got = l.Target + " " + l.Addr.String() + map[bool]string{true: " here", false: " there"}[l.Here]
		}
		if got != c.want || ok != (l.Target != "") {
			t.Errorf("%+v %s: %q, want %q", c.policy, c.address, got, c.want)
		}
	}
}

// A call reaches the server that the user allowed it, and no other port of this machine;
// and no redirect of another server leads there.
func TestWithLocal(t *testing.T) {
	var came atomic.Int32
	site := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if to := r.FormValue("to"); to != "" {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
			came.Add(1)
		}))
		t.Cleanup(s.Close)
		return s
	}
	mine, other, outside := site(), site(), site()
	d := dialer(t, Policy{Mode: Allow})
	d.Resolver = names{"outside.example": {addrs("93.184.215.14")}}
	connect := d.dial
	d.dial = func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
		if to.Addr().String() == "93.184.215.14" {
			return net.Dial("tcp", outside.Listener.Addr().String())
		}
		return connect(ctx, network, to)
	}
	target := mine.Listener.Addr().String()
	out := "http://outside.example/?to="
	for _, c := range []struct {
		name, url string
		allowed   bool
		reached   bool
	}{
		{"not allowed", mine.URL, false, false},
		{"allowed", mine.URL, true, true},
		{"its own redirect", mine.URL + "/?to=" + url.QueryEscape(mine.URL), true, true},
		{"another port", other.URL, true, false},
		{"a redirect to another port", mine.URL + "/?to=" + url.QueryEscape(other.URL), true, false},
		{"a redirect from outside", out + url.QueryEscape(mine.URL), true, false},
		{"out and in again", mine.URL + "/?to=" + url.QueryEscape(out+url.QueryEscape(mine.URL)), true, false},
		{"not allowed, after a call that was", mine.URL, false, false},
	} {
		client := d.Client()
		ctx := t.Context()
		if c.allowed {
			ctx = WithLocal(ctx, func(to string) bool { return to == target })
		}
		came.Store(0)
		req, err := http.NewRequestWithContext(ctx, "GET", c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err == nil {
			res.Body.Close()
		}
		client.CloseIdleConnections()
		if no := (*Refused)(nil); (came.Load() == 1) != c.reached || err != nil && !errors.As(err, &no) || (err == nil) != c.reached {
			t.Errorf("%s: %d came, %v", c.name, came.Load(), err)
		}
	}
}

// A proxy lets requests through to the server that is allowed, but for those that the
// pages of other sites make.
func TestProxyOfLocal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "mine") }))
	defer s.Close()
	target := s.Listener.Addr().String()
	var allowed atomic.Bool
	b := newBench(t, Allow, func(p *Proxy) {
		p.Dialer = dialer(t, Policy{Mode: Allow})
		p.Local = func(to string) bool { return allowed.Load() && to == target }
	})
	get := func(header ...string) string {
		req, err := http.NewRequest("GET", s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		client := b.client(t, "http")
		defer client.CloseIdleConnections()
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusForbidden && strings.Contains(string(body), "is a loopback address") {
			return "refused"
		}
		return string(body)
	}
	if got := get(); got != "refused" {
		t.Errorf("not allowed: %q", got)
	}
	allowed.Store(true)
	for _, c := range []struct {
		header []string
		want   string
	}{
		{nil, "mine"},
		{[]string{"Sec-Fetch-Site", "none"}, "mine"},
		{[]string{"Sec-Fetch-Site", "same-origin", "Origin", s.URL, "Referer", s.URL + "/x"}, "mine"},
		{[]string{"Sec-Fetch-Site", "cross-site"}, "refused"},
		{[]string{"Origin", "https://evil.example"}, "refused"},
		{[]string{"Origin", "null"}, "refused"},
		{[]string{"Referer", "http://evil.example/page"}, "refused"},
	} {
		if got := get(c.header...); got != c.want {
			t.Errorf("%v: %q, want %q", c.header, got, c.want)
		}
	}
	allowed.Store(false)
	if got := get(); got != "refused" {
		t.Errorf("not allowed any more: %q", got)
	}
}
