package provider

import "testing"

func TestSameHost(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://host.example.org/v1", "https://HOST.example.org:443/other", true},
		{"http://host.example.org", "http://host.example.org:80", true},
		{"https://host.example.org", "http://host.example.org", false},
		{"https://host.example.org", "https://host.example.org:8443", false},
		{"https://host.example.org", "https://host.example.org.evil.test", false},
		{"https://host.example.org", "://", false},
	} {
		if got := SameHost(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

func TestLoopback(t *testing.T) {
	for base, want := range map[string]bool{
		"http://localhost:11434/v1": true, "http://a.localhost": true, "http://127.0.0.9": true, "http://[::1]:8080": true,
		"http://localhost.example.org": false, "http://10.0.0.1": false, "": false, "://": false,
	} {
		if got := Loopback(base); got != want {
			t.Errorf("%q: %v", base, got)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for s, ok := range map[string]bool{
		"https://host.example.org/v1": true, "http://127.0.0.1:8080": true,
		"": false, "host.example.org": false, "ftp://host.example.org": false, "https://": false, "https:opaque": false,
		"https://host.example.org/?a=b": false, "https://host.example.org/#a": false, "http://host\x7f": false,
	} {
		if err := CheckURL(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestWithoutPassword(t *testing.T) {
	for s, want := range map[string]string{
		"https://host.example.org/v1":           "https://host.example.org/v1",
		"https://ann:secret@host.example.org/v": "https://" + Mask + "@host.example.org/v",
		"https://secret@host.example.org":       "https://" + Mask + "@host.example.org",
		"https://ann:secret@host\x7f":           Mask,
		"no address at all":                     "no address at all",
	} {
		if got := WithoutPassword(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"a": `"a"`, "a\nb": `"a\nb"`} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := Quote(string(make([]rune, 100))); len([]rune(got)) > 4*60+3 {
		t.Errorf("%d characters", len(got))
	}
}
