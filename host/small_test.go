package host

import (
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/llm/tokens"
	"github.com/openmanus-go/openmanus/workspace"
)

// In a small window requests offer fewer tools of the general agent, down to a shell,
// files, what was left out, and the end; the others are found. In a large one, and in one
// of unknown size, they offer what they always do.
func TestToolsForSmallWindows(t *testing.T) {
	kind, _ := agents.Find("manus")
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	offered := func(window int) (names []string, room int) {
		a, closer, err := kind.Make(agents.Options{Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		a.Counter, a.Window = tokens.For(false, ""), openmanus.Window{Tokens: window}
		found := deferTools(a, kind.Rare)
		for _, spec := range a.Configured(0).Offered() {
			names = append(names, spec.Name)
		}
		if len(names)+len(found) != len(a.Tools) {
			t.Errorf("%d tokens: %d tools are offered and %d found, of %d", window, len(names), len(found), len(a.Tools))
		}
		return names, a.Window.RequestBudget() - HeadTokens(a) - finding
	}
	all, _ := offered(0)
	if large, _ := offered(200_000); !slices.Equal(large, all) || len(all) < 10 {
		t.Errorf("in a large window there are %q, in one of unknown size %q", large, all)
	}
	few, room := offered(4096)
	for _, name := range append(slices.Clone(essential), "terminate") {
		if !slices.Contains(few, name) {
			t.Errorf("%s is not among %q", name, few)
		}
	}
	if len(few) > 6 || room < 1000 {
		t.Errorf("in a window of 4,096 tokens %q leave %d", few, room)
	}
	if some, room := offered(8192); len(some) <= len(few) || len(some) >= len(all) || room < 3000 {
		t.Errorf("in a window of 8,192 tokens %q leave %d", some, room)
	}
}
