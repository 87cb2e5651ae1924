//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// driven has the official JavaScript client drive openmanus mcp serve through
// a task that makes a file, and returns what it saw.
func driven(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	modules, err := filepath.Abs("../../bin/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "@modelcontextprotocol/sdk")); err != nil {
		testbed.Lacks(t, fmt.Errorf("make deps installs what this needs: %w", err))
	}
	node := testbed.Node(t, modules)
	script, err := filepath.Abs("testdata/mcp/drive.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{script}, args...)...)
	cmd.Dir, cmd.Env = dir, append(environ(dir), append(env, "SDK="+modules, "TASK=make it")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs.String())
	}
	return string(out)
}

// environ is that of a person who has nothing set up, with a home in dir.
func environ(dir string) []string {
	return append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
}

const makingScript = `-- reply --
I make it.
@call file_saver {"file_path": "made.txt", "content": "hello"}
-- reply --
That was it.
`

func making(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "task.txtar"), []byte(makingScript), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMCPServeOverStdio(t *testing.T) {
	serve := []string{"openmanus", "mcp", "serve", "--sandbox", "none", "--model", "scripted:task.txtar"}
	for _, c := range []struct {
		name      string
		env, args []string
		want, not []string
	}{
		{"asked and allowed", nil, serve, []string{
			`"file_saver","glob"`, `{"editor":["view","create","str_replace","insert","undo_edit"]}`, `{"progress":"I make it.; file_saver`,
			`{"asked":"May file_saver change made.txt?\nfile_saver {\"file_path\": \"made.txt\"`, `{"error":false,"text":["That was it."],"structured":{"session":`,
			`{"file":"made.txt","text":"hello"}`, `{"session":"finished"}`}, nil},
		{"asked and denied", []string{"SAY=deny"}, serve, []string{`{"asked":`, `"text":["That was it."]`}, []string{`{"file":`}},
		{"who cannot be asked changes nothing", []string{"MUTE=1"}, serve, []string{`"text":["That was it."]`}, []string{`{"asked":`, `{"file":`}},
		{"who waits for what cannot be is told", []string{"MUTE=1"}, append(serve, "--approve", "ask"), []string{`{"error":true`, `waits for a person, and this client cannot ask`}, []string{`{"file":`}},
		{"all allowed", []string{"MUTE=1"}, append(serve, "--approve", "all"), []string{`{"file":"made.txt","text":"hello"}`}, []string{`{"asked":`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := driven(t, making(t), c.env, c.args...)
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("not seen: %s\n%s", w, out)
				}
			}
			for _, w := range c.not {
				if strings.Contains(out, w) {
					t.Errorf("seen: %s\n%s", w, out)
				}
			}
		})
	}
}

func TestMCPServeOverHTTP(t *testing.T) {
	dir := making(t)
	cmd := exec.Command("openmanus", "mcp", "serve", "--http", "127.0.0.1:0", "--sandbox", "none", "--model", "scripted:task.txtar")
	cmd.Dir, cmd.Env = dir, environ(dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan()
	url := lines.Text()
	lines.Scan()
	token, ok := strings.CutPrefix(lines.Text(), "Authorization: Bearer ")
	if !ok {
		t.Fatalf("it prints %q, %q", url, lines.Text())
	}
	seen := driven(t, dir, []string{"URL=" + url, "TOKEN=" + token})
	for _, w := range []string{`{"asked":"May file_saver change made.txt?`, `{"file":"made.txt","text":"hello"}`, `{"session":"finished"}`} {
		if !strings.Contains(seen, w) {
			t.Errorf("not seen: %s\n%s", w, seen)
		}
	}
	refused(t, url, token)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// refused fails if anybody is served who must not be.
func refused(t *testing.T, url, token string) {
	t.Helper()
	for _, c := range []struct {
		name, token, host, origin, method string
		status                            int
	}{
		{"the token", token, "", "", "POST", 200},
		{"our own page", token, "", "http://" + strings.Split(url, "/")[2], "POST", 200},
		{"no token", "", "", "", "POST", 401},
		{"another token", token + "x", "", "", "POST", 401},
		{"no token to listen", "", "", "", "GET", 401},
		{"a page of another origin", token, "", "https://evil.example", "POST", 403},
		{"a page of another port", token, "", "http://127.0.0.1:1", "POST", 403},
		{"a page without an origin", token, "", "null", "POST", 403},
		{"a name that was bound to us", token, "evil.example", "", "POST", 403},
		{"a name that begins like ours", token, "localhost.evil.example", "", "POST", 403},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		r, err := http.NewRequestWithContext(t.Context(), c.method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		if r.Host = c.host; c.host == "" {
			r.Host = r.URL.Host
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		resp, err := new(http.Client).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || c.status >= 400 && json.Valid(answer) {
			t.Errorf("%s: %d %s, want %d", c.name, resp.StatusCode, answer, c.status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Clients get the web tools, with the rules and addresses of every session.
func TestMCPServeOffersTheWeb(t *testing.T) {
	dir := making(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<p>Welcome to the site.</p>")) }))
	defer site.Close()
	cmd := exec.Command("openmanus", "mcp", "serve", "--sandbox", "none")
	cmd.Dir, cmd.Env = dir, append(environ(dir), "OPENMANUS_WEB_HOSTS=localhost:*", "OPENMANUS_APPROVAL_DENY=host:denied.example")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	ask := func(body string) string {
		t.Helper()
		if _, err := io.WriteString(in, body+"\n"); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, `"id":`) && !strings.Contains(line, `"method"`) {
				return line
			}
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	list := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	for _, name := range []string{"web_search", "web_fetch", "crawl", "browser_use", "bash"} {
		if !strings.Contains(list, `"name":"`+name+`"`) {
			t.Errorf("%s is not offered", name)
		}
	}
	for address, want := range map[string]string{
		strings.Replace(site.URL, "127.0.0.1", "localhost", 1): "Welcome to the site.",
		site.URL:                  "127.0.0.1 is a loopback address",
		"https://denied.example/": `not allowed: the rule \"deny host:denied.example\" denies it`,
	} {
		said := ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"web_fetch","arguments":{"url":"` + address + `"}}}`)
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", address, said, want)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A client completes the ids of sessions and the paths of their files, and hears of a
// session to which it subscribed.
func TestMCPServeTellsOfSessions(t *testing.T) {
	dir := making(t)
	if err := os.WriteFile(filepath.Join(dir, "task.txtar"), []byte(makingScript+"-- reply --\nAnd more.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("openmanus", "mcp", "serve", "--sandbox", "none", "--approve", "all", "--model", "scripted:task.txtar")
	cmd.Dir, cmd.Env = dir, environ(dir)
	updated := make(chan string, 100)
	client := sdk.NewClient(&sdk.Implementation{Name: "c"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	s, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools.Tools, func(t *sdk.Tool) bool { return t.Name == "run_task" })
	if i < 0 || !strings.Contains(fmt.Sprint(tools.Tools[i].OutputSchema), "required:[session status reason answer steps files]") {
		t.Errorf("run_task says nothing of its result: %v", tools.Tools)
	}
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_task", Arguments: map[string]any{"prompt": "make it"}})
	if err != nil || res.IsError {
		t.Fatal(res, err)
	}
	id := res.StructuredContent.(map[string]any)["session"].(string)
	complete := func(name, value string) string {
		t.Helper()
		got, err := s.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "openmanus://sessions/{id}/files/{+path}"},
			Argument: sdk.CompleteParamsArgument{Name: name, Value: value}, Context: &sdk.CompleteContext{Arguments: map[string]string{"id": id}}})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got.Completion.Values, " ")
	}
	for _, c := range []struct{ name, value, want string }{
		{"id", id[:4], id}, {"id", "x" + id, ""}, {"path", "ma", "made.txt"}, {"path", "../", ""}, {"path", "made.txt/", ""}, {"other", "", ""},
	} {
		if got := complete(c.name, c.value); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
	uri := "openmanus://sessions/" + id
	for _, wrong := range []string{"openmanus://sessions/none", "openmanus://sessions", uri + "/files/made.txt", "file:///etc/passwd"} {
		if s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: wrong}) == nil {
			t.Errorf("%s can be subscribed to", wrong)
		}
	}
	if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	say := exec.Command("openmanus", "sessions", "say", id, "one more thing")
	say.Dir, say.Env = dir, environ(dir)
	if out, err := say.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := <-updated; got != uri {
		t.Errorf("%s was updated", got)
	}
	if err := s.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
