//go:build unix

package tools

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe to which nobody writes would hold a reader for ever.
func TestPipesAreNotRead(t *testing.T) {
	s := newSession(t)
	if err := syscall.Mkfifo(filepath.Join(s.ws.Dir(), "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for tool, input := range map[string]string{
		"str_replace_editor": `{"command":"view","path":"pipe"}`,
		"file_saver":         `{"file_path":"pipe","content":"x","mode":"a"}`,
		"grep":               `{"pattern":"x","path":"pipe"}`,
	} {
		if res, err := s.use(tool, input); err == nil || !strings.Contains(err.Error(), "pipe is neither a file nor a directory") {
			t.Errorf("%s: %q, %v", tool, res.Parts.Text(), err)
		}
	}
	if res, err := s.use("grep", `{"pattern":"x"}`); err != nil || res.Parts.Text() != "No matches in 0 files; hidden and no_ignore search more.\n" {
		t.Errorf("a walk: %q, %v", res.Parts.Text(), err)
	}
}
