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

// show shows the end of a session. Earlier parts are read when the person scrolls there;
// the sums over all of it are added up in the background.
func (p *program) show(id string) tea.Cmd {
	p.leave()
	p.id = id
	return p.load(func(ctx context.Context) (then, error) {
		info, err := p.src.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		after := max(0, info.Events-pageEvents)
		page, session := newPage(after+1), new(view.Session)
		err = p.read(ctx, id, after, 0, func(ev openmanus.Event) {
			page.apply(ev)
			session.Apply(ev)
		})
		return func(p *program) tea.Cmd { return p.loaded(info, page, session) }, err
	}, func() { p.id = "" })
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
// in the background.
func (p *program) loaded(info Session, page *page, session *view.Session) tea.Cmd {
	p.session, p.broken = session, info.Status == BrokenOff
	p.window.reset(page)
	if p.session.Title() == "" {
		p.session.State.Title = info.Title
	}
	f, next := p.follow(p.id, page.Last)
	p.from = f
	cmds := []tea.Cmd{next, p.followBelow(), p.asked()}
	if p.goal > 0 {
		cmds = append(cmds, p.jump(p.goal))
	}
	if before := page.First - 1; before > 0 {
		cmds = append(cmds, p.readBefore(before, ""))
	}
	return tea.Batch(cmds...)
}

// readBefore reads the session up to an event. The person knows why that failed before.
func (p *program) readBefore(until int64, known string) tea.Cmd {
	id := p.id
	return p.load(func(ctx context.Context) (then, error) {
		s := new(view.Session)
		err := p.read(ctx, id, 0, until, s.Apply)
		return func(p *program) tea.Cmd { return p.join(s, until, known, err) }, nil
	}, nil)
}

// join adds what was before the page that was read first, up to an event. If that could not be
// read, it says why, and reads it again later.
func (p *program) join(before *view.Session, until int64, known string, err error) tea.Cmd {
	switch {
	case p.ctx.Err() != nil:
		return nil
	case err != nil:
		why := err.Error()
		if why != known {
			p.addNotice(true, "the beginning of the session cannot be read: "+why+"; trying again")
		}
		again := p.still(func(p *program) tea.Cmd { return p.readBefore(until, why) })
		return tea.Tick(retryAfter, func(time.Time) tea.Msg { return again })
	}
	p.session.Join(before)
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
	again := p.still((*program).again)
	return tea.Tick(retryAfter, func(time.Time) tea.Msg { return again })
}

// again follows the session again from the last event that was seen.
func (p *program) again() tea.Cmd {
	if p.from != nil {
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
	later := where > 0
	from, to := max(1, p.window.first()-pageEvents), p.window.first()-1
	if later {
		from, to = p.window.last()+1, p.window.last()+pageEvents
	}
	return p.readPage(from, to, func(p *program, pg *page) {
		p.window.reading = false
		switch {
		case !later && pg.Last == p.window.first()-1:
			p.window.before(pg)
		case later && pg.First == p.window.last()+1:
			p.window.after(pg, pg.Last < to && pg.Last >= p.session.State.Seq)
		}
	})
}

// readPage reads the page of the events from one to another, and gives it to add.
func (p *program) readPage(from, to int64, add func(*program, *page)) tea.Cmd {
	id, pg := p.id, newPage(from)
	pg.Learn(p.session.State.Config.Tools)
	return p.load(func(ctx context.Context) (then, error) {
		err := p.read(ctx, id, from-1, to, pg.apply)
		return func(p *program) tea.Cmd {
			add(p, pg)
			return nil
		}, err
	}, func() { p.window.reading = false })
}

// jump shows the session at an event, or at its end if seq is 0.
func (p *program) jump(seq int64) tea.Cmd {
	if seq == 0 && p.window.atEnd {
		p.window.pinned = true
		return nil
	}
	from := max(1, p.session.State.Seq-pageEvents+1)
	if seq > 0 {
		from = max(1, seq-pageEvents/4)
	}
	return p.readPage(from, from+pageEvents-1, func(p *program, pg *page) {
		stream := p.window.stream
		p.window.reset(pg)
		p.window.stream = stream
		p.window.atEnd = pg.Last >= p.session.State.Seq
		p.window.pinned = p.window.atEnd && seq == 0
		for _, b := range p.window.flat(p.session) {
			if seq > 0 && b.Seq <= seq {
				p.window.anchor, p.chosen = b, b
			}
		}
	})
}
