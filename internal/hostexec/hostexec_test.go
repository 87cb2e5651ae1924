package hostexec

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// program writes a program.
func program(t *testing.T, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name)); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, m); err != nil {
		t.Fatal(err)
	}
}

// A program that commands of the agent, or others, can put there or exchange does not
// count, in whatever way PATH leads to it. The next directory of PATH does.
func TestLook(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("these are the rights of Unix")
	}
	for _, c := range []struct {
		name string
		path func(t *testing.T, top, ws string) string // the directory of PATH that is looked at first
		why  string                                    // "": the program in it counts
	}{
		{"a directory of the person", func(t *testing.T, top, ws string) string {
			return filepath.Dir(program(t, top, "bin", "tool"))
		}, ""},
		{"a link in a directory of the person", func(t *testing.T, top, ws string) string {
			link(t, program(t, top, "real", "tool"), filepath.Join(top, "bin", "tool"))
			return filepath.Join(top, "bin")
		}, ""},
		{"a virtual environment of the workspace", func(t *testing.T, top, ws string) string {
			return filepath.Dir(program(t, ws, ".venv", "bin", "tool"))
		}, "commands of the agent write"},
		{"the workspace itself", func(t *testing.T, top, ws string) string {
			return filepath.Dir(program(t, ws, "tool"))
		}, "commands of the agent write"},
		{"a link to the workspace", func(t *testing.T, top, ws string) string {
			program(t, ws, "bin", "tool")
			link(t, ws, filepath.Join(top, "short"))
			return filepath.Join(top, "short", "bin")
		}, "commands of the agent write"},
		{"a program that is a link into the workspace", func(t *testing.T, top, ws string) string {
			link(t, program(t, ws, "tool"), filepath.Join(top, "bin", "tool"))
			return filepath.Join(top, "bin")
		}, "commands of the agent write"},
		{"a link by way of the workspace", func(t *testing.T, top, ws string) string {
			link(t, program(t, top, "real", "tool"), filepath.Join(ws, "hop"))
			link(t, filepath.Join(ws, "hop"), filepath.Join(top, "bin", "tool"))
			return filepath.Join(top, "bin")
		}, "commands of the agent write"},
		{"through the workspace and out again", func(t *testing.T, top, ws string) string {
			program(t, top, "bin", "tool")
			return ws + "/../bin"
		}, "commands of the agent write"},
		{"a directory that everybody can write", func(t *testing.T, top, ws string) string {
			dir := filepath.Dir(program(t, top, "bin", "tool"))
			mode(t, dir, 0o777)
			return dir
		}, "everybody can write"},
		{"a directory to which everybody can add", func(t *testing.T, top, ws string) string {
			dir := filepath.Dir(program(t, top, "bin", "tool"))
			mode(t, dir, 0o777|os.ModeSticky)
			return dir
		}, "everybody can write"},
		{"below a directory that everybody can write", func(t *testing.T, top, ws string) string {
			dir := filepath.Dir(program(t, top, "all", "bin", "tool"))
			mode(t, filepath.Dir(dir), 0o777)
			return dir
		}, "everybody can write"},
		{"a program that everybody can write", func(t *testing.T, top, ws string) string {
			name := program(t, top, "bin", "tool")
			mode(t, name, 0o777)
			return filepath.Dir(name)
		}, "everybody can write"},
		{"a group of others", func(t *testing.T, top, ws string) string {
			dir := filepath.Dir(program(t, top, "bin", "tool"))
			if os.Chown(dir, -1, 54321) != nil {
				t.Skip("only root can give it away")
			}
			mode(t, dir, 0o775)
			return dir
		}, "members of the group 54321"},
		{"a directory of somebody else", func(t *testing.T, top, ws string) string {
			dir := filepath.Dir(program(t, top, "bin", "tool"))
			if os.Chown(dir, 54321, -1) != nil {
				t.Skip("only root can give it away")
			}
			return dir
		}, "belongs to the user 54321"},
		{"a relative directory", func(t *testing.T, top, ws string) string {
			program(t, top, "bin", "tool")
			t.Chdir(top)
			return "bin"
		}, "depends on the working directory"},
		{"the empty entry", func(t *testing.T, top, ws string) string {
			program(t, top, "tool")
			t.Chdir(top)
			return ""
		}, "depends on the working directory"},
		{"the virtual environment of another project", func(t *testing.T, top, ws string) string {
			program(t, top, "other", "env", "pyvenv.cfg")
			return filepath.Dir(program(t, top, "other", "env", "bin", "tool"))
		}, "virtual environment"},
		{"what is left of another project's virtual environment", func(t *testing.T, top, ws string) string {
			return filepath.Dir(program(t, top, "other", ".venv", "bin", "tool"))
		}, "it belongs to a project (.venv)"},
		{"node_modules of another project", func(t *testing.T, top, ws string) string {
			return filepath.Dir(program(t, top, "other", "node_modules", ".bin", "tool"))
		}, "node_modules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			ws := filepath.Join(top, "ws")
			if err := os.Mkdir(ws, 0o755); err != nil {
				t.Fatal(err)
			}
			last := program(t, top, "last", "tool")
			first := c.path(t, top, ws)
			f := Finder{NotIn: []string{ws}}
			f.List = first + ":" + filepath.Dir(last)
			got, err := f.Look("tool")
			if err != nil || (got == last) != (c.why != "") {
				t.Errorf("found %s, %v", got, err)
			}
			if clean := f.Clean(f.List); strings.Contains(c.name, "directory") && strings.Contains(clean, first+":") != (c.why == "") {
				t.Errorf("PATH for what it starts: %s", clean)
			}
			if c.why == "" {
				return
			}
			f.List = first
			if first == "" {
				f.List = ":"
			}
			_, err = f.Look("tool")
			if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), "tool is not used") {
				t.Errorf("the error is %v, and should say %q", err, c.why)
			}
		})
	}
}

// A workspace that contains the system excludes nothing, and no name is a way around.
func TestLookEdges(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	if got, err := Outside("/", "/usr", "").Look("sh"); err != nil {
		t.Error(got, err)
	}
	for _, name := range []string{"", "./sh", "../sh", "bin/sh"} {
		if got, err := (Finder{}).Look(name); err == nil {
			t.Errorf("%q: %s", name, got)
		}
	}
	if err := (Finder{}).Command(t.Context(), "no-such-program").Run(); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}

// No variable leads a program to code in the workspace.
func TestEnviron(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("lists have another separator")
	}
	ws := t.TempDir()
	got := Outside(ws).Environ([]string{
		"PATH=" + ws + "/.venv/bin:/usr/bin:.", "PYTHONPATH=" + ws + "/src", "LD_PRELOAD=" + ws + "/x.so", "BASH_ENV=rc",
		"LD_LIBRARY_PATH=/usr/lib:" + ws, "HOME=/h", "A=" + ws,
		"TMPDIR=" + ws + "/tmp", "TEMP=/tmp",
	})
	want := []string{"PATH=/usr/bin", "LD_LIBRARY_PATH=/usr/lib", "HOME=/h", "A=" + ws, "TEMP=/tmp", SafePython}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// No option leads a program to code in the workspace, in any form in which options name
// files; what leads elsewhere stays.
func TestOptions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths have another form")
	}
	ws := t.TempDir()
	link(t, ws, filepath.Join(filepath.Dir(ws), "by-a-link"))
	for _, kv := range []string{
		"NODE_OPTIONS=--require " + ws + "/x.js", "NODE_OPTIONS=--require=" + ws + "/x.js", "NODE_OPTIONS=--max-old-space-size=99 -r ./x.js",
		"NODE_OPTIONS=--import=file://" + ws + "/x.mjs", "RUBYOPT=-I" + ws + " -rx", "RUBYOPT=-r../x", "PERL5OPT=-I" + ws + "/lib",
		"JAVA_TOOL_OPTIONS=-javaagent:" + ws + "/a.jar", "_JAVA_OPTIONS=-Xbootclasspath/a:" + ws + "/a.jar", "CLASSPATH=/usr/x.jar:" + ws,
		"LESSOPEN=|" + ws + "/pipe %s", "PAGER=" + ws + "/pager", "VIMINIT=source " + ws + "/.vimrc", "BROWSER=" + ws + "/b:firefox",
		"PYTHONUSERBASE=" + ws + "/.local", "GIT_SSH_COMMAND=" + ws + "/ssh", "GIT_CONFIG_GLOBAL=" + ws + "/c", "GTK_PATH=" + filepath.Dir(ws) + "/by-a-link/m",
		"XDG_CONFIG_HOME=" + ws + "/.config", "BASH_FUNC_sed%%=() { touch evil; }", "OPENSSL_CONF=" + ws + "/o.cnf", "TERMINFO=" + ws + "/t",
	} {
		if got := Outside(ws).Environ([]string{kv}); !slices.Equal(got, []string{SafePython}) {
			t.Errorf("%s: got %q", kv, got)
		}
	}
	for _, kv := range []string{"NODE_OPTIONS=--max-old-space-size=4096", "PAGER=less -R", "JAVA_TOOL_OPTIONS=-Xmx1g", "LESSOPEN=|/usr/bin/lesspipe %s",
		"XDG_CONFIG_HOME=/h/.config", "GIT_SSH_COMMAND=ssh -i /h/.ssh/id", "NOTES=" + ws + "/x"} {
		if got := Outside(ws).Environ([]string{kv}); !slices.Equal(got, []string{kv, SafePython}) {
			t.Errorf("%s: got %q", kv, got)
		}
	}
}

// A program that serves openmanus has no key of the person's, and one that the person
// works with has all that is theirs.
func TestCommandHasALanguageAndNoKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	for _, kv := range []string{"OPENAI_API_KEY=k", "AWS_PROFILE=k", "NODE_OPTIONS=-r /h/x", "LC_TIME=C", "HOME=/h", "DISPLAY=:7"} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	serves, works := Finder{}.Command(t.Context(), "sh").Env, Finder{}.PersonsCommand(t.Context(), "sh").Env
	for _, kv := range []string{"LC_TIME=C", "HOME=/h", "DISPLAY=:7", SafePython} {
		if !slices.Contains(serves, kv) || !slices.Contains(works, kv) {
			t.Errorf("%s is missing: %q and %q", kv, serves, works)
		}
	}
	for _, kv := range []string{"OPENAI_API_KEY=k", "AWS_PROFILE=k", "NODE_OPTIONS=-r /h/x"} {
		if slices.Contains(serves, kv) || !slices.Contains(works, kv) {
			t.Errorf("%s is for the person: %q and %q", kv, serves, works)
		}
	}
}

// A directory for files of our own is in no workspace, and nobody else can exchange it.
func TestDir(t *testing.T) {
	top := t.TempDir()
	ws := filepath.Join(top, "ws")
	t.Setenv("TMPDIR", filepath.Join(ws, "tmp"))
	link(t, ws, filepath.Join(top, "link"))
	for _, wanted := range []string{"", ws, filepath.Join(ws, "data"), filepath.Join(top, "link", "data")} {
		got, err := Outside(ws).Dir(wanted)
		if err != nil || Outside(ws).Within(got) != "" {
			t.Errorf("%s: %s, %v", wanted, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(ws, "data")); err == nil {
		t.Error("it was made in the workspace all the same")
	}
	if got, err := Outside(ws).Dir(filepath.Join(top, "data")); err != nil || filepath.Base(got) != "data" {
		t.Error(got, err)
	}
	open := filepath.Join(top, "open")
	if err := os.MkdirAll(filepath.Join(open, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	mode(t, open, 0o777)
	if got, err := Outside(ws).Dir(filepath.Join(open, "data")); err != nil || runtime.GOOS != "windows" && strings.HasPrefix(got, open) {
		t.Error(got, err)
	}
}
