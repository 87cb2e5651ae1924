package tools

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// An openFile is the only file that an editor has open. It saves what it is given.
type openFile struct{ path, text string }

func (o *openFile) ReadText(_ context.Context, _, path string) (string, error) {
	if path != o.path {
		return "", fs.ErrNotExist
	}
	return o.text, nil
}

func (o *openFile) WriteText(_ context.Context, _, path, text string) error {
	if path == o.path {
		o.text = text
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// TestEditsInAnEditor views and edits a file that has not been saved in the editor, with
// every tool that edits, and undoes it.
func TestEditsInAnEditor(t *testing.T) {
	dir, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	path := filepath.Join(dir.Dir(), "a.txt")
	write(t, &session{ws: dir}, "a.txt", "saved\n")
	o := &openFile{path, "typed\nby hand\n"}
	s := newSession(t)
	s.ws = workspace.WithBuffers(dir, o)
	s.restart(t)
	for _, c := range []struct{ tool, input, has, now string }{
		{"str_replace_editor", `{"command": "view", "path": "a.txt"}`, "by hand", "typed\nby hand\n"},
		{"str_replace_editor", `{"command": "str_replace", "path": "a.txt", "old_str": "typed", "new_str": "edited"}`, "edited", "edited\nby hand\n"},
		{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-edited\n+patched\n*** End Patch"}`, "M a.txt", "patched\nby hand\n"},
		{"str_replace_editor", `{"command": "undo_edit", "path": "a.txt"}`, "undone", "edited\nby hand\n"},
		{"str_replace_editor", `{"command": "undo_edit", "path": "a.txt"}`, "undone", "typed\nby hand\n"},
		{"file_saver", `{"file_path": "a.txt", "content": "more\n", "mode": "a"}`, "saved", "typed\nby hand\nmore\n"},
		{"file_saver", `{"file_path": "b.txt", "content": "new\n"}`, "saved", "typed\nby hand\nmore\n"},
	} {
		shows, _ := s.tools[c.tool].(openmanus.Previewer)
		before := o.text
		var preview string
		if shows != nil && !strings.Contains(c.input, "undo_edit") {
			call := openmanus.Call{Session: "s", Blobs: &s.mem}
			call.Name, call.Input, call.Last = c.tool, c.input, s.last[c.tool]
			if preview, err = shows.Preview(t.Context(), call); err != nil {
				t.Errorf("%s: %v", c.input, err)
			}
		}
		if o.text != before || strings.Contains(preview, "-saved") {
			t.Errorf("%s: the preview %q, and the editor has %q", c.input, preview, o.text)
		}
		res, err := s.use(c.tool, c.input)
		if err != nil || !strings.Contains(res.Parts.Text(), c.has) || o.text != c.now {
			t.Errorf("%s: %q, %v, and the editor has %q", c.input, res.Parts.Text(), err, o.text)
		}
	}
	if got, err := os.ReadFile(path); string(got) != o.text || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
