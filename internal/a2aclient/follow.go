package a2aclient

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	wire "github.com/openmanus-go/openmanus/internal/a2awire"
)

// maxTries is how often an agent that cannot be reached is asked again while a task of
// it is followed.
const maxTries = 8

// Follow returns a task when it rests: it has ended, or waits for us. seen is called
// with what happens meanwhile. A stream that breaks off is opened again.
func (a *Agent) Follow(ctx context.Context, id string, seen func(wire.Event)) (*wire.Task, error) {
	last := ""
	for n := 0; ; {
		t, err := a.Get(ctx, id)
		if err == nil && t.Status.State.Rests() {
			return t, nil
		}
		some := false
		if err == nil && a.Card.Capabilities.Streaming {
			err = a.subscribe(ctx, id, &last, func(e wire.Event) { some = true; seen(e) })
		} else if err == nil {
			some = true
			seen(wire.Event{Task: t})
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case final(err):
			return nil, err
		case some:
			n = 1
		default:
			n++
		}
		if n > maxTries {
			return nil, errors.Join(fmt.Errorf("the task %s cannot be followed", id), err)
		}
		if err := a.wait(ctx, n); err != nil {
			return nil, err
		}
	}
}

// errTooLong says that an event is longer than any may be.
var errTooLong = fmt.Errorf("an event has more than %d bytes", maxEvent)

// final reports whether asking again is of no use: the task is gone, the version is not
// spoken, or the token is refused.
func final(err error) bool {
	if errors.Is(err, errTooLong) {
		return true
	}
	var f *Failure
	if !errors.As(err, &f) || f.is(-32004, "UNSUPPORTED_OPERATION") { // the task has ended meanwhile
		return false
	}
	return f.is(-32001, "TASK_NOT_FOUND") || f.is(-32009, "VERSION_NOT_SUPPORTED") ||
		f.Code == http.StatusUnauthorized || f.Code == http.StatusForbidden
}

// wait waits before try n: a quarter of a second at first, and ten seconds at last.
func (c *Client) wait(ctx context.Context, n int) error {
	d := min(10*time.Second, 250*time.Millisecond<<n)
	if c.o.pause != nil {
		d = c.o.pause(n)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// errSilent says that nothing came over a stream for too long.
var errSilent = errors.New("the stream was silent for too long")

// subscribe calls seen with what happens in a task until the stream ends, or says that
// the task rests. last is the id of the last event that arrived.
func (a *Agent) subscribe(ctx context.Context, id string, last *string, seen func(wire.Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := a.o.quiet
	quiet = cmp.Or(quiet, 2*time.Minute)
	alarm := time.AfterFunc(quiet, func() { cancel(errSilent) })
	defer alarm.Stop()
	p := "/tasks/" + url.PathEscape(id) + ":subscribe"
	resp, err := a.request(ctx, operation{"SubscribeToTask", "GET", p, wire.TaskRequest{ID: id}, nil}, *last)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		data, err := read(resp.Body, maxEvent)
		if err != nil {
			return err
		}
		if _, err = a.result(resp.StatusCode, data); err == nil {
			err = fmt.Errorf("the agent %s answers a subscription with no stream", a.o.Name)
		}
		return err
	}
	in := &events{r: bufio.NewReader(resp.Body), alive: func() { alarm.Reset(quiet) }}
	for {
		name, data, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if data, err = a.result(http.StatusOK, data); err != nil {
			return err
		}
		var e wire.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("the agent %s sent an event that is no A2A: %w", a.o.Name, err)
		}
		if name != "" {
			*last = name
		}
		seen(e)
		if e.Status != nil && e.Status.Status.State.Rests() || e.Task != nil && e.Task.Status.State.Rests() {
			return nil
		}
	}
}

// events reads server-sent events.
type events struct {
	r     *bufio.Reader
	alive func() // called with each line
}

// next returns the id and the data of the next event of the stream. An event that is too
// long is an error.
func (s *events) next() (id string, data []byte, err error) {
	some := false
	for {
		line, err := s.line(maxEvent - len(data))
		if err != nil {
			return "", nil, err
		}
		s.alive()
		if len(line) == 0 && some {
			return id, data, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, value...), true
		case "id":
			id = string(value)
		}
	}
}

// line returns the next line, without its end, if it has at most limit bytes. A longer one
// is errTooLong.
func (s *events) line(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errTooLong
		}
		line = append(line, part...)
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}
