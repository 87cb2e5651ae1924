package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A page is a part of the lines of a file. Its memory is bounded, however long
// the file and its lines are.
type page struct {
	from, to int // the lines that are wanted; if to is negative, up to the end
	limit    int // about how many bytes
	lineMax  int // how many bytes of one line

	long  int             // the first line in text that was cut; 0: none
	text  strings.Builder // the lines, numbered
	last  int             // number of the last line in text
	total int             // number of lines of the file
	odd   bool            // something in text is not UTF-8 in the file
	full  bool            // the next line exceeds the limit
}

// read fills the page, and counts all lines of r. Lines that are too long are cut, with a
// mark. It reads the file once, without holding it in memory.
func (p *page) read(ctx context.Context, r *bufio.Reader) error {
	if head, _ := r.Peek(len(bom)); bytes.Equal(head, bom) {
		r.Discard(len(bom))
	}
	var line []byte // the beginning of this line
	size := 0       // the length of this line
	for {
		part, err := r.ReadSlice('\n')
		ended := err == nil
		part = bytes.TrimSuffix(part, []byte("\n"))
		size += len(part)
		line = append(line, part[:min(max(0, p.lineMax-len(line)), len(part))]...)
		if ended || err == io.EOF && size > 0 {
			p.add(line, size)
			line, size = line[:0], 0
		}
		switch {
		case err == io.EOF:
			return ctx.Err()
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// add takes the beginning of the next line, which has size bytes, if it is
// wanted.
func (p *page) add(line []byte, size int) {
	p.total++
	if p.full || p.total < p.from || p.to >= 0 && p.total > p.to {
		return
	}
	text, more := strings.TrimSuffix(string(line), "\r"), ""
	if size > len(line) {
		text = clip.Runes(text)
		more = fmt.Sprintf(" [... %d more bytes]", size-len(text))
	}
	shown := printable(text)
	if p.text.Len() > 0 && p.text.Len()+len(shown)+len(more) > p.limit {
		p.full = true
		return
	}
	p.odd = p.odd || shown != text
	if more != "" && p.long == 0 {
		p.long = p.total
	}
	fmt.Fprintf(&p.text, "%6d\t%s%s\n", p.total, shown, more)
	p.last = p.total
}
