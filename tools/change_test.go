package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Git reads the names of a diff, whatever they are.
func TestNamesInDiffs(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt":       "+++ b/a.txt\n",
		"a b.txt":     "+++ b/a b.txt\t\n",
		"d e/f.txt":   "+++ b/d e/f.txt\t\n",
		"été.txt":     "+++ b/été.txt\n",
		"tab\there":   "+++ \"b/tab\\there\"\n",
		"line\nend":   "+++ \"b/line\\nend\"\n",
		`quote"s \ x`: `+++ "b/quote\"s \\ x"` + "\n",
	} {
		d := Diff(name, nil, []byte("new\n"))
		if !strings.Contains(d, want) {
			t.Errorf("%q: %q, want %q", name, d, want)
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "-")
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(d)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s\n%s", name, err, out, d)
		}
		if data, err := os.ReadFile(filepath.Join(cmd.Dir, name)); err != nil || string(data) != "new\n" {
			t.Errorf("%q: %q, %v", name, data, err)
		}
	}
}
