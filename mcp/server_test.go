package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A previewed tool shows what it would do, and keeps something for each session.
type previewed struct {
	shown  atomic.Pointer[string]
	ran    atomic.Int32
	closed chan string
}

func (*previewed) Spec() openmanus.ToolSpec {
	return openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "t", Description: "Does it.", Input: []byte(`{"type":"object"}`)}}
}

func (p *previewed) Preview(context.Context, openmanus.Call) (string, error) {
	return *p.shown.Load(), nil
}

func (p *previewed) CloseSession(session string) error {
	p.closed <- session
	return nil
}

func (p *previewed) Run(context.Context, openmanus.Call) (openmanus.Result, error) {
	p.ran.Add(1)
	return openmanus.TextResult("done"), nil
}

func show(text string) *previewed {
	p := &previewed{closed: make(chan string, 1)}
	p.shown.Store(&text)
	return p
}

// A person at the client sees all that a call would do, and what they allowed is what
// runs.
func TestAPersonAtAClientSeesThePreview(t *testing.T) {
	changed := "rm everything"
	for _, c := range []struct {
		name, shown string
		meanwhile   *string
		asked, said string
		ran         int32
	}{
		{"allowed", "make\n\x1b[2J", nil, "\nmake\n\\x1b[2J", "done", 1},
		{"changed meanwhile", "make", &changed, "\nmake", "its target has changed since the person allowed it", 0},
		{"too long", strings.Repeat("x", maxShown+1), nil, "", "too long to be shown", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := show(c.shown)
			s := NewServer(ServerOptions{Name: "o", Tools: []openmanus.Tool{tool}})
			asked := ""
			client := sdk.NewClient(&sdk.Implementation{Name: "c"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = r.Params.Message
					if c.meanwhile != nil {
						tool.shown.Store(c.meanwhile)
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
				},
			})
			near, far := sdk.NewInMemoryTransports()
			serving, err := s.MCP().Connect(t.Context(), far, nil)
			if err != nil {
				t.Fatal(err)
			}
			session, err := client.Connect(t.Context(), near, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "t", Arguments: map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			said := res.Content[0].(*sdk.TextContent).Text
			if !strings.Contains(said, c.said) || !strings.HasSuffix(asked, c.asked) || (asked == "") != (c.asked == "") || tool.ran.Load() != c.ran {
				t.Errorf("asked %q; said %q; ran %d", asked, said, tool.ran.Load())
			}
			session.Close()
			serving.Wait()
			s.Close()
		})
	}
}

// A brokenTool panics where it is asked what a call does.
type brokenTool struct{ previewed }

func (*brokenTool) Hints(openmanus.Call) openmanus.Hints { panic("no hints") }

// A tool that panics ends its call, and not the server.
func TestABrokenToolEndsItsCallAlone(t *testing.T) {
	s := NewServer(ServerOptions{Name: "o", Tools: []openmanus.Tool{&brokenTool{}}, Gate: openmanus.AllowAll})
	defer s.Close()
	near, far := sdk.NewInMemoryTransports()
	serving, err := s.MCP().Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "c"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Wait()
	defer session.Close()
	for range 2 {
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "t", Arguments: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		if said := res.Content[0].(*sdk.TextContent).Text; !res.IsError || said != "t crashed: no hints" {
			t.Errorf("said %q", said)
		}
	}
}

// Resources of tools for a client end with its session.
func TestSessionsOfClientsAreReleased(t *testing.T) {
	tool := show("")
	s := NewServer(ServerOptions{Name: "o", Tools: []openmanus.Tool{tool}, Gate: openmanus.AllowAll})
	srv := httptest.NewServer(s.Handler(HTTPOptions{}))
	defer srv.Close()
	defer s.Close()
	id := ""
	send := func(method, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		said, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 300 {
			t.Fatalf("%s: %s: %s, %v", body, res.Status, said, err)
		}
		if v := res.Header.Get("Mcp-Session-Id"); v != "" {
			id = v
		}
	}
	send("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}`)
	send("POST", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{}}}`)
	if id == "" || tool.ran.Load() != 2 {
		t.Fatalf("session %q, %d calls", id, tool.ran.Load())
	}
	send("DELETE", "")
	if got := <-tool.closed; got != "mcp-"+id {
		t.Errorf("released %q, want that of %s", got, id)
	}
}
