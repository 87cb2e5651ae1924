//go:build unix

package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/cli"
)

// Each flag is given a value that is not the default, to see that it counts. A flag of a command that does tasks
// which is not here fails the test: say with which value its command does something else than without it.
var flagValues = map[string]string{
	"agent": "swe", "model": "scripted:DIR/other", "base-url": "http://127.0.0.1:9/v1", "workspace": "DIR/elsewhere", "mcp-config": "DIR/none.json",
	"attach": "DIR/table.csv", "max-steps": "7", "budget-tokens": "7000000", "max-cost": "7", "timeout": "7m", "depth": "4", "fan-out": "7", "stuck": "7", "retries": "7",
	"sandbox": "auto", "delegate": "swe", "copies": "", "approve": "edits", "any-workspace": "", "worktree": "", "file": "DIR/table.csv",
	"session": "ID", "plan": "", "schema": "DIR/form.json", "output": "json", "quiet": "", "plain": "",
	"agents": "swe", "max-parallel": "7", "replans": "7", "plan-only": "", "attempts": "1", "models": "scripted:DIR/other", "hint": "Be brief.", "max-copy": "7", "time": "7m",
	"accept": "", "edit": "", "from": "DIR/table.csv", "store": "sqlite:kept", "blobs": "s3://bucket",
}

// TestEachFlagCounts gives each flag of the commands that do tasks, in a new session and in one that is there. With
// the flag the command must do something else than without it, or refuse it: no flag is taken and ignored.
func TestEachFlagCounts(t *testing.T) {
	const script = "-- any --\n@when system contains planning assistant\n@call planning {\"command\": \"create\", \"plan_id\": \"p\", \"title\": \"It\", \"steps\": [\"Look\"]}\n" +
		"-- any --\n@when system contains You compare attempts\n@call create_chat_completion {\"attempts\": [{\"attempt\": 1, \"done\": true, \"score\": 90, \"reason\": \"it is\"}], \"reason\": \"It is the only one.\"}\n" +
		"-- any --\n@when last contains in two steps\n@call glob {\"pattern\": \"*.csv\"}\n-- any --\nDone.\n"
	for _, c := range []struct {
		name string
		args []string // the command, and what is always given; FINISHED and HALTED are sessions
		not  map[string]string
	}{
		{"run", []string{"run", "do it"}, nil},
		{"run, of a session", []string{"run", "--session", "FINISHED", "go on"}, nil},
		{"chat", []string{"chat", "do it"}, map[string]string{"plain": "there is no terminal"}},
		{"chat, of a session", []string{"chat", "--session", "FINISHED", "go on"}, map[string]string{"plain": "there is no terminal"}},
		{"a session with a request", []string{"sessions", "resume", "FINISHED", "go on"}, nil},
		{"a session that stopped", []string{"sessions", "resume", "HALTED"}, nil},
		{"again", []string{"sessions", "retry", "HALTED"}, nil},
		{"a plan", []string{"sessions", "plan", "PLANNED"}, map[string]string{"any-workspace": "so is --workspace"}},
		{"a plan that is approved", []string{"sessions", "plan", "--accept", "PLANNED"}, nil},
		{"flow", []string{"flow", "do it"}, nil},
		{"evaluate", []string{"evaluate", "--attempts", "1", "do it"}, map[string]string{"attempts": "it is given already", "max-parallel": "there is one attempt"}},
		{"research", []string{"research", "what is it?"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := write(t, "s", script, "other", script, "table.csv", "a,b\n1,2\n", "form.json", `{"type":"object","properties":{"a":{"type":"string"}}}`, "elsewhere/.keep", "", "work/.keep", "")
			first := &desk{t, filepath.Join(base, "work"), flagEnv(base)}
			sessions := map[string]string{}
			for name, args := range map[string][]string{"FINISHED": {"run", "do it"}, "HALTED": {"run", "--max-steps", "1", "in two steps"}, "PLANNED": {"run", "--plan", "do it"}} {
				out, problem, code := first.run(append(args, "--output", "json")...)
				var said struct{ Session string }
				if err := json.Unmarshal([]byte(out), &said); err != nil || said.Session == "" {
					t.Fatalf("%s: %d %s%s", name, code, out, problem)
				}
				sessions[name] = said.Session
			}
			outcome := func(args []string, flag ...string) string {
				dir := filepath.Join(t.TempDir(), "d")
				if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
					t.Fatal(err)
				}
				// sessions know where their files are, so each try finds them there
				d := &desk{t, filepath.Join(dir, "work"), flagEnv(dir)}
				var all []string
				for _, a := range slices.Concat(args, flag) {
					a = strings.NewReplacer("DIR", dir, "HOME", filepath.Join(dir, "home"), "=ID", "="+sessions["FINISHED"]).Replace(a)
					if id := sessions[a]; id != "" {
						a = id
					}
					all = append(all, a)
				}
				out, problem, code := d.run(all...)
				log, _, _ := d.run("sessions", "log", "last", "--json")
				return sameAgain(dir, base, code, out, problem, log)
			}
			plain := outcome(c.args)
			if again := outcome(c.args); again != plain {
				t.Fatalf("two outcomes of the same command:\n%s\n%s", plain, again)
			}
			root := cli.New("openmanus", about, new(commands))
			command := root.Command(c.args[0])
			if c.args[0] == "sessions" {
				command = command.Command(c.args[1])
			}
			for _, f := range command.Flags {
				value, ok := flagValues[f.Name]
				switch {
				case !ok:
					t.Errorf("--%s has no value in this test", f.Name)
				case c.not[f.Name] != "" || slices.Contains(c.args, "--"+f.Name):
				default:
					typed := "--" + f.Name
					if value != "" {
						typed += "=" + value
					}
					args, without := c.args, plain
					if f.Name == "any-workspace" { // which is of use where the workspace is no place to work in
						args = append(slices.Clone(args), "--workspace", "HOME")
						without = outcome(args)
					}
					if got := outcome(args, typed); got == without {
						t.Errorf("openmanus %s %s: the flag is taken, and ignored:\n%s", strings.Join(c.args, " "), typed, got[:min(len(got), 400)])
					}
				}
			}
		})
	}
}

func flagEnv(dir string) map[string]string {
	return map[string]string{"HOME": filepath.Join(dir, "home"), "OPENMANUS_SANDBOX_KIND": "none", "OPENMANUS_MODEL": "scripted:" + filepath.Join(dir, "s"), "OPENMANUS_DATA_DIR": filepath.Join(dir, "data")}
}

var (
	someTime    = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[\d.]+)?Z?|\d+(\.\d+)? ?(ms|s)\b`)
	sessionName = regexp.MustCompile(`\d{8}-\d{4}-[0-9a-z]{8}`)
	anyID       = regexp.MustCompile(`"id":"[0-9a-z]{16}"|(user|resume)/[0-9a-z]{16}|"(hash|tree|before|sent|packs)":("[^"]*"|\[[^\]]*\]|\{[^}]*\})`)
)

// sameAgain returns what a command did without what differs between two runs of it: times, names of sessions, directories.
// It has of the journal what a person said and how the session is configured.
func sameAgain(dir, base string, code int, out, problem, log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		var e struct{ Type string }
		if json.Unmarshal([]byte(line), &e) == nil && slices.Contains([]string{"configured", "user_said", "resumed", "mode_set"}, e.Type) {
			_, line, _ = strings.Cut(line, `"type"`)
			kept = append(kept, line)
		}
	}
	text := strings.Join([]string{string(rune('0' + code%10)), out, problem, strings.Join(kept, "")}, "\n")
	text = strings.NewReplacer(dir, "DIR", base, "DIR").Replace(text)
	return someTime.ReplaceAllString(anyID.ReplaceAllString(sessionName.ReplaceAllString(text, "SESSION"), "id"), "TIME")
}

// TestEachFieldIsRead checks that for each flag and argument of each command the program reads the field that holds it:
// in a method of the command, or of the struct with the flag.
func TestEachFieldIsRead(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile(filepath.Join("..", "..", "config", "keys.txt"))
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]bool) // the flags that set a key of the configuration
	for _, m := range regexp.MustCompile(`\bflag=([a-z-]+)`).FindAllStringSubmatch(string(keys), -1) {
		settings[m[1]] = true
	}
	whole := make(map[string]bool)           // the structs whose flags become settings, all of them
	read := make(map[string]map[string]bool) // the fields that a selector names, by the file's types
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			owner := "" // a function that takes the struct
			if fn.Recv != nil {
				owner = nameOfType(fn.Recv.List[0].Type)
			}
			owners := []string{owner}
			for _, p := range fn.Type.Params.List {
				owners = append(owners, nameOfType(p.Type))
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && nameOfType(call.Fun) == "flagsOf" {
					if part, ok := call.Args[0].(*ast.SelectorExpr); ok {
						whole[part.Sel.Name] = true
					} else {
						for _, owner := range owners {
							whole[owner] = true
						}
					}
				}
				if s, ok := n.(*ast.SelectorExpr); ok {
					for _, owner := range owners {
						if read[owner] == nil {
							read[owner] = make(map[string]bool)
						}
						read[owner][s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	fields := 0
	var walk func(s reflect.Type, above ...string)
	walk = func(s reflect.Type, above ...string) {
		owners := append(slices.Clone(above), s.Name())
		for i := range s.NumField() {
			f := s.Field(i)
			switch {
			case f.Anonymous:
				walk(f.Type, owners...)
			case strings.Contains(string(f.Tag), `cmd:""`):
				walk(f.Type)
			case f.Tag.Get("help") != "":
				fields++
				sets := settings[cli.NameOf(f)]
				if !slices.ContainsFunc(owners, func(o string) bool { return read[o][f.Name] || sets && whole[o] }) {
					t.Errorf("%s: nothing reads the flag %s", strings.Join(owners, ", "), f.Name)
				}
			}
		}
	}
	walk(reflect.TypeFor[commands]())
	if fields < 150 {
		t.Errorf("%d flags and arguments are too few to say anything", fields)
	}
}

func nameOfType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOfType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
