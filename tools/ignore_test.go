package tools

import (
	"bytes"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestIgnore walks the trees in testdata/ignore. A file is a txtar archive:
// the files of a tree, most of them empty, and at last "walk", which lists
// those that a walk yields. Git is asked too, save about .ignore files, which
// it does not know: what is right is what git does.
func TestIgnore(t *testing.T) {
	trees, err := filepath.Glob("testdata/ignore/*.txtar")
	if err != nil || len(trees) == 0 {
		t.Fatalf("no trees: %v", err)
	}
	for _, file := range trees {
		t.Run(strings.TrimSuffix(path.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree := fstest.MapFS{}
			var want []string
			for _, f := range a.Files {
				if f.Name == "walk" {
					want = strings.Fields(string(f.Data))
					continue
				}
				tree[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			if got := walked(t, tree); !slices.Equal(got, want) {
				t.Errorf("the walk yields\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if strings.HasPrefix(path.Base(file), "git_") {
				if got := byGit(t, tree); !slices.Equal(got, want) {
					t.Errorf("git lists\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

func walked(t *testing.T, tree fstest.MapFS) []string {
	t.Helper()
	var names []string
	w := walk{fsys: tree, hidden: true}
	for name := range w.files(t.Context(), ".") {
		names = append(names, name)
	}
	if w.problems > 0 {
		t.Fatal(w.problem)
	}
	slices.Sort(names)
	return names
}

// byGit returns the files that git would add.
func byGit(t *testing.T, tree fstest.MapFS) []string {
	t.Helper()
	s := newSession(t)
	for name, f := range tree {
		write(t, s, name, string(f.Data))
	}
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.ws.Dir()
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
		}
		return string(out)
	}
	git("init", "-q")
	names := strings.FieldsFunc(git("ls-files", "-z", "--others", "--exclude-standard"), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return names
}

// FuzzIgnore: no pattern, however odd, makes a walk fail or go on for long,
// and every file of which no rule speaks is kept.
func FuzzIgnore(f *testing.F) {
	for _, rule := range []string{
		"*.log", "!a", "/a", "a/", "a/**", "**/a", "a/**/b", "**", "*", "[a-c]", "[!a]", "[]a]", "[[:alpha:]]", "\\!a", "a\\ ", "a ",
		"{a,b}", "#a", "\\#a", "a\\", "[a", "[a-", "/", "//", "!", "a**b", "***", "[\\]]", "[^a]x", "?", "a/*/b", "/**/", "**/", "\xff", "é?",
	} {
		f.Add(rule, "b/a.log")
		f.Add(rule+"\n!b\r\n", "a/b")
	}
	f.Fuzz(func(t *testing.T, rules, name string) {
		if !fs.ValidPath(name) || name == "." || len(rules) > 300 || len(name) > 100 {
			return
		}
		tree := fstest.MapFS{".gitignore": {Data: []byte(rules)}, name: {}}
		if slices.Contains(strings.Split(name, "/"), ".git") || strings.HasPrefix(name, ".gitignore") {
			return
		}
		walked(t, tree)
		bare := strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return -1
			}
			return r
		}, name)
		if r, ok := parseRule("/" + escaped(bare)); bare == name && (!ok || !r.match(name, path.Base(name), false)) {
			t.Errorf("the rule of the file's own name, /%s, does not match %q", escaped(bare), name)
		}
	})
}

// escaped writes a name as a pattern that means it.
func escaped(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`\*?[ !#{},]`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}
