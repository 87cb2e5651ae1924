package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseMCP(t *testing.T) {
	data := `{
  "globalShortcut": "x",
  "mcpServers": {
    "fs": {"command": "npx", "args": ["-y", "server"], "env": {"PORT": 1}, "cwd": "sub"},
    "web": {"type": "streamable-http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
            "disabled": true, "allow": ["a"], "deny": ["b"], "timeout": 1.5, "trust": true},
    "old": {"type": "sse", "url": "http://127.0.0.1:8000/sse"}
  }
}`
	got, warnings, errs := ParseMCP("/d/mcp.json", []byte(data))
	at := func(line int) Source { return Source{From: File, Name: "/d/mcp.json", Line: line} }
	want := []MCPServer{
		{Name: "fs", Source: at(4), Command: "npx", Args: []string{"-y", "server"}, Env: map[string]string{"PORT": "1"}, Dir: filepath.Join("/d", "sub")},
		{Name: "web", Source: at(5), Type: "http", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"},
			Disabled: true, Allow: []string{"a"}, Deny: []string{"b"}, Timeout: 1500 * time.Millisecond, Trust: true},
		{Name: "old", Source: at(7), Type: "sse", URL: "http://127.0.0.1:8000/sse"},
	}
	if !reflect.DeepEqual(got, want) || len(warnings) > 0 || len(errs) > 0 {
		t.Errorf("got %+v\n%v\n%v", got, warnings, errs)
	}
}

// Every mistake is named with its file, line and key.
func TestMistakesInMCP(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{`, `f:1: is no JSON: it ends too early`},
		{"{\n \"mcpServers\": {\n \"a\": {,}}}", `f:3: is no JSON: invalid character`},
		{`[]`, `f:1: found an array, a file of MCP servers is`},
		{`{"mcpServers": []}`, `f:1: mcpServers: found an array, allowed is an object`},
		{`{"servers": {}}`, `f:1: servers: the servers stand below "mcpServers"`},
		{"{\"mcpServers\": {\n\"a\": 1}}", `f:2: mcpServers.a: found a number, allowed is an object`},
		{"{\"mcpServers\": {\"a\": {\n\"command\": 1}}}", `f:2: mcpServers.a.command: found a number, allowed is a string`},
		{"{\"mcpServers\": {\"a\": {\"command\": \"c\",\n\"args\": \"x y\"}}}", `f:2: mcpServers.a.args: found a string, allowed is an array`},
		{`{"mcpServers": {"a": {"command": "c", "args": ["x", 2]}}}`, `f:1: mcpServers.a.args[1]: found a number`},
		{`{"mcpServers": {"a": {"command": "c", "env": {"X": {}}}}}`, `f:1: mcpServers.a.env.X: found an object`},
		{`{"mcpServers": {"a": {}}}`, `f:1: mcpServers.a: needs a "command" or a "url"`},
		{`{"mcpServers": {"a": {"command": "c", "url": "http://x"}}}`, `one of the two`},
		{`{"mcpServers": {"a": {"type": "carrier pigeon", "command": "c"}}}`, `mcpServers.a.type: found "carrier pigeon", allowed: stdio, http, sse`},
		{`{"mcpServers": {"a": {"type": "sse", "command": "c"}}}`, `has no "url"`},
		{`{"mcpServers": {"a": {"url": "file:///etc"}}}`, `mcpServers.a.url: allowed: an address that begins with`},
		{`{"mcpServers": {"a": {"url": "http://me:pw@x"}}}`, `has a user in it`},
		{`{"mcpServers": {"a": {"command": "c", "timeout": -1}}}`, `mcpServers.a.timeout: allowed is a number of seconds`},
		{`{"mcpServers": {"a": {"command": "c", "timeout": 1e999}}}`, `allowed is a number of seconds`},
		{`{"mcpServers": {"a": {"command": "c", "disabled": "no"}}}`, `allowed is true or false`},
		{`{"mcpServers": {"a": {"command": "c"}, "a": {"command": "d"}}}`, `it has "a" twice`},
		{`{"mcpServers": {"": {"command": "c"}}}`, `a server's name has 1 to 100 characters`},
		{`{"mcpServers": {"a\nb": {"command": "c"}}}`, `none of them a control character`},
		{strings.Repeat("[", 100), `nested more than`},
	} {
		_, _, errs := ParseMCP("f", []byte(c.data))
		if !strings.Contains(errs.Error(), c.want) {
			t.Errorf("%s\nsays %q, want %q", c.data, errs.Error(), c.want)
		}
	}
	_, warnings, errs := ParseMCP("f", []byte(`{"mcpServers": {"a": {"comand": "c", "command": "c"}}}`))
	if len(errs) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "f:1: mcpServers.a.comand: is not known here, and has no effect (did you mean command?)") {
		t.Errorf("%v %v", warnings, errs)
	}
}

func TestMCPFiles(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	write := func(path, data string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := func(name string) (string, bool) { return home, name == "XDG_CONFIG_HOME" }
	entry := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, `"`+n+`": {"command": "c", "trust": true}`)
		}
		return `{"mcpServers": {` + strings.Join(list, ",") + `}}`
	}
	named := write(filepath.Join(dir, "named.json"), entry("a"))
	write(filepath.Join(home, "openmanus/mcp.json"), entry("a", "b"))
	write(filepath.Join(dir, "mcp.json"), entry("b", "c"))
	write(filepath.Join(dir, "config/mcp.json"), entry("d"))
	got, warnings, err := MCPServers(named, dir, env)
	if err != nil || len(warnings) != 2 {
		t.Fatal(warnings, err)
	}
	var list []string
	for _, s := range got {
		list = append(list, s.Name+map[bool]string{true: " found"}[s.Found]+map[bool]string{true: " trusted"}[s.Trust])
	}
	if want := "a trusted, b trusted, c found, d found"; strings.Join(list, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(list, ", "), want)
	}
	if _, _, err := MCPServers(filepath.Join(dir, "no.json"), dir, env); err == nil || !strings.Contains(err.Error(), "no.json: does not exist") {
		t.Error(err)
	}
}

func TestExpanded(t *testing.T) {
	env := func(name string) (string, bool) { return "v-" + name, name == "A" || name == "B" }
	s := MCPServer{Name: "s", Command: "${A}", Args: []string{"x${B}y", "${C:-d}", "$A", "${E:-}"}, Env: map[string]string{"K": "${A}"}}
	got, err := s.Expanded(env)
	if err != nil || got.Command != "v-A" || !reflect.DeepEqual(got.Args, []string{"xv-By", "d", "$A", ""}) || got.Env["K"] != "v-A" || s.Args[0] != "x${B}y" {
		t.Errorf("%+v, %v", got, err)
	}
	s.URL = "http://${MISSING}/"
	if _, err := s.Expanded(env); err == nil || !strings.Contains(err.Error(), "mcpServers.s: names environment variables that are not set: MISSING") {
		t.Error(err)
	}
}

func TestEditMCP(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "mcp.json")
	type entry struct {
		Command string `json:"command"`
	}
	if err := AddMCP(path, "z", entry{"c"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("\xef\xbb\xbf"+`{"theme":"dark","mcpServers":{"z":{"command":"c"}},"alpha":[1]}`), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := AddMCP(path, "a", entry{"<d>"}); err != nil {
		t.Fatal(err)
	}
	if err := AddMCP(path, "a", entry{"e"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name twice: %v", err)
	}
	if err := RemoveMCP(path, "z"); err != nil {
		t.Fatal(err)
	}
	if err := RemoveMCP(path, "z"); !errors.Is(err, ErrNoServer) {
		t.Errorf("removed twice: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(data)), "")
	if want := `{"theme":"dark","mcpServers":{"a":{"command":"\u003cd\u003e"}},"alpha":[1]}`; flat != want {
		t.Errorf("%s, want %s", flat, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
}

// Whatever a file holds, it is servers or errors, and each error has a line.
func FuzzParseMCP(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"mcpServers":{"a":{"command":"c","args":["${X:-y}"],"env":{"A":1}}}}`, `{"mcpServers":{"b":{"url":"http://x","type":"sse","timeout":1}}}`, "[[", `{"a":{},"a":1}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, _, errs := ParseMCP("/d/f", data)
		for _, err := range errs {
			var e *Error
			if !errors.As(err, &e) || e.Source.Line < 1 {
				t.Errorf("an error without a line: %v", err)
			}
		}
		for _, s := range servers {
			if s.Name == "" || (s.Command == "") == (s.URL == "") {
				t.Errorf("taken: %+v", s)
			}
			s.Expanded(func(string) (string, bool) { return "v", true }) // an error, or none
		}
	})
}
