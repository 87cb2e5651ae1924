package ooxml

import (
	"bytes"
	"testing"
)

const head = `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>`

// FuzzXML: it ends on anything, and pages only go up.
func FuzzXML(f *testing.F) {
	f.Add([]byte(head + "<w:p><w:t>x</w:t></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"))
	f.Add([]byte("<a:tr><a:tc></a:tr></a:tc><a:t>"))
	f.Add([]byte("<a><tc/><tr/></a>"))
	f.Add([]byte("<a><br type='page'/><p/><tbl><tr/></tbl></a>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 1
		text, _ := Word(bytes.NewReader(data), 1, func(page int, _ string) {
			if page < at {
				t.Errorf("page %d after %d", page, at)
			}
			at = page
		})
		if text.LastPage < at {
			t.Errorf("the last page is %d, and there was %d", text.LastPage, at)
		}
		_, _ = Drawing(bytes.NewReader(data)) // that it ends is what counts
	})
}
