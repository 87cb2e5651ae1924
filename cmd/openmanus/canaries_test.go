package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// canaries are secrets that the program knows of, by where it has them from.
func canaries() map[string]string {
	return map[string]string{
		"OPENAI_API_KEY":    "sk-canary-one-0123456789",
		"ANTHROPIC_API_KEY": "sk-ant-canary-two+/=0123",
		"GITHUB_TOKEN":      "ghp_canaryThree0123456789",
		"SOMETHING_API_KEY": "canary-four-&<>-\"quoted\"",
		"DEPLOY_PASSPHRASE": "canary five \\ with spaces é",
		"api_key":           "canary-six-of-a-profile",
		"password in a URL": "canary-seven-of-an-address",
		"proxy password":    "canary-eight-of-the-proxy",
	}
}

const canaryConfig = `
redact = ["DEPLOY_PASSPHRASE"]
[llm.other]
model = "x"
base_url = "https://user:canary-seven-of-an-address@llm.example.com/v1"
api_key = "canary-six-of-a-profile"
[browser.proxy]
password = "canary-eight-of-the-proxy"
`

// disguises are the ways in which a secret must not get out either. The last
// one is put together by who reads a stream.
func disguises(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	return map[string]string{
		"raw":    secret,
		"base64": base64.StdEncoding.EncodeToString([]byte("user:" + secret + "!")),
		"URL":    url.QueryEscape(secret),
		"JSON":   string(quoted[1 : len(quoted)-1]),
		"cut":    secret,
	}
}

// TestCanaries: 40 secrets (eight, each in five forms) pass through a run: in
// what tools print, in what the model says, in arguments and in the errors of
// its server. Not one is found afterwards in what was shown, stored, sent to
// the model, or given to a child.
func TestCanaries(t *testing.T) {
	dir := t.TempDir()
	srv := newGossip(t)
	confDir := filepath.Join(dir, ".home", ".config", "openmanus")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(confDir, "config.toml"), canaryConfig)
	n := 0
	ws := filepath.Join(dir, "ws")
	for where, secret := range canaries() {
		for how, form := range disguises(secret) {
			n++
			write(filepath.Join(ws, fmt.Sprintf("leak-%02d.txt", n)), fmt.Sprintf("%s, %s: <%s>\n", where, how, form))
		}
	}
	if n != 40 {
		t.Fatalf("%d canaries", n)
	}
	env := append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "NO_COLOR=1")
	for name, v := range canaries() {
		if strings.ToUpper(name) == name {
			env = append(env, name+"="+v)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("openmanus", args...)
		cmd.Dir, cmd.Env = ws, env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return out.String()
	}
	shown := map[string]string{
		"a run":            run("run", "--approve", "all", "--base-url", srv.URL+"/v1", "--model", "compat/gossip", "Tell me everything"),
		"jsonl":            run("run", "--approve", "all", "--base-url", srv.URL+"/v1", "--model", "compat/gossip", "--output", "jsonl", "Tell me everything"),
		"a refused prompt": run("run", "--approve", "all", "--base-url", srv.URL+"/refuses/v1", "--model", "compat/gossip", "Tell me"),
		"the log":          run("sessions", "log", "last", "--full"),
		"a session":        run("sessions", "show", "last"),
		"an export":        run("sessions", "export", "last"),
		"config show":      run("config", "show"),
		"models":           run("models"),
	}
	for i, body := range srv.bodies() {
		shown[fmt.Sprintf("request %d to the model", i+1)] = body
	}
	err := filepath.WalkDir(filepath.Join(dir, ".home"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Dir(p) == confDir {
			return err
		}
		data, err := os.ReadFile(p)
		shown["the file "+filepath.Base(p)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range shown {
		for where, secret := range canaries() {
			for how, form := range disguises(secret) {
				if how == "base64" {
					form = form[8 : len(form)-6] // what does not depend on what stands around
				}
				if strings.Contains(text, form) {
					t.Errorf("%s has the secret of %s (%s)", what, where, how)
				}
			}
		}
	}
	if got := strings.Count(shown["a run"], "[[secret:"); got < 16 {
		t.Errorf("the run shows %d placeholders: were the secrets ever there?\n%s", got, shown["a run"])
	}
	if got := strings.Count(shown["jsonl"], "[[secret:"); got < 80 {
		t.Errorf("the events have %d placeholders: were the secrets ever there?", got)
	}
	if !strings.Contains(shown["a refused prompt"], "no such key: Bearer *** [[secret:GITHUB_TOKEN]]") {
		t.Errorf("the error does not say what the server said: %s", shown["a refused prompt"])
	}
	if !strings.Contains(shown["jsonl"], "PATH=") || strings.Contains(shown["jsonl"], "DEPLOY_PASSPHRASE=") {
		t.Error("the environment of a child was not shown, or has what it should not have")
	}
}

// A gossip is a model's server that has every file shown and the environment,
// and then tells every secret, in pieces.
type gossip struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newGossip(t *testing.T) *gossip {
	g := new(gossip)
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *gossip) bodies() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

func (g *gossip) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.seen = append(g.seen, string(body))
	g.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/refuses/") {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"no such key: %s %s"}}`, r.Header.Get("Authorization"), canaries()["GITHUB_TOKEN"])
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(v any) {
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	type m = map[string]any
	delta := func(d m) { say(m{"choices": []m{{"index": 0, "delta": d}}}) }
	pieces := func(text string, send func(string)) {
		for i := 0; i < len(text); {
			k := min(i+3, len(text))
			for k < len(text) && text[k]&0xC0 == 0x80 {
				k++
			}
			send(text[i:k])
			i = k
		}
	}
	end := "stop"
	for _, secret := range canaries() {
		pieces("I know "+secret+" ", func(p string) { delta(m{"content": p}) })
	}
	if !strings.Contains(string(body), `"role":"tool"`) {
		end = "tool_calls"
		for i, command := range []string{"cat leak-*.txt; printf canary-; sleep 0.1; echo four", "env", "echo " + canaries()["GITHUB_TOKEN"]} {
			call := func(f m) {
				delta(m{"tool_calls": []m{{"index": i, "id": fmt.Sprint("x", i), "type": "function", "function": f}}})
			}
			call(m{"name": "bash", "arguments": ""})
			input, _ := json.Marshal(m{"command": command})
			pieces(string(input), func(p string) { call(m{"arguments": p}) })
		}
	}
	say(m{"choices": []m{{"index": 0, "delta": m{}, "finish_reason": end}}, "usage": m{"prompt_tokens": 1, "completion_tokens": 1}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
