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

// errGone is the error of a call to something that is no longer there: a tab
// that was closed or has crashed, a frame that was removed.
var errGone = errors.New("it is no longer there")

// A conn is the protocol's connection to a browser: many sessions, one for
// each tab and each frame that has a process of its own, over one transport.
// Events are handed to on in the order in which they come; on must not wait.
type conn struct {
	tr   chromedp.Transport
	root *session
	on   func(s *session, method string, params jsonv2.Value)
	done chan struct{} // closed when the connection is lost

	mu       sync.Mutex
	next     int64
	waiting  map[int64]waiter
	sessions map[target.SessionID]*session
	err      error
}

type waiter struct {
	s     *session
	reply chan *cdproto.Message
}

// A session is one party to talk to. It implements [cdp.Session].
type session struct {
	c      *conn
	id     target.SessionID
	target target.ID
	parent *session
	tab    *Tab          // whose page or frame it is; nil for the browser itself
	gone   chan struct{} // closed when the party has gone
}

func newConn(tr chromedp.Transport, on func(*session, string, jsonv2.Value)) *conn {
	c := &conn{tr: tr, on: on, done: make(chan struct{}), waiting: make(map[int64]waiter), sessions: make(map[target.SessionID]*session)}
	c.root = &session{c: c, gone: make(chan struct{})}
	c.sessions[""] = c.root
	go c.read()
	return c
}

// read hands on what comes until the connection is lost.
func (c *conn) read() {
	defer close(c.done)
	for {
		msg := new(cdproto.Message)
		if err := c.tr.Read(context.Background(), msg); err != nil {
			c.lose(err)
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

// event notes which sessions come and go, and hands the event on.
func (c *conn) event(s *session, method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		var ev target.EventAttachedToTarget
		if decode(params, &ev) != nil || ev.TargetInfo == nil {
			return
		}
		child := &session{c: c, id: ev.SessionID, target: ev.TargetInfo.TargetID, parent: s, gone: make(chan struct{})}
		c.mu.Lock()
		c.sessions[child.id] = child
		c.mu.Unlock()
		s = child
	case "Target.detachedFromTarget":
		var ev target.EventDetachedFromTarget
		if decode(params, &ev) != nil {
			return
		}
		if s = c.drop(ev.SessionID); s == nil {
			return
		}
	}
	c.on(s, method, params)
}

// drop forgets a session. What waits for it is told that it is gone.
func (c *conn) drop(id target.SessionID) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return nil
	}
	delete(c.sessions, id)
	c.fail(s)
	close(s.gone)
	return s
}

// fail ends the calls that wait for s, of all sessions if it is nil. c.mu is
// held.
func (c *conn) fail(s *session) {
	for id, w := range c.waiting {
		if s == nil || w.s == s {
			delete(c.waiting, id)
			close(w.reply)
		}
	}
}

func (c *conn) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("the connection to the browser is lost: %w", err)
	c.fail(nil)
}

// Call sends a command and waits for its result.
func (s *session) Call(ctx context.Context, method string, params, result any) error {
	wait, err := s.send(method, params)
	if err != nil {
		return err
	}
	return wait(ctx, result)
}

// send sends a command. wait waits for its result. Commands that are sent one
// after the other are carried out in that order.
func (s *session) send(method string, params any) (wait func(ctx context.Context, result any) error, err error) {
	var data []byte
	if params != nil {
		if data, err = jsonv2.Marshal(params, chromedp.DefaultMarshalOptions); err != nil {
			return nil, err
		}
	}
	c := s.c
	c.mu.Lock()
	if err := s.lost(); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.next++
	id, w := c.next, waiter{s, make(chan *cdproto.Message, 1)}
	c.waiting[id] = w
	c.mu.Unlock()
	err = c.tr.Write(context.Background(), &cdproto.Message{ID: id, SessionID: s.id, Method: cdproto.MethodType(method), Params: data})
	if err != nil {
		c.forget(id)
		return nil, fmt.Errorf("the connection to the browser is lost: %w", err)
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

// lost says why nobody answers any more, if that is so. c.mu is held.
func (s *session) lost() error {
	if s.c.err != nil {
		return s.c.err
	}
	if s.c.sessions[s.id] != s {
		return errGone
	}
	return nil
}

func (s *session) result(msg *cdproto.Message, result any) error {
	if msg == nil {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		if err := s.lost(); err != nil {
			return err
		}
		return errGone
	}
	if msg.Error != nil {
		return msg.Error
	}
	if result == nil {
		return nil
	}
	return decode(msg.Result, result)
}

func (c *conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Subscribe implements [cdp.Session]. It is not for use: events come to
// conn.on.
func (s *session) Subscribe(string) (<-chan jsonv2.Value, func()) {
	ch := make(chan jsonv2.Value)
	close(ch)
	return ch, func() {}
}

func decode(data jsonv2.Value, v any) error {
	return jsonv2.Unmarshal(data, v, chromedp.DefaultUnmarshalOptions)
}
