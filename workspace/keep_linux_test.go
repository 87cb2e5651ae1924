package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/sight"
	"golang.org/x/sys/unix"
)

// A look is what a file has beside its content.
type look struct {
	mode     fs.FileMode
	inode    uint64
	uid, gid uint32
	links    uint64
	attr     string
}

func lookAt(t *testing.T, file string) look {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	value := make([]byte, 100)
	if err := unix.Lstat(file, &st); err != nil {
		t.Fatal(err)
	}
	n, err := unix.Getxattr(file, "user.note", value)
	if err != nil {
		n = 0
	}
	return look{info.Mode(), st.Ino, st.Uid, st.Gid, uint64(st.Nlink), string(value[:n])}
}

// ways are those by which a file gets another content.
var ways = map[string]func(d *Dir, ctx context.Context, name, text string) error{
	"WriteFile": func(d *Dir, ctx context.Context, name, text string) error {
		return d.WriteFile(ctx, name, []byte(text))
	},
	"WriteFrom": func(d *Dir, ctx context.Context, name, text string) error {
		return d.WriteFrom(ctx, name, strings.NewReader(text))
	},
	"Change": func(d *Dir, ctx context.Context, name, text string) error {
		return d.Change(ctx, []Change{{Name: "beside", Data: []byte("x")}, {Name: name, Data: []byte(text)}})
	},
}

// TestWhatAFileHasIsKept: whichever way a file is written, and by whichever name, it has what
// it had but for its content, and every name of it in the workspace has the new one.
func TestWhatAFileHasIsKept(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	kinds := []struct {
		kind  string
		as    string // the name by which it is written
		make  func(file string) error
		wrote []string
		said  string
	}{
		{kind: "plain", make: func(string) error { return nil }},
		{kind: "modes", make: func(file string) error {
			return os.Chmod(file, 0o751|fs.ModeSetgid|fs.ModeSetuid|fs.ModeSticky)
		}},
		{kind: "attribute", make: func(file string) error { return unix.Setxattr(file, "user.note", []byte("mine"), 0) }},
		{kind: "second name", make: func(file string) error { return os.Link(file, filepath.Join(filepath.Dir(file), "second")) },
			wrote: []string{"d/f", "d/second"}},
		{kind: "by the second name", as: "other/second", make: func(file string) error {
			other := filepath.Join(filepath.Dir(file), "..", "other")
			return errors.Join(os.Mkdir(other, 0o755), os.Link(file, filepath.Join(other, "second")))
		}, wrote: []string{"d/f", "other/second"}},
		{kind: "name outside", make: func(file string) error { return os.Link(file, outside) }, said: "keeps the old content"},
		{kind: "link", as: "link", make: func(file string) error {
			return os.Symlink("d/f", filepath.Join(filepath.Dir(file), "..", "link"))
		}},
		{kind: "link to its directory", as: "dl/f", make: func(file string) error {
			return os.Symlink(filepath.Dir(file), filepath.Join(filepath.Dir(file), "..", "dl"))
		}},
	}
	for _, k := range kinds {
		for way, write := range ways {
			t.Run(k.kind+" "+way, func(t *testing.T) {
				d, err := NewDir(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				file := filepath.Join(d.Dir(), "d", "f")
				if err := errors.Join(os.RemoveAll(outside), os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("long old"), 0o640), k.make(file)); err != nil {
					t.Fatal(err)
				}
				before := lookAt(t, file)
				name := "d/f"
				if k.as != "" {
					name = k.as
				}
				s := &sight.Sight{Known: func(string) bool { return true }}
				if err := write(d, sight.With(t.Context(), s), name, "new"); err != nil {
					t.Fatal(err)
				}
				after := lookAt(t, file)
				if k.said != "" {
					before.links = 1
				}
				if before.links == 1 {
					before.inode = after.inode
				}
				if before != after {
					t.Errorf("it had %+v and has %+v", before, after)
				}
				wrote := k.wrote
				if wrote == nil {
					wrote = []string{"d/f"}
				}
				var noted []string
				for _, w := range s.Writes() {
					if data, err := os.ReadFile(filepath.Join(d.Dir(), w.Path)); w.Path != "beside" {
						noted = append(noted, w.Path)
						if string(data) != "new" {
							t.Errorf("%s contains %q, %v", w.Path, data, err)
						}
					}
				}
				if slices.Sort(noted); !slices.Equal(noted, wrote) {
					t.Errorf("%q are noted, not %q", noted, wrote)
				}
				if said := fmt.Sprint(s.Said()); !strings.Contains(said, k.said) || k.said == "" && said != "[]" {
					t.Errorf("said: %s", said)
				}
				if left, _ := filepath.Glob(filepath.Join(d.Dir(), "*", ".tmp-*")); left != nil {
					t.Errorf("%q are left", left)
				}
			})
		}
	}
}

// TestChangeInPlaceIsUndone: where a later change fails, a file with two names has its old
// content again, and both names.
func TestChangeInPlaceIsUndone(t *testing.T) {
	d, err := NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	a, b, sub := filepath.Join(d.Dir(), "a"), filepath.Join(d.Dir(), "b"), filepath.Join(d.Dir(), "sub")
	if err := errors.Join(os.WriteFile(a, []byte("old"), 0o644), os.Link(a, b), os.WriteFile(sub, []byte("of others"), 0o644)); err != nil {
		t.Fatal(err)
	}
	before := lookAt(t, a)
	seen := func(sum string) bool { return sum == sight.Sum([]byte("old")) }
	ctx := sight.With(t.Context(), &sight.Sight{Known: seen})
	err = d.Change(ctx, []Change{{Name: "b", Data: []byte("new and longer")}, {Name: "sub", Data: []byte("x")}})
	if !errors.Is(err, sight.ErrUnseen) {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(a); err != nil || string(data) != "old" || lookAt(t, a) != before {
		t.Errorf("%q, %v, %+v", data, err, lookAt(t, a))
	}
	if left, err := os.ReadDir(d.Dir()); err != nil || len(left) != 3 {
		t.Errorf("%v are left, %v", left, err)
	}
}
