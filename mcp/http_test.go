//go:build unix

package mcp

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// reached serves h, and returns a client of it.
func reached(t *testing.T, h http.Handler, cfg ServerConfig, o Options) (*Client, *listener) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg.Name, cfg.URL = "s", srv.URL+cfg.URL
	o.Servers = []ServerConfig{cfg}
	return start(t, nil, o)
}

func TestTransports(t *testing.T) {
	s := newServer(tool("t", ""))
	get := func(*http.Request) *sdk.Server { return s }
	for name, h := range map[string]http.Handler{
		"streamable, of today":  sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true}),
		"streamable, of before": sdk.NewStreamableHTTPHandler(get, nil),
		"server-sent events":    sdk.NewSSEHandler(get, nil),
		"our own": NewServer(ServerOptions{Name: "o", Gate: openmanus.AllowAll, Tools: []openmanus.Tool{ours("t", `{"type":"object"}`, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("t %s", c.Input), nil
		})}}).Handler(HTTPOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			c, heard := reached(t, h, ServerConfig{}, Options{})
			if heard.String() != "" {
				t.Fatal(heard)
			}
			says(t, c, "mcp_s_t", `{"text":"x"}`, `t {"text":"x"}`)
		})
	}
	for ss := range s.Sessions() {
		ss.Close()
	}
}

// Headers go to the host that they are for, and to no other; and a server does
// not send us elsewhere.
func TestHeadersStayAtHome(t *testing.T) {
	var mu sync.Mutex
	var away []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		away = append(away, r.Header.Get("X-Key"))
	}))
	defer other.Close()
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	c, heard := reached(t, elsewhere, ServerConfig{Type: "http", Headers: map[string]string{"X-Key": "secret"}}, Options{})
	if c.Status()[0].Err == nil || !strings.Contains(heard.String(), "it redirects to ") || len(away) > 0 {
		t.Errorf("%s; %d requests went away", heard, len(away))
	}
	s := newServer(tool("t", ""))
	home := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
	c, _ = reached(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		home.ServeHTTP(w, r)
	}), ServerConfig{Headers: map[string]string{"X-Key": "secret"}}, Options{})
	says(t, c, "mcp_s_t", `{}`, "t {}")
}

// The guarded dialer dials the addresses that a server names for signing in.
func TestDiscoveryIsGuarded(t *testing.T) {
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a connection to an inner address") }))
	defer canary.Close()
	var mu sync.Mutex
	var asked []string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+canary.URL+`/meta"`)
		http.Error(w, "sign in", http.StatusUnauthorized)
	})
	c, _ := reached(t, h, ServerConfig{Type: "http"}, Options{SignIn: &SignIn{Dir: t.TempDir(), Show: browse}, Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, addr)
		return nil, &net.OpError{Op: "dial", Err: os.ErrPermission}
	}})
	if err := c.Status()[0].Err; err == nil {
		t.Error("it is connected")
	}
	if len(asked) == 0 {
		t.Error("the guarded dialer was not asked")
	}
}

func TestSigningInWithoutAPerson(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sign in", http.StatusUnauthorized) })
	_, heard := reached(t, h, ServerConfig{}, Options{SignIn: &SignIn{Dir: t.TempDir()}})
	if !strings.Contains(heard.String(), "you must sign in first: openmanus mcp test s") {
		t.Error(heard)
	}
}

// The servers that npm has, as real processes.
func TestServersOfNpm(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	everything := filepath.Join(npm(t, "mcp"), "@modelcontextprotocol/server-everything/dist/index.js")
	port := everythingOverHTTP(t, everything)
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	heard := new(listener)
	c := NewClient(Options{Runner: ws, Say: heard.say, DeferAbove: 100, Servers: []ServerConfig{
		{Name: "files", Command: node(t), Args: []string{filepath.Join(npm(t, "mcp"), "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}, Dir: dir},
		{Name: "everything", Command: node(t), Args: []string{everything}, Dir: dir, Env: map[string]string{"GIVEN": "yes"}},
		{Name: "web", URL: "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp"},
	}})
	t.Cleanup(func() { c.Close(); ws.Close() })
	t.Setenv("NOT_GIVEN", "no")
	c.Start(t.Context())
	if heard.String() != "" {
		t.Error(heard)
	}
	says(t, c, "mcp_files_read_text_file", `{"path":"`+dir+`/x.txt"}`, "hello")
	fails(t, c, "mcp_files_read_text_file", `{"path":"/etc/passwd"}`, "Access denied")
	for _, s := range []string{"everything", "web"} {
		says(t, c, "mcp_"+s+"_echo", `{"message":"hi"}`, "hi")
		says(t, c, "mcp_"+s+"_get-sum", `{"a":2,"b":3}`, "5")
	}
	says(t, c, nameResources, `{"server":"everything"}`, "demo://resource/")
	says(t, c, namePrompts, `{"server":"everything","name":"simple-prompt"}`, "simple prompt")
	res, err := use(t, c, "mcp_everything_get-env", `{}`)
	if text := res.Parts.Text(); err != nil || !strings.Contains(text, `"GIVEN": "yes"`) || strings.Contains(text, "NOT_GIVEN") {
		t.Errorf("its environment: %v, %s", err, text)
	}
}

// everythingOverHTTP starts server-everything on a port that is free.
func everythingOverHTTP(t *testing.T, script string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(node(t), script, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "listening") {
			return port
		}
	}
	t.Fatal("it does not listen")
	return 0
}
