package lawtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testFiles calls do for each file of tests.
func testFiles(t *testing.T, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path != top && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || path == filepath.Join(top, "bin")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		do(path, string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every package with tests has a TestMain of package testbed: its tests see nothing of the
// person who runs them, and leave no goroutine behind.
func TestEveryPackageStandsOnTheTestbed(t *testing.T) {
	stands := map[string]bool{}
	own := regexp.MustCompile(`\btestbed\.(Main|Run)\(`)
	testFiles(t, func(path, text string) {
		dir := filepath.Dir(path)
		stands[dir] = stands[dir] || strings.Contains(text, "func TestMain(") &&
			(own.MatchString(text) || dir == filepath.Join(top, "internal", "testbed") && strings.Contains(text, "{ Main(m) }"))
	})
	if len(stands) < 100 {
		t.Fatalf("only %d packages were found", len(stands))
	}
	for dir, ok := range stands {
		if !ok {
			t.Errorf("%s: its tests see the home of whoever runs them: add TestMain with testbed.Main", dir)
		}
	}
}

// TestKnobsAreNoSettings: the variables that make a test longer have names that the program
// does not take for its own, and package testbed takes those of the program away.
func TestKnobsAreNoSettings(t *testing.T) {
	read := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(OPENMANUS_\w+)"`)
	testFiles(t, func(path, text string) {
		if strings.HasPrefix(text, "//go:build live") {
			return // a person runs it, with their keys
		}
		for _, m := range read.FindAllStringSubmatch(text, -1) {
			t.Errorf("%s: it reads %s, which package testbed takes away", path, m[1])
		}
	})
}
