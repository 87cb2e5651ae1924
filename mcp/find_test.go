//go:build unix

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
)

// fiveHundred are tools such as servers have: a verb, a thing, and arguments
// that are explained.
func fiveHundred() []*sdk.Tool {
	var tools []*sdk.Tool
	verbs := []string{"create", "list", "update", "delete", "search", "archive", "export", "import", "merge", "assign"}
	for i := range 500 {
		verb, thing := verbs[i%10], fmt.Sprintf("record%d", i/10)
		tools = append(tools, &sdk.Tool{Name: verb + "_" + thing, Description: fmt.Sprintf("%s a %s of the workspace. The caller must have the right to do so; the result has the identifier and the time of the change.", verb, thing),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"The identifier of the ` + thing + `."},"fields":{"type":"object","description":"The fields to set, by name.","additionalProperties":{"type":"string"}},"dry_run":{"type":"boolean","description":"Only say what would happen."}},"required":["id"]}`)})
	}
	return tools
}

// textOf is what a request says of the tools.
func textOf(t *testing.T, tools []openmanus.Tool) int {
	t.Helper()
	n := 0
	for _, tool := range tools {
		data, err := json.Marshal(tool.Spec().ToolSpec)
		if err != nil {
			t.Fatal(err)
		}
		n += len(data)
	}
	return n
}

// B8: with 500 tools, a job of 20 steps that uses ten of them reads at least 85 %
// less text about tools when they are found than when they are listed, and
// reaches every one of them.
func TestManyToolsAreFound(t *testing.T) {
	p := programs{"s": serving(func() *sdk.Server { return newServer(fiveHundred()...) })}
	all, _ := start(t, p, Options{DeferAbove: 1000}, "s")
	some, _ := start(t, p, Options{}, "s")
	const steps = 20
	direct := steps * textOf(t, all.Tools())
	deferred := steps * textOf(t, some.Tools())
	read := 0
	for i := range 10 {
		verb, thing := []string{"archive", "merge"}[i%2], fmt.Sprintf("record%d", 5*i)
		name := "mcp_s_" + verb + "_" + thing
		res, err := use(t, some, nameFind, fmt.Sprintf(`{"query":"%s the %s","limit":3}`, verb, thing))
		text := res.Parts.Text()
		if err != nil || !strings.HasPrefix(text, "## "+name+"\n") || !strings.Contains(text, `"dry_run"`) {
			t.Fatalf("%s is not found first: %v\n%s", name, err, text)
		}
		read += len(text) * (steps - 2*i) // it stays in the conversation
		says(t, some, nameUse, fmt.Sprintf(`{"name":%q,"arguments":{"id":"x"}}`, name), verb+"_"+thing+` {"id":"x"}`)
	}
	less := 1 - float64(deferred+read)/float64(direct)
	t.Logf("%d bytes of tools, listed; %d, found: %.1f %% less", direct, deferred+read, 100*less)
	if less < 0.85 {
		t.Errorf("only %.1f %% less", 100*less)
	}
	tools, _ := some.offered()
	for i := 0; i < len(tools); i += 25 {
		r := tools[i]
		if found, fit := search(r.spec.Name, tools); fit != 1 || len(found) == 0 || found[0] != r {
			t.Errorf("%s is not found by its name", r.spec.Name)
		}
	}
}

func TestWords(t *testing.T) {
	got := strings.Join(wordsOf("mcp_GitHub_listPullRequests: Lists the files, of a PR-42"), " ")
	if want := "git hub list pull request list file pr 42"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
