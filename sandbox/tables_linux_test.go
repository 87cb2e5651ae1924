package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		dir, path string
		want      bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b", true}, {"/a/", "/a/b", true}, {"/", "/a", true},
		{"/a", "/ab", false}, {"/a/b", "/a", false}, {"/a", "", false},
	} {
		if got := within(test.dir, test.path); got != test.want {
			t.Errorf("within(%q, %q) is %v", test.dir, test.path, got)
		}
	}
}

func TestLastWins(t *testing.T) {
	got := lastWins([]string{"A=1", "B=2", "A=3", "C=", "B"})
	if want := []string{"A=3", "C=", "B"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHarmlessConfig holds that a configuration keeps data alone: no program, no
// other file, no line that is not understood.
func TestHarmlessConfig(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"as git init writes it", "[core]\n\tbare = false\n\tfilemode = true\n", "[core]\n\tbare = false\n\tfilemode = true\n"},
		{"a remote", "[remote \"origin\"]\n\turl = https://example.org/x\n", "[remote \"origin\"]\n\turl = https://example.org/x\n"},
		{"comments", "# one\n[core] ; two\n", "# one\n"},
		{"a program", "[core]\n\tfsmonitor = evil\n\tBare = true\n", "[core]\n\tBare = true\n"},
		{"a program in capitals", "[CORE]\n\tFSMonitor = evil\n", "[CORE]\n"},
		{"another file", "[include]\n\tpath = evil\n", ""},
		{"an alias", "[alias]\n\tst = !evil\n", ""},
		{"a key on the line of its section", "[core] fsmonitor = evil\n", ""},
		{"a key without a section", "bare = true\n", ""},
		{"a line that goes on", "[core]\n\tbare = \\\n", "[core]\n"},
		{"a remote that is a command", "[remote \"x\"]\n\turl = ext::sh -c evil\n", "[remote \"x\"]\n"},
		{"a remote that is an option", "[remote \"x\"]\n\turl = --upload-pack=evil\n", "[remote \"x\"]\n"},
		{"a section that does not end", "[core\n\tbare = true\n", ""},
	} {
		if got := harmlessConfig(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestGitConfig holds that the name and the address of a person are passed on,
// and nothing that would have to be quoted.
func TestGitConfig(t *testing.T) {
	for text, want := range map[string]string{
		"": "\tname = \"OpenManus\"\n\temail = \"openmanus@localhost\"\n",
		"[user]\n\tname = Ada L\n\temail=a@example.org\n[core]\n\tname = x\n": "\tname = \"Ada L\"\n\temail = \"a@example.org\"\n",
		"[user]\n\tname = \"a\\\"b\"\n":                                       "\tname = \"OpenManus\"\n",
	} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := gitConfig(); !strings.HasPrefix(got, "[user]\n"+want) || strings.Count(got, "name = ") != 1 {
			t.Errorf("%q gives\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestParseCgroups(t *testing.T) {
	const v1 = "36 25 0:31 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n" +
		"37 25 0:32 /box /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	for _, test := range []struct {
		name, own, infos string
		want             map[string]string
	}{
		{"version 2", "0::/user.slice/a\n", v2, map[string]string{"": "/sys/fs/cgroup/user.slice/a"}},
		{"version 1", "5:memory:/a\n4:cpu,cpuacct:/box/b\n3:pids:/a\n", v1, map[string]string{
			"memory": "/sys/fs/cgroup/memory/a", "cpu": "/sys/fs/cgroup/cpu,cpuacct/b", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct/b",
		}},
		{"both", "5:memory:/a\n0::/b\n", v1 + v2, map[string]string{"memory": "/sys/fs/cgroup/memory/a", "": "/sys/fs/cgroup/b"}},
		{"nothing is mounted", "0::/a\n", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n", map[string]string{}},
		{"damaged lines", "x\n0:\n", "a b - cgroup2\n- \n", map[string]string{}},
	} {
		if got := parseCgroups(test.own, test.infos); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestRefusedWorkspaces lists directories that commands must never be able to
// write.
func TestRefusedWorkspaces(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for ws, want := range map[string]string{
		"/": "directory of the system", "/usr": "directory of the system", "/etc": "directory of the system",
		"/proc/self": "directory of the system", "/dev": "directory of the system", home: "your home directory",
		"/dev/shm": "", filepath.Join(home, "src"): "", filepath.Dir(home): "",
	} {
		v := &mountView{ws: ws}
		err := v.refuse(Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ws, err, want)
		}
		if hides := slices.Contains(v.hide, home); hides != (ws == filepath.Dir(home)) {
			t.Errorf("%s: hides the home directory: %v", ws, hides)
		}
	}
}

// TestVisible holds that what is hidden is not visible, and that PATH keeps the
// directories that are.
func TestVisible(t *testing.T) {
	v := &mountView{ws: "/ws", read: []string{"/usr", "/data/x"}, links: map[string]string{"/bin": "usr/bin"}, hide: []string{"/ws/me"}}
	for path, want := range map[string]bool{
		"/ws": true, "/ws/a": true, "/ws/me": false, "/ws/me/a": false, "/usr/lib": true, "/bin/sh": true,
		"/data": false, "/data/x": true, "/data/xy": false, "/home/a": false, "/": false,
	} {
		if got := v.visible(path); got != want {
			t.Errorf("%s is visible: %v", path, got)
		}
	}
	t.Setenv("PATH", "/home/a/bin:relative:/usr/games:/ws/me/bin:/ws/bin:/usr/games")
	tools, err := findToolchains(Options{}, v.ws, v.visible)
	if err != nil {
		t.Fatal(err)
	}
	const want = "PATH=/usr/games:/ws/bin:/usr/local/bin:/usr/bin:/bin"
	if got := tools.environ("/home/agent", false); !slices.Equal(got, []string{want}) {
		t.Errorf("the variables are %q, want %q", got, want)
	}
}

// TestFrames holds that frames come out as they went in, in the engine's parts,
// and that what is damaged is an error.
func TestFrames(t *testing.T) {
	var frames bytes.Buffer
	w := &frameWriter{w: &frames}
	if err := w.send(frameOutput, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := w.send(frameInput, nil); err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	part := func(output byte, data []byte) {
		stream.Write(binary.BigEndian.AppendUint32([]byte{output, 0, 0, 0}, uint32(len(data))))
		stream.Write(data)
	}
	for _, b := range frames.Bytes() { // in parts of a byte, with errors between them
		part(1, []byte{b})
		part(2, []byte("!"))
	}
	r := &outputReader{r: &stream}
	for _, want := range []string{"o hello", "i "} {
		if kind, data, err := readFrame(r); err != nil || fmt.Sprintf("%c %s", kind, data) != want {
			t.Errorf("%c %q, %v, want %q", kind, data, err, want)
		}
	}
	if _, _, err := readFrame(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if got := string(r.said); got != strings.Repeat("!", frames.Len()) {
		t.Errorf("the error output is %q", got)
	}
	for text, want := range map[string]error{"o\x00\x00": io.ErrUnexpectedEOF, "o\x00\x00\x00\x05hi": io.ErrUnexpectedEOF} {
		if _, _, err := readFrame(strings.NewReader(text)); err != want {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	if _, _, err := readFrame(strings.NewReader("o\xff\xff\xff\xff")); err == nil || !strings.Contains(err.Error(), "4294967295") {
		t.Errorf("a frame that is too large: %v", err)
	}
}
