package ooxml

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Bounds of a part, which hold the memory that reading it takes: the decoder of
// the standard library keeps an entry for each element that is open, and the
// whole token that it reads. No program that writes such files comes near them.
const (
	maxDeep  = 1000     // elements in each other
	maxToken = 16 << 20 // bytes of one text, or of one element's name and attributes
)

// A decoder is an [xml.Decoder] with bounds.
type decoder struct {
	xml   *xml.Decoder
	src   *tokenReader
	depth int
}

func newDecoder(r io.Reader) *decoder {
	src := &tokenReader{r: r}
	return &decoder{xml: xml.NewDecoder(src), src: src}
}

// Token returns the next token, or [io.EOF] at the end. The token is valid until
// the next call.
func (d *decoder) Token() (xml.Token, error) {
	d.src.left = maxToken
	t, err := d.xml.Token()
	switch t.(type) {
	case xml.StartElement:
		if d.depth++; d.depth > maxDeep {
			return nil, fmt.Errorf("more than %d elements are in each other", maxDeep)
		}
	case xml.EndElement:
		d.depth--
	}
	return t, err
}

// Skip reads to the end of the element whose start was just read.
func (d *decoder) Skip() error {
	for end := d.depth - 1; d.depth > end; {
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	return nil
}

// A tokenReader fails when a token takes more than left bytes. The decoder reads
// a little ahead.
type tokenReader struct {
	r    io.Reader
	left int
}

func (t *tokenReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if t.left -= n; t.left < 0 {
		return 0, fmt.Errorf("a text in it has more than %d MiB", maxToken>>20)
	}
	return n, err
}
