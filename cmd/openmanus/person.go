package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/host"
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
	for _, q := range qs {
		waiting, cancel := d.untilMoved(ctx, q)
		d.print.Hold()
		body, err := d.person.consider(waiting, q, summary.Asker(d.id, q))
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
		_, err = d.db.Append(ctx, q.Session, body)
		if r, ok := body.(openmanus.Ruled); err == nil && ok && r.Rule == host.ForGood {
			err = d.Remember(q.Session, q.State, q.Call, r.Allow, host.ByPerson)
		}
		if err != nil && !errors.Is(err, openmanus.ErrExists) {
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

// consider puts a question to the user and returns the answer as an event. who
// names the session that asks, if it is not the one the user talks to.
func (p *person) consider(ctx context.Context, w run.Question, who string) (openmanus.Body, error) {
	c, q := w.Call, w.Call.Question()
	if q.Kind == openmanus.AskRuling {
		return p.rule(ctx, w, who, q)
	}
	p.print.Question("%s%s", above(who), q.Question)
	for {
		text, err := p.ask(ctx, p.print.Asked()+"> ")
		if err != nil {
			return nil, err
		}
		a := openmanus.Answered{Call: c.ID, N: q.N, Text: text, By: "person"}
		if len(q.Schema) > 0 {
			if !json.Valid([]byte(text)) {
				p.print.Question("the answer must be JSON that fits %s", q.Schema)
				continue
			}
			a.Data = json.RawMessage(text)
		}
		return a, nil
	}
}

// rule asks whether a call may run. All of the call is shown, because that is
// what the ruling allows.
func (p *person) rule(ctx context.Context, w run.Question, who string, q openmanus.Asked) (openmanus.Body, error) {
	c := w.Call
	r := openmanus.Ruled{Call: c.ID, By: "person", Hash: q.Hash}
	once := gate.OnlyPerson(q.Rule) // "all" was said before the user could know of this
	if p.all[w.Session] && !once {
		r.Allow = true
		return r, nil
	}
	p.print.Question("%s%s", above(who), q.Question)
	if q.Shown != "" {
		p.print.Block(strings.TrimRight(q.Shown, "\n"))
	} else {
		p.print.Block(gist.Arguments(c.Arguments()))
	}
	prompt, lasting := "  [y]es, [n]o, [a]ll in this session, or say what to do instead: ", host.Rememberable(w.State, c)
	switch {
	case once && q.Scope != "":
		prompt = "  [y]es, this once, [s]ession: always allow " + clip.Plain(q.Scope) + " in this session, [n]o, or say what to do instead: "
	case once:
		prompt = "  [y]es, this once, [n]o, or say what to do instead: "
	case lasting:
		prompt = "  [y]es, [n]o, [always] or [never] this very call, [a]ll in this session, or say what to do instead: "
	case q.Scope != "":
		prompt = "  [y]es, [n]o, [s]ite: everything that " + clip.Plain(c.Name) + " does on " + clip.Plain(q.Scope) +
			" in this session, [a]ll in this session, or say what to do instead: "
	}
	for {
		line, err := p.ask(ctx, p.print.Asked()+prompt)
		if err != nil {
			return nil, err
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); word {
		case "":
			continue
		case "y", "yes":
			r.Allow = true
		case "a", "all":
			if once {
				p.print.Question("%s", eachTime(q.Rule))
				continue
			}
			p.all[w.Session], r.Allow = true, true
		case "s", "site", "session":
			if q.Scope == "" {
				p.print.Question("this call cannot be allowed for the session")
				continue
			}
			r.Allow, r.Scope = true, q.Scope
		case "n", "no":
			r.Reason = "the person said no"
		case "always", "never":
			if once {
				p.print.Question("%s", eachTime(q.Rule))
				continue
			}
			if !lasting {
				p.print.Question("%v", host.ErrNotLasting)
				continue
			}
			r.Rule, r.Allow = host.ForGood, word == "always"
			if !r.Allow {
				r.Reason = "the person does not want it, now or later"
			}
		default:
			r.Reason = "the person said: " + strings.TrimSpace(line)
		}
		return r, nil
	}
}

// eachTime says why questions of a rule are asked each time.
func eachTime(rule string) string {
	if rule == gate.RuleProvenance {
		return "this is asked each time, since others chose the words"
	}
	return "this is asked each time, since it goes beyond what the session may do"
}
