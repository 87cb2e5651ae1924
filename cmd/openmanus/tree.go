package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/run"
)

// Events of sessions below the driven one are printed with the name of their
// session before each line. Their questions reach the user like its own.

// A below shows the sessions below the driven one.
type below struct {
	d       *drive
	ctx     context.Context
	all     sync.WaitGroup
	mu      sync.Mutex
	watched map[string]bool
	shown   map[string]int64 // the last event of each that was shown
	moved   chan struct{}    // closed and replaced when shown grows
}

func newBelow(ctx context.Context, d *drive) *below {
	return &below{d: d, ctx: ctx, watched: make(map[string]bool), shown: make(map[string]int64), moved: make(chan struct{})}
}

// settle waits until all that has happened is shown.
func (b *below) settle(ctx context.Context) {
	b.mu.Lock()
	ids := slices.Collect(maps.Keys(b.watched))
	b.mu.Unlock()
	for _, id := range ids {
		s, err := openmanus.Load(ctx, b.d.db, id)
		if err != nil {
			continue // it never began
		}
		for {
			b.mu.Lock()
			seen, moved := b.shown[id], b.moved
			b.mu.Unlock()
			if seen >= s.Seq {
				break
			}
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (b *below) tick(id string, seq int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq > b.shown[id] {
		b.shown[id] = seq
		close(b.moved)
		b.moved = make(chan struct{})
	}
}

// watch shows a session below from an event on, and the sessions that it opens. s is its
// state as of that event, or nil if the session begins there.
func (b *below) watch(id, path string, after int64, s *openmanus.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched[id] {
		return
	}
	b.watched[id], b.shown[id] = true, after
	b.all.Go(func() {
		var p *linemode.Printer
		for ev, err := range b.d.Local.Watch(b.ctx, id, after) {
			if err != nil && b.ctx.Err() != nil {
				return
			}
			if err != nil {
				b.d.print.Remark("%s can no longer be watched: %v", id, err)
				return
			}
			if ev.Seq == 0 {
				continue // several speak at once: each is shown when it is done
			}
			if o, ok := ev.Body.(openmanus.Opened); ok {
				path = b.d.labelOf(path, id, o.Flow)
			}
			if p == nil {
				p = linemode.New(&lineWriter{to: b.d.print, head: path}, linemode.Options{Style: b.d.print.Style(), Quiet: b.d.print.Quiet()})
				if s != nil {
					p.GoOn(s)
				}
			}
			b.event(p, path, ev)
			b.tick(id, ev.Seq)
		}
	})
}

// labelOf returns the name of the session id on the screen. path is that of its
// parent.
func (d *drive) labelOf(path, id, flow string) string {
	label := host.FlowName(flow) + " " + id[strings.LastIndexByte(id, '.')+1:]
	if step := d.plan.label(id); step != "" {
		label = host.FlowName(flow) + " · " + step
	}
	if path != "" {
		label = path + " > " + label
	}
	return label
}

func (b *below) event(p *linemode.Printer, path string, ev openmanus.Event) {
	switch body := ev.Body.(type) {
	case openmanus.Asked:
		select {
		case b.d.asks <- struct{}{}:
		default:
		}
	case openmanus.ChildOpened:
		b.watch(body.Child, path, 0, nil)
	case openmanus.UserSaid:
		return // the call that opened the session has what it is to do
	}
	p.Event(ev)
}

// watchAll watches the sessions that are open below already.
func (b *below) watchAll(ctx context.Context) error {
	nodes, err := run.Tree(ctx, b.d.db, b.d.id)
	if errors.Is(err, openmanus.ErrNoSession) {
		return nil
	}
	for _, n := range nodes[min(1, len(nodes)):] {
		path := ""
		parts := strings.Split(strings.TrimPrefix(n.Session, b.d.id+"."), ".")
		for i, flow := range n.Path[1:] {
			id := strings.Join(append([]string{b.d.id}, parts[:min(i+1, len(parts))]...), ".")
			path = b.d.labelOf(path, id, flow)
		}
		b.watch(n.Session, path, n.State.Seq, n.State)
	}
	return err
}

// A lineWriter writes whole lines to a printer, each after a head.
type lineWriter struct {
	to   *linemode.Printer
	head string
	rest []byte
}

func (w *lineWriter) Write(data []byte) (int, error) {
	w.rest = append(w.rest, data...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(data), nil
		}
		w.to.Below(w.head, string(w.rest[:i]))
		w.rest = w.rest[i+1:]
	}
}
