package meant_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/meant"
	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// TestWhatAPathMeans: DIR in a path is the workspace, LINK a link to it, and IN a link to the
// directory src in it. A path is the name of the file want, or an error that has the words.
func TestWhatAPathMeans(t *testing.T) {
	top := t.TempDir()
	dir, link, in := filepath.Join(top, "real", "ws"), filepath.Join(top, "link"), filepath.Join(top, "in")
	for _, name := range []string{
		"notes.md", "src/main.go", "~/odd", "$HOME/odd", "file:/odd", "C:/odd", `back\slash`, "a b.txt", "Screen\u202fshot.png",
		"cafe\u0301.txt", "na\u00efve.txt", "bytes\xff.txt", "twin\xfe", "twin\xfd", "line\nbreak", "d\u00a0d/in", " spaced ", "zero\u200bwidth", "%TEMP%/odd",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(filepath.Join("real", "ws"), link), os.Symlink(filepath.Join(dir, "src"), in)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", top)
	for _, c := range []struct{ path, want, fails string }{
		// as it is written
		{path: "notes.md", want: "notes.md"},
		{path: "./src/../notes.md", want: "notes.md"},
		{path: "new.txt", want: "new.txt"},
		{path: "new/er/file", want: "new/er/file"},
		{path: ".", want: "."},
		{path: "DIR", want: "."},
		{path: "DIR/notes.md", want: "notes.md"},
		{path: "~/odd", want: "~/odd"},
		{path: "$HOME/odd", want: "$HOME/odd"},
		{path: "%TEMP%/odd", want: "%TEMP%/odd"},
		{path: "C:/odd", want: "C:/odd"},
		{path: `back\slash`, want: `back\slash`},
		{path: "line\nbreak", want: "line\nbreak"},
		{path: "$id.tsx", want: "$id.tsx"},
		{path: "$types/x.ts", want: "$types/x.ts"},
		{path: "~backup", want: "~backup"},
		// outside
		{path: "../x", fails: "outside the workspace"},
		{path: "/etc/passwd", fails: "outside the workspace"},
		{path: "~", want: "~"},
		{path: "~/x", fails: "outside the workspace"},
		{path: "~root/x", fails: "outside the workspace"},
		{path: "$HOME/x", fails: "outside the workspace"},
		{path: "${HOME}/x", fails: "outside the workspace"},
		{path: "$WORK/x", fails: "a variable"},
		{path: "%APPDATA%/x", fails: "a variable"},
		{path: "file:///etc/passwd", fails: "outside the workspace"},
		{path: "file://server/x", fails: "outside the workspace"},
		{path: "file:", want: "file:"},
		{path: "file:%00", fails: "outside the workspace"},
		{path: `C:\Users\x`, fails: "outside the workspace"},
		{path: "d:/x", fails: "outside the workspace"},
		{path: `\\server\x`, fails: "outside the workspace"},
		{path: "", fails: "empty"},
		{path: "a\x00b", fails: "NUL"},
		// another way to write it
		{path: "LINK", want: "."},
		{path: "LINK/notes.md", want: "notes.md"},
		{path: "LINK/new.txt", want: "new.txt"},
		{path: "IN/main.go", want: "src/main.go"},
		{path: "IN/new.go", want: "src/new.go"},
		{path: "~/link/notes.md", want: "notes.md"},
		{path: "${HOME}/real/ws/notes.md", want: "notes.md"},
		{path: "$PWD/notes.md", want: "notes.md"},
		{path: "file://DIR/notes.md", want: "notes.md"},
		{path: "file://localhostDIR/a%20b.txt", want: "a b.txt"},
		{path: "file:notes.md", want: "notes.md"},
		{path: `src\main.go`, want: "src/main.go"},
		{path: "a\u00a0b.txt", want: "a b.txt"},
		{path: "Screen shot.png", want: "Screen\u202fshot.png"},
		{path: "caf\u00e9.txt", want: "cafe\u0301.txt"},
		{path: "nai\u0308ve.txt", want: "na\u00efve.txt"},
		{path: "d d/in", want: "d\u00a0d/in"},
		{path: "d d/new", want: "d\u00a0d/new"},
		{path: "bytes\ufffd.txt", want: "bytes\xff.txt"},
		{path: "notes.md\n", want: "notes.md"},
		{path: "spaced", want: " spaced "},
		{path: "zerowidth", want: "zero\u200bwidth"},
		{path: "twin\ufffd", fails: "could mean each of"},
	} {
		p := strings.NewReplacer("DIR", dir, "LINK", link, "IN/", in+"/").Replace(c.path)
		m, err := meant.In(dir, p)
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: %q, %v; want an error with %q", c.path, m.Name, err, c.fails)
			}
		case err != nil || m.Name != c.want:
			t.Errorf("%q: %q, %v; want %q", c.path, m.Name, err, c.want)
		case m.Said == "" && strings.ContainsAny(c.path, "\u00a0\ufffd\u00e9") && m.Name != "d\u00a0d/new", m.Said != "" && c.path == c.want:
			t.Errorf("%q is said to be %q", c.path, m.Said)
		}
	}
}

// FuzzIn: whatever a path is, the name is one in the workspace, and no path leads out.
func FuzzIn(f *testing.F) {
	for _, p := range []string{"a", "../a", "file:///a/../..", "~/../x", "$PWD/../x", `C:\`, "a\ufffd/..", "/", "%A%/"} {
		f.Add(p)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, p string) {
		m, err := meant.In(dir, p)
		if err != nil {
			return
		}
		if !meant.Valid(m.Name) {
			t.Errorf("%q means %q", p, m.Name)
		}
		if rel, err := filepath.Rel(dir, filepath.Join(dir, m.Name)); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%q means %q", p, m.Name)
		}
		if again, err := meant.In(dir, filepath.Join(dir, m.Name)); err != nil || again.Name != m.Name {
			t.Errorf("%q means %q, and that %q, %v", p, m.Name, again.Name, err)
		}
	})
}
