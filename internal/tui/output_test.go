package tui

import (
	"strings"
	"testing"

	"github.com/hinshun/vt10x"
)

// painted is what the renderer writes for a row with wide characters.
func painted(move, text, position string) string {
	return wrapOff + move + eraseTo + text + wrapOn + position
}

// TestRepaints has rows painted again. Only what is new in them is written, and the
// terminal shows the same as one to which all was written.
func TestRepaints(t *testing.T) {
	row3, row4 := painted("\r\x1b[3d", "世界", "\x1b[3;5H"), painted("\r\x1b[4d", "広い", "\x1b[4;5H")
	far := painted("\r\x1b[3d", "世          \x1b[31m界          \x1b[m.", "\x1b[3;26H")
	cases := []struct{ name, first, then, want string }{
		{"the same", row3, row3, "\x1b[3;5H"},
		{"two that are the same", row3 + row4, row3 + row4, "\x1b[4;5H"},
		{"another text", row3, painted("\r\x1b[3d", "広い", "\x1b[3;5H"), painted("\r\x1b[3d", "広い", "\x1b[3;5H")},
		{"another pen", row3, "\x1b[31m" + row3, "\x1b[31m" + row3},
		{"an end in colour", painted("\r\x1b[3d", "\x1b[31m世", "\x1b[3;3H") + "\x1b[m", painted("\r\x1b[3d", "\x1b[31m世", "\x1b[3;3H") + "x", "\x1b[31m\x1b[3;3Hx"},
		{"something between", row3, "\x1b[3;2Hx" + row3, "\x1b[3;2Hx" + row3},
		{"it goes elsewhere", row3, row3 + "\x1b[5;5Hx", "\x1b[5;5Hx"},
		{"scrolled up", row4, "\x1b[2;5r\x1b[5;1H\n\x1b[1;6r" + row3 + row4, "\x1b[2;5r\x1b[5;1H\n\x1b[r" + painted("\r\x1b[3d", "世界", "\x1b[3;5H") + row4},
		{"scrolled up to the same", row4, "\x1b[2;5r\x1b[5;1H\x1b[S\x1b[1;6r" + painted("\r\x1b[3d", "広い", "\x1b[3;5H"), "\x1b[2;5r\x1b[5;1H\x1b[S\x1b[r\x1b[3;5H"},
		{"scrolled down to the same", row3, "\x1b[2;1H\x1b[L" + painted("\r\x1b[4d", "世界", "\x1b[4;5H"), "\x1b[2;1H\x1b[L\x1b[4;5H"},
		{"scrolled away", row3, "\x1b[3;6r\x1b[6;1H\n\x1b[1;6r" + row3, "\x1b[3;6r\x1b[6;1H\n\x1b[r" + row3},
		{"the last line scrolls", row4, "\x1b[6;1H\n" + painted("\r\x1b[3d", "広い", "\x1b[3;5H"), "\x1b[6;1H\n\x1b[3;5H"},
		{"a screen that was erased", row3, "\x1b[H\x1b[2J" + row3, "\x1b[H\x1b[2J" + row3},
		{"another screen", row3, "\x1b[?1049h" + row3, "\x1b[?1049h" + row3},
		{"spaces", "", far, wrapOff + "\r\x1b[3d" + eraseTo + "世\x1b[10C\x1b[31m界          \x1b[m." + wrapOn + "\x1b[3;26H"},
		{"a title", row3, "\x1b]2;[2J 世\a" + row3, "\x1b]2;[2J 世\a\x1b[3;5H"},
		{"broken", row3, wrapOff + "x", wrapOff + "x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r repaints
			less, all := vt10x.New(vt10x.WithSize(40, 6)), vt10x.New(vt10x.WithSize(40, 6))
			less.Write(r.frame([]byte(c.first), 6))
			all.Write([]byte(c.first))
			got := r.frame([]byte(c.then), 6)
			if string(got) != c.want {
				t.Errorf("written %q\nwant %q", got, c.want)
			}
			less.Write(got)
			all.Write([]byte(c.then))
			if is, was := cells(less), cells(all); is != was {
				t.Errorf("the screen is\n%s\nwant\n%s", is, was)
			}
		})
	}
}

// FuzzRepaints writes anything. Output without rows that are painted whole is written
// unchanged, except for margins; nothing else is lost that a person could read.
func FuzzRepaints(f *testing.F) {
	f.Add("\x1b[?7l\r\x1b[3d\x1b[K世界\x1b[?7h\x1b[3;5H", "\x1b[2;5r\n\n\x1b[1;6rtext\x1b]2;x\a", 6)
	f.Add("\x1b", "\x1b[", 0)
	f.Add("\x1b[?7l\x1b[K\x1b[?7h\x1b[H", "\x1b[?7l\x1b[K\x1b[?7h\x1b[-1;99999999999H", -1)
	f.Fuzz(func(t *testing.T, first, then string, height int) {
		var r repaints
		if got := string(r.frame([]byte(first), height)); !strings.Contains(first, "r") && !strings.Contains(first, wrapOff) && got != first {
			t.Errorf("%q became %q", first, got)
		}
		plain := strings.Map(func(c rune) rune {
			if c < ' ' {
				return -1
			}
			return c
		}, then)
		if got := string(r.frame([]byte(plain), height)); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
		r.frame([]byte(then), height)
	})
}
