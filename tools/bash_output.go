package tools

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// procLimit is how many bytes of the output of one call are kept: the first
// half and the last half.
const procLimit = 10 << 20

// A procOutput keeps the output of processes in bounded memory, and shows it as
// it comes. The zero value keeps procLimit bytes. It is not safe for concurrent
// use.
type procOutput struct {
	live  io.Writer // where the output is shown as it comes; may be nil
	limit int       // how many bytes are kept; 0 means procLimit

	over       overwriter // what is written over is not kept
	head, tail []byte     // the first half of the limit, and at least the last half of it
	total      int64      // bytes that were to be kept
	cut        []byte     // an incomplete character at the end, not shown yet
}

// Write implements [io.Writer]. It keeps the beginning and the end of the output, each up
// to half of the limit, and shows all of it live. It never fails: if the output cannot be
// shown, the command still goes on.
func (o *procOutput) Write(p []byte) (int, error) {
	if o.live != nil {
		o.show(p)
	}
	o.keep(o.over.write(p))
	return len(p), nil
}

// keep keeps the beginning and the end of what it is given, call by call.
func (o *procOutput) keep(p []byte) {
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
}

// half returns how many bytes are kept at each end.
func (o *procOutput) half() int {
	if o.limit > 0 {
		return o.limit / 2
	}
	return procLimit / 2
}

// show shows p, except for an incomplete character at its end.
func (o *procOutput) show(p []byte) {
	p = append(o.cut, p...)
	end := len(clip.Runes(string(p)))
	if end > 0 {
		_, _ = o.live.Write(bytes.ToValidUTF8(p[:end], []byte("\uFFFD"))) // a viewer may have gone
	}
	o.cut = bytes.Clone(p[end:])
}

// finish shows what show held back. It is called at the end of a call.
func (o *procOutput) finish() {
	if o.live != nil && len(o.cut) > 0 {
		_, _ = o.live.Write([]byte("\uFFFD"))
	}
	o.cut = nil
}

// text returns the output as valid UTF-8 without NUL. Lines at the end say what
// differs from the output as it was.
func (o *procOutput) text() string {
	o.keep(o.over.rest())
	tail := o.tail
	if half := o.half(); len(tail) > half {
		tail = tail[len(tail)-half:]
	}
	head, strange := printableText(o.head)
	dropped := o.total - int64(len(o.head)) - int64(len(tail))
	if dropped > 0 {
		rest, more := printableText(tail)
		head = fmt.Sprintf("%s\n[%d bytes in the middle were not kept: write long output to a file]\n%s",
			head, dropped, rest)
		strange += more
	} else if len(tail) > 0 {
		head, strange = printableText(append(bytes.Clone(o.head), tail...))
	}
	if strange > 0 {
		head = fmt.Sprintf("%s[%d bytes are not text and shown as \uFFFD]\n", newlineAfter(head), strange)
	}
	if o.over.written > 0 {
		head = fmt.Sprintf("%s[%d bytes were written over, as progress bars are, and are left out: | tr '\\r' '\\n' shows them]\n",
			newlineAfter(head), o.over.written)
	}
	return head
}

// printableText returns data as valid UTF-8 without NUL, and how many bytes
// were replaced.
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

// newlineAfter returns s with a line end, unless it is empty or has one.
func newlineAfter(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// A procSplitter divides the output of a process at the mark that the process
// writes at the end of a call. Output before the mark goes to sink, later
// output to rest, as does output while there is no call. It is not safe for
// concurrent use. Its writers must not fail.
type procSplitter struct {
	sink, rest io.Writer
	mark       []byte
	held       []byte // may be the beginning of the mark
}

// begin starts a call.
func (s *procSplitter) begin(mark string, sink io.Writer) {
	s.mark, s.sink, s.held = []byte(mark), sink, nil
}

// end ends the call, whether its mark has come or not.
func (s *procSplitter) end() {
	if s.mark != nil {
		_, _ = s.sink.Write(s.held)
	}
	s.mark, s.sink, s.held = nil, nil, nil
}

// write takes output, and reports whether it completed the mark that ends a command's
// output. Bytes that may begin the mark are held back.
func (s *procSplitter) write(p []byte) bool {
	if s.mark == nil {
		_, _ = s.rest.Write(p)
		return false
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	if before, after, ok := bytes.Cut(p, s.mark); ok {
		_, _ = s.sink.Write(before)
		s.mark, s.sink = nil, nil
		_, _ = s.rest.Write(after)
		return true
	}
	n := len(p) - overlap(p, s.mark)
	_, _ = s.sink.Write(p[:n])
	s.held = bytes.Clone(p[n:])
	return false
}

// overlap returns the length of the longest proper prefix of mark that p ends
// with.
func overlap(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}
