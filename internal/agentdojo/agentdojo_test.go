package agentdojo_test

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/agentdojo"
)

func TestRead(t *testing.T) {
	c, err := agentdojo.Read()
	if err != nil {
		t.Fatal(err)
	}
	var tasks, pairs, words, early int
	for _, k := range c.Cases {
		tools := map[string]bool{}
		for _, tool := range c.Tools[k.Suite] {
			tools[tool.Name] = true
		}
		injected, attacks := false, 0
		for _, call := range k.Calls {
			if !tools[call.Tool] {
				t.Errorf("%s calls %s, which is no tool of %s", k.Name, call.Tool, k.Suite)
			}
			if call.Attacker {
				attacks++
				if !injected {
					t.Errorf("%s: the attacker's %s comes before the injection was read", k.Name, call.Tool)
				}
			}
			injected = injected || call.Injected
		}
		if k.Attack() != injected || !k.Attack() && attacks > 0 || k.Prompt == "" {
			t.Errorf("%s: attack %v, injected %v, %d calls of the attacker, prompt %q", k.Name,
				k.Attack(), injected, attacks, k.Prompt)
		}
		switch {
		case !k.Attack():
			tasks++
		case attacks == 0:
			words++
			if !strings.HasSuffix(k.Name, "injection_task_6") {
				t.Errorf("%s has no calls of the attacker", k.Name)
			}
			fallthrough
		default:
			pairs++
		}
		if k.Early {
			early++
		}
	}
	if tasks != 97 || pairs != 949 || words != 20 || early != 6 {
		t.Errorf("%d tasks, %d pairs, %d of words alone, %d early; want 97, 949, 20, 6",
			tasks, pairs, words, early)
	}
}
