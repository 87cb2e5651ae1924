package sandbox_test

import (
	"context"
	_ "embed"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/egress"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

//go:embed testdata/commands.txt
var commands string

// What developers do every day works in the sandbox, or it would be switched
// off.
func TestOrdinaryCommandsWork(t *testing.T) {
	ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Bubblewrap})
	defer ws.Close()
	n := 0
	for line := range strings.Lines(commands) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		var out strings.Builder
		limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // that one hangs is to fail; some compile
		err := ws.Run(limited, &workspace.Cmd{Args: []string{"bash", "-c", line}, Stdout: &out, Stderr: &out})
		cancel()
		if err != nil {
			t.Errorf("%s\n%v: %s", line, err, out.String())
		}
	}
	if n < 200 {
		t.Errorf("there are %d commands, want 200", n)
	}
}

// With the network "hosts", what is listed is reached through the proxy, and
// nothing else.
func TestTheProxyIsTheWayOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	defer server.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	d, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{strings.TrimPrefix(server.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Bubblewrap, Network: sandbox.Hosts,
		Proxy: func(ctx context.Context, l net.Listener) error { return (&egress.Proxy{Dialer: d}).Serve(ctx, l) }})
	defer ws.Close()
	var out strings.Builder
	script := "for p in $http_proxy $ALL_PROXY; do curl -s --noproxy '' -x $p " + server.URL + " && echo; done; curl -sf --noproxy '' -x $http_proxy " + other.URL + " || echo refused; exit 3"
	err = ws.Run(t.Context(), &workspace.Cmd{Args: []string{"bash", "-c", script}, Stdout: &out, Stderr: &out})
	if err == nil || err.Error() != "exit status 3" || out.String() != "hello\nhello\nrefused\n" {
		t.Errorf("%v, %s", err, out.String())
	}
}
