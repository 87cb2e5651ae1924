//go:build unix

package regular_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// tree returns a root with one file of each kind, and a secret beside it.
func tree(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "ws", name) }
	for _, err := range []error{
		os.MkdirAll(at("sub"), 0o700),
		os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600),
		os.WriteFile(at("file"), []byte("0123456789"), 0o600),
		os.Symlink("file", at("link")),
		os.Symlink("../secret", at("out")),
		os.Symlink(filepath.Join(dir, "secret"), at("absolute")),
		os.Symlink("/dev/zero", at("zero")),
		os.Symlink("/proc/self/environ", at("environ")),
		syscall.Mkfifo(at("pipe"), 0o600),
		syscall.Mkfifo(at("sub/pipe"), 0o600),
		os.Symlink("pipe", at("linked-pipe")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(at("."))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// No file that is not regular, and none outside, is opened, by any of the ways.
// That the test ends shows that no pipe blocks.
func TestOnlyRegularFilesInsideAreRead(t *testing.T) {
	root := tree(t)
	for name, want := range map[string]string{"file": "0123", "link": "0123", "out": "", "absolute": "", "zero": "", "environ": "",
		"pipe": "", "linked-pipe": "", "sub/pipe": "", "sub": "", "none": "", "../secret": ""} {
		data, err := regular.Read(root, name, 4)
		if string(data) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if data, err := fs.ReadFile(regular.FS(root), name); want != "" && string(data) != "0123456789" || (err == nil) != (want != "") {
			t.Errorf("%s as a file of the FS: %q, %v", name, data, err)
		}
	}
	if _, err := regular.Read(root, "pipe", 1); !errors.Is(err, regular.Err) {
		t.Errorf("a pipe: %v", err)
	}
	if entries, err := fs.ReadDir(regular.FS(root), "sub"); err != nil || len(entries) != 1 {
		t.Errorf("a directory: %v, %v", entries, err)
	}
}

// A file that becomes a pipe and a file again while it is opened never blocks, and
// is never taken for a file when it is a pipe.
func TestAPipeInPlaceOfAFileDoesNotBlock(t *testing.T) {
	root := tree(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 300 {
			for _, from := range []string{"file", "pipe"} {
				if err := errors.Join(root.Link(from, "next"), root.Rename("next", "now")); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for swapping := true; swapping; {
		select {
		case <-done:
			swapping = false
		default:
		}
		data, err := regular.Read(root, "now", 4)
		if err == nil && string(data) != "0123" {
			t.Errorf("read %q", data)
		}
	}
}
