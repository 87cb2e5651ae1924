package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/dustin/go-humanize"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ole"
)

// errPassword is the error for a document that opens with a password only.
func errPassword(what, program string) error {
	return fmt.Errorf("%s is encrypted with a password: open it in %s and save it without one", what, program)
}

// ole reads an Office file from before 2007, or a message of Outlook: a compound file ([MS-CFB]),
// which the names of its streams show. Encrypted Office files of today are one, too.
func (r *reader) ole() error {
	f, err := ole.Open(r.data)
	if err != nil {
		return fmt.Errorf("an Office file from before 2007, which cannot be read: %w", err)
	}
	stream := func(names ...string) []byte {
		for _, n := range names {
			if e := f.Root.Find(n); e != nil && e.IsStream {
				data, err := e.Bytes()
				if err != nil {
					r.note("the file is broken: %v", err)
				}
				return data
			}
		}
		return nil
	}
	switch {
	case f.Root.Find("EncryptedPackage") != nil:
		return errPassword("the document", "Office or LibreOffice")
	case f.Root.Find("Workbook") != nil, f.Root.Find("Book") != nil:
		return r.xls(stream("Workbook", "Book"))
	case f.Root.Find("WordDocument") != nil:
		return r.doc97(stream("WordDocument"), stream)
	case f.Root.Find("PowerPoint Document") != nil:
		return r.ppt(stream("PowerPoint Document"))
	case f.Root.Find("__properties_version1.0") != nil:
		return r.msg(f.Root)
	}
	var names []string
	for _, e := range f.Root.Children {
		names = append(names, e.Name)
	}
	return fmt.Errorf("a compound file of an unknown program (it has %s): convert it with the program that "+
		"wrote it, or with LibreOffice (libreoffice --headless --convert-to pdf)",
		strings.Join(names[:min(len(names), 8)], ", "))
}

// utf16LE decodes UTF-16, the lower byte first.
func utf16LE(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// doc97 reads a document of Word 97 to 2003 ([MS-DOC]): the pieces of its text, in order. main
// begins with the Fib (2.5.1): nFib, the version, at 2; at 10 flags, of which 0x100 says that it is
// encrypted and 0x200 which of two streams has the tables; at 0x4C counts of characters; and at
// 0x1A2 where the Clx is, with the table of pieces. Deleted text stays in the stream, but no piece
// refers to it.
func (r *reader) doc97(main []byte, stream func(...string) []byte) error {
	const word97 = 193 // nFib of Word 97
	le := binary.LittleEndian
	if len(main) < 0x1aa || le.Uint16(main[2:]) < 101 {
		return errors.New("a document of Word 95 or before: save it anew " +
			"(libreoffice --headless --convert-to docx)")
	}
	flags := le.Uint16(main[10:])
	if flags&0x100 != 0 {
		return errPassword("the document", "Word or LibreOffice")
	}
	name := "0Table"
	if flags&0x200 != 0 {
		name = "1Table"
	}
	table := stream(name)
	at, size := int64(le.Uint32(main[0x1a2:])), int64(le.Uint32(main[0x1a6:]))
	if le.Uint16(main[2:]) < word97 || at+size > int64(len(table)) {
		return errors.New("the document is broken, or older than Word 97: save it anew " +
			"(libreoffice --headless --convert-to docx)")
	}
	text, err := pieces(main, table[at:at+size])
	if err != nil {
		return err
	}
	// The main text comes first, and then notes, headers, comments.
	runes := []rune(text)
	counts := make([]int, 4) // of characters: text, notes, headers, comments
	for i, offset := range []int{0x4c, 0x50, 0x54, 0x5c} {
		counts[i] = int(le.Uint32(main[offset:]))
	}
	take := func(n int) string {
		n = min(max(n, 0), len(runes))
		part := string(runes[:n])
		runes = runes[n:]
		return part
	}
	pages := strings.Split(wordText(take(counts[0])), "\f")
	notes, _, comments := wordText(take(counts[1])), take(counts[2]), wordText(take(counts[3]))
	r.doc.Format, r.doc.Total = "DOC", len(pages)
	r.doc.About = fmt.Sprintf("%d page%s, by the breaks in it", len(pages), clip.Which(len(pages), "", "s"))
	for i, p := range pages {
		if p = strings.TrimSpace(p); p != "" {
			r.add(i+1, fmt.Sprintf("page %d", i+1), p)
		}
	}
	for _, extra := range []struct{ label, text string }{{"footnotes", notes}, {"comments", comments}} {
		if t := strings.TrimSpace(extra.text); t != "" {
			r.add(len(pages), extra.label, t)
		}
	}
	return nil
}

// pieces joins the pieces of a text by the table of pieces in a Clx ([MS-DOC] 2.9.38): after any
// number of properties (1, a size of two bytes) a 2, a size of four bytes and a PlcPcd (2.8.35): n+1
// positions of characters and n descriptors of eight bytes. Bytes 2 to 5 of one say where the piece
// is in the stream (FcCompressed, 2.9.73): with bit 30, at half of that and in bytes of
// Windows-1252, else in UTF-16.
func pieces(main, clx []byte) (string, error) {
	le := binary.LittleEndian
	for len(clx) >= 5 && clx[0] == 1 { // properties
		n := 3 + int(le.Uint16(clx[1:]))
		if n > len(clx) {
			return "", errors.New("the document is broken")
		}
		clx = clx[n:]
	}
	if len(clx) < 5 || clx[0] != 2 {
		return "", errors.New("the document is broken: it has no table of pieces")
	}
	plc := clx[5:]
	plc = plc[:min(int64(len(plc)), int64(le.Uint32(clx[1:])))]
	n := (len(plc) - 4) / 12
	var b strings.Builder
	for i := range n {
		from, to := int64(le.Uint32(plc[4*i:])), int64(le.Uint32(plc[4*i+4:]))
		at := int64(le.Uint32(plc[4*(n+1)+8*i+2:]))
		count := to - from
		if count < 0 || b.Len() > maxUnpacked {
			break
		}
		if at&(1<<30) != 0 {
			at = at &^ (1 << 30) / 2
			if at > int64(len(main)) {
				continue
			}
			b.WriteString(decode(1252, main[at:min(at+count, int64(len(main)))]))
		} else if at < int64(len(main)) {
			b.WriteString(utf16LE(main[at:min(at+2*count, int64(len(main)))]))
		}
	}
	return b.String(), nil
}

// wordText writes the text of Word with its marks as plain text: of fields the results, of tables
// the cells with bars. A field is 0x13, its instruction, 0x14, its result, 0x15, and may be nested
// ([MS-DOC] 2.8.25); 0x07 ends a cell, and, where the next follows at once, a row; 0x0B is a line
// break, 0x0C a page break, 0x1E a hyphen that does not break.
func wordText(s string) string {
	var b strings.Builder
	var instructions []bool // open fields: whether their instruction is read
	hidden := 0
	for _, c := range s {
		switch c {
		case 0x13:
			if len(instructions) < 1000 {
				instructions = append(instructions, true)
				hidden++
			}
			continue
		case 0x14, 0x15:
			n := len(instructions) - 1
			if n < 0 {
				continue
			}
			if instructions[n] {
				instructions[n] = false
				hidden--
			}
			if c == 0x15 {
				instructions = instructions[:n]
			}
			continue
		}
		if hidden > 0 {
			continue
		}
		switch {
		case c == '\r', c == 0x0b:
			b.WriteByte('\n')
		case c == 0x07:
			b.WriteString(" | ")
		case c == '\f', c == '\t', c == '\n':
			b.WriteRune(c)
		case c == 0x1e:
			b.WriteByte('-')
		case c >= 0x20:
			b.WriteRune(c)
		}
	}
	return strings.ReplaceAll(b.String(), " |  | ", " |\n")
}

// ppt reads a presentation of PowerPoint 97 to 2003 ([MS-PPT]): the texts of its
// records in order. Slides begin where the outline says so, or with their records.
func (r *reader) ppt(data []byte) error {
	p := &ppt{r: r}
	p.records(data, 0)
	p.flush()
	if p.encrypted {
		return errPassword("the presentation", "PowerPoint or LibreOffice")
	}
	r.doc.Format, r.doc.About = "PPT", fmt.Sprintf("%d slide%s with text", p.slides, clip.Which(p.slides, "", "s"))
	r.doc.Total = p.slides
	if len(p.notes) > 0 {
		r.add(p.slides, "notes", strings.Join(p.notes, "\n"))
	}
	return r.ctx.Err()
}

// A ppt is the state of reading a presentation.
type ppt struct {
	r         *reader
	out       strings.Builder
	slides    int
	encrypted bool
	inNotes   bool
	notes     []string
}

// records reads records ([MS-PPT] 2.3.1): four bits of a version, of which 15 says that the record
// contains others, an instance, a kind and a size. Texts are TextCharsAtom (0x0FA0, UTF-16) and
// TextBytesAtom (0x0FA8, whose higher bytes are 0). The texts of masters (0x03F8), which are on
// every slide, are left out. 0x2F14 is CryptSession10Container: all else is encrypted.
func (p *ppt) records(data []byte, deep int) {
	le := binary.LittleEndian
	for len(data) >= 8 && p.r.ctx.Err() == nil {
		head, kind, size := le.Uint16(data), le.Uint16(data[2:]), int64(le.Uint32(data[4:]))
		body := data[8:]
		body = body[:min(int64(len(body)), size)]
		data = data[8+len(body):]
		switch kind {
		case 0x03F3, 0x03EE: // the outline of a slide, or a slide
			p.flush()
		case 0x03F0: // the notes of a slide
			p.flush()
			p.inNotes = true
		case 0x0FA0:
			p.write(utf16LE(body))
		case 0x0FA8:
			p.write(decode(1252, body))
		case 0x2F14:
			p.encrypted = true
		}
		if head&15 == 15 && deep < 50 && kind != 0x03F8 { // not of masters
			p.records(body, deep+1)
		}
		if kind == 0x03F0 {
			p.flush()
			p.inNotes = false
		}
	}
}

// write adds a text. In PowerPoint \r ends a paragraph and \v a line.
func (p *ppt) write(s string) {
	s = strings.NewReplacer("\r", "\n", "\v", "\n", "\x00", "").Replace(s)
	if s != "*" { // the place of a number or a date
		p.out.WriteString(s + "\n")
	}
}

// flush ends a slide.
func (p *ppt) flush() {
	text := strings.TrimSpace(p.out.String())
	p.out.Reset()
	switch {
	case text == "":
	case p.inNotes:
		p.notes = append(p.notes, text)
	default:
		p.slides++
		p.r.add(p.slides, fmt.Sprintf("slide %d", p.slides), text)
	}
}

// msg reads a message of Outlook ([MS-OXMSG]).
func (r *reader) msg(root *ole.Entry) error {
	r.doc.Format, r.doc.About = "mail", "a message of Outlook"
	r.page = codePage(root)
	r.add(1, "message", r.outlook(root, 0))
	return r.ctx.Err()
}

// codePage returns the code page of a message, by the properties 3FFD (of its texts) and 3FDE (of its mail), or
// 0. They are among those of fixed size ([MS-OXMSG] 2.4): 16 bytes each, the number at 2 and the value at 8,
// after a head of 32.
func codePage(root *ole.Entry) (page int) {
	e := root.Find("__properties_version1.0")
	if e == nil {
		return 0
	}
	data, _ := e.Bytes()
	for at := 32; at+16 <= len(data); at += 16 {
		switch id := binary.LittleEndian.Uint16(data[at+2:]); {
		case id == 0x3ffd, id == 0x3fde && page == 0:
			page = int(binary.LittleEndian.Uint32(data[at+8:]))
		}
	}
	return page
}

// property returns a property of text by its number ([MS-OXPROPS]), which is a stream whose name
// ends with the kind: 001F in UTF-16, or 001E in the code page of the message. "" if there is none.
func (r *reader) property(at *ole.Entry, id string) string {
	if e := at.Find("__substg1.0_" + id + "001F"); e != nil {
		data, _ := e.Bytes()
		return strings.TrimRight(utf16LE(data), "\x00")
	}
	if e := at.Find("__substg1.0_" + id + "001E"); e != nil {
		data, _ := e.Bytes()
		data = bytes.TrimRight(data, "\x00")
		if _, known := codePages[r.page]; known && r.o.Encoding == "" {
			return decode(r.page, data)
		}
		text, err := r.decode(data, "")
		if err != nil {
			r.note("%v", err)
		}
		return text
	}
	return ""
}

// outlook returns the text of a message: headers, the plain text or else the page, and what is
// attached. A message that is attached is read as well, down to maxMailDepth. The properties are
// the sender's name (0C1A) and addresses (5D01, 0C1F, which may be an internal one of Exchange
// without an @), To (0E04), Cc (0E03), Subject (0037), the headers of the transport (007D), the
// text (1000), the page (1013), packed RTF (1009), and of attachments the names (3707, short 3704)
// and the data (3701).
func (r *reader) outlook(at *ole.Entry, deep int) string {
	var b strings.Builder
	from := r.property(at, "0C1A")
	for _, id := range []string{"5D01", "0C1F"} {
		if a := r.property(at, id); strings.Contains(a, "@") {
			from = strings.TrimSpace(from + " <" + a + ">")
			break
		}
	}
	for _, h := range []struct{ name, value string }{
		{"From", from}, {"To", r.property(at, "0E04")}, {"Cc", r.property(at, "0E03")},
		{"Subject", r.property(at, "0037")},
		{"Date", headerDate(r.property(at, "007D"))},
	} {
		if h.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", h.name, strings.Join(strings.Fields(h.value), " "))
		}
	}
	text := r.property(at, "1000")
	if strings.TrimSpace(text) == "" {
		page := []byte(r.property(at, "1013"))
		if e := at.Find("__substg1.0_10130102"); e != nil {
			page, _ = e.Bytes()
		}
		var err error
		if text, err = r.markdown(page, ""); err != nil {
			r.note("the page in the message: %v", err)
		}
	}
	if text == "" && at.Find("__substg1.0_10090102") != nil {
		r.note("the text of the message is packed RTF, which is not read")
	}
	b.WriteString("\n" + strings.ReplaceAll(text, "\r\n", "\n") + "\n")
	var attached []string
	for _, e := range at.Children {
		if !strings.HasPrefix(e.Name, "__attach_version1.0_") || len(attached) >= maxMailParts {
			continue
		}
		if inner := e.Find("__substg1.0_3701000D"); inner != nil && deep < maxMailDepth {
			b.WriteString("\nA message in it:\n" + r.outlook(inner, deep+1))
			continue
		}
		name := r.property(e, "3707")
		if name == "" {
			name = r.property(e, "3704")
		}
		size := 0
		if data := e.Find("__substg1.0_37010102"); data != nil {
			size = data.Size()
		}
		attached = append(attached, fmt.Sprintf("%s (%s)", orUnnamed(name), humanize.IBytes(uint64(size))))
	}
	if len(attached) > 0 {
		b.WriteString("\nAttached: " + strings.Join(attached, ", ") + "\n")
	}
	return b.String()
}

// headerDate returns the date in the headers of a message, or "", as in one that was never sent.
func headerDate(headers string) string {
	for line := range strings.Lines(headers) {
		if v, ok := strings.CutPrefix(line, "Date:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// isOLE reports whether a file is a compound file.
func isOLE(data []byte) bool { return bytes.HasPrefix(data, []byte(ole.Signature)) }
