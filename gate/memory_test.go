package gate

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

func decision(name string, allow bool) Decision {
	return Decision{Key: Key(name), Allow: allow, What: name, By: "person", At: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}
}

func TestMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "approvals.jsonl")
	m, other := Open(path), Open(path)
	if _, known, err := m.Recall(Key("a")); known || err != nil {
		t.Fatalf("before anything: %v, %v", known, err)
	}
	for _, d := range []Decision{decision("a", true), decision("b", false), decision("c", true)} {
		if err := m.Remember(d); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// Another process sees it, and that it was forgotten.
	if d, known, err := other.Recall(Key("b")); !known || d.Allow || err != nil {
		t.Errorf("b: %+v, %v, %v", d, known, err)
	}
	if err := other.Forget(decision("a", true)); err != nil {
		t.Fatal(err)
	}
	if _, known, _ := m.Recall(Key("a")); known {
		t.Error("a was forgotten and is known")
	}
	all, err := m.All()
	if err != nil || len(all) != 2 || all[0].What != "b" || all[1].What != "c" {
		t.Errorf("all: %+v, %v", all, err)
	}
	if err := m.Remember(decision("a", true)); err != nil {
		t.Fatal(err)
	}
	if _, known, _ := m.Recall(Key("a")); !known {
		t.Error("a was decided again and is not known")
	}
}

// A remembered decision is of one call: of its arguments, its tool, the
// workspace and the sandbox. Another is asked about.
func TestDecisionIsOfOneCall(t *testing.T) {
	o := Options{Workspace: "/w", Sandbox: "none", Memory: Open(filepath.Join(t.TempDir(), "m"))}
	c, spec := call("mcp_delete", map[string]any{"name": "tmp"})
	s := &openmanus.State{Config: openmanus.Configured{Spec: openmanus.Spec{Workspace: "/w"}, Sandbox: "none", Tools: []openmanus.ToolSpec{spec}}}
	waiting := &openmanus.CallState{Call: c.Call, Ruling: &openmanus.Asked{Hash: openmanus.Fingerprint(c.Name, c.Input)}}
	if err := o.Memory.Remember(Decision{Key: CallKey(s, waiting), Allow: true, By: "person", At: time.Now(), Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	rule := func(o Options, args map[string]any, change func(*openmanus.ToolSpec)) openmanus.Verdict {
		t.Helper()
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		c, spec := call("mcp_delete", args)
		change(&spec)
		v, err := g.Rule(t.Context(), c, spec)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	same := func(*openmanus.ToolSpec) {}
	v := rule(o, map[string]any{"name": "tmp"}, same)
	if !v.Allow || !strings.HasPrefix(v.Rule, "remembered "+CallKey(s, waiting)[:8]+": allowed by person at ") || !strings.HasSuffix(v.Rule, " in s1") {
		t.Errorf("the same call: %+v", v)
	}
	elsewhere, caged := o, o
	elsewhere.Workspace, caged.Sandbox = "/other", "bubblewrap"
	for what, v := range map[string]openmanus.Verdict{
		"other arguments":     rule(o, map[string]any{"name": "prod"}, same),
		"another workspace":   rule(elsewhere, map[string]any{"name": "tmp"}, same),
		"another sandbox":     rule(caged, map[string]any{"name": "tmp"}, same),
		"another description": rule(o, map[string]any{"name": "tmp"}, func(s *openmanus.ToolSpec) { s.Description += "\u200b" }), // MCPoison
		"another schema":      rule(o, map[string]any{"name": "tmp"}, func(s *openmanus.ToolSpec) { s.Input = []byte(`{"type":"object"}`) }),
	} {
		if !v.Ask {
			t.Errorf("%s: %+v", what, v)
		}
	}
	o.Rules.Deny = []string{"tool:mcp_*"}
	if v := rule(o, map[string]any{"name": "tmp"}, same); v.Allow || v.Ask {
		t.Errorf("denied by a rule that came later: %+v", v)
	}
	waiting.Ruling.Shown = "+ a diff"
	if CallKey(s, waiting) != "" || o.Memory.Remember(Decision{}) == nil {
		t.Error("an edit, which depends on what is in the file, was remembered")
	}
}

func TestDeniedForGood(t *testing.T) {
	o := Options{Mode: openmanus.ApproveAll, Workspace: "/w", Memory: Open(filepath.Join(t.TempDir(), "m"))}
	c, spec := call("bash", bash("make deploy"))
	if err := o.Memory.Remember(Decision{Key: key("/w", "", spec, openmanus.Fingerprint(c.Name, c.Input)), By: "person"}); err != nil {
		t.Fatal(err)
	}
	if got, v := verdict(t, o, "bash", bash("make deploy")); got != "deny" {
		t.Errorf("%s, %+v", got, v)
	}
}

// A memory that somebody else could have written is not trusted, and says so:
// nothing is allowed meanwhile.
func TestMemoryThatIsNotBelieved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	path := filepath.Join(t.TempDir(), "m")
	m := Open(path)
	if err := m.Remember(decision("a", true)); err != nil {
		t.Fatal(err)
	}
	for mode, why := range map[os.FileMode]string{0o622: "can be written by others", 0o660: "can be written by others"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(path).Recall(Key("a")); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v", mode, err)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(path).Recall(Key("a")); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("of another user: %v", err)
		}
	}
	if _, _, err := Open(t.TempDir()).Recall("a"); err == nil {
		t.Error("a directory was believed")
	}
}

// An entry that a crash cut off is not there; damage is reported.
func TestMemoryAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	if err := Open(path).Remember(decision("a", true)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) {
		data := append(append([]byte(nil), whole...), whole[:cut]...)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m := Open(path)
		if err := m.Remember(decision("b", true)); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		for _, name := range []string{"a", "b"} {
			if _, known, err := m.Recall(Key(name)); !known || err != nil {
				t.Fatalf("cut at %d: %s: %v, %v", cut, name, known, err)
			}
		}
	}
	if err := os.WriteFile(path, append([]byte("{\"allow\":true}\n"), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(path).Recall(Key("a")); err == nil || !strings.Contains(err.Error(), "line 1 is damaged") {
		t.Errorf("damaged: %v", err)
	}
}

func TestMemoryOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			m := Open(path)
			for j := range 10 {
				if err := m.Remember(decision(strings.Repeat("x", 10*i+j), true)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if all, err := Open(path).All(); err != nil || len(all) != 80 {
		t.Errorf("%d decisions, %v", len(all), err)
	}
}

func TestNoMemory(t *testing.T) {
	var m *Memory
	if _, known, err := m.Recall("a"); known || err != nil {
		t.Error(known, err)
	}
	if m.Remember(decision("a", true)) == nil {
		t.Error("nothing remembered something")
	}
}
