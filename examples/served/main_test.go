package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testbed.Main(m)
}

// The example serves its agent, which works in the sandbox, and the page.
func TestServed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	script := filepath.Join(dir, "s.txt")
	if err := os.WriteFile(script, []byte("-- 1 --\n@expect system contains files of an office\n@call bash {\"command\": \"echo in order > note.txt; cat note.txt\"}\n-- any --\nAll is in order.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	const token = "a-token-of-the-test"
	go func() { done <- serve(ctx, l, filepath.Join(dir, "data"), "scripted:"+script, token) }()
	call := func(method, path, body string) (out map[string]any, text string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, "http://"+l.Addr().String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, data, err)
		}
		_ = json.Unmarshal(data, &out) // a page is no JSON
		return out, string(data)
	}
	x, _ := call("POST", "/api/v1/sessions", `{"workspace":"office"}`)
	id, _ := x["id"].(string)
	if x["agent"] != "clerk" {
		t.Errorf("the session is one of %v", x["agent"])
	}
	call("POST", "/api/v1/sessions/"+id+"/messages", `{"text":"Tidy up."}`)
	if x, text := call("GET", "/api/v1/sessions/"+id+"?wait=120", ""); x["status"] != "finished" || x["answer"] != "All is in order." {
		t.Errorf("%s", text)
	}
	if _, text := call("GET", "/api/v1/sessions/"+id+"/files/note.txt", ""); !strings.Contains(text, "in order") {
		t.Errorf("the file is %q", text)
	}
	if _, text := call("GET", "/", ""); !strings.Contains(text, "<html") {
		t.Errorf("the page is %.100s", text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
