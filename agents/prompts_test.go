package agents

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// An answer by a schema is a call, and then the instructions say so; otherwise
// they do not name the tool.
func TestTheFormOfTheAnswer(t *testing.T) {
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, k := range Kinds() {
		plain, c1, err := k.Make(Options{Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		defer c1.Close()
		formed, c2, err := k.Make(Options{Workspace: ws, Answer: []byte(`{"type":"object"}`)})
		if err != nil {
			t.Fatal(err)
		}
		defer c2.Close()
		for _, a := range []*openmanus.Agent{plain, formed} {
			named := strings.Contains(a.Instructions, "create_chat_completion")
			if has := a.Tool("create_chat_completion") != nil; has != named && !k.Bare {
				t.Errorf("%s: it has the tool create_chat_completion: %t; its instructions name it: %t", k.Name, has, named)
			}
		}
	}
}
