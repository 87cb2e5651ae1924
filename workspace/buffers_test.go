package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

// texts are those of an editor: by path, and "" for every session but "s".
type texts struct {
	mu    sync.Mutex
	open  map[string]string
	save  func(path, text string) error // when it is given a text; nil: it does not save
	fails error
	asked []string
}

func (x *texts) ReadText(_ context.Context, session, path string) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, "read "+path)
	text, ok := x.open[path]
	switch {
	case session != "s":
		return "", errors.ErrUnsupported
	case x.fails != nil:
		return "", x.fails
	case !ok:
		return "", fs.ErrNotExist
	}
	return text, nil
}

func (x *texts) WriteText(_ context.Context, session, path, text string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, "write "+path)
	switch {
	case session != "s":
		return errors.ErrUnsupported
	case x.fails != nil:
		return x.fails
	case x.save != nil:
		if err := x.save(path, text); err != nil {
			return err
		}
	}
	x.open[path] = text
	return nil
}

func newTexts() *texts { return &texts{open: make(map[string]string)} }

// TestTextsOfAnEditor reads and writes a file that is open in an editor, as the calls of its
// session find it, and as the others do.
func TestTextsOfAnEditor(t *testing.T) {
	d, x := newDir(t, t.TempDir()), newTexts()
	t.Cleanup(func() { d.Close() })
	w := workspace.WithBuffers(d, x)
	file := func(name string) string { return filepath.Join(d.Dir(), name) }
	put(t, file("a.txt"), "saved\r\nlines\r\n")
	put(t, file("sub/marked.txt"), "\uFEFFsaved\n")
	put(t, file("binary"), "\x00saved")
	put(t, file("clean.txt"), "saved\n")
	if err := os.Symlink("a.txt", file("link")); err != nil {
		t.Fatal(err)
	}
	x.open[file("a.txt")], x.open[file("sub/marked.txt")], x.open[file("binary")] = "typed\nlines\n", "typed\n", "typed"
	s := workspace.In(t.Context(), w, "s")
	for name, want := range map[string]string{
		"a.txt": "typed\r\nlines\r\n", "link": "typed\r\nlines\r\n", "sub/marked.txt": "\uFEFFtyped\n", "binary": "\x00saved", "clean.txt": "saved\n",
	} {
		if got, err := fs.ReadFile(s.FS(), name); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		if info, err := fs.Stat(s.FS(), name); err != nil || info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, other := range []workspace.Workspace{w, d, workspace.In(t.Context(), w, "other"), workspace.In(t.Context(), d, "s")} {
		if got, err := fs.ReadFile(other.FS(), "a.txt"); string(got) != "saved\r\nlines\r\n" || err != nil {
			t.Errorf("%T: %q, %v", other, got, err)
		}
	}
	formats := func(path, text string) error { return os.WriteFile(path, []byte(strings.ToUpper(text)), 0o644) }
	for _, c := range []struct {
		name, data, disk string
		save             func(path, text string) error
	}{
		{"a.txt", "new\n", "new\n", nil}, // it does not save: we do
		{"a.txt", "newer\n", "NEWER\n", formats},
		{"link", "newest\n", "NEWEST\n", formats},
		{"made/here/b.txt", "b\n", "b\n", nil},
		{"binary", "\x01\x00", "\x01\x00", formats}, // it is not asked
	} {
		x.save = c.save
		if err := s.WriteFile(t.Context(), c.name, []byte(c.data)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, err := os.ReadFile(file(c.name)); string(got) != c.disk || err != nil {
			t.Errorf("%s has %q on the disk (%v), want %q", c.name, got, err, c.disk)
		}
	}
	if got := x.open[file("made/here/b.txt")]; got != "b\n" {
		t.Errorf("the editor has %q", got)
	}
	for _, asked := range x.asked {
		if strings.HasSuffix(asked, "binary") || strings.HasSuffix(asked, "link") {
			t.Error(asked)
		}
	}
}

// TestEditorsThatFail holds that nothing is changed where the editor fails, and that what
// is kept from a session is kept from its editor as well.
func TestEditorsThatFail(t *testing.T) {
	d, x := hidingDir(t), newTexts()
	d.Guard = func(name string) error {
		if name == "guarded.txt" {
			return fs.ErrPermission
		}
		return nil
	}
	s := workspace.In(t.Context(), workspace.WithBuffers(d, x), "s")
	for _, name := range []string{"secret.csv", "link", "private/key", "guarded.txt", "../out.txt", "."} {
		if err := s.WriteFile(t.Context(), name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
		if data, err := fs.ReadFile(s.FS(), name); err == nil {
			t.Errorf("%s: %q", name, data)
		}
	}
	if len(x.asked) > 0 {
		t.Errorf("the editor was asked for %q", x.asked)
	}
	x.fails = errors.New("no answer")
	if err := s.WriteFile(t.Context(), "deep/down/a.txt", []byte("x")); !errors.Is(err, x.fails) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.Dir(), "deep")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("directories are left: ", err)
	}
	if _, err := fs.ReadFile(s.FS(), "free.csv"); !errors.Is(err, x.fails) {
		t.Error(err)
	}
	x.fails = nil
	n := 0
	x.save = func(path, text string) error { // the second file fails, and the first is put back
		if n++; n == 2 {
			return errors.New("full")
		}
		return os.WriteFile(path, []byte(text), 0o644)
	}
	changes := []workspace.Change{{Name: "free.csv", Data: []byte("changed")}, {Name: "new.csv", Data: []byte("new")}}
	if err := workspace.ChangeFiles(t.Context(), s, changes); err == nil || n != 3 {
		t.Errorf("%v after %d texts", err, n)
	}
	if got, err := os.ReadFile(filepath.Join(d.Dir(), "free.csv")); string(got) != "free" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDirWithAnEditorConforms runs the suite on a workspace whose editor does not read and
// write files of the session: all goes the usual way.
func TestDirWithAnEditorConforms(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace {
		return workspace.In(t.Context(), workspace.WithBuffers(newDir(t, dir), newTexts()), "other")
	})
}
