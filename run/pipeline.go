package run

import (
	"context"
	"errors"
	"slices"

	"github.com/openmanus-go/openmanus"
)

// A pipeline lets a driver go on while its events are being made durable: it asks
// the model, and runs calls that only read. Everything else waits: calls that
// change something, children, and what subscribers see. So a crash loses no effect
// that the journal does not know of, as if the driver waited at every step. At most
// maxAhead commits are under way when a reply comes; what a crash can lose of the
// work of a model is no more than the steps that they record.
//
// If the journal refuses the events, because another process has appended to the
// session, the driver loads the session again and drops what it built on them.
//
// The zero pipeline does nothing: the driver appends and waits.
type pipeline struct {
	journal openmanus.Pipeliner // nil: the zero pipeline
	pipe    openmanus.Pipe      // nil: none yet
	commits []*commit           // in order
}

// maxAhead is how many commits may be under way when a driver records a reply that
// was made on their events: those of one step, of which one has the reply before and
// the calls that it makes, and the other the results.
const maxAhead = 2

// A commit is an append under way.
type commit struct {
	events []openmanus.Event
	turns  []int            // after each event
	facts  []openmanus.Body // those of its bodies that have happened; the others are decisions
	stored chan struct{}    // closed when err is set
	err    error
}

// next returns a channel that is closed when the oldest commit is stored or has
// failed. It is nil if there is none.
func (p *pipeline) next() <-chan struct{} {
	if len(p.commits) == 0 {
		return nil
	}
	return p.commits[0].stored
}

// send starts to append planned events, and folds them. facts are those of them
// that have happened already; the others are decisions.
func (d *driver) send(ctx context.Context, facts, written []openmanus.Body) error {
	p := &d.pipeline
	if p.pipe == nil {
		p.pipe = p.journal.Pipe(d.ID, d.State.Seq)
	}
	// before subscribers see it: the driver's own is no news to it
	d.seen.Store(d.State.Seq + int64(len(written)))
	d.hub.expect()
	events, wait, err := p.pipe.Append(context.WithoutCancel(ctx), written...)
	if err != nil {
		d.hub.settled(false)
		p.pipe = nil
		return err
	}
	c := &commit{events: events, facts: facts, stored: make(chan struct{})}
	for _, ev := range events {
		d.fold(ev)
		c.turns = append(c.turns, d.State.Turn)
	}
	p.commits = append(p.commits, c)
	d.hold(written...)
	go func() {
		defer close(c.stored)
		c.err = wait()
	}()
	return nil
}

// speculative reports whether b is worth nothing without the events of lost, which are
// not stored: a reply to some of them, or the result of a call whose start is among them.
// Such a call only reads.
func speculative(b openmanus.Body, lost []*commit) bool {
	switch b := b.(type) {
	case openmanus.ModelSaid:
		return b.Re >= lost[0].events[0].Seq
	case openmanus.ModelFailed:
		return b.Re >= lost[0].events[0].Seq
	case openmanus.CallDone:
		return slices.ContainsFunc(lost, func(c *commit) bool {
			return slices.ContainsFunc(c.events, func(ev openmanus.Event) bool {
				start, ok := ev.Body.(openmanus.CallStarted)
				return ok && start.Call == b.Call
			})
		})
	}
	return false
}

// settle waits for the oldest commit. After the last one, it starts the jobs that
// waited.
func (d *driver) settle(ctx context.Context) error {
	p := &d.pipeline
	c := p.commits[0]
	<-c.stored
	if c.err != nil {
		return d.rollBack(ctx)
	}
	p.commits = p.commits[1:]
	d.stored(c)
	if len(p.commits) == 0 {
		d.start(ctx)
	}
	return nil
}

// settleTo waits until at most so many commits are under way.
func (d *driver) settleTo(ctx context.Context, most int) error {
	for len(d.pipeline.commits) > most {
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rollBack drops what was built on commits that failed, records what has happened
// nevertheless, and goes on from the journal.
func (d *driver) rollBack(ctx context.Context) error {
	facts, err := d.flush()
	d.dropSpeculative()
	if err != nil {
		return errors.Join(err, d.recordAll(ctx, facts))
	}
	s, err := openmanus.Load(context.WithoutCancel(ctx), d.l.Journal, d.ID)
	if err != nil {
		return errors.Join(err, d.recordAll(ctx, facts))
	}
	s.CountWith(d.Flow.Agent().Counter)
	d.State, d.memo = s, nil
	for call := range d.claims {
		if d.running[call] == nil {
			delete(d.claims, call) // its start was dropped as well
		}
	}
	d.seen.Store(s.Seq)
	// The next append waits: what the journal refuses then is refused for
	// certain.
	journal := d.pipeline.journal
	d.pipeline.journal = nil
	defer func() { d.pipeline.journal = journal }()
	return d.advance(ctx, facts...)
}

// flush waits for all commits and empties the pipeline. It returns the facts of
// commits that failed, without those that need what was in them, and an error if the
// journal itself failed. After a commit that fails, all later ones fail.
func (d *driver) flush() (facts []openmanus.Body, err error) {
	p := &d.pipeline
	var lost []*commit
	for _, c := range p.commits {
		<-c.stored
		if c.err == nil {
			d.stored(c)
			continue
		}
		if !errors.Is(c.err, openmanus.ErrMoved) && !errors.Is(c.err, openmanus.ErrExists) {
			err = errors.Join(err, c.err)
		}
		lost = append(lost, c)
		d.hub.settled(false)
	}
	for _, c := range lost {
		for _, b := range c.facts {
			if !speculative(b, lost) {
				facts = append(facts, b)
			}
		}
	}
	*p = pipeline{journal: p.journal}
	return facts, err
}

// stored sends the events of a stored commit to subscribers. The jobs that began on
// them need no others.
func (d *driver) stored(c *commit) {
	for _, j := range d.running {
		if j.after == c {
			j.after = nil
		}
	}
	for i, ev := range c.events {
		d.unspool(ev)
		d.told(ev, c.turns[i])
	}
	d.hub.settled(true)
}

// dropSpeculative cancels the jobs that were started on events that are not
// stored. They only read, and nothing of them is recorded. Other jobs that end
// meanwhile are finished in their turn.
func (d *driver) dropSpeculative() {
	waiting := 0
	for key, j := range d.running {
		switch {
		case j.after != nil && j.ended:
			delete(d.running, key)
		case j.after != nil:
			j.cancel(nil)
			waiting++
		}
	}
	var others []*job
	for waiting > 0 {
		j := <-d.done
		if j.after != nil {
			delete(d.running, j.key)
			waiting--
		} else {
			others = append(others, j)
		}
	}
	for _, j := range others {
		d.followers.Go(func() { d.done <- j })
	}
}
