//go:build unix

package gate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// TestPlaces: where the names of a call lead, by links of every kind, also where nothing is
// yet: who writes there makes it.
func TestPlaces(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{".vscode", "sub"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"v": ".vscode", "vv": "v", "rc": ".envrc", "sub/up": "../.vscode", "abs": filepath.Join(dir, ".idea"),
		"a": "b", "b": "a", "out": "/etc", "here": ".",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := New(Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{Edits: true},
		Arguments: []openmanus.Argument{{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Writes}}}
	for name, want := range map[string]string{
		"x": "x", "new/x": "new/x", "v": ".vscode", "v/tasks.json": ".vscode/tasks.json", "vv/new/x": ".vscode/new/x",
		"rc": ".envrc", "sub/up/x": ".vscode/x", "abs/x": ".idea/x", "a/x": "a/x", "out/x": "/etc/x", "here/here/v/x": ".vscode/x",
		filepath.Join(dir, "v/x"): ".vscode/x",
	} {
		call := openmanus.Call{}
		call.Name, call.Input = "write", `{"path": "`+name+`"}`
		places, _ := g.Places(call, spec)
		if len(places) != 1 || places[0].Real != want || !places[0].Changes {
			t.Errorf("%s: %+v, want %s", name, places, want)
		}
	}
}

// TestRulesSeeTheFileThatIsMeant: a rule holds for a file however a call writes its path.
func TestRulesSeeTheFileThatIsMeant(t *testing.T) {
	top := t.TempDir()
	dir, link := filepath.Join(top, "ws"), filepath.Join(top, "link")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(dir, link), os.WriteFile(filepath.Join(dir, "my key.pem"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	g, err := New(Options{Mode: openmanus.ApproveAll, Workspace: dir, Rules: Rules{Deny: []string{"path:my key.pem"}}})
	if err != nil {
		t.Fatal(err)
	}
	spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "save"}, Hints: openmanus.Hints{Edits: true},
		Arguments: []openmanus.Argument{{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Writes}}}
	for _, path := range []string{"my key.pem", "my\u00a0key.pem", link + "/my key.pem", "file://" + dir + "/my%20key.pem", "./x/../my\u202fkey.pem"} {
		input, _ := json.Marshal(map[string]string{"path": path})
		v, err := g.Rule(t.Context(), openmanus.Call{Call: llm.Call{Name: "save", Input: string(input)}}, spec)
		if err != nil || v.Allow || !strings.Contains(v.Rule, "my key.pem") {
			t.Errorf("%q: %+v, %v", path, v, err)
		}
	}
}
