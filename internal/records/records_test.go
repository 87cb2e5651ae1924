package records

import (
	"fmt"
	"strings"
	"testing"
)

// TestRead is a table of answers of services, with their records and their prose.
func TestRead(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for _, c := range []struct{ text, records, prose string }{
		{"", "", ""},
		{"just a sentence.", "", "just a sentence."},
		{"- general\n- random", "[[=general] [=random]]", ""},
		{`{"name": "Ann", "mail": "ann@example.org"}`, "[[name=Ann mail=ann@example.org]]", ""},
		{"{'City Hub': '1 Main Street'}", "[[=City Hub City Hub=1 Main Street]]", ""},
		{"- id_: '7'\n  to:\n  - a@example.org\n  - b@example.org\n  body: " + long, "[[id_=7 to=a@example.org to=b@example.org body=" + strings.TrimSpace(long) + "]]", strings.TrimSpace(long)},
		{"[[1, 2], {a: {b: c}}]", "[[=1] [=2] [b=c]]", ""},
		{"a: \"two\\nlines\"", "[[a=two\nlines]]", "two\nlines"},
		{"a: [", "", "a: ["},
	} {
		list, prose := Read(c.text)
		got := ""
		if list != nil {
			got = fmt.Sprint(list)
		}
		if got != c.records || prose != c.prose {
			t.Errorf("Read(%q) = %s, %q, want %s, %q", c.text, got, prose, c.records, c.prose)
		}
	}
}

// FuzzRead looks for texts that Read cannot take: nothing may be lost.
func FuzzRead(f *testing.F) {
	f.Add("- a: b\n  c: [d, e]")
	f.Add("&a [*a]")
	f.Fuzz(func(t *testing.T, text string) { Read(text) })
}
