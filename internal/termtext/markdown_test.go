package termtext_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
)

// What Markdown means is seen without its marks, within the width.
func TestMarkdown(t *testing.T) {
	for name, tt := range map[string]struct {
		source string
		width  int
		want   string
	}{
		"paragraphs": {"One two three\nfour **five** six.\n\nSeven  \neight.", 16, `
One two three
four five six.

Seven
eight.`},
		"headings and rules": {"# A `b`\n\ntext\n\n---\n", 12, `
A b

text

────────────`},
		"lists": {"- one two three\n- [x] done\n  1. a\n  2. b\n\nx\n\n5. five\n\n6. six", 12, `
• one two
  three
• [✓] done
  1. a
  2. b

x

5. five

6. six`},
		"code": {"```go\nfunc f() {\n\tx()\n}\n```\nand `a  b`", 40, `
  func f() {
      x()
  }

and a  b`},
		"long code is folded": {"    123456789012345", 14, `
  123456789012
  345`},
		"quotes": {"> a\n> b\n>\n> c", 20, `
│ a b
│
│ c`},
		"links and images": {"[text](https://example.org/a) <https://example.org> ![alt](f.png) &amp; \\*x\\*", 80, `
text (https://example.org/a) https://example.org image: alt (f.png) & *x*`},
		"HTML stays": {"<b>x</b> a\n\n<div>\ny\n</div>", 40, `
<b>x</b> a

<div>
y
</div>`},
		"a table": {"| name | n |\n|---|--:|\n| **a** | 1 |\n| long one | 1234 |", 40, `
name         n
──────────────
a            1
long one  1234`},
		"a table that is too wide": {"| name | text |\n|---|---|\n| a | one two three four |", 20, `
name  text
────────────────────
a     one two three
      four`},
		"a table of many columns": {"|a|b|c|\n|---|---|---|\n|1|2|3|\n|4|5|6|", 12, `
a: 1
b: 2
c: 3

a: 4
b: 5
c: 6`},
		"a table without rows": {"|a|b|c|\n|---|---|---|\n", 12, `
abc`},
		"Chinese": {"报告很长，要分成几行显示。 English 词", 12, `
报告很长，要
分成几行显
示。 English
词`},
		"a word that is too long": {"see abcdefghijklmnop now", 10, `
see
abcdefghij
klmnop now`},
		"nothing that obeys": {"a\x1b[31mb &#27;[2J\u202e `\x07c`", 40, `
a[31mb [2J c`},
		"nothing": {"", 10, ``},
	} {
		t.Run(name, func(t *testing.T) {
			lines := termtext.Style{}.Markdown(tt.source, tt.width)
			for i, l := range lines {
				lines[i] = strings.TrimRight(l, " ")
			}
			if got := strings.Join(lines, "\n"); got != strings.TrimPrefix(tt.want, "\n") {
				t.Errorf("%q:\n%s\nwant:\n%s", tt.source, got, tt.want)
			}
		})
	}
	styled := strings.Join(termtext.Style{On: true}.Markdown("**a _b_** `c` ~~d~~", 40), "|")
	if want := "\x1b[1ma \x1b[0m\x1b[1;3mb\x1b[0m \x1b[36mc\x1b[0m \x1b[9md\x1b[0m"; styled != want {
		t.Errorf("styled %q, want %q", styled, want)
	}
}

// A reply that streams is shown up to where its meaning is settled.
func TestWhole(t *testing.T) {
	for source, want := range map[string]string{
		"one\ntwo":                   "",
		"one\n\ntwo":                 "one\n\n",
		"```\na\n\nb\n":              "",
		"```\na\n\nb\n```\nc":        "```\na\n\nb\n```\n",
		"~~~~\n```\n\n~~~~\nx":       "~~~~\n```\n\n~~~~\n",
		"a\n\n```sh\necho\n\n":       "a\n\n",
		"| a |\n|---|\n| 1 |\n\n| 2": "| a |\n|---|\n| 1 |\n\n",
		"":                           "",
	} {
		head, tail := termtext.Whole(source)
		if head != want || head+tail != source {
			t.Errorf("%q: %q and %q, want %q", source, head, tail, want)
		}
	}
}

// FuzzMarkdown: whatever a model says fits the width and controls nothing.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a\n\n- b\n  1. c\n\n> d\n", "| a | b |\n|---|:-:|\n| c |", "```\n\tx\n```", "&#27;[2J \u202e é́ 报", "[a](b \"c\") ![d](e)"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, source string, width int) {
		if len(source) > 1<<12 || width < 10 || width > 200 {
			t.Skip()
		}
		for _, line := range (termtext.Style{}).Markdown(source, width) {
			for _, r := range line {
				if unicode.IsControl(r) || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069 {
					t.Fatalf("%q has %q", line, r)
				}
			}
			if n := clip.Width(line); n > width {
				t.Fatalf("%q has %d columns, not %d", line, n, width)
			}
		}
		head, tail := termtext.Whole(source)
		if head+tail != source {
			t.Fatalf("%q and %q", head, tail)
		}
	})
}
