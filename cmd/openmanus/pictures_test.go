//go:build unix

package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var pictures = flag.Bool("pictures", false, "keep the pictures of the page in docs/pictures")

// shownBy says which files decide what the pictures in docs/pictures show, by the kind of picture.
var shownBy = map[string][]string{
	".png": {"server/web/src", "server/web/index.html", "cmd/openmanus/testdata/screens.mjs", "cmd/openmanus/testdata/screens"},
	".svg": {"internal/tui", "scripts/terminal"},
}

// hashOf returns the hash of the names and contents of files, and of those in directories but for tests.
func hashOf(t *testing.T, names ...string) string {
	t.Helper()
	hash, files := sha256.New(), 0
	for _, name := range names {
		err := fs.WalkDir(os.DirFS(filepath.Join("..", "..")), name, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir(), strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".test.ts"):
				return nil
			}
			data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
			fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
			files++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < len(names) {
		t.Fatalf("%v has %d files", names, files)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// TestPictures checks that docs/pictures has the pictures that make pictures made, as it made them. A version that
// is released has pictures of itself: if what they show was changed after that, the test says so, and fails where
// CHANGELOG.md begins with a version and not with what is unreleased.
func TestPictures(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "pictures")
	record := filepath.Join(dir, "made.txt")
	var now []string
	for kind, names := range shownBy {
		now = append(now, "sources "+kind+" "+hashOf(t, names...))
		files, err := filepath.Glob(filepath.Join(dir, "*"+kind))
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no pictures: %v", err)
		}
		for _, file := range files {
			at, err := filepath.Rel(filepath.Join("..", ".."), file)
			if err != nil {
				t.Fatal(err)
			}
			now = append(now, "picture "+path.Base(filepath.ToSlash(at))+" "+hashOf(t, filepath.ToSlash(at)))
		}
	}
	slices.Sort(now)
	if *pictures {
		if err := os.WriteFile(record, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	made := strings.Split(strings.TrimSpace(string(data)), "\n")
	unreleased := strings.Contains(strings.SplitAfterN(readPage(t, "CHANGELOG.md"), "\n## ", 3)[1], "Unreleased")
	for _, line := range slices.Concat(made, now) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "picture "), " ")
		switch {
		case slices.Contains(made, line) && slices.Contains(now, line):
		case strings.HasPrefix(line, "picture "):
			t.Errorf("docs/pictures/%s is not as make pictures made it", name)
		case slices.Contains(made, line): // there is a line of now as well
		case unreleased:
			t.Logf("the pictures %s are older than what they show: make pictures, before the next release", strings.Fields(line)[1])
		default:
			t.Errorf("the pictures %s are not of this version: make pictures", strings.Fields(line)[1])
		}
	}
}
