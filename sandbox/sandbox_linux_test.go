package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if engine := os.Getenv(dockerOf); engine != "" {
		holdContainer(engine)
	}
	testbed.Main(m)
}

// kinds returns the sandboxes of this machine.
func kinds(t testing.TB) []sandbox.Kind {
	t.Helper()
	if !testbed.Has(t, "bwrap") {
		return []sandbox.Kind{sandbox.Landlock}
	}
	return []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock}
}

func TestConforms(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace {
				return open(t, sandbox.Options{Dir: dir, Kind: kind})
			})
		})
	}
}

func open(t testing.TB, o sandbox.Options) *workspace.Dir {
	t.Helper()
	if o.Kind == sandbox.Bubblewrap {
		testbed.Need(t, "bwrap")
	}
	o.Warn = func(text string) { t.Log(text) }
	ws, err := sandbox.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := ws.Sandbox(); got != string(o.Kind) && o.Kind != sandbox.None {
		t.Fatalf("the sandbox is %q, want %q", got, o.Kind)
	}
	return ws
}

func TestNoneIsAPlainDirectory(t *testing.T) {
	ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Kind: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if ws.Sandbox() != "" {
		t.Errorf("its sandbox is %q", ws.Sandbox())
	}
}

// Directories that are to be read are read, also where a private directory is
// in the sandbox: below /tmp. They are not written.
func TestReadBelowTmp(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "sandbox-read-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"data": "in a directory", "file": "alone"} {
		if err := os.MkdirAll(filepath.Join(dir, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "dir", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "dir", "file"), filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds(t) {
		ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: kind, Read: []string{filepath.Join(dir, "dir"), filepath.Join(dir, "file")}})
		var out strings.Builder
		script := `cat dir/data file; echo x > dir/data; echo x > dir/new; echo x > file; echo y > "$TMPDIR/own" && cat "$TMPDIR/own"; true`
		err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "cd " + dir + " && { " + script + "; } 2>/dev/null"}, Stdout: &out})
		if err != nil || out.String() != "in a directoryaloney\n" {
			t.Errorf("%s: %v, %q", kind, err, out.String())
		}
		if data, err := os.ReadFile(filepath.Join(dir, "dir", "data")); err != nil || string(data) != "in a directory" {
			t.Errorf("%s: it is now %q, %v", kind, data, err)
		}
		// A working directory there is one.
		if err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"test", "-f", "data"}, Dir: filepath.Join(dir, "dir")}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	}
}

// With Auto a warning and the explanation say which kind was chosen, and why.
func TestAutoSaysWhy(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	var said []string
	o := sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Auto, Warn: func(text string) { said = append(said, text) }}
	text, err := sandbox.Explain(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const why = "the program bwrap is not in PATH"
	if len(said) != 1 || !strings.Contains(said[0], "the sandbox is landlock") || !strings.Contains(said[0], why) || !strings.Contains(text, why) {
		t.Errorf("it said %q, and explained:\n%s", said, text)
	}
}

// TestExactKind holds that a kind other than Auto is made exactly as asked, and
// that Sandbox reports what is really in use: commands see the difference.
func TestExactKind(t *testing.T) {
	testbed.Need(t, "bwrap")
	for kind, first := range map[sandbox.Kind]string{
		sandbox.Bubblewrap: "bwrap\n", // the first process of a namespace
		sandbox.Landlock:   "",        // other processes cannot be seen
		sandbox.Auto:       "bwrap\n",
	} {
		ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		want := string(kind)
		if kind == sandbox.Auto {
			want = "bubblewrap"
		}
		if ws.Sandbox() != want {
			t.Errorf("%s: the sandbox is %q, want %q", kind, ws.Sandbox(), want)
		}
		var out strings.Builder
		_ = ws.Run(t.Context(), &workspace.Cmd{Args: []string{"cat", "/proc/1/comm"}, Stdout: &out}) // it fails in Landlock
		if out.String() != first {
			t.Errorf("%s: the first process is %q, want %q", kind, out.String(), first)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	}
	// Where it cannot be had, no other takes its place.
	t.Setenv("PATH", "/nowhere")
	if ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Bubblewrap}); !errors.Is(err, sandbox.ErrNone) {
		t.Errorf("%v, %v, want ErrNone", ws, err)
	}
	if _, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Kind: "chroot"}); err == nil || !strings.Contains(err.Error(), `"chroot"`) {
		t.Errorf("%v, want an error that names it", err)
	}
}

// A workspace can be wherever directories are, also where commands find another
// directory than there is outside, and behind links.
func TestWorkspaceAnywhere(t *testing.T) {
	for _, top := range []string{"/var/tmp", "/tmp", "/dev/shm", "/srv", "/mnt", "/opt", "/run", "/home"} {
		dir, err := os.MkdirTemp(top, "sandbox-place-")
		if err != nil {
			t.Log(err) // this user cannot write there
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		link := filepath.Join(t.TempDir(), "link")
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "ws"), 0o755), os.Symlink(dir, link)); err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds(t) {
			for _, at := range []string{dir + "/ws", link + "/ws"} {
				ws := open(t, sandbox.Options{Dir: at, Kind: kind})
				var out strings.Builder
				err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "echo x > f && cat f; echo x > AGENTS.md"}, Stdout: &out, Stderr: &out})
				if !strings.HasPrefix(out.String(), "x\nsandbox: AGENTS.md is protected") {
					t.Errorf("%s, %s: %v, %s", kind, at, err, out.String())
				}
				if err := ws.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Commands do not learn from the arguments of bwrap what there is outside.
func TestArgumentsAreNotSeen(t *testing.T) {
	dir := t.TempDir()
	ws := open(t, sandbox.Options{Dir: dir, Kind: sandbox.Bubblewrap})
	defer ws.Close()
	var out strings.Builder
	err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"cat", "/proc/1/cmdline"}, Stdout: &out})
	if err != nil || !strings.Contains(out.String(), "bwrap") || strings.Contains(out.String(), "bind") || strings.Contains(out.String(), dir) {
		t.Errorf("%v, %q", err, out.String())
	}
}

// Commands see nothing of a denied path, wherever it is and whatever they rename,
// and a new one is hidden from the next command.
func TestDenied(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret.csv": "EVIL", "a/b/secret.csv": "EVIL", "keys/x": "EVIL", "a/open": "good"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret.csv", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	o := sandbox.Options{Dir: dir, Kind: sandbox.Landlock, Deny: func(name string) bool {
		return filepath.Base(name) == "secret.csv" || name == "keys"
	}}
	if _, err := sandbox.Open(t.Context(), o); !errors.Is(err, sandbox.ErrNone) {
		t.Errorf("landlock: %v, want ErrNone", err)
	}
	o.Kind = sandbox.Bubblewrap
	ws := open(t, o)
	defer ws.Close()
	try := func(script string) string {
		var out strings.Builder
		err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
		t.Log(script, err, out.String())
		return out.String()
	}
	for _, script := range []string{
		"cat secret.csv */*/secret.csv keys/* link; cat a/open", "cp secret.csv x; cat x", "mv secret.csv x; cat x", "ln secret.csv y; cat y",
		"mv a c; cat c/b/secret.csv; mv c a", "rm -f secret.csv; echo x > secret.csv; cat secret.csv", "mv keys k; cat k/x; mv a/open keys/x",
		"grep -r EVI .; git grep --no-index EVI",
	} {
		if out := try(script); strings.Contains(out, "EVIL") {
			t.Errorf("%s:\n%s", script, out)
		}
	}
	for _, name := range []string{"secret.csv", "a/b/secret.csv", "keys/x"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != "EVIL" {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "secret.csv"), []byte("EVIL"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := try("cat a/secret.csv"); strings.Contains(out, "EVIL") {
		t.Error(out)
	}
}
