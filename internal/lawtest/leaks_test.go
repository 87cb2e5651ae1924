package lawtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every package with tests checks that they leave no goroutine behind: its TestMain
// is that of package leaktest, or one that uses it.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	looks := map[string]bool{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path != top && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" ||
			d.Name() == "examples" || d.Name() == "bench" ||
			d.Name() == "obedient" || d.Name() == "leaktest") {
			return fs.SkipDir // programs to read and to run; and leaktest itself
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		looks[dir] = looks[dir] || strings.Contains(string(data), "leaktest.")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(looks) < 50 {
		t.Fatalf("only %d packages were found", len(looks))
	}
	for dir, ok := range looks {
		if !ok {
			t.Errorf("%s: its tests do not look for leaked goroutines: add TestMain with leaktest.Main", dir)
		}
	}
}
