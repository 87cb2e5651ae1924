package tools

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// maxHeldLine is how many bytes of a line wait for its end. A longer line is passed on as
// it comes.
const maxHeldLine = 64 << 10

// An overwriter passes on what a terminal shows of an output when it has ended: where a
// program returns to the beginning of a line (\r) to write over it, as progress bars do,
// only what is seen last. Lines that end in \r\n stay as they are. It counts the bytes that
// it leaves out. The zero value is ready for use.
type overwriter struct {
	line    []byte // the line that has not ended, as it is seen
	frame   []byte // what is written over it, after a \r
	over    bool   // a \r came, and no line end after it
	written int    // bytes that were written over
}

// write takes output and returns what of it is certain to stay.
func (o *overwriter) write(p []byte) (out []byte) {
	for len(p) > 0 {
		n := bytes.IndexAny(p, "\r\n")
		if n < 0 {
			n = len(p)
		}
		o.add(p[:n])
		if n == len(p) {
			break
		}
		switch c := p[n]; {
		case c == '\r' && !o.over:
			o.over = true
		case c == '\r':
			o.settle()
		default: // a line end; the \r right before it belongs to it
			end := "\n"
			if o.over && len(o.frame) == 0 {
				end = "\r\n"
			}
			out = append(append(out, o.rest()...), end...)
		}
		p = p[n+1:]
	}
	if len(o.line)+len(o.frame) > maxHeldLine {
		out = append(out, o.rest()...)
	}
	return out
}

// add takes a part of a line.
func (o *overwriter) add(p []byte) {
	if !o.over {
		o.line = append(o.line, p...)
		return
	}
	o.frame = append(o.frame, p...)
}

// eraseLine is what erases the line to its end, or whole.
var eraseLine = regexp.MustCompile(`\x1b\[[02]?K`)

// settle writes the frame over the line.
func (o *overwriter) settle() {
	if len(o.frame) == 0 {
		return
	}
	seen := o.frame
	if rest := o.beyond(utf8.RuneCount(eraseLine.ReplaceAll(seen, nil))); !eraseLine.Match(seen) {
		seen = append(seen, rest...)
	}
	seen = eraseLine.ReplaceAll(seen, nil)
	o.written += max(0, len(o.line)+len(o.frame)-len(seen))
	o.line, o.frame = seen, nil
}

// beyond returns what the line has after n characters. A line with escape sequences has
// other widths than letters, and is written over whole.
func (o *overwriter) beyond(n int) []byte {
	if bytes.ContainsRune(o.line, '\x1b') || bytes.ContainsRune(o.frame, '\x1b') {
		return nil
	}
	rest := o.line
	for ; n > 0 && len(rest) > 0; n-- {
		_, size := utf8.DecodeRune(rest)
		rest = rest[size:]
	}
	return rest
}

// rest returns the line that has not ended, and forgets it.
func (o *overwriter) rest() []byte {
	o.settle()
	line := o.line
	o.line, o.over = nil, false
	return line
}
