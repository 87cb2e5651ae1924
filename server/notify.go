package server

import (
	"context"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A notifier tells the devices of a session's owner when a call in the session or below it
// begins to wait for them, and when the session ends, for as long as the session is driven.
type notifier struct {
	s    *Server
	info journal.SessionInfo
	told map[string]bool // the calls that waited, by session and call
}

// tellWhile tells webhooks and devices what happens in a session that is about to be driven,
// and returns what ends it for devices when the driving has ended.
func (s *Server) tellWhile(ctx context.Context, info journal.SessionInfo) (ended func()) {
	if err := s.poster.tellWebhooks(ctx, info.ID, placeAfter(info.Events)); err != nil && ctx.Err() == nil {
		s.Log.Warn("cannot tell webhooks of a session", "session", info.ID, "error", err)
	}
	return s.notifyWhile(ctx, info)
}

// notifyWhile starts a notifier for a session that is about to be driven, and returns what
// ends it when the driving has ended. Sessions that already wait were announced before.
// Owners without a device cost one query.
func (s *Server) notifyWhile(ctx context.Context, info journal.SessionInfo) (ended func()) {
	store, err := s.devices()
	if err != nil || info.Owner == "" {
		return func() {}
	}
	if all, err := store.Devices(ctx, info.Owner); err != nil || len(all) == 0 {
		return func() {}
	}
	n := &notifier{s: s, info: info, told: make(map[string]bool)}
	_, waiting, err := n.look(ctx, s.states.view)
	if err != nil {
		return func() {}
	}
	for _, w := range waiting {
		n.told[w.Session+" "+w.Call] = true
	}
	done := make(chan struct{})
	s.scheduler.all.Go(func() { n.run(ctx, done) })
	return func() { close(done) }
}

// look returns the status of the session and the calls that wait.
func (n *notifier) look(ctx context.Context, view viewer) (status openmanus.Status, waiting []Waiting, err error) {
	err = view(ctx, n.info.ID, func(st *openmanus.State) error {
		status, waiting, err = standing(ctx, view, n.info.ID, st)
		return err
	})
	return status, waiting, err
}

// run follows the session and its children until done is closed or ctx ends, and sends a
// message to the owner's devices when the session begins to wait or has ended.
func (n *notifier) run(ctx context.Context, done <-chan struct{}) {
	following, cancel := context.WithCancel(ctx)
	f := &follower{store: n.s.Store, changed: make(chan struct{}, 1), followed: make(map[string]bool)}
	defer f.following.Wait()
	defer cancel()
	view := func(ctx context.Context, id string, fn func(*openmanus.State) error) error {
		var seq int64
		err := n.s.states.view(ctx, id, func(st *openmanus.State) error {
			seq = st.Seq
			return fn(st)
		})
		f.follow(following, id, seq)
		return err
	}
	for over := false; !over; {
		_, waiting, err := n.look(ctx, view)
		if err != nil {
			return
		}
		n.tell(ctx, waiting)
		select {
		case <-f.changed:
		case <-ctx.Done():
			return
		case <-done:
			over = true
			if status, waiting, err := n.look(ctx, n.s.states.view); err == nil {
				n.tell(ctx, waiting)
				n.tellEnd(ctx, status)
			}
		}
	}
}

// tell sends a message about each call that waits and was not told before. One that asks
// whether it may run comes with a link that decides it.
func (n *notifier) tell(ctx context.Context, waiting []Waiting) {
	for _, w := range waiting {
		key := w.Session + " " + w.Call
		if n.told[key] {
			continue
		}
		n.told[key] = true
		m, kind := message{Session: n.info.ID, Title: n.title(ctx), Path: sessionPath(n.info.ID)}, "asks"
		if u := n.s.users.byName(n.info.Owner); u != nil && w.Kind == string(openmanus.AskRuling) {
			_, q, err := n.s.pendingCall(ctx, w.Session, w.Call, openmanus.AskRuling)
			if err != nil {
				continue // it was decided meanwhile
			}
			m.Path, kind = u.approvalPath(w.Session, q, time.Now()), "may"
		}
		n.s.push(ctx, n.info.Owner, m, true, func(language string) string { return pushWords(language, kind) + w.Tool })
	}
}

// tellEnd sends a message if the session has ended.
func (n *notifier) tellEnd(ctx context.Context, status openmanus.Status) {
	switch status {
	case openmanus.Finished, openmanus.Failed, openmanus.Halted:
		m := message{Session: n.info.ID, Title: n.title(ctx), Path: sessionPath(n.info.ID)}
		n.s.push(ctx, n.info.Owner, m, false, func(language string) string { return pushWords(language, string(status)) })
	}
}

// title returns the title that the session has now, which it gets after it began.
func (n *notifier) title(ctx context.Context) string {
	if info, err := n.s.Store.Session(ctx, n.info.ID); err == nil && info.Title != "" {
		return info.Title
	}
	return n.info.ID
}

// pushWords returns the text of a message in one of the page's languages, or English.
func pushWords(language, kind string) string {
	words := map[string][2]string{
		"may":                      {"Waits for you: may it use ", "等你处理：是否允许使用 "},
		"asks":                     {"Asks you a question, by ", "向你提问："},
		string(openmanus.Finished): {"Done", "完成"},
		string(openmanus.Failed):   {"Failed", "失败"},
		string(openmanus.Halted):   {"Stopped", "已停止"},
	}[kind]
	if len(language) >= 2 && language[:2] == "zh" {
		return words[1]
	}
	return words[0]
}
