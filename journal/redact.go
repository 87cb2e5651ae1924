package journal

import (
	"bytes"
	"io"
)

// A Redactor replaces secrets in a text that comes in pieces, also those that are
// split between pieces. It is for one text, and for one goroutine at a time.
type Redactor struct {
	secrets *Secrets
	held    []byte // what may be the beginning of a secret
}

// Redactor returns a Redactor for a new text.
func (s *Secrets) Redactor() *Redactor { return &Redactor{secrets: s} }

// Next returns the text that can be shown after piece has come. It holds back what
// may be the beginning of a secret.
func (r *Redactor) Next(piece string) string {
	forms := r.secrets.all()
	if len(forms) == 0 {
		return piece
	}
	text := append(r.held, piece...)
	begin := 0
	if !r.secrets.in(text) { // only the end matters: a secret may begin there
		begin = max(0, len(text)-len(forms[0].value)+1)
	}
	shown := bytes.Clone(text[:begin])
	for i := begin; i < len(text); i++ {
		found, begins := matchAt(text[i:], forms)
		switch {
		case begins:
			r.held = bytes.Clone(text[i:])
			return string(shown)
		case found != nil:
			shown = append(shown, found.placeholder...)
			i += len(found.value) - 1
		default:
			shown = append(shown, text[i])
		}
	}
	r.held = nil
	return string(shown)
}

// matchAt returns the longest form that text begins with, and whether text may be
// the beginning of a longer one.
func matchAt(text []byte, forms []form) (found *form, begins bool) {
	for i := range forms {
		v := forms[i].value
		switch {
		case v[0] != text[0]:
		case len(v) > len(text) && bytes.HasPrefix(v, text):
			return nil, true
		case bytes.HasPrefix(text, v):
			return &forms[i], false
		}
	}
	return nil, false
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
	if _, err := c.w.Write(c.secrets.replace(bytes.Clone(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the underlying writer.
func (c cleanWriter) Unwrap() io.Writer { return c.w }
