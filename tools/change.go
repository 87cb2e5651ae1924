package tools

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// A FileChange says what a call did to a file. It is the Detail of the results
// of file_saver, and part of the Detail of those of str_replace_editor.
type FileChange struct {
	Path   string `json:"path"`           // slash-separated, relative to the workspace
	Change string `json:"change"`         // Created, Modified or Deleted
	Bytes  int    `json:"bytes"`          // the size of the file now
	Diff   string `json:"diff,omitempty"` // unified; none for large files and files that are not text
}

// The values of [FileChange].Change.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
)

// newChange describes the change of a file from before to after. Nil means that
// there is no file.
func newChange(name string, before, after []byte) FileChange {
	c := FileChange{Path: name, Change: Modified, Bytes: len(after)}
	switch {
	case before == nil:
		c.Change = Created
	case after == nil:
		c.Change = Deleted
	}
	c.Diff = Diff(name, before, after)
	return c
}

// There is no diff of files with more than maxDiffed bytes. A diff is cut after
// maxDiff bytes.
const (
	maxDiffed = 1 << 20
	maxDiff   = 64 << 10
)

// Diff returns the change of a file from before to after as a unified diff. Nil
// means that there is no file. The diff is "" if the content is large or not
// text. A long diff is cut at its end.
func Diff(name string, before, after []byte) string {
	if len(before) > maxDiffed || len(after) > maxDiffed || isBinary(before) || isBinary(after) {
		return ""
	}
	from, to := diffName("a/"+name), diffName("b/"+name)
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	d := diff.Diff(from, before, to, after)
	if _, rest, ok := bytes.Cut(d, []byte("\n")); ok {
		d = rest // without the line "diff …"
	}
	return cutDiff(strings.ToValidUTF8(string(d), "\uFFFD"))
}

// diffName returns a name as the head of a diff has it, for git and patch to read: with
// a tab after one that has spaces, and in quotes if a line could not hold it.
func diffName(name string) string {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }):
		return strconv.Quote(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

// cutDiff cuts a diff at the end of a line if it has more than maxDiff bytes.
func cutDiff(d string) string {
	if len(d) <= maxDiff {
		return d
	}
	end := strings.LastIndexByte(d[:maxDiff], '\n') + 1
	return fmt.Sprintf("%s... (%d more bytes)\n", d[:end], len(d)-end)
}
