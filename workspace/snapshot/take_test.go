//go:build unix

package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A place is a directory with a tracker.
type place struct {
	*testing.T
	dir     string
	root    *os.Root
	blobs   *journal.Memory
	tracker *Tracker
	reader  *Reader
}

func newPlace(t *testing.T, o Options) *place {
	p := &place{T: t, dir: t.TempDir(), blobs: new(journal.Memory)}
	var err error
	if p.root, err = os.OpenRoot(p.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.root.Close() })
	if p.tracker, err = NewTracker(p.root, p.blobs, o); err != nil {
		t.Fatal(err)
	}
	p.reader = NewReader(p.blobs)
	p.reader.volatile = true
	return p
}

func (p *place) write(name, content string) {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) take() Taken {
	p.Helper()
	taken, err := p.tracker.Take(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return taken
}

// stored returns how many bytes these blobs have.
func (p *place) stored(refs []openmanus.Ref) (n int) {
	for _, ref := range refs {
		data, err := openmanus.ReadBlob(p.Context(), p.blobs, ref)
		if err != nil {
			p.Fatal(err)
		}
		n += len(data)
	}
	return n
}

func (p *place) cat(tree Tree, name string) string {
	p.Helper()
	e, err := p.reader.Lookup(p.Context(), tree, name)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	if err := p.reader.WriteTo(p.Context(), &b, e); err != nil {
		return err.Error()
	}
	return b.String()
}

func (p *place) diff(a, b Tree) (changes []string) {
	p.Helper()
	for c, err := range p.reader.Diff(p.Context(), a, b) {
		if err != nil {
			p.Fatal(err)
		}
		switch {
		case c.Was == nil:
			changes = append(changes, "+"+c.Name)
		case c.Now == nil:
			changes = append(changes, "-"+c.Name)
		default:
			changes = append(changes, "~"+c.Name)
		}
	}
	return changes
}

func TestTreesOfAnyTimeCanBeRead(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a.txt", "one")
	p.write("d/e/b.txt", "two")
	p.write("not utf-8 \xff", "three")
	first := p.take()
	p.write("a.txt", "uno")
	p.write("d/new", "four")
	os.RemoveAll(filepath.Join(p.dir, "d/e"))
	os.Symlink("a.txt", filepath.Join(p.dir, "link"))
	second := p.take()

	if got, want := p.diff(first.Tree, second.Tree), []string{"~a.txt", "-d/e", "-d/e/b.txt", "+d/new", "+link"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, not %q", got, want)
	}
	for name, want := range map[string][2]string{
		"a.txt":          {"one", "uno"},
		"d/e/b.txt":      {"two", "open d/e/b.txt: file does not exist"},
		"d/new":          {"open d/new: file does not exist", "four"},
		"not utf-8 \xff": {"three", "three"},
		"a.txt/b":        {"open a.txt/b: file does not exist", "open a.txt/b: file does not exist"},
	} {
		if got := [2]string{p.cat(first.Tree, name), p.cat(second.Tree, name)}; got != want {
			t.Errorf("%q was %q, not %q", name, got, want)
		}
	}
	third := p.take()
	if third.Changed || len(third.Packs) > 0 || third.Tree.Root.Sum != second.Tree.Root.Sum {
		t.Errorf("nothing changed, but %+v", third)
	}
	if first.Tree.Files != 3 || second.Tree.Files != 3 || second.Tree.Bytes != int64(len("uno"+"four"+"three")) {
		t.Errorf("%d files, then %d with %d bytes", first.Tree.Files, second.Tree.Files, second.Tree.Bytes)
	}
}

// All that a file system knows of a file comes back.
func TestEverythingOfAFileComesBack(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("script", "#!/bin/sh\n")
	os.Chmod(filepath.Join(p.dir, "script"), 0o751)
	p.write("sparse", "x")
	os.Truncate(filepath.Join(p.dir, "sparse"), 8<<20)
	p.write("old", "of last year")
	when := time.Date(2024, 2, 29, 12, 0, 0, 7, time.UTC)
	os.Chtimes(filepath.Join(p.dir, "old"), when, when)
	attrs := unix.Setxattr(filepath.Join(p.dir, "old"), "user.origin", []byte("https://example.org"), 0) == nil
	os.Symlink("nowhere", filepath.Join(p.dir, "broken"))
	os.Mkdir(filepath.Join(p.dir, "empty"), 0o700)
	before := p.take()
	for _, name := range []string{"script", "sparse", "old", "broken", "empty"} {
		os.Remove(filepath.Join(p.dir, name))
	}
	after := p.take()
	p.undo(after.Tree, Step{Before: before.Tree, After: after.Tree})

	again := p.take()
	if got := p.diff(before.Tree, again.Tree); len(got) > 0 {
		t.Errorf("it differs: %q", got)
	}
	info, err := os.Stat(filepath.Join(p.dir, "old"))
	if err != nil || !info.ModTime().Equal(when) {
		t.Errorf("modified %v, %v", info.ModTime(), err)
	}
	if info, err := os.Stat(filepath.Join(p.dir, "sparse")); err != nil || info.Sys().(*syscall.Stat_t).Blocks > 64 {
		t.Errorf("%v: the file with a hole has %d blocks", err, info.Sys().(*syscall.Stat_t).Blocks)
	}
	if attrs {
		value := make([]byte, 100)
		n, err := unix.Getxattr(filepath.Join(p.dir, "old"), "user.origin", value)
		if err != nil || string(value[:n]) != "https://example.org" {
			t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
		}
	}
}

func (p *place) undo(now Tree, steps ...Step) Plan {
	p.Helper()
	plan, err := p.reader.Undo(p.Context(), now, steps)
	if err != nil {
		p.Fatal(err)
	}
	out, err := p.reader.Restore(p.Context(), p.root, plan.Ops)
	if err != nil {
		p.Fatal(err)
	}
	for _, o := range out {
		if !o.Done {
			p.Errorf("%s: %s", o.Name, o.Why)
		}
	}
	return plan
}

// A change in a large directory, or in a large file, stores little.
func TestLittleIsStoredForAChange(t *testing.T) {
	p := newPlace(t, Options{})
	for i := range 5000 {
		p.write(fmt.Sprintf("many/file%d", i), fmt.Sprintf("content %d", i*i))
	}
	large := make([]byte, 5<<20)
	for i := range large {
		large[i] = byte(i * i >> 7)
	}
	p.write("large", string(large))
	first := p.take()
	p.write("many/file77", "other")
	second := p.take()
	if n := p.stored(second.Packs); n > 60<<10 {
		t.Errorf("one file of 5,000 stored %d bytes", n)
	}
	f, err := os.OpenFile(filepath.Join(p.dir, "large"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "one line more")
	f.Close()
	third := p.take()
	if got, want := p.diff(second.Tree, third.Tree), []string{"~large"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, not %q", got, want)
	}
	if got, want := p.cat(third.Tree, "large"), string(large)+"one line more"; got != want {
		t.Errorf("the large file has %d bytes, not %d", len(got), len(want))
	}
	if got := p.cat(first.Tree, "large"); got != string(large) {
		t.Errorf("the large file had %d bytes, not %d", len(got), len(large))
	}
	if p.write("copy", string(large)); p.stored(p.take().Packs) > 10<<10 {
		t.Error("a copy was stored again")
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	p := newPlace(t, Options{
		Skip:    func(name string) bool { return name == "denied" },
		Built:   func(name string, dir bool) bool { return dir && name == "node_modules" },
		MaxFile: 1000, MaxBuilt: 10, MaxBuiltTotal: 12,
	})
	p.write("denied/secret", "s")
	p.write("large", strings.Repeat("x", 1001))
	p.write("node_modules/a", "12345678901")
	p.write("node_modules/b", "1234567890")
	p.write("node_modules/c", "123")
	p.write("small", "x")
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := p.take()
	want := []Left{
		{"large", "it has 1001 bytes, more than the limit of 1000"},
		{"node_modules/a", "it has 11 bytes, more than the limit of 10"},
		{"node_modules/c", "the limit of what is kept in a day is reached"},
	}
	if !reflect.DeepEqual(taken.Left, want) || taken.LeftOut != 3 {
		t.Errorf("left out: %v", taken.Left)
	}
	if _, err := p.reader.Lookup(t.Context(), taken.Tree, "denied"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is skipped is there: %v", err)
	}
	if e, err := p.reader.Lookup(t.Context(), taken.Tree, "pipe"); err != nil || e.Kind != Device {
		t.Errorf("%+v, %v", e, err)
	}
	// That it changed is seen, and that it cannot come back is said.
	p.write("large", strings.Repeat("y", 1002))
	after := p.take()
	plan, err := p.reader.Undo(t.Context(), after.Tree, []Step{{Before: taken.Tree, After: after.Tree}})
	if err != nil || len(plan.Lost) != 1 || plan.Lost[0].Name != "large" || len(plan.Ops) > 0 {
		t.Errorf("%+v, %v", plan, err)
	}

	p = newPlace(t, Options{MaxFiles: 2})
	p.write("a", "")
	p.write("b", "")
	p.take()
	p.write("c", "")
	if _, err := p.tracker.Take(t.Context()); !errors.Is(err, ErrTooMany) {
		t.Errorf("three files of two: %v", err)
	}
}

// A tracker that knows of an earlier one stores nothing again, and names what it
// needs of the earlier one's packs.
func TestSaveAndLoad(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "one")
	p.write("d/b", strings.Repeat("two", 1000))
	first := p.take()
	var b bytes.Buffer
	if err := p.tracker.Save(&b); err != nil {
		t.Fatal(err)
	}
	again, err := NewTracker(p.root, p.blobs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Load(t.Context(), bytes.NewReader(b.Bytes())); err != nil {
		t.Fatal(err)
	}
	taken, err := again.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !taken.Changed || taken.Tree.Root.Sum != first.Tree.Root.Sum || !slices.Equal(taken.Packs, first.Packs) {
		t.Errorf("%+v, not %+v", taken, first)
	}
	other, err := NewTracker(p.root, new(journal.Memory), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Load(t.Context(), bytes.NewReader(b.Bytes())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the blobs are gone: %v", err)
	}
	for n := range b.Len() {
		if err := other.Load(t.Context(), bytes.NewReader(b.Bytes()[:n])); err == nil {
			t.Fatalf("%d bytes of %d are enough", n, b.Len())
		}
	}
}

// lossy are blobs of which some were deleted.
type lossy struct {
	openmanus.Blobs
	gone map[openmanus.Ref]bool
}

func (l *lossy) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref, err := l.Blobs.Put(ctx, data)
	delete(l.gone, ref)
	return ref, err
}

func (l *lossy) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	if l.gone[ref] {
		return nil, fs.ErrNotExist
	}
	return l.Blobs.Get(ctx, ref)
}

// The list of an empty directory and an empty file have the same hash, and so have the
// list of another one and a file with its text.
func TestListsAreNoFiles(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("empty", "")
	os.Mkdir(filepath.Join(p.dir, "dir"), 0o755)
	if tree := p.take().Tree; len(p.diff(Tree{}, tree)) != 2 || p.cat(tree, "empty") != "" {
		t.Errorf("there is %q", p.diff(Tree{}, tree))
	}
}

// Two sessions in one directory: each history names all packs that its trees need, and
// packs that were deleted with another session are stored again.
func TestHistoriesShareATracker(t *testing.T) {
	p := newPlace(t, Options{})
	blobs := &lossy{Blobs: p.blobs, gone: make(map[openmanus.Ref]bool)}
	p.reader = NewReader(blobs)
	var err error
	if p.tracker, err = NewTracker(p.root, blobs, Options{}); err != nil {
		t.Fatal(err)
	}
	p.write("a", "one")
	needs := func(tree Tree) (refs []openmanus.Ref) {
		p.tracker.top.packs(func(ref openmanus.Ref) {
			if !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		})
		return refs
	}
	histories := []*History{p.tracker.After(Tree{}), p.tracker.After(Tree{})}
	kept := make([][]openmanus.Ref, 2)
	for i := range 10 {
		p.write("b", fmt.Sprint("two", i%3))
		p.write(fmt.Sprint("d/", i%4), "three")
		h := i / 2 % 2
		taken, err := histories[h].Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept[h] = append(kept[h], taken.Packs...)
		for _, ref := range needs(taken.Tree) {
			if !slices.Contains(kept[h], ref) {
				t.Errorf("snapshot %d: history %d has not %s", i, h, ref)
			}
		}
		again, err := histories[h].Take(t.Context())
		if err != nil || again.Changed || len(again.Packs) > 0 {
			t.Errorf("nothing changed, but %+v, %v", again, err)
		}
	}
	first := p.tracker.Tree()
	for _, ref := range needs(first) {
		blobs.gone[ref] = true
	}
	if _, err := NewReader(blobs).Lookup(t.Context(), first, "a"); !errors.Is(err, ErrGone) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("packs are gone: %v", err)
	}
	p.write("c", "three") // which has the content of others
	taken, err := p.tracker.After(Tree{}).Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "one", "b": "two0", "c": "three", "d/1": "three"} {
		if got := p.cat(taken.Tree, name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// failing are blobs of which the one numbered at cannot be stored.
type failing struct {
	openmanus.Blobs
	at, n int
}

func (f *failing) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	if f.n++; f.n == f.at {
		return "", errors.New("no space left on device")
	}
	return f.Blobs.Put(ctx, data)
}

// A Take that fails, for example because the disk is full, is made up for by the
// next.
func TestBlobsFail(t *testing.T) {
	p := newPlace(t, Options{})
	blobs := &failing{Blobs: p.blobs}
	tracker, err := NewTracker(p.root, blobs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 12<<20) // more than a pack
	for i, x := 0, uint32(1); i < len(random); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		random[i] = byte(x)
	}
	p.write("random", string(random))
	p.write("small", "s")
	for at := 1; ; at++ {
		blobs.at, blobs.n = at, 0
		taken, err := tracker.Take(t.Context())
		if err == nil {
			if at < 2 {
				t.Errorf("it succeeded after %d", at)
			}
			for name, want := range map[string]string{"random": string(random), "small": "s"} {
				if got := p.cat(taken.Tree, name); got != want {
					t.Errorf("%s: %.100s", name, got)
				}
			}
			return
		}
		if !strings.Contains(err.Error(), "no space left") {
			t.Fatal(err)
		}
	}
}

func TestTakeEndsWithItsContext(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.tracker.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if taken := p.take(); p.cat(taken.Tree, "a") != "one" {
		t.Errorf("%+v", taken)
	}
}

// packOf returns a pack with some data.
func packOf(tb testing.TB, data string) []byte {
	blobs := new(journal.Memory)
	p, err := newPacker(blobs)
	if err != nil {
		tb.Fatal(err)
	}
	p.add(&Object{}, []byte(data), ofFiles)
	if err := p.flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	pack, err := openmanus.ReadBlob(tb.Context(), blobs, p.take()[0])
	if err != nil {
		tb.Fatal(err)
	}
	return pack
}

// FuzzRead: a tree that somebody sent can make reading fail, and nothing else.
func FuzzRead(f *testing.F) {
	enc, _ := encodeList([]*Entry{
		{Name: "a", Kind: File, Mode: 0o644, Size: 3, Content: &Object{Sum: sumOf([]byte("one")), Size: 3, Parts: []Part{{"", 0, 0, 3}}}},
		{Name: "d", Kind: Dir, Mode: 0o755, Content: &Object{Sum: sumOf(nil), Parts: []Part{{"sha256:00", 0, 0, 1}}}},
		{Name: "l", Kind: Link, Target: "a"},
	}, nil)
	f.Add(enc, 0, 0, len(enc))
	f.Add(packOf(f, "one"), 0, 1, 1)
	f.Add([]byte(`{"entries":[{"n":"..","k":"dir"}]}`), 0, 0, 30)
	f.Add([]byte(`{"packs":[""],"pages":[{"h":"`+strings.Repeat("A", 43)+`=","s":5,"p":[[0,0,0,5]]}]}`), 0, 0, 90)
	f.Fuzz(func(t *testing.T, list []byte, frame, from, size int) {
		blobs := new(journal.Memory)
		p, err := newPacker(blobs)
		if err != nil {
			t.Fatal(err)
		}
		o := &Object{Size: int64(len(list))}
		p.add(o, list[:min(len(list), maxFrame)], ofLists)
		if err := p.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		refs := p.take()
		if len(refs) == 0 {
			return
		}
		r := NewReader(&inParts{Blobs: blobs})
		for _, o := range []*Object{o, {Size: int64(size), Parts: []Part{{refs[0], frame, from, size}}}} {
			tree := Tree{Root: *o}
			tree.Root.Sum[0] = 1
			for c, err := range r.Diff(t.Context(), Tree{}, tree) {
				if err != nil {
					break
				}
				if !validName(c.Name) {
					t.Errorf("the name %q", c.Name)
				}
				if c.Now.Kind == File && c.Now.Content != nil {
					_ = r.WriteTo(t.Context(), io.Discard, c.Now)
				}
			}
		}
		any, err := blobs.Put(t.Context(), list) // as a pack
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*Reader{r, NewReader(blobs)} {
			_, _ = r.bytes(t.Context(), &Object{Parts: []Part{{any, frame, from, size}, {any, 0, 0, 1}}})
		}
	})
}

// Where the clock of the file system is coarse, a file can change within the same
// tick after it was read: it has the same times then.
func TestAChangeWithinATickIsSeen(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "one")
	first := p.take()
	if it := p.tracker.top.Items[0]; !it.Fresh {
		t.Fatal("a file that was just written counts as settled")
	}
	p.write("a", "two")
	info, err := p.root.Lstat("a")
	if err != nil {
		t.Fatal(err)
	}
	p.tracker.top.Items[0].Stamp = stampOf(info)
	second := p.take()
	if got := p.diff(first.Tree, second.Tree); !slices.Equal(got, []string{"~a"}) || p.cat(second.Tree, "a") != "two" {
		t.Errorf("changes %q", got)
	}
}

// Lists that were stored before listMagic can be read.
func TestOldLists(t *testing.T) {
	sum := strings.Repeat("A", 43) + "="
	const packs = `{"packs":["sha256:aa",""],`
	entries, _, err := decodeList([]byte(packs+`"entries":[`+
		`{"b":"/w==","k":"file","m":420,"t":1000000007,"s":8,"c":{"h":"`+sum+`","s":8,"p":[[0,1,2,3],[1,0,0,5]]},"sparse":true,`+
		`"owner":{"uid":1,"gid":2},"x":{"user.a":"Yg=="}}]}`), "sha256:bb")
	want := &Entry{
		Name: "\xff", Kind: File, Mode: 0o644, ModTime: time.Unix(1, 7), Size: 8, Sparse: true, Owner: &Owner{1, 2},
		Attrs:   map[string][]byte{"user.a": []byte("b")},
		Content: &Object{Size: 8, Parts: []Part{{"sha256:aa", 1, 2, 3}, {"sha256:bb", 0, 0, 5}}},
	}
	if err != nil || len(entries) != 1 || !reflect.DeepEqual(entries[0], want) {
		t.Errorf("%+v, %v", entries, err)
	}
	enc, _ := encodeList([]*Entry{want}, nil)
	again, _, err := decodeList(enc, "sha256:cc")
	if err != nil || len(again) != 1 || !reflect.DeepEqual(again[0], want) {
		t.Errorf("%+v, %v", again, err)
	}
	_, pages, err := decodeList([]byte(packs+`"pages":[{"h":"`+sum+`","s":5,"p":[[1,0,0,5]]}]}`), "sha256:bb")
	if err != nil || len(pages) != 1 || pages[0].Parts[0].Pack != "sha256:bb" {
		t.Errorf("%v, %v", pages, err)
	}
}

// A directory that contains itself, which only someone else can send, has an end.
func TestADirectoryInItself(t *testing.T) {
	blobs := new(journal.Memory)
	p, err := newPacker(blobs)
	if err != nil {
		t.Fatal(err)
	}
	var list []byte
	for size := 1; len(list) != size; size = len(list) {
		self := &Object{Size: int64(size), Parts: []Part{{Size: size}}}
		list, _ = encodeList([]*Entry{{Name: "a", Kind: Dir, Content: self}, {Name: "b", Kind: Dir, Content: self}}, nil)
	}
	o := &Object{Sum: Sum{1}, Size: int64(len(list))}
	p.add(o, list, ofLists)
	if err := p.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, err = range NewReader(blobs).Diff(t.Context(), Tree{}, Tree{Root: *o}) {
	}
	if !errors.Is(err, errList) {
		t.Errorf("%v", err)
	}
}

// Files in too many directories are left out, so that the tree can be read.
func TestTooDeep(t *testing.T) {
	p := newPlace(t, Options{})
	p.write(strings.Repeat("d/", maxDepth+2)+"a", "a")
	taken := p.take()
	if taken.LeftOut != 1 || len(p.diff(Tree{}, taken.Tree)) != maxDepth+1 {
		t.Errorf("%+v", taken.Left)
	}
	if next := p.take(); next.Changed {
		t.Errorf("%+v", next)
	}
}
