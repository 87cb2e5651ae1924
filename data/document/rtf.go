package document

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// codePages are the character sets of Windows by their numbers.
var codePages = map[int]encoding.Encoding{
	437: charmap.CodePage437, 850: charmap.CodePage850, 852: charmap.CodePage852, 866: charmap.CodePage866,
	874: charmap.Windows874, 932: japanese.ShiftJIS, 936: simplifiedchinese.GBK, 949: korean.EUCKR,
	950: traditionalchinese.Big5, 1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252,
	1253: charmap.Windows1253, 1254: charmap.Windows1254, 1255: charmap.Windows1255, 1256: charmap.Windows1256,
	1257: charmap.Windows1257, 1258: charmap.Windows1258, 10000: charmap.Macintosh, 20127: charmap.Windows1252,
	20866: charmap.KOI8R, 21866: charmap.KOI8U, 28591: charmap.ISO8859_1, 28592: charmap.ISO8859_2, 28595: charmap.ISO8859_5,
	28597: charmap.ISO8859_7, 28599: charmap.ISO8859_9, 28605: charmap.ISO8859_15, 50220: japanese.ISO2022JP,
	51932: japanese.EUCJP, 54936: simplifiedchinese.GB18030, 65001: unicode.UTF8,
}

// fontSets are the code pages of fonts by their \fcharset.
var fontSets = map[int]int{
	0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
	186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437,
}

// decode decodes text of a code page; one that is not known is taken for 1252.
func decode(page int, b []byte) string {
	set := codePages[page]
	if set == nil {
		set = charmap.Windows1252
	}
	text, err := set.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return string(text)
}

// maxGroups is how many groups of RTF may be open.
const maxGroups = 1000

// An rtfGroup is what ends with a group: braces restore all properties of characters, so that
// a word that is set to be hidden ends at its brace.
type rtfGroup struct {
	skip bool // a destination that is no text
	hide bool // hidden text
	uc   int  // characters that stand in place of a Unicode one
	page int  // the code page of the font; 0 is that of the document
	note bool // a footnote
}

// An rtf is the state of reading RTF (version 1.9.1 of Microsoft's specification). A file is
// ASCII: groups in braces, control words after a backslash with a number and a space, and text.
// The meaning of the text's bytes depends on the current font, so they are collected and
// decoded when something may change that.
type rtf struct {
	data    []byte
	pos     int
	group   rtfGroup
	groups  []rtfGroup
	codes   int         // the code page of the document
	fonts   map[int]int // the code pages of fonts
	font    int         // that is being defined
	inFonts bool
	bytes   []byte // text that is not decoded yet
	skip    int    // characters to leave out after a Unicode one
	star    bool   // after \*
	surro   rune   // the first half of a character beyond 16 bits

	out      []byte // of the page
	row      []string
	rowAt    int      // where the cell begins in out; -1 if that is not known
	pages    []string // that have ended
	pictures int
}

// rtfSkipped are the destinations that are no text of the document: tables of fonts, colours
// and styles, data of pictures and programs, the instructions of fields, of which the results
// are text, and headers and footers, which would come between the lines.
const rtfSkipped = " colortbl stylesheet info filetbl listtable listoverridetable rsidtbl generator themedata " +
	"colorschememapping datastore latentstyles xmlnstbl pntext pntxta pntxtb fldinst objdata object nonshppict " +
	"header headerl headerr headerf footer footerl footerr footerf bkmkstart bkmkend atnid atnauthor atnref "

// rtf reads Rich Text Format. It has no errors: readers of RTF pass over what they do not know,
// and so a broken file gives what can be read of it. Pages end at \page only: the format does
// not say where a printer would break.
func (r *reader) rtf() error {
	p := &rtf{data: r.data, group: rtfGroup{uc: 1}, codes: 1252, fonts: make(map[int]int), rowAt: -1}
	for p.pos < len(p.data) {
		if p.pos&0xffff == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		p.next()
	}
	p.flush()
	p.turn()
	n := len(p.pages)
	r.doc.Format, r.doc.Total = "RTF", n
	r.doc.About = fmt.Sprintf("%d page%s, as far as the file says", n, clip.Which(n, "", "s"))
	for i, text := range p.pages {
		if text != "" {
			r.add(i+1, fmt.Sprintf("page %d", i+1), text)
		}
	}
	if p.pictures > 0 {
		r.note("%d picture%s in it not shown", p.pictures, clip.Which(p.pictures, "", "s"))
	}
	return nil
}

// next reads a brace, a control word or a byte. Line ends of the file mean nothing.
func (p *rtf) next() {
	c := p.data[p.pos]
	p.pos++
	switch c {
	case '{':
		p.flush()
		if len(p.groups) < maxGroups {
			p.groups = append(p.groups, p.group)
		}
		p.star = false
	case '}':
		p.flush()
		if n := len(p.groups); n > 0 {
			if p.group.note && !p.groups[n-1].note {
				p.write("]")
			}
			p.group, p.groups = p.groups[n-1], p.groups[:n-1]
			if len(p.groups) < 2 {
				p.inFonts = false
			}
		}
	case '\\':
		p.control()
	case '\r', '\n':
	default:
		p.byte(c)
	}
}

// byte adds a byte of text, unless it stands in place of a Unicode character before it.
func (p *rtf) byte(c byte) {
	switch {
	case p.skip > 0:
		p.skip--
	case p.visible():
		p.bytes = append(p.bytes, c)
	}
}

// visible reports whether what is read is text of the document.
func (p *rtf) visible() bool { return !p.group.skip && !p.group.hide && !p.inFonts }

// flush decodes the text before what changes its meaning.
func (p *rtf) flush() {
	if len(p.bytes) > 0 {
		page := p.group.page
		page = cmp.Or(page, p.codes)
		p.out = append(p.out, decode(page, p.bytes)...)
		p.bytes = p.bytes[:0]
	}
}

// write writes text, unless what is read is left out.
func (p *rtf) write(s string) {
	if p.flush(); p.visible() {
		p.out = append(p.out, s...)
	}
}

// control reads what follows a backslash: a word of letters, a number with a sign, and one
// space, which belongs to it; or a symbol of one character.
func (p *rtf) control() {
	if p.pos >= len(p.data) {
		return
	}
	c := p.data[p.pos]
	if c < 'a' || c > 'z' {
		p.pos++
		p.symbol(c)
		return
	}
	start := p.pos
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	for p.pos < len(p.data) && letter(p.data[p.pos]) {
		p.pos++
	}
	word := string(p.data[start:min(p.pos, start+40)])
	start = p.pos
	if p.pos < len(p.data) && p.data[p.pos] == '-' {
		p.pos++
	}
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' && p.pos-start < 12 {
		p.pos++
	}
	n, err := strconv.Atoi(string(p.data[start:p.pos]))
	if p.pos < len(p.data) && p.data[p.pos] == ' ' {
		p.pos++
	}
	p.word(word, n, err == nil)
}

// symbol reads a control symbol. \'hh is a byte of text; \* says that a reader which does not
// know the destination that follows leaves it out.
func (p *rtf) symbol(c byte) {
	switch c {
	case '\'':
		if p.pos+2 <= len(p.data) {
			if n, err := strconv.ParseUint(string(p.data[p.pos:p.pos+2]), 16, 8); err == nil {
				p.byte(byte(n))
			}
			p.pos += 2
		}
	case '\\', '{', '}':
		p.byte(c)
	case '~':
		p.write(" ")
	case '_':
		p.write("-")
	case '*':
		p.star = true
	case '\r', '\n':
		p.write("\n")
	}
}

// rtfTexts are the control words that are text.
var rtfTexts = map[string]string{
	"par": "\n", "line": "\n", "sect": "\n", "tab": "\t", "emdash": "—", "endash": "–", "bullet": "•",
	"lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ",
}

// word reads a control word with its number, if it has one. Words that are not here concern how
// text looks. The text of shapes (\shpinst) and of pictures with a fallback (\shppict) is read,
// although they stand after \*.
func (p *rtf) word(word string, n int, numbered bool) {
	star := p.star
	p.star = false
	if text, ok := rtfTexts[word]; ok {
		p.write(text)
		return
	}
	switch word {
	case "u":
		p.unicode(rune(n))
	case "uc":
		p.group.uc = min(max(n, 0), 10)
	case "bin":
		p.pos += min(max(n, 0), len(p.data)-p.pos)
	case "ansicpg":
		p.codes = n
	case "mac":
		p.codes = 10000
	case "pc":
		p.codes = 437
	case "f":
		p.flush()
		if p.font = n; !p.inFonts {
			p.group.page = p.fonts[n]
		}
	case "plain":
		p.flush()
		p.group.page = 0
	case "fonttbl":
		p.flush()
		p.inFonts = true
	case "fcharset":
		if page := fontSets[n]; p.inFonts && page != 0 && n != 0 && len(p.fonts) < 10_000 {
			p.fonts[p.font] = page
		}
	case "page":
		if p.flush(); p.visible() {
			p.turn()
		}
	case "footnote":
		p.write(" [note: ")
		p.group.note = true
	case "annotation":
		p.write(" [comment: ")
		p.group.note = true
	case "trowd":
		if p.flush(); len(p.row) == 0 {
			p.rowAt = len(p.out)
		}
	case "cell", "nestcell":
		p.flush()
		p.cell()
	case "row", "nestrow":
		p.flush()
		p.endRow()
	case "v": // hidden text
		p.flush()
		p.group.hide = !numbered || n != 0
	case "pict":
		p.pictures++
		p.group.skip = true
	default:
		if strings.Contains(rtfSkipped, " "+word+" ") || star && word != "shpinst" && word != "shppict" {
			p.flush()
			p.group.skip = true
		}
	}
}

// unicode writes a character that is given by its number, of 16 bits with a sign. Beyond 16 bits
// there are two, one after another. After each come as many characters as \uc says (one, if it
// says nothing) for readers that know no Unicode; they are left out.
func (p *rtf) unicode(r rune) {
	p.flush()
	p.skip = p.group.uc
	if r < 0 {
		r += 0x10000
	}
	switch {
	case r >= 0xd800 && r < 0xdc00:
		p.surro = r
		return
	case r >= 0xdc00 && r < 0xe000:
		r = (p.surro-0xd800)<<10 + (r - 0xdc00) + 0x10000
		if p.surro == 0 {
			r = 0xfffd
		}
	case r > 0x10ffff:
		r = 0xfffd
	}
	p.surro = 0
	p.write(string(r))
}

// cell ends a cell of a table: what was written since the last one. A row begins at \trowd, or,
// where a program leaves that out, with the line.
func (p *rtf) cell() {
	if !p.visible() {
		return
	}
	if p.rowAt < 0 || p.rowAt > len(p.out) {
		p.rowAt = bytes.LastIndexByte(p.out, '\n') + 1
	}
	if len(p.row) < 1000 {
		p.row = append(p.row, strings.TrimSpace(string(p.out[p.rowAt:])))
	}
	p.out = p.out[:p.rowAt]
}

// endRow writes the row of a table that is open, if there is one.
func (p *rtf) endRow() {
	if len(p.row) > 0 {
		p.out = append(p.out, barRow(p.row)...)
	}
	p.row, p.rowAt = nil, -1
}

// turn ends a page.
func (p *rtf) turn() {
	p.endRow()
	if len(p.pages) < 100_000 {
		p.pages = append(p.pages, strings.TrimSpace(string(p.out)))
	}
	p.out = p.out[:0]
}
