package document

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/xuri/excelize/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func read(t *testing.T, name string, content []byte, o Options) (*Document, error) {
	t.Helper()
	return Read(context.Background(), fstest.MapFS{name: {Data: content}}, name, o)
}

// whole is all that was read.
func whole(d *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s: %s]\n", d.Format, d.About)
	for _, p := range d.Parts {
		fmt.Fprintf(&b, "[%d %s]\n%s\n", p.Number, p.Label, p.Text)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "[note: %s]\n", n)
	}
	return b.String()
}

func has(t *testing.T, d *Document, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got := whole(d)
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing in\n%s", w, got)
		}
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPDF(t *testing.T) {
	d, err := Read(context.Background(), os.DirFS("testdata"), "report.pdf", Options{})
	has(t, d, err, "[PDF: 3 pages]", "[1 page 1]\nQuarterly report\n", "filed its first efficient figures", "Region\tRevenue\tShare\nNorth\t1,200\t60 %", "[2 page 2]", "Café – naïve – Größe", "nothing is written on page 3")
	d, err = Read(context.Background(), os.DirFS("testdata"), "report.pdf", Options{From: 2, To: 2})
	has(t, d, err, "[2 page 2]")
	if len(d.Parts) != 1 {
		t.Error(whole(d))
	}
	_, err = Read(context.Background(), os.DirFS("testdata"), "encrypted.pdf", Options{})
	refused(t, err, "encrypted with a password")
}

// Data without a file is read like a file.
func TestBytes(t *testing.T) {
	for _, name := range []string{"report.pdf", "report.docx"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read(t.Context(), os.DirFS("testdata"), name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := Bytes(t.Context(), "fetched", data, Options{}); err != nil || d.String() != want.String() || d.Format != want.Format {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
	d, err := Bytes(t.Context(), "a.csv", []byte("month,sum\nMay,12\n"), Options{})
	has(t, d, err, "month", "May")
	_, err = Bytes(t.Context(), "a.bin", []byte("\x00\x01\x02"), Options{})
	refused(t, err, "a.bin: not a document that can be read")
	_, err = Bytes(t.Context(), "", []byte("%PDF-"), Options{MaxBytes: 3})
	refused(t, err, "at most 3 B are read")
}

// TestBrokenPDFs: cut anywhere, or with bytes changed, a PDF is read in part
// or refused; it neither panics nor takes for ever.
func TestBrokenPDFs(t *testing.T) {
	good, err := os.ReadFile("testdata/report.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for cut := 10; cut < len(good); cut += len(good) / 40 {
		if d, err := read(t, "a.pdf", good[:cut], Options{}); err == nil && len(d.Parts) == 3 {
			t.Errorf("cut at %d it is whole", cut)
		}
	}
	for i := 20; i < len(good); i += len(good) / 200 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		if _, err := read(t, "a.pdf", bad, Options{}); err != nil && strings.Contains(err.Error(), "goroutine") {
			t.Error(err)
		}
	}
	_, err = read(t, "a.pdf", []byte("%PDF-1.7\n%%EOF"), Options{})
	refused(t, err, "cannot be read")
}

const docxHead = `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>`

func TestDOCX(t *testing.T) {
	d, err := Read(context.Background(), os.DirFS("testdata"), "report.docx", Options{})
	has(t, d, err, "[DOCX:", "# Quarterly report", "The office filed", "| Region | Revenue | Share |\n| --- | --- | --- |\n| North | 1,200 | 60 % |", "Café – naïve – Größe")

	body := docxHead +
		`<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>` +
		`<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>one</w:t></w:r></w:p>` +
		`<w:p><w:r><w:t>a</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:tab/><w:t>b</w:t></w:r></w:p>` +
		`<w:p><w:r><w:br w:type="page"/><w:t>next</w:t></w:r></w:p></w:body></w:document>`
	d, err = read(t, "a.docx", zipped(t, "word/document.xml", body, "word/footnotes.xml", docxHead+`<w:p><w:r><w:t>a footnote</w:t></w:r></w:p></w:body></w:document>`), Options{})
	has(t, d, err, "2 pages", "[1 page 1]\n## Head\n\n- one\na\tb", "[2 page 2]\nnext", "[2 footnotes]\na footnote")
	if strings.Contains(whole(d), "gone") {
		t.Error("deleted text is there:\n", whole(d))
	}
}

// A text box stands between what is before and after it, once, though the file has it a second time for
// old programs.
func TestTextBoxes(t *testing.T) {
	box := `<w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent>`
	body := docxHead + `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent xmlns:mc="mc"><mc:Choice>` + box +
		`</mc:Choice><mc:Fallback><w:pict>` + box + `</w:pict></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>after</w:t></w:r></w:p></w:body></w:document>`
	d, err := read(t, "a.docx", zipped(t, "word/document.xml", body), Options{})
	has(t, d, err, "# before\n\nin a box\n\n# after")
	if n := strings.Count(whole(d), "in a box"); n != 1 {
		t.Errorf("the box is there %d times", n)
	}
	f := excelize.NewFile()
	err = f.AddShape("Sheet1", &excelize.Shape{Cell: "B2", Type: "rect", Paragraph: []excelize.RichTextRun{{Text: "look here"}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, err = read(t, "a.xlsx", b.Bytes(), Options{})
	has(t, d, err, "On the sheet, in boxes:\nlook here")
}

// Files are what they are, whatever they are called, and what is packed is unpacked, or a hint says how.
func TestPackedAndMisnamed(t *testing.T) {
	page := "<html><body><table><tr><td>Name</td><td>Ann</td></tr></table></body></html>"
	d, err := read(t, "a.xls", []byte(page), Options{})
	has(t, d, err, "[HTML:", "| Name | Ann |")
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte("packed text\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = read(t, "a.txt.zst", b.Bytes(), Options{})
	has(t, d, err, "[text packed with zstd:", "packed text")
	d, err = read(t, "a.bz2", []byte("\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xba\xb0\xef\x24\x00\x00\x04\x51\x80\x00\x10\x40\x00\x2e\x08\x44\x40\x20\x00\x22\x01\xa6\x21\x00\x30\x41\x02\x82\x2d\xf7\x8b\xb9\x22\x9c\x28\x48\x5d\x58\x77\x92\x00"), Options{})
	has(t, d, err, "[text packed with bzip2:", "packed text")
	for content, want := range map[string]string{
		"\xfd7zXZ\x00\x00\x04": "xz -dk", "7z\xbc\xaf\x27\x1c": "7z x", "MSCF\x00\x00\x00\x00": "7z x", "\x04\x22\x4d\x18": "lz4 -d",
		"BZh9 is no way to begin": "cannot be unpacked", "\x28\xb5\x2f\xfdx": "cannot be unpacked",
	} {
		if _, err := read(t, "a", []byte(content), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	for _, text := range []string{"MSCF is a mark", "LZIP packs", "070701 is a number", "<html in a text"} {
		if _, err := read(t, "a.txt", []byte(text+"\n"), Options{}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPPTX(t *testing.T) {
	rels := func(pairs ...string) string {
		s := `<Relationships>`
		for i := 0; i < len(pairs); i += 2 {
			s += fmt.Sprintf(`<Relationship Id="%s" Target="%s"/>`, pairs[i], pairs[i+1])
		}
		return s + `</Relationships>`
	}
	slide := func(text string) string {
		return `<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p><a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p>` +
			`<a:tbl><a:tr><a:tc><a:p><a:r><a:t>x</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>y</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:sld>`
	}
	files := []string{
		"ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="rB"/><p:sldId id="257" r:id="rA"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels("rA", "slides/slide1.xml", "rB", "slides/slide2.xml"),
		"ppt/slides/slide1.xml", slide("second in order"), "ppt/slides/slide2.xml", slide("first in order"),
		"ppt/slides/_rels/slide2.xml.rels", rels("n", "../notesSlides/notesSlide1.xml"),
		"ppt/notesSlides/notesSlide1.xml", slide("what to say"),
	}
	d, err := read(t, "a.pptx", zipped(t, files...), Options{})
	has(t, d, err, "[PPTX: 2 slides]", "[1 slide 1]\nfirst in order\n| x | y |\n\nNotes:\nwhat to say", "[2 slide 2]\nsecond in order")
	if strings.Contains(whole(d), "7") {
		t.Error("the number of the slide is text")
	}
	d, err = read(t, "a.pptx", zipped(t, append(files[:4:4], "ppt/slides/slide1.xml", "<broken")...), Options{})
	has(t, d, err, "slide 1: ppt/slides/slide2.xml is missing", "slide 2: XML syntax error")
}

func TestXLSX(t *testing.T) {
	f := excelize.NewFile()
	for cell, v := range map[string]any{"A1": "k", "B1": "a|b", "A2": "x", "B2": 0.5, "A5": "far"} {
		if err := f.SetCellValue("Sheet1", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.NewSheet("Empty"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.NewSheet("Secret"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		f.SetCellFormula("Sheet1", "C2", "B2*2"), f.SetSheetVisible("Secret", false), f.SetCellValue("Secret", "A1", "s"),
		f.SetColVisible("Sheet1", "B", false), f.SetRowVisible("Sheet1", 5, false),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, err := read(t, "a.xlsx", b.Bytes(), Options{})
	has(t, d, err, "| x | 0.5 | =B2*2 |", `sheet "Sheet1": 1 formula is not computed`, `[3 sheet 3 "Secret" (hidden)]`,
		`sheet "Sheet1": row 5 hidden in the file`, `sheet "Sheet1": hidden in the file: column B`)
	has(t, d, err, "[XLSX: 3 sheets: Sheet1, Empty, Secret (hidden)]", `[1 sheet 1 "Sheet1"]`, `| k | a\|b |`, "(row 5)\n| far |", `sheet "Empty" is empty`)
}

// The reader writes a cell as a workbook shows it (durations, codes that begin with zeros, percent), with its
// comment and the target of its link. It finds parts whose names differ in case.
func TestCellsAsTheyAreSeen(t *testing.T) {
	f := excelize.NewFile()
	const sheet = "Sheet1"
	for cell, c := range map[string]struct {
		value  float64
		format string
	}{"A1": {1.253472222222222, "[hh]:mm:ss"}, "A2": {1234, "00000"}, "A3": {0.125, "0.0%"}, "A4": {99999999.99, "0.0"}} {
		style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &c.format})
		for _, err := range []error{err, f.SetCellValue(sheet, cell, c.value), f.SetCellStyle(sheet, cell, cell, style)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{
		f.AddComment(sheet, excelize.Comment{Cell: "A4", Author: "Ann", Paragraph: []excelize.RichTextRun{{Text: "please\ncheck"}}}),
		f.SetCellHyperLink(sheet, "A2", "https://example.org/zip", "External"),
		f.SetCellHyperLink(sheet, "A10", "Sheet1!A1", "Location"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, err := read(t, "a.xlsx", b.Bytes(), Options{})
	has(t, d, err, "| 30:05:00 |\n| 01234 |\n| 12.5% |\n| 99999999.99 |", "A4 has a comment by Ann: please check\n",
		"A2 links to https://example.org/zip\nA10 links to #Sheet1!A1\n")

	for i := range 1100 {
		if err := f.SetCellHyperLink(sheet, fmt.Sprintf("B%d", i+1), "Sheet1!A1", "Location"); err != nil {
			t.Fatal(err)
		}
	}
	many, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, err = read(t, "a.xlsx", many.Bytes(), Options{})
	has(t, d, err, "B900 links to #Sheet1!A1\n", "(comments or links that follow are left out)")

	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(f.Name, "/", `\`)
		if strings.Contains(name, "sheet1") || strings.Contains(name, "sharedStrings") {
			name = strings.ToUpper(name)
		}
		files = append(files, name, string(content))
	}
	d, err = read(t, "a.xlsx", zipped(t, files...), Options{})
	has(t, d, err, "| 30:05:00 |", "A4 has a comment by Ann", "A2 links to https://example.org/zip")

	var gone []string
	for i := 0; i < len(files); i += 2 {
		if !strings.EqualFold(files[i], `xl\worksheets\sheet1.xml`) {
			gone = append(gone, files[i], files[i+1])
		}
	}
	d, err = read(t, "a.xlsx", zipped(t, gone...), Options{})
	has(t, d, err, `sheet "Sheet1": its part xl/worksheets/sheet1.xml is missing in the file`)
	if text := whole(d); strings.Contains(text, "is empty") {
		t.Errorf("a sheet that is missing is called empty:\n%s", text)
	}
}

func TestTablesTextsAndImages(t *testing.T) {
	d, err := read(t, "a.csv", []byte("a;b\n1,5;x\n"), Options{})
	has(t, d, err, "[table: 1 rows, 2 columns]", "| a | b |", "| 1,5 | x |", "decimal mark")
	d, err = read(t, "a.md", []byte("# hi\n"), Options{})
	has(t, d, err, "[text: 2 lines]", "# hi")
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	d, err = read(t, "a.png", b.Bytes(), Options{})
	has(t, d, err, "[PNG image: 30 × 20 pixels")
	if d.MIME != "image/png" || !bytes.Equal(d.Image, b.Bytes()) {
		t.Error("the image is not there to be looked at")
	}
	_, err = read(t, "a.png", b.Bytes()[:20], Options{})
	refused(t, err, "cannot be read")
}

func TestArchives(t *testing.T) {
	d, err := read(t, "a.zip", zipped(t, "docs/", "", "docs/a.txt", "hello", "b.bin", "\x00\x01", "../../etc/passwd", "x"), Options{})
	has(t, d, err, "[zip archive: 3 files", "docs/a.txt\t5 B", "../../etc/passwd", "[2 file docs/a.txt]\nhello")

	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range []string{"one.md", "two.bin"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 3, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	d, err = read(t, "a.tgz", b.Bytes(), Options{})
	has(t, d, err, "[tar.gz archive: 2 files", "two.bin\t3 B", "[2 file one.md]\nabc")

	b.Reset()
	z = gzip.NewWriter(&b)
	if _, err := z.Write([]byte("plain\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = read(t, "log.gz", b.Bytes(), Options{})
	has(t, d, err, "packed with gzip", "plain")
}

// TestBombs: what unpacks to much more than it is costs no more than its limit.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 80<<20)
	_, err := read(t, "a.docx", zipped(t, "word/document.xml", "<a>"+strings.Repeat(strings.Repeat(" ", 1020)+"<b/>", 80<<10)), Options{})
	refused(t, err, "unpacks to more than 64 MiB")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(zeros)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = read(t, "a.gz", b.Bytes(), Options{})
	refused(t, err, "unpacks to more than 64 MiB")
	_, err = read(t, "a.docx", zipped(t, "word/document.xml", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>`), Options{})
	refused(t, err, "XML syntax error")
	// A file of its archive that lies about its size is not read beyond the limit.
	d, err := read(t, "a.zip", zipped(t, "big.txt", strings.Repeat("a", maxMember+1), "ok.txt", "fine"), Options{})
	has(t, d, err, "big.txt\t32 KiB", "fine")
	if strings.Contains(whole(d), "aaaa") {
		t.Error("the large file is there")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.pdf", "", "empty"},
		{"a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1...", "before 2007"},
		{"a.7z", "7z\xbc\xaf\x27\x1c", "7z x"},
		{"a.ps", "%!PS-Adobe-3.0", "ps2pdf"},
		{"a.mdb", "\x00\x01\x00\x00Standard Jet DB", "mdbtools"},
		{"a.mobi", strings.Repeat("x", 60) + "BOOKMOBI\x00", "ebook-convert"},
		{"a.xlsb", string(zipped(t, "xl/workbook.bin", "x")), "save it as XLSX"},
		{"a.pages", string(zipped(t, "Index/Document.iwa", "x")), "export it as PDF"},
		{"a.odt", string(zipped(t, "mimetype", "x", "content.xml", "x")), "OpenDocument"},
		{"a.bin", "\x7fELF\x00\x00", "not a document"},
		{"a.zip", "PK\x03\x04 broken", "unpacked"},
		{"a.docx", string(zipped(t, "word/document.xml", "<w:p>")), "XML"},
	} {
		_, err := read(t, c.name, []byte(c.content), Options{})
		refused(t, err, c.want)
	}
	_, err := read(t, "a.txt", []byte("12345"), Options{MaxBytes: 4})
	refused(t, err, "at most 4 B")
	if _, err = read(t, "a.txt", []byte("x"), Options{From: 3, To: 2}); err == nil {
		t.Error("read from 3 to 2")
	}
	if _, err := Read(context.Background(), fstest.MapFS{}, "none", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestLongTextIsCutBetweenLetters, with a note of what is left out.
func TestLongTextIsCutBetweenLetters(t *testing.T) {
	d, err := read(t, "a.txt", []byte(strings.Repeat("ü", 100)), Options{MaxText: 33})
	has(t, d, err, "another 168 B of text are left out")
	if got := d.Parts[0].Text; got != strings.Repeat("ü", 16) {
		t.Errorf("%q", got)
	}
}

func TestTool(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile("testdata/report.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/report.pdf", good, 0o644); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tool := NewTool(ws)
	run := func(input string) (openmanus.Result, error) {
		return tool.Run(context.Background(), openmanus.Call{Call: llm.Call{Input: input}})
	}
	res, err := run(`{"path":"report.pdf","pages":"2-"}`)
	if err != nil {
		t.Fatal(err)
	}
	text := res.Parts[0].(llm.Text).Text
	if !strings.Contains(text, "report.pdf: PDF, 3 pages\n\n--- page 2 ---\nSecond page") || strings.Contains(text, "page 1 ---") {
		t.Error(text)
	}
	if d := res.Detail.(Detail); d.Path != "report.pdf" || len(d.Parts) != 1 {
		t.Errorf("%+v", d)
	}
	if _, err := run(`{"path":"../outside.pdf"}`); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Error(err)
	}
	for _, pages := range []string{"0", "5-2"} {
		if _, err := run(fmt.Sprintf(`{"path":"report.pdf","pages":%q}`, pages)); err == nil {
			t.Errorf("pages %q", pages)
		}
	}
	if h := tool.Spec().Hints; !h.ReadOnly {
		t.Error(h)
	}
}
