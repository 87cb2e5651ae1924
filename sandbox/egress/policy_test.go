package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestPolicy(t *testing.T) {
	list := []string{"exact.example", ".both.example", "*.below.example", "port.example:8443", "any.example:*", "192.0.2.7", "10.0.0.0/8:5432", "[2001:db8::1]:80", "xn--bcher-kva.example"}
	for _, c := range []struct {
		mode   Mode
		target string
		why    string // "" if it is allowed
	}{
		{"", "exact.example:443", "there is no network"},
		{None, "exact.example:443", "there is no network"},
		{Hosts, "exact.example:443", ""},
		{Hosts, "EXACT.Example:80", ""},
		{Hosts, "exact.example:22", "the port 22 is not allowed"},
		{Hosts, "a.exact.example:443", "not on the list"},
		{Hosts, "exact.example.evil.test:443", "not on the list"},
		{Hosts, "notexact.example:443", "not on the list"},
		{Hosts, "both.example:443", ""},
		{Hosts, "a.b.both.example:443", ""},
		{Hosts, "notboth.example:443", "not on the list"},
		{Hosts, "below.example:443", "not on the list"},
		{Hosts, "a.below.example:443", ""},
		{Hosts, "port.example:8443", ""},
		{Hosts, "port.example:443", "the port 443 is not allowed"},
		{Hosts, "any.example:1", ""},
		{Hosts, "192.0.2.7:443", ""},
		{Hosts, "192.0.2.8:443", "not on the list"},
		{Hosts, "10.9.8.7:5432", ""},
		{Hosts, "10.9.8.7:80", "the port 80 is not allowed"},
		{Hosts, "[2001:db8::1]:80", ""},
		{Hosts, "xn--bcher-kva.example:443", ""},
		{Hosts, "bücher.example:443", "not in ASCII"},
		{Hosts, "exact.example.:443", "ends in a dot"},
		{Hosts, "exact.example\x00.evil.test:443", "control character"},
		{Hosts, "evil.test\x00.both.example:443", "control character"},
		{Hosts, "exact.example\r\n:443", "control character"},
		{Hosts, "exact%2eexample:443", "contains '%'"},
		{Hosts, "a b.both.example:443", "contains ' '"},
		{Hosts, "evil.test/.both.example:443", "contains '/'"},
		{Hosts, "evil.test@exact.example:443", "contains '@'"},
		{Hosts, "evil.test#.both.example:443", "contains '#'"},
		{Hosts, ":443", "is empty"},
		{Hosts, "a..both.example:443", "a part that is empty"},
		{Hosts, strings.Repeat("a", 64) + ".both.example:443", "longer than 63"},
		{Hosts, strings.Repeat("a.", 130) + "both.example:443", "longer than 253"},
		{Hosts, "exact.example:0", "no port"},
		{Hosts, "exact.example:0443", "no port"},
		{Hosts, "exact.example:65979", "no port"}, // 443 in 16 bits
		{Hosts, "exact.example:https", "no port"},
		{Hosts, "exact.example", "not HOST:PORT"},
		{Allow, "anything.example:22", ""},
		{Allow, "93.184.215.14:22", ""},
		{Allow, "10.9.8.7:5432", ""},
		{Allow, "10.9.8.7:80", "a private address"},
		{Allow, "2130706433:80", "in an unusual form"},
		{Allow, "0x7f.1:80", "in an unusual form"},
		{Allow, "1.2.3.4.5:80", "in an unusual form"},
	} {
		err := dialer(t, Policy{Mode: c.mode, Hosts: list}).Check(c.target)
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s %q: got %v, want %q", c.mode, c.target, err, c.why)
		}
	}
}

// No list is a list of nothing, not of everything.
func TestEmptyListIsEmpty(t *testing.T) {
	for _, list := range [][]string{nil, {}} {
		if dialer(t, Policy{Mode: Hosts, Hosts: list}).Check("example.com:443") == nil {
			t.Errorf("%#v lets through", list)
		}
	}
	if dialer(t, Policy{}).Check("example.com:443") == nil {
		t.Error("the zero policy lets through")
	}
}

func TestPoliciesThatAreRefused(t *testing.T) {
	for entry, why := range map[string]string{
		"":                    "empty",
		"*":                   `network = "allow"`,
		"**.example":          "contains '*'",
		"a.*.example":         "contains '*'",
		"https://example.com": "is a URL",
		"example.com/path":    "contains '/'",
		"example.com:0":       "no port",
		"example.com:http":    "no port",
		"example.com.":        "ends in a dot",
		"10.0.0.1/8":          "10.0.0.0/8",
		"127.1":               "unusual form",
		"fe80::1%lo":          "zone",
		"bücher.example":      "xn--",
		"exämple.com:*":       "xn--",
		"[::1":                "not an address",
	} {
		if _, err := New(Policy{Mode: Hosts, Hosts: []string{entry}}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want %q", entry, err, why)
		}
	}
	if _, err := New(Policy{Mode: "open", Section: "[web]"}); err == nil || err.Error() != `[web] network = "open": it is none, hosts or allow` {
		t.Errorf("an unknown mode: %v", err)
	}
}

// A refusal says what would allow the connection; and then that works.
func TestWhatIsSaidToHelpHelps(t *testing.T) {
	policy := Policy{Mode: Hosts, Section: "[sandbox]"}
	known := names{"intern.example": {addrs("10.1.2.3")}, "nat.example": {addrs("64:ff9b::10.1.2.3")}}
	for _, target := range []string{"evil.example:443", "evil.example:8443", "10.0.0.1:80", "[fd00::1]:8080", "localhost:3000", "intern.example:443"} {
		for range 3 {
			d := dialer(t, policy)
			d.Resolver = known
			h, port, err := d.check(t.Context(), target)
			if err == nil && known[h.name] != nil {
				if no := d.address(h, known[h.name][0][0], port); no != nil {
					err = no
				}
			}
			if err == nil {
				break
			}
			_, list, ok := strings.Cut(err.Error(), "[sandbox] hosts = [")
			if !ok {
				t.Fatalf("%s: %v", target, err)
			}
			for e := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ", ") {
				policy.Hosts = append(policy.Hosts, strings.Trim(e, `"`))
			}
		}
		if err := dialer(t, policy).Check(target); err != nil {
			t.Errorf("with %q: %v", policy.Hosts, err)
		}
	}
}

func TestNotPublic(t *testing.T) {
	for _, public := range []string{"1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2620:4f:8000::1"} {
		if why := notPublic(netip.MustParseAddr(public)); why != "" {
			t.Errorf("%s: %s", public, why)
		}
	}
}

// Whatever is written as a host: it is refused, or it is one name or address
// that is read the same way again.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"example.com", "127.0.0.1", "::1", "0x7f.1", "a\x00b", "xn--a", "1.2.3", "A.B.", "::ffff:1.2.3.4", "fe80::1%eth0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := readHost(text)
		if err != nil {
			return
		}
		again, err := readHost(h.String())
		if err != nil || again != h {
			t.Errorf("%q is %q, which is %q, %v", text, h, again, err)
		}
		if (h.name == "") != h.addr.IsValid() {
			t.Errorf("%q is %#v", text, h)
		}
		if strings.ContainsAny(h.String(), "\x00\r\n%/@#? ") || strings.HasSuffix(h.String(), ".") {
			t.Errorf("%q is %q", text, h)
		}
	})
}

// No entry of a list lets through what does not end in it.
func FuzzPolicy(f *testing.F) {
	f.Add(".good.example", "evil.test\x00.good.example:443")
	f.Add("*.good.example", "good.example:443")
	f.Add("10.0.0.0/8", "10.1.1.1:80")
	f.Fuzz(func(t *testing.T, entry, target string) {
		d, err := New(Policy{Mode: Hosts, Hosts: []string{entry}})
		if err != nil || d.Check(target) != nil {
			return
		}
		h, _, err := readTarget(target)
		if err != nil {
			t.Fatalf("%q let through %q: %v", entry, target, err)
		}
		if e := d.rules.entries[0]; e.name != "" && h.name != e.name && !strings.HasSuffix(h.name, "."+e.name) || e.name == "" && !e.prefix.Contains(h.addr) {
			t.Errorf("%q let through %q", entry, target)
		}
	})
}
