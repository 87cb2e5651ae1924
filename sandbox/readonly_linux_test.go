package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// Tests and builds run in a workspace that is read-only, and leave it as it was.
func TestReadOnlyRunsTests(t *testing.T) {
	files := map[string]string{
		"go.mod": "module m\n\ngo 1.21\n", "m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestM(t *testing.T) { t.TempDir() }\n",
		"lib.py": "x = 1\n", "test_lib.py": "import lib\n\ndef test_x(tmp_path):\n    (tmp_path / 'f').write_text('x')\n    assert lib.x == 1\n",
		"m.test.mjs": "import test from 'node:test'\nimport assert from 'node:assert'\ntest('m', () => assert.equal(1, 1))\n",
		"Cargo.toml": "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "Cargo.lock": "version = 4\n\n[[package]]\nname = \"m\"\nversion = \"0.1.0\"\n",
		"src/lib.rs": "#[test]\nfn m() { assert_eq!(1, 1) }\n",
	}
	for _, kind := range kinds {
		dir := t.TempDir()
		for name, text := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		ws := open(t, sandbox.Options{Dir: dir, Kind: kind, ReadOnly: true, Toolchains: []string{sandbox.AutoToolchains}})
		for _, command := range []string{"python3 -m unittest -q", "python3 -m pytest -q", "go test ./...", "node --test", "cargo test -q --offline"} {
			words := strings.Fields(command)
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Log(err)
				continue
			}
			if command == "python3 -m pytest -q" && exec.Command("python3", "-c", "import pytest").Run() != nil {
				t.Log("there is no pytest")
				continue
			}
			var out strings.Builder
			err := ws.Run(t.Context(), &workspace.Cmd{Args: words, Stdout: &out, Stderr: &out})
			if err != nil && !strings.Contains(command, "unittest") || strings.Contains(strings.ToLower(out.String()), "warning") {
				t.Errorf("%s: %s: %v\n%s", kind, command, err, out.String())
			}
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
		left := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() {
				left++
				if _, own := files[filepath.ToSlash(rel)]; !own {
					t.Errorf("%s: there is %s", kind, rel)
				}
			}
			return err
		})
		if err != nil || left != len(files) {
			t.Errorf("%s: %v, %d files are left of %d", kind, err, left, len(files))
		}
	}
}

// A command that writes is told where it can. The file tools do not write, and no
// command gets more than the sandbox gives.
func TestReadOnlyRefuses(t *testing.T) {
	for _, kind := range kinds {
		dir := t.TempDir()
		ws := open(t, sandbox.Options{Dir: dir, Kind: kind, ReadOnly: true})
		if !workspace.ReadOnly(ws) {
			t.Errorf("%s: it is not read-only", kind)
		}
		var out strings.Builder
		err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", `echo x >"$TMPDIR/a" && cat "$TMPDIR/a" && echo y >"$HOME/b" && echo z >c`},
			Stdout: &out, Stderr: &out})
		var exit *workspace.ExitError
		if !errors.As(err, &exit) || !strings.HasPrefix(out.String(), "x\n") || !strings.Contains(out.String(), "Read-only file system") {
			t.Errorf("%s: %v, %s", kind, err, out.String())
		}
		if line := ws.Advise(out.String(), 1); !strings.Contains(line, "read-only for commands here") {
			t.Errorf("%s: the advice is %q", kind, line)
		}
		if line := ws.Advise("curl: (6) Could not resolve host: example.org", 6); !strings.Contains(line, "no network") || strings.Contains(line, `"network"`) {
			t.Errorf("%s: the advice is %q", kind, line)
		}
		if err := ws.WriteFile(t.Context(), "f", nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "read-only in this session") {
			t.Errorf("%s: a file tool writes: %v", kind, err)
		}
		for _, reach := range []workspace.Reach{workspace.WithNetwork, workspace.OutsideCage} {
			err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"touch", filepath.Join(dir, "out")}, Reach: reach})
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "change nothing") {
				t.Errorf("%s: reach %d: %v", kind, reach, err)
			}
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
		if _, err := sandbox.Open(t.Context(), sandbox.Options{Dir: dir, Kind: kind, ReadOnly: true, Network: sandbox.AllNetwork}); err == nil ||
			!strings.Contains(err.Error(), "has no network") {
			t.Errorf("%s: with a network: %v", kind, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", kind, left, err)
		}
	}
}

// Where there is no sandbox, no command runs in a workspace that is read-only.
func TestReadOnlyWithoutSandbox(t *testing.T) {
	dir := t.TempDir()
	ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: dir, Kind: sandbox.None, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, reach := range []workspace.Reach{workspace.InCage, workspace.WithNetwork, workspace.OutsideCage} {
		err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"touch", filepath.Join(dir, "f")}, Reach: reach})
		if err == nil || !strings.Contains(err.Error(), "no sandbox") && !strings.Contains(err.Error(), "change nothing") {
			t.Errorf("reach %d: %v", reach, err)
		}
	}
	if err := ws.WriteFile(t.Context(), "f", nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file tool writes: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || ws.Sandbox() != "" {
		t.Errorf("%v, %v, %q", left, err, ws.Sandbox())
	}
}
