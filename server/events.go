package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// An eventsRequest says where a stream of events begins: after the later one of
// After and Last, both of which are sequence numbers.
type eventsRequest struct {
	OneSession
	After int64 `query:"after" minimum:"0" doc:"Start after this event. Default: with the first one."`
	Last  int64 `header:"Last-Event-ID" minimum:"0" doc:"Sent by a browser that reconnects; start after this event if it is later than after."`
}

// events streams the events of a session until the client disconnects. Stored
// events have their sequence number as id. Provisional ones, which are pieces
// of replies and of output, have no id and are not sent again.
func (s *Server) events(ctx context.Context, info journal.SessionInfo, in *eventsRequest) (*huma.StreamResponse, error) {
	return s.eventStream(ctx, func(ctx context.Context, out *stream) {
		after := max(in.After, in.Last)
		past := journal.EventsJSON(ctx, s.Store, info.ID, after)
		if after, ok := out.sendPast(past, after); ok {
			out.follow(ctx, s.Local.Watch(ctx, info.ID, after))
		}
	})
}

// eventStream responds with the events that send writes. The context of send ends when the
// client disconnects. The error says that the user has as many streams open as they may.
func (s *Server) eventStream(ctx context.Context, send func(ctx context.Context, out *stream)) (*huma.StreamResponse, error) {
	done, err := userOf(ctx).openStream()
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer done()
		r, w := humago.Unwrap(hc)
		s.metrics.streams.Add(1)
		defer s.metrics.streams.Add(-1)
		send(r.Context(), newStream(w))
	}}, nil
}

// A stream writes server-sent events to one client. An event is written whole or,
// if the client is too slow, not at all, after which the stream ends. See
// https://html.spec.whatwg.org/multipage/server-sent-events.html. It is safe
// for concurrent use.
type stream struct {
	ctl *http.ResponseController

	mu sync.Mutex
	w  http.ResponseWriter
}

const (
	// keepAlive is the time between comments, which keep proxies from closing
	// a connection on which nothing happens.
	keepAlive = 15 * time.Second

	// writeTimeout is for one write. A slower client is disconnected, and may
	// reconnect from the last event it has received.
	writeTimeout = 30 * time.Second

	// batchSize is about how many bytes of past events go into one write.
	batchSize = 32 << 10
)

// newStream starts a response with events. The write deadlines of the stream
// replace those of the server.
func newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for nginx
	return &stream{w: w, ctl: http.NewResponseController(w)}
}

// sendPast writes stored events. It returns the sequence number of the last
// one, or after if there is none, and whether the client is still there.
func (s *stream) sendPast(events iter.Seq2[journal.EventJSON, error], after int64) (last int64, ok bool) {
	b := bytes.NewBufferString("retry: 1000\n\n")
	for ev, err := range events {
		if err != nil {
			s.sendError(err)
			return after, false
		}
		appendFrame(b, ev.Seq, ev.Type, ev.JSON)
		if after = ev.Seq; b.Len() < batchSize {
			continue
		}
		if s.write(b.Bytes()) != nil {
			return after, false
		}
		b.Reset()
	}
	return after, s.write(b.Bytes()) == nil
}

// follow writes events as they come, until the client disconnects or the
// sequence ends.
func (s *stream) follow(ctx context.Context, events iter.Seq2[openmanus.Event, error]) {
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	keeping.Go(func() { s.keepAlive(ctx) })
	var data []byte
	var b bytes.Buffer
	for ev, err := range events {
		if err == nil {
			data, err = ev.AppendJSON(data[:0])
		}
		if err != nil {
			s.sendError(err)
			return
		}
		b.Reset()
		appendFrame(&b, ev.Seq, openmanus.TypeName(ev.Body), data)
		if s.write(b.Bytes()) != nil {
			return
		}
	}
}

// keepAlive writes comments until ctx ends or the client disconnects.
func (s *stream) keepAlive(ctx context.Context) { every(ctx, keepAlive, s.comment) }

// comment writes a comment.
func (s *stream) comment() error { return s.write([]byte(":\n\n")) }

// every calls f, if it is not nil, at an interval, until ctx ends or f fails. The first
// call is after the first interval.
func every(ctx context.Context, interval time.Duration, f func() error) {
	if f == nil {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if f() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// sendError writes an event that says why the session cannot be followed. The
// client reconnects, and gets a proper response then.
func (s *stream) sendError(err error) {
	data, err := json.Marshal(&huma.ErrorModel{Title: "the session cannot be followed", Detail: err.Error()})
	if err != nil {
		return
	}
	var b bytes.Buffer
	appendFrame(&b, 0, "error", data)
	_ = s.write(b.Bytes()) // the stream ends either way
}

// appendFrame appends one event to b. An event without a sequence number gets
// no id: a client that reconnects starts after the last stored event.
func appendFrame(b *bytes.Buffer, seq int64, typ string, data []byte) {
	if seq > 0 {
		b.WriteString("id: ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), seq, 10))
		b.WriteByte('\n')
	}
	b.WriteString("event: ")
	b.WriteString(typ)
	b.WriteString("\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
}

// write writes and flushes whole events, within a time limit: a client that does not read
// loses its connection, and not the server its memory. It is safe for concurrent use.
func (s *stream) write(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Writers in tests may not support deadlines.
	err := s.ctl.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.ctl.Flush()
}

// writeString writes the concatenation of pieces, which are whole events.
func (s *stream) writeString(pieces ...string) error {
	return s.write([]byte(strings.Join(pieces, "")))
}

// A logRequest asks for stored events from After+1 or, if that is later, from the
// Last-th event before the end; at most Limit of them.
type logRequest struct {
	OneSession
	After int64 `query:"after" minimum:"0" doc:"Start after this event."`
	Last  int64 `query:"last" minimum:"0" doc:"Start with this many events before the end, if that is later."`
	Limit int   `query:"limit" default:"1000" minimum:"1" maximum:"10000"`
}

// log returns stored events as the journal encodes them, after a number, at most so many,
// or the last ones.
func (s *Server) log(ctx context.Context, info journal.SessionInfo, in *logRequest) (*list[json.RawMessage], error) {
	if in.Last > 0 {
		in.After = max(in.After, info.Events-in.Last)
	}
	var all []json.RawMessage
	for ev, err := range journal.EventsJSON(ctx, s.Store, info.ID, in.After) {
		if err != nil {
			return nil, err
		}
		if all = append(all, ev.JSON); len(all) == in.Limit {
			break
		}
	}
	return listOf(all), nil
}
