package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// maxFrame is how long a message may be, in bytes.
const maxFrame = 64 << 20

// maxQueued is how many requests may wait.
const maxQueued = 256

// The codes of errors.
const (
	codeParse     = -32700
	codeRequest   = -32600
	codeMethod    = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeAuth      = -32000
	codeNotFound  = -32002
	codeCancelled = -32800
)

// An Error is an error of the protocol.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// wrong returns the error for a parameter that cannot be used.
func wrong(field, format string, a ...any) *Error {
	reason := fmt.Sprintf(format, a...)
	return &Error{codeParams, field + ": " + reason, object{"field": field, "reason": reason}}
}

// errorOf returns err as the protocol has it.
func errorOf(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: codeInternal, Message: clip.Clean(err.Error())}
}

// A message is a request, a notification or a response.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// A conn exchanges messages with a client. Its methods may be used by many goroutines.
type conn struct {
	ctx context.Context // ends with the connection
	out chan []byte

	mu    sync.Mutex
	next  int
	asked map[string]chan message       // requests to the client, by id
	busy  map[string]context.CancelFunc // requests of the client, by id
}

func newConn(ctx context.Context) *conn {
	return &conn{ctx: ctx, out: make(chan []byte, 64), asked: make(map[string]chan message), busy: make(map[string]context.CancelFunc)}
}

// send queues a message. It waits while the client does not read, until ctx or the
// connection ends. Messages are written in the order in which they were queued.
func (c *conn) send(ctx context.Context, m message) error {
	m.JSONRPC = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case c.out <- append(data, '\n'):
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write writes the queued messages, until the connection's context has ended and nothing
// is left. An error is that of w.
func (c *conn) write(w io.Writer) error {
	for {
		select {
		case data := <-c.out:
			if _, err := w.Write(data); err != nil {
				return err
			}
			continue
		default:
		}
		select {
		case data := <-c.out:
			if _, err := w.Write(data); err != nil {
				return err
			}
		case <-c.ctx.Done():
			if len(c.out) == 0 {
				return nil
			}
		}
	}
}

// notify sends a notification.
func (c *conn) notify(method string, params any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(c.ctx, message{Method: method, Params: data})
}

// reply answers a request with a result or an error. A result that cannot be encoded
// becomes an error. If the client is gone, the answer is dropped.
func (c *conn) reply(id json.RawMessage, result any, err error) {
	m := message{ID: id}
	if err != nil {
		m.Error = errorOf(err)
	} else if m.Result, err = json.Marshal(result); err != nil {
		m.Error = errorOf(err)
	}
	_ = c.send(c.ctx, m) // the client is gone
}

// call asks the client, and decodes its answer into result. If ctx ends before there is
// one, the client reads that the request is cancelled.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	c.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: data}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		c.giveUp(id)
		return ctx.Err()
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// giveUp tells the client that its answer is no longer needed. A client that does not
// read is not waited for.
func (c *conn) giveUp(id string) {
	data := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`+"\n", id)
	select {
	case c.out <- data:
	default:
	}
}

// take gives a response to the goroutine that waits for it. A response to nothing, or a
// second one, is dropped.
func (c *conn) take(m message) {
	c.mu.Lock()
	answer := c.asked[string(m.ID)]
	delete(c.asked, string(m.ID))
	c.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

// begin registers a request of the client, whose context ends with it. The id of a request
// under way cannot be used again.
func (c *conn) begin(id json.RawMessage) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[string(id)] != nil {
		return nil, &Error{codeRequest, "id: a request with this id is under way", object{"field": "id", "reason": "a request with this id is under way"}}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.busy[string(id)] = cancel
	return ctx, nil
}

// end forgets a request of the client, which may use its id again.
func (c *conn) end(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.busy[string(id)]; cancel != nil {
		cancel()
		delete(c.busy, string(id))
	}
}

// cancel ends a request of the client, if it is under way.
func (c *conn) cancel(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.busy[string(bytes.TrimSpace(id))]; cancel != nil {
		cancel()
	}
}

// errTooLong is the error of a message that is longer than maxFrame.
var errTooLong = fmt.Errorf("the message is longer than %d MiB", maxFrame>>20)

// readFrame returns the next line that is not empty. A line that is too long is skipped,
// and the error is errTooLong.
func readFrame(r *bufio.Reader) ([]byte, error) {
	for {
		var line []byte
		var long bool
		for {
			part, err := r.ReadSlice('\n')
			if long = long || len(line)+len(part) > maxFrame; !long {
				line = append(line, part...)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				if len(bytes.TrimSpace(line)) > 0 && errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return line, err
			}
		}
		if long {
			return nil, errTooLong
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// parse reads a message: a request, a notification or a response. The error is for the
// client, and names the field that is wrong.
func parse(line []byte) (m message, bad *Error) {
	if err := json.Unmarshal(line, &m); err != nil {
		var at *json.UnmarshalTypeError
		if errors.As(err, &at) {
			return message{}, &Error{codeRequest, "not a message: " + err.Error(), object{"field": at.Field, "reason": err.Error()}}
		}
		return message{}, &Error{codeParse, "not JSON: " + err.Error(), nil}
	}
	invalid := func(field, reason string) (message, *Error) {
		return m, &Error{codeRequest, field + ": " + reason, object{"field": field, "reason": reason}}
	}
	if len(m.ID) > 0 {
		if c := m.ID[0]; c != '"' && c != '-' && (c < '0' || c > '9') && string(m.ID) != "null" {
			m.ID = nil
			return invalid("id", "it must be a string or a number")
		}
	}
	switch {
	case m.JSONRPC != "2.0":
		return invalid("jsonrpc", `it must be "2.0"`)
	case m.Method == "" && len(m.ID) == 0:
		return invalid("method", "it is missing")
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return invalid("method", "it is missing, and there is no result either")
	}
	return m, nil
}

// decode reads parameters into v. Parameters that are missing count as an empty object.
// The error names the field.
func decode(params json.RawMessage, v any) error {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, v); err != nil {
		var at *json.UnmarshalTypeError
		if errors.As(err, &at) {
			return wrong("params."+at.Field, "it is a JSON %s, and must be a %s", at.Value, at.Type)
		}
		return wrong("params", "%v", err)
	}
	return nil
}
