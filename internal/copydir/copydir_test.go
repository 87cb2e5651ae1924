package copydir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// put writes files into a new directory: "-> x" is a link to x, "+x y" a
// program, and a name that ends in / a directory.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	change(t, dir, files)
	return dir
}

// change puts files into dir; "-" removes one.
func change(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at, text := filepath.Join(dir, name), files[name]
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.RemoveAll(at)
		switch target, link := strings.CutPrefix(text, "-> "); {
		case text == "-":
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		case link:
			err = os.Symlink(target, at)
		case strings.HasPrefix(text, "+x "):
			if err = os.WriteFile(at, []byte(text[3:]), 0o755); err == nil {
				err = os.Chmod(at, 0o755)
			}
		default:
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// got returns the files of dir in the notation of put.
func got(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			files[name] = "-> " + target
			return err
		case d.IsDir():
			entries, err := os.ReadDir(at)
			if len(entries) == 0 {
				files[name+"/"] = ""
			}
			return err
		}
		data, err := os.ReadFile(at)
		if files[name] = string(data); info.Mode()&0o100 != 0 {
			files[name] = "+x " + string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same2(t *testing.T, what string, dir string, want map[string]string) {
	t.Helper()
	if have := got(t, dir); !maps.Equal(have, want) {
		t.Errorf("%s: it has %q, want %q", what, have, want)
	}
}

func copied(t *testing.T, src string, o Options) string {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "deep", "copy")
	if _, err := Copy(t.Context(), dst, src, o); err != nil {
		t.Fatal(err)
	}
	return dst
}

var project = map[string]string{
	"README": "hello\n", "src/main.go": "package main\n", "run.sh": "+x #!/bin/sh\n", "link": "-> src/main.go", "out": "-> /etc/passwd",
	"gone": "-> nowhere", ".git/HEAD": "ref: refs/heads/main\n", "empty/": "", "übung/ä b.txt": "x",
}

func TestACopyIsTheSame(t *testing.T) {
	src := put(t, project)
	long := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(src, "README"), long, long); err != nil {
		t.Fatal(err)
	}
	dst := copied(t, src, Options{})
	same2(t, "the copy", dst, project)
	if info, err := os.Stat(filepath.Join(dst, "README")); err != nil || !info.ModTime().Equal(long) {
		t.Errorf("its time is another: %v %v", info.ModTime(), err)
	}
	if list, err := Changes(t.Context(), src, dst, nil); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	change(t, dst, map[string]string{"README": "HELLO\n", "src/new.go": "x", "link": "-", "run.sh": "#!/bin/sh\n"})
	same2(t, "the original, when the copy is changed", src, project)
	list, err := Changes(t.Context(), src, dst, nil)
	if want := "[{README modified 6} {link deleted 0} {run.sh modified 10} {src/new.go created 1}]"; err != nil || fmt.Sprint(list) != want {
		t.Errorf("%v %v, want %s", list, err, want)
	}
	// A second copy replaces the first.
	if _, err := Copy(t.Context(), dst, src, Options{}); err != nil {
		t.Fatal(err)
	}
	same2(t, "the second copy", dst, project)
}

func TestWhatIsSkippedIsNotCopied(t *testing.T) {
	dst := copied(t, put(t, project), Options{Skip: func(name string) bool { return name == ".git" || name == "README" }})
	want := maps.Clone(project)
	delete(want, ".git/HEAD")
	delete(want, "README")
	same2(t, "the copy", dst, want)
}

func TestTooLargeADirectoryIsNotCopied(t *testing.T) {
	src := put(t, map[string]string{"a": strings.Repeat("x", 2<<20), "b": "x"})
	for _, c := range []struct {
		o    Options
		want string
	}{{Options{Bytes: 1 << 20}, "more than 1 MiB"}, {Options{Files: 1}, "more than 1 files"}} {
		dst := filepath.Join(t.TempDir(), "copy")
		_, err := Copy(t.Context(), dst, src, c.o)
		if !errors.As(err, new(*TooLarge)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is something: %v", err)
		}
	}
	if _, err := Copy(t.Context(), filepath.Join(t.TempDir(), "copy"), src, Options{Bytes: 3 << 20, Files: 2}); err != nil {
		t.Error(err)
	}
}

func TestACopyThatIsCutShortLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dst := filepath.Join(t.TempDir(), "copy")
	if _, err := Copy(ctx, dst, put(t, project), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dst)); err != nil || len(entries) != 0 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestDirectoriesThatMayNotBeWrittenAreCopiedAndRemoved(t *testing.T) {
	src := put(t, map[string]string{"ro/a": "x"})
	at := filepath.Join(src, "ro")
	if err := os.Chmod(at, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(at, 0o755)
	dst := copied(t, src, Options{})
	if info, err := os.Stat(filepath.Join(dst, "ro")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o555 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := Remove(dst); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The changes of an attempt, those of the user in the meantime, and the result.
func TestMerges(t *testing.T) {
	was := map[string]string{"a": "1", "b": "1", "d/x": "1", "d/y": "1", "l": "-> a", "p": "1"}
	for name, c := range map[string]struct {
		attempt, person map[string]string
		want            map[string]string // besides was
		conflicts       string
	}{
		"nothing":             {},
		"a change":            {attempt: map[string]string{"a": "2"}, want: map[string]string{"a": "2"}},
		"a new file":          {attempt: map[string]string{"n/m/o": "2"}, want: map[string]string{"n/m/o": "2"}},
		"a deletion":          {attempt: map[string]string{"a": "-"}, want: map[string]string{"a": "-"}},
		"a mode":              {attempt: map[string]string{"p": "+x 1"}, want: map[string]string{"p": "+x 1"}},
		"a link":              {attempt: map[string]string{"l": "-> b", "k": "-> /etc"}, want: map[string]string{"l": "-> b", "k": "-> /etc"}},
		"a whole directory":   {attempt: map[string]string{"d": "-"}, want: map[string]string{"d/x": "-", "d/y": "-"}},
		"an empty directory":  {attempt: map[string]string{"e/": ""}, want: map[string]string{"e/": ""}},
		"a file for a dir":    {attempt: map[string]string{"d": "2"}, want: map[string]string{"d/x": "-", "d/y": "-", "d": "2"}},
		"a dir for a file":    {attempt: map[string]string{"a": "-", "a/b": "2"}, want: map[string]string{"a": "-", "a/b": "2"}},
		"both the same":       {attempt: map[string]string{"a": "2", "n": "2"}, person: map[string]string{"a": "2", "n": "2"}, want: map[string]string{"a": "2", "n": "2"}},
		"the person alone":    {person: map[string]string{"a": "3", "b": "-", "n": "3"}, want: map[string]string{"a": "3", "b": "-", "n": "3"}},
		"different files":     {attempt: map[string]string{"a": "2"}, person: map[string]string{"b": "3"}, want: map[string]string{"a": "2", "b": "3"}},
		"the same file":       {attempt: map[string]string{"a": "2", "b": "2"}, person: map[string]string{"a": "3"}, want: map[string]string{"a": "3", "b": "2"}, conflicts: "a: it was changed meanwhile"},
		"a mode of hers":      {attempt: map[string]string{"a": "2"}, person: map[string]string{"a": "+x 1"}, want: map[string]string{"a": "+x 1"}, conflicts: "a: it was changed meanwhile"},
		"changed and gone":    {attempt: map[string]string{"a": "2"}, person: map[string]string{"a": "-"}, want: map[string]string{"a": "-"}, conflicts: "a: it was deleted meanwhile"},
		"gone and changed":    {attempt: map[string]string{"a": "-"}, person: map[string]string{"a": "3"}, want: map[string]string{"a": "3"}, conflicts: "a: it was changed meanwhile"},
		"two new ones":        {attempt: map[string]string{"n": "2"}, person: map[string]string{"n": "3"}, want: map[string]string{"n": "3"}, conflicts: "n: another file was created meanwhile"},
		"hers in a gone dir":  {attempt: map[string]string{"d": "-"}, person: map[string]string{"d/z": "3"}, want: map[string]string{"d/x": "-", "d/y": "-", "d/z": "3"}},
		"hers under a file":   {attempt: map[string]string{"d": "2"}, person: map[string]string{"d/z": "3"}, want: map[string]string{"d/x": "-", "d/y": "-", "d/z": "3"}, conflicts: "d: a directory of that name contains files"},
		"her link for a dir":  {attempt: map[string]string{"d/n": "2"}, person: map[string]string{"d": "-> /tmp"}, want: map[string]string{"d/x": "-", "d/y": "-", "d": "-> /tmp"}, conflicts: "d/n: d is no longer a directory"},
		"her link for a file": {attempt: map[string]string{"a": "2"}, person: map[string]string{"a": "-> b"}, want: map[string]string{"a": "-> b"}, conflicts: "a: it was changed meanwhile"},
		"left":                {attempt: map[string]string{"keep/out": "2", "a": "2"}, want: map[string]string{"a": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := put(t, was)
			base := copied(t, to, Options{})
			from := copied(t, base, Options{})
			change(t, from, c.attempt)
			change(t, to, c.person)
			before := got(t, to)
			m := Merge{Base: base, From: from, To: to, Leave: func(name string) string {
				if below("keep", name) {
					return "it stays out"
				}
				return ""
			}}
			look, err := m.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same2(t, "after a look", to, before)
			want := maps.Clone(was)
			for n, text := range c.want {
				if want[n] = text; text == "-" {
					delete(want, n)
				}
			}
			for try := range 2 {
				out, err := m.Do(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				same2(t, fmt.Sprint("after merge ", try+1), to, want)
				var said []string
				for _, r := range out.Conflicts {
					said = append(said, r.Path+": "+r.Why)
				}
				if strings.Join(said, "; ") != c.conflicts {
					t.Errorf("conflicts %q, want %q", said, c.conflicts)
				}
				if fmt.Sprint(*out) != fmt.Sprint(*look) {
					t.Errorf("merge %d: %v, and at a look: %v", try+1, *out, *look)
				}
			}
		})
	}
}

// Whatever the two sides change, the user's changes stay, changes that only the
// attempt made are merged, and an interruption makes no difference.
func TestNothingIsLostWhateverIsMerged(t *testing.T) {
	names := []string{"a", "b", "c", "d/a", "d/b", "d/e/a", "f/a"}
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		random := func(share int) map[string]string {
			files := make(map[string]string)
			for _, n := range names {
				if r.IntN(share) == 0 {
					files[n] = []string{"-", "1", "2", "3", "+x 1", "-> a"}[r.IntN(6)]
				}
			}
			return files
		}
		start := random(1)
		maps.DeleteFunc(start, func(_, text string) bool { return text == "-" })
		to := put(t, start)
		base := copied(t, to, Options{})
		from := copied(t, base, Options{})
		change(t, from, random(2))
		change(t, to, random(2))
		was, theirs, hers := got(t, base), got(t, from), got(t, to)
		m := Merge{Base: base, From: from, To: to}
		// Interrupt the merge at any point, and merge again.
		ctx, cancel := context.WithCancel(t.Context())
		m.Leave = func(string) string {
			if r.IntN(4) == 0 {
				cancel()
			}
			return ""
		}
		_, err := m.Do(ctx)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		m.Leave = nil
		out, err := m.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now := got(t, to)
		for _, n := range names {
			want := theirs[n]
			if hers[n] != was[n] {
				want = hers[n]
			}
			if now[n] != want {
				t.Fatalf("seed %d: %s is %q; it was %q, the person made it %q, the attempt %q", seed, n, now[n], was[n], hers[n], theirs[n])
			}
			conflict := theirs[n] != was[n] && hers[n] != was[n] && theirs[n] != hers[n]
			if said := slices.ContainsFunc(out.Conflicts, func(r Refusal) bool { return r.Path == n }); said != conflict {
				t.Fatalf("seed %d: %s: a conflict is reported: %v", seed, n, said)
			}
		}
		if entries, _ := filepath.Glob(filepath.Join(to, ".openmanus-*")); len(entries) > 0 {
			t.Fatalf("seed %d: %v is left", seed, entries)
		}
	}
}
