package gate

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// spellings are addresses of evil.example or 203.0.113.7, as a model, a page or a
// lenient tool can write them.
var spellings = []string{
	"http://evil.example/x", " http://evil.example/x", "\thttp://evil.example/x\n", "evil.example",
	"evil.example:8080/x", "HTTP://EVIL.EXAMPLE/", "http://evil.example./", "http://evil.example..:80/",
	"http://good.example@evil.example/", "http://good.example:80@evil.example:81/", "ws://evil.example/",
	"https://www.EVIL.example", "http://ｅｖｉｌ.example/", "http://evil。example/", "http://evil.\u00adexample/",
	"http://203.0.113.7/", "203.0.113.7:80", "http://3405803783/", "http://0xcb007107/", "http://0313.0.0161.07/",
	"http://203.0.28935/", "http://203.28935/", "http://0xCB.0.0x71.7", "http://[::ffff:203.0.113.7]/",
	"http://[::ffff:cb00:7107]/", "http://[0:0:0:0:0:ffff:cb00:7107%25eth0]:80/",
}

// unreadable are addresses that one program reads in one way and another in
// another. No rule can tell what they are, so the person is asked.
var unreadable = []string{
	"http://evil%2eexample/", "http://evil.example\x00.good.example/", "http://good.example\\@evil.example/",
	"http://good.example\\.evil.example/", "http:///evil.example/", "http://", "http://[::1", "http://e vil.example/",
	"http://evil.example:x/", "javascript:alert(1)",
}

// No spelling of a host gets past a rule that denies it, or one that asks about
// it, in any mode and whatever else is allowed.
func TestNoSpellingPassesHostRules(t *testing.T) {
	hosts := []string{"host:.evil.example", "host:203.0.113.0/24"}
	for _, mode := range []openmanus.Mode{openmanus.ApproveAsk, openmanus.ApproveAll} {
		for want, rules := range map[string]Rules{"deny": {Deny: hosts}, "ask": {Ask: hosts}} {
			rules.Allow = []string{"tool:*"}
			o := Options{Mode: mode, Workspace: "/w", Rules: rules}
			for _, u := range spellings {
				if got, v := verdict(t, o, "fetch", at(u)); got != want || !strings.Contains(v.Rule, "host:") {
					t.Errorf("mode %s, rules that %s: %q: %+v", mode, want, u, v)
				}
			}
			for _, u := range unreadable {
				if got, v := verdict(t, o, "fetch", at(u)); got != "ask" {
					t.Errorf("mode %s: %q: %+v", mode, u, v)
				}
			}
			if got, v := verdict(t, o, "fetch", at("https://good.example/?q=evil.example")); got != "allow" {
				t.Errorf("another host: %+v", v)
			}
		}
	}
	if got, v := verdict(t, Options{Workspace: "/w"}, "fetch", at(unreadable[0])); got != "allow" {
		t.Errorf("without rules for hosts there is nothing to ask: %+v", v)
	}
}

// TestCheckHost: where a request is made, a rule that denies always holds, and
// one that asks holds for hosts that the call did not name.
func TestCheckHost(t *testing.T) {
	g, err := New(Options{Rules: Rules{
		Deny:  []string{"host:.evil.example", "host:127.0.0.0/8", "command:curl *"},
		Ask:   []string{"host:bank.example", "host:2001:db8::7"},
		Allow: []string{"host:evil.example"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host  string
		named bool
		want  string
	}{
		{"evil.example", true, `the rule "deny host:.evil.example" denies it`},
		{"a.EVIL.example.", false, `"deny host:.evil.example"`},
		{"127.1", false, `"deny host:127.0.0.0/8"`},
		{"::ffff:127.0.0.1", true, `"deny host:127.0.0.0/8"`},
		{"bank.example", false, `the rule "ask host:bank.example" asks the person about it, who cannot be asked ` +
			`in the middle of a request: request an address of bank.example itself`},
		{"bank.example", true, ""},
		{"2001:db8:0::7", false, `"ask host:2001:db8::7"`},
		{"good.example", false, ""},
		{"notevil.example", false, ""},
		{"", false, ""},
	} {
		err := g.CheckHost(c.host, c.named)
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, named %v: got %v, want %q", c.host, c.named, err, c.want)
		}
	}
}
