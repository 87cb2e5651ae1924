package tools

import (
	"bytes"
	"fmt"
	"strings"
)

// resultLimit is how many bytes of text a tool returns at most of its own
// accord: less than where results are cut in the middle, since a part that
// was chosen is worth more than two ends.
const resultLimit = 9000

// lineLimit is how many bytes of one line are shown.
const lineLimit = 2000

// isBinary reports whether data, the beginning of a file, is not text: as git
// and grep have it, whether there is a NUL in it.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

var bom = []byte("\xef\xbb\xbf")

// splitLines returns the lines of text without their ends. A last line need
// not have one.
func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// numbered writes lines as `cat -n` does, the first one with the number
// first, in about limit bytes: what is left out is said.
func numbered(lines []string, first, limit int) string {
	var b strings.Builder
	for i, l := range lines {
		if b.Len() > limit {
			fmt.Fprintf(&b, "       ... (%d more lines)\n", len(lines)-i)
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", first+i, clip(printable(l), lineLimit))
	}
	return b.String()
}

// printable returns s as valid UTF-8.
func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// clip cuts s to limit bytes, if it is longer, and says so.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := wholeRunes(s[:limit])
	return fmt.Sprintf("%s [... %d more bytes]", head, len(s)-len(head))
}

// pyList writes numbers as Python writes a list.
func pyList(ns ...int) string {
	return strings.ReplaceAll(fmt.Sprint(ns), " ", ", ")
}
