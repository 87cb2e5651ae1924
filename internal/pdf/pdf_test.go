package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// build makes a file of objects, numbered from 1; the first is the catalog.
func build(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// encoded is a stream with its bytes.
func encoded(entries, content string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), entries, content)
}

// page is a file with one page, of content in a font, and more objects from 6.
func page(content, font string, more ...string) []byte {
	return build(append([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>",
		encoded("", content),
		font,
	}, more...)...)
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

func packed(content string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(content))
	z.Close()
	return b.String()
}

// text returns the text of the first page.
func text(t *testing.T, data []byte) Page {
	t.Helper()
	f, err := Open(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Page(1)
	if err != nil {
		t.Error(err)
	}
	return p
}

func TestContent(t *testing.T) {
	const toUnicode = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange " +
		"2 beginbfchar <41> <0066 0069> <42> <D83D DE80> endbfchar 1 beginbfrange <61> <63> <0078> endbfrange endcmap"
	type3 := "<< /Type /Font /Subtype /Type3 /FontMatrix [0.001 0 0 0.001 0 0] /FontBBox [0 0 1000 1000] " +
		"/FirstChar 65 /LastChar 99 /Widths [500 500] /Encoding << /Differences [65 /g1 /g2] >> /CharProcs << >> /ToUnicode 6 0 R >>"
	unmapped := strings.Replace(type3, "/ToUnicode 6 0 R", "", 1)
	for _, c := range []struct {
		what, content, font, want string
		more                      []string
	}{
		{"operators within a word", "BT /F 12 Tf 50 700 Td [(Re) -20 (ve) 15 (nue)] TJ ET", helvetica, "Revenue\n", nil},
		{"a word of several strings", "BT /F 12 Tf 50 700 Td (Rev) Tj (enue) Tj ET", helvetica, "Revenue\n", nil},
		{"a gap is a space", "BT /F 12 Tf 50 700 Td [(two) -300 (words)] TJ ET", helvetica, "two words\n", nil},
		{"letters that all stand apart", "BT /F 12 Tf 3 Tc 50 700 Td (TITLE OF IT) Tj ET", helvetica, "TITLE OF IT\n", nil},
		{"lines", "BT /F 12 Tf 14 TL 50 700 Td (one) Tj (two) ' ET", helvetica, "one\ntwo\n", nil},
		{"a paragraph", "BT /F 12 Tf 50 700 Td (one) Tj 0 -40 Td (two) Tj ET", helvetica, "one\n\ntwo\n", nil},
		{"a hyphen", "BT /F 12 Tf 14 TL 50 700 Td (a reve-) Tj (nue of 2) ' ET", helvetica, "a revenue of 2\n", nil},
		{"a table", "BT /F 12 Tf 50 700 Td (North) Tj 100 0 Td (12) Tj -100 -14 Td (South) Tj 100 0 Td (9) Tj ET", helvetica,
			"North\t12\nSouth\t9\n", nil},
		{"a row of four cells", "BT /F 12 Tf 50 700 Td (Travel) Tj 100 0 Td (12) Tj 100 0 Td (48.00) Tj 100 0 Td (576.00) Tj ET", helvetica,
			"Travel\t12\t48.00\t576.00\n", nil},
		{"bold by showing twice", "BT /F 12 Tf 50 700 Td (bold) Tj -0.3 0 Td (bold) Tj ET", helvetica, "bold\n", nil},
		{"turned text", "BT /F 12 Tf 0 1 -1 0 50 100 Tm (upwards) Tj ET BT /F 12 Tf 100 700 Td (level text) Tj ET", helvetica,
			"level text\n\nupwards\n", nil},
		{"outside the page", "BT /F 12 Tf 50 900 Td (hidden) Tj 0 -200 Td (shown) Tj ET", helvetica, "shown\n", nil},
		{"octal and escapes", `BT /F 12 Tf 50 700 Td (\101\(b\)\\ caf\351) Tj ET`, helvetica, "A(b)\\ café\n", nil},
		{"hexadecimal", "BT /F 12 Tf 50 700 Td <48 656c6C6f> Tj ET", helvetica, "Hello\n", nil},
		{"Type 3", "BT /F 12 Tf 50 700 Td (AB) Tj ET", type3, "fi🚀\n", []string{encoded("", toUnicode)}},
		{"a range", "BT /F 12 Tf 50 700 Td (abc) Tj ET", strings.Replace(helvetica, ">>", "/ToUnicode 6 0 R >>", 1), "xyz\n",
			[]string{encoded("", toUnicode)}},
		{"names of glyphs", "BT /F 12 Tf 50 700 Td (ABCD) Tj ET",
			"<< /Type /Font /Subtype /Type1 /BaseFont /X /Encoding << /Differences [65 /ffi /Lslash /uni4E2D /f_l.alt] >> >>", "ffiŁ中fl\n", nil},
		{"no meaning", "BT /F 12 Tf 50 700 Td (AB) Tj ET", unmapped, "", nil},
		{"an unknown letter in a word", "BT /F 12 Tf 50 700 Td (aBa) Tj 100 0 Td (B) Tj ET", strings.Replace(unmapped, "/g1 /g2", "/a /g2 97 /x", 1), "x\uFFFDx\n", nil},
		{"an accent of TeX", "BT /F 12 Tf 50 700 Td [(Ol) 30 (\\237) 300 (s)] TJ ET", strings.Replace(helvetica, "/WinAnsiEncoding",
			"<< /BaseEncoding /WinAnsiEncoding /Differences [159 /caron] >>", 1), "Olš\n", nil},
		{"a font in TeX's way", "BT /F 12 Tf 50 700 Td (AB) Tj ET", strings.Replace(unmapped, "/g1 /g2", "/a65 /a28", 1), "Afi\n", nil},
		{"what it stands for", "BT /F 12 Tf 50 700 Td /Span << /ActualText (whole) >> BDC (wh) Tj (xx) Tj EMC ( text) Tj ET", helvetica,
			"whole text\n", nil},
		{"a form", "q 1 0 0 1 0 -100 cm /X Do Q BT /F 12 Tf 50 700 Td (page) Tj ET", helvetica, "page\n\nform\n",
			[]string{encoded("/Type /XObject /Subtype /Form", "BT /F 12 Tf 50 700 Td (form) Tj ET")}},
		{"an inline image", "BI /W 2 /H 2 ID \x01EI\x02(x) Tj EI BT /F 12 Tf 50 700 Td (text) Tj ET", helvetica, "text\n", nil},
		{"UTF-16", "BT /F 12 Tf 50 700 Td <4E2D6587> Tj ET",
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /UniGB-UCS2-H /DescendantFonts [<< /Subtype /CIDFontType0 >>] >>", "中文\n", nil},
		{"GBK", "BT /F 12 Tf 50 700 Td <D6D0CEC4> Tj ET",
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /GBK-EUC-H /DescendantFonts [<< /Subtype /CIDFontType0 >>] >>", "中文\n", nil},
		{"Shift JIS", "BT /F 12 Tf 50 700 Td <93FA967B41> Tj ET",
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Subtype /CIDFontType0 >>] >>", "日本A\n", nil},
		{"vertical writing", "BT /F 12 Tf 500 700 Td <4E2D6587> Tj -20 0 Td <5B576BCD> Tj ET",
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /UniGB-UCS2-V /DescendantFonts [<< /Subtype /CIDFontType0 >>] >>",
			"中文\n字母\n", nil},
		{"right to left", "BT /F 12 Tf 50 700 Td <05D505DC0020003205D4> Tj ET",
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /UniGB-UCS2-H /DescendantFonts [<< /Subtype /CIDFontType0 >>] >>",
			"ה2 לו\n", nil},
		{"columns", columnsContent(), helvetica, "0 is the left one of two sides\n1 is the left one of two sides\n2 is the left one of two sides\n\n" +
			"0 is the right one of two sides\n1 is the right one of two sides\n2 is the right one of two sides\n", nil},
	} {
		if got := text(t, page(c.content, c.font, c.more...)).Text; got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if p := text(t, page("BT /F 12 Tf 50 700 Td (AB) Tj ET /X Do", unmapped, encoded("/Subtype /Image", "x"))); p.Letters != 2 || p.Unknown != 2 || p.Pictures != 1 {
		t.Errorf("%+v", p)
	}
}

// columnsContent is a page of two columns, one shown after the other.
func columnsContent() string {
	var b strings.Builder
	for i, side := range []string{"%d is the left one of two sides", "%d is the right one of two sides"} {
		for line := range 3 {
			fmt.Fprintf(&b, "BT /F 12 Tf %d %d Td ("+side+") Tj ET\n", 50+200*i, 700-14*line, line)
		}
	}
	return b.String()
}

// TestDamaged: what is broken is mended or left out.
func TestDamaged(t *testing.T) {
	good := page("BT /F 12 Tf 50 700 Td (whole text) Tj ET", helvetica)
	replace := func(old, new string) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
	for what, data := range map[string][]byte{
		"no cross-reference table":     good[:bytes.LastIndex(good, []byte("xref\n0"))],
		"a wrong offset of it":         replace("startxref\n", "startxref\n1"),
		"wrong offsets in it":          replace("0000000009", "0000000019"),
		"bytes before the header":      append([]byte("\x00\x01 garbage\n"), good...),
		"a later version":              replace("%PDF-1.7", "%PDF-2.0"),
		"no end mark":                  replace("%%EOF", ""),
		"a length that is too large":   replace("/Length 43", "/Length 999999999999"),
		"a length that is too small":   replace("/Length 43", "/Length 3"),
		"a length below zero":          replace("/Length 43", "/Length -3"),
		"a length that refers to it":   replace("/Length 43", "/Length 4 0 R"),
		"pages that have themselves":   replace("/Kids [3 0 R]", "/Kids [2 0 R 3 0 R]"),
		"trailer with loops":           replace("/Root 1 0 R", "/Root 1 0 R /Prev 9"),
		"a catalog that is not named":  replace("/Root 1 0 R", "/Root 9 0 R"),
		"brackets that are never shut": replace("/Type /Font /Subtype", "/X [[[[[ /Type /Font /Subtype"),
	} {
		f, err := Open(t.Context(), data)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if p, _ := f.Page(1); what != "brackets that are never shut" && p.Text != "whole text\n" {
			t.Errorf("%s: %q", what, p.Text)
		}
	}
	for _, data := range []string{"", "%PDF-", "%PDF-1.7\n1 0 obj\n<< >>\nendobj", "%PDF-1.7\nxref\n0 99999999999\ntrailer\n<< >>\nstartxref\n9\n%%EOF",
		"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 1 0 R /Kids [] >> endobj"} {
		if f, err := Open(t.Context(), []byte(data)); err == nil && f.NumPages() == 0 {
			t.Errorf("%q opens without pages", data)
		}
	}
}

// TestHostile: what is made to take for ever, or all memory, ends with an error or
// with what there is.
func TestHostile(t *testing.T) {
	bomb := packed(packed(strings.Repeat(" ", 40<<20) + strings.Repeat(" ", 40<<20)))
	f, err := Open(t.Context(), build(
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [3 0 R] >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
		encoded("/Filter [/FlateDecode /FlateDecode]", bomb)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Page(1); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Error(err)
	}
	// Each form shows the next one twenty times.
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [3 0 R] >>",
		"<< /Type /Page /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>", encoded("", "/X Do")}
	for i := range 14 {
		objects = append(objects, encoded(fmt.Sprintf("/Subtype /Form /Resources << /XObject << /X %d 0 R >> >>", 6+i),
			strings.Repeat("/X Do ", 20)))
	}
	if f, err = Open(t.Context(), build(objects...)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Page(1); !errors.Is(err, errLimit) && !errors.Is(err, errTooMuch) {
		t.Error(err)
	}
	// A form that shows itself.
	data := page("/X Do BT /F 12 Tf 50 700 Td (text) Tj ET", helvetica,
		encoded("/Subtype /Form /Resources << /XObject << /X 6 0 R >> >>", "/X Do /X Do"))
	if got := text(t, data).Text; got != "text\n" {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f, err = Open(ctx, page("BT /F 12 Tf 50 700 Td (text) Tj ET", helvetica))
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Page(1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(ctx, []byte("%PDF-1.7")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFilters(t *testing.T) {
	f := &File{ctx: t.Context()}
	for _, c := range []struct {
		filter   name
		in, want string
		param    dict
	}{
		{"FlateDecode", packed("text"), "text", nil},
		{"FlateDecode", packed("\x02ab\x02\x01\x01"), "abbc", dict{"Predictor": 12, "Columns": 2}},
		{"FlateDecode", packed("a\x01\x01"), "abc", dict{"Predictor": 2, "Columns": 3}},
		{"LZWDecode", "\x80\x0B\x60\x50\x22\x0C\x0C\x85\x01", "-----A---B", nil}, // the example of the standard
		{"ASCII85Decode", "87cURD]j7BEbo80~>", "Hello world!", nil},
		{"ASCIIHexDecode", "48 65 6C6c 6F>", "Hello", nil},
		{"RunLengthDecode", "\x01ab\xfec\x80", "abccc", nil},
	} {
		if got, err := f.filter(c.filter, []byte(c.in), c.param); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.filter, got, err)
		}
	}
	if _, err := f.filter("DCTDecode", nil, nil); !errors.Is(err, errPicture) {
		t.Error(err)
	}
}

func TestLogicalOrder(t *testing.T) {
	for visual, want := range map[string]string{
		"plain text":       "plain text",
		"םולש":             "שלום",
		"12 םולש":          "שלום 12",
		"abcdefgh םולש":    "abcdefgh שלום",
		"abc םולש דוע":     "עוד שלום abc",
		".(רורב) םולש":     "שלום (ברור).",
		".)רורב( םולש":     "שלום (ברור).",
		".(תורורב":         "ברורות).",
		".)תורורב":         "ברורות).",
		"3.5% םולש":        "שלום 3.5%",
		"an םולש 12 to be": "an שלום 12 to be",
		"ab cdefg םולש ער": "ab cdefg רע שלום",
	} {
		parts := strings.Split(visual, "")
		if strings.ContainsFunc(visual, func(r rune) bool { return direction(string(r)) == -1 }) {
			parts = logical(parts)
		}
		if got := strings.Join(parts, ""); got != want {
			t.Errorf("%q: %q, want %q", visual, got, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(page("BT /F 12 Tf 50 700 Td [(a) -300 (b)] TJ ET /X Do", helvetica, encoded("/Subtype /Form /Matrix [1 0 0 1 5 5]", "BT (x) Tj ET")))
	f.Add(page("BT /F 1 Tf <4E2D> Tj ET", "<< /Subtype /Type0 /Encoding /GBK-EUC-V /DescendantFonts [<< /W [1 [2 3] 4 5 6] /DW 500 >>] >>"))
	f.Add(build("<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R >>",
		encoded("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 4 >>", packed("BT (x) Tj ET"))))
	small, _ := filepath.Glob("testdata/reportlab-*.pdf")
	for _, name := range small {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(t.Context(), data)
		if err != nil {
			return
		}
		for i := range min(file.NumPages(), 5) {
			p, _ := file.Page(i + 1)
			if p.Unknown > p.Letters || strings.ContainsRune(p.Text, 0) {
				t.Errorf("%+v", p)
			}
		}
	})
}

func FuzzCMap(f *testing.F) {
	f.Add([]byte("1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <61> <63> [<0078> /a] endbfrange"), "ab\xff")
	f.Add([]byte("/90ms-RKSJ-H usecmap /WMode 1 def 1 begincidrange <8140> <817e> 633 endcidrange"), "\x81\x40")
	f.Fuzz(func(t *testing.T, data []byte, s string) {
		c := parseCMap(data, predefined)
		total := 0
		for rest := str(s); len(rest) > 0; {
			code, n := c.next(rest)
			c.text(code, n)
			rest = rest[n:]
			total += n
		}
		if total != len(s) {
			t.Errorf("%d of %d bytes", total, len(s))
		}
	})
}

func FuzzFontFiles(f *testing.F) {
	f.Add([]byte("\x01\x00\x04\x01\x00\x01\x01\x01\x02A\x00\x01\x01\x01\x05\x8b\x0f\x8b\x10\x00\x00"))
	f.Add([]byte("\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x10\x00\x00\x00\x01\x00\x03\x00\x01\x00\x00\x00\x0c\x00\x0c"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		cffEncoding(data)
		trueTypeRunes(data)
	})
}

func FuzzLayout(f *testing.F) {
	f.Add([]byte("a\x10\x20\x05b\x20\x20\x05"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var letters []letter
		for chunk := range slices.Chunk(data[:min(len(data), 4000)], 4) {
			if len(chunk) == 4 {
				x, y, size := float64(chunk[1])*2, float64(chunk[2])*3, float64(chunk[3]%40)
				letters = append(letters, letter{text: string(rune(0x20 + int(chunk[0])*9)), x: x, y: y, ex: x + size/2, ey: y, size: size})
			}
		}
		want := 0
		seen := make(map[letter]bool)
		for _, l := range letters {
			if t := clean(l.text); strings.TrimSpace(t) != "" && !seen[l] {
				seen[l] = true
				want++
			}
		}
		if got := layout(t.Context(), letters, 0); want > 0 && got == "" {
			t.Errorf("%d letters are lost", want)
		}
	})
}
