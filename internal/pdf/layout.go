package pdf

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The order of reading is found in four steps.
//
//  1. Letters that a page shows one after another, close to each other on a base
//     line, are a segment. Segments that touch are joined whatever their order.
//  2. Segments below each other, again in the order of the page, are a block: a
//     paragraph, or the cell of a table.
//  3. Blocks beside each other are columns if the page shows one whole side before
//     the other, or if both are prose; else they are rows.
//  4. A row's cells are joined by tabs; columns are read one after another.
//
// Lengths are in multiples of the letters' size. Coordinates are turned so that text
// runs to the right; what runs in another direction than most is read apart.

// compatible returns the plain form of a presentation form.
func compatible(r rune) string { return norm.NFKC.String(string(r)) }

// A segment is a part of a line without wide gaps.
type segment struct {
	letters   []letter // of one direction, in the order of the page
	x0, x1, y float64
	size      float64
	text      string
	order     int // in the page
	chars     int

	rightToLeft             bool
	spaceBefore, spaceAfter bool // whether it begins or ends with a space
}

// A block is a number of lines below each other.
type block struct {
	lines       []*segment
	x0, x1      float64
	top, bottom float64 // a bit less than the ink, so that neighbours do not touch
	order       int
}

// layout returns the text of letters in reading order. turned is how far the page is turned, in
// degrees. After ctx is done text is missing.
//
// Letters are grouped by the direction that they run in, to the next degree, but for directions
// near a right angle, which scans that stand a little askew have. Each group is turned level and
// laid out by itself, the largest first: text at the edge of a page that runs upwards, such as
// the number of a preprint, does not come between the lines.
func layout(ctx context.Context, letters []letter, turned float64) string {
	groups := make(map[int][]letter)
	for _, l := range letters {
		wide := math.Hypot(l.ex-l.x, l.ey-l.y) > 0.05*l.size
		if l.text = clean(l.text); l.unknown && wide {
			l.text = unknownText
		}
		if l.text == "" {
			continue
		}
		angle := 0
		if dx, dy := l.ex-l.x, l.ey-l.y; math.Hypot(dx, dy) > 1e-9 {
			angle = int(math.Round(math.Atan2(dy, dx)*180/math.Pi + turned))
		} else {
			angle = int(math.Round(turned))
		}
		angle = ((angle % 360) + 360) % 360
		if near := (angle + 45) / 90 * 90; max(angle-near, near-angle) <= 3 {
			angle = near % 360
		}
		groups[angle] = append(groups[angle], l)
	}
	angles := slices.SortedFunc(maps.Keys(groups), func(a, b int) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a, b))
	})
	var b strings.Builder
	for i, a := range angles {
		if i > 40 { // letters along a curve, of which each has its own direction
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		turn(groups[a], float64(a)-turned)
		w := writer{ctx: ctx, out: &b}
		w.order(blocks(segments(groups[a])), 0)
	}
	return b.String()
}

// turn turns letters by an angle back, so that their line is level. Sizes below half a unit,
// which have no meaning, become half a unit, since all lengths are divided by them.
func turn(all []letter, angle float64) {
	sin, cos := math.Sincos(angle * math.Pi / 180)
	for i := range all {
		l := &all[i]
		l.x, l.y = l.x*cos+l.y*sin, l.y*cos-l.x*sin
		l.ex, l.ey = l.ex*cos+l.ey*sin, l.ey*cos-l.ex*sin
		l.size = max(l.size, 0.5)
	}
}

// segments joins letters to segments. Where the page shows spaces, a gap of a third of the
// letters' size without one already ends a segment, as between the cells of a table; elsewhere
// one of the whole size does.
func segments(letters []letter) []*segment {
	var all []*segment
	var s *segment
	seen := make(map[cell][]letter)
	near := 1.0
	if showsSpaces(letters) {
		near = 0.34
	}
	for _, l := range letters {
		if l.text != " " && twice(seen, l) {
			continue
		}
		if s == nil || !follows(s.letters[len(s.letters)-1], l, near) {
			s = &segment{order: len(all)}
			all = append(all, s)
		}
		s.letters = append(s.letters, l)
	}
	for _, s := range all {
		s.measure()
	}
	all = slices.DeleteFunc(all, func(s *segment) bool { return s.x0 > s.x1 })
	all = join(all)
	for _, s := range all {
		s.write()
	}
	return slices.DeleteFunc(all, func(s *segment) bool { return s.text == "" })
}

// A cell is a place in a grid for finding letters that are shown twice.
type cell struct {
	text string
	x, y int
}

// twice reports whether a letter was shown before in almost the same place, as
// programs do to make it bold.
func twice(seen map[cell][]letter, l letter) bool {
	x, y := int(math.Floor(l.x/l.size)), int(math.Floor(l.y/l.size))
	for i := x - 1; i <= x+1; i++ {
		for j := y - 1; j <= y+1; j++ {
			for _, o := range seen[cell{l.text, i, j}] {
				if math.Abs(o.x-l.x) < 0.12*l.size && math.Abs(o.y-l.y) < 0.12*l.size {
					return true
				}
			}
		}
	}
	k := cell{l.text, x, y}
	if len(seen[k]) < 16 {
		seen[k] = append(seen[k], l)
	}
	return false
}

// showsSpaces reports whether letters have the spaces between words among them. Where
// they do, a gap without a space is one between cells.
func showsSpaces(letters []letter) bool {
	spaces := 0
	for _, l := range letters {
		if l.text == " " {
			spaces++
		}
	}
	return spaces*20 > len(letters)
}

// follows reports whether b continues the segment that ends with a, from which it is
// less than near apart.
func follows(a, b letter, near float64) bool {
	size := max(a.size, b.size)
	gap, dy := b.x-a.ex, math.Abs(b.y-a.y)
	if a.text == " " || b.text == " " {
		near = 1
	}
	switch {
	case dy <= 0.3*min(a.size, b.size): // such as the E in the name of TeX
		return gap <= near*size && (gap > -0.5*size || gap > -0.9*size && accents[a.text] != "")
	case dy <= 0.6*size: // a raised or lowered letter
		return gap > -0.4*size && gap <= 0.3*size && min(a.size, b.size) < 0.9*size
	}
	return false
}

// measure finds the place of a segment by its letters that are no spaces. Its base line is that
// of its largest letter, so that raised notes do not move it.
func (s *segment) measure() {
	s.x0, s.x1 = math.Inf(1), math.Inf(-1)
	s.size = 0
	s.chars = 0
	ys := 0.0
	for _, l := range s.letters {
		if l.text == " " {
			continue
		}
		s.x0, s.x1 = min(s.x0, l.x), max(s.x1, l.ex)
		if l.size > s.size {
			s.size, ys = l.size, l.y
		}
		s.chars += utf8.RuneCountInString(l.text)
		s.rightToLeft = s.rightToLeft || direction(l.text) == -1
	}
	s.y = ys
	for _, l := range s.letters {
		if l.text == " " {
			s.spaceBefore = s.spaceBefore || l.x < s.x0
			s.spaceAfter = s.spaceAfter || l.ex > s.x1
		}
	}
}

// join joins the segments that touch on a line, whatever their order: programs show a line in
// pieces, such as all bold words first. The order of the page is kept for the rest, of which the
// later steps make use.
func join(all []*segment) []*segment {
	byPlace := slices.Clone(all)
	slices.SortStableFunc(byPlace, func(a, b *segment) int { return cmp.Compare(b.y, a.y) })
	gone := make(map[*segment]bool)
	for i := 0; i < len(byPlace); {
		// A line: segments whose base lines hardly differ from the one before.
		end := i + 1
		for end < len(byPlace) && byPlace[end-1].y-byPlace[end].y <= 0.15*byPlace[end].size &&
			byPlace[i].y-byPlace[end].y <= 0.4*byPlace[end].size {
			end++
		}
		line := byPlace[i:end]
		slices.SortStableFunc(line, func(a, b *segment) int { return cmp.Compare(a.x0, b.x0) })
		last := line[0]
		for _, s := range line[1:] {
			size := max(last.size, s.size)
			gap := s.x0 - last.x1
			if gap > -0.3*size && gap < last.reach(s)*size && min(last.size, s.size) > 0.4*size {
				last.letters = append(last.letters, s.letters...)
				last.order = min(last.order, s.order)
				gone[s] = true
				last.measure()
				continue
			}
			last = s
		}
		i = end
	}
	all = slices.DeleteFunc(all, func(s *segment) bool { return gone[s] })
	slices.SortStableFunc(all, func(a, b *segment) int { return cmp.Compare(a.order, b.order) })
	return all
}

// reach returns how far from the end of a segment the next one may begin so that they
// belong together. Cells of tables may stand closer to each other than words; those
// of scripts that run to the left do not, and are often shown letter by letter.
func (s *segment) reach(next *segment) float64 {
	if s.spaceAfter || next.spaceBefore || s.rightToLeft && next.rightToLeft {
		return 0.45
	}
	return 0.1
}

// isWide reports whether a letter is of a script without spaces between words.
func isWide(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r >= 0x2e80 && r <= 0xd7a3 && !unicode.Is(unicode.Hangul, r) || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xff00 && r <= 0xff60 || r >= 0x20000 && r <= 0x3ffff
}

// write makes the text of a segment: its letters by their places, with a space where
// there is one or where there is a gap.
func (s *segment) write() {
	slices.SortStableFunc(s.letters, func(a, b letter) int { return cmp.Compare(a.x, b.x) })
	ls := accented(s.letters)
	limit := wordGap(ls, s.size)
	parts := make([]string, 0, len(ls))
	var prev *letter
	spaced := false
	for i := range ls {
		l := &ls[i]
		if l.text == " " {
			spaced = true
			continue
		}
		if prev != nil {
			size := max(prev.size, l.size)
			gap := (l.x - prev.ex) / size
			switch {
			case gap > 1.5 && !isWide(l.text):
				parts = append(parts, "\t")
			case spaced && gap > 0.02,
				!spaced && gap > limit && !(isWide(prev.text) && isWide(l.text) && gap < 0.7):
				parts = append(parts, " ")
			}
		}
		parts = append(parts, l.text)
		prev, spaced = l, false
	}
	if s.rightToLeft {
		parts = logical(parts)
	}
	s.text = strings.TrimSpace(strings.Join(parts, ""))
	if strings.Contains(s.text, unknownText) {
		s.text = withoutUnknown(s.text)
	}
	s.letters = nil
}

// withoutUnknown leaves out the words of which nothing is known, such as icons. In
// other words the place of an unknown letter stays.
func withoutUnknown(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' })
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, unknownText) == "" })
	return strings.Join(words, " ")
}

// isLetter reports whether a text begins with a letter of a script with spaces.
func isLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) && !isWide(s)
}

// unknownText stands for a letter of which the file does not say what it means.
const unknownText = "\uFFFD"

// accents are the marks that TeX puts over letters, as they are combined with them.
var accents = map[string]string{"´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "˜": "\u0303", "¨": "\u0308", "ˇ": "\u030c",
	"˘": "\u0306", "˙": "\u0307", "˚": "\u030a", "¯": "\u0304", "˝": "\u030b", "¸": "\u0327",
	"\u0301": "\u0301", "\u0300": "\u0300", "\u0302": "\u0302", "\u0303": "\u0303", "\u0308": "\u0308", "\u030c": "\u030c"}

// accented joins accents with the letters that they stand over.
func accented(ls []letter) []letter {
	kept := ls[:0]
	for i := 0; i < len(ls); i++ {
		l := ls[i]
		mark := accents[l.text]
		if mark == "" {
			kept = append(kept, l)
			continue
		}
		middle := (l.x + l.ex) / 2
		over := func(o *letter) bool {
			r, size := utf8.DecodeRuneInString(o.text)
			if size != len(o.text) || !unicode.IsLetter(r) || o.x > middle || o.ex < middle {
				return false
			}
			base := strings.NewReplacer("ı", "i", "ȷ", "j").Replace(o.text)
			o.text = norm.NFC.String(base + mark)
			return true
		}
		switch n := len(kept); {
		case i+1 < len(ls) && over(&ls[i+1]):
		case n > 0 && over(&kept[n-1]):
		default:
			kept = append(kept, l)
		}
	}
	return kept
}

// wordGap returns how wide a gap is between words. Where all letters stand apart,
// it is wider.
func wordGap(ls []letter, size float64) float64 {
	const usual = 0.12
	var gaps []float64
	for i := 1; i < len(ls); i++ {
		if a, b := ls[i-1], ls[i]; isLetter(a.text) && isLetter(b.text) {
			gaps = append(gaps, (b.x-a.ex)/max(a.size, b.size))
		}
	}
	if len(gaps) < 4 {
		return usual
	}
	slices.Sort(gaps)
	if narrow := gaps[len(gaps)/8]; narrow > 0.06 {
		return 1.3*narrow + 0.12
	}
	return usual
}

// direction returns -1 for a letter of a script that runs from right to left, 1 for
// one of another, 2 for a digit and 0 for what has no direction.
func direction(s string) int {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r >= 0x660 && r <= 0x669 || r >= 0x6f0 && r <= 0x6f9 || unicode.IsDigit(r):
		return 2
	case r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefe ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff:
		if unicode.IsPunct(r) {
			return 0
		}
		return -1
	case unicode.IsLetter(r):
		return 1
	}
	return 0
}

// logical puts the parts of a line, which are in the order of their places, into the
// order of reading. It is the inverse of what the Unicode algorithm does with a line
// without explicit marks.
func logical(parts []string) []string {
	right, left := 0, 0
	for _, p := range parts {
		switch direction(p) {
		case -1:
			right++
		case 1:
			left++
		}
	}
	if right >= left {
		return reversed(parts)
	}
	// The stretches that run to the left, in a line that runs to the right.
	for i := 0; i < len(parts); i++ {
		if direction(parts[i]) != -1 {
			continue
		}
		end := i
		for j := i; j < len(parts) && direction(parts[j]) != 1; j++ {
			if direction(parts[j]) == -1 {
				end = j
			}
		}
		copy(parts[i:end+1], reversed(slices.Clone(parts[i:end+1])))
		i = end
	}
	return parts
}

var mirrors = map[string]string{"(": ")", ")": "(", "[": "]", "]": "[", "{": "}", "}": "{", "«": "»", "»": "«"}

// reversed turns parts round, but for the words and numbers in them that run to the
// right. Brackets that then stand on the wrong side of their words were mirrored.
func reversed(parts []string) []string {
	slices.Reverse(parts)
	inRight := make([]bool, len(parts))
	for i := 0; i < len(parts); i++ {
		if d := direction(parts[i]); d != 1 && d != 2 {
			continue
		}
		end, letters := i, direction(parts[i]) == 1
		for j := i; j < len(parts) && direction(parts[j]) != -1; j++ {
			d := direction(parts[j])
			letters = letters || d == 1
			if d == 0 && !letters && !strings.ContainsAny(parts[j], ".,:/-+%") {
				break
			}
			if d == 1 || d == 2 {
				end = j
			}
		}
		// Signs of percent and of money go with their number.
		for i > 0 && strings.ContainsAny(parts[i-1], "%‰$€£¥") && !inRight[i-1] {
			i--
		}
		for end+1 < len(parts) && strings.ContainsAny(parts[end+1], "%‰$€£¥") {
			end++
		}
		slices.Reverse(parts[i : end+1])
		for j := i; j <= end; j++ {
			inRight[j] = true
		}
		i = end
	}
	letterAt := func(i int) bool { return i >= 0 && i < len(parts) && direction(parts[i]) != 0 }
	for i, p := range parts {
		if mirrors[p] == "" || inRight[i] {
			continue
		}
		// The first bracket shows on which side its words are.
		before, after := letterAt(i-1), letterAt(i+1)
		closes := strings.Contains(")]}»", p)
		if closes && after && !before || !closes && before && !after {
			for j := i; j < len(parts); j++ {
				if m := mirrors[parts[j]]; m != "" && !inRight[j] {
					parts[j] = m
				}
			}
		}
		break
	}
	return parts
}

// blocks joins segments below each other to blocks.
func blocks(all []*segment) []*block {
	var list []*block
	var b *block
	for _, s := range all {
		if b == nil || !b.takes(s) {
			b = &block{x0: s.x0, x1: s.x1, top: s.y + 0.6*s.size, order: len(list)}
			list = append(list, b)
		}
		b.lines = append(b.lines, s)
		b.x0, b.x1, b.bottom = min(b.x0, s.x0), max(b.x1, s.x1), s.y
	}
	return list
}

// takes reports whether a segment is the next line of a block: below it by at most nearly twice
// its size, not beside it, and of about the same size, so that a heading is a block of its own.
func (b *block) takes(s *segment) bool {
	last := b.lines[len(b.lines)-1]
	size := max(last.size, s.size)
	down := (last.y - s.y) / size
	return down > 0.6 && down < 1.9 && s.x0 < last.x1 && last.x0 < s.x1 && min(last.size, s.size) > 0.7*size
}

// meanChars returns how many characters the lines of blocks have on average, and how many lines
// they are.
func meanChars(list []*block) (mean float64, lines int) {
	for _, b := range list {
		for _, s := range b.lines {
			mean += float64(s.chars)
			lines++
		}
	}
	return mean / float64(max(lines, 1)), lines
}

// A writer writes blocks in reading order.
type writer struct {
	ctx    context.Context
	out    *strings.Builder
	bottom float64 // the base line of what was written last
	begun  bool
}

// maxBands is how far down columns are looked for at once. A page of a book has some 60 bands; a
// long table would take time by the square of its rows.
const maxBands = 400

// order writes blocks: columns one after another, and rows. A column is ordered in the same way,
// as it may have columns again; deep is how many are around it.
func (w *writer) order(list []*block, deep int) {
	all := bands(list)
	skip := 0 // bands at whose top columns are not looked for
	for i := 0; i < len(all) && w.ctx.Err() == nil; {
		if skip--; deep < 12 && skip < 0 {
			n, left, right := columns(all[i:min(len(all), i+maxBands)])
			if left != nil {
				w.order(left, deep+1)
				w.order(right, deep+1)
				i += n
				continue
			}
			skip = n / 64 // of a long table not every row is looked at
		}
		w.row(all[i])
		i++
	}
}

// bands divides blocks by the level gaps between them, from the top.
func bands(list []*block) (all [][]*block) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *block) int { return cmp.Compare(b.top, a.top) })
	bottom := 0.0
	for _, b := range list {
		if len(all) == 0 || b.top < bottom {
			all = append(all, nil)
			bottom = b.bottom
		}
		n := len(all) - 1
		all[n] = append(all[n], b)
		bottom = min(bottom, b.bottom)
	}
	return all
}

// columns looks for two columns at the top of bands, as far down as a gap goes. It
// returns how many bands that are, and the blocks of both columns; nil if there are
// none.
func columns(all [][]*block) (n int, left, right []*block) {
	if len(all) == 1 && len(all[0]) == 1 {
		return 0, nil, nil
	}
	var taken []*block
	var ink spans
	for _, band := range all {
		next := slices.Clone(ink)
		for _, b := range band {
			next = next.add(b.x0, b.x1)
		}
		if len(next.gaps(gutter*band[0].lines[0].size)) == 0 || len(next) > 64 || len(taken) > 4000 {
			break
		}
		taken, ink, n = append(taken, band...), next, n+1
	}
	best := gap{}
	if n == 0 {
		return 0, nil, nil
	}
	for _, g := range ink.gaps(gutter * taken[0].lines[0].size) {
		l, r := split(taken, g)
		if g.width() > best.width() && areColumns(l, r) {
			best, left, right = g, l, r
		}
	}
	return n, left, right
}

// A gap is between x0 and x1.
type gap struct{ x0, x1 float64 }

func (g gap) width() float64 { return g.x1 - g.x0 }

// gutter is how wide the gap between two columns is at least.
const gutter = 0.6

// spans are the stretches of a line on which something stands, in order.
type spans []gap

// add adds a stretch, and joins those that it touches.
func (s spans) add(x0, x1 float64) spans {
	i, _ := slices.BinarySearchFunc(s, x0, func(g gap, x float64) int { return cmp.Compare(g.x1, x) })
	j := i
	for j < len(s) && s[j].x0 <= x1 {
		x0, x1 = min(x0, s[j].x0), max(x1, s[j].x1)
		j++
	}
	return slices.Replace(s, i, j, gap{x0, x1})
}

// gaps returns the gaps between the stretches that are wider than least.
func (s spans) gaps(least float64) (all []gap) {
	for i := 1; i < len(s); i++ {
		if g := (gap{s[i-1].x1, s[i].x0}); g.width() > least {
			all = append(all, g)
		}
	}
	return all
}

// split divides blocks by a gap.
func split(list []*block, g gap) (left, right []*block) {
	for _, b := range list {
		if b.x1 <= g.x0+1e-6 {
			left = append(left, b)
		} else {
			right = append(right, b)
		}
	}
	return left, right
}

// areColumns reports whether the blocks on two sides of a gap are to be read one side after the
// other. The order of the page says most: who sets columns shows one before the other, who draws
// a table shows row by row. Tables that are drawn column by column have short cells on the same
// levels; columns that are shown line by line, as OCR does, have long lines and many changes.
func areColumns(left, right []*block) bool {
	leftMean, leftLines := meanChars(left)
	rightMean, rightLines := meanChars(right)
	if min(levelCount(left), levelCount(right)) < 2 { // one row of a table
		return false
	}
	changes := changes(left, right)
	switch fewer := min(leftLines, rightLines); {
	case changes <= 1, changes <= 3 && fewer > 10:
		return !(max(leftMean, rightMean) < 20 && fewer > 2 && aligned(left, right))
	default:
		// Both sides were shown line by line: prose has long lines.
		return min(leftMean, rightMean) >= 28 && fewer >= 5 && changes > fewer
	}
}

// levelCount returns on how many levels lines stand.
func levelCount(list []*block) (n int) {
	var levels []float64
	size := 0.0
	for _, b := range list {
		for _, s := range b.lines {
			levels = append(levels, s.y)
			size = max(size, s.size)
		}
	}
	slices.Sort(levels)
	for i, y := range levels {
		if i == 0 || y-levels[i-1] > 0.3*size {
			n++
		}
	}
	return n
}

// changes returns how often the page goes from one side to the other.
func changes(left, right []*block) (n int) {
	orders := make([]int, 0, len(left)+len(right))
	for _, b := range left {
		orders = append(orders, 2*b.order)
	}
	for _, b := range right {
		orders = append(orders, 2*b.order+1)
	}
	slices.Sort(orders)
	for i := 1; i < len(orders); i++ {
		if orders[i]&1 != orders[i-1]&1 {
			n++
		}
	}
	return n
}

// aligned reports whether most lines on one side have one on the same level on the
// other, as in a table.
func aligned(left, right []*block) bool {
	var levels []float64
	for _, b := range left {
		for _, s := range b.lines {
			levels = append(levels, s.y)
		}
	}
	slices.Sort(levels)
	same, all := 0, 0
	for _, b := range right {
		for _, s := range b.lines {
			all++
			i, _ := slices.BinarySearch(levels, s.y-0.2*s.size)
			if i < len(levels) && levels[i] <= s.y+0.2*s.size {
				same++
			}
		}
	}
	return float64(same) >= 0.8*float64(max(all, len(levels)))
}

// maxCellLines is how many lines a cell of a table may have; what has more is
// written as a paragraph.
const maxCellLines = 20

// row writes the blocks of a band: as the cells of a row, or, where they stand over each other,
// one after another. Cells of several lines become one line each, with spaces, so that a row
// stays a row for those who read it as a table.
func (w *writer) row(band []*block) {
	if len(band) == 1 {
		w.lines(band[0].lines)
		return
	}
	cells := [][]*block{band}
	var ink spans
	for _, b := range band {
		ink = ink.add(b.x0, b.x1)
	}
	if g := ink.gaps(0.1 * band[0].lines[0].size); len(g) > 0 {
		cells = cells[:0]
		rest := band
		for _, g := range g {
			var left []*block
			left, rest = split(rest, g)
			cells = append(cells, left)
		}
		cells = append(cells, rest)
	}
	if len(cells) == 1 {
		w.levels(band)
		return
	}
	lines, most := make([][]*segment, len(cells)), 0
	for i, c := range cells {
		slices.SortStableFunc(c, func(a, b *block) int { return cmp.Compare(b.top, a.top) })
		for _, b := range c {
			lines[i] = append(lines[i], b.lines...)
		}
		most = max(most, len(lines[i]))
	}
	if most > 1 && allAligned(lines) {
		w.levels(band)
		return
	}
	if most > maxCellLines {
		for _, l := range lines {
			w.lines(l)
		}
		return
	}
	texts := make([]string, len(lines))
	first, last := lines[0][0], lines[0][0]
	for i, l := range lines {
		texts[i] = strings.ReplaceAll(joined(l), "\n", " ")
		for _, s := range l {
			if s.y > first.y {
				first = s
			}
			if s.y < last.y {
				last = s
			}
		}
	}
	w.gap(first)
	between := "\t"
	if len(texts) > 3 && !slices.ContainsFunc(texts, func(s string) bool { return !singleLetter(s) }) {
		between = "" // a word whose letters stand far apart
	}
	w.put(strings.Join(texts, between))
	w.bottom = last.y
}

// singleLetter reports whether a text is one letter.
func singleLetter(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == len(s) && unicode.IsLetter(r)
}

// allAligned reports whether all cells have as many lines on the same levels: rows of
// a table that stand close to each other and were shown column by column.
func allAligned(cells [][]*segment) bool {
	chars, n := 0, 0
	for _, c := range cells {
		if len(c) != len(cells[0]) || len(c) < 3 {
			return false
		}
		for i, s := range c {
			if math.Abs(s.y-cells[0][i].y) > 0.2*s.size {
				return false
			}
			chars += s.chars
			n++
		}
	}
	return chars < 20*n
}

// levels writes the segments of blocks level by level: what stands on a base line is one line,
// with a tab where a gap is wider than two letters.
func (w *writer) levels(band []*block) {
	var all []*segment
	for _, b := range band {
		all = append(all, b.lines...)
	}
	slices.SortStableFunc(all, func(a, b *segment) int { return cmp.Compare(b.y, a.y) })
	var levels []*segment
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[i].y-all[end].y <= 0.3*all[end].size {
			end++
		}
		line := all[i:end]
		slices.SortStableFunc(line, func(a, b *segment) int { return cmp.Compare(a.x0, b.x0) })
		level := *line[0]
		for _, s := range line[1:] {
			if s.x0-level.x1 < 2*s.size {
				level.text += " " + s.text
			} else {
				level.text += "\t" + s.text
			}
			level.x1 = s.x1
		}
		levels = append(levels, &level)
		i = end
	}
	for i := 0; i < len(levels); {
		end := i + 1
		for end < len(levels) && levels[end-1].y-levels[end].y <= 2.2*levels[end].size {
			end++
		}
		w.lines(levels[i:end])
		i = end
	}
}

// lines writes the lines of a block.
func (w *writer) lines(list []*segment) {
	w.gap(list[0])
	w.put(joined(list))
	w.bottom = list[len(list)-1].y
}

// gap writes an empty line, if there is room for one above a segment.
func (w *writer) gap(s *segment) {
	if down := w.bottom - s.y; w.begun && (down > 2.2*s.size || down < -s.size) {
		w.out.WriteByte('\n')
	}
	w.begun = true
}

func (w *writer) put(text string) { w.out.WriteString(text + "\n") }

// joined joins lines. A word that a hyphen divides at the end of one is put together; a word that
// has a hyphen of its own there loses it, which nothing in the file tells apart. Soft hyphens
// are left out everywhere.
func joined(list []*segment) string {
	var b strings.Builder
	for i, s := range list {
		text := s.text
		if i+1 < len(list) && divided(text, list[i+1].text) {
			_, size := utf8.DecodeLastRuneInString(text)
			b.WriteString(strings.ReplaceAll(text[:len(text)-size], "\u00ad", ""))
			continue
		}
		b.WriteString(strings.ReplaceAll(text, "\u00ad", ""))
		if i+1 < len(list) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// divided reports whether a line ends with a hyphen within a word that goes on in
// the next line.
func divided(line, next string) bool {
	r, size := utf8.DecodeLastRuneInString(line)
	if r != '-' && r != '\u00ad' && r != '\u2010' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(line[:len(line)-size])
	after, _ := utf8.DecodeRuneInString(next)
	return unicode.IsLetter(before) && unicode.IsLower(after)
}
