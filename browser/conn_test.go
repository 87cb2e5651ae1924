package browser

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// A fakeTransport is a browser that the test plays.
type fakeTransport struct {
	sent     chan *cdproto.Message // by us
	received chan *cdproto.Message // by us; closing it loses the connection
}

func newFakeTransport() *fakeTransport {
	return &fakeTransport{sent: make(chan *cdproto.Message, 10), received: make(chan *cdproto.Message, 10)}
}

func (f *fakeTransport) Read(_ context.Context, msg *cdproto.Message) error {
	m, ok := <-f.received
	if !ok {
		return io.EOF
	}
	*msg = *m
	return nil
}

func (f *fakeTransport) Write(_ context.Context, msg *cdproto.Message) error {
	f.sent <- msg
	return nil
}

func (f *fakeTransport) Close() error { return nil }

// event sends an event, as the browser does.
func (f *fakeTransport) event(session, method, params string) {
	m := &cdproto.Message{Method: cdproto.MethodType(method), Params: []byte(params)}
	m.SessionID = target.SessionID(session)
	f.received <- m
}

// Replies find their calls in any order; a reply after its call was given up
// disturbs no other.
func TestConnReplies(t *testing.T) {
	f := newFakeTransport()
	c := newConn(f, func(*session, string, jsonv2.Value) {})
	defer func() { close(f.received); <-c.done }()
	var replies [3]reply
	for i := range replies {
		var err error
		if replies[i], err = c.root.send("Test.command", map[string]int{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := replies[0](gone, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("given up: %v", err)
	}
	var ids []int64
	for range replies {
		ids = append(ids, (<-f.sent).ID)
	}
	f.received <- &cdproto.Message{ID: ids[2], Result: []byte(`{"n": 2}`)}
	f.received <- &cdproto.Message{ID: ids[0], Result: []byte(`{"n": 0}`)}
	f.received <- &cdproto.Message{ID: ids[1], Error: &cdproto.Error{Code: -1, Message: "no such thing"}}
	var got struct {
		N int `json:"n"`
	}
	if err := replies[2](t.Context(), &got); err != nil || got.N != 2 {
		t.Errorf("the third: %+v, %v", got, err)
	}
	var refused *cdproto.Error
	if err := replies[1](t.Context(), nil); !errors.As(err, &refused) || refused.Message != "no such thing" {
		t.Errorf("the second: %v", err)
	}
}

// When a session ends, its calls end with errGone and those of others go on; when
// the connection is lost, all end.
func TestConnEnds(t *testing.T) {
	f := newFakeTransport()
	events := make(chan string, 10)
	sessions := make(chan *session, 10)
	c := newConn(f, func(s *session, method string, _ jsonv2.Value) {
		events <- string(s.id) + " " + method
		sessions <- s
	})
	f.event("", "Target.attachedToTarget", `{"sessionId": "S", "targetInfo": {"targetId": "T", "type": "page"}}`)
	if got := <-events; got != "S Target.attachedToTarget" {
		t.Fatalf("the event came as %q", got)
	}
	s := <-sessions
	if s.target != "T" || s.parent != c.root {
		t.Errorf("the session is of %q", s.target)
	}
	inSession, err := s.send("Test.one", nil)
	if err != nil {
		t.Fatal(err)
	}
	inRoot, err := c.root.send("Test.two", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.event("", "Target.detachedFromTarget", `{"sessionId": "S"}`)
	if err := inSession(t.Context(), nil); !errors.Is(err, errGone) {
		t.Errorf("the call of a session that ended: %v", err)
	}
	if _, err := s.send("Test.three", nil); !errors.Is(err, errGone) {
		t.Errorf("a call after that: %v", err)
	}
	f.event("S", "Page.loadEventFired", `{}`) // no wait is under way
	close(f.received)
	if err := inRoot(t.Context(), nil); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "connection") {
		t.Errorf("the call of a connection that was lost: %v", err)
	}
	<-c.done
	if err := c.root.Call(t.Context(), "Test.four", nil, nil); !errors.Is(err, io.EOF) {
		t.Errorf("a call after that: %v", err)
	}
	if got := <-events; got != "S Target.detachedFromTarget" || len(events) != 0 {
		t.Errorf("events: %q and %d more", got, len(events))
	}
}
