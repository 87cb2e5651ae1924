package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A desk is the program without a terminal, in a directory and a home of its
// own.
type desk struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newDesk(t *testing.T, env map[string]string) *desk {
	dir := t.TempDir()
	if env == nil {
		env = map[string]string{}
	}
	env["HOME"] = filepath.Join(dir, ".home")
	env["OPENMANUS_SANDBOX_KIND"] = "none" // so that there is something to approve
	env["LocalAppData"], env["AppData"], env["USERPROFILE"] = env["HOME"], env["HOME"], env["HOME"]
	return &desk{t, dir, env}
}

// run runs the program and returns what it wrote and its exit code.
func (d *desk) run(args ...string) (out, err string, code int) {
	d.t.Helper()
	in, e := os.Open(os.DevNull)
	if e != nil {
		d.t.Fatal(e)
	}
	defer in.Close()
	var stdout, stderr bytes.Buffer
	code = Main(context.Background(), args, &terminal{in: in, out: &stdout, err: &stderr, dir: d.dir,
		env: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }})
	return stdout.String(), stderr.String(), code
}

// must is run where the exit code is to be 0. It returns standard output.
func (d *desk) must(args ...string) string {
	d.t.Helper()
	out, err, code := d.run(args...)
	if code != 0 {
		d.t.Fatalf("openmanus %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, err)
	}
	return out
}

// A recorder is an endpoint that keeps the bodies it gets, and answers each
// with the next of its replies: one that begins with a number is an error of
// that HTTP status.
type recorder struct {
	*httptest.Server
	mu      sync.Mutex
	replies []string
	bodies  []string
}

func record(t *testing.T, replies ...string) *recorder {
	r := &recorder{replies: replies}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || req.URL.Path != "/v1/chat/completions" || len(r.bodies) == len(r.replies) {
		http.Error(w, "not expected", http.StatusTeapot)
		return
	}
	reply := r.replies[len(r.bodies)]
	r.bodies = append(r.bodies, string(body))
	status := 0
	if n, _ := fmt.Sscanf(reply, "%d", &status); n == 1 {
		http.Error(w, `{"error":{"message":"no"}}`, status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", reply)
}

func textReply(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, text)
}

func callReply(tool, input string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":%q,"arguments":%q}}]},"finish_reason":"tool_calls"}]}`, tool, input)
}

// TestRequest: what sessions request prints are the bytes that went over the
// wire, for every outcome of asking the model: with a word of the moment in
// it, or refused, and after the session went on with other settings. There is
// no key in it, and it takes none.
func TestRequest(t *testing.T) {
	const key = "sk-not-to-be-seen-anywhere"
	d := newDesk(t, map[string]string{"OPENAI_API_KEY": key})
	r := record(t,
		callReply("planning", `{"command":"create","plan_id":"p","title":"<T> & ü","steps":["a"]}`),
		callReply("planning", `{"command": "get", }`),
		textReply("Half-way."),
		"400",
		textReply("Done."),
	)
	d.env["OPENAI_BASE_URL"], d.env["OPENMANUS_MODEL"] = r.URL+"/v1", "compat/test-model"
	if err := os.WriteFile(filepath.Join(d.dir, "notes.txt"), []byte(strings.Repeat("a long line of notes\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	d.must("run", "plan something with @notes.txt", "--max-steps", "3")
	if !strings.Contains(r.bodies[2], "last step") {
		t.Errorf("the third request has no word of the moment:\n%s", r.bodies[2])
	}
	if _, _, code := d.run("sessions", "resume", "last", "and go on", "--approve", "all"); code != exitFailed {
		t.Fatalf("a refused request: exit code %d, want %d", code, exitFailed)
	}
	d.must("sessions", "retry", "last", "--max-steps", "7")

	asked := 0
	delete(d.env, "OPENAI_API_KEY")
	delete(d.env, "OPENAI_BASE_URL")
	for line := range strings.Lines(d.must("sessions", "log", "last", "--json")) {
		var ev struct {
			Seq  int64
			Type string
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type != "model_said" && ev.Type != "model_failed" {
			continue
		}
		got := d.must("sessions", "request", "last", fmt.Sprint(ev.Seq))
		if asked < len(r.bodies) && got != r.bodies[asked] {
			t.Errorf("event %d: got\n%s\nbut sent was\n%s", ev.Seq, got, r.bodies[asked])
		}
		if strings.Contains(got, key) {
			t.Errorf("event %d: the key is in it", ev.Seq)
		}
		asked++
	}
	if asked != len(r.replies) || len(r.bodies) != len(r.replies) {
		t.Errorf("%d events and %d requests, want %d", asked, len(r.bodies), len(r.replies))
	}
}
