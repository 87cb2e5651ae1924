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

type eventsRequest struct {
	OneSession
	After int64 `query:"after" minimum:"0" doc:"Begin after this event. Default: with the first one."`
	Last  int64 `header:"Last-Event-ID" minimum:"0" doc:"What a browser sends when it connects again; it goes before after."`
}

// events follows a session for as long as the client does. What is typed and
// printed comes as it does, without an id, and is forgotten.
func (s *Server) events(ctx context.Context, in *eventsRequest) (*huma.StreamResponse, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	done, ok := userOf(ctx).stream()
	if !ok {
		return nil, huma.Error429TooManyRequests("you have too many streams open")
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer done()
		r, w := humago.Unwrap(hc)
		s.metrics.streams.Add(1)
		defer s.metrics.streams.Add(-1)
		out := newStream(w)
		if after, ok := out.past(journal.EventsJSON(r.Context(), s.Store, in.ID, max(in.After, in.Last)), max(in.After, in.Last)); ok {
			out.follow(r.Context(), s.Local.Watch(r.Context(), in.ID, after))
		}
	}}, nil
}

// A stream writes server-sent events: see
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
type stream struct {
	ctl *http.ResponseController

	mu sync.Mutex
	w  http.ResponseWriter
}

const (
	beat      = 15 * time.Second // between comments that keep the connection while nothing happens
	writeTime = 30 * time.Second // for one event: who reads slower is gone, and may come back
)

func newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return &stream{w: w, ctl: http.NewResponseController(w)}
}

// past writes the events that there are, and returns the number of the last.
func (s *stream) past(lines iter.Seq2[journal.EventJSON, error], after int64) (last int64, ok bool) {
	b := bytes.NewBufferString("retry: 1000\n\n")
	for l, err := range lines {
		if err != nil {
			s.failed(err)
			return after, false
		}
		frame(b, l.Seq, l.Type, l.JSON)
		if after = l.Seq; b.Len() < pieceSize {
			continue
		}
		if s.write(b.String()) != nil {
			return after, false
		}
		b.Reset()
	}
	return after, s.write(b.String()) == nil
}

// pieceSize is about how much of the past is written at a time.
const pieceSize = 32 << 10

// follow writes events until the client has gone, or there are no more.
func (s *stream) follow(ctx context.Context, events iter.Seq2[openmanus.Event, error]) {
	beats := time.NewTicker(beat)
	defer beats.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beating sync.WaitGroup
	defer beating.Wait()
	defer cancel()
	beating.Go(func() {
		for {
			select {
			case <-beats.C:
				if s.write(":\n\n") != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	var data []byte
	var b bytes.Buffer
	for ev, err := range events {
		if err == nil {
			data, err = ev.AppendJSON(data[:0])
		}
		if err != nil {
			s.failed(err)
			return
		}
		b.Reset()
		frame(&b, ev.Seq, openmanus.TypeName(ev.Body), data)
		if s.writeBytes(b.Bytes()) != nil {
			return
		}
	}
}

// failed says why a session cannot be followed. The client connects again, and
// is told by the answer to that.
func (s *stream) failed(err error) {
	data, err := json.Marshal(&huma.ErrorModel{Title: "the session cannot be followed", Detail: err.Error()})
	if err != nil {
		return
	}
	var b bytes.Buffer
	frame(&b, 0, "error", data)
	_ = s.writeBytes(b.Bytes()) // the stream ends either way
}

// frame adds one event to b. Those without a sequence number have no id, so
// that who comes back begins after the last one that was stored.
func frame(b *bytes.Buffer, seq int64, typ string, data []byte) {
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

func (s *stream) write(pieces ...string) error { return s.writeBytes([]byte(strings.Join(pieces, ""))) }

// writeBytes writes whole events, and sends them at once.
func (s *stream) writeBytes(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A writer that knows no deadlines, as in tests, waits for its reader.
	if err := s.ctl.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.ctl.Flush()
}

type logRequest struct {
	OneSession
	After int64 `query:"after" minimum:"0" doc:"Begin after this event."`
	Last  int64 `query:"last" minimum:"0" doc:"Begin with so many of the last events, if that is later."`
	Limit int   `query:"limit" default:"1000" minimum:"1" maximum:"10000"`
}

// log returns events that are there, as the journal encodes them.
func (s *Server) log(ctx context.Context, in *logRequest) (*list[json.RawMessage], error) {
	info, err := s.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if in.Last > 0 {
		in.After = max(in.After, info.Events-in.Last)
	}
	var all []json.RawMessage
	for l, err := range journal.EventsJSON(ctx, s.Store, in.ID, in.After) {
		if err != nil {
			return nil, err
		}
		if all = append(all, l.JSON); len(all) == in.Limit {
			break
		}
	}
	return listOf(all), nil
}
