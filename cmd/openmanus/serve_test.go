//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// A serving is a running openmanus serve.
type serving struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	api  string
	auth string
}

const servedScript = `A session over HTTP.
-- reply --
@call bash {"command": "echo '| June |' > report.md"}
-- reply --
June was best.
`

// serve starts the program on a port of its own.
func serve(t *testing.T, dir, addr string) *serving {
	t.Helper()
	return serveTo(t, dir, addr, os.Stderr)
}

// serveTo is serve with a place for what the program logs, and more variables.
func serveTo(t *testing.T, dir, addr string, log io.Writer, env ...string) *serving {
	t.Helper()
	cmd := exec.Command("openmanus", "serve", "--addr", addr)
	if script := filepath.Join(dir, "s"); exists(script) { // without one, no model is configured
		cmd.Args = append(cmd.Args, "--model", "scripted:"+script)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENMANUS_SANDBOX_KIND=none")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{t: t, cmd: cmd, dir: dir}
	t.Cleanup(s.kill)
	link, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it printed no link: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "link"), []byte(link), 0o600); err != nil {
		t.Fatal(err)
	}
	base, token, ok := strings.Cut(strings.TrimSpace(link), "/?token=")
	if !ok {
		t.Fatalf("the link is %q", link)
	}
	s.api, s.auth = base, "Bearer "+token
	return s
}

func (s *serving) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
}

func (s *serving) call(method, path, body string) map[string]any {
	s.t.Helper()
	status, data := s.send(method, path, body)
	out := make(map[string]any)
	if err := json.Unmarshal(data, &out); err != nil || status >= 300 {
		s.t.Fatalf("%s %s: %d %v\n%s", method, path, status, err, data)
	}
	return out
}

func (s *serving) send(method, path, body string) (status int, answer []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", s.auth)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// until reads a session's events until one of the type comes.
func (s *serving) until(id, event string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute) // an event that never comes is to fail, not to hang
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.api+"/api/v1/sessions/"+id+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", s.auth)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "event: "+event {
			return
		}
	}
	s.t.Fatalf("the events of %s ended without %s", id, event)
}

// A server is killed while a call waits for a person. The next one knows the
// same token, and the ruling lets the session go on.
func TestServeIsKilled(t *testing.T) {
	dir := write(t, "s", servedScript)
	s := serve(t, dir, "127.0.0.1:0")
	id := s.call("POST", "/api/v1/sessions", `{"workspace":"w","approve":"ask"}`)["id"].(string)
	s.call("POST", "/api/v1/sessions/"+id+"/messages", `{"text":"write"}`)
	s.until(id, "asked")
	s.kill()

	auth := s.auth
	s = serve(t, dir, "127.0.0.1:0")
	if s.auth != auth {
		t.Error("the token changed")
	}
	call := s.call("GET", "/api/v1/sessions/"+id, "")["waiting"].([]any)[0].(map[string]any)["call"].(string)
	s.call("POST", "/api/v1/sessions/"+id+"/rulings", `{"call":"`+call+`","allow":true,"remember":true}`)
	s.until(id, "call_done")
	if x := s.call("GET", "/api/v1/sessions/"+id+"?wait=60", ""); x["status"] != "finished" {
		t.Errorf("it is %v", x)
	}
	if data, err := os.ReadFile(filepath.Join(dir, ".home/.local/share/openmanus/workspaces/w/report.md")); err != nil || string(data) != "| June |\n" {
		t.Errorf("report.md: %q, %v", data, err)
	}

	if d := (&desk{t, dir, map[string]string{"HOME": filepath.Join(dir, ".home")}}); !strings.Contains(d.must("approvals"), "allowed") || !strings.Contains(d.must("sessions", "audit", "last"), "remembered from now on") {
		t.Error("what was decided for good was not kept")
	}

	// It ends when it is told to, and says nothing against it.
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("interrupted, it ended with %v", err)
	}
}

// The lines of docs/api.md do what they say.
func TestTaskInTenLines(t *testing.T) {
	testbed.Need(t, "curl", "jq")
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(doc, []byte("```sh\n"))
	lines, _, ok := bytes.Cut(rest, []byte("```"))
	if !ok {
		t.Fatal("there are no lines in docs/api.md")
	}
	s := serve(t, write(t, "s", servedScript), "127.0.0.1:0")
	cmd := exec.Command("bash", "-euc", string(lines))
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("June was best.\n| June |\n")) || !bytes.Contains(out, []byte("bash {")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestServeSaysWhatIsWrong(t *testing.T) {
	dir := write(t, "c", "[users.ann]\ntoken = \"short\"\n")
	for want, c := range map[string]struct{ args, env []string }{
		"another address: openmanus serve --addr": {args: []string{"--addr", "256.0.0.1:1"}},
		"the token must have at least 16 bytes":   {args: []string{"--config", filepath.Join(dir, "c")}},
		"set a2a = true":                          {env: []string{"OPENMANUS_SERVE_A2A_KEY=c"}},
		"set public to the one":                   {env: []string{"OPENMANUS_SERVE_A2A=true", "OPENMANUS_SERVE_A2A_KEY=c"}},
		"a2a_key: open ":                          {args: []string{"--public", "https://h"}, env: []string{"OPENMANUS_SERVE_A2A=true", "OPENMANUS_SERVE_A2A_KEY=none"}},
		"it has no key in PEM":                    {args: []string{"--public", "https://h"}, env: []string{"OPENMANUS_SERVE_A2A=true", "OPENMANUS_SERVE_A2A_KEY=c"}},
	} {
		cmd := exec.Command("openmanus", append([]string{"serve"}, c.args...)...)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), c.env...), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !bytes.Contains(out, []byte(want)) {
			t.Errorf("serve %v: %v\n%s", c, err, out)
		}
	}
}

// A plan over HTTP: the steps are done in sessions of their own, which can be
// listed, looked at and decided in.
func TestServeFlow(t *testing.T) {
	s := serve(t, write(t, "s", plannedScript), "127.0.0.1:0")
	id := s.call("POST", "/api/v1/sessions", `{"flow":{"parallel":2}}`)["id"].(string)
	s.call("POST", "/api/v1/sessions/"+id+"/messages", `{"text":"make it"}`)
	s.until(id, "child_opened")
	x := s.call("GET", "/api/v1/sessions/"+id, "")
	plan := x["plan"].(map[string]any)
	step := plan["steps"].([]any)[0].(map[string]any)
	if x["agent"] != "plan" || plan["title"] != "The report" || step["text"] != "Touch it" || step["status"] != "in_progress" {
		t.Errorf("the session is %v", x)
	}
	child := step["session"].(string)
	var below []any
	for over := time.Now().Add(time.Minute); len(below) == 0 && time.Now().Before(over); { // it is reserved before it is opened
		below = s.call("GET", "/api/v1/sessions?parent="+id, "")["items"].([]any)
	}
	s.until(child, "asked")
	below = s.call("GET", "/api/v1/sessions?parent="+id, "")["items"].([]any)
	if one := below[0].(map[string]any); len(below) != 1 || one["id"] != child || one["status"] != "waiting" || one["doing"] != `bash {"command": "touch made"}` {
		t.Errorf("below it are %v", below)
	}
	call := s.call("GET", "/api/v1/sessions/"+child, "")["waiting"].([]any)[0].(map[string]any)["call"].(string)
	s.call("POST", "/api/v1/sessions/"+child+"/rulings", `{"call":"`+call+`","allow":true}`)
	s.until(id, "ended")
	x = s.call("GET", "/api/v1/sessions/"+id, "")
	if steps := x["plan"].(map[string]any)["steps"].([]any); x["status"] != "finished" || steps[1].(map[string]any)["status"] != "completed" {
		t.Errorf("in the end it is %v", x)
	}

	made := s.call("GET", "/api/v1/sessions/"+id+"/plan?at=3", "")["steps"].([]any)
	now := s.call("GET", "/api/v1/sessions/"+id+"/plan", "")["steps"].([]any)
	if len(made) != 0 || len(now) != 2 || now[0].(map[string]any)["status"] != "completed" {
		t.Errorf("the plan was %v, and is %v", made, now)
	}
	s.refuses(`{"flow":{"agents":["gandalf"]}}`, "body.flow.agents", "gandalf")
}

// refuses fails unless a session like that is refused, with these words.
func (s *serving) refuses(body string, words ...string) {
	s.t.Helper()
	status, data := s.send("POST", "/api/v1/sessions", body)
	for _, w := range words {
		if status != 422 || !bytes.Contains(data, []byte(w)) {
			s.t.Errorf("%s: %d %s, want %q", body, status, data, w)
		}
	}
}

// An evaluation over HTTP: attempts in copies, of which the critic's choice is
// kept. The copies go with the session.
func TestServeEvaluate(t *testing.T) {
	s := serve(t, write(t, "s", plannedScript), "127.0.0.1:0")
	id := s.call("POST", "/api/v1/sessions", `{"workspace":"w","approve":"all","evaluate":{"hints":["guess","add"]}}`)["id"].(string)
	s.call("POST", "/api/v1/sessions/"+id+"/messages", `{"text":"Write the sum"}`)
	s.until(id, "ended")
	x := s.call("GET", "/api/v1/sessions/"+id, "")
	steps := x["plan"].(map[string]any)["steps"].([]any)
	second := steps[2].(map[string]any)
	if x["status"] != "finished" || len(steps) != 5 || second["text"] != "manus: add" || second["notes"] != "90 of 100: 1+2+3 is 6" || second["session"] != id+".attempt-1-2" {
		t.Errorf("in the end it is %v", x)
	}
	if _, sum := s.send("GET", "/api/v1/sessions/"+id+"/files/sum.txt", ""); string(sum) != "6\n" {
		t.Errorf("sum.txt has %q", sum)
	}
	copies := filepath.Join(s.dir, ".home", ".local", "share", "openmanus", "attempts", id)
	if _, err := os.Stat(copies); err != nil {
		t.Error(err)
	}
	status := 409
	for over := time.Now().Add(time.Minute); status == 409 && time.Now().Before(over); { // until its driver has gone
		status, _ = s.send("DELETE", "/api/v1/sessions/"+id, "")
	}
	if status != 204 {
		t.Errorf("deleting it: %d", status)
	}
	if _, err := os.Stat(copies); !os.IsNotExist(err) {
		t.Errorf("the copies of a deleted session are there still: %v", err)
	}
	s.refuses(`{"evaluate":{"attempts":1,"hints":["a","b"]}}`, "body.evaluate.attempts", "too few")
	s.refuses(`{"evaluate":{"models":["","x:y:z"]}}`, "body.evaluate.models[1]")
	s.refuses(`{"evaluate":{"attempts":17}}`, "body.evaluate.attempts")
	s.refuses(`{"evaluate":{},"flow":{}}`, "evaluate", "either plans or evaluates")
}
