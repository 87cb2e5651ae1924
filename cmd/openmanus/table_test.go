package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// TestTable: columns stand below each other whatever is in them, and what is in
// them cannot drive the terminal.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	tb := &table{head: []string{"NAME", "N", "TITLE"}}
	tb.add("short", "1", "plain")
	tb.add("报告", "12", "two\nlines\tand \x1b[31mred\x1b[0m")
	tb.add("é", "", "\u202eright to left")
	if err := tb.print(&terminal{out: &out, env: noEnv}, new(globals)); err != nil {
		t.Fatal(err)
	}
	want := "NAME   N   TITLE\n" +
		"short  1   plain\n" +
		"报告   12  two lines and [31mred[0m\n" +
		"é      -   right to left\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func noEnv(string) (string, bool) { return "", false }

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"exactly", 7, "exactly"},
		{"too long", 7, "too lo…"},
		{"报告很长", 8, "报告很长"},
		{"报告很长", 7, "报告很…"},
		{"报告很长", 6, "报告…"}, // half a character does not stand
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"", 0, ""},
	} {
		got := clip.Fit(tc.text, tc.n)
		if got != tc.want || clip.Width(got) > tc.n {
			t.Errorf("Fit(%q, %d) = %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
}

func TestShort(t *testing.T) {
	for n, want := range map[int]string{0: "0", 9_999: "9999", 10_000: "10k", 999_999: "999k", 1_234_567: "1.2M"} {
		if got := short(n); got != want {
			t.Errorf("short(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestEscapeControls: what JSON leaves as it is and a terminal obeys becomes an
// escape that means the same.
func TestEscapeControls(t *testing.T) {
	const text = "a\x1b[31m\u009b31m\x7f\u202e\u2028 ü報 \n\t\"\\"
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	safe := escapeControls(data)
	var back string
	if err := json.Unmarshal(safe, &back); err != nil || back != text {
		t.Errorf("%s reads as %q (%v)", safe, back, err)
	}
	if clip.Plain(string(safe)) != string(safe) || !utf8.Valid(safe) {
		t.Errorf("%q has control characters", safe)
	}
}
