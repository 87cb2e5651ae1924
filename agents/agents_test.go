package agents

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func manus(t *testing.T, dir string) *openmanus.Agent {
	t.Helper()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	k, _ := Find("manus")
	a, closer, err := k.Make(Options{Workspace: ws})
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

// TestTheHeadOfARequestIsAlwaysTheSame: providers cache it. Only the workspace
// may differ, which comes with the first message.
func TestTheHeadOfARequestIsAlwaysTheSame(t *testing.T) {
	one, two := manus(t, t.TempDir()).Configured(0), manus(t, t.TempDir()).Configured(0)
	one.Workspace, two.Workspace = "", ""
	if !reflect.DeepEqual(one, two) {
		t.Errorf("%+v\n%+v", one, two)
	}
	one.Tools = slices.DeleteFunc(one.Tools, func(s openmanus.ToolSpec) bool {
		return slices.ContainsFunc(rare, func(r Rare) bool { return r.Tool == s.Name })
	})
	data, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	const most = 22 << 10 // every request pays for it
	if len(data) > most {
		t.Errorf("the head has %d bytes, more than %d", len(data), most)
	}
}

// TestToolsAreInOrder: names are unique, schemas are valid, and no tool is both
// read-only and destructive.
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

func TestKinds(t *testing.T) {
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, want := range []struct {
		name, tools string
		hidden      bool
	}{
		{"manus", "bash python_execute str_replace_editor apply_patch file_saver grep glob read_output read_document data_visualization data_report read_untrusted planning ask_human terminate", false},
		{"swe", "bash str_replace_editor apply_patch grep glob read_output ask_human terminate", false},
		{"data_analysis", "read_document data_visualization data_report visualization_preparation python_execute bash str_replace_editor file_saver grep glob read_output planning ask_human terminate", false},
		{"browser", "str_replace_editor file_saver read_output read_untrusted planning ask_human terminate", false},
		{"research", "read_untrusted read_output ask_human terminate", false},
		{"mcp", "read_output ask_human terminate", false},
		{"critic", "str_replace_editor grep glob read_output read_document data_visualization create_chat_completion", true},
		{"judge", "str_replace_editor grep glob read_output read_document data_visualization create_chat_completion", true},
		{"untrusted_reader", "", true},
	} {
		k, ok := Find(want.name)
		if !ok || k.Name != want.name || k.Description == "" || k.Hidden != want.hidden {
			t.Errorf("%s: %+v, %v", want.name, k, ok)
			continue
		}
		a, closer, err := k.Make(Options{Workspace: ws})
		if err != nil {
			t.Errorf("%s: %v", want.name, err)
			continue
		}
		defer closer.Close()
		var names []string
		for _, tool := range a.Tools {
			names = append(names, tool.Spec().Name)
		}
		if got := strings.Join(names, " "); got != want.tools || !strings.HasPrefix(a.Instructions, "You ") {
			t.Errorf("%s has the tools %s, want %s, and the instructions %q", want.name, got, want.tools, a.Instructions)
		}
	}
	if _, ok := Find("another"); ok {
		t.Error("found an agent that does not exist")
	}
}

func jsonOf(v any) (json.RawMessage, error) { return json.Marshal(v) }
