//go:build unix

package snapshot

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Looking at the status changes an index, and not what it says of files.
func TestPlainIndex(t *testing.T) {
	const setup = `git init -q --object-format=$1 . && git config user.name p && git config user.email p@example.org &&
		mkdir d && echo a > a && echo b > d/a-long-name-of-a-file && echo c > c && git add . && git commit -qm first; `
	for name, c := range map[string]struct {
		script, format string
		change         string
		known, same    bool
	}{
		"a status":             {change: "git update-index -q --really-refresh", known: true, same: true},
		"in format 4":          {script: "git update-index --index-version 4", change: "git update-index --really-refresh", known: true, same: true},
		"with SHA-256":         {format: "sha256", change: "git update-index --really-refresh", known: true, same: true},
		"another format":       {change: "git update-index --index-version 4 --force-write-index", known: true, same: true},
		"a file that is added": {change: "echo n > n; git add n", known: true},
		"another content":      {change: "echo n > a; git add a", known: true},
		"another mode":         {change: "git update-index --chmod=+x a", known: true},
		"an intention":         {change: "echo n > n; git add -N n", known: true},
		"a flag":               {change: "git update-index --assume-unchanged a", known: true},
		"in parts":             {change: "git update-index --split-index"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, format := t.TempDir(), c.format
			if format == "" {
				format = "sha1"
			}
			run := func(script string) []byte {
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", script, "sh", format)
				cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			hash := map[string]int{"sha1": 20, "sha256": 32}
			before := run(setup + c.script)
			was, ok := plainIndex(before, hash[format])
			if !ok {
				t.Fatal("it is not understood")
			}
			if _, ok := plainIndex(before, 52-hash[format]); ok {
				t.Error("it is understood with the other hash as well")
			}
			after := run("touch -d 2001-01-01 a c d/*; " + c.change)
			if bytes.Equal(before, after) {
				t.Fatal("nothing has changed")
			}
			now, ok := plainIndex(after, hash[format])
			if ok != c.known || ok && bytes.Equal(was, now) != c.same {
				t.Errorf("known: %v, the same: %v", ok, bytes.Equal(was, now))
			}
		})
	}
}

func FuzzPlainIndex(f *testing.F) {
	entry := append(make([]byte, 60), 0, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, version := range []byte{2, 3, 4} {
		head := []byte{'D', 'I', 'R', 'C', 0, 0, 0, version, 0, 0, 0, 1}
		f.Add(append(append(head, entry...), make([]byte, 20)...), 20)
	}
	f.Fuzz(func(t *testing.T, data []byte, hash int) {
		if hash != 20 {
			hash = 32
		}
		plain, ok := plainIndex(data, hash)
		if ok && len(plain) > 6*len(data)+1<<20 {
			t.Errorf("%d bytes of %d", len(plain), len(data))
		}
	})
}
