package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/run"
)

// A person puts questions to the user at the terminal.
type person struct {
	print *linemode.Printer
	ask   func(ctx context.Context, prompt string) (string, error) // io.EOF: they left
	all   map[string]bool                                          // the sessions in which they allowed everything
	acts  act.Sessions
}

// notLasting returns why a decision about a call cannot be remembered, or nil.
func (p *person) notLasting(w run.Question) error {
	_, err := p.acts.Lasting(w.Session, w.State, w.Call)
	return err
}

// ask prints prompt and reads a line of standard input. It returns early when
// ctx ends; the line is then read by the next ask. One call is made at a time.
func (t *terminal) ask(ctx context.Context, prompt string) (string, error) {
	if t.asks != nil {
		return t.asks(ctx, prompt)
	}
	fmt.Fprint(t.err, prompt)
	t.lines.Do(func() {
		t.line, t.want = make(chan lineRead), make(chan struct{}, 1)
		go func() {
			r := bufio.NewReader(t.in)
			for range t.want {
				line, err := r.ReadString('\n')
				if line != "" {
					err = nil
				}
				t.line <- lineRead{strings.TrimRight(line, "\r\n"), err}
			}
		}()
	})
	if t.reading.CompareAndSwap(false, true) { // else a line is being read already
		t.want <- struct{}{}
	}
	select {
	case l := <-t.line:
		t.reading.Store(false) // no byte is read before a reader wants it
		return l.text, l.err
	case <-ctx.Done():
		fmt.Fprintln(t.err)
		return "", ctx.Err()
	}
}

type lineRead struct {
	text string
	err  error
}

// decide puts questions to the user and appends the answers. It returns early if
// a question was answered elsewhere or the user has left.
func (d *drive) decide(ctx context.Context, qs []run.Question) error {
	defer d.print.Release()
	for i, q := range qs {
		waiting, cancel := d.untilMoved(ctx, q)
		d.print.Hold()
		record, err := d.person.consider(waiting, q, summary.Asker(d.id, q))
		d.print.Release()
		moved := context.Cause(waiting) == errMoved
		cancel()
		if errors.Is(err, io.EOF) {
			d.person = nil // the user has left
			return nil
		}
		if err != nil && moved {
			return nil
		}
		if err != nil {
			return err
		}
		err = record(ctx)
		if e := (*act.Error)(nil); errors.As(err, &e) {
			if e.Kind == act.Invalid {
				d.print.Question("%v", err)
				return d.decide(ctx, qs[i:])
			}
			continue // another surface has decided first
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errMoved is why a question is withdrawn.
var errMoved = errors.New("the session went on")

// untilMoved returns a context that ends when the session that asks has new
// events, or the driven session is interrupted: the question is void then.
func (d *drive) untilMoved(ctx context.Context, q run.Question) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	after := d.seen
	d.mu.Unlock()
	var following sync.WaitGroup
	following.Go(func() {
		for ev, err := range d.db.Follow(ctx, d.id, after) {
			if _, halted := ev.Body.(openmanus.Interrupted); err != nil || halted || q.Session == d.id {
				cancel(errMoved)
			}
		}
	})
	if q.Session != d.id {
		following.Go(func() {
			for range d.db.Follow(ctx, q.Session, q.State.Seq) {
				cancel(errMoved)
			}
		})
	}
	return ctx, func() {
		cancel(nil)
		following.Wait()
	}
}

// consider puts a question to the user and returns the function that records the answer.
// who names the session that asks, if it is not the one the user talks to.
func (p *person) consider(ctx context.Context, w run.Question, who string) (record func(context.Context) error, err error) {
	c, q := w.Call, w.Call.Question()
	if q.Kind == openmanus.AskRuling {
		d, err := p.rule(ctx, w, who, q)
		return func(ctx context.Context) error {
			_, err := p.acts.Rule(ctx, w.Session, d)
			return err
		}, err
	}
	p.print.Question("%s%s", above(who), q.Question)
	text, err := p.ask(ctx, p.print.Asked()+"> ")
	return func(ctx context.Context) error {
		_, err := p.acts.Answer(ctx, w.Session, act.Answer{Call: c.ID, By: act.ByPerson, Text: text, Nth: q.N + 1})
		return err
	}, err
}

// rule asks whether a call may run. All of the call is shown, because that is
// what the ruling allows.
func (p *person) rule(ctx context.Context, w run.Question, who string, q openmanus.Asked) (d act.Decision, err error) {
	c := w.Call
	d = act.Decision{Call: c.ID, By: act.ByPerson, Hash: q.Hash}
	once := gate.OnlyPerson(q.Rule) // "all" was said before the user could know of this
	if p.all[w.Session] && !once {
		d.Allow = true
		return d, nil
	}
	p.print.Question("%s%s", above(who), q.Question)
	if q.Shown != "" {
		p.print.Block(strings.TrimRight(q.Shown, "\n"))
	} else {
		p.print.Block(gist.Arguments(c.Arguments()))
	}
	prompt, notLasting := "  [y]es, [n]o, [a]ll in this session, or say what to do instead: ", p.notLasting(w)
	switch {
	case once && q.Scope != "":
		prompt = "  [y]es, this once, [s]ession: always allow " + clip.Plain(q.Scope) + " in this session, [n]o, or say what to do instead: "
	case once:
		prompt = "  [y]es, this once, [n]o, or say what to do instead: "
	case notLasting == nil:
		prompt = "  [y]es, [n]o, [always] or [never] this very call, [a]ll in this session, or say what to do instead: "
	case q.Scope != "":
		prompt = "  [y]es, [n]o, [s]ite: everything that " + clip.Plain(c.Name) + " does on " + clip.Plain(q.Scope) +
			" in this session, [a]ll in this session, or say what to do instead: "
	}
	for {
		line, err := p.ask(ctx, p.print.Asked()+prompt)
		if err != nil {
			return d, err
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); word {
		case "":
			continue
		case "y", "yes":
			d.Allow = true
		case "a", "all":
			if once {
				p.print.Question("%s", eachTime(q.Rule))
				continue
			}
			p.all[w.Session], d.Allow = true, true
		case "s", "site", "session":
			if q.Scope == "" {
				p.print.Question("this call cannot be allowed for the session")
				continue
			}
			d.Allow, d.Scope = true, q.Scope
		case "n", "no":
		case "always", "never":
			if once {
				p.print.Question("%s", eachTime(q.Rule))
				continue
			}
			if notLasting != nil {
				p.print.Question("%v", notLasting)
				continue
			}
			d.Remember, d.Allow = true, word == "always"
		default:
			d.Reason = line
		}
		return d, nil
	}
}

// eachTime says why questions of a rule are asked each time.
func eachTime(rule string) string {
	if rule == gate.RuleProvenance {
		return "this is asked each time, since others chose the words"
	}
	return "this is asked each time, since it goes beyond what the session may do"
}
