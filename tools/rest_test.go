package tools

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A resting is a session that remembers what its journal would.
type resting struct {
	t    *testing.T
	tool openmanus.Tool
	last json.RawMessage
}

func (r *resting) use(input string) string {
	r.t.Helper()
	res, err := r.tool.Run(r.t.Context(), openmanus.Call{Call: llm.Call{ID: "c1", Name: r.tool.Spec().Name, Input: input}, Session: "s", Last: r.last, Live: io.Discard})
	if err != nil {
		r.t.Fatal(err)
	}
	if r.last, err = json.Marshal(res.Detail); err != nil {
		r.t.Fatal(err)
	}
	return res.Parts.Text()
}

func (r *resting) rest() {
	r.t.Helper()
	if err := r.tool.(openmanus.SessionCloser).CloseSession("s"); err != nil {
		r.t.Fatal(err)
	}
}

// The first command after a rest is told that its shell is new, and runs where
// the old one was; those after it are told nothing.
func TestBashSaysThatTheSessionRested(t *testing.T) {
	ws := newProcWorkspace(t)
	r := &resting{t: t, tool: newBash(t, ws)}
	if got := r.use(`{"command": "mkdir sub; cd sub; x=1"}`); strings.Contains(got, "new shell") {
		t.Errorf("the first shell of all is said to be a new one: %q", got)
	}
	r.rest()
	got := r.use(`{"command": "echo x=$x; pwd"}`)
	if !strings.HasPrefix(got, "[this is a new shell, in "+ws.Dir()+"/sub: ") || !strings.HasSuffix(got, "\nx=\n"+ws.Dir()+"/sub\n[exit code 0]") {
		t.Errorf("after the rest: %q", got)
	}
	if got := r.use(`{"command": "true"}`); got != "[exit code 0]" {
		t.Errorf("and then: %q", got)
	}
	r.rest()
	if got := r.use(`{"restart": true, "command": "pwd"}`); got != ws.Dir()+"\n[exit code 0]" {
		t.Errorf("a new shell that was asked for: %q", got)
	}
}

// A copy of a session has a copy of its workspace, and its shell begins there and not where
// the original works. A directory outside stays the same.
func TestBashOfACopy(t *testing.T) {
	outside := t.TempDir()
	for in, want := range map[string]string{"sub": "sub", ".": ".", outside: ""} {
		old, copied := newProcWorkspace(t), newProcWorkspace(t)
		if err := os.Mkdir(filepath.Join(copied.Dir(), "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		first := &resting{t: t, tool: newBash(t, old)}
		first.use(`{"command": "mkdir -p sub; cd ` + in + `"}`)
		second := &resting{t: t, tool: newBash(t, copied), last: first.last}
		dir := outside
		if want != "" {
			dir = filepath.Join(copied.Dir(), want)
		}
		if got := second.use(`{"command": "pwd"}`); !strings.HasPrefix(got, "[this is a new shell, in "+dir+": ") || !strings.HasSuffix(got, "\n"+dir+"\n[exit code 0]") {
			t.Errorf("after cd %s: %q", in, got)
		}
	}
}

func TestPythonSaysThatTheSessionRested(t *testing.T) {
	r := &resting{t: t, tool: newPython(t, newProcWorkspace(t))}
	r.use(`{"code": "x = 1", "keep_state": true}`)
	r.use(`{"code": "1"}`)
	r.rest()
	if got := r.use(`{"code": "1"}`); got != "" {
		t.Errorf("code that keeps nothing has lost nothing: %q", got)
	}
	if got := r.use(`{"code": "'x' in globals()", "keep_state": true}`); !strings.HasPrefix(got, "[this is a new interpreter: ") || !strings.HasSuffix(got, "False") {
		t.Errorf("after the rest: %q", got)
	}
	if got := r.use(`{"code": "2", "keep_state": true}`); got != "2" {
		t.Errorf("and then: %q", got)
	}
}
