package tools

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// A FileChange says what a call did to a file. It is the Detail of the
// results of file_saver, and part of that of str_replace_editor.
type FileChange struct {
	Path   string `json:"path"`           // slash-separated, relative to the workspace
	Change string `json:"change"`         // Created, Modified or Deleted
	Bytes  int    `json:"bytes"`          // the size of the file now
	Diff   string `json:"diff,omitempty"` // unified; none of what is large or not text
}

// The values of [FileChange].Change.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
)

// newChange describes the change of a file from before to after, of which nil
// is no file.
func newChange(name string, before, after []byte) FileChange {
	c := FileChange{Path: name, Change: Modified, Bytes: len(after)}
	switch {
	case before == nil:
		c.Change = Created
	case after == nil:
		c.Change = Deleted
	}
	c.Diff = unified(name, before, after)
	return c
}

// Of larger files there is no diff; a larger diff is cut.
const (
	maxDiffed = 1 << 20
	maxDiff   = 64 << 10
)

// Diff returns the change of a file from before to after as people read it,
// of which nil is no file: "" if one of them is large or not text. A long one
// is cut at its end.
func Diff(name string, before, after []byte) string { return unified(name, before, after) }

func unified(name string, before, after []byte) string {
	if len(before) > maxDiffed || len(after) > maxDiffed || isBinary(before) || isBinary(after) {
		return ""
	}
	from, to := "a/"+name, "b/"+name
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	d := diff.Diff(from, before, to, after)
	if _, rest, ok := bytes.Cut(d, []byte("\n")); ok {
		d = rest // the line above says "diff"
	}
	if len(d) > maxDiff {
		end := bytes.LastIndexByte(d[:maxDiff], '\n') + 1
		d = fmt.Appendf(bytes.Clone(d[:end]), "... (%d more bytes)\n", len(d)-end)
	}
	return strings.ToValidUTF8(string(d), "\uFFFD")
}
