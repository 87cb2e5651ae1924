package ooxml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// open opens a file of these parts.
func open(t testing.TB, parts map[string]string) *File {
	t.Helper()
	f, err := Open(t.Context(), book(t, parts), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParts(t *testing.T) {
	f := open(t, map[string]string{"a/b.xml": "<x/>"})
	if !f.Has("a/b.xml") || !f.Has("a/./b.xml") || f.Has("a/c.xml") || f.Has("../a/b.xml") {
		t.Error("the wrong parts are there")
	}
	p, err := f.Part("a/b.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if b, err := io.ReadAll(p); string(b) != "<x/>" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := f.Part("a/c.xml"); err == nil || err.Error() != "a/c.xml is missing in it" {
		t.Error(err)
	}
}

// TestLimitCountsAllParts: the limit is for the file, not for each part.
func TestLimitCountsAllParts(t *testing.T) {
	f := open(t, map[string]string{"a": strings.Repeat(" ", 700<<10), "b": strings.Repeat(" ", 700<<10)})
	var errs []error
	for _, name := range []string{"a", "b"} {
		p, err := f.Part(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, p)
		errs = append(errs, err)
		p.Close()
	}
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "unpacks to more than 1 MiB") {
		t.Error(errs)
	}
}

func TestReadingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f, err := Open(ctx, book(t, map[string]string{"a": "text"}), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	p, err := f.Part("a")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := io.ReadAll(p); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRelations(t *testing.T) {
	f := open(t, map[string]string{"ppt/slides/_rels/s1.xml.rels": `<Relationships>
		<Relationship Id="a" Type="http://example.org/notesSlide" Target="../notes/n1.xml"/>
		<Relationship Id="b" Type="http://example.org/image" Target="/ppt/media/i.png"/>
		<Relationship Id="c" Type="x" Target="../../../../etc/passwd"/></Relationships>`})
	got, err := f.Relations("ppt/slides/s1.xml")
	want := []Relation{{"a", "notesSlide", "ppt/notes/n1.xml", "../notes/n1.xml"},
		{"b", "image", "ppt/media/i.png", "/ppt/media/i.png"}, {"c", "x", "etc/passwd", "../../../../etc/passwd"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if none, err := f.Relations("ppt/slides/s2.xml"); len(none) != 0 || err != nil {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestColumnIndex(t *testing.T) {
	for _, c := range []struct {
		ref  string
		next int
		want string
	}{
		{"A1", 0, "0"}, {"Z9", 0, "25"}, {"AA1", 0, "26"}, {"XFD1", 0, "16383"}, {"", 7, "7"}, {"12", 3, "3"},
		{"XFE1", 0, "there is no cell XFE1"}, {"AAAAAAAAAAAAAAAA", 0, "there is no cell AAAAAAAAAA"}, {"", 16384, "a row has too many cells"},
	} {
		n, err := columnIndex(c.ref, c.next)
		got := fmt.Sprint(n)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q after %d: %s, want %s", c.ref, c.next, got, c.want)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for code, want := range map[string]kind{"yyyy-mm-dd": dateFormat, "D.M.YY": dateFormat, "dd/mm": dateFormat, "0.00": plainNumber,
		`0"years"`: plainNumber, `"on" yy`: dateFormat, "h:mm": timeFormat, "mm:ss": timeFormat, "[h]:mm": hours,
		`[Red]0.0\m`: plainNumber, "[$-409]d-mmm": dateFormat, "0;[Red]-0 dd m": plainNumber, "[hh]:mm:ss": hours, "[mm]:ss": minutes,
		"[s]": seconds, "0.0%": percent, "0%": percent, `0"%"`: plainNumber, "00000": filled, `000\-00\-0000`: filled, "#,##0": plainNumber,
		"0": plainNumber, "[Red]00": filled, "00.0": plainNumber, "00E+00": plainNumber, "General": plainNumber, "@": plainNumber,
		`_-* #,##0.00_-`: plainNumber, "0_)": plainNumber, "(000) 000-0000": filled} {
		if got := formatOf(code); got.kind != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

// A number is written with all its digits, and as another thing only where its format makes one of it.
func TestFormatNumber(t *testing.T) {
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		code, stored, want string
	}{
		{"[hh]:mm:ss", "1.253472222222222", "30:05:00"}, {"[h]:mm", "0.5", "12:00:00"}, {"[mm]:ss", "1.253472222222222", "1805:00"},
		{"[ss]", "0.00001157407407", "1"}, {"[h]:mm", "-0.5", "-0.5"}, {"[h]:mm", "x", "x"},
		{"00000", "1234", "01234"}, {"00000", "123456", "123456"}, {"00000", "12.5", "12.5"}, {"00000", "-7", "-7"}, {"00000", "0", "00000"},
		{`000\-00\-0000`, "123456789", "123-45-6789"}, {`000\-00\-0000`, "6789", "000-00-6789"}, {`00"."00`, "12345", "123.45"},
		{"(000) 000-0000", "3015550100", "(301) 555-0100"},
		{"0.0%", "0.125", "12.5%"}, {"0%", "0.07", "7%"}, {"0%", "1", "100%"}, {"0%", "-0.005", "-0.5%"}, {"0%", "0", "0%"},
		{"0%", "0.29999999999999999", "30%"}, {"0%", "1E-05", "0.001%"}, {"0%", "1E+308", "1E+308%"}, {"0%", "1e999999999", "1e999999999%"},
		{`#,##0.00 "€"`, "1234.5", "1234.5"}, {"0.0", "99999999.99", "99999999.99"}, {"yyyy-mm-dd", "45366", "2024-03-15 00:00:00"}, {"h:mm", "0.5", "12:00:00"},
	} {
		if got := FormatNumber(c.stored, 0, c.code, epoch); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.stored, c.code, got, c.want)
		}
	}
	for number, want := range map[int]string{0: "1.25", 9: "125%", 10: "125%", 46: "30:00:00", 14: "1899-12-31 06:00:00"} {
		if got := FormatNumber("1.25", number, "", epoch); got != want {
			t.Errorf("built-in %d: %q, want %q", number, got, want)
		}
	}
}

func FuzzFormatNumber(f *testing.F) {
	f.Add("1.5", "[h]:mm", 0)
	f.Add("12", `000\-0`, 9)
	f.Fuzz(func(t *testing.T, value, code string, number int) { FormatNumber(value, number, code, time.Time{}) })
}

// TestWord: paragraphs of WordprocessingML, each with the Markdown it becomes;
// pages are divided by a line of dashes.
func TestWord(t *testing.T) {
	p := func(inner string) string { return "<w:p>" + inner + "</w:p>" }
	r := func(text string) string { return "<w:r><w:t>" + text + "</w:t></w:r>" }
	style := func(name string) string { return `<w:pPr><w:pStyle w:val="` + name + `"/></w:pPr>` }
	cell := func(text string) string { return "<w:tc>" + p(r(text)) + "</w:tc>" }
	for _, c := range []struct{ what, xml, want string }{
		{"runs", p(r("a") + r(" b")), "a b"},
		{"title", p(style("Title") + r("t")), "# t"},
		{"heading", p(style("Heading3") + r("h")), "### h"},
		{"no heading", p(style("Heading9") + r("h")), "h"},
		{"list", p("<w:pPr><w:numPr/></w:pPr>"+r("one")) + p(r("after")), "- one\nafter"},
		{"breaks", p(r("a") + "<w:br/>" + r("b") + "<w:tab/>" + r("c")), "a\nb\tc"},
		{"pages", p(r("a")+`<w:br w:type="page"/>`+r("b")) + p("<w:lastRenderedPageBreak/>"+r("c")), "a\n---\nb\n---\nc"},
		{"deleted text and fields", p("<w:del><w:delText>x</w:delText></w:del><w:instrText>PAGE</w:instrText>" + r("y")), "y"},
		{"table", "<w:tbl><w:tr>" + cell("a") + cell("b") + "</w:tr><w:tr>" + cell("c") + "<w:tc>" + p(r("d")) + p(r("e")) + "</w:tc></w:tr></w:tbl>",
			"| a | b |\n| --- | --- |\n| c | d e |"},
		{"a page does not end in a table", "<w:tbl><w:tr><w:tc>" + p(`<w:br w:type="page"/>`+r("x")) + "</w:tc></w:tr></w:tbl>", "| x |\n| --- |"},
		{"empty", p(""), ""},
	} {
		var pages []string
		got, err := Word(strings.NewReader("<w:document>"+c.xml+"</w:document>"), 1, func(_ int, text string) { pages = append(pages, text) })
		if err != nil || strings.Join(pages, "\n---\n") != c.want || got.LastPage != max(len(pages), 1) {
			t.Errorf("%s: %q, %+v, %v; want %q", c.what, pages, got, err, c.want)
		}
	}
	got, err := Word(strings.NewReader("<a><pic:pic/><w:p><w:t>kept</w:t></w:p><broken"), 4, func(page int, text string) {
		if page != 4 || text != "kept" {
			t.Errorf("page %d: %q", page, text)
		}
	})
	if err == nil || got != (Text{LastPage: 4, Pictures: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSlides(t *testing.T) {
	f := open(t, map[string]string{
		"ppt/presentation.xml": `<p:presentation xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/>
			<p:sldId id="258" r:id="gone"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels": `<Relationships><Relationship Id="a" Target="slides/1.xml"/><Relationship Id="b" Target="slides/2.xml"/></Relationships>`,
	})
	got, err := f.Slides()
	if err != nil || !slices.Equal(got, []string{"ppt/slides/2.xml", "ppt/slides/1.xml"}) {
		t.Errorf("%q, %v", got, err)
	}
}
