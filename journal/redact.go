package journal

import (
	"bytes"
	"cmp"
	"io"
	"slices"
)

// matches returns the secrets in text, from left to right; none of them overlap.
// They are searched in the text and in its views. pending is the place from which
// on the text may be the beginning of a secret, or len(text); no match overlaps it.
func (m *matcher) matches(text []byte) (found []match, pending int) {
	views, held := m.views(text)
	pending = min(held, m.pending(text))
	m.find(text, func(x match) bool { found = append(found, x); return true })
	for level := range views {
		toText := func(at int) (from, to int) {
			from, to = views[level].place(at)
			for i := level - 1; i >= 0; i-- {
				end := to
				from, _ = views[i].place(from)
				_, to = views[i].place(end - 1)
			}
			return from, to
		}
		v := views[level].text
		if p := m.pending(v); p < len(v) {
			from, _ := toText(p)
			pending = min(pending, from)
		}
		m.find(v, func(x match) bool {
			x.from, _ = toText(x.from)
			_, x.to = toText(x.to - 1)
			found = append(found, x)
			return true
		})
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	merged := found[:0]
	for _, x := range found {
		if n := len(merged); n > 0 && x.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, x.to)
			continue
		}
		merged = append(merged, x)
	}
	return merged, whole(pending, text, merged, views)
}

// views returns the views of text, each without the escapes of the one before.
// held is where an escape begins that text may be the beginning of, or len(text).
func (m *matcher) views(text []byte) (views []view, held int) {
	held = len(text)
	for next := text; len(views) < maxEscaped; {
		v, cut, ok := m.unescape(next)
		if cut < len(next) {
			for i := len(views) - 1; i >= 0; i-- {
				cut, _ = views[i].place(cut)
			}
			held = min(held, cut)
		}
		if !ok {
			break
		}
		views = append(views, v)
		next = v.text
	}
	return views, held
}

// whole returns the last place at or before at that lies in no match, and in no
// escape of any view.
func whole(at int, text []byte, found []match, views []view) int {
	for at < len(text) {
		before := at
		for _, x := range found {
			if x.from < at && at < x.to {
				at = x.from
			}
		}
		if len(views) > 0 {
			at = views[0].start(at)
		}
		for level := 1; level < len(views); level++ {
			at = startBelow(views[:level], views[level], at)
		}
		if at == before {
			break
		}
	}
	return at
}

// startBelow returns where in the text the escape of v begins that the byte at of
// the text belongs to, or at. below are the views from which v was made.
func startBelow(below []view, v view, at int) int {
	for _, u := range v.units {
		from, to := u.from, u.to
		for i := len(below) - 1; i >= 0; i-- {
			end := to
			from, _ = below[i].place(from)
			_, to = below[i].place(end - 1)
		}
		if from >= at {
			break
		}
		if at < to {
			return from
		}
	}
	return at
}

// redact returns text with the matches replaced.
func redact(text []byte, found []match) []byte {
	var b []byte
	at := 0
	for _, x := range found {
		b = append(append(b, text[at:x.from]...), x.placeholder...)
		at = x.to
	}
	return append(b, text[at:]...)
}

// A Redactor replaces secrets in a text that comes in pieces, also those that are
// split between pieces. It is for one text, and for one goroutine at a time.
type Redactor struct {
	secrets *Secrets
	held    []byte // what may be the beginning of a secret
}

// Redactor returns a Redactor for a new text.
func (s *Secrets) Redactor() *Redactor { return &Redactor{secrets: s} }

// Next returns the text that can be shown after piece has come. It holds back what
// may be the beginning of a secret, or of an escape that may be part of one.
func (r *Redactor) Next(piece string) string {
	m := r.secrets.matcher()
	if m == nil {
		return piece
	}
	text := append(r.held, piece...)
	found, pending := m.matches(text)
	n := 0
	for n < len(found) && found[n].to <= pending {
		n++
	}
	r.held = bytes.Clone(text[pending:])
	return string(redact(text[:pending], found[:n]))
}

// Rest returns what was held back, at the end of the text.
func (r *Redactor) Rest() string {
	rest := r.secrets.Replace(string(r.held)) // it may contain a shorter secret
	r.held = nil
	return rest
}

// Writer returns a writer that replaces secrets in what is written to w. It does
// not find secrets that are split between two calls of Write: see [Redactor].
func (s *Secrets) Writer(w io.Writer) io.Writer { return cleanWriter{w, s} }

type cleanWriter struct {
	w       io.Writer
	secrets *Secrets
}

func (c cleanWriter) Write(p []byte) (int, error) {
	if !c.secrets.in(p) {
		return c.w.Write(p)
	}
	if _, err := c.w.Write(c.secrets.replace(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the underlying writer.
func (c cleanWriter) Unwrap() io.Writer { return c.w }
