package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A textBuffer is a text with a caret in it. The caret stands between clusters: what a
// person sees as one character. It has no notion of a screen; rows lays it out.
type textBuffer struct {
	text   string
	at     int      // the caret: a byte offset between two clusters
	want   int      // the column to which up and down return, or -1
	tokens []string // parts of the text that are one cluster each, such as a paste's chip
}

// newBuffer returns a buffer with the caret at the end.
func newBuffer(text string) textBuffer { return textBuffer{text: text, at: len(text), want: -1} }

// joins reports whether r belongs to the cluster before it, whose last rune is before:
// marks, joiners, and what a joiner joins; a skin tone; the second letter of a flag.
func joins(before, r rune, flags int) bool {
	const joiner = '\u200d'
	switch {
	case before == joiner && r != '\n', r == joiner, 0xfe00 <= r && r <= 0xfe0f, 0x1f3fb <= r && r <= 0x1f3ff:
		return before != '\n' && before != 0
	case isFlag(r):
		return isFlag(before) && flags%2 == 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc):
		return before != '\n' && before != 0
	}
	return false
}

// isFlag reports whether r is a letter of flags, of which two make one flag.
func isFlag(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

// next returns the end of the cluster that begins at byte i, or len(text). A cluster is
// what the caret passes in one step: a character with its marks, a flag, or a chip.
func (b *textBuffer) next(i int) int {
	for _, t := range b.tokens {
		if strings.HasPrefix(b.text[i:], t) {
			return i + len(t)
		}
	}
	var before rune
	flags := 0
	for j, r := range b.text[i:] {
		if j > 0 && !joins(before, r, flags) {
			return i + j
		}
		if isFlag(r) {
			flags++
		}
		before = r
	}
	return len(b.text)
}

// clusters yields where the clusters of the text begin and end.
func (b *textBuffer) clusters(yield func(from, to int) bool) {
	for i := 0; i < len(b.text); {
		to := b.next(i)
		if !yield(i, to) {
			return
		}
		i = to
	}
}

// prev returns where the cluster begins that ends at byte i, or 0. It looks back no
// further than the line, so that a long text stays quick.
func (b *textBuffer) prev(i int) int {
	if i == 0 {
		return 0
	}
	for _, t := range b.tokens {
		if strings.HasSuffix(b.text[:i], t) {
			return i - len(t)
		}
	}
	from := strings.LastIndexByte(b.text[:i-1], '\n') + 1
	for from < i {
		to := b.next(from)
		if to >= i {
			break
		}
		from = to
	}
	return from
}

// insert puts a text at the caret.
func (b *textBuffer) insert(text string) {
	b.text = b.text[:b.at] + text + b.text[b.at:]
	b.at, b.want = b.at+len(text), -1
	b.settle()
}

// settle moves the caret out of a cluster into whose middle an edit has put it.
func (b *textBuffer) settle() {
	for b.at < len(b.text) && !utf8.RuneStart(b.text[b.at]) {
		b.at++
	}
	if b.at < len(b.text) && b.at > 0 {
		if p := b.prev(b.at); b.next(p) > b.at {
			b.at = b.next(p)
		}
	}
}

// cut removes what is between the caret and byte i, and returns it.
func (b *textBuffer) cut(i int) string {
	from, to := min(i, b.at), max(i, b.at)
	gone := b.text[from:to]
	b.text, b.at, b.want = b.text[:from]+b.text[to:], from, -1
	b.settle()
	return gone
}

// set replaces the text.
func (b *textBuffer) set(text string) { b.text, b.at, b.want = text, len(text), -1 }

// word returns where the word after the caret ends, or the one before it begins, for a
// step of 1 or -1. A chip counts as a word.
func (b *textBuffer) word(step int) int {
	inWord := func(from, to int) bool {
		r, _ := utf8.DecodeRuneInString(b.text[from:to])
		return unicode.IsLetter(r) || unicode.IsNumber(r) || to-from > utf8.UTFMax
	}
	i, seen := b.at, false
	for {
		from, to := i, i
		if step > 0 {
			to = b.next(i)
		} else {
			from = b.prev(i)
		}
		if from == to {
			return i
		}
		in := inWord(from, to)
		if seen && !in {
			return i
		}
		seen = seen || in
		if i = to; step < 0 {
			i = from
		}
	}
}

// lineStart and lineEnd return the ends of the line of the caret.
func (b *textBuffer) lineStart() int { return strings.LastIndexByte(b.text[:b.at], '\n') + 1 }

func (b *textBuffer) lineEnd() int {
	if i := strings.IndexByte(b.text[b.at:], '\n'); i >= 0 {
		return b.at + i
	}
	return len(b.text)
}

// A row is a line of the screen with a part of the text.
type row struct {
	from, to int // bytes of the text; a row that ends a line does not include its line feed
	shown    string
}

// rows lays the text out in rows of at most width columns, broken at spaces where that
// is possible, and returns where the caret is. There is at least one row.
func (b *textBuffer) rows(width int) (rows []row, x, y int) {
	width = max(width, 2)
	now, cols := row{}, 0
	space, spaceShown := 0, 0 // behind the last space of the row: in the text, and in shown
	end := func(to, next int) {
		now.to = to
		rows = append(rows, now)
		now, cols, space = row{from: next}, 0, 0
	}
	for from, to := range b.clusters {
		if b.text[from:to] == "\n" {
			end(from, to)
			continue
		}
		shown := clip.Fit(showCluster(b.text[from:to]), width)
		w := clip.Width(shown)
		for cols+w > width && cols > 0 {
			if space > now.from && b.text[from:to] != " " {
				rest := now.shown[spaceShown:]
				now.shown = now.shown[:spaceShown]
				end(space, space)
				now.shown, cols = rest, clip.Width(rest)
			} else {
				end(from, from)
			}
		}
		now.shown, cols = now.shown+shown, cols+w
		if b.text[from:to] == " " {
			space, spaceShown = to, len(now.shown)
		}
	}
	end(len(b.text), 0)
	for i, r := range rows {
		if b.at >= r.from && (b.at <= r.to) && (i+1 == len(rows) || b.at < rows[i+1].from) {
			y = i
			part := textBuffer{text: b.text[:b.at], tokens: b.tokens}
			for i := r.from; i < b.at; {
				to := part.next(i)
				x += clip.Width(clip.Fit(showCluster(b.text[i:to]), width))
				i = to
			}
			break
		}
	}
	return rows, x, y
}

// showCluster returns a cluster as it is drawn, so that each terminal takes as many
// columns for it as are counted here: terminals disagree about what a joiner and a
// selector of a variant do to the characters beside them, so these are not drawn.
func showCluster(cluster string) string {
	if cluster == "\t" {
		return "    "
	}
	return clip.Visible(strings.Map(func(r rune) rune {
		if r == '\u200d' || 0xfe00 <= r && r <= 0xfe0f {
			return -1
		}
		return r
	}, cluster))
}

// vertical moves the caret by a row of the screen, to the column that it had when the
// first of several such steps began. It returns false if there is no such row.
func (b *textBuffer) vertical(step, width int) bool {
	rows, x, y := b.rows(width)
	if y+step < 0 || y+step >= len(rows) {
		return false
	}
	if b.want < 0 {
		b.want = x
	}
	r, at := rows[y+step], 0
	i := r.from
	for i < r.to {
		to := b.next(i)
		w := clip.Width(clip.Fit(showCluster(b.text[i:to]), width))
		if at+w > b.want {
			break
		}
		i, at = to, at+w
	}
	if i == r.to && y+step+1 < len(rows) && rows[y+step+1].from == r.to && i > r.from {
		i = b.prev(i) // the end of a row that goes on is the beginning of the next one
	}
	b.at = i
	return true
}
