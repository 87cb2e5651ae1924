package llmtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Peer is a provider made of text: it answers the n-th request with the
// n-th of its Answers, the last one for ever, and keeps what it was asked. It
// lives in memory, so that it works in [testing/synctest], where waiting
// takes no time. The zero Peer has no answer.
//
// An answer is an HTTP response as one would write it down, without framing:
//
//	HTTP/1.1 200 OK
//	Content-Type: text/event-stream
//
//	data: {"choices":[{"delta":{"content":"Hello"}}]}
//
//	<stall 10s>
//	data: [DONE]
//
// It is sent in one chunk per line, and the connection stays open for the
// next request. A line in angle brackets is something that happens:
//
//	<stall 5m>        nothing is sent for so long, or until the other side leaves
//	<cut>             the connection ends, in the middle of the response
//	<fin>             the response ends with the connection; it must have said Connection: close
//	<reset>           the connection is reset
//	<bytes>           what follows is sent byte by byte
//	<lines CRLF>      lines that follow end in CRLF, CR or LF
//	<inline>          the line that follows has no end
//	<for 3> LINE      LINE three times, with its number, from 0 on, for each %d; \n in it is a new line
//	<held 4m>         as the first line: all of the answer is sent at once, after so long
//	<pad 1000>        so many letters x, anywhere in a line
//	<byte ff>         a byte, anywhere in a line
//	<no refused>      there is no connection: refused, dns, tls or timeout
type Peer struct {
	Answers []string

	mu    sync.Mutex
	asked int
	seen  []Seen
	wg    sync.WaitGroup
	conns []net.Conn
}

// Seen is a request that a [Peer] got.
type Seen struct {
	Path   string // with the query
	Header http.Header
	Body   []byte
}

// Seen returns the requests so far.
func (p *Peer) Seen() []Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Seen(nil), p.seen...)
}

// Asked returns how many answers were used, including those that are no
// connection.
func (p *Peer) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Client returns a client for which every host is this peer.
func (p *Peer) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.dial}}
}

// Connections returns how many connections there were.
func (p *Peer) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Wait closes all connections and waits until nothing of the peer runs.
func (p *Peer) Wait() {
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// answer returns the next answer. If only is not "", it is used up only if it
// begins with that.
func (p *Peer) answer(only string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.Answers) == 0 {
		return ""
	}
	a := p.Answers[min(p.asked, len(p.Answers)-1)]
	if strings.HasPrefix(a, only) {
		p.asked++
		return a
	}
	return ""
}

func (p *Peer) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if a := p.answer("<no "); a != "" {
		why, _, _ := strings.Cut(strings.TrimPrefix(a, "<no "), ">")
		return nil, noConnection(ctx, why, addr)
	}
	ours, theirs := net.Pipe()
	p.mu.Lock()
	p.conns = append(p.conns, theirs)
	p.mu.Unlock()
	mine := &breakable{Conn: ours}
	p.wg.Go(func() {
		defer theirs.Close()
		p.serve(theirs, mine)
	})
	return mine, nil
}

func noConnection(ctx context.Context, why, addr string) error {
	switch why {
	case "refused":
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "dns":
		host, _, _ := net.SplitHostPort(addr)
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case "tls":
		return &tls.CertificateVerificationError{Err: errors.New("x509: certificate signed by unknown authority")}
	}
	select {
	case <-ctx.Done():
	case <-time.After(30 * time.Second):
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: timeoutError{}}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// breakable is a connection that can be reset.
type breakable struct {
	net.Conn
	mu    sync.Mutex
	reset bool
}

func (b *breakable) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && b.reset {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// serve answers the requests of one connection.
func (p *Peer) serve(conn net.Conn, client *breakable) {
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, Seen{req.URL.RequestURI(), req.Header, body})
		p.mu.Unlock()
		w := &writer{conn: conn, out: bufio.NewWriterSize(conn, 1<<16), client: client, requests: r}
		if !w.write(p.answer("")) {
			return
		}
	}
}

// writer writes one answer.
type writer struct {
	conn     net.Conn
	out      *bufio.Writer // to conn
	held     bool          // until the end
	client   *breakable
	requests *bufio.Reader
	chunked  bool
	bytes    bool
	eol      string
	err      error
}

// write reports whether the connection is good for another request.
func (w *writer) write(answer string) bool {
	defer w.out.Flush()
	if rest, ok := strings.CutPrefix(answer, "<held "); ok {
		arg, after, _ := strings.Cut(rest, ">\n")
		if w.held = true; !w.happen("stall", arg) {
			return false
		}
		answer = after
	}
	head, body, _ := strings.Cut(answer, "\n\n")
	if strings.HasPrefix(answer, "<") {
		head, body = "", answer
	}
	w.eol = "\n"
	if head != "" {
		w.chunked = !strings.Contains(head, "Connection: close") && !strings.Contains(head, "Content-Length")
		if w.chunked {
			head += "\nTransfer-Encoding: chunked"
		}
		w.put(strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n")
	}
	inline := false
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		switch act, arg, ok := act(line); {
		case !ok:
			if !inline {
				line += w.eol
			}
			inline = false
			w.send(expand(line))
		case act == "inline":
			inline = true
		case act == "for":
			w.repeat(arg)
		case !w.happen(act, arg):
			return false
		}
	}
	if w.chunked {
		w.put("0\r\n\r\n")
	}
	return w.err == nil && !strings.Contains(head, "Connection: close")
}

// act returns what a line in angle brackets says, if it is one of those.
func act(line string) (act, arg string, ok bool) {
	inner, ok := strings.CutPrefix(line, "<")
	act, arg, _ = strings.Cut(inner, " ")
	act = strings.TrimSuffix(act, ">")
	switch act {
	case "for":
		return act, arg, ok
	case "stall", "cut", "fin", "reset", "bytes", "lines", "inline", "here":
		return act, strings.TrimSuffix(arg, ">"), ok
	}
	return "", "", false
}

// happen reports whether the answer goes on.
func (w *writer) happen(act, arg string) bool {
	switch act {
	case "stall":
		d, err := time.ParseDuration(arg)
		if err != nil {
			panic(fmt.Sprintf("llmtest: <stall %s>: %v", arg, err))
		}
		return !w.left(d)
	case "here": // a place that tests look for
	case "bytes":
		w.bytes = true
	case "lines":
		w.eol = map[string]string{"CRLF": "\r\n", "CR": "\r", "LF": "\n"}[arg]
	case "reset":
		w.client.mu.Lock()
		w.client.reset = true
		w.client.mu.Unlock()
		return false
	default: // cut, fin
		return false
	}
	return true
}

// left waits for d and reports whether the other side closed the connection
// meanwhile.
func (w *writer) left(d time.Duration) bool {
	w.conn.SetReadDeadline(time.Now().Add(d))
	defer w.conn.SetReadDeadline(time.Time{})
	_, err := w.requests.Peek(1)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

func (w *writer) repeat(arg string) {
	count, line, _ := strings.Cut(arg, "> ")
	line = strings.ReplaceAll(line, `\n`, "\n")
	var n int
	fmt.Sscan(count, &n)
	for i := range n {
		w.send(strings.ReplaceAll(line, "%d", fmt.Sprint(i)) + w.eol)
	}
}

func (w *writer) send(s string) {
	size := len(s)
	if w.bytes {
		size = 1
	}
	for len(s) > 0 && w.err == nil {
		piece := s[:min(size, len(s))]
		s = s[len(piece):]
		if w.chunked {
			piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
		}
		w.put(piece)
	}
}

// put sends s, unless the answer is held.
func (w *writer) put(s string) {
	if _, w.err = w.out.WriteString(s); w.err == nil && !w.held {
		w.err = w.out.Flush()
	}
}

// expand puts in what <pad N> and <byte XX> stand for.
func expand(s string) string {
	var out bytes.Buffer
	for {
		before, rest, ok := strings.Cut(s, "<")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		var n int
		arg, after, closed := strings.Cut(rest, ">")
		switch {
		case closed && strings.HasPrefix(arg, "pad "):
			fmt.Sscanf(arg, "pad %d", &n)
			out.WriteString(strings.Repeat("x", n))
		case closed && strings.HasPrefix(arg, "byte "):
			fmt.Sscanf(arg, "byte %x", &n)
			out.WriteByte(byte(n))
		default:
			out.WriteString("<")
			after = rest
		}
		s = after
	}
}
