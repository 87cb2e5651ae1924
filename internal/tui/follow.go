package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view"
)

const (
	batchTime  = 90 * time.Millisecond // between two frames of what streams: what comes meanwhile is drawn together
	batchSize  = 1000
	retryAfter = time.Second
)

// A follower reads the events of a session as they come.
type follower struct {
	id     string
	ch     chan openmanus.Event
	err    error // why it ended; set before ch is closed
	cancel context.CancelFunc
	last   time.Time // when next returned; it is called by one goroutine at a time
}

// follow begins to follow a session after an event, in a goroutine that ends with the
// follower. The command returns the first events.
func (p *program) follow(id string, after int64) (*follower, tea.Cmd) {
	ctx, cancel := context.WithCancel(p.ctx)
	f := &follower{id: id, ch: make(chan openmanus.Event, 64), cancel: cancel}
	p.work.Go(func() {
		defer close(f.ch)
		for ev, err := range p.src.Follow(ctx, id, after) {
			if err != nil {
				f.err = err
				return
			}
			select {
			case f.ch <- ev:
			case <-ctx.Done():
				return
			}
		}
	})
	return f, f.next
}

// An eventsMsg has events of a session; ended says that there will be no more.
type eventsMsg struct {
	from   *follower
	events []openmanus.Event
	ended  bool
}

// next waits for events. An event that comes after a pause is returned at once;
// after a recent one, it returns everything that arrives until batchTime is over.
func (f *follower) next() tea.Msg {
	ev, ok := <-f.ch
	if !ok {
		return eventsMsg{from: f, ended: true}
	}
	msg := eventsMsg{from: f, events: []openmanus.Event{ev}}
	defer func() { f.last = time.Now() }()
	enough := time.NewTimer(max(batchTime-time.Since(f.last), time.Millisecond))
	defer enough.Stop()
	for len(msg.events) < batchSize {
		select {
		case ev, ok := <-f.ch:
			if !ok {
				return msg // the next call says that it ended
			}
			msg.events = append(msg.events, ev)
		case <-enough.C:
			return msg
		}
	}
	return msg
}

// A child is a session below the one on the screen.
type child struct {
	*view.Session
	from *follower
}

// A loadedMsg is the end of a session that is to be shown.
type loadedMsg struct {
	gen     int
	info    Session
	page    *page
	session *view.Session
	err     error
}

// A pageMsg is a page that was read because the screen came near to it.
type pageMsg struct {
	gen   int
	page  *page
	later bool
	end   bool // of a later page: it has the last event
	err   error
}

// A beforeMsg has the session before the page that was read first, or an error. With an error
// and no session, it is time to read again.
type beforeMsg struct {
	gen     int
	until   int64  // the last event before that page
	known   string // why it could not be read the last time
	session *view.Session
	err     error
}

// show shows the end of a session. Earlier parts are read when the person scrolls there;
// the sums over all of it are added up in the background.
func (p *program) show(id string) tea.Cmd {
	p.leave()
	p.id = id
	gen := p.gen
	return p.do(func(ctx context.Context) tea.Msg {
		info, err := p.src.Session(ctx, id)
		if err != nil {
			return loadedMsg{gen: gen, err: err}
		}
		after := max(0, info.Events-pageEvents)
		msg := loadedMsg{gen: gen, info: info, page: newPage(after + 1), session: new(view.Session)}
		msg.err = p.read(ctx, id, after, 0, func(ev openmanus.Event) {
			msg.page.apply(ev)
			msg.session.Apply(ev)
		})
		return msg
	})
}

// leave stops following the session on the screen, and clears the screen for another one.
// Messages of commands that are still under way are dropped by their generation.
func (p *program) leave() {
	p.gen++
	p.goal = 0
	if p.from != nil {
		p.from.cancel()
	}
	for _, c := range p.below {
		c.from.cancel()
	}
	p.id, p.from, p.broken, p.chosen = "", nil, false, nil
	p.below = make(map[string]*child)
	p.session = new(view.Session)
	p.window.reset(newPage(1))
}

// read passes the stored events after one, up to another, to apply; to is 0 for all there
// are. It ends early with ctx.
func (p *program) read(ctx context.Context, id string, after, to int64, apply func(openmanus.Event)) error {
	for ev, err := range p.src.Events(ctx, id, after) {
		if err != nil {
			return err
		}
		if to > 0 && ev.Seq > to {
			break
		}
		apply(ev)
	}
	return ctx.Err()
}

// loaded shows a session that was read, begins to follow it, and reads the earlier events
// in the background. It ignores a session that is no longer wanted.
func (p *program) loaded(msg loadedMsg) tea.Cmd {
	if msg.gen != p.gen {
		return nil
	}
	if msg.err != nil {
		p.id = ""
		return p.notice(true, "%v", msg.err)
	}
	p.session, p.broken = msg.session, msg.info.Status == BrokenOff
	p.window.reset(msg.page)
	if p.session.Title() == "" {
		p.session.State.Title = msg.info.Title
	}
	f, next := p.follow(p.id, msg.page.Last)
	p.from = f
	cmds := []tea.Cmd{next, p.followBelow(), p.asked()}
	if p.goal > 0 {
		cmds = append(cmds, p.jump(p.goal))
	}
	if before := msg.page.First - 1; before > 0 {
		cmds = append(cmds, p.readBefore(before, ""))
	}
	return tea.Batch(cmds...)
}

// readBefore reads the session up to an event. The person knows why that failed before.
func (p *program) readBefore(until int64, known string) tea.Cmd {
	id, gen := p.id, p.gen
	return p.do(func(ctx context.Context) tea.Msg {
		s := new(view.Session)
		err := p.read(ctx, id, 0, until, s.Apply)
		return beforeMsg{gen, until, known, s, err}
	})
}

// join adds what was before the page that was read first. If that could not be read, it says
// why, and reads it again later.
func (p *program) join(msg beforeMsg) tea.Cmd {
	switch {
	case msg.gen != p.gen || p.ctx.Err() != nil:
		return nil
	case msg.err != nil && msg.session != nil:
		why := msg.err.Error()
		if why != msg.known {
			p.addNotice(true, "the beginning of the session cannot be read: "+why+"; trying again")
		}
		msg.session, msg.known = nil, why
		return tea.Tick(retryAfter, func(time.Time) tea.Msg { return msg })
	case msg.err != nil:
		return p.readBefore(msg.until, msg.known)
	}
	p.session.Join(msg.session)
	for _, pg := range p.window.pages {
		pg.Learn(p.session.State.Config.Tools)
	}
	return p.followBelow()
}

// followBelow begins to follow the child sessions, at any depth, that have not ended and
// are not followed yet.
func (p *program) followBelow() tea.Cmd {
	var cmds []tea.Cmd
	want := func(of *view.Session) {
		for _, c := range of.State.OpenChildren() {
			if id := c.Child; p.below[id] == nil {
				f, next := p.follow(id, 0)
				p.below[id] = &child{new(view.Session), f}
				cmds = append(cmds, next)
			}
		}
	}
	want(p.session)
	for _, c := range p.below {
		want(c.Session)
	}
	return tea.Batch(cmds...)
}

// events adds events that came.
func (p *program) events(msg eventsMsg) tea.Cmd {
	f := msg.from
	below := p.below[f.id]
	switch {
	case f == p.from:
		was := p.session.Status()
		for _, ev := range msg.events {
			p.event(ev)
		}
		cmds := []tea.Cmd{p.followBelow(), p.changed(was)}
		if msg.ended {
			return tea.Batch(append(cmds, p.retry(f))...)
		}
		return tea.Batch(append(cmds, f.next)...)
	case below != nil && below.from == f:
		for _, ev := range msg.events {
			if ev.Seq == 0 {
				continue // several speak at once: each is shown when it is done
			}
			below.Apply(ev)
			p.window.applyBelow(f.id, ev, len(below.Questions()))
		}
		if msg.ended {
			return nil
		}
		return tea.Batch(p.followBelow(), p.asked(), f.next)
	}
	return nil // of a session that was left
}

// event adds an event of the session on the screen.
func (p *program) event(ev openmanus.Event) {
	p.window.apply(ev)
	if ev.Seq == 0 {
		return
	}
	p.session.Apply(ev)
	p.broken = false
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		p.sent = without(p.sent, b.ID)
	case openmanus.ChildDone:
		if c := p.below[b.Child]; c != nil {
			c.from.cancel()
			delete(p.below, b.Child)
		}
	}
}

// without returns messages without the one with an id.
func without(all []Message, id string) (left []Message) {
	for _, m := range all {
		if m.ID != id {
			left = append(left, m)
		}
	}
	return left
}

// A retryMsg follows a session again, after following it has failed.
type retryMsg struct{ gen int }

// retry says why following failed, and tries again later.
func (p *program) retry(f *follower) tea.Cmd {
	if p.ctx.Err() != nil {
		return nil
	}
	p.from, p.lost = nil, true
	if f.err != nil && f.err.Error() != p.lostWhy {
		p.lostWhy = f.err.Error()
		p.addNotice(true, "the session cannot be followed: "+p.lostWhy+"; trying again")
	}
	gen := p.gen
	return tea.Tick(retryAfter, func(time.Time) tea.Msg { return retryMsg{gen} })
}

// again follows the session again from the last event that was seen.
func (p *program) again(msg retryMsg) tea.Cmd {
	if msg.gen != p.gen || p.from != nil {
		return nil
	}
	p.lost = false
	p.window.stream.drop()
	f, next := p.follow(p.id, p.session.State.Seq)
	p.from = f
	return next
}

// readMore reads the page that the screen comes near to.
func (p *program) readMore() tea.Cmd {
	where := p.window.wants(p.session)
	if where == 0 || p.id == "" {
		return nil
	}
	p.window.reading = true
	id, gen, first, last, tools := p.id, p.gen, p.window.first(), p.window.last(), p.session.State.Config.Tools
	return p.do(func(ctx context.Context) tea.Msg {
		msg := pageMsg{gen: gen, later: where > 0}
		from, to := max(1, first-pageEvents), first-1
		if msg.later {
			from, to = last+1, last+pageEvents
		}
		msg.page = newPage(from)
		msg.page.Learn(tools)
		msg.err = p.read(ctx, id, from-1, to, msg.page.apply)
		msg.end = msg.page.Last < to
		return msg
	})
}

// paged adds a page that was read.
func (p *program) paged(msg pageMsg) tea.Cmd {
	if msg.gen != p.gen {
		return nil
	}
	p.window.reading = false
	switch {
	case msg.err != nil:
		return p.notice(true, "%v", msg.err)
	case !msg.later && msg.page.Last == p.window.first()-1:
		p.window.before(msg.page)
	case msg.later && msg.page.First == p.window.last()+1:
		p.window.after(msg.page, msg.end && msg.page.Last >= p.session.State.Seq)
	}
	return nil
}

// jump shows the session at an event, or at its end if seq is 0.
func (p *program) jump(seq int64) tea.Cmd {
	if seq == 0 && p.window.atEnd {
		p.window.pinned = true
		return nil
	}
	id, gen, last, tools := p.id, p.gen, p.session.State.Seq, p.session.State.Config.Tools
	return p.do(func(ctx context.Context) tea.Msg {
		from := max(1, last-pageEvents+1)
		if seq > 0 {
			from = max(1, seq-pageEvents/4)
		}
		pg := newPage(from)
		pg.Learn(tools)
		err := p.read(ctx, id, from-1, from+pageEvents-1, pg.apply)
		return jumpedMsg{gen, seq, pg, err}
	})
}

// A jumpedMsg is the page around an event.
type jumpedMsg struct {
	gen  int
	seq  int64
	page *page
	err  error
}

// jumped shows the page around an event.
func (p *program) jumped(msg jumpedMsg) tea.Cmd {
	if msg.gen != p.gen {
		return nil
	}
	if msg.err != nil {
		return p.notice(true, "%v", msg.err)
	}
	stream := p.window.stream
	p.window.reset(msg.page)
	p.window.stream = stream
	p.window.atEnd = msg.page.Last >= p.session.State.Seq
	p.window.pinned = p.window.atEnd && msg.seq == 0
	for _, b := range p.window.flat(p.session) {
		if msg.seq > 0 && b.Seq <= msg.seq {
			p.window.anchor, p.chosen = b, b
		}
	}
	return nil
}
