//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// TestTutorials types what the tutorials have people type, in a new home directory, with a
// script in place of the model. Every command has to succeed, and the script has to come to
// its answer. Questions at a terminal are answered, and servers that run on are left out.
func TestTutorials(t *testing.T) {
	if runtime.GOOS == "linux" {
		testbed.Need(t, "bwrap") // the tutorials say so
	}
	sdk, err := filepath.Abs("../../bin/mcp-python")
	if err != nil {
		t.Fatal(err)
	}
	toml := regexp.MustCompile("(?ms)^```toml\n(.*?)^```")
	python := regexp.MustCompile("(?ms)^```python\n# ([a-z]+\\.py)\n(.*?)^```")
	for _, c := range []struct {
		page, model string
		says        []string
		files       []string // besides: what the other program left there
	}{
		{"first-task.md", "-- 1 --\n@call bash {\"command\": \"sort -t, -k2 -n sales.csv | tail -3 > report.md\"}\n-- 2 --\nThe report is in report.md.\n",
			[]string{"The report is in report.md.", "+++ b/report.md", "+2026-03,35900"}, nil},
		{"scheduled-report.md", "-- 1 --\n@call bash {\"command\": \"git log --oneline && git diff HEAD~1 --stat\"}\n-- 2 --\n@expect last contains the second change\nIt sums up the second change.\n",
			[]string{"It sums up the second change.", "report"}, nil},
		{"own-tool.md", "-- 1 --\nThere are 12 apples.\n", []string{"It has 1 tool.", "mcp_stock_stock", "There are 12 apples."}, nil},
		{"mcp.md", "-- 1 --\nDone.\n", []string{"approved: https://mcp.example.org/", "Done."}, nil},
		{"moving.md", "-- any --\n@when last contains which tools\n@expect conversation contains Use tabs.\n@call skill {\"name\": \"greet\"}\n-- any --\n@when results contains Say hello.\nThey are greeted.\n-- any --\nDone.\n",
			[]string{"mcp.server_reference: has no meaning here", "counts as not set", "claude-1  before_call  approved", "mcp: files", "They are greeted.", "Done."},
			[]string{
				"home/OpenManus/config/config.toml", "[llm]\nmodel = \"gpt-4o\"\nbase_url = \"https://api.openai.com/v1\"\napi_key = \"YOUR_API_KEY\"\nmax_tokens = 4096\ntemperature = 0.0\n[runflow]\nuse_data_analysis_agent = false\n[mcp]\nserver_reference = \"app.mcp.server\"\n",
				"CLAUDE.md", "Use tabs.\n", ".claude/skills/greet/SKILL.md", "---\nname: greet\ndescription: How people are greeted\n---\nSay hello.\n",
				".claude/settings.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}`,
				".mcp.json", `{"mcpServers":{"files":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","."]}}}`,
			}},
	} {
		t.Run(c.page, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "docs", c.page))
			if err != nil {
				t.Fatal(err)
			}
			page, dir := string(data), write(t, append([]string{"model.txt", c.model, "home/src/shop/a", "a\n"}, c.files...)...)
			// a program that is fetched from a network: npx is not there, and uv runs what follows
			bin := write(t, "npx", "#!/bin/sh\nexit 1\n", "uv", "#!/bin/sh\nwhile [ \"${1%.py}\" = \"$1\" ]; do shift; done\nPYTHONPATH='"+sdk+"' exec python3 \"$@\"\n")
			home := filepath.Join(dir, "home")
			if m := toml.FindStringSubmatch(page); m != nil {
				config := filepath.Join(home, ".config", "openmanus", "config.toml")
				if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(config, []byte(m[1]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range python.FindAllStringSubmatch(page, -1) {
				try := exec.Command("python3", "-c", "import mcp.server.mcpserver")
				try.Env = append(os.Environ(), "PYTHONPATH="+sdk)
				if out, err := try.CombinedOutput(); err != nil {
					testbed.Lacks(t, fmt.Errorf("the package mcp 2 of Python, which make deps installs: %w\n%s", err, out))
				}
				if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(m[2]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			typed := "set -e\ncd ~/src/shop\ngit init -q\ngit add a\ngit commit -qm 'the first change'\necho b > a\ngit commit -qam 'the second change'\ncd - >/dev/null\n"
			for _, block := range codeBlock.FindAllStringSubmatch(page, -1) {
				if block[1] != "sh" {
					continue
				}
				for line := range strings.Lines(block[2]) {
					switch {
					case strings.Contains(line, "openmanus serve"), strings.Contains(line, "mcp serve"), strings.Contains(line, "mcp test files"):
						continue
					case strings.Contains(line, "sessions rewind"), strings.Contains(line, "sessions redo"), strings.Contains(line, "openmanus trust"), strings.Contains(line, "hooks approve"):
						line, _, _ = strings.Cut(line, "#")
						line = strings.TrimSpace(line) + " --yes\n"
					}
					typed += line
				}
			}
			cmd := exec.Command("bash", "-c", typed)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "MAIL_PASSWORD=secret-of-mail", "SEARCH_TOKEN=token-of-search",
				"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org",
				"OPENMANUS_MODEL=scripted:"+filepath.Join(dir, "model.txt"), "PATH="+bin+":"+os.Getenv("PATH"))
			for _, name := range []string{"npx", "uv"} {
				if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s\n%s", err, typed, out)
			}
			for _, want := range c.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
