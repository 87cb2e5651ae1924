package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolchain holds that a directory of PATH shows the toolchain that it
// belongs to, and never a home directory or what holds one.
func TestToolchain(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range strings.Fields(`go1/bin go1/pkg go1/src cache/py/3/x64/bin cache/py/3/x64/lib svc/.ssh svc/bin svc/lib
		app/bin app/keys host/bin host/lib host/users/ann known/tools/bin known/tools/lib bin lib elsewhere/bin elsewhere/lib`) {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"go": "go1", "outside": "/usr/bin", "app/other": "../elsewhere/bin"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	homes := []string{filepath.Join(top, "known"), filepath.Join(top, "host/users/ann")}
	for dir, want := range map[string]string{
		"go1/bin": "go1", "go/bin": "go", "cache/py/3/x64/bin": "cache/py/3/x64",
		"svc/bin": "", "svc/lib": "", "app/bin": "app/bin", "host/bin": "host/bin", "host/lib": "host/lib", "host": "", "known/tools/bin": "",
		"known": "", "bin": "bin", "outside": "", "missing": "", "app/other": "app/other", "": "",
	} {
		got := toolchain(top, filepath.Join(top, dir), homes)
		if want != "" {
			want = filepath.Join(top, want)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
