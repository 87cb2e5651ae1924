package browser

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// errGone is the error of a call to a session that has ended: its tab was closed
// or has crashed, or its frame was removed.
var errGone = errors.New("it is no longer there")

// A conn is the protocol's connection to a browser. It carries many sessions over
// one transport: one for the browser, one for each tab, and one for each frame
// that has a process of its own. It is safe for concurrent use.
type conn struct {
	tr   chromedp.Transport
	root *session // the browser itself

	// handle is called with each event, in the order in which events arrive, from
	// the goroutine that reads the connection. It must not wait for a reply.
	handle func(s *session, method string, params jsonv2.Value)

	done chan struct{} // closed when the connection is lost

	mu       sync.Mutex
	nextID   int64
	waiting  map[int64]waiter // by the id of the command
	sessions map[target.SessionID]*session
	err      error // why the connection was lost
}

// A waiter is a command whose reply has not arrived. reply is closed without a
// message if the session or the connection ends first.
type waiter struct {
	s     *session
	reply chan *cdproto.Message
}

// A reply waits for the result of a command that was sent, and decodes it into
// result, which may be nil. It is called at most once.
type reply func(ctx context.Context, result any) error

// A session is one peer on the connection. It implements [cdp.Session].
type session struct {
	c      *conn
	id     target.SessionID
	target target.ID
	parent *session
	tab    *Tab // whose page or frame it is; nil for the browser itself
}

// newConn starts to read tr, and hands each event to handle.
func newConn(tr chromedp.Transport, handle func(*session, string, jsonv2.Value)) *conn {
	c := &conn{
		tr:       tr,
		handle:   handle,
		done:     make(chan struct{}),
		waiting:  make(map[int64]waiter),
		sessions: make(map[target.SessionID]*session),
	}
	c.root = &session{c: c}
	c.sessions[""] = c.root
	go c.read()
	return c
}

// read dispatches replies and events until the connection is lost.
func (c *conn) read() {
	defer close(c.done)
	for {
		msg := new(cdproto.Message)
		if err := c.tr.Read(context.Background(), msg); err != nil {
			c.fail(err)
			return
		}
		c.mu.Lock()
		if msg.ID != 0 {
			w, ok := c.waiting[msg.ID]
			delete(c.waiting, msg.ID)
			c.mu.Unlock()
			if ok {
				w.reply <- msg
			}
			continue
		}
		s := c.sessions[msg.SessionID]
		c.mu.Unlock()
		if s != nil && msg.Method != "" {
			c.event(s, string(msg.Method), msg.Params)
		}
	}
}

// event keeps the table of sessions up to date and passes the event on. An event
// about a session that begins or ends is passed on as one of that session.
func (c *conn) event(s *session, method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		var ev target.EventAttachedToTarget
		if decode(params, &ev) != nil || ev.TargetInfo == nil {
			return
		}
		s = &session{c: c, id: ev.SessionID, target: ev.TargetInfo.TargetID, parent: s}
		c.mu.Lock()
		c.sessions[s.id] = s
		c.mu.Unlock()
	case "Target.detachedFromTarget":
		var ev target.EventDetachedFromTarget
		if decode(params, &ev) != nil {
			return
		}
		if s = c.drop(ev.SessionID); s == nil {
			return
		}
	}
	c.handle(s, method, params)
}

// drop forgets a session and ends the calls that wait for it with errGone.
func (c *conn) drop(id target.SessionID) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return nil
	}
	delete(c.sessions, id)
	c.abandon(s)
	return s
}

// fail notes that the connection is lost, and ends all calls.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = lost(err)
	c.abandon(nil)
}

// lost returns the error of a call on a connection that failed with err.
func lost(err error) error { return fmt.Errorf("the connection to the browser is lost: %w", err) }

// abandon ends the calls that wait for s; if s is nil, those of all sessions.
// The caller holds c.mu.
func (c *conn) abandon(s *session) {
	for id, w := range c.waiting {
		if s == nil || w.s == s {
			delete(c.waiting, id)
			close(w.reply)
		}
	}
}

// Call sends a command and waits for its result, which it decodes into result unless that
// is nil. If ctx ends first, the command may still take effect in the browser.
func (s *session) Call(ctx context.Context, method string, params, result any) error {
	wait, err := s.send(method, params)
	if err != nil {
		return err
	}
	return wait(ctx, result)
}

// send sends a command and does not wait for its reply. The browser carries out
// the commands of a session in the order in which they were sent, so a caller can
// send several and await only the last. A reply that is never awaited costs
// nothing.
func (s *session) send(method string, params any) (reply, error) {
	var data []byte
	var err error
	if params != nil {
		if data, err = jsonv2.Marshal(params, chromedp.DefaultMarshalOptions); err != nil {
			return nil, err
		}
	}
	c := s.c
	c.mu.Lock()
	if err := s.ended(); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.nextID++
	id, w := c.nextID, waiter{s, make(chan *cdproto.Message, 1)}
	c.waiting[id] = w
	c.mu.Unlock()
	msg := &cdproto.Message{ID: id, SessionID: s.id, Method: cdproto.MethodType(method), Params: data}
	if err := c.tr.Write(context.Background(), msg); err != nil {
		c.forget(id)
		return nil, lost(err)
	}
	return func(ctx context.Context, result any) error {
		select {
		case msg := <-w.reply:
			return s.result(msg, result)
		case <-ctx.Done():
			c.forget(id)
			return ctx.Err()
		}
	}, nil
}

// ended returns why s answers no more, or nil if it still does. The caller holds
// c.mu.
func (s *session) ended() error {
	switch {
	case s.c.err != nil:
		return s.c.err
	case s.c.sessions[s.id] != s:
		return errGone
	}
	return nil
}

// result decodes a reply; msg is nil if the session or the connection ended
// before the reply arrived.
func (s *session) result(msg *cdproto.Message, result any) error {
	switch {
	case msg == nil:
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		if err := s.ended(); err != nil {
			return err
		}
		return errGone
	case msg.Error != nil:
		return msg.Error
	case result == nil:
		return nil
	}
	return decode(msg.Result, result)
}

// forget gives up a call: its reply is dropped when it arrives.
func (c *conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Subscribe implements [cdp.Session], which needs it. It yields nothing: events
// go to conn.handle.
func (s *session) Subscribe(string) (<-chan jsonv2.Value, func()) {
	ch := make(chan jsonv2.Value)
	close(ch)
	return ch, func() {}
}

// decode decodes a message of the protocol. Unlike encoding/json it accepts text that
// is not valid UTF-8, which pages have.
func decode(data jsonv2.Value, v any) error {
	return jsonv2.Unmarshal(data, v, chromedp.DefaultUnmarshalOptions)
}
