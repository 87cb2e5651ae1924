package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

func write(t testing.TB, s *session, name, text string) {
	t.Helper()
	path := filepath.Join(s.ws.Dir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s *session, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.ws.Dir(), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// edit makes a call of the editor with arguments that are given as Go values.
func (s *session) edit(t testing.TB, command, path string, args map[string]any) (openmanus.Result, error) {
	t.Helper()
	in := map[string]any{"command": command, "path": path}
	for k, v := range args {
		in[k] = v
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return s.use("str_replace_editor", string(data))
}

// FuzzEdits: whatever edits are made, undoing them all brings back every byte,
// and no edit touches what it was not asked to.
func FuzzEdits(f *testing.F) {
	f.Add([]byte("a\tb\r\nc\r\n"), "x\ny", []byte{0, 0, 1, 1, 1, 0, 2, 9, 9, 0, 3, 2})
	f.Add([]byte("\xef\xbb\xbf\xff\n\n"), "", []byte{1, 0, 0, 1, 1, 9, 3, 0, 0, 0, 1, 1})
	f.Add([]byte("line"), "\r\n", []byte{1, 1, 1, 1, 0, 0, 0, 2, 2, 3, 3, 3})
	schemas := make(map[string]*args.Schema)
	f.Fuzz(func(t *testing.T, begin []byte, text string, ops []byte) {
		if isBinary(begin) || len(begin) > 2000 || len(text) > 200 || len(ops) > 60 {
			return
		}
		files := memFiles{MapFS: fstest.MapFS{"f": {Data: begin}}}
		s := &session{ws: files, last: make(map[string]json.RawMessage), schemas: schemas}
		s.tools = map[string]openmanus.Tool{"str_replace_editor": NewEditor(files)}
		content := func() string { return string(files.MapFS["f"].Data) }
		for ; len(ops) >= 3; ops = ops[3:] {
			now := content()
			a, b := int(ops[1]), int(ops[2])
			switch ops[0] % 6 {
			case 0:
				from := min(a, len(now))
				to := min(from+b%16, len(now))
				_, err := s.edit(t, "str_replace", "f", map[string]any{"old_str": now[from:to], "new_str": text})
				checkReplaced(t, now, content(), now[from:to], err)
			case 1:
				s.edit(t, "insert", "f", map[string]any{"insert_line": a % 8, "new_str": text})
			case 2:
				s.edit(t, "undo_edit", "f", nil)
			case 3:
				s.tools["str_replace_editor"] = NewEditor(files)
			case 4:
				from := min(a, len(now))
				old := now[from:min(from+b%4, len(now))]
				_, err := s.edit(t, "str_replace", "f", map[string]any{"old_str": old, "new_str": text, "replace_all": true})
				if want := strings.ReplaceAll(now, old, text); err == nil && !strings.Contains(now, "\r\n") && utf8.ValidString(old) && utf8.ValidString(text) && content() != want {
					t.Fatalf("replacing all %q in %q made %q, want %q", old, now, content(), want)
				}
			case 5:
				from := min(a, len(now))
				edits := []map[string]any{{"old_str": now[from:min(from+b%16, len(now))], "new_str": text}, {"old_str": text, "new_str": "z"}}
				if _, err := s.edit(t, "str_replace", "f", map[string]any{"edits": edits}); err != nil && content() != now {
					t.Fatalf("edits that failed (%v) changed %q to %q", err, now, content())
				}
			}
		}
		for {
			if _, err := s.edit(t, "undo_edit", "f", nil); err != nil {
				if !strings.HasPrefix(err.Error(), "No edit history") {
					t.Fatal(err)
				}
				break
			}
		}
		if got := content(); got != string(begin) {
			t.Errorf("after all is undone the file is %q and not %q", got, begin)
		}
	})
}

// memFiles is a workspace of files in memory, which is quicker to fuzz than a
// disk.
type memFiles struct{ fstest.MapFS }

func (m memFiles) FS() fs.FS                                 { return m.MapFS }
func (m memFiles) Dir() string                               { return "/work" }
func (m memFiles) Close() error                              { return nil }
func (m memFiles) Run(context.Context, *workspace.Cmd) error { return errors.ErrUnsupported }

func (m memFiles) WriteFile(_ context.Context, name string, data []byte) error {
	m.MapFS[name] = &fstest.MapFile{Data: bytes.Clone(data), Mode: 0o666}
	return nil
}

func (m memFiles) Remove(_ context.Context, name string) error {
	delete(m.MapFS, name)
	return nil
}

// checkReplaced checks that what stands before and after the only place of old
// has stayed.
func checkReplaced(t *testing.T, before, after, old string, err error) {
	t.Helper()
	if err != nil {
		if before != after {
			t.Fatalf("an edit that failed (%v) changed %q to %q", err, before, after)
		}
		return
	}
	head, tail, ok := strings.Cut(before, old)
	if !ok || !utf8.ValidString(old) || strings.Contains(before[len(head)+1:], old) {
		return // found with other line ends, or not what JSON can say
	}
	if !strings.HasPrefix(after, head) || !strings.HasSuffix(after, tail) {
		t.Fatalf("replacing %q in %q made %q", old, before, after)
	}
}

// An edit of a hundred: events must not grow with the number of edits.
func TestHistoryDoesNotGrow(t *testing.T) {
	s := newSession(t)
	write(t, s, "f", "0")
	size := 0
	for i := range 100 {
		_, err := s.edit(t, "str_replace", "f", map[string]any{"old_str": fmt.Sprint(i), "new_str": fmt.Sprint(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			size = len(s.last["str_replace_editor"])
		}
	}
	if got := len(s.last["str_replace_editor"]); got > size+20 {
		t.Errorf("the detail has %d bytes, after ten edits it had %d", got, size)
	}
	for i := range 100 {
		if _, err := s.edit(t, "undo_edit", "f", nil); err != nil {
			t.Fatalf("undo %d: %v", i+1, err)
		}
	}
	if got := read(t, s, "f"); got != "0" {
		t.Errorf("the file is %q", got)
	}
	for i := range maxHistories + 10 {
		if _, err := s.edit(t, "create", fmt.Sprint("new", i), map[string]any{"file_text": "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.edit(t, "undo_edit", "new9", nil); err == nil {
		t.Error("the history of the eldest file is still there")
	}
	if _, err := s.edit(t, "undo_edit", "new10", nil); err != nil {
		t.Error(err)
	}
}

// A store may replace secrets in what it keeps. Then the edit cannot be undone
// exactly, and the placeholder must not get into the file.
func TestUndoRefusesADamagedRecord(t *testing.T) {
	s := newSession(t)
	write(t, s, "f", "key = hunter22hunter22\n")
	if _, err := s.edit(t, "str_replace", "f", map[string]any{"old_str": "hunter22hunter22", "new_str": "none"}); err != nil {
		t.Fatal(err)
	}
	h, err := readHistory(s.last["str_replace_editor"])
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.pop(t.Context(), &s.mem, "f")
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(pastEdit) any{
		"a placeholder": func(p pastEdit) any { p.Old = []byte("[[secret:KEY]]"); return p },
		"an offset":     func(p pastEdit) any { p.At = 1000; return p },
		"a length":      func(p pastEdit) any { p.Len = -1; return p },
		"no JSON":       func(pastEdit) any { return []int{1} },
	} {
		data, _ := json.Marshal(damage(*p))
		ref, err := s.mem.Put(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		h.set("f", ref)
		s.last["str_replace_editor"], _ = json.Marshal(h)
		if _, err := s.edit(t, "undo_edit", "f", nil); err == nil || !strings.Contains(err.Error(), "was not undone") {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, s, "f"); got != "key = none\n" {
			t.Errorf("%s: the file is %q", name, got)
		}
	}
	h.set("f", openmanus.RefOf([]byte("gone")))
	s.last["str_replace_editor"], _ = json.Marshal(h)
	if _, err := s.edit(t, "undo_edit", "f", nil); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a record that is gone: %v", err)
	}
}

func TestViewOfAnImage(t *testing.T) {
	s := newSession(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	write(t, s, "pics/dot.png", b.String())
	res, err := s.edit(t, "view", "pics/dot.png", nil)
	if err != nil || len(res.Parts) != 2 {
		t.Fatalf("%v, %d parts", err, len(res.Parts))
	}
	blob, ok := res.Parts[1].(llm.Blob)
	if !ok || blob.MIME != "image/png" || blob.Name != "dot.png" || !bytes.Equal(blob.Data, b.Bytes()) {
		t.Errorf("got %T %s %s", res.Parts[1], blob.MIME, blob.Name)
	}
	if got, want := res.Parts.Text(), fmt.Sprintf("The image pics/dot.png (image/png, %d bytes):", b.Len()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := s.edit(t, "view", "pics/dot.png", map[string]any{"view_range": []int{1, 2}}); err == nil {
		t.Error("an image has lines")
	}
	write(t, s, "huge.png", b.String()+strings.Repeat("x", maxImage))
	if _, err := s.edit(t, "view", "huge.png", nil); err == nil || !strings.Contains(err.Error(), "make a smaller copy") {
		t.Errorf("a huge image: %v", err)
	}
}

func TestViewOfABigFile(t *testing.T) {
	s := newSession(t)
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "this is line %d\n", i+1)
	}
	write(t, s, "big.txt", text.String())
	res, err := s.edit(t, "view", "big.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := res.Parts.Text()
	if len(got) > 40_000+500 || !strings.HasSuffix(got, "(lines 1 to 1644 of 100000; view_range [1645, 3288] shows the next ones)\n") {
		t.Errorf("%d bytes, the end is %q", len(got), got[len(got)-100:])
	}
	res, err = s.edit(t, "view", "big.txt", map[string]any{"view_range": []int{99_999, -1}})
	want := "Here's the result of running `cat -n` on big.txt:\n 99999\tthis is line 99999\n100000\tthis is line 100000\n"
	if got := res.Parts.Text(); err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	res, err = s.edit(t, "view", "big.txt", map[string]any{"view_range": []int{10, 99_999}})
	if got := res.Parts.Text(); err != nil || !strings.Contains(got, " of 100000; view_range [") {
		t.Errorf("%v, got\n%s", err, got[len(got)-100:])
	}
}

// A line of a megabyte, such as minified code, is cut, and between characters.
func TestViewOfALongLine(t *testing.T) {
	s := newSession(t)
	write(t, s, "min.js", "x"+strings.Repeat("é", 500_000)+"\r\nshort")
	res, err := s.edit(t, "view", "min.js", nil)
	want := "Here's the result of running `cat -n` on min.js:\n     1\tx" + strings.Repeat("é", 999) +
		" [... 998003 more bytes]\n     2\tshort\n(long lines are cut; view_range [1, 1] shows more of line 1)\n"
	if got := res.Parts.Text(); err != nil || got != want {
		t.Errorf("%v, got %d bytes, the end is %q", err, len(got), got[max(0, len(got)-60):])
	}
}

// One long line is shown up to the limit of a result.
func TestViewOfOneLongLine(t *testing.T) {
	s := newSession(t)
	write(t, s, "min.js", strings.Repeat("x", 30_000)+"\n"+strings.Repeat("y", 50_000))
	for line, want := range map[int]string{
		1: "     1\t" + strings.Repeat("x", 30_000) + "\n",
		2: "     2\t" + strings.Repeat("y", 40_000) + " [... 10000 more bytes]\n(the line goes on: read the rest with a program)\n",
	} {
		res, err := s.edit(t, "view", "min.js", map[string]any{"view_range": []int{line, line}})
		_, got, _ := strings.Cut(res.Parts.Text(), "min.js:\n")
		if err != nil || got != want {
			t.Errorf("line %d: %v, %d bytes, the end is %q", line, err, len(got), got[max(0, len(got)-60):])
		}
	}
}

func TestDirectoryOfManyFiles(t *testing.T) {
	s := newSession(t)
	for i := range 1000 {
		write(t, s, fmt.Sprintf("file-number-%d.txt", i), "")
	}
	res, err := s.edit(t, "view", ".", nil)
	if got := res.Parts.Text(); err != nil || len(got) > 9000+500 || !strings.Contains(got, "more; view one of the directories, or use glob)") {
		t.Errorf("%v, %d bytes", err, len(got))
	}
}

func TestTooLargeToEdit(t *testing.T) {
	s := newSession(t)
	path := filepath.Join(s.ws.Dir(), "large")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.edit(t, "insert", "large", map[string]any{"insert_line": 0, "new_str": "x"}); err == nil || !strings.Contains(err.Error(), "33554433 bytes") {
		t.Errorf("edit: %v", err)
	}
	if _, err := s.use("file_saver", `{"file_path":"large","content":"x","mode":"a"}`); err == nil {
		t.Error("appending takes it")
	}
	res, err := s.use("file_saver", `{"file_path":"large","content":"x"}`)
	if got, want := res.Detail, (FileChange{Path: "large", Change: Modified, Bytes: 1}); err != nil || got != want {
		t.Errorf("writing it anew: %v, %v", got, err)
	}
}

// Edits of the same file by several sessions at once: each is made on what the
// others left, and none is lost.
func TestEditsAtOnce(t *testing.T) {
	s := newSession(t)
	write(t, s, "f", "0\n")
	editor := s.tools["str_replace_editor"]
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := editor.Run(t.Context(), openmanus.Call{
				Call:    llm.Call{Input: fmt.Sprintf(`{"command":"insert","path":"f","insert_line":0,"new_str":"%d"}`, i+1)},
				Session: fmt.Sprint(i), Blobs: &s.mem,
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(read(t, s, "f"), "\n"); n != 21 {
		t.Errorf("there are %d lines", n)
	}
}
