//go:build unix

package mcp

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus/workspace"
)

// B14: a call of echo, through us and through the bare SDK, over pipes and
// over HTTP.
func BenchmarkEcho(b *testing.B) {
	const input = `{"text":"hello"}`
	ours := func(b *testing.B, p programs, cfg ServerConfig) {
		c := NewClient(Options{Runner: p, Servers: []ServerConfig{cfg}})
		defer c.Close()
		c.Start(b.Context())
		tool := c.Tools()[0]
		in := call("c", tool.Spec().Name, input)
		for b.Loop() {
			if _, err := tool.Run(b.Context(), in); err != nil {
				b.Fatal(err)
			}
		}
	}
	bare := func(b *testing.B, t sdk.Transport) {
		sess, err := sdk.NewClient(&sdk.Implementation{Name: "b"}, nil).Connect(b.Context(), t, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer sess.Close()
		for b.Loop() {
			if _, err := sess.CallTool(b.Context(), &sdk.CallToolParams{Name: "t", Arguments: map[string]any{"text": "hello"}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	p := programs{"s": serving(func() *sdk.Server { return newServer(tool("t", "")) })}
	b.Run("stdio/ours", func(b *testing.B) { ours(b, p, ServerConfig{Name: "s", Command: "s"}) })
	b.Run("stdio/bare", func(b *testing.B) {
		l := &link{c: NewClient(Options{Runner: p}), cfg: ServerConfig{Command: "s"}}
		defer l.c.Close()
		proc, err := l.spawn()
		if err != nil {
			b.Fatal(err)
		}
		defer proc.end()
		bare(b, &sdk.IOTransport{Reader: proc.out, Writer: proc.in})
	})
	s := newServer(tool("t", ""))
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	defer srv.Close()
	b.Run("http/ours", func(b *testing.B) { ours(b, nil, ServerConfig{Name: "s", URL: srv.URL}) })
	b.Run("http/bare", func(b *testing.B) { bare(b, &sdk.StreamableClientTransport{Endpoint: srv.URL}) })
}

// Twenty programs, the slowest of which takes a second to begin, are connected
// in the time of the slowest and 20 %: x-slowest is at most 1.2.
func BenchmarkConnect(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	place, err := workspace.NewDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer place.Close()
	var servers []ServerConfig
	for i := 1; i <= 20; i++ {
		servers = append(servers, ServerConfig{Name: "s" + strconv.Itoa(i), Command: self, Env: map[string]string{"MCP_BEGIN_AFTER": strconv.Itoa(i*50) + "ms"}})
	}
	connect := func(servers []ServerConfig) time.Duration {
		c := NewClient(Options{Runner: place, Servers: servers})
		defer c.Close()
		began := time.Now()
		c.Start(b.Context())
		took := time.Since(began)
		for _, st := range c.Status() {
			if st.Err != nil || len(st.Tools) != 1 {
				b.Fatalf("%s has %d tools: %v", st.Name, len(st.Tools), st.Err)
			}
		}
		return took
	}
	var all, slowest time.Duration
	for b.Loop() {
		slowest += connect(servers[len(servers)-1:])
		all += connect(servers)
	}
	b.ReportMetric(float64(all)/float64(slowest), "x-slowest")
	b.ReportMetric(float64(all.Milliseconds())/float64(b.N), "ms/twenty")
	b.ReportMetric(float64(slowest.Milliseconds())/float64(b.N), "ms/slowest")
}
