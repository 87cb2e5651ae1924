package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// A session is one that the client works with.
type session struct {
	a   *agent
	id  string
	dir string // where it works, as the client calls it
	src Source
	ctx context.Context // ends when the session is closed
	end context.CancelFunc

	followers crew

	mu    sync.Mutex
	story Story
	nodes map[string]*openmanus.State // how the sessions stand that are followed, this one and those below
	asked map[string]*asking
	mine  map[string]bool // the messages that this client sent
	turn  *turn           // that is under way, or nil
	works int             // of version 2: how many turns have not been reported as ended

	telling sync.Mutex
	told    string // of version 2: the state of the session in the last report to the client
}

// A crew is goroutines that are waited for together: none begins after that.
type crew struct {
	mu   sync.Mutex
	over bool
	all  sync.WaitGroup
}

// Go runs f, unless Wait was called.
func (c *crew) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.all.Go(f)
	}
}

// Wait waits for all that have begun.
func (c *crew) Wait() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.all.Wait()
}

// A turn is the work on a message: until the next outcome, or a wait.
type turn struct {
	message   string // its id; "": that of an answer
	seq       int64  // the event from which on the turn counts; 0: not stored yet
	cancelled bool
	done      chan result // has room for one
}

// A result is how a turn ended.
type result struct {
	stop string
	err  error
}

// frame returns the frame id of an update: the number of its event and its place among
// that event's updates; for one of a session below, with that session. For a piece of
// a streaming reply it is the event before it, and how much of which part was sent.
func (s *session) frame(id string, seq int64, n int) string {
	text := strconv.FormatInt(seq, 10) + "." + strconv.Itoa(n)
	if id != s.id {
		return id + ":" + text
	}
	return text
}

// take folds an event, tells the client of it from the frame skip on, and sees whether
// somebody is to be asked or the turn has ended. quiet folds it only.
func (s *session) take(id string, ev openmanus.Event, skip int, quiet bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.story.at(id).session.State
	s.nodes[id] = f
	if ev.Seq > 0 && ev.Seq <= f.Seq {
		return nil
	}
	said, _ := ev.Body.(openmanus.UserSaid)
	mine := said.ID != "" && s.mine[said.ID]
	if t := s.turn; mine && id == s.id && t != nil && t.message == said.ID {
		t.seq = ev.Seq
	}
	if b, ok := ev.Body.(openmanus.Answered); ok && s.mine[b.Call] {
		mine = true
	}
	ups := s.story.next(id, ev)
	if ev.Seq > 0 {
		ups = append(ups, s.story.over(id)...)
	}
	for i, u := range ups {
		if quiet || i < skip || u.SessionUpdate == "" || mine && !s.a.second && u.SessionUpdate == "user_message_chunk" {
			continue
		}
		if u.SessionUpdate == "config_option_update" {
			u.ConfigOptions = s.a.options(s.ctx, s.src, s.nodes[s.id])
		}
		frame := s.frame(id, ev.Seq, i)
		if ev.Seq == 0 {
			frame = s.frame(id, f.Seq, 1<<20) + cmp.Or(u.streamed, s.story.at(s.id).streamed())
		}
		if err := s.tell(u, frame); err != nil {
			return err
		}
	}
	return nil
}

// tell sends an update, in the words of the version that the client speaks. frame is the
// id by which the client can resume after this update; "": none.
func (s *session) tell(u update, frame string) error {
	params := object{"sessionId": s.id, "update": u}
	if s.a.second {
		if params["update"] = update2(u); params["update"] == nil {
			return nil
		}
	}
	if frame != "" {
		params["_meta"] = object{"openmanus/frame": frame}
	}
	return s.a.notify("session/update", params)
}

// replay takes the events that are stored, those of sessions below in their place.
// Events up to the frame after, which the client has seen, are folded but not sent;
// quiet is for all events.
func (s *session) replay(id string, after place, quiet bool) error {
	seen := int64(0)
	s.mu.Lock()
	if f := s.nodes[id]; f != nil {
		seen = f.Seq
	}
	s.mu.Unlock()
	for ev, err := range s.src.Events(s.ctx, id, seen) {
		if err != nil {
			return err
		}
		old := quiet || id == s.id && (ev.Seq < after.seq)
		skip := 0
		if id == s.id && ev.Seq == after.seq {
			skip = after.n + 1
		}
		if err := s.take(id, ev, skip, old); err != nil {
			return err
		}
		if id == s.id && ev.Seq == after.seq {
			s.story.resume(after)
		}
		if b, ok := ev.Body.(openmanus.ChildOpened); ok {
			if err := s.replay(b.Child, after, quiet); err != nil && !errors.Is(err, openmanus.ErrNoSession) {
				return err
			}
		}
	}
	return nil
}

// follow sends the client the events of a session and its children from now on, in a
// goroutine that ends with the session. A session that cannot be followed fails the turn.
func (s *session) follow(id string) {
	s.followers.Go(func() {
		s.mu.Lock()
		after := int64(0)
		if f := s.nodes[id]; f != nil {
			after = f.Seq
		}
		s.mu.Unlock()
		for ev, err := range s.src.Follow(s.ctx, id, after) {
			if err == nil {
				err = s.take(id, ev, 0, false)
			}
			if err != nil {
				if s.ctx.Err() == nil {
					s.a.log("session %s cannot be followed: %v", id, err)
					s.finish(result{err: err})
				}
				return
			}
			if b, ok := ev.Body.(openmanus.ChildOpened); ok {
				s.follow(b.Child)
			}
			if ev.Seq > 0 {
				s.settle()
			}
		}
	})
}

// followAll follows the session and those of its children that have not ended.
func (s *session) followAll() {
	s.follow(s.id)
	for _, id := range s.below() {
		s.follow(id)
	}
	s.settle()
}

// below returns the sessions below that are known.
func (s *session) below() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.nodes {
		if id != s.id {
			ids = append(ids, id)
		}
	}
	return ids
}

// finish ends the turn with a result, if there is one. It may be called from any
// goroutine; the first call counts.
func (s *session) finish(r result) {
	s.mu.Lock()
	t := s.turn
	s.turn = nil
	s.mu.Unlock()
	if t != nil {
		t.done <- r
	}
}

// settle asks the client what the sessions ask, and ends the turn if nothing is left
// to do in it.
func (s *session) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	top := s.nodes[s.id]
	if top == nil {
		return
	}
	waits := false
	for _, q := range s.asked {
		q.open = false
	}
	for id, f := range s.nodes {
		if id != s.id && f.Status() != openmanus.Running && f.Status() != openmanus.Waiting {
			continue
		}
		for _, c := range f.Pending() {
			if !s.ask(id, f, c) {
				waits = true
			}
		}
	}
	for _, q := range s.asked {
		if !q.open {
			q.cancel() // somebody has answered, or nobody has to any more
		}
	}
	if s.a.second {
		s.settle2(top, waits)
	}
	t := s.turn
	if t == nil || t.seq == 0 || top.Seq < t.seq {
		return
	}
	switch st := top.Status(); {
	case st == openmanus.Running && !(waits && s.idle()):
		return
	case st == openmanus.Waiting && !waits:
		return // the client is being asked
	}
	s.turn = nil
	go s.close(t, resultOf(top, t))
}

// idle reports whether everything that is open, here and in child sessions, waits for a
// person. The caller holds s.mu.
func (s *session) idle() bool {
	for _, f := range s.nodes {
		if st := f.Status(); st != openmanus.Running {
			continue
		}
		if len(f.Pending()) == 0 && len(f.OpenChildren()) == 0 {
			return false
		}
	}
	return true
}

// close ends a turn after it has sent what child sessions have recorded until then, so
// that the client sees everything before the end.
func (s *session) close(t *turn, r result) {
	for _, id := range s.below() {
		s.catchUp(id)
	}
	t.done <- r
}

// catchUp takes what is stored of a session by now.
func (s *session) catchUp(id string) {
	if err := s.replay(id, place{}, false); err != nil && s.ctx.Err() == nil {
		s.a.log("session %s cannot be read: %v", id, err)
	}
}

// resultOf returns how a turn ended, in the protocol's words, from the state of the
// session then. A model or agent that failed is an error.
func resultOf(st *openmanus.State, t *turn) result {
	out := st.Outcome
	switch {
	case t.cancelled, out.Reason == openmanus.ByPerson:
		return result{stop: "cancelled"}
	case out.Reason == openmanus.NoSteps:
		return result{stop: "max_turn_requests"}
	case out.Reason == openmanus.NoTokens:
		return result{stop: "max_tokens"}
	case out.Reason == "refusal", out.Reason == "filter":
		return result{stop: "refusal"}
	case out.Status == openmanus.Failed && out.Reason != openmanus.ByAgent:
		return result{err: &Error{codeInternal, fmt.Sprintf("the model or the agent failed: %s", out.Error), object{"reason": string(out.Reason)}}}
	}
	return result{stop: "end_turn"}
}

// A place is a frame that a client has seen last.
type place struct {
	seq      int64
	n        int
	part     int
	streamed streamed
}

// streamed returns what of the reply that streams was sent, for a frame id: "+PART:BYTES:SUM".
func (n *node) streamed() string {
	last := -1
	for i := range n.parts {
		last = max(last, i)
	}
	if last < 0 || n.try > 0 {
		return ""
	}
	return fmt.Sprintf("+%d:%d:%x", last, n.parts[last].bytes, n.parts[last].sum)
}

// resume makes the story go on in the middle of a reply.
func (s *Story) resume(p place) {
	n := s.nodes[s.root]
	if n == nil || p.streamed.bytes == 0 {
		return
	}
	n.parts[p.part] = p.streamed
	n.skip, n.joins = p.part, true
}

// readPlace parses a frame id of the session itself: SEQ.N, and for a piece of a streaming
// reply +PART:BYTES:SUM. It is the reverse of the ids that this package sends.
func readPlace(text string) (p place, err error) {
	head, tail, streams := strings.Cut(text, "+")
	seq, n, ok := strings.Cut(head, ".")
	var e1, e2 error
	p.seq, e1 = strconv.ParseInt(seq, 10, 64)
	p.n, e2 = strconv.Atoi(n)
	if !ok || e1 != nil || e2 != nil || p.seq < 0 || p.n < 0 {
		return place{}, errors.New("it must be the frame id of an update of this session, SEQ.N")
	}
	if streams {
		f := strings.Split(tail, ":")
		if len(f) != 3 {
			return place{}, errors.New("what follows the + must be PART:BYTES:SUM")
		}
		var e3 error
		p.part, e1 = strconv.Atoi(f[0])
		p.streamed.bytes, e2 = strconv.Atoi(f[1])
		p.streamed.sum, e3 = strconv.ParseUint(f[2], 16, 64)
		if e1 != nil || e2 != nil || e3 != nil || p.part < 0 || p.streamed.bytes < 0 {
			return place{}, errors.New("what follows the + must be PART:BYTES:SUM")
		}
	}
	return p, nil
}
