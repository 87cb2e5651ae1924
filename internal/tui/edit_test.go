package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// texts are clusters of one caret position each, with the columns that they take.
var texts = []struct {
	cluster string
	columns int
}{
	{"a", 1}, {"é", 1}, {"e\u0301", 1}, {"世", 2}, {"界", 2}, {"😀", 2}, {"👍🏽", 4}, {"👩\u200d👩\u200d👧", 6}, {"🇩🇪", 2}, {"❤\ufe0f", 1},
	{"ש", 1}, {"ש\u05bc\u05c1", 1}, {"م", 1}, {"ا", 1}, {"क\u094d", 1}, {"한", 2}, {"ｱ", 1}, {" ", 1}, {"\t", 4}, {"\u202e", 6}, {"\x1b", 4},
}

// The caret is where the next character appears, for texts of any script.
func TestTheCaretIsAtTheEndOfWhatStandsBeforeIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		b := newBuffer("")
		var ends []int
		for range rng.IntN(12) + 1 {
			c := texts[rng.IntN(len(texts))]
			b.insert(c.cluster)
			ends = append(ends, len(b.text))
		}
		for i := len(ends) - 1; i >= 0; i-- {
			// Marks and flags may join what stands before them, so the caret never stands
			// within a cluster that the text as a whole has.
			_, x, y := b.rows(1000)
			if want := clip.Width(shownText(b.text[:b.at])); y != 0 || x != want {
				t.Fatalf("%d: the caret in %q behind %q is at %d,%d, want column %d", n, b.text, b.text[:b.at], x, y, want)
			}
			b.at = b.prev(b.at)
			if !utf8.ValidString(b.text[:b.at]) {
				t.Fatalf("%q: the caret stands within a character", b.text)
			}
		}
	}
	for _, c := range texts {
		b := newBuffer("x" + c.cluster)
		if _, x, _ := b.rows(80); x != 1+c.columns {
			t.Errorf("%q takes %d columns, want %d", c.cluster, x-1, c.columns)
		}
		if b.cut(b.prev(b.at)); b.text != "x" {
			t.Errorf("backspace after %q leaves %q", c.cluster, b.text)
		}
	}
}

// shownText returns a text as its clusters are drawn.
func shownText(text string) (shown string) {
	b := textBuffer{text: text}
	for from, to := range b.clusters {
		shown += showCluster(text[from:to])
	}
	return shown
}

func TestRows(t *testing.T) {
	for _, tc := range []struct {
		text  string
		at    int
		width int
		want  string
		x, y  int
	}{
		{"", 0, 10, "", 0, 0},
		{"one two three", 13, 8, "one two |three", 5, 1},
		{"one two three", 8, 8, "one two |three", 0, 1},
		{"aaaaaaaaaa", 10, 4, "aaaa|aaaa|aa", 2, 2},
		{"世界世界", 12, 5, "世界|世界", 4, 1},
		{"a\n\nb", 2, 10, "a||b", 0, 1},
		{"a\n", 2, 10, "a|", 0, 1},
		{"a bbbbbb\x7f\ue00d", 12, 12, "a |bbbbbb\\x7f|\\ue00d", 6, 2},
		{"x [pasted 1: 9 lines] y", 21, 40, "x [pasted 1: 9 lines] y", 21, 0},
	} {
		b := textBuffer{text: tc.text, at: tc.at, tokens: []string{"[pasted 1: 9 lines]"}}
		rows, x, y := b.rows(tc.width)
		var got []string
		for _, r := range rows {
			got = append(got, r.shown)
		}
		if s := strings.Join(got, "|"); s != tc.want || x != tc.x || y != tc.y {
			t.Errorf("%q is %s with the caret at %d,%d, want %s and %d,%d", tc.text, s, x, y, tc.want, tc.x, tc.y)
		}
	}
}

// No series of keys makes a text that is not UTF-8, or puts the caret where none can be.
func FuzzEdit(f *testing.F) {
	f.Add("abc 世界\n👩‍👩‍👧", "lrlbwWdkuHEUD")
	f.Fuzz(func(t *testing.T, text, keys string) {
		if !utf8.ValidString(text) || len(text) > 500 || len(keys) > 100 {
			return
		}
		c := &composer{textBuffer: newBuffer(""), past: newHistory("")}
		c.paste(text)
		names := map[rune]string{'l': "left", 'r': "right", 'b': "backspace", 'd': "delete", 'w': "ctrl+w", 'k': "alt+k", 'u': "ctrl+u",
			'H': "home", 'E': "end", 'y': "ctrl+y", 'W': "alt+left", 'V': "alt+right"}
		for _, k := range keys {
			switch k {
			case 'U', 'D':
				c.vertical(map[rune]int{'U': -1, 'D': 1}[k], 20)
			default:
				if name := names[k]; name != "" {
					c.edit(name)
				} else if utf8.ValidRune(k) {
					c.insert(string(k))
				}
			}
			if !utf8.ValidString(c.text) || c.at < 0 || c.at > len(c.text) || !utf8.ValidString(c.text[:c.at]) {
				t.Fatalf("after %q: %q, caret at %d", fmt.Sprint(k), c.text, c.at)
			}
			rows, x, y := c.rows(20)
			if y >= len(rows) || x > 24 {
				t.Fatalf("%q: the caret is at %d,%d of %d rows", c.text, x, y, len(rows))
			}
		}
	})
}
