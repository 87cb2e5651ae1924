package pdf

import (
	"bytes"
	"errors"
	"math"
)

// A page is a program: content streams with operators after their operands (section
// 7.8.2), of which those matter here that place text. Shapes, colours and clipping are
// passed over, so text that something covers is read, too.

// Limits of a page. A real one has some ten thousand operators and letters; what has more
// was made to keep a reader busy.
const (
	maxOperators = 4 << 20 // of a page
	maxLetters   = 400_000 // of a page
	maxForms     = 16      // forms in each other
	maxSaved     = 512     // graphics states
	maxOperands  = 1 << 16
)

// A matrix is [a b c d e f]: x' = ax + cy + e, y' = bx + dy + f.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// mul returns the matrix that applies m, then n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// point applies the matrix to a point.
func (m matrix) point(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// A letter is what one code shows: mostly one character, a ligature's several, or
// all that a span of marked content replaces.
type letter struct {
	// text is what it means by its font, or by ActualText. Layout cleans it.
	text   string
	x, y   float64 // where it begins, on the base line
	ex, ey float64 // where it ends
	size   float64 // about its height

	unknown bool // the file does not say what it means
}

// A state is the graphics state, as far as text depends on it (section 8.4 and 9.3).
type state struct {
	// ctm leads from user space to the page; the others are the parameters of table 104:
	// Tc and Tw in units of text space, Tz as a factor.
	ctm                              matrix
	font                             *font
	size, char, word, scale, leading float64
	rise                             float64
}

// A marked is an open sequence of marked content (section 14.6).
type marked struct {
	replaced bool   // its text is given by ActualText
	text     string // which is it
	first    int    // its first letter
	hidden   bool   // it is optional content that is off
}

// A machine runs content streams and collects their letters.
type machine struct {
	f     *File
	state state
	saved []state
	// Text space leads to user space by tm, which each glyph moves on. line is what it was
	// at the beginning of the line, from which Td and T* go on (section 9.4.2).
	tm, line  matrix // of the text, and of its line
	marks     []marked
	letters   []letter
	box       [4]float64 // letters outside are left out: left, bottom, right, top
	operators int
	shown     int // codes
	unknown   int // those without a meaning
	pictures  int
	off       map[ref]bool // optional content that is off
}

// errLimit is the error for a page that has too much.
var errLimit = errors.New("it has more on it than is read")

// run runs a content stream with its resources. deep counts the forms around it. Broken
// parts are skipped, as in viewers: an operator without its operands does nothing, and
// graphics states that the stream leaves open are closed. The error says that the page has
// too much, or that the context has ended; the letters until then are there.
func (m *machine) run(data []byte, resources dict, deep int) error {
	l := &lexer{data: data}
	base, saved := len(m.saved), m.state
	var args []object
	for {
		o, ok := l.next()
		if !ok {
			break
		}
		k, isKeyword := o.(keyword)
		if !isKeyword {
			if args = append(args, o); len(args) > maxOperands {
				return errLimit
			}
			continue
		}
		if m.operators++; m.operators > maxOperators || len(m.letters) > maxLetters {
			return errLimit
		}
		if m.operators&0x3ff == 0 && m.f.ctx.Err() != nil {
			return m.f.ctx.Err()
		}
		if k == "BI" {
			skipImage(l)
			m.pictures++
		} else if err := m.operator(k, args, resources, deep); err != nil {
			return err
		}
		args = args[:0]
	}
	m.saved, m.state = m.saved[:min(base, len(m.saved))], saved
	return nil
}

// skipImage moves past an image in the content (section 8.9.7): to an EI between spaces
// that text follows. The bytes of an image have no length and may contain EI by chance, and
// what follows a real one is operators, which are plain text.
func skipImage(l *lexer) {
	i := bytes.Index(l.data[l.pos:], []byte("ID"))
	if i < 0 {
		l.pos = len(l.data)
		return
	}
	l.pos += i + 2
	for {
		i := bytes.Index(l.data[l.pos:], []byte("EI"))
		if i < 0 {
			l.pos = len(l.data)
			return
		}
		start := l.pos + i
		l.pos = start + 2
		if start > 0 && !isSpace(l.data[start-1]) {
			continue
		}
		after := l.data[l.pos:min(len(l.data), l.pos+12)]
		plain := len(after) == 0 || isSpace(after[0])
		for _, c := range after {
			if c > 126 || c < 32 && !isSpace(c) {
				plain = false
			}
		}
		if plain {
			return
		}
	}
}

// floats returns the last n operands as numbers. ok is false if there are fewer.
func floats(args []object, n int) (all [6]float64, ok bool) {
	if len(args) < n {
		return all, false
	}
	for i, o := range args[len(args)-n:] {
		switch v := o.(type) {
		case int:
			all[i] = float64(v)
		case float64:
			all[i] = v
		default:
			return all, false
		}
	}
	return all, true
}

// operator runs one operator (annex A lists all). Those that are not here have no
// influence on text.
func (m *machine) operator(k keyword, args []object, resources dict, deep int) error {
	s := &m.state
	number := func() float64 {
		n, _ := floats(args, 1)
		return n[0]
	}
	switch k {
	case "q":
		if len(m.saved) < maxSaved {
			m.saved = append(m.saved, *s)
		}
	case "Q":
		if n := len(m.saved); n > 0 {
			*s, m.saved = m.saved[n-1], m.saved[:n-1]
		}
	case "cm":
		if n, ok := floats(args, 6); ok {
			s.ctm = matrix(n).mul(s.ctm)
		}
	case "gs":
		d := m.f.dict(m.f.dict(resources["ExtGState"])[nameOf(args)])
		if a := m.f.array(d["Font"]); len(a) == 2 {
			s.font = m.f.font(a[0])
			s.size, _ = m.f.number(a[1])
		}
	case "BT":
		m.tm, m.line = identity, identity
	case "Tf":
		if n := len(args); n >= 2 {
			s.size = number()
			s.font = m.f.font(m.f.dict(resources["Font"])[nameOf(args[:n-1])])
		}
	case "Tc":
		s.char = number()
	case "Tw":
		s.word = number()
	case "Tz":
		s.scale = number() / 100
	case "TL":
		s.leading = number()
	case "Ts":
		s.rise = number()
	case "Tm":
		if n, ok := floats(args, 6); ok {
			m.tm, m.line = matrix(n), matrix(n)
		}
	case "Td", "TD":
		if n, ok := floats(args, 2); ok {
			if k == "TD" {
				s.leading = -n[1]
			}
			m.nextLine(n[0], n[1])
		}
	case "T*":
		m.nextLine(0, -s.leading)
	case "Tj", "'", "\"":
		if n, ok := floats(args[:max(0, len(args)-1)], 2); ok && k == "\"" {
			s.word, s.char = n[0], n[1]
		}
		if k != "Tj" {
			m.nextLine(0, -s.leading)
		}
		if t, ok := last(args).(str); ok {
			m.show(t)
		}
	case "TJ":
		all, _ := last(args).(array)
		for _, o := range all {
			if t, ok := o.(str); ok {
				m.show(t)
			} else if n, ok := floats([]object{o}, 1); ok {
				m.move(-n[0] / 1000 * s.size)
			}
		}
	case "Do":
		return m.do(m.f.dict(resources["XObject"])[nameOf(args)], resources, deep)
	case "BMC", "BDC":
		m.open(args, resources)
	case "EMC":
		m.close()
	}
	return nil
}

func nameOf(args []object) name {
	n, _ := last(args).(name)
	return n
}

// nextLine moves to the start of a line, relative to the start of this one.
func (m *machine) nextLine(x, y float64) {
	m.line = matrix{1, 0, 0, 1, x, y}.mul(m.line)
	m.tm = m.line
}

// move moves along the line by a length in text space, which horizontal scaling stretches
// (section 9.4.4). Vertical writing moves down, and is not scaled.
func (m *machine) move(by float64) {
	x, y := by*m.state.scale, 0.0
	if f := m.state.font; f != nil && f.composite && f.encoding.vertical {
		x, y = 0, by
	}
	m.tm = matrix{1, 0, 0, 1, x, y}.mul(m.tm)
}

// show shows a string. Each glyph moves on by its width, the spacing between characters,
// and between words if it is the code 32 of one byte (section 9.3.3). A letter's size is
// that of its font in the direction up, so that a page in any unit is laid out alike.
func (m *machine) show(s str) {
	st := &m.state
	if st.font == nil {
		return
	}
	vertical := st.font.composite && st.font.encoding.vertical
	st.font.each(s, func(g glyph) {
		all := m.tm.mul(st.ctm)
		x, y := all.point(0, st.rise)
		by := g.width * st.size
		l := letter{text: g.text, x: x, y: y}
		if vertical {
			l.ex, l.ey = all.point(0, st.rise-by)
			by = -by
		} else {
			l.ex, l.ey = all.point(by*st.scale, st.rise)
		}
		l.size = math.Hypot(all[2], all[3]) * math.Abs(st.size) * st.font.scale
		m.add(l, g.known)
		space := st.char
		if g.space {
			space += st.word
		}
		if vertical {
			space = -space
		}
		m.move(by + space)
	})
}

// add adds a letter, unless it is outside the page, hidden, or not a number: matrices of
// broken files grow without limit. A code without a meaning stays as a gap, so that the
// words on its sides do not grow together, unless ActualText says what stands there.
func (m *machine) add(l letter, known bool) {
	inside := l.ex >= m.box[0] && l.x <= m.box[2] && l.y >= m.box[1] && l.y <= m.box[3]
	sane := math.Abs(l.x) < 1e6 && math.Abs(l.y) < 1e6 &&
		math.Abs(l.ex) < 1e6 && math.Abs(l.ey) < 1e6 && l.size < 1e5
	if !inside || !sane {
		return
	}
	replaced := false
	for i := range m.marks {
		if m.marks[i].hidden {
			return
		}
		replaced = replaced || m.marks[i].replaced
	}
	m.shown++
	if !known && !replaced {
		m.unknown++
		l.text, l.unknown = "", true
	}
	if len(m.letters) <= maxLetters {
		m.letters = append(m.letters, l)
	}
}

// do shows a form, and counts a picture (sections 8.8 and 8.10). A form that has no
// resources of its own uses those of the page, as before PDF 1.2. maxForms ends forms that
// show themselves.
func (m *machine) do(o object, resources dict, deep int) error {
	x, ok := m.f.resolve(o).(*stream)
	if !ok {
		return nil
	}
	switch m.f.name(x.dict["Subtype"]) {
	case "Image":
		m.pictures++
	case "Form":
		if deep >= maxForms || m.isOff(x.dict["OC"]) {
			return nil
		}
		data, err := m.f.decode(x)
		if err != nil {
			return nil // its text is missing, that of the page is not
		}
		own := m.f.dict(x.dict["Resources"])
		if own == nil {
			own = resources
		}
		saved, tm, line, marks := m.state, m.tm, m.line, len(m.marks)
		if a := m.f.array(x.dict["Matrix"]); len(a) == 6 {
			if n, ok := floats(a, 6); ok {
				m.state.ctm = matrix(n).mul(m.state.ctm)
			}
		}
		if err := m.run(data, own, deep+1); err != nil {
			return err
		}
		for len(m.marks) > marks {
			m.close()
		}
		m.state, m.tm, m.line = saved, tm, line
	}
	return nil
}

// open begins a sequence of marked content, whose properties stand in the stream or by a
// name in the resources (section 14.6.2). BMC has none.
func (m *machine) open(args []object, resources dict) {
	k := marked{first: len(m.letters)}
	if len(args) >= 2 {
		tag, _ := args[0].(name)
		var property object = args[1]
		if n, ok := property.(name); ok {
			property = m.f.dict(resources["Properties"])[n]
		}
		if tag == "OC" {
			k.hidden = m.isOff(property)
		}
		if d := m.f.dict(property); d != nil {
			if t, ok := m.f.resolve(d["ActualText"]).(str); ok {
				k.replaced, k.text = true, textString(t)
			}
		}
	}
	m.marks = append(m.marks, k)
	if len(m.marks) > maxSaved {
		m.marks = m.marks[1:]
	}
}

// close ends a sequence of marked content: a text that is given for it (ActualText, section
// 14.9.4) stands in place of its letters, over all of their width. Chromium and LaTeX write
// ligatures, hyphens and words with accents so.
func (m *machine) close() {
	n := len(m.marks)
	if n == 0 {
		return
	}
	k := m.marks[n-1]
	m.marks = m.marks[:n-1]
	if !k.replaced || k.first >= len(m.letters) {
		return
	}
	all := m.letters[k.first:]
	one := all[0]
	one.text, one.unknown = k.text, false
	for _, l := range all[1:] {
		if l.ex > one.ex {
			one.ex, one.ey = l.ex, l.ey
		}
		if l.x < one.x {
			one.x, one.y = l.x, l.y
		}
	}
	m.letters = append(m.letters[:k.first], one)
}

// isOff reports whether optional content is off: a group, or all groups of a
// membership (section 8.11).
func (m *machine) isOff(o object) bool {
	if r, ok := o.(ref); ok && m.off[r] {
		return true
	}
	d := m.f.dict(o)
	if d == nil || m.f.name(d["Type"]) != "OCMD" {
		return false
	}
	groups := m.f.array(d["OCGs"])
	if r, ok := d["OCGs"].(ref); ok && groups == nil {
		groups = array{r}
	}
	off := 0
	for _, g := range groups {
		if r, ok := g.(ref); ok && m.off[r] {
			off++
		}
	}
	return off > 0 && off == len(groups)
}

// textString decodes a text string (section 7.9.2.2): UTF-16 or, since PDF 2.0, UTF-8 after
// a mark, and else PDFDocEncoding, for which WinAnsiEncoding stands: they differ in signs
// that texts for readers hardly have.
func textString(s str) string {
	switch {
	case len(s) >= 2 && s[0] == 0xfe && s[1] == 0xff:
		return utf16Text(s[2:])
	case len(s) >= 3 && s[:3] == "\xef\xbb\xbf":
		return string(s[3:])
	}
	names := encodings()["WinAnsiEncoding"]
	var b []byte
	for i := range len(s) {
		if s[i] == '\n' || s[i] == '\r' || s[i] == '\t' {
			b = append(b, s[i])
		}
		b = append(b, glyphText(names[s[i]])...)
	}
	return string(b)
}
