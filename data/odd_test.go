package data

import (
	"strings"
	"testing"
)

// Files as programs really write them are read to their end, and a note says what is odd. Cells stand
// as they are in the file.
func TestOddFiles(t *testing.T) {
	for _, c := range []struct{ what, name, content, want, note string }{
		{"lines that end in CR", "a.csv", "a,b\r1,2\r3,4\r", "a|b\n1|2\n3|4\n", ""},
		{"lines that end in CR, with tabs", "a.tsv", "a\tb\r1\t2\r", "a|b\n1|2\n", ""},
		{"Excel's line with the delimiter", "a.csv", "sep=;\r\na;b\r\n1;2\r\n", "a|b\n1|2\n", ""},
		{"the same in quotes", "a.csv", "\"sep=|\"\na|b\n1|2,5\n", "a|b\n1|2,5\n", ""},
		{"a name that only looks like it", "a.csv", "sep=x,b\n1,2\n", "sep=x|b\n1|2\n", ""},
		{"text after a closing quote", "a.csv", "id,text\n1,\"abc\" def\n2,ok\n3,\"x\"\"y\" z\"w\n", "id|text\n1|abc def\n2|ok\n3|x\"y z\"w\n", "2 quoted cells have text after their closing quote"},
		{"blanks after a closing quote", "a.csv", "id,text\n1,\"abc\" \n2,\"d\"\t\n", "id|text\n1|abc\n2|d\n", ""},
		{"a quote that is never closed", "a.csv", "id,text\n1,\"abc\n2,ok\n", "id|text\n1|abc\n2,ok\n\n", "a quote is never closed"},
		{"inches", "a.csv", "id,size\n1,5\" pipe\n2,6\n", "id|size\n1|5\" pipe\n2|6\n", ""},
		{"commas and lines in quotes", "a.csv", "id,text\n1,\"a, b\nc\"\n2,d\n", "id|text\n1|a, b\nc\n2|d\n", ""},
		{"a last line that is cut off", "a.jsonl", `{"a":1,"b":"x"}` + "\n" + `{"a":2,"b":"y`, "a|b\n1|x\n", "cut off in row 2"},
		{"the same after a comma", "a.jsonl", `{"a":1}` + "\n" + `{"a":2}` + "\n" + `{"a":3,`, "a\n1\n2\n", "cut off in row 3"},
		{"an array that is cut off", "a.json", `[{"a":1},{"a":2},{"a"`, "a\n1\n2\n", "cut off in row 3"},
		{"an array without its end", "a.json", `[{"a":1},{"a":2}`, "a\n1\n2\n", "cut off in row 3"},
		{"what Python writes", "a.jsonl", `{"v":NaN}` + "\n" + `{"v":-Infinity}` + "\n" + `{"v":1.50,"w":"a NaN \" Infinity"}`, "v|w\nNaN|\n-Infinity|\n1.50|a NaN \" Infinity\n", ""},
		{"Cyrillic", "a.csv", "\xc8\xec\xff,\xc3\xee\xf0\xee\xe4\n\xc8\xe2\xe0\xed,\xcc\xee\xf1\xea\xe2\xe0\n", "Имя|Город\nИван|Москва\n", "read as windows-1251"},
		{"UTF-16 without a mark", "a.csv", "a\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00", "a|b\n1|2\n", "utf-16le"},
	} {
		got := must(t, c.name, c.content, Options{})
		if text := gridOf(got); strings.TrimRight(text, "\n") != strings.TrimRight(c.want, "\n") {
			t.Errorf("%s:\n%s", c.what, text)
		}
		if notes := strings.Join(got.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "quote") {
			t.Errorf("%s: the notes are %q", c.what, notes)
		}
	}
	if _, err := read(t, "a.json", `[{"a":1`, Options{}); err == nil {
		t.Error("a file without a whole row was read")
	}
	got := must(t, "a.csv", "\xc8\xec\xff,b\n1,2\n", Options{Encoding: "iso-8859-5"})
	if got.Columns[0].Name != "Шьџ" {
		t.Errorf("in the set that was told: %q", got.Columns[0].Name)
	}
}

// gridOf writes a table as its file has it, with bars.
func gridOf(tab *Table) string {
	var b strings.Builder
	for i := -1; i < tab.Rows(); i++ {
		for j, c := range tab.Columns {
			if j > 0 {
				b.WriteString("|")
			}
			if i < 0 {
				b.WriteString(c.Name)
			} else {
				b.WriteString(c.Cell(i))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
