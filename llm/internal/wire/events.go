package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/openmanus-go/openmanus/llm"
)

// maxReply is the most bytes that are read of one response.
const maxReply = 256 << 20

// Events yields the data of each event of a response. A response that is one JSON
// value, not a stream, is one event. A consumer may keep the data. No data at all is a
// sign of life: a comment, an event without data, or an empty line, by which servers and
// what stands before them keep a connection open while the model works.
func Events(body io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := bufio.NewReader(Limit(body))
		switch first, err := begin(r, func() bool { return yield(nil, nil) }); {
		case err == errUnheard:
		case err == io.EOF:
			yield(nil, &llm.Error{Kind: llm.Protocol, Err: errors.New("the response is empty")})
		case err != nil:
			yield(nil, err)
		case first == '{' || first == '[':
			data, err := io.ReadAll(r)
			yield(data, err)
		case first == '<':
			html, _ := io.ReadAll(io.LimitReader(r, 4096))
			yield(nil, Elsewhere("the response is a web page (%s), not a reply: is the base URL right?", OneLine(explain(html).text, 100)))
		default:
			stream(r, yield)
		}
	}
}

// maxLine bounds one line of an event stream.
const maxLine = 32 << 20

// stream yields the data of the events of an event stream: the lines that begin
// with "data:", joined, up to an empty line or the end. For a comment, and for an
// event without data, it yields none. Other fields are skipped. See
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
func stream(r io.Reader, yield func([]byte, error) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	lines.Split(new(lineSplitter).split)
	var data []byte
	event := func() bool { // ends an event, and reports whether to continue
		text := bytes.TrimSpace(data)
		data = nil
		return yield(text, nil)
	}
	for lines.Scan() {
		value, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		switch {
		case ok:
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		case len(lines.Bytes()) == 0 && !event():
			return
		case bytes.HasPrefix(lines.Bytes(), []byte(":")) && !yield(nil, nil):
			return
		}
	}
	switch err := lines.Err(); {
	case err == nil && len(data) > 0:
		event()
	case err == nil:
	case errors.Is(err, bufio.ErrTooLong):
		yield(nil, Wrongf("the stream holds an event of more than %d MiB", maxLine>>20))
	default:
		yield(nil, err)
	}
}

// A lineSplitter splits a stream into lines, which end with LF, CR or CRLF. A
// CR ends its line at once: the LF that may follow can be long in coming.
type lineSplitter struct{ cr bool }

// split is a [bufio.SplitFunc].
func (s *lineSplitter) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	rest := data
	if s.cr {
		rest = bytes.TrimPrefix(data, []byte("\n"))
	}
	skipped := len(data) - len(rest)
	i := bytes.IndexAny(rest, "\r\n")
	switch {
	case i >= 0:
		s.cr = rest[i] == '\r'
		return skipped + i + 1, rest[:i], nil
	case atEOF && len(rest) > 0:
		return len(data), rest, nil
	case skipped > 0:
		s.cr = false
	}
	return skipped, nil, nil
}

// errUnheard is the error of begin if nobody wants to know more.
var errUnheard = errors.New("unheard")

// begin skips a byte order mark and white space, and returns the first byte
// of what follows, which is not read. It calls alive for each line that it skips.
func begin(r *bufio.Reader, alive func() bool) (byte, error) {
	if b, err := r.Peek(1); err == nil && b[0] == 0xEF {
		r.Discard(3)
	}
	for {
		b, err := r.Peek(1)
		if err != nil {
			return 0, err
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n':
			r.Discard(1)
			if b[0] == '\n' && !alive() {
				return 0, errUnheard
			}
		default:
			return b[0], nil
		}
	}
}

// Limit returns a reader of body that fails where it becomes longer than any
// reply: a server that never ends its response must not fill the memory.
func Limit(body io.Reader) io.Reader { return &limited{body, maxReply} }

// limited fails when more than n bytes were read.
type limited struct {
	r io.Reader
	n int64
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	k, err := l.r.Read(p)
	if l.n -= int64(k); l.n < 0 {
		return 0, Wrongf("the response is longer than %d MiB", maxReply>>20)
	}
	return k, err
}
