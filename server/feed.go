package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A feedRequest names the sessions whose events a client wants on one stream.
// A browser opens six connections to a server at most, so a page in many tabs
// cannot have a stream for each.
type feedRequest struct {
	Sessions []string `query:"session,explode" maxItems:"200" doc:"AFTER:ID, the id of a session and the number of the last event that the client has; or only the id."`
	After    string   `query:"after" pattern:"^[0-9]{1,18}$" doc:"The stored events of all sessions after this position: 0, or the id of the last event of the type position."`
	Last     string   `header:"Last-Event-ID" pattern:"^[0-9]{1,18}$" doc:"With after: the same, sent by a browser that reconnects."`
}

const (
	// beatEvery is the time between two events that say that the stream lives. A
	// client that hears nothing for longer connects again: a proxy may have
	// dropped the connection without a word.
	beatEvery = 4 * time.Second

	// listEvery is the time between two looks at whether sessions have changed.
	listEvery = time.Second

	// listed is how many of the newest sessions are looked at.
	listed = 100
)

// feed streams the events of several sessions until the client disconnects:
//
//   - event "event", data {"session", "event"}: an event of a session, stored
//     or provisional, as a stream of that session alone has it
//   - event "gone", data {"session", "detail"}: the session does not exist, or
//     no longer. The other sessions go on
//   - event "sessions": a session of the user was opened, went on or was deleted, or
//     what waits below one of these sessions has changed
//   - event "beat": the stream lives; the first one comes at once
//   - event "position", after events of all sessions: its id is from where they go on
//
// A client that reconnects names the last events that it has.
func (s *Server) feed(ctx context.Context, in *feedRequest) (*huma.StreamResponse, error) {
	after, err := in.positions()
	if err == nil && in.After != "" && len(after) > 0 {
		err = &FieldError{"query.session", errors.New("with after, the events of all sessions come: leave it out")}
	}
	if err != nil {
		return nil, err
	}
	return s.eventStream(ctx, func(ctx context.Context, out *stream) {
		ctx, cancel := context.WithCancel(ctx)
		f := feed{s: s, out: out}
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		if f.send("beat", []byte("{}")) != nil {
			return
		}
		for id, seq := range after {
			all.Go(func() {
				if f.session(ctx, id, seq) != nil {
					cancel() // the client connects again, to all sessions
				}
			})
			all.Go(func() { f.asked(ctx, id) })
		}
		if in.After != "" {
			all.Go(func() {
				if f.all(ctx, position(cmp.Or(in.Last, in.After))) != nil {
					cancel()
				}
			})
		}
		f.beat(ctx)
	})
}

// positions returns after which event each session is wanted. The form is AFTER:ID, or ID
// alone for everything. A session that is named twice is wanted from the earlier position.
func (in *feedRequest) positions() (map[string]int64, error) {
	all := make(map[string]int64)
	for i, name := range in.Sessions {
		after, id, ok := strings.Cut(name, ":")
		seq, err := strconv.ParseInt(after, 10, 64)
		if !ok {
			seq, id, err = 0, name, nil
		}
		if err != nil || seq < 0 || id == "" || len(id) > 255 {
			return nil, &FieldError{fmt.Sprintf("query.session[%d]", i), fmt.Errorf("%q is not AFTER:ID", name)}
		}
		if old, ok := all[id]; !ok || seq < old {
			all[id] = seq
		}
	}
	return all, nil
}

// A feed is one client's stream of several sessions. Its methods are safe for
// concurrent use.
type feed struct {
	s   *Server
	out *stream
}

// send writes one event of the feed itself.
func (f feed) send(typ string, data []byte) error {
	var b bytes.Buffer
	appendFrame(&b, 0, typ, data)
	return f.out.write(b.Bytes())
}

// session streams one session. It returns nil if the session does not exist,
// which it tells the client; an error ends the whole feed.
func (f feed) session(ctx context.Context, id string, after int64) error {
	err := f.follow(ctx, id, after)
	if !errors.Is(err, openmanus.ErrNoSession) {
		return err
	}
	data, err := json.Marshal(map[string]string{"session": id, "detail": err.Error()})
	if err != nil {
		return err
	}
	return f.send("gone", data)
}

// follow writes stored events in large pieces, and then events as they come. A session of
// another user is an error.
func (f feed) follow(ctx context.Context, id string, after int64) error {
	if _, err := f.s.ownSession(ctx, id); err != nil {
		return err
	}
	after, err := f.stored(ctx, id, after, time.Time{})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	var data []byte
	for ev, err := range f.s.Local.Watch(ctx, id, after) {
		if err == nil {
			data, err = ev.AppendJSON(data[:0])
		}
		if err != nil {
			return err
		}
		b.Reset()
		appendFed(&b, id, data)
		if err := f.out.write(b.Bytes()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// stored writes the stored events of a session after an event, in pieces, and returns the
// last one. Those from before since are left out.
func (f feed) stored(ctx context.Context, id string, after int64, since time.Time) (last int64, err error) {
	var b bytes.Buffer
	for ev, err := range journal.EventsJSON(ctx, f.s.Store, id, after) {
		if err != nil {
			return after, err
		}
		after = ev.Seq
		if !since.IsZero() {
			at, err := storedAt(ev.JSON)
			if err != nil {
				return after, err
			}
			if at.Before(since) {
				continue
			}
		}
		if appendFed(&b, id, ev.JSON); b.Len() < batchSize {
			continue
		}
		if err := f.out.write(b.Bytes()); err != nil {
			return after, err
		}
		b.Reset()
	}
	return after, f.out.write(b.Bytes())
}

// appendFed appends an event of a session.
func appendFed(b *bytes.Buffer, id string, event []byte) {
	name, err := json.Marshal(id)
	if err != nil {
		panic(err) // not of a string
	}
	fmt.Fprintf(b, "event: event\ndata: {\"session\":%s,\"event\":%s}\n\n", name, event)
}

// storedAt returns when an event in JSON was stored.
func storedAt(event []byte) (time.Time, error) {
	var ev struct {
		Time time.Time `json:"time"`
	}
	err := json.Unmarshal(event, &ev)
	return ev.Time, err
}

// asked sends "sessions" as soon as what waits for the user below a session changes, because
// a page shows that session. beat looks at the list of all sessions only once in a listEvery.
func (f feed) asked(ctx context.Context, id string) {
	if _, err := f.s.ownSession(ctx, id); err != nil {
		return // session tells the client
	}
	known := ""
	_ = f.s.eachStanding(ctx, id, func(_ int64, _ openmanus.Status, waiting []Waiting) bool { // after an error, the list tells
		now := ""
		for _, w := range waiting {
			if w.Session != id {
				now += w.Session + " " + w.Call + "\n"
			}
		}
		changed := now != known
		known = now
		return !changed || f.send("sessions", []byte("{}")) == nil
	})
}

// beat writes beats and says when sessions have changed, until ctx ends or the
// client disconnects.
func (f feed) beat(ctx context.Context) {
	beats, looks := time.NewTicker(beatEvery), time.NewTicker(listEvery)
	defer beats.Stop()
	defer looks.Stop()
	known := f.sessions(ctx)
	for {
		var err error
		select {
		case <-beats.C:
			err = f.send("beat", []byte("{}"))
		case <-looks.C:
			if now := f.sessions(ctx); now != known && now != 0 {
				known, err = now, f.send("sessions", []byte("{}"))
			}
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// sessions returns a hash of the newest sessions of the user, children
// included: what they ask shows at their parents. It is 0 if they cannot be read.
func (f feed) sessions(ctx context.Context) uint64 {
	h := fnv.New64a()
	for info, err := range f.s.Store.Sessions(ctx, journal.ListOptions{Limit: listed, Owner: userOf(ctx).Name}) {
		if err != nil {
			return 0
		}
		fmt.Fprintln(h, info.ID, info.Events, info.Title)
	}
	return h.Sum64()
}
