//go:build unix

package copydir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPipesAreLeftOut(t *testing.T) {
	src := put(t, map[string]string{"a": "1"})
	if err := syscall.Mkfifo(filepath.Join(src, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "copy")
	c, err := Copy(t.Context(), dst, src, Options{})
	if err != nil || c.Files != 1 || c.Bytes != 1 || strings.Join(c.Left, ";") != "pipe: not a regular file" {
		t.Errorf("%+v %v", c, err)
	}
	same2(t, "the copy", dst, map[string]string{"a": "1"})
	// A pipe or a link in an attempt reaches nothing outside.
	if err := syscall.Mkfifo(filepath.Join(dst, "other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dst, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dst, "a")); err != nil {
		t.Fatal(err)
	}
	base := copied(t, src, Options{})
	out, err := Merge{Base: base, From: dst, To: src}.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(src, "a")); target != "/etc/passwd" || err != nil {
		t.Errorf("%q %v: a link is taken as a link", target, err)
	}
	if len(out.Conflicts) != 1 || out.Conflicts[0].Path != "other" {
		t.Errorf("%+v", out)
	}
}
