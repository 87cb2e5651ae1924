package document

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/ooxml"
)

// TestOtherFormats: what other programs write, whole.
func TestOtherFormats(t *testing.T) {
	const table = "| Region | Units | Price | Day | Sum |\n| North | 1200 | 3.5 | 2024-03-15 | 4200 |\n" +
		"| Größe 中文 | 845 | 0.25 | 2024-01-02 15:30:00 | 211.25 |"
	const line = "Revenue was 42,800 dollars – naïve Größe, Łódź, 中文."
	for name, want := range map[string][]string{
		"text.odt": {"[ODT: 1 page", "# Quarterly report\n\n" + line, "- first\n- second\n", "| North | 1,200 |", "comment: please check this"},
		"text.rtf": {"[RTF: 1 page", "Quarterly report\n" + line, "| Region | Units |\n| North | 1,200 |\n| South | 845 |", "“quotes”",
			"commented [comment: please check this]"},
		"text.doc":   {"[DOC: 1 page", line + "\nfirst\nsecond\nRegion | Units |\nNorth | 1,200 |\n", "[1 comments]\nplease check this"},
		"text.docx":  {line, "[2 comments]\nplease check this", "[2 headers and footers]\nheader: A header line\nfooter: A footer line"},
		"book.epub":  {"[EPUB: ", "2 chapters]", "# Quarterly report\n\n" + line, "- first\n- second", "| North | 1,200 |"},
		"sheet.ods":  {"[ODS: 2 sheets: Sales, Secret (hidden)]", table, `[2 sheet 2 "Secret" (hidden)]`, "row 3 hidden", "column C"},
		"sheet.xls":  {"[XLS: 2 sheets: Sales, Secret (hidden)]", table, "| x | TRUE | text |", `[2 sheet 2 "Secret" (hidden)]`, "row 3 hidden", "column C"},
		"slides.odp": {"[ODP: 2 slides]", "[1 slide 1]\nSlide 1\n- Revenue rose by 12 %", "Notes:\nsay 1", "[2 slide 2]", "Łódź and 中文"},
		"message.msg": {"From: Ann Example <ann@example.org>\nTo: Bob\nSubject: Größe of the order\nDate: Fri, 15 Mar 2024",
			"the revenue was 42,800 dollars.\nmore text", "Attached: figures.xlsx (4.9 KiB)"},
	} {
		d, err := Read(t.Context(), os.DirFS("testdata"), name, Options{})
		has(t, d, err, want...)
		// The parts keep their numbers when they are read one by one.
		if err == nil && d.Total > 1 {
			d, err = Read(t.Context(), os.DirFS("testdata"), name, Options{From: 2, To: 2})
			if err != nil || len(d.Parts) != 1 || d.Parts[0].Number != 2 {
				t.Errorf("%s: part 2: %v %+v", name, err, d)
			}
		}
	}
}

// TestDamagedFormats: cut anywhere, a file is read in part or refused.
func TestDamagedFormats(t *testing.T) {
	for _, name := range []string{"text.doc", "sheet.xls", "message.msg", "text.rtf", "text.odt", "book.epub"} {
		good, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 1; cut < len(good); cut += len(good)/50 + 1 {
			if _, err := Bytes(t.Context(), name, good[:cut], Options{}); err != nil && strings.Contains(err.Error(), "is broken (runtime") {
				t.Errorf("%s cut at %d: %v", name, cut, err)
			}
		}
	}
}

func TestRTF(t *testing.T) {
	for in, want := range map[string]string{
		`{\rtf1\ansi a\par b}`:                                                 "a\nb",
		`{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8}`:                                "При",
		`{\rtf1\uc1 \u8364?5 \u-10179?\u-8704?}`:                               "€5 😀",
		`{\rtf1{\fonttbl{\f0 Arial;}{\f1\fcharset128 M;}}\f1 \'93\'fa\f0 a}`:   "日a",
		`{\rtf1{\stylesheet{\s0 Normal;}}{\*\unknown x}{\info{\title t}}text}`: "text",
		`{\rtf1 {\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}} \{b\}\~c}`:   "link {b} c",
		`{\rtf1 a{\footnote note}b}`:                                           "a [note: note]b",
		`{\rtf1 a{\pict 0102}{\v hidden}\v x\v0 y}`:                            "ay",
		`{\rtf1\trowd a\par b\cell c\cell\row d}`:                              "| a b | c |\nd",
		`{\rtf1 \bin3 }}}x`:                                                    "x",
		`{\rtf1 one\page two}`:                                                 "one|two",
		`{\rtf1 }}}}\'`:                                                        "",
	} {
		d, err := read(t, "a.rtf", []byte(in), Options{})
		if err != nil {
			t.Fatal(in, err)
		}
		var got []string
		for _, p := range d.Parts {
			got = append(got, p.Text)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s: %q, want %q", in, s, want)
		}
	}
}

const message = "From: =?utf-8?q?Gr=C3=B6=C3=9Fe?= <a@example.org>\r\nSubject: =?iso-8859-1?Q?Caf=E9?=\r\nMIME-Version: 1.0\r\n"

func TestMail(t *testing.T) {
	for in, want := range map[string]string{
		message + "\r\nplain\r\n": "From: Größe <a@example.org>\nSubject: Café\n\nplain",
		message + "Content-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<h1>Caf=E9</h1><script>x</script><p>a <b>b</b></p>":                    "# Café\n\na **b**",
		message + "Content-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nplain\r\n--B\r\nContent-Type: text/html\r\n\r\n<p>page</p>\r\n--B--\r\n":   "\nplain",
		message + "Content-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\n \r\n--B\r\nContent-Type: text/html\r\n\r\n<p>page</p>\r\n--B--\r\n":       "\npage",
		message + "Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\naGVs\r\nbG8=\r\n--B--\r\n": "Attached: a.pdf (application/pdf, 5 B)",
		message + "Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: message/rfc822\r\n\r\nFrom: x@example.org\r\nSubject: inner\r\n\r\nwithin\r\n--B--\r\n":            "A message in it:\nFrom: x@example.org\nSubject: inner\n\nwithin",
		message + "Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\ncut":                                                                             "cut",
	} {
		d, err := read(t, "saved", []byte("Message-ID: <1@example.org>\r\n"+in), Options{})
		has(t, d, err, "[mail: a message]", want)
		if err == nil && strings.Contains(whole(d), "<script>") {
			t.Error(whole(d))
		}
	}
	d, err := read(t, "a.mbox", []byte("From a@example.org Fri\n"+message+"\none\n\nFrom b@example.org Sat\n"+message+"\ntwo\n"), Options{})
	has(t, d, err, "[mailbox: 2 messages]", "[1 message 1]", "one", "[2 message 2]", "two")
	nested := message + "Content-Type: multipart/mixed; boundary=B\r\n\r\n"
	for range 40 {
		nested += "--B\r\nContent-Type: message/rfc822\r\n\r\n" + message + "Content-Type: multipart/mixed; boundary=B\r\n\r\n"
	}
	if _, err := read(t, "a.eml", []byte(nested), Options{}); err != nil {
		t.Error(err)
	}
}

func TestHTML(t *testing.T) {
	d, err := read(t, "a.html", []byte("<title>t</title><h1>Head</h1><p>Some <i>text</i><script>x()</script>"), Options{})
	has(t, d, err, "[HTML: ", "# Head\n\nSome *text*")
	_, err = read(t, "a.html", []byte(strings.Repeat("<div>", 5000)+"x"), Options{})
	refused(t, err, "the page cannot be read")
}

// odfFile is an OpenDocument file of a body.
func odfFile(t *testing.T, body string) []byte {
	t.Helper()
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument", "content.xml", "<document-content>"+body+"</document-content>")
}

func TestODF(t *testing.T) {
	for body, want := range map[string][]string{
		`<body><text><tracked-changes><p>gone</p></tracked-changes><h outline-level="2">Head</h><p>a<s c="3"/>b<tab/>c<line-break/>d<note><note-body><p>foot</p></note-body></note> e</p><soft-page-break/><p>next</p></text></body>`: {
			"[ODT: 2 pages", "## Head\n\na   b\tc\nd", "[2 page 2]\nnext", "note: foot"},
		`<body><spreadsheet><table name="S"><table-row number-rows-repeated="3"><table-cell number-columns-repeated="2"><p>x</p></table-cell></table-row>` +
			`<table-row number-rows-repeated="1000000"><table-cell/></table-row><table-row><table-cell formula="of:=[.A1]*2"/><table-cell value-type="float" value="1.5"><p>1,5</p></table-cell></table-row></table></spreadsheet></body>`: {
			"| x | x |\n| x | x |\n| x | x |\n", "1 formula is not computed", "the first 2000 of its 1,000,004 rows"},
		`<body><spreadsheet><table name="S"><table-row><table-cell formula="of:=[.A1]*2"/><table-cell value-type="date" date-value="2024-03-15T10:00:00"><p>15.3.</p></table-cell></table-row></table></spreadsheet></body>`: {
			"| =A1*2 | 2024-03-15 10:00:00 |"},
	} {
		d, err := read(t, "a.odt", odfFile(t, body), Options{})
		has(t, d, err, want...)
	}
	bomb := `<body><spreadsheet><table name="S">` + strings.Repeat(`<table-row number-rows-repeated="2000"><table-cell number-columns-repeated="16384"><p>x</p></table-cell></table-row>`, 50) +
		`</table></spreadsheet></body>`
	d, err := read(t, "a.ods", odfFile(t, bomb), Options{})
	has(t, d, err, "more than 1048576 cells")
	_, err = read(t, "a.odt", zipped(t, "mimetype", "x", "content.xml", "noise", "META-INF/manifest.xml", "<encryption-data/>"), Options{})
	refused(t, err, "encrypted with a password")
}

// record is a record of BIFF or of a presentation.
func record(kind int, body string) string {
	return string(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(kind)), uint16(len(body)))) + body
}

// TestBIFF5: texts of a code page, without a table of them.
func TestBIFF5(t *testing.T) {
	sheet := record(recBOF, "\x00\x05\x10\x00") + record(recLabel, "\x00\x00\x01\x00\x00\x00\x03\x00\xcf\xf0\xe8") +
		record(recFormula, "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00") + record(recString, "\x02\x00ab") +
		record(recBoolErr, "\x01\x00\x01\x00\x00\x00\x2a\x01") + record(recRK, "\x01\x00\x02\x00\x00\x00\x07\x00\x00\x00") + record(recEOF, "")
	head := record(recBOF, "\x00\x05\x05\x00") + record(recCodePage, "\xe3\x04")
	offset := len(head) + len(record(recSheet, "....\x02\x00\x01S")) + len(record(recEOF, ""))
	book := head + record(recSheet, string([]byte{byte(offset), 0, 0, 0})+"\x02\x00\x01S") + record(recEOF, "") + sheet
	r := &reader{ctx: t.Context(), o: Options{To: 99, MaxText: 1000}, doc: &Document{}}
	err := r.xls([]byte(book))
	has(t, r.doc, err, "XLS: 1 sheet: S (hidden)", "|  | При |\n| ab | #N/A | 0.01 |")
	refused(t, (&reader{ctx: t.Context(), doc: &Document{}}).xls([]byte(record(recBOF, "\x00\x06\x05\x00")+record(recFilePass, "x"))), "encrypted with a password")
}

func TestPPT(t *testing.T) {
	long := func(head, kind int, body string) string {
		b := binary.LittleEndian.AppendUint16(nil, uint16(head))
		b = binary.LittleEndian.AppendUint16(b, uint16(kind))
		return string(binary.LittleEndian.AppendUint32(b, uint32(len(body)))) + body
	}
	data := long(15, 0x03F8, long(0, 0x0FA8, "master")) + long(15, 0x03EE, long(15, 0x040C, long(0, 0x0FA8, "Title\rtext")+long(0, 0x0FA8, "*"))) +
		long(15, 0x03EE, long(0, 0x0FA0, "A\x01")) + long(15, 0x03F0, long(0, 0x0FA8, "say it"))
	r := &reader{ctx: t.Context(), o: Options{To: 99, MaxText: 1000}, doc: &Document{}}
	err := r.ppt([]byte(data))
	has(t, r.doc, err, "[PPT: 2 slides with text]", "[1 slide 1]\nTitle\ntext\n", "[2 slide 2]\nŁ", "[2 notes]\nsay it")
	if strings.Contains(whole(r.doc), "master") {
		t.Error("the master is read")
	}
}

func TestWordText(t *testing.T) {
	for in, want := range map[string]string{
		"a\rb\x0bc":                              "a\nb\nc",
		"see \x13 HYPERLINK \"x\" \x14here\x15.": "see here.",
		"a\x13 X \x13 Y \x15\x14b\x15c":          "abc",
		"A\x07B\x07\x07C\x07D\x07\x07":           "A | B |\nC | D |\n",
		"\x15\x14x\x01\x02":                      "x",
	} {
		if got := wordText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// fuzzed reads with a parser, in a document with little room.
func fuzzed(t *testing.T, data []byte) *reader {
	return &reader{ctx: t.Context(), name: "a", data: data, o: Options{To: 1 << 30, MaxText: 1 << 16}, doc: &Document{}}
}

func FuzzRTF(f *testing.F) {
	f.Add([]byte(`{\rtf1\ansicpg1252{\fonttbl{\f1\fcharset204 A;}}\f1 \'e4\u8364?\trowd a\cell b\cell\row\page{\footnote x}\bin2 ab}`))
	f.Fuzz(func(t *testing.T, data []byte) { _ = fuzzed(t, data).rtf() })
}

func FuzzMail(f *testing.F) {
	f.Add([]byte(message + "Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/html; charset=gbk\r\n\r\n<p>a\r\n--B\r\n\r\nx\r\n--B--\r\n"))
	f.Add([]byte("From a\n" + message + "Content-Transfer-Encoding: base64\n\naGVsbG8=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = fuzzed(t, data).mail()
		_ = fuzzed(t, data).mailbox()
	})
}

func FuzzXLS(f *testing.F) {
	f.Add([]byte(record(recBOF, "\x00\x06\x05\x00") + record(recSST, "\x01\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00ab") + record(recContinue, "\x01c\x00") +
		record(recSheet, "\x0c\x00\x00\x00\x00\x00\x01\x00S") + record(recEOF, "")))
	f.Fuzz(func(t *testing.T, data []byte) { _ = fuzzed(t, data).xls(data) })
}

func FuzzWord97(f *testing.F) {
	f.Add([]byte("main text"), []byte("\x01\x00\x00\x02\x10\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00"))
	f.Fuzz(func(t *testing.T, main, clx []byte) {
		if text, err := pieces(main, clx); err == nil {
			wordText(text)
		}
		_ = fuzzed(t, main).ppt(main)
	})
}

func FuzzODF(f *testing.F) {
	f.Add("<b><body><text><h>a</h><list><p>b<s c='9'/></p></list><table><table-row><table-cell><p>c</p></table-cell></table-row></table></text></body></b>")
	f.Add("<b><body><spreadsheet><table name='S'><table-row number-rows-repeated='9'><table-cell formula='of:=[.A1]' number-columns-repeated='4'/></table-row></table></spreadsheet></body></b>")
	f.Fuzz(func(t *testing.T, body string) {
		r := fuzzed(t, nil)
		o := newODF(r)
		_ = ooxml.Walk(strings.NewReader(body), o.start, o.end, o.text)
		o.Flush()
		_ = o.book()
	})
}
