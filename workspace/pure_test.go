package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	dir := filepath.FromSlash("/work/space")
	if runtime.GOOS == "windows" {
		dir = `C:\work\space`
	}
	abs := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, tt := range []struct{ path, want string }{
		{"a.txt", "a.txt"},
		{"a/b/../c", "a/c"},
		{"./a//b/", "a/b"},
		{".", "."},
		{"a/..", "."},
		{"..a/...", "..a/..."},
		{"ümläut/日本", "ümläut/日本"},
		{" ", " "},
		{abs("a/b"), "a/b"},
		{abs("."), "."},
		{abs("x/../y"), "y"},
	} {
		if got, err := Name(dir, tt.path); got != tt.want || err != nil {
			t.Errorf("Name(%q) = %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ path, want string }{
		{"", "the path is empty"},
		{"a\x00b", "NUL"},
		{"..", "outside the workspace"},
		{"../space2", "outside the workspace"},
		{"a/../../b", "outside the workspace"},
		{abs("../space2/a"), "outside the workspace"},
		{filepath.Dir(dir), "outside the workspace"},
		{dir + "2", "outside the workspace"},
	} {
		if got, err := Name(dir, tt.path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Name(%q) = %q, %v; want an error with %q", tt.path, got, err, tt.want)
		}
	}
}

// FuzzName holds that no path leads out, and that a name stands for itself.
func FuzzName(f *testing.F) {
	for _, s := range []string{"a", "../a", "/work/space/a", "/work/spacea", "a/./b/../../..", "\x00", "//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		name, err := Name("/work/space", path)
		if err != nil {
			return
		}
		if !fs.ValidPath(name) {
			t.Errorf("Name(%q) = %q, which is not a name", path, name)
		}
		if again, err := Name("/work/space", name); again != name || err != nil {
			t.Errorf("Name(%q) = %q, %v", name, again, err)
		}
	})
}

// A variable that is not on the list may hold a secret.
func TestPassed(t *testing.T) {
	for name, want := range map[string]bool{
		"PATH": true, "HOME": true, "LANG": true, "LC_ALL": true, "LC_": true, "TZ": true, "TERM": true,
		"OPENAI_API_KEY": false, "AWS_SECRET_ACCESS_KEY": false, "SSH_AUTH_SOCK": false, "LD_PRELOAD": false,
		"PATHX": false, "XPATH": false, "": false, "LC": false, "BASH_ENV": false, "PYTHONPATH": false,
	} {
		if got := passed(name); got != want {
			t.Errorf("passed(%q) = %v", name, got)
		}
	}
	for name, want := range map[string]bool{"SYSTEMROOT": true, "PROGRAMFILES(X86)": true, "SECRET": false, "systemroot": false} {
		if got := passedOnWindows(name); got != want {
			t.Errorf("passedOnWindows(%q) = %v", name, got)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("TZ", "Mars")
	t.Setenv("SOME_TOKEN", "hunter2")
	d := &Dir{Env: []string{"A=dir", "B=dir"}}
	env := strings.Join(d.environ([]string{"B=cmd"}, "MARK=1"), "\n")
	if strings.Contains(env, "hunter2") {
		t.Error("the environment has a secret of this process")
	}
	if !strings.Contains(env, "TZ=Mars\n") || !strings.HasSuffix(env, "A=dir\nB=dir\nB=cmd\nMARK=1") {
		t.Errorf("got\n%s", env)
	}
}

func TestLookPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("os/exec looks programs up")
	}
	bin, other := t.TempDir(), t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(other, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(bin)) // relative entries of PATH do not count, though the tool is there
	for _, tt := range []struct {
		name string
		env  []string
		want string // "": there is none
	}{
		{"tool", []string{"PATH=" + bin}, filepath.Join(bin, "tool")},
		{"tool", []string{"PATH=" + other + ":" + bin}, filepath.Join(other, "tool")},
		{"tool", []string{"PATH=" + bin, "PATH=" + other}, filepath.Join(other, "tool")}, // the later entry wins
		{"tool", []string{"PATH=/nowhere::" + bin}, filepath.Join(bin, "tool")},
		{"tool", []string{"PATH=" + filepath.Base(bin)}, ""},
		{"tool", []string{"PATH="}, ""},
		{"tool", nil, ""},
		{"text", []string{"PATH=" + bin}, ""}, // it cannot be executed
		{"./tool", nil, "./tool"},
		{"/no/such/tool", nil, "/no/such/tool"}, // starting it says that there is none
	} {
		got, err := LookPath(tt.name, tt.env)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("LookPath(%q, %q) = %q, %v; want %q", tt.name, tt.env, got, err, tt.want)
		}
		if err != nil && !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("%v is not exec.ErrNotFound", err)
		}
	}
}

func TestExitError(t *testing.T) {
	for want, err := range map[string]*ExitError{
		"exit status 3": {Code: 3}, "exit status 0": {}, "ended by SIGKILL": {Code: 137, Signal: "SIGKILL"},
	} {
		if err.Error() != want {
			t.Errorf("%+v: %q, want %q", *err, err.Error(), want)
		}
	}
	if err := exitStatus(nil); err != nil {
		t.Errorf("success is %v", err)
	}
	if other := errors.New("other"); exitStatus(other) != other {
		t.Error("an error that is no exit status is lost")
	}
}

func TestJoin(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	if join(nil, nil) != nil || join(a, nil) != a || join(nil, b) != b {
		t.Error("a single error is wrapped, or lost")
	}
	if both := join(a, b); !errors.Is(both, a) || !errors.Is(both, b) {
		t.Errorf("%v", both)
	}
}

func TestPathError(t *testing.T) {
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded} {
		if got := pathError("write", "a", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{fs.ErrExist, &fs.PathError{Op: "openat", Path: "other/name", Err: fs.ErrExist}} {
		got := pathError("write", "a/b", err)
		if !errors.Is(got, fs.ErrExist) || got.Error() != "write a/b: file already exists" {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// incomparable is a writer whose dynamic type cannot be compared.
type incomparable []byte

func (incomparable) Write(p []byte) (int, error) { return len(p), nil }

func TestSame(t *testing.T) {
	var a, b bytes.Buffer
	if !same(&a, &a) || same(&a, &b) || same(&a, nil) || same(incomparable{}, incomparable{}) {
		t.Error("two writers are taken for one, or one for two")
	}
}

func TestSpawnCmd(t *testing.T) {
	x := (&Spawn{}).Cmd("/bin/true")
	if x.Stdin != nil || x.Stdout != nil || x.Stderr != nil {
		t.Error("a file that is not there is not nil: the command would get a closed one")
	}
	x = (&Spawn{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stdout}).Cmd("/bin/true")
	if x.Path != "/bin/true" || x.Stdin != os.Stdin || x.Stdout != os.Stdout || x.Stderr != x.Stdout {
		t.Errorf("%+v", x)
	}
}

// TestResolve follows links as the kernel would, and stays inside.
func TestResolve(t *testing.T) {
	d, err := NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.MkdirAll(filepath.Join(d.path, "dir", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"link": "dir", "deep": "link/sub", "up": "dir/../dir/sub", "dir/back": "..", "absolute": filepath.Join(d.path, "dir"),
		"dangling": "nothing/here", "loop": "loop", "out": "../..", "etc": "/etc", "dir/sub/out": "../../..",
	} {
		if err := os.Symlink(target, filepath.Join(d.path, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	for _, tt := range []struct{ name, want, why string }{
		{"dir", "dir", ""},
		{"new/file", "new/file", ""},
		{"link/file", "dir/file", ""},
		{"deep/new/file", "dir/sub/new/file", ""},
		{"up/file", "dir/sub/file", ""},
		{"dir/back/link", "dir", ""},
		{"dir/back", ".", ""},
		{"absolute/sub", "dir/sub", ""},
		{"dangling", "nothing/here", ""},
		{"loop", "", "too many symbolic links"},
		{"out/file", "", "leads out of the workspace"},
		{"etc/passwd", "", "leads out of the workspace"},
		{"dir/sub/out", "", "leads out of the workspace"},
	} {
		got, err := d.resolve(tt.name)
		if tt.why == "" && (got != tt.want || err != nil) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		if tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%s: %q, %v; want an error with %q", tt.name, got, err, tt.why)
		}
	}
	if got, err := d.resolveParent("link"); got != "link" || err != nil {
		t.Errorf("the parent of a link: %q, %v; want the link itself", got, err)
	}
}

// A Dir that cannot be changed says so before it looks at the disk.
func TestUsable(t *testing.T) {
	d, err := NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "/a", "a/", "a//b", "a/../b", "./a"} {
		if err := d.usable(t.Context(), name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.usable(ended, "a"); err != context.Canceled {
		t.Errorf("after the end of the context: %v", err)
	}
	if err := d.usable(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.usable(t.Context(), "a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}
