package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/openmanus-go/openmanus/llm"
)

// maxReply bounds what is read of one response.
const maxReply = 256 << 20

// Events yields the data of each event of a response. A response that is no
// stream but one JSON value is one event.
func Events(body io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := bufio.NewReader(Limit(body))
		switch first, err := begin(r); {
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

func stream(r io.Reader, yield func([]byte, error) bool) {
	dec := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(&newlines{r: r})})
	for dec.Next() {
		if data := bytes.TrimSpace(dec.Event().Data); len(data) > 0 && !yield(data, nil) {
			return
		}
	}
	if err := dec.Err(); errors.Is(err, bufio.ErrTooLong) {
		yield(nil, Wrongf("the stream holds an event of more than 32 MiB"))
	} else if err != nil {
		yield(nil, err)
	}
}

// begin skips a byte order mark and white space, and returns the first byte
// of what follows, which is not read.
func begin(r *bufio.Reader) (byte, error) {
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
		default:
			return b[0], nil
		}
	}
}

// newlines turns CRLF and CR into LF, both of which may end a line of an
// event stream, and ends the last event.
type newlines struct {
	r    io.Reader
	cr   bool   // the last byte was a CR
	rest string // of what is added at the end
	over bool
}

func (n *newlines) Read(p []byte) (int, error) {
	for {
		if n.over {
			k := copy(p, n.rest)
			if n.rest = n.rest[k:]; k > 0 {
				return k, nil
			}
			return 0, io.EOF
		}
		k, err := n.r.Read(p)
		k = n.convert(p[:k])
		if err == io.EOF {
			n.over, n.rest, err = true, "\n\n", nil
		}
		if k > 0 || err != nil {
			return k, err
		}
	}
}

func (n *newlines) convert(p []byte) int {
	if !n.cr && bytes.IndexByte(p, '\r') < 0 {
		return len(p)
	}
	k := 0
	for _, c := range p {
		lf := c == '\n' && n.cr
		n.cr = c == '\r'
		if lf {
			continue
		}
		if n.cr {
			c = '\n'
		}
		p[k] = c
		k++
	}
	return k
}

// Limit returns a reader of body that fails where it becomes longer than any
// reply.
func Limit(body io.Reader) io.Reader { return &limited{body, maxReply} }

// limited fails when more than n bytes were read.
type limited struct {
	r io.Reader
	n int64
}

func (l *limited) Read(p []byte) (int, error) {
	k, err := l.r.Read(p)
	if l.n -= int64(k); l.n < 0 {
		return 0, Wrongf("the response is longer than %d MiB", maxReply>>20)
	}
	return k, err
}
