package document

import (
	"strings"
	"testing"
)

func TestSelection(t *testing.T) {
	for pages, want := range map[string]Options{"": {}, "3": {From: 3, To: 3}, " 2 - 5 ": {From: 2, To: 5}, "7-": {From: 7}} {
		if got, err := selection(pages); err != nil || got != want {
			t.Errorf("%q: %+v, %v", pages, got, err)
		}
	}
	for _, pages := range []string{"0", "-2", "5-2", "x", "1-x", "1,2"} {
		if o, err := selection(pages); err == nil || !strings.Contains(err.Error(), "write 3, 2-5, or 7-") {
			t.Errorf("%q: %+v, %v", pages, o, err)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		n    []int
		want string
	}{
		{nil, ""}, {[]int{4}, "4"}, {[]int{1, 2, 3, 7, 9, 10}, "1-3, 7, 9-10"},
	} {
		if got := ranges(c.n); got != c.want {
			t.Errorf("%v: %q, want %q", c.n, got, c.want)
		}
	}
	var odd []int
	for i := range 30 {
		odd = append(odd, 2*i+1)
	}
	if got := ranges(odd); !strings.HasSuffix(got, ", 37, 39, …") {
		t.Error(got)
	}
}

func TestIsTextName(t *testing.T) {
	for name, want := range map[string]bool{"a/b.TXT": true, "README": true, "x.go": true, "Makefile": true, "a.png": false, "binary": false, ".": false, "x.": false} {
		if got := isTextName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHasControls(t *testing.T) {
	if hasControls([]byte("Gr\xf6\xdfe and more\n")) || !hasControls([]byte(strings.Repeat("\x01\xff", 300))) {
		t.Error("text and bytes are mixed up")
	}
}

func TestNotesAreLimited(t *testing.T) {
	r := &reader{doc: &Document{}}
	for i := range 2 * maxNotes {
		r.note("%d", i)
	}
	if len(r.doc.Notes) != maxNotes {
		t.Error(len(r.doc.Notes))
	}
}

func TestColumnRanges(t *testing.T) {
	if got := columnRanges([][2]int{{1, 1}, {26, 28}, {703, 703}}); got != "A, Z-AB, AAA" {
		t.Error(got)
	}
}
