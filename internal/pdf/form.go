package pdf

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Flags of an annotation (section 12.5.3) and of a button (section 12.7.4.2).
const (
	isHidden, isNoView = 1 << 1, 1 << 5
	isPushButton       = 1 << 16
)

// maxAnnotations is how many annotations of a page are read.
const maxAnnotations = 10_000

// annotations adds what stands on a page beside its content (section 12.5): the values of the fields of a
// form, where they stand, and free text. It returns what has no place among the text: comments, and
// signatures, a line each.
func (f *File) annotations(page dict, m *machine) (lines []string) {
	list := f.array(page["Annots"])
	labels := slices.Clone(m.letters)
	var fields []*field
	for _, o := range list[:min(len(list), maxAnnotations)] {
		a := f.dict(o)
		flags, _ := f.number(a["F"])
		if int(flags)&(isHidden|isNoView) != 0 || f.ctx.Err() != nil {
			continue
		}
		switch f.name(a["Subtype"]) {
		case "Widget":
			if f.name(f.inherited(a, "FT")) == "Sig" {
				if s := f.signature(f.dict(f.inherited(a, "V"))); s != "" {
					lines = append(lines, s)
				}
				continue
			}
			fields = append(fields, f.field(a, f.fieldText(a)))
		case "FreeText":
			f.field(a, f.text(a["Contents"])).write(m)
		case "Popup", "Link": // the one repeats another, the other has no text
		default:
			if text := strings.TrimSpace(clean(f.text(a["Contents"]))); text != "" {
				by := ""
				if who := clean(f.text(a["T"])); who != "" {
					by = " by " + who
				}
				lines = append(lines, fmt.Sprintf("[comment%s: %s]", by, text))
			}
		}
	}
	if len(list) > maxAnnotations {
		lines = append(lines, "[fields and comments that follow are left out]")
	}
	for _, v := range fields {
		v.toLabel(labels, fields)
	}
	for _, v := range fields {
		v.write(m)
	}
	return lines
}

// inherited returns an entry of a field, or that of the field above it (section 12.7.3.1).
func (f *File) inherited(field dict, key name) object {
	for range maxNested {
		if o := f.resolve(field[key]); o != nil || field == nil {
			return o
		}
		field = f.dict(field["Parent"])
	}
	return nil
}

// text returns a text string, or that of a stream; "" for anything else.
func (f *File) text(o object) string {
	switch v := f.resolve(o).(type) {
	case str:
		return textString(v)
	case *stream:
		data, err := f.decode(v)
		if err == nil || len(data) > 0 {
			return textString(str(data))
		}
	}
	return ""
}

// fieldText returns what a field shows (section 12.7.4): its text, its choices by the names that
// people see, or a box with a tick or without one.
func (f *File) fieldText(field dict) string {
	switch f.name(f.inherited(field, "FT")) {
	case "Btn":
		flags, _ := f.number(f.inherited(field, "Ff"))
		switch state := f.name(field["AS"]); {
		case int(flags)&isPushButton != 0:
			return f.text(f.dict(field["MK"])["CA"])
		case state != "" && state != "Off":
			return "[x]"
		}
		return "[ ]"
	case "Ch":
		chosen := array{f.inherited(field, "V")}
		if several, ok := chosen[0].(array); ok {
			chosen = several
		}
		shown := make(map[string]string)
		for _, o := range f.array(f.inherited(field, "Opt")) {
			if pair := f.array(o); len(pair) == 2 {
				shown[f.text(pair[0])] = f.text(pair[1])
			}
		}
		var all []string
		for _, o := range chosen {
			text := f.text(o)
			if s := shown[text]; s != "" {
				text = s
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	return f.text(f.inherited(field, "V"))
}

// A field is a text that stands on a page in a box.
type field struct {
	left, bottom, right, top float64
	lines                    []string
	size, x, y               float64 // of the letters, and where the first line begins
}

// field returns a text in the box of an annotation, where its appearance would show it.
func (f *File) field(a dict, text string) *field {
	var box [4]float64
	rect := f.array(a["Rect"])
	for i := range min(len(rect), 4) {
		box[i], _ = f.number(rect[i])
	}
	v := &field{left: min(box[0], box[2]), right: max(box[0], box[2]), bottom: min(box[1], box[3]), top: max(box[1], box[3])}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if strings.TrimSpace(text) != "" && len(rect) == 4 {
		v.lines = strings.Split(text, "\n")
	}
	v.size = min(max((v.top-v.bottom)/float64(max(len(v.lines), 1))*0.8, 4), 12)
	v.x, v.y = v.left+2, (v.top+v.bottom)/2-v.size*0.35
	if len(v.lines) > 1 {
		v.y = v.top - v.size
	}
	return v
}

// width is about that of a letter.
func (v *field) width(r rune) float64 {
	if isWide(string(r)) {
		return v.size
	}
	return v.size * 0.5
}

// toLabel moves a text of one line beside the letters that name it: the nearest ones in its row, on either
// side, unless another field stands between them. So the layout reads both as one line.
func (v *field) toLabel(labels []letter, fields []*field) {
	if len(v.lines) != 1 {
		return
	}
	before, after := math.Inf(-1), math.Inf(1) // where the letters beside it end and begin
	y := v.y
	for _, l := range labels {
		if math.Abs(l.y-(v.top+v.bottom)/2+l.size*0.35) > max(v.top-v.bottom, l.size)/2 || strings.TrimSpace(l.text) == "" {
			continue
		}
		if l.ex <= v.left+2 && l.ex > before {
			before, y = l.ex, l.y
		}
		if l.x >= v.right-2 && l.x < after {
			after = l.x
		}
	}
	for _, o := range fields {
		if o.bottom < v.top && o.top > v.bottom && o != v {
			if o.right > before && o.right <= v.left+2 {
				before = math.Inf(-1)
			}
			if o.left < after && o.left >= v.right-2 {
				after = math.Inf(1)
			}
		}
	}
	switch {
	case math.IsInf(before, 0) && math.IsInf(after, 0):
	case v.left-before <= after-v.right:
		v.x, v.y = before+v.size*0.4, y
	default:
		v.x = after - v.size*0.4
		for _, r := range v.lines[0] {
			v.x -= v.width(r)
		}
	}
}

// write adds the letters of the text to those of the page, if they are on it.
func (v *field) write(m *machine) {
	if v.right <= m.box[0] || v.left >= m.box[2] || v.top <= m.box[1] || v.bottom >= m.box[3] {
		return
	}
	y := v.y
	for _, line := range v.lines {
		x := v.x
		for _, r := range line {
			m.letters = append(m.letters, letter{text: string(r), x: x, y: y, ex: x + v.width(r), ey: y, size: v.size})
			m.shown++
			x += v.width(r)
		}
		y -= v.size * 1.2
	}
}

// signature says who signed, when and why (section 12.8.1): by the signature itself, or else by the
// certificate in it. Whether it holds is not checked.
func (f *File) signature(v dict) string {
	if v == nil {
		return ""
	}
	who := f.text(v["Name"])
	if contents, ok := f.resolve(v["Contents"]).(str); ok && who == "" {
		who = signer([]byte(contents))
	}
	s := "[signed"
	if who != "" {
		s += " by " + clean(who)
	}
	if at := f.text(v["M"]); strings.HasPrefix(at, "D:") && len(at) >= 10 { // D:YYYYMMDDHHmmSS
		s += fmt.Sprintf(", %s-%s-%s", at[2:6], at[6:8], at[8:10])
		if len(at) >= 14 {
			s += " " + at[10:12] + ":" + at[12:14]
		}
	}
	for _, e := range []name{"Reason", "Location"} {
		if text := clean(f.text(v[e])); text != "" {
			s += ", " + text
		}
	}
	return s + "; not checked]"
}

// signer returns the name in the certificate of a signature in CMS (RFC 5652, section 5.1), or "".
func signer(contents []byte) string {
	var message struct {
		Type    asn1.ObjectIdentifier
		Content struct {
			Version      int
			Digests      asn1.RawValue
			Encapsulated asn1.RawValue
			Certificates asn1.RawValue `asn1:"optional,tag:0"`
			Rest         asn1.RawValue `asn1:"optional"`
		} `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(contents, &message); err != nil { // what follows fills the space
		return ""
	}
	certificates, err := x509.ParseCertificates(message.Content.Certificates.Bytes)
	if err != nil || len(certificates) == 0 {
		return ""
	}
	leaf := slices.IndexFunc(certificates, func(c *x509.Certificate) bool { return !c.IsCA })
	return certificates[max(leaf, 0)].Subject.CommonName
}
