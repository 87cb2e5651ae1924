package clip

import "testing"

func TestText(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äöü…"}, {"a", 0, "…"},
	} {
		if got := Text(tt.s, tt.n); got != tt.want {
			t.Errorf("Text(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
	if got := OneLine(" a\n\tb  c "); got != "a b c" {
		t.Errorf("OneLine: %q", got)
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\tb c":                   "a\n\tb c",
		"naïve – 日本\u3000語 👍":        "naïve – 日本\u3000語 👍",
		"a\rb\x00\x7f":               `a\rb\x00\x7f`,
		"\x1b[31mred":                `\x1b[31mred`,
		"\u0085\u00a0\u2003":         `\u0085\u00a0\u2003`,
		"\u202egnp.exe":              `\u202egnp.exe`,
		"a\u200bb\u2066\ufeff":       `a\u200bb\u2066\ufeff`,
		"\u2028\u3164\ufe0f":         `\u2028\u3164\ufe0f`,
		"\U000e0041":                 `\U000e0041`,
		"\xff\xfe ok \uFFFD":         "\\xff\\xfe ok \uFFFD",
		"echo \\x1b 'it' \"quoted\"": "echo \\x1b 'it' \"quoted\"",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc":                              "a\nb\tc",
		"a\rb\x00\x7f\u0085":                   "ab",
		"\x1b[31mred\x1b[0m":                   "red",
		"\x1b]8;;http://x\x07link\x1b]8;;\x07": "link",
		"a\u200b\u202e\u2066b\ufeff":           "ab", // zero-width and bidirectional
		"tag \U000e0041\U000e0042":             "tag ",
		"line\u2028end\u2029":                  "lineend",
		"\xff\xfe ok":                          " ok",
		"naïve – 日本 👍":                         "naïve – 日本 👍",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}
