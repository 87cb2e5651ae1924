package pdf

import (
	"os"
	"strings"
	"testing"
)

// The values of a form belong to its text, beside what names them, as do ticks, choices, free text,
// comments, and who signed. Each file is one that another program filled in, signed or wrote on.
func TestForms(t *testing.T) {
	for name, want := range map[string][]string{
		"reportlab-form.pdf": {"First name:\tMargarethe\n", "Newsletter\t[x]\n", "Advertising\t[ ]\n", "Country:\tPeru\n", "Fruit:\tPear\n",
			"Size S\t[ ]\n", "Size L\t[x]\n", "Remarks:\tfirst line second line\n"},
		"pypdf-filled.pdf":   {"First name:\tÅsa Żółć 東京\n", "Newsletter\t[ ]\n", "Advertising\t[x]\n"},
		"pymupdf-notes.pdf":  {"free text on the page\n", "City:\tCusco\n", "[comment by Ann: Please check the sum]\n", "[comment by Bob: is this right?]\n"},
		"pyhanko-signed.pdf": {"First name:\tMargarethe\n", "[signed by Margarethe Muster, 2026-12-01 15:20, I agree, Köln; not checked]\n"},
	} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Page(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(p.Text, w) {
				t.Errorf("%s: %q is missing in\n%s", name, w, p.Text)
			}
		}
	}
}

// A table of fields keeps its columns, and a value that has no label stays where it is.
func TestFieldsStayInTheirColumns(t *testing.T) {
	at := func(left, bottom float64, text string) *field {
		return &field{left: left, right: left + 50, bottom: bottom, top: bottom + 20, lines: []string{text}, size: 10, x: left + 2, y: bottom + 6}
	}
	label := letter{text: "a", x: 50, ex: 60, y: 106, size: 10}
	first, second, alone := at(100, 100, "1"), at(200, 100, "2"), at(100, 300, "3")
	all := []*field{first, second, alone}
	for _, v := range all {
		v.toLabel([]letter{label}, all)
	}
	if first.x > 70 || second.x != 202 || alone.x != 102 {
		t.Errorf("the fields begin at %v, %v and %v", first.x, second.x, alone.x)
	}
}
