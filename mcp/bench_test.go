//go:build unix

package mcp

import (
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
