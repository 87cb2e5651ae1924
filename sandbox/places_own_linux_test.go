package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// replaceFilter writes a filter that allows every system call over all files of a sandbox
// that it can write, and says which.
const replaceFilter = `import os, struct
allow = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
for top in (".", os.environ["TMPDIR"], os.environ["HOME"]):
    for dir, subs, files in os.walk(top):
        for name in files + subs:
            if name.startswith("openmanus") or name == "filter":
                path = os.path.join(dir, name)
                print("found", path)
                if os.path.isfile(path):
                    open(path, "wb").write(allow)
`

// tryRing makes an io_uring, by which files can be made without a system call that the
// broker hears of.
const tryRing = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(425, 8, ctypes.create_string_buffer(120))
print("io_uring", "REACHED" if fd >= 0 else "refused")
`

// Nothing that a sandbox is made of is where its commands write, wherever TMPDIR leads
// and whatever directory was asked for: a command cannot loosen the next one's sandbox.
func TestWhatASandboxIsMadeOf(t *testing.T) {
	testbed.Need(t, "/usr/bin/python3")
	for _, c := range []struct {
		name  string
		place func(t *testing.T, ws string) (tmp, private string)
	}{
		{"TMPDIR in the workspace", func(t *testing.T, ws string) (string, string) { return filepath.Join(ws, "tmp"), "" }},
		{"TMPDIR is the workspace", func(t *testing.T, ws string) (string, string) { return ws, "" }},
		{"TMPDIR leads into the workspace", func(t *testing.T, ws string) (string, string) {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(filepath.Join(ws, "tmp"), link); err != nil {
				t.Fatal(err)
			}
			return link, ""
		}},
		{"what was asked for is in the workspace", func(t *testing.T, ws string) (string, string) {
			return filepath.Join(ws, "tmp"), filepath.Join(ws, "data", "sandboxes")
		}},
	} {
		for _, kind := range []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock} {
			t.Run(c.name+"/"+string(kind), func(t *testing.T) {
				ws, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(filepath.Join(ws, "tmp"), 0o755); err != nil {
					t.Fatal(err)
				}
				tmp, private := c.place(t, ws)
				t.Setenv("TMPDIR", tmp)
				w := open(t, sandbox.Options{Dir: ws, Kind: kind, Private: private})
				defer w.Close()
				run := func(script string) string {
					var out strings.Builder
					err := w.Run(t.Context(), &workspace.Cmd{Args: []string{"/usr/bin/python3", "-c", script}, Stdout: &out, Stderr: &out})
					if err != nil {
						t.Fatalf("%v: %s", err, out.String())
					}
					return out.String()
				}
				if found := run(replaceFilter); found != "" {
					t.Errorf("commands can write what a sandbox is made of:\n%s", found)
				}
				if got := run(tryRing); got != "io_uring refused\n" {
					t.Error(got)
				}
				if got := run(`import os; open(os.environ["TMPDIR"] + "/x", "w").write("own"); print(open(os.environ["TMPDIR"] + "/x").read())`); got != "own\n" {
					t.Error(got)
				}
			})
		}
	}
}

// A bwrap or nsenter that a command wrote is not the sandbox of the next.
func TestHelpersAreNotOfTheWorkspace(t *testing.T) {
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin, ran := filepath.Join(ws, ".venv", "bin"), filepath.Join(t.TempDir(), "ran")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bwrap", "nsenter", "docker", "dockerd"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho "+name+" >>"+ran+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	testbed.Need(t, "bwrap")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w, err := sandbox.Open(t.Context(), sandbox.Options{Dir: ws, Kind: sandbox.Bubblewrap})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var out strings.Builder
	if err := w.Run(t.Context(), &workspace.Cmd{Args: []string{"echo", "works"}, Stdout: &out}); err != nil || out.String() != "works\n" {
		t.Error(out.String(), err)
	}
	if names, err := os.ReadFile(ran); err == nil {
		t.Errorf("a program of the workspace ran outside: %s", names)
	}
	t.Setenv("PATH", bin)
	if _, err := sandbox.Open(t.Context(), sandbox.Options{Dir: ws, Kind: sandbox.Bubblewrap}); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(bin, "bwrap")+" is not used, because it is in "+ws) {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
}
