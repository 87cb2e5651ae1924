package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/run"
)

// A drive drives a session for one request and shows it, until the session ends
// or waits for a user who is not there.
type drive struct {
	*app
	shown
	passing bool // the session is temporary: do not say how to continue it
	id      string
	print   *linemode.Printer
	root    *os.Root
	files   fs.FS // of root
	before  host.Scan
	from    int64   // the last event before this request
	person  *person // the user who answers; nil if no terminal is attached
	below   *below
	asks    chan struct{}  // a session below asks
	plan    *planView      // what is drawn of a plan, if there is one
	waiting []run.Question // what waits where the run ends
	signals chan os.Signal // of the system, and of keys of the user

	mu    sync.Mutex
	seen  int64         // the last stored event that was shown
	moved chan struct{} // closed and replaced when seen grows
}

// newDrive prepares a request to the session id, which works in dir.
func (a *app) newDrive(id, dir string, s shown) (*drive, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usage(fmt.Errorf("the workspace %s cannot be opened: %w; make it, or name another with --workspace", dir, errors.Unwrap(err)))
	}
	d := &drive{app: a, shown: s, id: id, root: root, files: root.FS(), moved: make(chan struct{}), asks: make(chan struct{}, 1), signals: make(chan os.Signal, 2)}
	d.print = linemode.New(a.t.err, linemode.Options{Style: a.style(), Quiet: s.Quiet, Width: a.t.statusWidth(), Status: a.status})
	d.plan = &planView{print: d.print, mute: true}
	d.before = d.scan()
	if isTerminal(a.t.in) && isTerminal(a.t.err) {
		a.AskToInstall = true
		d.person = &person{ask: a.t.ask, print: d.print, all: make(map[string]bool), acts: a.acts()}
	}
	a.OnRetry = func(err error, wait time.Duration) {
		if wait == 0 { // it did, and err says what becomes of the answer
			d.print.Remark("%v", err)
			return
		}
		d.print.Remark("the model did not answer (%v); trying again in %s", err, wait.Round(100*time.Millisecond))
	}
	a.OnFailover = func(err error, to string) { d.print.Remark("the model failed (%v); asking %s instead", err, to) }
	return d, nil
}

// scan records the files of the workspace, to tell which ones the run changed.
func (d *drive) scan() host.Scan {
	return host.ScanFiles(context.Background(), d.files, d.Own(d.Config, d.root.Name()))
}

// Close closes the workspace.
func (d *drive) Close() error { return d.root.Close() }

// run drives the session and reports how it ended.
func (d *drive) run(ctx context.Context) error {
	s, err := d.once(ctx)
	if err != nil {
		return err
	}
	return d.report(s)
}

// once drives the session and shows it until it ends or waits in vain. It
// returns the state in which the session is left.
func (d *drive) once(ctx context.Context) (*openmanus.State, error) {
	d.seen = d.from
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := d.onSignal(ctx, cancel)
	defer stop()

	var watching sync.WaitGroup
	watch, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer watching.Wait()
	defer unwatch()
	var watchErr error
	d.below = newBelow(watch, d)
	defer d.below.all.Wait()
	defer unwatch()
	if err := d.below.watchAll(watch); err != nil {
		return nil, d.failure(err)
	}
	watching.Go(func() {
		if watchErr = d.follow(watch); watchErr != nil {
			unwatch() // nothing more is shown, so nothing waits for it
		}
	})

	s, err := d.untilDone(ctx)
	if err == nil {
		d.waitShown(watch, s.Seq)
		d.below.settle(watch)
	}
	unwatch()
	watching.Wait()
	if err = errors.Join(err, watchErr); err != nil {
		d.print.Flush()
		return nil, d.failure(err)
	}
	return s, nil
}

// failure returns err with what the user can do about it.
func (d *drive) failure(err error) error {
	switch {
	case errors.Is(err, openmanus.ErrDriven):
		return fmt.Errorf("%w: follow it with openmanus sessions log %s --follow, or send it a message with openmanus sessions say %s", err, d.id, d.id)
	case errors.Is(err, context.Canceled):
		return exit{code: exitInterrupted, err: fmt.Errorf("left the session; continue with: openmanus sessions resume %s", d.id)}
	}
	return fmt.Errorf("%w\nthe session is saved; continue with: openmanus sessions resume %s", err, d.id)
}

// untilDone wakes the session until it has ended, or waits and no one answers.
func (d *drive) untilDone(ctx context.Context) (*openmanus.State, error) {
	last := int64(-1)
	for {
		if err := d.wake(ctx); err != nil {
			return nil, err
		}
		nodes, err := run.Tree(ctx, d.db, d.id)
		if err != nil {
			return nil, err
		}
		s, seq := nodes[0].State, int64(0)
		for _, n := range nodes {
			seq += n.State.Seq
		}
		d.waiting = run.QuestionsIn(nodes)
		switch st := summary.Standing(s, d.waiting); {
		case st == openmanus.Running && seq == last:
			return nil, errors.New("the session has nothing left to do but has not ended")
		case st == openmanus.Running:
			last = seq
			continue // a message arrived while the driver was leaving
		case st != openmanus.Waiting || d.person == nil:
			return s, nil
		}
		d.waitShown(ctx, s.Seq)
		d.below.settle(ctx)
		if err := d.decide(ctx, d.waiting); err != nil {
			return nil, err
		}
	}
}

// wake drives the session until nothing is left to do. Questions of sessions
// below are put to the user while the others go on.
func (d *drive) wake(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer d.print.Working()()
	done := make(chan error, 1)
	go func() { done <- d.Local.Wake(ctx, d.id) }()
	for {
		select {
		case err := <-done:
			return err
		case <-d.asks:
		}
		if d.person == nil {
			continue
		}
		qs, err := run.Questions(ctx, d.db, d.id)
		if err == nil {
			qs = slices.DeleteFunc(qs, func(q run.Question) bool { return q.Session == d.id })
			err = d.decide(ctx, qs)
		}
		if err != nil {
			cancel()
			<-done
			return err
		}
	}
}

// follow shows the events after d.seen until ctx ends. That is no error, also if
// it ends while events are read.
func (d *drive) follow(ctx context.Context) error {
	if err := d.showEvents(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

func (d *drive) showEvents(ctx context.Context) error {
	enc := d.t.encoder()
	if err := d.drawPlan(ctx); err != nil {
		return err
	}
	for ev, err := range d.Local.Watch(ctx, d.id, d.seen) {
		if err != nil {
			return err
		}
		if d.Output == outJSONL && ev.Seq > 0 {
			if err := enc.Encode(ev); err != nil {
				return err
			}
		}
		d.print.Event(ev)
		if d.plan != nil {
			d.plan.event(ev)
		}
		if c, ok := ev.Body.(openmanus.ChildOpened); ok {
			d.below.watch(c.Child, "", 0, nil)
		}
		if ev.Seq > 0 {
			d.mu.Lock()
			d.seen = ev.Seq
			close(d.moved)
			d.moved = make(chan struct{})
			d.mu.Unlock()
		}
	}
	return nil
}

// waitShown waits until all events up to seq have been shown.
func (d *drive) waitShown(ctx context.Context, seq int64) {
	for {
		d.mu.Lock()
		seen, moved := d.seen, d.moved
		d.mu.Unlock()
		if seen >= seq {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// onSignal makes the first Ctrl-C interrupt the session, and the second one, or
// SIGTERM, end the program. The session can be resumed then.
func (d *drive) onSignal(ctx context.Context, cancel context.CancelFunc) (stop func()) {
	signal.Notify(d.signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-d.signals:
				if n > 0 || sig != os.Interrupt {
					cancel()
					return
				}
				// The session may have ended on its own: then there is
				// nothing to interrupt, and the error says so.
				if _, err := d.db.Append(ctx, d.id, act.Stop(d.print.SoFar())); err != nil {
					cancel()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(d.signals)
		close(done)
	}
}

// signal does what a signal of the system would do.
func (d *drive) signal(sig os.Signal) {
	select {
	case d.signals <- sig:
	default: // the same was said twice already
	}
}
