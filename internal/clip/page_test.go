package clip

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPage(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      int
		first      string
	}{
		{"all of it", "abc", 3, "abc"},
		{"nothing", "", 0, ""},
		{"a line", "aaaa bbbb\ncccc\ndddd", 17, "aaaa bbbb\ncccc\n"},
		{"an empty line rather than a line", "aaaaaaaaaaaaa\n\nbb\ncc", 17, "aaaaaaaaaaaaa\n\n"},
		{"a heading rather than an empty line", "aaaaaaaaaaaaaaaaaaaaaaa\n\n# B\n\nc\n\nd", 30, "aaaaaaaaaaaaaaaaaaaaaaa\n\n"},
		{"a page rather than a heading", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n--- page 2 ---\n# B\n", 40, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"},
		{"not a heading far before", "a\n# B\nccccccccccccccccccc dd", 20, "a\n# B\ncccccccccccccc"},
		{"a word", "aaaaaaaaa bbbbbbb", 12, "aaaaaaaaa "},
		{"a character", "ééé", 3, "é"},
		{"one character at least", "é", 1, "é"},
		{"not even text", "\x80\x80\x80\x80\x80\x80\x80", 5, "\x80\x80"},
	} {
		if got := tt.text[:Page(tt.text, tt.limit)]; got != tt.first {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.first)
		}
	}
}

// FuzzPage: pages follow each other without a gap, none is empty, and none splits a
// character.
func FuzzPage(f *testing.F) {
	f.Add("a\n\n# b\nc\n", 5)
	f.Add("é\xff\x80\x80", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 1<<16 || limit < -10 || limit > 1<<17 {
			return
		}
		for text != "" {
			n := Page(text, limit)
			if n <= 0 || n > len(text) || n > max(limit, utf8.UTFMax) {
				t.Fatalf("Page(%q, %d) = %d", text, limit, n)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[:n]) {
				t.Fatalf("Page(%q, %d) = %d splits a character", text, limit, n)
			}
			text = strings.Clone(text[n:])
		}
	})
}
