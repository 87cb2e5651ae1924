package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/internal/sight"
)

// A person saves a file while a call that has seen the version before writes it. In whatever
// order that happens, what the person saved is there in the end or was never replaced: a call
// that comes later is refused, and one that came earlier is what the person has replaced.
func TestWhatIsSavedMeanwhileIsNotLost(t *testing.T) {
	dir := t.TempDir()
	d, err := NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	file := filepath.Join(dir, "notes.md")
	for i := range 60 {
		before, saved := fmt.Sprintf("before %d", i), fmt.Sprintf("saved by the person %d", i)
		if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		ctx := sight.With(t.Context(), &sight.Sight{Known: func(sum string) bool { return sum == sight.Sum([]byte(before)) }})
		var both sync.WaitGroup
		both.Go(func() {
			temp := filepath.Join(dir, "person")
			if err := errors.Join(os.WriteFile(temp, []byte(saved), 0o644), os.Rename(temp, file)); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			var err error
			if i%2 == 0 {
				err = d.WriteFile(ctx, "notes.md", []byte("of the agent"))
			} else {
				err = d.Change(ctx, []Change{{Name: "notes.md", Data: []byte("of the agent")}})
			}
			if err != nil && !errors.Is(err, sight.ErrUnseen) && !errors.Is(err, sight.ErrRaced) {
				t.Error(err)
			}
		})
		both.Wait()
		if now, err := os.ReadFile(file); err != nil || string(now) != saved {
			t.Errorf("round %d: %q, %v", i, now, err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A file that appears while a call makes one with that name stays.
func TestANewFileReplacesNone(t *testing.T) {
	dir := t.TempDir()
	d, err := NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := &sight.Sight{}
	ctx := sight.With(t.Context(), s)
	if err := d.WriteFile(ctx, "new.txt", []byte("a")); err != nil {
		t.Error(err)
	}
	if err := d.WriteFile(ctx, "new.txt", []byte("b")); err != nil { // the call knows what it wrote
		t.Error(err)
	}
	other := func() context.Context { return sight.With(t.Context(), &sight.Sight{}) }
	for what, err := range map[string]error{
		"write":  d.WriteFile(other(), "new.txt", []byte("c")),
		"remove": d.Remove(other(), "new.txt"),
		"change": d.Change(other(), []Change{{Name: "fresh.txt", Data: []byte("c")}, {Name: "new.txt"}}),
	} {
		if !errors.Is(err, sight.ErrUnseen) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.WriteFile(other(), "new.txt", []byte("b")); err != nil { // nothing is lost by that
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "fresh.txt")); err == nil {
		t.Error("a change was made in part")
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteFile(other(), "empty.txt", []byte("b")); err != nil {
		t.Error(err)
	}
	looks := sight.With(t.Context(), &sight.Sight{Looks: true})
	never := sight.With(t.Context(), &sight.Sight{Looks: true, Never: true})
	if err := d.WriteFile(looks, "byproduct.txt", []byte("b")); err != nil {
		t.Error(err)
	}
	if err := d.WriteFile(never, "another.txt", []byte("b")); !errors.Is(err, sight.ErrLooks) {
		t.Error(err)
	}
}
