package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func all(string) string { return "" }

var some = Limits{Bytes: 1 << 20, Files: 100}

// rootOf opens a new directory.
func rootOf(t testing.TB) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// listing returns what is in a directory, with permissions, times and content.
func listing(t testing.TB, root *os.Root) string {
	var b strings.Builder
	err := filepath.WalkDir(root.Name(), func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root.Name() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root.Name(), name)
		fmt.Fprintf(&b, "%q %v", rel, info.Mode())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			fmt.Fprintf(&b, " -> %s\n", to)
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			fmt.Fprintf(&b, " %v %q\n", info.ModTime().UTC(), data)
			return err
		}
		fmt.Fprintln(&b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestThereAndBack takes along names with any bytes, permissions, times and links, and
// leaves out what is skipped and what leads outside.
func TestThereAndBack(t *testing.T) {
	from := rootOf(t)
	when := time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.UTC)
	for name, mode := range map[string]fs.FileMode{
		"a.txt": 0o644, "d/run.sh": 0o755, "d/e/\xff\n": 0o600, "empty": 0o644, strings.Repeat("long", 50): 0o444,
		"large": 0o644, ".git/config": 0o644,
	} {
		data := "content of " + name
		switch name {
		case "empty":
			data = ""
		case "large":
			data = strings.Repeat("large", 300_000)
		}
		from.MkdirAll(filepath.Dir(name), 0o755)
		if err := errors.Join(from.WriteFile(name, []byte(data), mode), from.Chtimes(name, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"d/up": "../a.txt", "broken": "nowhere", "out": "../x", "abs": "/etc/passwd",
		"d/twice": "e/../../.."} {
		if err := from.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	from.Mkdir("closed", 0o755)
	from.Chmod("closed", 0o555)
	skip := func(name string) string {
		if name == ".git" {
			return "it stays"
		}
		return ""
	}
	var b bytes.Buffer
	limits := Limits{Bytes: 4 << 20, Files: 100}
	done, err := Write(t.Context(), &b, []byte("session"), from, skip, limits)
	if err != nil {
		t.Fatal(err)
	}
	if done.Files != 8 || done.LeftOut != 4 || fmt.Sprint(done.Left) != "[{.git it stays} {abs a link that leads to /etc/passwd}"+
		" {d/twice a link that leads to e/../../..} {out a link that leads to ../x}]" {
		t.Errorf("%+v", done)
	}
	to := rootOf(t)
	session, got, err := Extract(t.Context(), bytes.NewReader(b.Bytes()), to, all, limits)
	if err != nil || string(session) != "session" || got.Files != 8 || got.Bytes != done.Bytes || got.LeftOut != 0 {
		t.Errorf("%s, %+v, %v", session, got, err)
	}
	from.Remove("out")
	from.Remove("abs")
	from.Remove("d/twice")
	from.RemoveAll(".git")
	from.Chmod("closed", 0o755) // the owner may always write
	if want := listing(t, from); listing(t, to) != want {
		t.Errorf("there is\n%s, not\n%s", listing(t, to), want)
	}

	// Whatever is cut off or changed is refused.
	for n := 0; n < b.Len(); n += 1 + b.Len()/200 {
		if _, _, err := Extract(t.Context(), bytes.NewReader(b.Bytes()[:n]), rootOf(t), all, limits); err == nil {
			t.Errorf("%d bytes of %d are enough", n, b.Len())
		}
		changed := bytes.Clone(b.Bytes())
		changed[n] ^= 0x10
		// Some bytes say how the file is packed, and mean nothing.
		other := rootOf(t)
		_, _, err := Extract(t.Context(), bytes.NewReader(changed), other, all, limits)
		if err == nil && listing(t, other) != listing(t, to) {
			t.Errorf("byte %d may be anything", n)
		}
	}
	if _, _, err := Extract(t.Context(), bytes.NewReader(append(b.Bytes(), b.Bytes()...)), rootOf(t), all, limits); err == nil {
		t.Error("two files are one")
	}
	for _, l := range []Limits{{100, 100}, {4 << 20, 3}} {
		var large *TooLarge
		if _, err := Write(t.Context(), new(bytes.Buffer), nil, from, all, l); !errors.As(err, &large) {
			t.Errorf("written with %v: %v", l, err)
		}
		if _, _, err := Extract(t.Context(), bytes.NewReader(b.Bytes()), rootOf(t), all, l); !errors.As(err, &large) {
			t.Errorf("read with %v: %v", l, err)
		}
	}
}

// bundleOf returns a bundle with these members after the session, and a right end.
func bundleOf(t testing.TB, members ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := writer{tar: tar.NewWriter(z), sum: newDigest()}
	if err := w.add(&tar.Header{Typeflag: tar.TypeReg, Name: sessionName, Size: 1}, []byte("s")); err != nil {
		t.Fatal(err)
	}
	for _, h := range members {
		if h.Typeflag != tar.TypeDir {
			w.done.Files++
		}
		if err := w.add(&h, make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.end(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file that somebody made is refused in a sentence, and nothing is written outside.
func TestHostileFiles(t *testing.T) {
	file := func(name string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o644}
	}
	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	dir := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
	for _, c := range []struct {
		members []tar.Header
		want    string
	}{
		{[]tar.Header{file("files/a")}, ""},
		{[]tar.Header{file("files/../a")}, "no directory can have"},
		{[]tar.Header{file("files//etc/passwd")}, "no directory can have"},
		{[]tar.Header{dir("files/d/"), file("files/d/../../a")}, "no directory can have"},
		{[]tar.Header{file("/etc/passwd")}, "no session with files"},
		{[]tar.Header{file("other")}, "no session with files"},
		{[]tar.Header{file(sessionName)}, "no session with files"},
		{[]tar.Header{file("files/d/a")}, "no directory for it"},
		{[]tar.Header{file("files/a"), file("files/a")}, "twice"},
		{[]tar.Header{dir("files/a"), dir("files/a")}, "twice"},
		{[]tar.Header{file("files/a"), link("files/a", "b")}, "twice"},
		{[]tar.Header{link("files/l", "/etc")}, "leads outside"},
		{[]tar.Header{link("files/l", "..")}, "leads outside"},
		{[]tar.Header{dir("files/d"), link("files/d/l", "../..")}, "leads outside"},
		{[]tar.Header{dir("files/d"), link("files/l", "d"), link("files/m", "l/..")}, "leads outside"},
		{[]tar.Header{link("files/l", "d"), file("files/l/a")}, "no directory for it"},
		{[]tar.Header{{Typeflag: tar.TypeLink, Name: "files/a", Linkname: "/etc/passwd"}}, "no file, directory or link"},
		{[]tar.Header{{Typeflag: tar.TypeFifo, Name: "files/a"}}, "no file, directory or link"},
		{[]tar.Header{{Typeflag: tar.TypeReg, Name: "files/a", Size: 2 << 20}}, "more than 1 MiB"},
	} {
		root := rootOf(t)
		_, _, err := Extract(t.Context(), bytes.NewReader(bundleOf(t, c.members...)), root, all, some)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s %s: %v", c.members[len(c.members)-1].Name, c.members[len(c.members)-1].Linkname, err)
		}
	}
	root := rootOf(t)
	special := tar.Header{Typeflag: tar.TypeReg, Name: "files/a", Mode: 0o6755, Uid: 7, Gid: 7}
	if _, _, err := Extract(t.Context(), bytes.NewReader(bundleOf(t, special)), root, all, some); err != nil {
		t.Fatal(err)
	}
	if info, err := root.Lstat("a"); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// FuzzExtract: a file that somebody made can be refused, or makes files within the
// directory and the limits.
func FuzzExtract(f *testing.F) {
	unpacked := func(data []byte) []byte {
		z, err := zstd.NewReader(nil)
		if err != nil {
			f.Fatal(err)
		}
		defer z.Close()
		raw, err := z.DecodeAll(data, nil)
		if err != nil {
			f.Fatal(err)
		}
		return raw
	}
	good := bundleOf(f, tar.Header{Typeflag: tar.TypeDir, Name: "files/d"}, tar.Header{Typeflag: tar.TypeReg, Name: "files/d/a", Size: 5},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "files/l", Linkname: "d/a"})
	f.Add(unpacked(good), true)
	f.Add(good, false)
	f.Add(unpacked(bundleOf(f, tar.Header{Typeflag: tar.TypeReg, Name: "files/../a", Size: 1})), true)
	e, _ := json.Marshal(end{})
	f.Add(e, true)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, pack bool) {
		outer := t.TempDir()
		if err := os.Mkdir(filepath.Join(outer, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(outer, "in"))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if pack {
			data = enc.EncodeAll(data, nil)
		}
		l := Limits{Bytes: 64 << 10, Files: 20}
		_, _, err = Extract(t.Context(), bytes.NewReader(data), root, all, l)
		entries, err2 := os.ReadDir(outer)
		if err2 != nil || len(entries) != 1 {
			t.Fatalf("%v, %v", entries, err2)
		}
		names, size := 0, int64(0)
		err2 = filepath.WalkDir(root.Name(), func(name string, d fs.DirEntry, err error) error {
			info, err2 := d.Info()
			if names++; err2 == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			return errors.Join(err, err2)
		})
		if err2 != nil || names > l.Files+2 || size > l.Bytes+64<<10 {
			t.Errorf("%d names, %d bytes, %v, %v", names, size, err2, err)
		}
	})
}
