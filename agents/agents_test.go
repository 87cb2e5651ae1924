package agents

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/leaktest"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func manus(t *testing.T, dir string) *openmanus.Agent {
	t.Helper()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, closer, err := Manus(Options{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
		ws.Close()
	})
	return a
}

// TestTheHeadOfARequestIsAlwaysTheSame: it is what providers cache. Only the
// workspace may differ, and that is said in the first message.
func TestTheHeadOfARequestIsAlwaysTheSame(t *testing.T) {
	one, two := manus(t, t.TempDir()).Configured(0), manus(t, t.TempDir()).Configured(0)
	one.Workspace, two.Workspace = "", ""
	if !reflect.DeepEqual(one, two) {
		t.Errorf("%+v\n%+v", one, two)
	}
	data, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	const most = 24 << 10 // every request pays for it
	if len(data) > most {
		t.Errorf("the head has %d bytes, more than %d", len(data), most)
	}
}

// TestToolsAreInOrder: their names are unique, their schemas are valid, and
// what claims to read only is not also destructive.
func TestToolsAreInOrder(t *testing.T) {
	seen := make(map[string]bool)
	finals := 0
	for _, tool := range manus(t, t.TempDir()).Tools {
		s := tool.Spec()
		if seen[s.Name] || s.Name == "" || s.Description == "" {
			t.Errorf("%q: twice, or without a name or description", s.Name)
		}
		seen[s.Name] = true
		if _, err := args.Compile(s.Input); err != nil || len(s.Input) == 0 {
			t.Errorf("%s: %v", s.Name, err)
		}
		if s.Hints.ReadOnly && (s.Hints.Destructive || s.Hints.Edits) {
			t.Errorf("%s: %+v", s.Name, s.Hints)
		}
		if s.Hints.Final {
			finals++
		}
	}
	for _, name := range []string{"bash", "python_execute", "str_replace_editor", "file_saver", "grep", "glob", "planning", "ask_human", "terminate", "read_output"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if finals != 1 {
		t.Errorf("%d tools end the work", finals)
	}
}

func TestFind(t *testing.T) {
	if k, ok := Find("manus"); !ok || k.Name != "manus" {
		t.Error(k, ok)
	}
	if _, ok := Find("nobody"); ok {
		t.Error("found nobody")
	}
}

func jsonOf(v any) (json.RawMessage, error) { return json.Marshal(v) }
