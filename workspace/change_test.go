package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/workspace"
)

// oneByOne are files that are no Changer.
type oneByOne struct{ workspace.Files }

// tree returns the files below dir with their content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var data []byte
			data, err = fs.ReadFile(os.DirFS(dir), name)
			all = append(all, name+"="+string(data))
		} else if err == nil && name != "." {
			all = append(all, name+"/")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestChangeFiles(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes []workspace.Change
		fails   bool
		want    string
	}{
		{"all", []workspace.Change{{Name: "a", Data: []byte("A")}, {Name: "d/e/f", Data: []byte{}}, {Name: "b"}}, false, "a=A c=3 d/ d/e/ d/e/f="},
		{"none: a file that is not there", []workspace.Change{{Name: "a", Data: []byte("A")}, {Name: "none"}}, true, "a=1 b=2 c=3"},
		{"none: what was done is put back", []workspace.Change{{Name: "a", Data: []byte("A")}, {Name: "n", Data: []byte("N")}, {Name: "b"}, {Name: "b"}}, true, "a=1 b=2 c=3"},
		{"none: outside", []workspace.Change{{Name: "b"}, {Name: "../x", Data: []byte("X")}}, true, "a=1 b=2 c=3"},
		{"none: a file as a directory", []workspace.Change{{Name: "b"}, {Name: "a/x", Data: []byte("X")}}, true, "a=1 b=2 c=3"},
	} {
		for _, simple := range []bool{false, true} {
			dir := t.TempDir()
			for name, text := range map[string]string{"a": "1", "b": "2", "c": "3"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			ws, err := workspace.NewDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var files workspace.Files = ws
			if simple {
				files = oneByOne{ws}
			}
			if err := workspace.ChangeFiles(t.Context(), files, tt.changes); (err != nil) != tt.fails {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := tree(t, dir); got != tt.want {
				t.Errorf("%s (one by one: %v): %s, want %s", tt.name, simple, got, tt.want)
			}
			ws.Close()
		}
	}
}

// An end of the context before the first file is replaced leaves everything as it was.
func TestChangeFilesIsCancelled(t *testing.T) {
	dir := t.TempDir()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = workspace.ChangeFiles(ctx, ws, []workspace.Change{{Name: "a/b", Data: []byte("A")}})
	if got := tree(t, dir); !errors.Is(err, context.Canceled) || got != "" {
		t.Errorf("%v: %s", err, got)
	}
}

// A file that must not be changed keeps the others from being changed.
func TestChangeFilesAsksTheGuard(t *testing.T) {
	dir := t.TempDir()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	var asked []string
	ws.Guard = func(name string) error {
		if asked = append(asked, name); name == "no" {
			return fs.ErrPermission
		}
		return nil
	}
	err = workspace.ChangeFiles(t.Context(), ws, []workspace.Change{{Name: "yes", Data: []byte("A")}, {Name: "no", Data: []byte("A")}})
	if got := tree(t, dir); !errors.Is(err, fs.ErrPermission) || got != "" || !slices.Equal(asked, []string{"yes", "no"}) {
		t.Errorf("%v: %s, asked about %v", err, got, asked)
	}
}
