package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/openmanus-go/openmanus/host"
)

// A file that a prompt names is attached, in the encoding that it has, or the person reads that it is not.
func TestMessageAttachesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	utf16le := "\xff\xfe"
	for _, u := range utf16.Encode([]rune("Grüße 😀\n")) {
		utf16le += string([]byte{byte(u), byte(u >> 8)})
	}
	utf16be := "\xfe\xff"
	for _, u := range utf16.Encode([]rune("Grüße 😀\n")) {
		utf16be += string([]byte{byte(u >> 8), byte(u)})
	}
	for name, text := range map[string]string{"a.txt": "Grüße 😀\n", "bom.txt": "\xef\xbb\xbfGrüße 😀\n", "le.txt": utf16le, "be.txt": utf16be, "cut.txt": utf16le + "x", "docs/b.md": "Grüße 😀\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := host.Message(dir, "read @cut.txt", nil); err != nil || !strings.Contains(m.Message.Text(), ">\nGrüße 😀\n\uFFFD\n<") {
		t.Errorf("of half a character the model reads %q, %v", m.Message.Text(), err)
	}
	for prompt, missing := range map[string]string{
		"read @a.txt": "", "read @bom.txt, please": "", "read @le.txt.": "", "@be.txt)": "", "see @docs/b.md!": "",
		"read @missing.txt":            "@missing.txt",
		"@docs/none and @x.go, @a.txt": "@docs/none, @x.go",
		"ask @maria, @everyone":        "",
		"look into @docs":              "",
		"use @types/node and @2.5":     "",
		"mail me@example.org":          "",
	} {
		m, err := host.Message(dir, prompt, nil)
		if err != nil {
			t.Errorf("%s: %v", prompt, err)
			continue
		}
		said := host.NotAttached(dir, prompt)
		if (said == "") != (missing == "") || !strings.Contains(said, missing) {
			t.Errorf("%s: it is said %q, want %q", prompt, said, missing)
		}
		text := m.Message.Text()
		if named := strings.Contains(prompt, "@") && missing == "" && strings.Contains(prompt, ".txt") || strings.Contains(prompt, "b.md"); named && !strings.Contains(text, ">\nGrüße 😀\n<") {
			t.Errorf("%s: the model reads %q", prompt, text)
		}
	}
}
