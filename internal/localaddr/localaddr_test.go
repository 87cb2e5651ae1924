package localaddr

import (
	"net"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"curl http://localhost:8000/x":                        "localhost:8000",
		"curl -s http://localhost":                            "localhost:80",
		"wget https://127.0.0.1/a":                            "127.0.0.1:443",
		"curl localhost:3000/api && curl LOCALHOST:3000":      "localhost:3000",
		"psql postgres://me:pw@localhost:5432/db":             "localhost:5432",
		"BASE=http://[::1]:8080 npm test":                     "[::1]:8080",
		"curl 'http://0.0.0.0:5000', http://127.1.2.3:81.":    "0.0.0.0:5000 127.1.2.3:81",
		"echo \"localhost:1\";nc localhost:2":                 "localhost:1 localhost:2",
		"psql -h localhost":                                   "", // which port is not said
		"curl http://localhost.evil.example:80/":              "",
		"curl http://my-localhost:80 http://xlocalhost:80":    "",
		"curl http://127.0.0.1.evil.example:80":               "",
		"curl http://a.127.0.0.1:80":                          "",
		"curl http://127.0.0.300:80 http://localhost:70000":   "",
		"curl http://localhost:0 http://10.0.0.1:80":          "",
		"curl http://localhost:80800":                         "",
		"curl http://localhost:8000x http://localhost-a:8000": "",
		"curl http://user@localhost:81@evil.example/":         "localhost:81",
	} {
		if got := strings.Join(Find(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := Port("[::1]:8080"); got != 8080 {
		t.Error(got)
	}
}

// Each result is an address of this machine, and a text that names it again.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{"curl http://localhost:8000/x", "http://u:p@127.0.0.1:80", "[::1]:1 0.0.0.0:65535"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, target := range Find(text) {
			host, _, err := net.SplitHostPort(target)
			ip := net.ParseIP(host)
			if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()) || Port(target) == 0 {
				t.Errorf("%q in %q", target, text)
			}
			if again := Find(target); len(again) != 1 || again[0] != target {
				t.Errorf("%q is %q", target, again)
			}
		}
	})
}
