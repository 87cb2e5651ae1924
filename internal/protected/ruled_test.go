package protected

import (
	"context"
	"testing"
)

// TestRefuse: what may be written depends on what was ruled on, and on the file that a name
// really leads to.
func TestRefuse(t *testing.T) {
	ruledOn := func(names, real []string) context.Context {
		return WithRuled(t.Context(), Ruled{Names: names, Real: append(real, names...)})
	}
	none := t.Context()
	for _, c := range []struct {
		what       string
		ctx        context.Context
		name, real string
		ok         bool
	}{
		{"an ordinary file", ruledOn([]string{"a.txt"}, nil), "a.txt", "a.txt", true},
		{"an ordinary file that the call does not name", ruledOn(nil, nil), "report.html", "report.html", true},
		{"through a link that was there", ruledOn([]string{"v/a"}, []string{"w/a"}), "v/a", "w/a", true},
		{"through a link that is new", ruledOn([]string{"v/a"}, nil), "v/a", "w/a", false},
		{"through a link that leads elsewhere now", ruledOn([]string{"v/a"}, []string{"w/a"}), "v/a", "x/a", false},
		{"a protected file that was asked about", ruledOn([]string{".vscode/tasks.json"}, nil), ".vscode/tasks.json", ".vscode/tasks.json", true},
		{"a protected file that was asked about by a link", ruledOn([]string{"CLAUDE.md"}, []string{"AGENTS.md"}), "CLAUDE.md", "AGENTS.md", true},
		{"a protected file instead of another one", ruledOn([]string{"CLAUDE.md"}, []string{"AGENTS.md"}), "CLAUDE.md", ".envrc", false},
		{"a link to a protected file", ruledOn([]string{"v/tasks.json"}, nil), "v/tasks.json", ".vscode/tasks.json", false},
		{"another spelling", ruledOn([]string{"v/tasks.json"}, nil), "v/tasks.json", ".VSCode/tasks.json", false},
		{"a protected file that the call does not name", ruledOn([]string{"a.txt"}, nil), ".envrc", ".envrc", false},
		{"without a ruling", none, "a.txt", "a.txt", true},
		{"without a ruling, through a link", none, "v/a", "w/a", true},
		{"without a ruling, a protected file by its name", none, ".envrc", ".envrc", true},
		{"without a ruling, from one protected name to another", none, "CLAUDE.md", "AGENTS.md", true},
		{"without a ruling, through a link to a protected file", none, "v/tasks.json", ".vscode/tasks.json", false},
	} {
		if err := Refuse(c.ctx, c.name, c.real); (err == nil) != c.ok {
			t.Errorf("%s: the error is %v", c.what, err)
		}
	}
}
