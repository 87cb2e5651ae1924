package sandbox_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestBothNames: commands find a workspace by the path of a link that it was opened by, and
// by its own.
func TestBothNames(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) { bothNames(t, sandbox.Options{Kind: kind}) })
	}
}

// bothNames opens a workspace by a link, with these options. A protected file, and a denied
// one, are so by both names: that of the workspace, and the link or WorkDir.
func bothNames(t *testing.T, o sandbox.Options) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(top, "disk", "ws"), filepath.Join(top, "home", "ws")
	err = errors.Join(os.MkdirAll(real, 0o755), os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(real, link),
		os.WriteFile(filepath.Join(real, ".envrc"), []byte("mine\n"), 0o666), os.WriteFile(filepath.Join(real, "secret"), []byte("hidden\n"), 0o666))
	if os.Getuid() == 0 && o.Engine != "" { // commands in containers are not root
		err = errors.Join(err, os.Chown(real, 1000, 1000), os.Chown(filepath.Join(real, ".envrc"), 1000, 1000), os.Chown(filepath.Join(real, "secret"), 1000, 1000))
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.Dir = link; o.Kind != sandbox.Landlock { // which hides no file from commands
		o.Deny = func(name string) bool { return name == "secret" }
	} else if err := os.Remove(filepath.Join(real, "secret")); err != nil {
		t.Fatal(err)
	}
	ws := open(t, o)
	defer ws.Close()
	var out, said strings.Builder
	link = cmp.Or(o.WorkDir, link)
	script := fmt.Sprintf("cd %[2]s && echo one > a && cd %[1]s && cat a && echo two >> %[2]s/a; cat a; pwd; (echo bad >> %[2]s/.envrc) 2>/dev/null; cat %[2]s/secret 2>/dev/null; true", real, link)
	err = ws.Run(t.Context(), &workspace.Cmd{Stdout: &out, Stderr: &said, Args: []string{"sh", "-c", script}})
	if want := "one\none\ntwo\n" + real + "\n"; err != nil || out.String() != want {
		t.Errorf("%v: %q, want %q; %s", err, out.String(), want, said.String())
	}
	if now, err := os.ReadFile(filepath.Join(real, ".envrc")); err != nil || string(now) != "mine\n" {
		t.Errorf("%v: what is protected is %q", err, now)
	}
}
