package lawtest_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/web"
	"github.com/openmanus-go/openmanus/workspace"
)

// builtIn returns the specs of the tools that are part of the program, by name.
func builtIn(t *testing.T) map[string]openmanus.ToolSpec {
	t.Helper()
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	surf, reader := browser.NewTool(browser.Config{}), new(web.Reader)
	t.Cleanup(func() { _ = surf.Close() })
	others := []tools.Assistant{{Name: "swe", Description: "codes"}}
	o := agents.Options{
		Workspace: ws, Delegates: others, Skills: []agents.Skill{{Name: "s", Description: "how"}},
		Web: []openmanus.Tool{surf, web.NewFetch(reader, nil), web.NewSearch(web.SearchTool{}), web.NewCrawl(reader), web.NewResearch(reader, ws, ws.Dir())},
	}
	all := append(mcp.NewClient(mcp.Options{}).Tools(mcp.Deferred{}), tools.NewPlanner(others))
	for _, kind := range agents.Kinds() {
		a, closer, err := kind.Make(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = closer.Close() })
		all = append(all, a.Tools...)
	}
	specs := make(map[string]openmanus.ToolSpec)
	for _, tool := range all {
		specs[tool.Spec().Name] = tool.Spec()
	}
	for _, name := range []string{"bash", "browser_use", "read_untrusted", "delegate", "skill", "find_tools", "create_chat_completion", "planning"} {
		if specs[name].Name == "" {
			t.Errorf("%s is not among the tools", name)
		}
	}
	return specs
}

// blanks are the arguments that words have in braces.
var blanks = regexp.MustCompile(`\{(\w+)(?:\+1)?\}`)

// Every tool says what its calls do, in the languages of the page, and names only arguments
// that it has.
func TestToolsSayWhatTheyDo(t *testing.T) {
	for name, spec := range builtIn(t) {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(spec.Input, &schema); err != nil {
			t.Fatal(err)
		}
		has := func(argument string) {
			if _, ok := schema.Properties[argument]; !ok {
				t.Errorf("%s has no argument %s", name, argument)
			}
		}
		if n := len(spec.Says); n == 0 || spec.Says[n-1].If != "" {
			t.Errorf("%s says nothing of some calls: its spec has no head", name)
		}
		for _, s := range spec.Says {
			if strings.Contains(spec.Description, s.Words["zh"]) {
				t.Errorf("the model reads the words of %s: %q", name, spec.Description)
			}
			if argument, _, only := strings.Cut(s.If, "="); only {
				has(argument)
			}
			for _, argument := range s.On {
				has(argument)
			}
			for _, language := range []string{"en", "zh"} {
				words := s.Words[language]
				if strings.Count(words, ", ") != 2 {
					t.Errorf("%s says %q: there are three forms in %s", name, words, language)
				}
				for _, m := range blanks.FindAllStringSubmatch(words, -1) {
					has(m[1])
				}
			}
		}
	}
}

// elsewhere are the files that may name a tool of another package, and why.
var elsewhere = map[string]string{
	"agents/kinds.go":           "which agent has which tools",
	"internal/hooks/claude.go":  "which tools of Claude Code do the same, with which arguments: hooks are written for those",
	"browser/tool_spec.go":      "actions of its own that are called as the tool is",
	"browser/tool_actions.go":   "actions of its own that are called as the tool is",
	"journal/journaltest":       "what journals contain, as samples",
	"bench":                     "sessions that are made up",
	"cmd/openmanus/research.go": "the agent of that name",
}

// A tool is named where it is made, and nowhere else: all that others show of it and know of it
// is in its spec. Names that are words of something else, such as of a program, are not looked at.
func TestToolsAreNamedAtHome(t *testing.T) {
	homes := make(map[string][]string) // the files that name a tool
	specs := builtIn(t)
	for _, word := range []string{"bash", "grep", "glob", "skill", "research", "delegate"} {
		delete(specs, word)
	}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		at := filepath.ToSlash(strings.TrimPrefix(name, top+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata", "examples"}, d.Name()):
			return fs.SkipDir
		case d.IsDir(), !slices.Contains([]string{".go", ".ts", ".svelte"}, path.Ext(at)), strings.HasSuffix(at, "_test.go"), strings.HasSuffix(at, ".test.ts"):
			return nil
		case elsewhere[at] != "", elsewhere[path.Dir(at)] != "", strings.HasPrefix(at, "bench/"):
			return nil
		}
		data, err := os.ReadFile(name)
		for tool := range specs {
			if bytes.Contains(data, []byte(tool)) && regexp.MustCompile("[\"'`]"+tool+"[\"'`]|(?m)^\\s*"+tool+":").Match(data) && !slices.Contains(homes[tool], path.Dir(at)) {
				homes[tool] = append(homes[tool], path.Dir(at))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for tool := range specs {
		if len(homes[tool]) != 1 {
			t.Errorf("%s is named in %q, not in one package: others read its spec", tool, homes[tool])
		}
	}
}
