package protected

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// decided are names that programs, agents or people obey, each of which the
// sandbox once let a command write.
const decided = `AGENTS.md CLAUDE.md GEMINI.md .github/copilot-instructions.md .cursorrules .windsurfrules .windsurf/rules/x.md
	.clinerules .kiro/steering/x.md .roo/rules/x.md .amazonq/rules/x.md .goosehints .opencode/agent/x.md opencode.json
	skills/x/SKILL.md .agents/skills/x/SKILL.md agents/x.md mcp.json config/mcp.json config/config.toml .env
	.gitattributes .gitmodules .hgrc .hg/hgrc .svn/x .jj/repo/config .jj/config.toml .pre-commit-config.yaml
	.github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml .fleet/run.json proj.code-workspace .sublime-project .atom/x
	.theia/settings.json .emacs.d/init.el .editorconfig .eslintrc.js .prettierrc.js .rustfmt.toml .direnv/x .mise.toml
	.tool-versions .python-version .ruby-version .nvmrc .node-version rust-toolchain.toml .tmux.conf .screenrc .gdbinit
	.lldbinit .pdbrc .pythonstartup.py .irbrc .pryrc .wgetrc .curlrc .netrc .config/fish/config.fish .ssh/authorized_keys
	.local/bin/ls .dockerenv .npmrc .yarnrc.yml .pypirc .cargo/config.toml nuget.config .mvn/jvm.config .mvn/extensions.xml
	.gradle/init.gradle .bazelrc Directory.Build.props Makefile GNUmakefile justfile package.json setup.py pyproject.toml
	conftest.py sitecustomize.py usercustomize.py evil.pth build.rs gradlew jest.config.js vite.config.js Dockerfile
	docker-compose.yml Vagrantfile`

// TestDecided holds that the list has a decision about each of these names, and
// the same one at any depth.
func TestDecided(t *testing.T) {
	names := strings.Fields(decided)
	if len(names) != 92 {
		t.Fatalf("there are %d names", len(names))
	}
	ordinary := strings.Fields(`config/config.toml .env .editorconfig .eslintrc.js .prettierrc.js .rustfmt.toml .dockerenv
		.gradle/init.gradle Directory.Build.props Makefile GNUmakefile justfile package.json setup.py pyproject.toml conftest.py
		evil.pth build.rs gradlew jest.config.js vite.config.js Dockerfile docker-compose.yml Vagrantfile`)
	for _, name := range names {
		want := !slices.Contains(ordinary, name)
		for _, at := range []string{name, "packages/app/" + name, strings.ToUpper(name), "./" + name} {
			r, ok := Find(at)
			if dir, _ := Find(path.Dir(at)); !want && !ok && dir.Pattern != ".gradle" {
				t.Errorf("%s: there is no decision", at)
			}
			if r.Protected != want || Is(at) != want {
				t.Errorf("%s: protected %v by %q", at, r.Protected, r.Pattern)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		".git": ".git", "a/.git/hooks/x": ".git", "a/.Git/config": ".git", ".gitignore": "", "x.git/config": "",
		"a/.vscode/b/c": ".vscode", "vscode/x": "", ".config/fish/x": ".config/fish", ".config/other": "", "fish": "",
		"agents/x.md": "agents/*.md", "agents/x.go": "", "agents/x/y.md": "", "docs/AGENTS.md": "agents.md",
		"node_modules/p/.github/x": "", "node_modules/p/.git/config": ".git", ".github/node_modules/x": ".github",
		"a/node_modules/AGENTS.md": "", "lib/site-packages/x.pth": "*.pth", "": "", ".": "", "../.bashrc": ".bashrc",
		".yarn/cache/x": "", ".yarn/releases/y.cjs": ".yarn/releases", "lefthook.yaml": "lefthook.y*ml",
	} {
		if r, _ := Find(name); r.Pattern != want {
			t.Errorf("%q: %q, want %q", name, r.Pattern, want)
		}
	}
}

func TestUnhides(t *testing.T) {
	for _, test := range []struct {
		from, to string
		want     bool
	}{
		{"a", "b", false}, {"node_modules/a", "node_modules/b", false}, {"node_modules/a", "b", true},
		{"a", ".config", true}, {"a/fish", ".config/x", true}, {"a/site-packages", "a/b", true}, {"a", "x/agents", true},
	} {
		if got := Unhides(test.from, test.to); got != test.want {
			t.Errorf("%s to %s: %v", test.from, test.to, got)
		}
	}
}

// TestList holds that each line can match, once.
func TestList(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rules() {
		if _, err := path.Match(r.Pattern, ""); err != nil || seen[r.Pattern] || r.Pattern != strings.ToLower(r.Pattern) ||
			strings.Count(r.Pattern, "/") > 1 {
			t.Errorf("%q: %v", r.Pattern, err)
		}
		seen[r.Pattern] = true
		example := strings.NewReplacer("*", "", "?", "x").Replace(r.Pattern)
		if got, ok := Find("a/" + example); !ok || got.Pattern != r.Pattern {
			t.Errorf("%s is never found: %q is %q", r.Pattern, example, got.Pattern)
		}
	}
}
