package hostexec

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A desk is a person's directories: programs in two directories of PATH, and a home.
type desk struct {
	t   *testing.T
	top string
	env []string
}

func (d *desk) write(text string, path ...string) string {
	d.t.Helper()
	name := program(d.t, append([]string{d.top}, path...)...)
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return name
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("these are the paths of Unix")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, top: top}
	for _, name := range []string{
		"python3", "node", "sh", "env", "timeout", "nice", "npx", "uvx", "pipx", "uv", "ruby", "java", "mytool", "deno", "docker", "cmd",
	} {
		d.write("program "+name, "b", name)
	}
	for _, name := range []string{"a/.keep", "x.py", "x.js", "x.sh", "x", "hook.js", "x.jar", "p/index.js", "p/pyproject.toml", "p/x.py"} {
		d.write("text", name)
	}
	d.write("SQLite", "data.db")
	link(t, filepath.Join(top, "x.py"), filepath.Join(top, "link.py"))
	d.env = []string{"PATH=" + filepath.Join(top, "a") + ":" + filepath.Join(top, "b"), "HOME=" + top}
	return d
}

func (d *desk) runs(words string, more ...string) []Part {
	c := Started{Dir: d.top, Env: append(slices.Clone(d.env), more...)}
	if script, ok := strings.CutPrefix(words, "shell: "); ok {
		c.Shell = strings.ReplaceAll(script, "TOP", d.top)
	} else {
		c.Words = strings.Split(strings.ReplaceAll(words, "TOP", d.top), "|")
	}
	return Finder{Projects: true}.Runs(c)
}

// A change of the program, the script or the package that a command runs is noticed, in
// whatever form the words lead there, and no other change.
func TestRunsIsWhatTheWordsLeadTo(t *testing.T) {
	edit := func(path ...string) func(*desk) { return func(d *desk) { d.write("another text", path...) } }
	moved := func(name string) func(*desk) {
		return func(d *desk) { d.write("program "+name, "a", name) }
	}
	npx := func(packages, version string) func(*desk) {
		return func(d *desk) {
			dir := (&reader{env: map[string]string{"HOME": d.top}}).npxDir(strings.Split(packages, " "), "")
			dir, _ = filepath.Rel(d.top, dir)
			d.write(`{"version":"`+version+`"}`, dir, "node_modules", "@a/b", "package.json")
			d.write("lock "+version, dir, "node_modules", ".package-lock.json")
		}
	}
	for _, c := range []struct {
		name, words string
		before      func(*desk)
		change      func(*desk)
		says        string // "": it is the same
	}{
		{"another PATH", "python3|x.py", nil, moved("python3"), "it runs the program TOP/a/python3, and not TOP/b/python3"},
		{"the program itself", "mytool|x", nil, edit("b", "mytool"), "the content of the program TOP/b/mytool is another"},
		{"a relative program", "./x|y", nil, edit("x"), "the content of the program TOP/x is another"},
		{"a whole path", "TOP/x|y", nil, edit("x"), "the content of the program TOP/x"},
		{"a program that is gone", "mytool", nil, func(d *desk) { os.Remove(filepath.Join(d.top, "b", "mytool")) }, "it runs the program mytool, and not TOP/b/mytool"},
		{"a program that comes to be", "nothere", nil, moved("nothere"), "it runs the program TOP/a/nothere, and not nothere"},
		{"a link to a program", "TOP/tool", func(d *desk) { link(d.t, filepath.Join(d.top, "x"), filepath.Join(d.top, "tool")) },
			func(d *desk) {
				os.Remove(filepath.Join(d.top, "tool"))
				link(d.t, filepath.Join(d.top, "x.sh"), filepath.Join(d.top, "tool"))
			}, "leads to TOP/x.sh, and not to TOP/x"},
		{"the first line of a program", "TOP/x", func(d *desk) { d.write("#!/usr/bin/env -S mytool -x\n", "x") }, edit("b", "mytool"), "TOP/b/mytool is another"},
		{"a script", "python3|x.py", nil, edit("x.py"), "the content of the script TOP/x.py is another"},
		{"a script after options", "python3|-W|ignore|-u|x", nil, edit("x"), "the script TOP/x is another"},
		{"a script with a version of its interpreter", "TOP/b/python3.11|x", func(d *desk) { d.write("p", "b", "python3.11") }, edit("x"), "the script TOP/x is another"},
		{"a script behind a link", "python3|link.py", nil, edit("x.py"), "the script TOP/link.py is another"},
		{"a script that comes to be", "node|new.js", nil, edit("new.js"), "the script TOP/new.js was not there before"},
		{"a script that is gone", "node|x.js", nil, func(d *desk) { os.Remove(filepath.Join(d.top, "x.js")) }, "the script TOP/x.js is not there"},
		{"node", "node|--max-old-space-size=99|x.js", nil, edit("x.js"), "TOP/x.js is another"},
		{"a directory for node", "node|p", nil, edit("p", "index.js"), "TOP/p/index.js is another"},
		{"what node loads before", "node|--require|./hook.js|x.js", nil, edit("hook.js"), "TOP/hook.js is another"},
		{"what node loads before, in one word", "node|--import=./hook.js|x.js", nil, edit("hook.js"), "TOP/hook.js is another"},
		{"java", "java|-jar|x.jar", nil, edit("x.jar"), "TOP/x.jar is another"},
		{"deno", "deno|run|--allow-net|x.js", nil, edit("x.js"), "TOP/x.js is another"},
		{"a script for an unknown program", "mytool|--script=x.rb", func(d *desk) { d.write("1", "x.rb") }, edit("x.rb"), "TOP/x.rb is another"},
		{"a program for an unknown program", "mytool|x", func(d *desk) { d.write("#!/bin/cat", "x") }, func(d *desk) { d.write("#!/bin/cat 2", "x") }, "TOP/x is another"},
		{"an argument after --", "npx|--|@a/b", npx("@a/b", "1.0.0"), npx("@a/b", "1.0.1"), "the package @a/b has the version 1.0.1, and not 1.0.0"},
		{"env", "env|A=b|-u|C|python3|x.py", nil, edit("x.py"), "TOP/x.py is another"},
		{"env: its program", "env|A=b|python3|x.py", nil, moved("python3"), "TOP/a/python3"},
		{"env: another PATH", "env|PATH=TOP/a:TOP/b|mytool", nil, moved("mytool"), "TOP/a/mytool"},
		{"env in one word", "env|-S|python3 x.py", nil, edit("x.py"), "TOP/x.py is another"},
		{"wrappers", "timeout|-k|5|10|nice|-n|5|node|x.js", nil, edit("x.js"), "TOP/x.js is another"},
		{"sh -c", "sh|-c|cd p && exec python3 x.py 2>&1", nil, edit("p", "x.py"), "TOP/p/x.py is another"},
		{"sh -c: its program", "sh|-c|A=1 mytool; echo done", nil, edit("b", "mytool"), "TOP/b/mytool is another"},
		{"sh -c: quotes and a variable", `sh|-c|node "$HOME"/'x.js'`, nil, edit("x.js"), "TOP/x.js is another"},
		{"sh -c: what is substituted", "sh|-c|echo $(mytool `node x.js`)", nil, edit("x.js"), "TOP/x.js is another"},
		{"sh -c: what is read", "sh|-c|. ./x.sh", nil, edit("x.sh"), "TOP/x.sh is another"},
		{"sh with a file", "sh|-e|x", nil, edit("x"), "TOP/x is another"},
		{"a shell's script", "shell: if true; then ./x; fi # y", nil, edit("x"), "TOP/x is another"},
		{"a shell's script: a program", "shell: cat | mytool >x.py", nil, moved("mytool"), "TOP/a/mytool"},
		{"npx", "npx|-y|@a/b|arg", npx("@a/b", "1.0.0"), npx("@a/b", "1.0.1"), "the package @a/b has the version 1.0.1, and not 1.0.0"},
		{"npx: what the package needs", "npx|-y|@a/b", npx("@a/b", "1.0.0"), func(d *desk) {
			npx("@a/b", "1.0.0")(d)
			dir, _ := filepath.Rel(d.top, (&reader{env: map[string]string{"HOME": d.top}}).npxDir([]string{"@a/b"}, ""))
			d.write("another", dir, "node_modules", ".package-lock.json")
		}, "was installed anew"},
		{"npx -p", "npx|-p|@a/b|-p|c|run", npx("@a/b c", "1.0.0"), npx("@a/b c", "2.0.0"), "the package @a/b has the version 2.0.0, and not 1.0.0"},
		{"npx itself", "npx|-y|@a/b", nil, edit("b", "npx"), "TOP/b/npx is another"},
		{"npx with a directory", "npx|./p", func(d *desk) { d.write("1", "p", "package.json") }, edit("p", "package.json"), "TOP/p/package.json is another"},
		{"uv run", "uv|run|--directory|p|x.py", nil, edit("p", "x.py"), "TOP/p/x.py is another"},
		{"uv run: the project", "uv|--directory|p|run|server", nil, edit("p", "pyproject.toml"), "TOP/p/pyproject.toml is another"},
		{"a program of npm", "TOP/t", func(d *desk) {
			link(d.t, d.write("#!/usr/bin/env node", "lib/node_modules/@a/b/cli.js"), filepath.Join(d.top, "t"))
			d.write(`{"version":"1.0.0"}`, "lib/node_modules/@a/b/package.json")
		}, func(d *desk) { d.write(`{"version":"1.1.0"}`, "lib/node_modules/@a/b/package.json") }, "the package @a/b has the version 1.1.0, and not 1.0.0"},
		{"a program of pipx", "TOP/v/bin/mcp-server-x", func(d *desk) {
			d.write("x", "v/bin/mcp-server-x")
			d.write("x", "v/pyvenv.cfg")
			d.write("x", "v/lib/python3.11/site-packages/mcp_server_x-1.0.dist-info/METADATA")
		}, func(d *desk) {
			dir := filepath.Join(d.top, "v/lib/python3.11/site-packages")
			os.Rename(filepath.Join(dir, "mcp_server_x-1.0.dist-info"), filepath.Join(dir, "mcp_server_x-1.1.dist-info"))
		}, "the package mcp-server-x has the version 1.1, and not 1.0"},

		{"data", "mytool|--db|data.db|data.db", nil, edit("data.db"), ""},
		{"data for an interpreter", "python3|x.py|data.db", nil, edit("data.db"), ""},
		{"what a script writes", "sh|-c|mytool >data.db <x", nil, edit("x"), ""},
		{"the same text once more", "python3|x.py", nil, func(d *desk) { d.write("text", "x.py") }, ""},
		{"a module", "python3|-m|x", nil, edit("x"), ""},
		{"a later directory of PATH", "mytool", nil, func(d *desk) { d.write("x", "c", "mytool") }, ""},
		{"a package that is installed only then", "npx|-y|@a/b", nil, npx("@a/b", "1.0.0"), ""},
		{"another package of npx", "npx|-y|@a/b", npx("@a/b", "1.0.0"), npx("c", "1.0.0"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			if c.before != nil {
				c.before(d)
			}
			was := d.runs(c.words)
			if again := Changed(was, d.runs(c.words)); again != "" {
				t.Errorf("nothing changed: %s", again)
			}
			c.change(d)
			got := strings.ReplaceAll(Changed(was, d.runs(c.words)), d.top, "TOP")
			if c.says == "" && got != "" || !strings.Contains(got, c.says) {
				t.Errorf("it says %q, and not %q; it ran %v", got, c.says, was)
			}
		})
	}
}

// A package is known by the version that the words name, and by none where they name a range.
func TestPackagesAndVersions(t *testing.T) {
	d := newDesk(t)
	for words, want := range map[string]string{
		"npx|-y|@a/b@1.2.3":           "package @a/b@1.2.3 (version 1.2.3)",
		"npx|-y|@a/b":                 "package @a/b (in whichever version there is, since it names none)",
		"npx|-y|@a/b@latest":          "package @a/b@latest (in whichever version there is, since it names none)",
		"uvx|b==1.2":                  "package b==1.2 (version 1.2)",
		"uvx|b@1.2":                   "package b@1.2 (version 1.2)",
		"uvx|--from|b==1|tool":        "package b==1 (version 1), package tool (in whichever version there is, since it names none)",
		"uvx|--python|3.12|b>=1":      "package b>=1 (in whichever version there is, since it names none)",
		"uv|tool|run|b==1":            "package b==1 (version 1)",
		"pipx|run|b==1":               "package b==1 (version 1)",
		"pipx|run|--spec|b==1|tool":   "package b==1 (version 1)",
		"deno|run|-A|npm:@a/b@1.0.0":  "package @a/b@1.0.0 (version 1.0.0)",
		"env|A=b|npx|--yes|c@1":       "package c@1 (version 1)",
		"sh|-c|exec npx -y c@1 --arg": "package c@1 (version 1)",
		"cmd|/c|npx|-y|c@1":           "package c@1 (version 1)",
	} {
		var got []string
		for _, p := range d.runs(words) {
			if p.Kind == Package {
				got = append(got, p.String())
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", words, s, want)
		}
	}
}

// A variable by which an interpreter loads a file names a part, too.
func TestRunsHasWhatVariablesLoad(t *testing.T) {
	d := newDesk(t)
	was := d.runs("node|x.js", "NODE_OPTIONS=--require "+d.top+"/hook.js")
	d.write("another", "hook.js")
	if got := Changed(was, d.runs("node|x.js", "NODE_OPTIONS=--require "+d.top+"/hook.js")); !strings.Contains(got, "hook.js is another") {
		t.Errorf("%q, of %v", got, was)
	}
}

// The book has what ran at the first start, knows when that has changed, and whether the
// person saw it.
func TestBook(t *testing.T) {
	d := newDesk(t)
	b := NewBook(filepath.Join(d.top, "data", "programs.json"))
	runs := func(known []Part) []Part {
		return Finder{}.Runs(Started{Words: []string{"python3", "x.py"}, Dir: d.top, Env: d.env, Known: known})
	}
	holds := func(says string, asked bool) {
		t.Helper()
		changed, err := b.Holds("k", "k", runs)
		if err != nil || says == "" && changed != "" || !strings.Contains(changed, says) {
			t.Errorf("%q, %v", changed, err)
		}
		if now, err := b.Compare("k", runs); err != nil || now.Changed != changed || now.Asked != asked {
			t.Errorf("%+v, %v", now, err)
		}
	}
	holds("", false)
	holds("", false)
	d.write("evil", "x.py")
	holds("x.py is another", false)
	holds("x.py is another", false)
	if err := b.Bind("k", "k", runs); err != nil {
		t.Fatal(err)
	}
	holds("", true)
	d.write("text", "x.py")
	holds("x.py is another", true)
	if err := b.Forget("k"); err != nil {
		t.Fatal(err)
	}
	holds("", false)
	if err := os.WriteFile(b.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Holds("k", "k", runs); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
}

// A file that keeps its stamp is not read again; one that changes gets another.
func TestStamps(t *testing.T) {
	d := newDesk(t)
	name := d.write("text", "x.py")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	stamp, _ := stampOf(info)
	if stamp == "" {
		t.Skip("this system has none")
	}
	known := []Part{{Real: name, Sum: "known", Stamp: stamp}}
	if sum, again := (&reader{known: known}).sum(name); sum != "known" || again != stamp {
		t.Error(sum, again)
	}
	d.write("evil", "x.py")
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if sum, again := (&reader{known: known}).sum(name); sum == "known" || again != "" {
		t.Errorf("%s, and the stamp %q of a file that has just changed", sum, again)
	}
}

// A file that only root can change is known by its place. For root, none is.
func TestOnlyRoot(t *testing.T) {
	d := newDesk(t)
	if onlyRoot(d.write("x", "x")) {
		t.Error("a file of the person's")
	}
	if sh := RealPath("/bin/sh"); os.Geteuid() == 0 && onlyRoot(sh) {
		t.Errorf("%s, which root is asked about", sh)
	}
}
