package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPathsOfIndex reads indexes that git wrote, of each version and kind of hash,
// and finds a path in a git directory wherever it stands.
func TestPathsOfIndex(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", `git init -q --object-format=`+format+` .
				mkdir -p a/b xgit/hooks; echo x > a/b/c; echo x > a/bb; echo x > xgit/hooks/y; echo x > z
				git update-index --index-version `+version+`; git add .; git add -N . ; : > intent; git add -N intent`)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			hash := map[string]int{"sha1": 20, "sha256": 32}[format]
			if bad, whole := pathsOfIndex(data, hash); bad != "" || !whole {
				t.Errorf("%s, version %s: %q, %v", format, version, bad, whole)
			}
			evil := []byte(strings.Replace(string(data), "xgit/hooks", ".git/hooks", 1))
			if bad, _ := pathsOfIndex(evil, hash); bad != ".git/hooks/y" {
				t.Errorf("%s, version %s: %q", format, version, bad)
			}
			for n := range len(evil) { // no part of it makes it panic
				pathsOfIndex(evil[:n], hash)
			}
		}
	}
}

// TestHarmlessLines holds which settings of a new repository a command may make.
func TestHarmlessLines(t *testing.T) {
	for line, want := range map[string]bool{
		"[core]\nbare = true": true, "[remote \"o\"]\nurl = /a/b": true, "[branch \"m\"]\nremote = o": true, "[core]\n# x\n\n;y": true,
		"[remote \"o\"]\nurl = ext::sh": false, "[remote \"o\"]\nurl = \"ext:\"\":sh\"": false, "[remote \"o\"]\nurl = -x": false,
		"[branch \"m\"]\nremote = ext::sh": false, "[core]\nfsmonitor = x": false, "[core] fsmonitor = x": false, "[include]\npath = x": false,
		"[core]\nbare = true \\\n": false, "\ufeff[core]\nfsmonitor=x": false, "[CORE]\nFSMonitor": false, "[alias]\nx = !y": false, "bare = true": false,
	} {
		if got := len(orders(line)) == 0; got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
