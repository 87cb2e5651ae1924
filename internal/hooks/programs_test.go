//go:build unix

package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"PATH": os.Getenv("PATH"), "SECRET": "s3", "NAMED": "n4"}[name]
	return v, ok
}

// The behaviour of real programs, and how it is read.
func TestPrograms(t *testing.T) {
	for _, c := range []struct{ name, run, decision, reason string }{
		{"an answer", `cat > /dev/null; echo '{"decision":"allow"}'`, "allow", ""},
		{"an answer to what was not read", `echo '{"decision":"allow"}'`, "allow", ""},
		{"exit code 2", `echo no >&2; exit 2`, "deny", "the hook h denies it: no"},
		{"silence", `true`, "deny", "it answered nothing"},
		{"a crash", `echo '{"decision":"allow"}'; exit 1`, "deny", "the exit code 1"},
		{"a signal", `kill -9 $$`, "deny", "it was killed"},
		{"no program", `/no/such/program`, "deny", "was not found"},
		{"garbage", `head -c 300 /dev/zero`, "deny", "not a JSON object"},
		{"too much", `head -c 100000 /dev/zero`, "deny", "more than 65536 bytes"},
		{"endless", `cat /dev/zero`, "deny", "more than 65536 bytes"},
		{"a hang", `sleep 1000`, "deny", "did not answer within 1s"},
		{"a child that holds the pipe", `sleep 1000 & echo '{"decision":"allow"}'`, "allow", ""},
		{"modules of the workspace", `test "$PYTHONSAFEPATH" = 1 && echo '{"decision":"allow"}'`, "allow", ""},
		{"secrets are withheld", `test -z "$SECRET" && test "$NAMED" = n4 && echo '{"decision":"allow"}'`, "allow", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := Hook{Name: "h", On: BeforeCall, Run: c.run, Timeout: 10 * time.Second, Env: []string{"NAMED"}, Dir: t.TempDir()}
			if c.name == "a hang" {
				h.Timeout = time.Second
			}
			s := NewSet(func(string) []Hook { return []Hook{h} }, Programs{Lookup: lookup})
			a, err := s.ask(t.Context(), h, Event{Event: BeforeCall, Call: &Call{Tool: "bash", Input: json.RawMessage(`{}`)}})
			if err != nil || a.Decision != c.decision || !strings.Contains(a.Reason, c.reason) {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// A hook runs no program that an agent could have written, whatever PATH says.
func TestProgramsOfTheWorkspace(t *testing.T) {
	ws := t.TempDir()
	bin := filepath.Join(ws, ".venv", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "planted"), []byte("#!/bin/sh\necho '{\"decision\":\"allow\"}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := func(name string) (string, bool) { return bin + ":/usr/bin:/bin", name == "PATH" }
	h := Hook{Name: "h", On: BeforeCall, Run: "planted", Dir: t.TempDir()}
	a, err := NewSet(nil, Programs{Lookup: path}).ask(t.Context(), h, Event{Event: BeforeCall, Workspace: ws})
	if err != nil || a.Decision != "deny" || !strings.Contains(a.Reason, "was not found") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		status       int
		body, reason string
	}{
		{200, `{"decision":"deny","reason":"no"}`, "denies it: no"},
		{200, ``, "it answered nothing"},
		{500, `{"decision":"allow"}`, "the status 500"},
		{302, `{"decision":"allow"}`, "the status 302"},
		{200, strings.Repeat(" ", MaxOutput) + `{"decision":"allow"}`, "more than"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var ev Event
			if err := json.NewDecoder(r.Body).Decode(&ev); err != nil || ev.Hook != "h" {
				t.Errorf("%+v, %v", ev, err)
			}
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		h := Hook{Name: "h", On: BeforeCall, URL: srv.URL}
		a, err := NewSet(nil, Programs{Lookup: lookup}).ask(t.Context(), h, Event{Event: BeforeCall})
		srv.Close()
		if err != nil || a.Decision != "deny" || !strings.Contains(a.Reason, c.reason) {
			t.Errorf("%d: %+v, %v", c.status, a, err)
		}
	}
}

// A fake answers what a function says.
type fake func(ctx context.Context, h Hook, in Input) (Output, error)

func (f fake) Run(ctx context.Context, h Hook, in Input) (Output, error) { return f(ctx, h, in) }

func says(text string) fake {
	return func(context.Context, Hook, Input) (Output, error) { return Output{Text: []byte(text)}, nil }
}

// Each hook reads what the one before it left; the first refusal counts.
func TestHooksAreAskedInOrder(t *testing.T) {
	answers := map[string]string{
		"a": `{"decision":"allow","input":{"n":1}}`, "b": `{"decision":"ask","reason":"sure?"}`, "c": `{"decision":"deny","reason":"no"}`,
	}
	var read []string
	r := fake(func(_ context.Context, h Hook, in Input) (Output, error) {
		var ev Event
		if err := json.Unmarshal(in.JSON, &ev); err != nil {
			t.Error(err)
		}
		read = append(read, h.Name+string(ev.Call.Input))
		return Output{Text: []byte(answers[h.Name])}, nil
	})
	list := []Hook{{Name: "a", On: BeforeCall}, {Name: "x", On: BeforeCall, Tools: "other"}, {Name: "b", On: BeforeCall}}
	call := openmanus.Call{Call: llm.Call{ID: "1", Name: "note", Input: `{"n":0}`}}
	s := NewSet(func(string) []Hook { return list }, r)
	said, err := s.BeforeCall(t.Context(), "s", new(openmanus.State), call, openmanus.ToolSpec{})
	if err != nil || said.Input != `{"n":1}` || said.ChangedBy != "hook a" || !said.Ask || said.By != "hook b" {
		t.Errorf("%+v, %v", said, err)
	}
	list = append(list, Hook{Name: "c", On: BeforeCall}, Hook{Name: "d", On: BeforeCall})
	said, err = s.BeforeCall(t.Context(), "s", new(openmanus.State), call, openmanus.ToolSpec{})
	if err != nil || !said.Denied || said.By != "hook c" || said.Input != "" {
		t.Errorf("%+v, %v", said, err)
	}
	if got := fmt.Sprint(read); got != `[a{"n":0} b{"n":1} a{"n":0} b{"n":1} c{"n":1}]` {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.BeforeCall(ctx, "s", new(openmanus.State), call, openmanus.ToolSpec{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: what was cancelled is no refusal", err)
	}
	panics := NewSet(func(string) []Hook { return list }, fake(func(context.Context, Hook, Input) (Output, error) { panic("x") }))
	if said, err := panics.BeforeCall(t.Context(), "s", new(openmanus.State), call, openmanus.ToolSpec{}); err != nil || !said.Denied {
		t.Errorf("%+v, %v", said, err)
	}
}

func TestRequestsAreAllowedOrDenied(t *testing.T) {
	for text, denied := range map[string]bool{
		`{"decision":"allow"}`: false, `{"decision":"deny"}`: true, `{"decision":"ask"}`: true, `{"decision":"allow","input":{}}`: true, ``: true,
	} {
		s := NewSet(func(string) []Hook { return []Hook{{Name: "a", On: BeforeRequest}} }, says(text))
		if said, err := s.BeforeRequest(t.Context(), "s", new(openmanus.State)); err != nil || said.Denied != denied {
			t.Errorf("%q: %+v, %v", text, said, err)
		}
	}
}

// The files of a workspace that a command names, and no others.
func TestFilesThatACommandNames(t *testing.T) {
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.sh", "b.sh"} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for run, want := range map[string]string{
		`./a.sh`: "a.sh", `sh "$CLAUDE_PROJECT_DIR"/b.sh x`: "b.sh", `X=1 ./a.sh; ./b.sh`: "a.sh b.sh", `echo hi`: "", `/bin/sh c.sh`: "",
		`sh ../` + filepath.Base(ws) + `/a.sh`: "a.sh",
	} {
		var names []string
		for _, f := range Named(Hook{Run: run, Claude: true}, ws) {
			names = append(names, filepath.Base(f))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %q, want %q", run, got, want)
		}
	}
	h := Hook{Run: "./a.sh", Claude: true}
	before, _, _ := Content(h, ws)
	if err := os.WriteFile(filepath.Join(ws, "a.sh"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, _, err := Content(h, ws); err != nil || before == after {
		t.Errorf("the content is the same: %q, %v", after, err)
	}
}
