package tools

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// procLimit is how many bytes of what one call prints are kept: the first half
// and the last half.
const procLimit = 10 << 20

// A procOutput keeps what processes print, in bounded memory, and shows it as
// it comes. The zero value keeps procLimit bytes. It is not safe for
// concurrent use.
type procOutput struct {
	live  io.Writer // may be nil
	limit int       // 0: procLimit

	head, tail []byte
	total      int64
	cut        []byte // the beginning of a character whose end has not come
}

// Write never fails: that the output cannot be shown does not end a command.
func (o *procOutput) Write(p []byte) (int, error) {
	if o.live != nil {
		o.show(p)
	}
	o.total += int64(len(p))
	half := o.half()
	n := min(len(p), half-len(o.head))
	o.head = append(o.head, p[:n]...)
	if rest := p[n:]; len(rest) > half {
		o.tail = append(o.tail[:0], rest[len(rest)-half:]...)
	} else {
		if len(o.tail)+len(rest) > 2*half {
			o.tail = append(o.tail[:0], o.tail[len(o.tail)-half:]...)
		}
		o.tail = append(o.tail, rest...)
	}
	return len(p), nil
}

func (o *procOutput) half() int {
	if o.limit > 0 {
		return o.limit / 2
	}
	return procLimit / 2
}

// show shows p, but for the beginning of a character at its end.
func (o *procOutput) show(p []byte) {
	p = append(o.cut, p...)
	end := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				end = len(p) - i
			}
			break
		}
	}
	if end > 0 {
		_, _ = o.live.Write(bytes.ToValidUTF8(p[:end], []byte("\uFFFD"))) // who watches may have gone
	}
	o.cut = bytes.Clone(p[end:])
}

// finish shows what was held back.
func (o *procOutput) finish() {
	if o.live != nil && len(o.cut) > 0 {
		_, _ = o.live.Write([]byte("\uFFFD"))
	}
	o.cut = nil
}

// text returns what was printed, as valid UTF-8 without NUL, with a line at
// its end for each thing that is not as it was.
func (o *procOutput) text() string {
	tail := o.tail
	if half := o.half(); len(tail) > half {
		tail = tail[len(tail)-half:]
	}
	head, strange := printableText(o.head)
	dropped := o.total - int64(len(o.head)) - int64(len(tail))
	if dropped > 0 {
		rest, more := printableText(tail)
		head = fmt.Sprintf("%s\n[%d bytes in the middle were not kept: write long output to a file]\n%s", head, dropped, rest)
		strange += more
	} else if len(tail) > 0 {
		head, strange = printableText(append(bytes.Clone(o.head), tail...))
	}
	if strange > 0 {
		head = fmt.Sprintf("%s[%d bytes are not text and shown as \uFFFD]\n", newlineAfter(head), strange)
	}
	return head
}

// printableText returns data as valid UTF-8 without NUL, and how many bytes
// had to be replaced.
func printableText(data []byte) (string, int) {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return string(data), 0
	}
	var b strings.Builder
	strange, before := 0, false
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		bad := r == 0 || r == utf8.RuneError && n == 1
		switch {
		case !bad:
			b.Write(data[:n])
		case !before:
			b.WriteRune(utf8.RuneError)
		}
		if bad {
			strange++
		}
		before = bad
		data = data[n:]
	}
	return b.String(), strange
}

// newlineAfter returns s with a line end, if it has any text.
func newlineAfter(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// A procSplitter divides what a process prints at a mark that it writes at
// the end of a call: what comes before goes to sink, what comes after to rest.
// Without a mark everything goes to rest. It is not safe for concurrent use.
type procSplitter struct {
	sink, rest *procOutput
	mark       []byte
	held       []byte // may be the beginning of the mark
}

// begin starts a call.
func (s *procSplitter) begin(mark string, sink *procOutput) {
	s.mark, s.sink, s.held = []byte(mark), sink, nil
}

// end ends the call, whether or not its mark has come.
func (s *procSplitter) end() {
	if s.mark != nil {
		s.sink.Write(s.held)
	}
	s.mark, s.sink, s.held = nil, nil, nil
}

// write takes what was printed, and reports whether the mark was in it.
func (s *procSplitter) write(p []byte) bool {
	if s.mark == nil {
		s.rest.Write(p)
		return false
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	if before, after, ok := bytes.Cut(p, s.mark); ok {
		s.sink.Write(before)
		s.mark, s.sink = nil, nil
		s.rest.Write(after)
		return true
	}
	n := len(p) - overlap(p, s.mark)
	s.sink.Write(p[:n])
	s.held = bytes.Clone(p[n:])
	return false
}

// overlap is the length of the longest end of p that is a beginning of mark,
// but not all of it.
func overlap(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}
