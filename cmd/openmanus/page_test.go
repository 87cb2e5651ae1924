//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

const pageScript = `A person at the page. The output tries what pages must not do.
-- reply --
I'll look at the data first, and make a plan: $$x^2$$
@call bash {"command": "printf 'month,revenue\\n2025-06,42800\\n' > sales.csv; touch '<img src=x onerror=pwned=1>.txt'; echo '<img src=x onerror=pwned=1><script>pwned=1</script>'; for i in 1 2 3; do echo line $i; done # \u202egnp.exe"}
-- reply --
@call planning {"command": "create", "plan_id": "p", "title": "<b onmouseover=pwned=1>Best</b> months", "steps": ["Look", "Compute", "Write report.md"]}
-- reply --
@call ask_human {"inquire": "Which currency? <img src=x onerror=pwned=1>"}
-- reply --
@call str_replace_editor {"command": "create", "path": "report.md", "file_text": "# Best months\n\n| month | revenue |\n|---|---|\n| June | 42,800 |\n\n<img src=x onerror=pwned=1> [x](javascript:pwned=1)\n"}
-- reply --
The best month is June <img src=x onerror=pwned=1> <script>pwned=1</script> [here](javascript:pwned=1) ![beacon](http://127.0.0.1:9/x.png).

| month | revenue |
|---|---|
| June | 42,800 |

- [x] done
`

const plannedScript = `-- 1 --
@when system contains planning assistant
@call planning {"command": "create", "plan_id": "p", "title": "The report", "steps": ["Touch it", "Look at it"]}
-- 1 --
@when last contains : "Touch it"
@call bash {"command": "touch made"}
-- 1 --
@when system contains You compare attempts
@call create_chat_completion {"attempts": [{"attempt": 1, "done": false, "score": 10, "reason": "it says 5"}, {"attempt": 2, "done": true, "score": 90, "reason": "1+2+3 is 6"}], "reason": "Only the second one adds up."}
-- 1 --
@when last contains /attempt-1
@call file_saver {"file_path": "sum.txt", "content": "5\n"}
-- 1 --
@when last contains /attempt-2
@call file_saver {"file_path": "sum.txt", "content": "6\n"}
-- any --
Done.
`

// TestPage is a person at the page, in a real browser: testdata/page.mjs.
func TestPage(t *testing.T) { visit(t, "page.mjs", pageScript) }

// TestPlanPage is a person who has a plan made and looks at who does its
// steps, and has something attempted twice: testdata/plan.mjs.
func TestPlanPage(t *testing.T) { visit(t, "plan.mjs", plannedScript) }

const tabsScript = `A task, in two sessions.
-- any --
@when last contains Do
@call bash {"command": "echo done"}
-- any --
All is done.
`

// TestTabsPage is a person with twenty tabs, and with a connection that dies
// without a word: testdata/tabs.mjs.
func TestTabsPage(t *testing.T) { visit(t, "tabs.mjs", tabsScript) }

const limitsScript = `-- reply --
@call file_saver {"file_path": "one.md", "content": "# One\n"}
-- reply --
@call file_saver {"file_path": "two.md", "content": "# Two\n"}
-- reply --
Both are written.
`

// TestLimitsPage is a person whose task reaches its limit: testdata/limits.mjs.
func TestLimitsPage(t *testing.T) { visit(t, "limits.mjs", limitsScript) }

// visit runs a file of testdata in Node, with a server whose model says what
// script says.
func visit(t *testing.T, file, script string) {
	t.Helper()
	dir := write(t, "s", script)
	visitWith(t, file, dir, serve(t, dir, "127.0.0.1:0"))
}

// visitWith runs a file of testdata in Node, with a server that works in dir.
func visitWith(t *testing.T, file, dir string, s *serving) {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join("..", "..", "bin", "playwright"))
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, "node_modules", "playwright-core"))
	}
	node := testbed.Node(t, filepath.Join(modules, "node_modules"))
	chromium, lookErr := exec.LookPath("chromium")
	if err := errors.Join(err, lookErr); err != nil {
		testbed.Lacks(t, fmt.Errorf("make deps installs what this needs: %w", err))
	}
	link, err := os.ReadFile(filepath.Join(dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	addr, err := url.Parse(s.api)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, filepath.Join("testdata", file), string(link[:len(link)-1]))
	if *pictures {
		kept, err := filepath.Abs(filepath.Join("..", "..", "docs", "pictures"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args = append(cmd.Args, kept)
	}
	cmd.Env = append(os.Environ(), "OPENMANUS_MODULES="+modules, "CHROMIUM="+chromium)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch last = lines.Text(); last {
		case "kill":
			s.kill()
		case "start":
			s = serve(t, dir, addr.Host)
		}
		_, _ = io.WriteString(in, "\n") // who has ended needs no answer
	}
	if err := cmd.Wait(); err != nil || last != "ok" {
		t.Errorf("%v, after %q", err, last)
	}
}
