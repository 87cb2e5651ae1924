package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

func patchCall(input string) openmanus.Call {
	data, _ := json.Marshal(map[string]string{"input": input})
	return openmanus.Call{Call: llm.Call{Name: "apply_patch", Input: string(data)}}
}

// A gate is told every path that a patch writes or removes.
func TestPathsOfAPatch(t *testing.T) {
	tool := newSession(t).tools["apply_patch"].(openmanus.ArgumentHinter)
	got := tool.ArgumentsOf(patchCall("*** Begin Patch\n*** Add File: a\n*** Update File: b\n*** Move to: .git/hooks/c\n*** Delete File:  d \n*** End Patch"))
	want := []openmanus.Argument{
		{Name: "*", Kind: openmanus.TextArgument},
		{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: "a"},
		{Kind: openmanus.PathArgument, Does: openmanus.Deletes, Value: "b"},
		{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: ".git/hooks/c"},
		{Kind: openmanus.PathArgument, Does: openmanus.Deletes, Value: "d"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := tool.ArgumentsOf(patchCall("*** Begin")); len(got) != 1 {
		t.Errorf("what is no patch names %v", got)
	}
}

// The preview of a patch has the diffs of all files, and writes nothing.
func TestPreviewOfAPatch(t *testing.T) {
	s := newSession(t)
	write(t, s, "a", "1\n")
	call := patchCall("*** Begin Patch\n*** Update File: a\n-1\n+2\n*** Add File: b\n+new\n*** End Patch")
	call.Blobs = &s.mem
	got, err := s.tools["apply_patch"].(openmanus.Previewer).Preview(t.Context(), call)
	want := "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-1\n+2\n--- /dev/null\n+++ b/b\n@@ -0,0 +1,1 @@\n+new\n"
	if err != nil || got != want || read(t, s, "a") != "1\n" {
		t.Errorf("%v, got %s", err, got)
	}
	call.Input = `{"input":""}`
	if _, err := s.tools["apply_patch"].(openmanus.Previewer).Preview(t.Context(), call); err == nil {
		t.Error("what is no patch has a preview")
	}
}

// A file that cannot be written leaves all others as they were.
func TestPatchIsAtomic(t *testing.T) {
	s := newSession(t)
	write(t, s, "a", "1\n")
	write(t, s, "locked/b", "1\n")
	if err := os.Symlink(t.TempDir(), filepath.Join(s.ws.Dir(), "out")); err != nil {
		t.Fatal(err)
	}
	input := "*** Begin Patch\n*** Update File: a\n-1\n+2\n*** Add File: deep/down/c\n+x\n*** Delete File: locked/b\n*** Add File: out/d\n+x\n*** End Patch"
	data, _ := json.Marshal(map[string]string{"input": input})
	if res, err := s.use("apply_patch", string(data)); err == nil {
		t.Fatal(res.Parts.Text())
	}
	if read(t, s, "a") != "1\n" || read(t, s, "locked/b") != "1\n" {
		t.Error("a file was changed")
	}
	var names []string
	entries, err := os.ReadDir(s.ws.Dir())
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "a locked out" {
		t.Errorf("there is %s, %v", got, err)
	}
}

// Moved and changed files keep their permissions.
func TestPatchKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	s := newSession(t)
	for _, name := range []string{"a.sh", "b.sh"} {
		write(t, s, name, "1\n")
		if err := os.Chmod(filepath.Join(s.ws.Dir(), name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := json.Marshal(map[string]string{"input": "*** Begin Patch\n*** Update File: a.sh\n-1\n+2\n*** Update File: b.sh\n*** Move to: c/d.sh\n*** End Patch"})
	if _, err := s.use("apply_patch", string(data)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.sh", "c/d.sh"} {
		info, err := os.Stat(filepath.Join(s.ws.Dir(), name))
		if err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Files of the size that tools read whole can be patched; larger ones are refused.
func TestPatchOfALargeFile(t *testing.T) {
	s := newSession(t)
	line := strings.Repeat("0123456789abcdef", 4) + "\n"
	write(t, s, "large", strings.Repeat(line, 400_000)+"the end\n")
	call := `{"input":"*** Begin Patch\n*** Update File: large\n-the end\n+  the end of it\n*** End of File\n*** End Patch"}`
	if _, err := s.use("apply_patch", call); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "large"); !strings.HasSuffix(got, "f\n  the end of it\n") || len(got) != 400_000*len(line)+16 {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-30:])
	}
	if err := os.Truncate(filepath.Join(s.ws.Dir(), "large"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.use("apply_patch", call); err == nil || !strings.Contains(err.Error(), "33554433 bytes") {
		t.Errorf("%v", err)
	}
}

// FuzzPatch: whatever a patch says, it is refused, or the files it changes can all be
// brought back byte for byte; no other file is touched.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("one\r\ntwo\nthree"), "*** Begin Patch\n*** Update File: a\n@@ one\n two\n-three\n+drei\n*** End of File\n*** End Patch")
	f.Add([]byte("\xef\xbb\xbf\tx\n"), "*** Begin Patch\n*** Update File: a\n*** Move to: c\n  x\n+    y\n\n*** Delete File: b\n*** Add File: d\n+1\n\n+2\n*** End Patch\n")
	f.Add([]byte(""), "```\n*** Begin Patch\n*** Delete File: a\n*** Add File: a\n+\n*** End Patch\n```")
	f.Add([]byte("a\na\nb\n"), "*** Begin Patch\n*** Update File: a\n@@ -1 +1 @@\n-a\n@@ a\n@@ b\n+c\n*** End Patch")
	schemas := make(map[string]*args.Schema)
	f.Fuzz(func(t *testing.T, begin []byte, text string) {
		if len(begin) > 4000 || len(text) > 8000 {
			return
		}
		files := memFiles{MapFS: fstest.MapFS{"a": {Data: begin}, "b": {Data: []byte("b\n")}}}
		s := &session{ws: files, last: make(map[string]json.RawMessage), schemas: schemas}
		editor, patch := NewEditors(files)
		s.tools = map[string]openmanus.Tool{"str_replace_editor": editor, "apply_patch": patch}
		input, _ := json.Marshal(map[string]string{"input": text})
		before := fmt.Sprintf("%q", files.MapFS["a"].Data)
		res, err := s.use("apply_patch", string(input))
		if err != nil {
			if len(files.MapFS) != 2 || fmt.Sprintf("%q", files.MapFS["a"].Data) != before {
				t.Fatalf("a patch that failed (%v) changed something", err)
			}
			return
		}
		for _, c := range res.Detail.(*history).Files {
			if _, err := s.edit(t, "undo_edit", c.Path, nil); err != nil {
				t.Fatalf("%s: %v", c.Path, err)
			}
		}
		if len(files.MapFS) != 2 || !bytes.Equal(files.MapFS["a"].Data, begin) || string(files.MapFS["b"].Data) != "b\n" {
			t.Fatalf("after all is undone there are %v, and a is %q", len(files.MapFS), files.MapFS["a"].Data)
		}
	})
}
