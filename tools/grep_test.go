package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// plainGrep is what grep does, in the plainest way: line by line.
func plainGrep(re *regexp.Regexp, text string, context, limit int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	shown := make(map[int]byte)
	matches := 0
	for i, l := range lines {
		if matches == limit || !re.MatchString(l) && !re.MatchString(strings.TrimSuffix(l, "\r")) {
			continue
		}
		matches++
		for j := max(0, i-context); j <= min(len(lines)-1, i+context); j++ {
			if shown[j] == 0 {
				shown[j] = '-'
			}
		}
		shown[i] = ':'
	}
	var b strings.Builder
	last := -1
	for i, l := range lines {
		if shown[i] == 0 {
			continue
		}
		if context > 0 && last >= 0 && i > last+1 {
			b.WriteString("--\n")
		}
		last = i
		l = strings.TrimSuffix(l, "\r")
		if i == 0 {
			l = strings.TrimPrefix(l, string(bom))
		}
		fmt.Fprintf(&b, "f%c%d%[1]c%[3]s\n", shown[i], i+1, printable(l))
	}
	return b.String()
}

// FuzzGrep: however the file falls into chunks, grep finds what one finds who
// looks at each line alone.
func FuzzGrep(f *testing.F) {
	for _, pattern := range []string{
		"b", "^b", "b$", "^$", "", "x*", "[^a]", `\s+b`, `(?s)a.*b`, `\bb\b`, "(a|b)c", `\Ab`, `b\z`, "(?i)SKB", "(?:ab){2,}", "[\n]", `\d+`, "é", `\x{FFFD}`, `(?s)\w.\w`,
	} {
		f.Add(pattern, "a\nb\r\n\nab c\nbc\nabab\nskb SKB\ns\u212ab\n\u017fkb\n\nb", uint8(1), uint8(9), uint8(5), false)
		f.Add(pattern, "b\xff\n\ufffd", uint8(0), uint8(2), uint8(1), false)
		f.Add(pattern, "\ufeffb é\xff\nlast line without end", uint8(0), uint8(2), uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, around, limit, chunk uint8, ignoreCase bool) {
		g := &grep{in: grepInput{Context: int(around % 5), Limit: int(limit) + 1}, chunk: int(chunk%64) + 1}
		g.fsys = fstest.MapFS{"f": {Data: []byte(text)}}
		var err error
		if g.pattern, err = newLinePattern(pattern, false, ignoreCase); err != nil || strings.Contains(text, "\x00") || len(text) > shownLine {
			return
		}
		if first := strings.Index(pattern, "$"); strings.Contains(text, "\r") && first >= 0 &&
			(strings.ContainsAny(pattern, "bB") || first < len(pattern)-1) {
			return // $\b and $^, where $ takes the \r, are not what they are without one; nobody writes that
		}
		if ignoreCase {
			pattern = "(?i:" + pattern + ")"
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return // such as "a)(b"
		}
		s := g.file(t.Context(), "f")
		if s.err != nil {
			t.Fatal(s.err)
		}
		if want := plainGrep(re, text, g.in.Context, g.in.Limit); s.out.String() != want {
			t.Errorf("%q in %q\ngot:\n%s\nwant:\n%s", pattern, text, s.out.String(), want)
		}
		if s.matches > 0 {
			first, n := s.upTo(1)
			g.in.Limit = 1
			if one := g.file(t.Context(), "f").out.String(); n != 1 || !strings.HasPrefix(one, first) {
				t.Errorf("%q in %q\nthe first match is:\n%s\nand not:\n%s", pattern, text, first, one)
			}
		}
	})
}

func TestGrepLargeFile(t *testing.T) {
	s := newSession(t)
	var text strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	text.WriteString("tail " + strings.Repeat("x", 1000) + "needle" + strings.Repeat("y", 1000))
	write(t, s, "big.log", text.String())

	res, err := s.use("grep", `{"pattern":"^line (100000|199999)$","context":1}`)
	want := `big.log-99999-line 99999
big.log:100000:line 100000
big.log-100001-line 100001
--
big.log-199998-line 199998
big.log:199999:line 199999
big.log-200000-line 200000
`
	if got := res.Parts.Text(); err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	res, err = s.use("grep", `{"pattern":"needle"}`)
	want = "big.log:200001:[...] " + strings.Repeat("x", 100) + "needle" + strings.Repeat("y", 194) + " [... the line has 2011 bytes]\n"
	if got := res.Parts.Text(); err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

// A line that has no end is given up, not read into memory for ever.
func TestGrepEndlessLine(t *testing.T) {
	s := newSession(t)
	write(t, s, "a.txt", "needle")
	write(t, s, "one-line.json", "needle\n"+strings.Repeat("x", maxGrepLine+2*grepChunk)+"needle")
	res, err := s.use("grep", `{"pattern":"needle"}`)
	want := "a.txt:1:needle\none-line.json:1:needle\n" +
		"(1 files or directories could not be read, the first: one-line.json: line 2 has more than 16777216 bytes; the rest was not searched)\n"
	if got := res.Parts.Text(); err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if found := res.Detail.(Found); found.Complete {
		t.Error("the search says that it is complete")
	}
}

func TestGrepManyFiles(t *testing.T) {
	s := newSession(t)
	var want strings.Builder
	for i := range 3 * batch {
		name := fmt.Sprintf("d%d/f%04d.txt", i/300, i)
		write(t, s, name, fmt.Sprintf("a\nneedle %d\n", i))
		if i < 700 {
			fmt.Fprintf(&want, "%s:2:needle %d\n", name, i)
		}
	}
	res, err := s.use("grep", `{"pattern":"needle","limit":700}`)
	want.WriteString("(it ended at the limit of 700: there may be more; narrow pattern, path or glob, or raise limit)\n")
	if got := res.Parts.Text(); err != nil || got != want.String() {
		t.Errorf("got %v\n%s", err, got)
	}
}

func TestSearchesEndWithTheirContext(t *testing.T) {
	s := newSession(t)
	for i := range 20 {
		write(t, s, fmt.Sprintf("f%d", i), "x\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, err := newGrep(t.Context(), s.ws, grepInput{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("grep: %v", err)
	}
	if _, err := glob(ctx, s.ws, globInput{Pattern: "*"}); !errors.Is(err, context.Canceled) {
		t.Errorf("glob: %v", err)
	}
	if _, err := (&editor{ws: s.ws}).run(ctx, s.call, editorInput{Command: "view", Path: "f1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	if _, err := (&editor{ws: s.ws}).run(ctx, s.call, editorInput{Command: "view", Path: "."}); !errors.Is(err, context.Canceled) {
		t.Errorf("view of a directory: %v", err)
	}
}

// Symbolic links are not followed: neither out of the workspace nor in rings.
func TestSearchesFollowNoLinks(t *testing.T) {
	s := newSession(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("needle"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, s, "dir/a.txt", "needle")
	for link, to := range map[string]string{"dir/ring": "..", "out": outside, "out.txt": filepath.Join(outside, "secret.txt"), "alias.txt": "dir/a.txt"} {
		if err := os.Symlink(to, filepath.Join(s.ws.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"grep", "glob"} {
		res, err := s.use(tool, `{"pattern":"needle","output":"files"}`)
		if tool == "glob" {
			res, err = s.use(tool, `{"pattern":"*"}`)
		}
		if got := res.Parts.Text(); err != nil || got != "dir/a.txt\n" {
			t.Errorf("%s: %v\n%s", tool, err, got)
		}
	}
	for _, path := range []string{"out", "out.txt", "out/secret.txt"} {
		if res, err := s.use("grep", `{"pattern":"needle","path":"`+path+`"}`); err == nil {
			t.Errorf("%s leads out: %s", path, res.Parts.Text())
		}
	}
	if res, err := s.use("grep", `{"pattern":"needle","path":"alias.txt"}`); err != nil || res.Parts.Text() != "alias.txt:1:needle\n" {
		t.Errorf("a link within the workspace that is named: %v %s", err, res.Parts.Text())
	}
}

func TestGlobByTime(t *testing.T) {
	s := newSession(t)
	write(t, s, "old.txt", "")
	write(t, s, "new.txt", "")
	write(t, s, "b.txt", "")
	now, err := os.Stat(filepath.Join(s.ws.Dir(), "new.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, hours := range map[string]int{"old.txt": -2, "new.txt": 0, "b.txt": -1} {
		at := now.ModTime().Add(time.Duration(hours) * time.Hour)
		if err := os.Chtimes(filepath.Join(s.ws.Dir(), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	res, err := s.use("glob", `{"pattern":"*.txt","sort":"modified"}`)
	if got := res.Parts.Text(); err != nil || got != "new.txt\nb.txt\nold.txt\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

// A pattern of a model must not keep the processor busy for long.
func TestPathGlobIsBounded(t *testing.T) {
	for _, p := range []string{strings.Repeat("{a,b}", 9), strings.Repeat("{a,aa,aaa,aaaa,aaaaa}", 8), strings.Repeat("*a", 300), ""} {
		if _, err := newPathGlob(p, "/w"); err == nil {
			t.Errorf("%.20q is accepted", p)
		}
	}
	for _, p := range []string{strings.Repeat("{a,aa}", 8), strings.Repeat("**/", 150) + "b", strings.Repeat("*a", 240)} {
		g, err := newPathGlob(p, "/w")
		if err != nil {
			t.Fatal(err)
		}
		if g.match(strings.Repeat("a/", 100)+strings.Repeat("a", 250)+"c", ".") {
			t.Errorf("%.20q matches", p)
		}
	}
}

// FuzzPathGlob: no pattern makes a search fail or go on for long, "!" turns it
// round, and a name that is written as a pattern means itself.
func FuzzPathGlob(f *testing.F) {
	for _, p := range []string{"*.go", "!*.go", "src/**/*.{js,ts}", "/a", "./a", "/w/a", "[a-", "{a,{b,c}}", "a**b", "\\*", "[!a]?", "**", "{}", "{,a}"} {
		f.Add(p, "src/a.go")
		f.Add(p, "a")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !fs.ValidPath(name) || name == "." || len(name) > 200 {
			return
		}
		if g, err := newPathGlob(pattern, "/w"); err == nil && !g.negated {
			n, err := newPathGlob("!"+pattern, "/w")
			if err != nil || n.match(name, "src") == g.match(name, "src") {
				t.Errorf("!%s selects what %[1]s does: %q, %v", pattern, name, err)
			}
		}
		if strings.HasPrefix(name, "w/") {
			return // "/w/" begins an absolute path in the workspace
		}
		g, err := newPathGlob("/"+escaped(name), "/w")
		if err != nil || !g.match(name, ".") {
			t.Errorf("/%s does not select %q: %v", escaped(name), name, err)
		}
	})
}
