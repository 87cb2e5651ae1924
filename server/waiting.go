package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Waiting is a call that waits for a person.
type Waiting struct {
	Session  string `json:"session" doc:"Where to rule on it or to answer: this session, or one below."`
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	Kind     string `json:"kind" enum:"ruling,text" doc:"ruling: whether it may run. text: a question of its own."`
	Question string `json:"question"`
	Input    string `json:"input" doc:"The arguments, as it would run with them."`
	Schema   any    `json:"schema,omitempty" doc:"JSON Schema of the answer, if it has one."`
}

// standing is how the session id with the state st stands, and what waits for
// a person, in it and then below. A session waits also if nothing goes on in it but
// sessions below that wait. view shows the states of those.
func standing(ctx context.Context, view func(context.Context, string, func(*openmanus.State) error) error, id string, st *openmanus.State) (status openmanus.Status, waiting []Waiting, err error) {
	status = st.Status()
	for _, c := range st.Pending() {
		q := c.Question()
		w := Waiting{Session: id, Call: c.ID, Tool: c.Name, Kind: string(q.Kind), Question: q.Question, Input: c.Arguments()}
		if len(q.Schema) > 0 {
			w.Schema = q.Schema
		}
		waiting = append(waiting, w)
	}
	if status != openmanus.Running && status != openmanus.Waiting {
		return status, waiting, nil
	}
	still := delegatesAlone(st)
	for _, c := range st.OpenChildren() {
		below := openmanus.Idle // reserved, and about to begin
		err := view(ctx, c.Child, func(child *openmanus.State) (err error) {
			var more []Waiting
			below, more, err = standing(ctx, view, c.Child, child)
			waiting = append(waiting, more...)
			return err
		})
		if err != nil && !errors.Is(err, openmanus.ErrNoSession) {
			return status, waiting, err
		}
		still = still && below == openmanus.Waiting
	}
	if still && len(waiting) > 0 {
		status = openmanus.Waiting
	}
	return status, waiting, nil
}

// delegatesAlone reports whether nothing goes on in a session itself: neither
// the model nor a call of its own has something to do.
func delegatesAlone(st *openmanus.State) bool {
	for _, t := range st.CallTasks() {
		if t.Do != openmanus.Delegate {
			return false
		}
		if c := st.Call(t.Call); c == nil || !c.Running {
			return false // it is about to be opened
		}
	}
	return st.Config.FlowEnds || !st.Due() // such a flow need not ask the model for what is due
}

// wait returns when a session does not run, or something in it or below waits
// for a person, or the time is over.
func (s *Server) wait(ctx context.Context, id string, most time.Duration) error {
	if _, err := s.mine(ctx, id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	w := &watch{Server: s, news: make(chan news), states: make(map[string]*openmanus.State), heads: make(map[string]int64)}
	defer w.following.Wait()
	defer cancel()
	return w.until(ctx, id)
}

// A watch folds the events of a session and of those below it.
type watch struct {
	*Server
	following sync.WaitGroup
	news      chan news
	states    map[string]*openmanus.State
	heads     map[string]int64 // how many events there were at first
}

type news struct {
	session string
	ev      openmanus.Event
	err     error
}

// until returns when the session has been folded as it was or is later, and
// does not run, or waits.
func (w *watch) until(ctx context.Context, id string) error {
	if err := w.follow(ctx, id); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-w.news:
			if errors.Is(n.err, openmanus.ErrNoSession) && n.session != id {
				continue // it was deleted
			}
			if n.err != nil {
				return n.err
			}
			st := w.states[n.session]
			st.Apply(n.ev)
			for _, c := range st.OpenChildren() {
				if err := w.follow(ctx, c.Child); err != nil {
					return err
				}
			}
		}
		if !w.current() {
			continue
		}
		status, waiting, err := standing(ctx, w.view, id, w.states[id])
		if err != nil || status != openmanus.Running || len(waiting) > 0 {
			return err
		}
	}
}

// follow begins to follow a session, unless that was done before.
func (w *watch) follow(ctx context.Context, id string) error {
	if w.states[id] != nil {
		return nil
	}
	info, err := w.Store.Session(ctx, id)
	if err != nil && !errors.Is(err, openmanus.ErrNoSession) { // it may be about to begin
		return err
	}
	w.states[id], w.heads[id] = new(openmanus.State), info.Events
	w.following.Go(func() {
		for ev, err := range w.Store.Follow(ctx, id, 0) {
			select {
			case w.news <- news{id, ev, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// current reports whether all that there was has been folded.
func (w *watch) current() bool {
	for id, st := range w.states {
		if st.Seq < w.heads[id] {
			return false
		}
	}
	return true
}

func (w *watch) view(_ context.Context, id string, f func(*openmanus.State) error) error {
	st := w.states[id]
	if st == nil || st.Seq == 0 {
		return openmanus.ErrNoSession
	}
	return f(st)
}
