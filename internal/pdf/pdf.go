// Package pdf extracts the text of PDF files (ISO 32000-1) in reading order.
//
// A [File] is opened from memory with [Open]; [File.Page] returns the text of one
// page. The meaning of codes in a file is looked up in this order: the ToUnicode
// map of the font, of whatever kind it is; the names of its glyphs; the character
// set of a predefined CMap; the tables of the font program in the file. Codes of
// which the file says nothing are counted, and leave no text.
//
// Where letters belong together is decided by their places, not by the operators
// that show them: see layout.go.
//
// Files are untrusted. A broken cross-reference table is made anew from the objects
// in the file; of a broken stream the part before the fault is read. How much a page
// may unpack to, how many operators it may run and how deep anything may nest are
// limited, references in circles end, and everything ends when the context is done.
// Files that are encrypted with an empty user password are read.
package pdf

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// A Page is what was found on a page.
type Page struct {
	Text     string // with what is filled into its form; comments and signatures stand at its end
	Letters  int    // codes that are shown
	Unknown  int    // those of which the file does not say what they mean
	Pictures int
}

// Page reads page n, from 1. With an error it may return what it read before.
func (f *File) Page(n int) (p Page, err error) {
	if n < 1 || n > len(f.pages) {
		return Page{}, fmt.Errorf("there is no page %d", n)
	}
	if len(f.cache) > 20_000 || f.parsed > maxParsed/2 {
		f.forget()
	}
	f.spent, f.parsed = 0, 0
	d := f.pages[n-1]
	m := &machine{f: f, off: f.hiddenGroups()}
	m.state = state{ctm: identity, scale: 1}
	m.box = f.pageBox(d)
	content, err := f.content(d["Contents"])
	if broken := m.run(content, f.dict(d["Resources"]), 0); err == nil {
		err = broken
	}
	if f.ctx.Err() != nil {
		return Page{}, f.ctx.Err()
	}
	for len(m.marks) > 0 {
		m.close()
	}
	beside := f.annotations(d, m)
	turn, _ := f.number(d["Rotate"])
	p = Page{Letters: m.shown, Unknown: m.unknown, Pictures: m.pictures}
	p.Text = layout(f.ctx, m.letters, math.Mod(-turn, 360))
	if len(beside) > 0 {
		p.Text = strings.TrimLeft(p.Text+"\n"+strings.Join(beside, "\n")+"\n", "\n")
	}
	if f.ctx.Err() != nil {
		return Page{}, f.ctx.Err()
	}
	return p, err
}

// content joins the content streams of a page. A missing one has no content.
func (f *File) content(o object) ([]byte, error) {
	var all bytes.Buffer
	var first error
	parts := array{o}
	if a, ok := f.resolve(o).(array); ok {
		parts = a
	}
	for _, part := range parts {
		s, ok := f.resolve(part).(*stream)
		if !ok {
			continue
		}
		data, err := f.decode(s)
		if err != nil && first == nil {
			first = fmt.Errorf("its content cannot be unpacked: %w", err)
		}
		all.Write(data)
		all.WriteByte('\n')
	}
	return all.Bytes(), first
}

// pageBox returns the box of what is seen of a page (section 14.11.2): the crop box, else the
// media box. A broken one hides nothing. Printers' marks, and text that was cropped away, are
// outside of it.
func (f *File) pageBox(d dict) [4]float64 {
	for _, k := range []name{"CropBox", "MediaBox"} {
		var box [4]float64
		a := f.array(d[k])
		for i := range min(len(a), 4) {
			box[i], _ = f.number(a[i])
		}
		box = [4]float64{min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])}
		if len(a) == 4 && box[2]-box[0] > 1 && box[3]-box[1] > 1 {
			return box
		}
	}
	return [4]float64{-1e6, -1e6, 1e6, 1e6}
}

// hiddenGroups returns the groups of optional content that are off by default (section 8.11.4):
// by the configuration D, which viewers use when they open the file.
func (f *File) hiddenGroups() map[ref]bool {
	properties := f.dict(f.dict(f.trailer["Root"])["OCProperties"])
	d := f.dict(properties["D"])
	off := make(map[ref]bool)
	set := func(list object, to bool) {
		for _, o := range f.array(list) {
			if r, ok := o.(ref); ok {
				off[r] = to
			}
		}
	}
	if f.name(d["BaseState"]) == "OFF" {
		set(properties["OCGs"], true)
		set(d["ON"], false)
	}
	set(d["OFF"], true)
	return off
}

// maxParsed is how many bytes of objects are read for opening, or for a page.
const maxParsed = 64 << 20

// clean makes text of what letters stand for easy to search: ligatures and the forms
// that letters of Arabic take in a word become their letters, as do the radicals
// that fonts use for ideographs.
func clean(s string) string {
	for _, r := range s {
		if r < 0x20 || r >= 0x2e80 && r <= 0x2fdf || r >= 0xfb00 && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
			r >= 0xd800 && r <= 0xf8ff || r >= 0xfffd && r <= 0xffff || r >= 0xf0000 || r == 0x2028 || r == 0x2029 ||
			r >= 0x7f && r < 0xa0 || r == 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e {
			return cleanSlow(s)
		}
	}
	return s
}

// cleanSlow is clean for a text that is to be changed. Spaces and line ends of all kinds become a
// space; control characters, marks of direction, private use and what is no character go.
func cleanSlow(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == 0xa0 || r == 0x2028 || r == 0x2029:
			b.WriteByte(' ')
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0xd800 && r <= 0xf8ff ||
			r >= 0xfffd && r <= 0xffff || r >= 0xf0000 ||
			r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r == 0xfeff:
		case r >= 0x2e80 && r <= 0x2fdf || r >= 0xfb00 && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefe:
			b.WriteString(compatible(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
