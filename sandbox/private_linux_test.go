package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The next process removes what a killed one left behind: with a free lock at
// once, and without a lock when it is so old that its owner cannot be about to
// remove it. A locked directory stays.
func TestSweepPrivate(t *testing.T) {
	parent := t.TempDir()
	held, err := newPrivate(parent)
	if err != nil {
		t.Fatal(err)
	}
	plant := func(name string, lock bool, age time.Duration) string {
		dir := filepath.Join(parent, privatePrefix+name)
		if err := os.MkdirAll(filepath.Join(dir, "home", "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if lock {
			if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	killed := plant("killed", true, 0)
	dying := plant("dying", true, 0)
	// Directories stand for cgroups: one with something in it cannot be removed.
	groups := t.TempDir()
	for _, dir := range []string{killed, dying} {
		group := filepath.Join(groups, filepath.Base(dir))
		other := filepath.Join(groups, "other")
		if err := errors.Join(os.MkdirAll(group, 0o755), os.MkdirAll(other, 0o755), os.WriteFile(filepath.Join(dir, cgroupsName), []byte(other+"\n"+group), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(groups, filepath.Base(dying), "process"), 0o755); err != nil {
		t.Fatal(err)
	}
	cut := plant("cut", false, time.Hour)
	going := plant("going", false, 0)
	p, err := newPrivate(parent)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{
		killed: false, cut: false, going: true, held.dir: true, p.dir: true, dying: true,
		filepath.Join(groups, filepath.Base(killed)): false, filepath.Join(groups, "other"): true,
	} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
	for _, p := range []*private{held, p} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.dir); err == nil {
			t.Error("a directory is there after its end")
		}
	}
}
