package ooxml

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// book is a workbook of these parts.
func book(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parts(sheet string) map[string]string {
	return map[string]string{
		"_rels/.rels": `<Relationships><Relationship Id="r1" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="a" Type="http://x/worksheet" Target="sheets/one.xml"/>
			<Relationship Id="b" Type="http://x/sharedStrings" Target="/xl/strings.xml"/><Relationship Id="c" Type="http://x/styles" Target="styles.xml"/></Relationships>`,
		"xl/workbook.xml":   `<workbook><workbookPr/><sheets><sheet name="One" r:id="a" xmlns:r="urn:r"/><sheet name="Chart" r:id="z" xmlns:r="urn:r"/></sheets></workbook>`,
		"xl/strings.xml":    `<sst><si><t>plain</t></si><si><r><rPr><b/></rPr><t>ri</t></r><r><t>ch</t></r><rPh><t>no</t></rPh></si></sst>`,
		"xl/styles.xml":     `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy"/><numFmt numFmtId="171" formatCode="0&quot;y&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>`,
		"xl/sheets/one.xml": sheet,
	}
}

func rows(t testing.TB, data []byte) string {
	t.Helper()
	b, err := OpenBook(t.Context(), data, 1<<20)
	if err != nil {
		return err.Error()
	}
	b.ShowFormulas = true
	var out strings.Builder
	for _, s := range b.Sheets {
		for r, err := range b.Rows(s) {
			if err != nil {
				fmt.Fprintf(&out, "error: %v\n", err)
				break
			}
			fmt.Fprintf(&out, "%s %d: %s\n", s, r.N, strings.Join(r.Cells, "|"))
		}
	}
	return out.String()
}

func TestCells(t *testing.T) {
	for sheet, want := range map[string]string{
		`<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row>`:                                                   "One 2: plain||rich\n",
		`<row><c><v>1.1000000000000001</v></c><c><v>9007199254740993</v></c><c><v>99999999.989999995</v></c><c><v>1.10</v></c></row>`: "One 1: 1.1|9007199254740993|99999999.99|1.10\n",
		`<row><c><v>1.5</v></c><c t="b"><v>1</v></c><c t="str"><f>A1&amp;"x"</f><v>1.5x</v></c></row>`:                                "One 1: 1.5|TRUE|1.5x\n",
		`<row r="1"><c r="A1" t="inlineStr"><is><t>in </t><r><t>line</t></r></is></c><c r="B1" t="e"><v>#N/A</v></c></row>`:           "One 1: in line|#N/A\n",
		`<row r="1"><c r="A1" s="1"><v>45000</v></c><c r="B1" s="2"><v>0.5</v></c><c r="C1" s="3"><v>7</v></c></row>`:                 "One 1: 2023-03-15 00:00:00|1899-12-30 12:00:00|7\n",
		`<row r="1"><c r="A1"><f>B1*2</f><v></v></c><c r="B1"><f t="shared" si="0" ref="B1:B2">C1+1</f></c><c r="C1" t="str"><f>""</f><v></v></c></row>` +
			`<row r="2"><c r="B2"><f t="shared" si="0"/></c><c r="C2"><f>1+1</f><v>2</v></c></row>`: "One 1: =B1*2|=C1+1|\nOne 2: |=the formula of B1, moved|2\n",
		`<row r="1"/><row r="9"><c r="XFD9"><v>1</v></c></row>`:                       "One 9: " + strings.Repeat("|", 16383) + "1\n",
		`<row r="1"><c r="ZZZZ1"><v>1</v></c></row>`:                                  "error: there is no cell ZZZZ1\n",
		`<row r="1"><c r="A1" t="s"><v>99</v></c><c r="B1" s="77"><v>3</v></c></row>`: "One 1: |3\n",
		`<row r="1"><c r="A1"><v>1</v>`:                                               "error: ",
	} {
		if got := rows(t, book(t, parts("<worksheet><sheetData>"+sheet+"</sheetData></worksheet>"))); !strings.HasPrefix(got, want) || want == "" {
			t.Errorf("%s\ngives %q, want %q", sheet, got, want)
		}
	}
	if got := rows(t, book(t, map[string]string{"a": "b"})); got != "it has no workbook in it" {
		t.Errorf("another zip: %q", got)
	}
	big := parts("<worksheet><sheetData>" + strings.Repeat("<row><c><v>1</v></c></row>", 100_000) + "</sheetData></worksheet>")
	if got := rows(t, book(t, big)); !strings.Contains(got, "unpacks to more than") {
		t.Error("what unpacks to too much was read")
	}
}

// TestHidden: what Excel does not show is read, and marked.
func TestHidden(t *testing.T) {
	p := parts(`<worksheet><cols><col min="2" max="3" hidden="1"/><col min="5" max="5" hidden="0"/></cols><sheetData>` +
		`<row r="1"><c><v>1</v></c></row><row r="2" hidden="1"><c><f>A1</f></c></row></sheetData></worksheet>`)
	p["xl/workbook.xml"] = strings.Replace(p["xl/workbook.xml"], `name="One"`, `name="One" state="veryHidden"`, 1)
	b, err := OpenBook(t.Context(), book(t, p), 1<<20)
	if err != nil || !b.Hidden["One"] {
		t.Fatal(err, b.Hidden)
	}
	var got []Row
	for r, err := range b.Rows("One") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	want := "[{1 [1] false 0 [[2 3]]} {2 [] true 1 [[2 3]]}]"
	if s := fmt.Sprint(got); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="s"><v>0</v></c><c s="1"><v>1e300</v></c></row>`)
	f.Fuzz(func(t *testing.T, sheet string) { rows(t, book(t, parts(sheet))) })
}
