package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A critic that has looked at nothing is told so once. After that, what it calls met
// counts as not met.
func TestACriticMustHaveLooked(t *testing.T) {
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	k, _ := Find("critic")
	a, closer, err := k.Make(Options{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if a.Tool("read_document") == nil || a.Tool("data_visualization") == nil {
		t.Error("the critic cannot open documents")
	}
	tally := func(name string, ok, failed int) map[string]openmanus.Tally {
		return map[string]openmanus.Tally{name: {OK: ok, Failed: failed}}
	}
	for _, c := range []struct {
		name  string
		tally map[string]openmanus.Tally
		input string
		met   bool
		error bool
	}{
		{"at once", nil, `{"met":true,"reason":"Seen."}`, false, true},
		{"after a look that failed", tally("grep", 0, 3), `{"met":true,"reason":"Seen."}`, false, true},
		{"a second time", tally(verdictName, 0, 1), `{"met":true,"reason":"Seen."}`, false, false},
		{"after a look", tally("grep", 1, 0), `{"met":true,"reason":"Seen."}`, true, false},
		{"not met needs no look", nil, `{"met":false,"reason":"No."}`, false, false},
	} {
		res, err := a.Tool(verdictName).Run(t.Context(), openmanus.Call{Call: llm.Call{Input: c.input}, Tally: c.tally})
		if (err != nil) != c.error || err != nil && !strings.Contains(err.Error(), "looked at nothing") {
			t.Errorf("%s: %v", c.name, err)
		}
		var v Verdict
		if end, ok := res.Detail.(openmanus.Ending); ok {
			if err := json.Unmarshal([]byte(end.Answer), &v); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if v.Met != c.met {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}
