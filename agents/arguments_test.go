package agents

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/web"
	"github.com/openmanus-go/openmanus/workspace"
)

// telling are names of arguments that rules of the gate are likely about.
var telling = regexp.MustCompile(`(?i)command|code|path|file|glob|url|uri|host|output|^dir|data$|query`)

// harmless are arguments that have such a name and are content all the same.
var harmless = []string{
	"str_replace_editor command", "str_replace_editor file_text", "planning command", "research command", // what to do
	"grep output", "data_visualization output_type", "visualization_preparation code_type", // what to show
}

// TestEveryToolDeclaresItsArguments holds that every tool of every agent says
// what it does with its arguments: a rule about commands, paths or hosts does
// not hold for what is not declared.
func TestEveryToolDeclaresItsArguments(t *testing.T) {
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	surf := browser.NewTool(browser.Config{})
	defer surf.Close()
	reader := &web.Reader{}
	o := Options{
		Workspace: ws,
		Web: []openmanus.Tool{surf, web.NewFetch(reader, nil), web.NewSearch(web.SearchTool{}), web.NewCrawl(reader),
			web.NewResearch(reader, ws, ws.Dir())},
		Delegates: []tools.Assistant{{Name: "swe", Description: "codes"}},
		Skills:    []Skill{{Name: "s", Description: "how"}},
	}
	seen := map[string]bool{}
	for _, kind := range Kinds() {
		a, closer, err := kind.Make(o)
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		for _, tool := range a.Tools {
			if spec := tool.Spec(); !seen[spec.Name] {
				seen[spec.Name] = true
				checkArguments(t, spec)
			}
		}
	}
	for _, name := range []string{"bash", "grep", "browser_use", "web_fetch", "delegate", "skill", "data_report"} {
		if !seen[name] {
			t.Errorf("no agent has the tool %s", name)
		}
	}
}

func checkArguments(t *testing.T, spec openmanus.ToolSpec) {
	t.Helper()
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(spec.Input, &schema); err != nil {
		t.Fatal(err)
	}
	if len(spec.Arguments) == 0 {
		t.Errorf("%s declares nothing", spec.Name)
	}
	for _, a := range spec.Arguments {
		if _, ok := schema.Properties[a.Name]; !ok && a.Name != "" && a.Name != "*" {
			t.Errorf("%s declares %s, which its schema does not have", spec.Name, a.Name)
		}
		if a.Kind == "" {
			t.Errorf("%s does not say what %s is", spec.Name, a.Name)
		}
	}
	for name := range schema.Properties {
		declared := slices.ContainsFunc(spec.Arguments, func(a openmanus.Argument) bool {
			return a.Name == name || a.Name == "*"
		})
		if telling.MatchString(name) && !declared && !slices.Contains(harmless, spec.Name+" "+name) {
			t.Errorf("%s does not declare %s", spec.Name, name)
		}
	}
}
