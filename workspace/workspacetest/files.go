package workspacetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing/fstest"
)

// files are the cases of [workspace.Files].
func files() []testCase {
	return []testCase{
		{"files: what was written is read", written},
		{"files: the file system is a proper one", properFS},
		{"files: parents are made", parents},
		{"files: the mode is kept", mode},
		{"files: a name that is not one is refused", badNames},
		{"files: a link that leads out is refused", linkOut},
		{"files: a chain of links that leads out is refused", chainOut},
		{"files: a link within is followed and stays a link", linkWithin},
		{"files: links in a circle are refused", circle},
		{"files: a directory that turns into a link out is never entered", swap},
		{"files: a hard link from outside is never written through", hardLink},
		{"files: a reader sees the old or the new content", atomicReplace},
		{"files: nothing is left behind by a write that fails", noLitter},
		{"files: a pipe is refused and does not hang", fifo},
		{"files: a directory is not overwritten", overDirectory},
		{"files: remove removes a file and no directory", remove},
		{"files: remove removes the link and not its target", removeLink},
		{"files: nothing works after Close", filesAfterClose},
	}
}

func written(b *box) {
	big := bytes.Repeat([]byte("\x00\xff\r\n"), 1<<18)
	for name, data := range map[string][]byte{"a.txt": []byte("hello\n"), "empty": nil, "big.bin": big, "ümläut 日本.txt": []byte("x")} {
		b.must(b.ws.WriteFile(b.Context(), name, data))
		got, err := fs.ReadFile(b.ws.FS(), name)
		if err != nil || !bytes.Equal(got, data) {
			b.Errorf("%s: read %d bytes, %v; wrote %d", name, len(got), err, len(data))
		}
	}
	b.has(b.at("a.txt"), "hello\n")
}

func properFS(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "a.txt", []byte("a")))
	b.must(b.ws.WriteFile(b.Context(), "sub/b.txt", []byte("b")))
	if err := fstest.TestFS(b.ws.FS(), "a.txt", "sub/b.txt"); err != nil {
		b.Error(err)
	}
	for what, ok := range map[string]bool{"StatFS": is[fs.StatFS](b.ws.FS()), "ReadFileFS": is[fs.ReadFileFS](b.ws.FS()), "ReadDirFS": is[fs.ReadDirFS](b.ws.FS())} {
		if !ok {
			b.Errorf("it is not an fs.%s", what)
		}
	}
	if _, err := fs.Stat(b.ws.FS(), "missing"); !errors.Is(err, fs.ErrNotExist) {
		b.Errorf("Stat of what is missing: %v, want fs.ErrNotExist", err)
	}
	if b.ws.Dir() != b.dir {
		b.Errorf("Dir() = %s, want %s", b.ws.Dir(), b.dir)
	}
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func parents(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "x/y/z/f", []byte("deep")))
	b.has(b.at("x", "y", "z", "f"), "deep")
}

func mode(b *box) {
	if runtime.GOOS == "windows" {
		return // there are no permission bits to keep
	}
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o664} {
		b.put(b.at("script"), "old")
		b.must(os.Chmod(b.at("script"), mode))
		b.must(b.ws.WriteFile(b.Context(), "script", []byte("new")))
		b.has(b.at("script"), "new")
		info, err := os.Stat(b.at("script"))
		b.must(err)
		if info.Mode() != mode {
			b.Errorf("the mode was %v and is %v", mode, info.Mode())
		}
	}
}

func badNames(b *box) {
	b.put(filepath.Join(b.outside, "f"), "secret")
	names := []string{"", ".", "..", "../outside/f", "x/../../outside/f", "/etc/passwd", filepath.ToSlash(b.outside) + "/f", "a/", "/", "a//b", "a\x00b", "./a"}
	for _, name := range names {
		if err := b.ws.WriteFile(b.Context(), name, []byte("x")); err == nil {
			b.Errorf("WriteFile(%q) succeeded", name)
		}
		if err := b.ws.Remove(b.Context(), name); err == nil {
			b.Errorf("Remove(%q) succeeded", name)
		}
		if name == "." {
			continue // the root may be read
		}
		if _, err := fs.ReadFile(b.ws.FS(), name); err == nil {
			b.Errorf("ReadFile(%q) succeeded", name)
		}
		if _, err := fs.Stat(b.ws.FS(), name); err == nil {
			b.Errorf("Stat(%q) succeeded", name)
		}
	}
	b.has(filepath.Join(b.outside, "f"), "secret")
}

func linkOut(b *box) {
	secret := filepath.Join(b.outside, "secret")
	b.put(secret, "secret")
	b.must(os.Symlink(secret, b.at("absolute")))
	b.must(os.Symlink("../outside/secret", b.at("relative")))
	b.must(os.Symlink(b.outside, b.at("dir")))
	b.must(os.Symlink("../outside/new", b.at("dangling")))
	for _, name := range []string{"absolute", "relative", "dir/secret", "dangling", "dir/new"} {
		b.refused(name)
	}
	if _, err := fs.ReadDir(b.ws.FS(), "dir"); err == nil {
		b.Error("ReadDir listed a directory outside")
	}
	if err := b.ws.Remove(b.Context(), "dir/secret"); err == nil {
		b.Error("Remove removed a file outside")
	}
	b.has(secret, "secret")
	if _, err := os.Lstat(filepath.Join(b.outside, "new")); err == nil {
		b.Error("a file was made outside")
	}
}

// refused fails unless name can be neither read nor written, and the error
// says which name it is about.
func (b *box) refused(name string) {
	b.Helper()
	data, err := fs.ReadFile(b.ws.FS(), name)
	if err == nil {
		b.Errorf("read %q through %s", data, name)
	} else if !strings.Contains(err.Error(), name) {
		b.Errorf("the error does not name %s: %v", name, err)
	}
	if f, err := b.ws.FS().Open(name); err == nil {
		f.Close()
		b.Errorf("opened %s", name)
	}
	err = b.ws.WriteFile(b.Context(), name, []byte("overwritten"))
	if err == nil {
		b.Errorf("wrote through %s", name)
	} else if !strings.Contains(err.Error(), name) {
		b.Errorf("the error does not name %s: %v", name, err)
	}
}

func chainOut(b *box) {
	b.put(filepath.Join(b.outside, "secret"), "secret")
	b.must(os.MkdirAll(b.at("d", "e"), 0o777))
	b.must(os.Symlink("d/e/up", b.at("one")))
	b.must(os.Symlink("../../../outside", b.at("d", "e", "up")))
	b.refused("one/secret")
	b.has(filepath.Join(b.outside, "secret"), "secret")
}

func linkWithin(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "d/target", []byte("old")))
	b.must(os.Symlink("d/target", b.at("relative")))
	b.must(os.Symlink(b.at("d", "target"), b.at("absolute")))
	b.must(os.Symlink(b.at("d"), b.at("dir")))
	b.must(os.Symlink("d/not-yet", b.at("dangling")))
	for _, name := range []string{"relative", "absolute", "dir/target"} {
		b.must(b.ws.WriteFile(b.Context(), name, []byte("through "+name)))
		b.has(b.at("d", "target"), "through "+name)
		if got, err := fs.ReadFile(b.ws.FS(), name); err != nil || string(got) != "through "+name {
			b.Errorf("read %q through %s, %v", got, name, err)
		}
	}
	b.must(b.ws.WriteFile(b.Context(), "dangling", []byte("made")))
	b.has(b.at("d", "not-yet"), "made")
	for _, name := range []string{"relative", "absolute", "dir", "dangling"} {
		if info, err := os.Lstat(b.at(name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			b.Errorf("%s is no longer a link: %v", name, err)
		}
	}
}

func circle(b *box) {
	b.must(os.Symlink("b", b.at("a")))
	b.must(os.Symlink("a", b.at("b")))
	b.within("a circle of links", func() { b.refused("a") })
}

// swap lets a directory and a link to the outside change places for as long as
// files are written and read below its name.
func swap(b *box) {
	secret := filepath.Join(b.outside, "f")
	b.put(secret, "secret")
	b.must(os.Mkdir(b.at("real"), 0o777))
	b.must(os.Symlink("../outside", b.at("link")))
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			from := []string{"real", "link"}[i%2]
			if os.Rename(b.at(from), b.at("d")) == nil {
				_ = os.Rename(b.at("d"), b.at(from)) // nobody else renames it
			}
		}
	})
	for range 200 {
		_ = b.ws.WriteFile(b.Context(), "d/f", []byte("inside")) // may fail, must not reach outside
		if data, err := fs.ReadFile(b.ws.FS(), "d/f"); err == nil && string(data) == "secret" {
			b.Error("read a file outside")
		}
		_ = b.ws.Remove(b.Context(), "d/f") // likewise
	}
	close(done)
	swapping.Wait()
	b.has(secret, "secret")
	if entries, err := os.ReadDir(b.outside); err != nil || len(entries) != 1 {
		b.Errorf("outside now has %d files, %v; want 1", len(entries), err)
	}
}

func hardLink(b *box) {
	secret := filepath.Join(b.outside, "passwd")
	b.put(secret, "root")
	b.must(os.Link(secret, b.at("linked")))
	b.must(b.ws.WriteFile(b.Context(), "linked", []byte("mallory")))
	b.has(b.at("linked"), "mallory")
	b.has(secret, "root")
}

func atomicReplace(b *box) {
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17)}
	b.must(b.ws.WriteFile(b.Context(), "f", contents[0]))
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			got, err := os.ReadFile(b.at("f"))
			if err != nil || !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
				b.Errorf("a reader saw %d bytes that are neither the old nor the new content, %v", len(got), err)
				return
			}
		}
	})
	for i := range 100 {
		if err := b.ws.WriteFile(b.Context(), "f", contents[(i+1)%2]); err != nil {
			b.Error(err)
		}
	}
	close(done)
	reading.Wait()
}

func noLitter(b *box) {
	b.must(os.Mkdir(b.at("d"), 0o777))
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if err := b.ws.WriteFile(ctx, "new", []byte("x")); !errors.Is(err, context.Canceled) {
		b.Errorf("WriteFile after its context ended: %v", err)
	}
	if err := b.ws.WriteFile(b.Context(), "d", []byte("x")); err == nil {
		b.Error("a directory was overwritten")
	}
	b.must(b.ws.WriteFile(b.Context(), "d/f", []byte("x")))
	for dir, want := range map[string]string{".": "d", "d": "f"} {
		entries, err := os.ReadDir(b.at(dir))
		if err != nil || len(entries) != 1 || entries[0].Name() != want {
			b.Errorf("%s contains %v, %v; want %s alone", dir, entries, err, want)
		}
	}
}

func fifo(b *box) {
	if out, err := b.sh("mkfifo pipe && ln -s pipe link"); err != nil {
		b.Fatalf("mkfifo: %v: %s", err, out)
	}
	b.within("a pipe", func() {
		b.refused("pipe")
		b.refused("link")
		if _, err := fs.Stat(b.ws.FS(), "pipe"); err != nil {
			b.Errorf("Stat: %v", err)
		}
	})
	if info, err := os.Lstat(b.at("pipe")); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		b.Errorf("the pipe was replaced: %v", err)
	}
}

func overDirectory(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "d/f", []byte("kept")))
	if err := b.ws.WriteFile(b.Context(), "d", []byte("x")); err == nil {
		b.Error("a directory was overwritten")
	}
	if err := b.ws.WriteFile(b.Context(), "d/f/g", []byte("x")); err == nil {
		b.Error("a file was made below a file")
	}
	b.has(b.at("d", "f"), "kept")
}

func remove(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "d/f", []byte("x")))
	b.must(os.Mkdir(b.at("empty"), 0o777))
	b.must(b.ws.Remove(b.Context(), "d/f"))
	if _, err := os.Lstat(b.at("d", "f")); !errors.Is(err, fs.ErrNotExist) {
		b.Errorf("the file is still there: %v", err)
	}
	if err := b.ws.Remove(b.Context(), "d/f"); !errors.Is(err, fs.ErrNotExist) {
		b.Errorf("removing it again: %v, want fs.ErrNotExist", err)
	}
	for _, dir := range []string{"d", "empty"} {
		if err := b.ws.Remove(b.Context(), dir); err == nil {
			b.Errorf("Remove removed the directory %s", dir)
		}
	}
}

func removeLink(b *box) {
	secret := filepath.Join(b.outside, "secret")
	b.put(secret, "secret")
	b.must(os.Symlink(secret, b.at("link")))
	b.must(b.ws.Remove(b.Context(), "link"))
	b.has(secret, "secret")
}

func filesAfterClose(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "f", []byte("kept")))
	b.must(b.ws.Close())
	if err := b.ws.WriteFile(b.Context(), "f", []byte("x")); err == nil {
		b.Error("WriteFile works")
	}
	if _, err := fs.ReadFile(b.ws.FS(), "f"); err == nil {
		b.Error("ReadFile works")
	}
	b.has(b.at("f"), "kept")
}
