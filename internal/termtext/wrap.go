package termtext

import (
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A span is text with one look. Line feeds in it end lines.
type span struct {
	text string
	code string // see [Style.Paint]; "": as it is
}

// A cell is what stands in one place of a line: a letter with its accents.
type cell struct {
	text, code string
	width      int
}

// cells returns the letters of spans.
func cells(spans []span) (cs []cell) {
	for _, sp := range spans {
		for _, r := range sp.text {
			w := clip.Width(string(r))
			if r == '\t' {
				r, w = ' ', 1
			}
			if n := len(cs); w == 0 && r != '\n' && n > 0 && cs[n-1].text != "\n" {
				cs[n-1].text += string(r)
				continue
			}
			if r == '\n' {
				w = 0
			}
			cs = append(cs, cell{string(r), sp.code, w})
		}
	}
	return cs
}

// breaks reports whether a line may end before c, which follows before, apart from
// spaces: Chinese, Japanese and Korean have none.
func breaks(before, c cell) bool {
	if before.width < 2 && c.width < 2 {
		return false
	}
	r := []rune(c.text)[0]
	return !unicode.In(r, unicode.Pe, unicode.Pf) && !strings.ContainsRune("、。，．：；！？…", r)
}

// wrap returns spans as lines of at most width columns. A line ends at a space if
// there is one.
func (s Style) wrap(spans []span, width int) (lines []string) {
	width = max(width, 2)
	var line []cell
	at, used := -1, 0 // where the line may end, and how many columns it has
	wrapped := false  // the line goes on from the one before
	flush := func(cs []cell) {
		lines = append(lines, s.paint(trimmed(cs)))
	}
	for _, c := range cells(spans) {
		if c.text == "\n" {
			flush(line)
			line, at, used, wrapped = nil, -1, 0, false
			continue
		}
		if c.text == " " {
			if used == 0 && wrapped {
				continue // a line that was wrapped does not begin with a space
			}
			at = len(line)
		} else if n := len(line); n > 0 && breaks(line[n-1], c) {
			at = n
		}
		line, used = append(line, c), used+c.width
		if used <= width || c.text == " " {
			continue
		}
		if at <= 0 {
			at = len(line) - 1 // a word that is longer than a line
		}
		flush(line[:at])
		line = append([]cell(nil), line[at:]...)
		for len(line) > 0 && line[0].text == " " {
			line = line[1:]
		}
		at, used, wrapped = -1, 0, true
		for _, c := range line {
			used += c.width
		}
	}
	if len(line) > 0 || len(lines) == 0 {
		flush(line)
	}
	return lines
}

// trimmed returns cells without the spaces at their end.
func trimmed(cs []cell) []cell {
	for len(cs) > 0 && cs[len(cs)-1].text == " " {
		cs = cs[:len(cs)-1]
	}
	return cs
}

// paint joins cells.
func (s Style) paint(cs []cell) string {
	var b strings.Builder
	for i := 0; i < len(cs); {
		j, text := i, ""
		for ; j < len(cs) && cs[j].code == cs[i].code; j++ {
			text += cs[j].text
		}
		if code := cs[i].code; code != "" {
			text = s.Paint(code, text)
		}
		b.WriteString(text)
		i = j
	}
	return b.String()
}

// columns returns how many columns spans take on one line.
func columns(spans []span) (n int) {
	for _, sp := range spans {
		n += clip.Width(sp.text)
	}
	return n
}

// Plain returns a text without marks, whose line feeds end lines, as lines of at most
// width columns, and 2 at least.
func (s Style) Plain(text string, width int) []string { return s.wrap([]span{{text, ""}}, width) }
