package near

import (
	"testing"
	"testing/fstest"
)

func TestNearest(t *testing.T) {
	words := []string{"sessions", "sandbox", "serve", "Max-Steps"}
	for word, want := range map[string]string{
		"sesions":   "sessions",
		"sessinos":  "sessions", // two letters swapped are one mistake
		"srve":      "serve",
		"max-stepz": "Max-Steps",
		"":          "",
		"nothing":   "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Error(got)
	}
}

func TestFile(t *testing.T) {
	files := fstest.MapFS{"rules.pdf": {}, "docs/guide.md": {}, "other": {}}
	for name, want := range map[string]string{
		"Rules.pdf":      "; there is rules.pdf",
		"docs/guid.md":   "; there is docs/guide.md",
		"nothing.txt":    "",
		"none/guide.md":  "",
		"docs/Guide.md ": "; there is docs/guide.md",
	} {
		if got := File(files, name); got != want {
			t.Errorf("File(%q) = %q, want %q", name, got, want)
		}
	}
}
