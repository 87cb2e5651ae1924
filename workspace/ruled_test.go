//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestWritesWhereItLeads: however a file is written, what counts is where the name leads when
// it is written, and not when the call was ruled on.
func TestWritesWhereItLeads(t *testing.T) {
	const tasks = ".vscode/tasks.json"
	ways := map[string]func(ctx context.Context, d *workspace.Dir, name string) error{
		"WriteFile": func(ctx context.Context, d *workspace.Dir, name string) error {
			return d.WriteFile(ctx, name, []byte("new"))
		},
		"WriteFrom": func(ctx context.Context, d *workspace.Dir, name string) error {
			return d.WriteFrom(ctx, name, strings.NewReader("new"))
		},
		"Change": func(ctx context.Context, d *workspace.Dir, name string) error {
			return d.Change(ctx, []workspace.Change{{Name: "other", Data: []byte("new")}, {Name: name, Data: []byte("new")}})
		},
		"Remove": func(ctx context.Context, d *workspace.Dir, name string) error { return d.Remove(ctx, name) },
		"Change that removes": func(ctx context.Context, d *workspace.Dir, name string) error {
			return d.Change(ctx, []workspace.Change{{Name: name}})
		},
	}
	links := map[string]struct {
		link, target, name string
		onlyWrites         bool // to remove the link harms nothing
	}{
		"a directory":                 {"v", ".vscode", "v/tasks.json", false},
		"by an absolute path":         {"v", "/.vscode", "v/tasks.json", false},
		"a file":                      {"tasks", tasks, "tasks", true},
		"a directory above":           {"v", ".", "v/.vscode/../.vscode/tasks.json", false},
		"another spelling":            {"v", ".VSCODE", "v/tasks.json", false},
		"a file that is not there":    {"rc", ".envrc", "rc", true},
		"a directory that is not":     {"v", ".idea", "v/workspace.xml", false},
		"a directory in a directory ": {"sub/v", "../.vscode", "sub/v/tasks.json", false},
	}
	for how, write := range ways {
		for what, l := range links {
			t.Run(how+" "+what, func(t *testing.T) {
				d := openDir(t, t.TempDir())
				putIn(t, d, tasks, "old")
				putIn(t, d, ".VSCODE/tasks.json", "old")
				putIn(t, d, "sub/x", "")
				target := l.target
				if filepath.IsAbs(target) {
					target = d.Dir() + target
				}
				name := filepath.ToSlash(filepath.Clean(l.name))
				// what the call was allowed to change, when there was no link yet
				ctx := protected.WithRuled(t.Context(), protected.Ruled{Names: []string{name}, Real: []string{name}})
				if err := os.Symlink(target, filepath.Join(d.Dir(), l.link)); err != nil {
					t.Fatal(err)
				}
				err := write(ctx, d, name)
				removes := strings.Contains(how, "emove")
				switch missing := removes && errors.Is(err, fs.ErrNotExist); {
				case removes && l.onlyWrites, missing:
				case !errors.Is(err, fs.ErrPermission):
					t.Errorf("the error is %v", err)
				}
				for _, name := range []string{tasks, ".VSCODE/tasks.json"} {
					if data, err := fs.ReadFile(d.FS(), name); string(data) != "old" {
						t.Errorf("%s is %q, %v", name, data, err)
					}
				}
				for _, name := range []string{".envrc", ".idea", "other"} {
					if _, err := fs.Stat(d.FS(), name); err == nil {
						t.Errorf("%s was made", name)
					}
				}
			})
		}
	}
}

// TestHardLink: another name of a protected file is another file as soon as it is written.
func TestHardLink(t *testing.T) {
	d := openDir(t, t.TempDir())
	putIn(t, d, ".envrc", "old")
	if err := os.Link(filepath.Join(d.Dir(), ".envrc"), filepath.Join(d.Dir(), "x")); err != nil {
		t.Fatal(err)
	}
	ctx := protected.WithRuled(t.Context(), protected.Ruled{Names: []string{"x"}, Real: []string{"x"}})
	if err := d.WriteFile(ctx, "x", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if data, _ := fs.ReadFile(d.FS(), ".envrc"); string(data) != "old" {
		t.Errorf(".envrc is %q", data)
	}
}

func openDir(t *testing.T, dir string) *workspace.Dir {
	t.Helper()
	d, err := workspace.NewDir(dir)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func putIn(t *testing.T, d *workspace.Dir, name, text string) {
	t.Helper()
	file := filepath.Join(d.Dir(), name)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
