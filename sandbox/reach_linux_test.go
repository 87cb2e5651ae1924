package sandbox_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// One command can have more than others: a network, or all rights. Files that the
// sandbox hides stay hidden from one with a network.
func TestReach(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("served")) }))
	defer srv.Close()
	proxy := func(ctx context.Context, _ net.Listener) error { <-ctx.Done(); return nil }
	outside := filepath.Join(t.TempDir(), "private.txt")
	if err := os.WriteFile(outside, []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind    sandbox.Kind
		network sandbox.Network
	}{
		{sandbox.Bubblewrap, sandbox.NoNetwork}, {sandbox.Bubblewrap, sandbox.Hosts}, {sandbox.Bubblewrap, sandbox.AllNetwork},
		{sandbox.Landlock, sandbox.NoNetwork}, {sandbox.Landlock, sandbox.AllNetwork},
	} {
		t.Run(string(c.kind)+" "+string(c.network), func(t *testing.T) {
			ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: c.kind, Network: c.network, Proxy: proxy})
			defer ws.Close()
			run := func(r workspace.Reach, script string) string {
				var out strings.Builder
				if err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"bash", "-c", script}, Reach: r, Stdout: &out, Stderr: &out}); err != nil {
					t.Fatalf("%s: %v: %s", script, err, out.String())
				}
				return strings.TrimSpace(out.String())
			}
			address := strings.Replace(strings.TrimPrefix(srv.URL, "http://"), ":", "/", 1)
			get := "(exec 3<>/dev/tcp/" + address + " && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && tail -n 1 <&3) 2>/dev/null || echo none"
			see := "cat " + outside + " 2>/dev/null || echo none"
			usual := "none"
			if c.network == sandbox.AllNetwork {
				usual = "served"
			}
			for _, want := range []struct {
				reach      workspace.Reach
				net, file  string
				env, names string
			}{
				{workspace.InCage, usual, "none", map[bool]string{true: "http://127.0.0.1:3128"}[c.network == sandbox.Hosts], ""},
				{workspace.WithNetwork, "served", "none", "", "ok"},
				{workspace.OutsideCage, "served", "private", "", "ok"},
			} {
				if got := run(want.reach, get); got != want.net {
					t.Errorf("%v: the server: %q, want %q", want.reach, got, want.net)
				}
				if got := run(want.reach, see); got != want.file {
					t.Errorf("%v: a file outside: %q, want %q", want.reach, got, want.file)
				}
				if got := run(want.reach, "echo $http_proxy"); got != want.env {
					t.Errorf("%v: the proxy: %q, want %q", want.reach, got, want.env)
				}
				if want.names != "" {
					if got := run(want.reach, "cmp /etc/hosts /etc/hosts && cat /etc/resolv.conf >/dev/null && echo ok"); got != want.names {
						t.Errorf("%v: how names are resolved: %q", want.reach, got)
					}
				}
			}
			// the next command is one like others again
			if got := run(workspace.InCage, get); got != usual {
				t.Errorf("afterwards: %q, want %q", got, usual)
			}
			// what is protected is so with a network, too
			if got := run(workspace.WithNetwork, "mkdir .vscode 2>/dev/null || echo refused"); !strings.HasSuffix(got, "\nrefused") {
				t.Errorf("a protected name: %q", got)
			}
		})
	}
}
