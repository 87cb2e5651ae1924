package gate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFacts checks what the gate learns of a call from what its tool declares,
// and what it guesses where a tool declares nothing.
func TestFacts(t *testing.T) {
	type args = map[string]any
	for _, c := range []struct {
		tool string
		args args
		want string // what is not empty of: commands, runs, touched, changed, hosts
	}{
		{"zsh", args{"line": "rm -rf build"}, "commands rm -rf build; runs; touched build; changed build"},
		{"zsh", args{"line": []any{"rm", "my file"}}, "commands rm my file; runs; touched my file; changed my file"},
		{"zsh", args{"line": "a | b > c"}, "commands a, b; runs; touched c; changed c"},
		{"zsh", args{"line": 7}, ""},
		{"zsh", args{"command": "rm x", "path": "y", "url": "https://a.example"}, ""}, // content
		{"python_execute", args{"code": "open('x')"}, "runs"},
		{"report", args{"from": "a.md", "to": "out/b"}, "touched a.md, out/b, log/report; changed out/b, log/report"},
		{"report", args{"from": []any{"a.md", "b.md"}}, "touched a.md, b.md, report, log/report; changed report, log/report"},
		{"view", args{"path": "a"}, "touched a"},
		{"upload", args{"what": "../key", "where": "EVIL.example:443"}, "touched /w/key; hosts evil.example"},
		{"fetch", args{"url": " HTTPS://A.example:8443/x?y=/etc/passwd "}, "hosts a.example"},
		{"fetch", args{"url": "a.example/x"}, "hosts a.example"},
		{"fetch", args{"url": "127.0.0.1:80"}, "hosts 127.0.0.1"},
		{"fetch", args{"url": "[::1]:80/x"}, "hosts ::1"},
		{"fetch", args{"url": ""}, ""},
		{"browser", args{"urls": []any{"https://a.example", "b.example"}}, "hosts a.example, b.example"},
		{"ask_human", args{"inquire": "https://a.example"}, ""},

		{"unknown", args{"command": "rm x"}, "commands rm x; touched x; changed x"},
		{"unknown", args{"Script": "rm x"}, "commands rm x; touched x; changed x"},
		{"unknown", args{"cmd": []any{"rm", "x"}}, "commands rm x; touched x; changed x"},
		{"unknown", args{"file": "a", "Path": "b"}, "touched b, a; changed b, a"},
		{"unknown", args{"paths": []any{"a", "b"}}, "touched a, b; changed a, b"},
		{"unknown", args{"options": args{"file_path": "a", "hosts": []any{"H"}}}, "touched a; changed a; hosts h"},
		{"unknown", args{"to": "see https://a.example"}, ""},
		{"unknown", args{"to": "https://a.example/x", "source": "https://b.example"}, "hosts b.example, a.example"},
		{"unknown", args{"content": "rm x", "n": 3, "ok": true, "none": nil}, ""},
	} {
		call, s := call(c.tool, c.args)
		f := look("/w/ws", call, s)
		var commands, parts []string
		for _, c := range f.commands {
			commands = append(commands, strings.Join(c.words, " "))
		}
		say := func(what string, list []string) {
			if len(list) > 0 {
				parts = append(parts, what+" "+strings.Join(list, ", "))
			}
		}
		say("commands", commands)
		if f.runs {
			parts = append(parts, "runs")
		}
		say("touched", f.touched())
		say("changed", f.changed())
		say("hosts", f.hosts)
		if got := strings.Join(parts, "; "); got != c.want {
			t.Errorf("%s %v:\ngot  %s\nwant %s", c.tool, c.args, got, c.want)
		}
	}
}

// TestRulesHoldForEveryTool holds rules against tools that the gate has never
// heard of: what they declare is enough.
func TestRulesHoldForEveryTool(t *testing.T) {
	o := Options{Workspace: "/w", Rules: Rules{
		Deny:  []string{"command:rm *", "path:secret.csv", "edit:a.md", "host:evil.example"},
		Allow: []string{"command:ls *", "edit:report", "edit:log/*", "edit:docs/*", "host:good.example"},
	}}
	type args = map[string]any
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"zsh", args{"line": "rm x"}, "deny"},
		{"zsh", args{"line": []any{"sudo", "rm", "x"}}, "deny"},
		{"zsh", args{"line": "ls -l"}, "allow"},
		{"zsh", args{"line": []any{"ls", 7}}, "ask"},
		{"report", args{"from": "secret.csv"}, "deny"},
		{"report", args{"from": "docs/a.csv"}, "allow"},
		{"report", args{"from": "docs/a.csv", "to": "elsewhere"}, "ask"}, // the default is what "edit:report" allows
		{"report", args{"from": "docs/a.md"}, "allow"},                   // it is read: "edit:a.md" is about changes
		{"report", args{"to": "docs/a.md"}, "deny"},
		{"report", args{"from": ".git/config"}, "ask"},
		{"upload", args{"what": "secret.csv", "where": "good.example"}, "deny"},
		{"upload", args{"what": "a", "where": "EVIL.example"}, "deny"},
		{"upload", args{"where": "good.example"}, "allow"},
		{"fetch", args{"url": " evil.example/?q"}, "deny"},

		// For a tool that declares nothing, a guess can forbid and not allow.
		{"unknown", args{"cmd": "rm x"}, "deny"},
		{"unknown", args{"cmd": "ls -l"}, "ask"},
		{"unknown", args{"cmd": "$X"}, "ask"},
		{"unknown", args{"in": args{"file": "secret.csv"}}, "deny"},
		{"unknown", args{"link": "https://evil.example/"}, "deny"},
	} {
		if got, v := verdict(t, o, c.tool, c.args); got != c.want {
			t.Errorf("%s %v: %s by %q, want %s", c.tool, c.args, got, v.Rule, c.want)
		}
	}
}

// TestNoToolIsKnownByName looks for the names of tools in this package's code.
// A rule that holds for a tool of one name does not hold for the next one.
func TestNoToolIsKnownByName(t *testing.T) {
	tools := regexp.MustCompile(`"(bash|python_execute|file_saver|str_replace_editor|grep|glob|read_output|read_document|planning|` +
		`ask_human|terminate|create_chat_completion|delegate|web_fetch|web_search|crawl|research|browser_use|use_tool|` +
		`data_visualization|visualization_preparation|data_report|mcp_[a-z]*)"`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range slices.DeleteFunc(files, func(n string) bool { return strings.HasSuffix(n, "_test.go") }) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := tools.FindAllString(string(text), -1); found != nil {
			t.Errorf("%s knows %s by name: let the tool declare what it does", name, strings.Join(found, ", "))
		}
	}
}
