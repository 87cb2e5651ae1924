package tools

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// lineLimit is how many bytes of one line are shown.
const lineLimit = 2000

// isBinary reports whether data, the beginning of a file, is not text. Like git
// and grep, it looks for a NUL.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// isUTF16 reports whether data begins with a byte order mark of UTF-16.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

var bom = []byte("\xef\xbb\xbf")

// splitLines returns the lines of text without their ends. The last line need
// not have an end.
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

// numbered returns lines like cat -n, in about limit bytes. first is the number
// of the first one. It says how many lines it leaves out.
func numbered(lines []string, first, limit int) string {
	var b strings.Builder
	for i, l := range lines {
		if b.Len() > limit {
			fmt.Fprintf(&b, "       ... (%d more lines)\n", len(lines)-i)
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", first+i, cut(printable(l), lineLimit))
	}
	return b.String()
}

// printable returns s as valid UTF-8.
func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cut cuts s after limit bytes if it is longer, and says so.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := clip.Runes(s[:limit])
	return fmt.Sprintf("%s [... %d more bytes]", head, len(s)-len(head))
}

// pyList returns numbers as Python writes a list.
func pyList(ns ...int) string {
	return strings.ReplaceAll(fmt.Sprint(ns), " ", ", ")
}
