package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// turns returns the events of n requests: four of each.
func turns(n int) (all []openmanus.Body) {
	for i := range n {
		id := fmt.Sprint("c", i)
		all = append(all, userSays(fmt.Sprint("m", i), fmt.Sprint("request ", i)),
			openmanus.ModelSaid{Turn: 2 * i, Re: int64(4*i + 1), Stop: llm.ToolUse, Message: llm.Message{Parts: llm.Parts{llm.Call{ID: id, Name: "bash", Input: `{"command":"true"}`}}}},
			openmanus.CallDone{Call: id, Parts: llm.Parts{llm.Text{Text: "ok"}}},
			openmanus.ModelSaid{Turn: 2*i + 1, Re: int64(4*i + 3), Stop: llm.End, Message: llm.Message{Parts: llm.Parts{llm.Text{Text: fmt.Sprint("answer ", i)}}}})
	}
	return all
}

// settle carries out a command and those that follow from it, as Bubble Tea would, until
// only those are left that wait for events or take long: it returns these.
func settle(t *testing.T, p *program, cmd tea.Cmd) (left []<-chan tea.Msg) {
	t.Helper()
	for queue := []tea.Cmd{cmd}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == nil {
			continue
		}
		done := make(chan tea.Msg, 1)
		go func() { done <- queue[0]() }()
		select {
		case msg := <-done:
			if batch, ok := msg.(tea.BatchMsg); ok {
				queue = append(queue, batch...)
			} else if msg != nil {
				_, next := p.Update(msg)
				queue = append(queue, next)
			}
		case <-time.After(50 * time.Millisecond): // it follows the session
			left = append(left, done)
		}
	}
	return left
}

// press presses a key, and waits for a page that is read because of it, however long that
// takes.
func press(t *testing.T, p *program, k tea.KeyPressMsg) {
	t.Helper()
	_, cmd := p.Update(k)
	late := make(chan tea.Msg)
	wait := func(left []<-chan tea.Msg) {
		for _, done := range left {
			go func() {
				select {
				case late <- <-done:
				case <-t.Context().Done():
				}
			}()
		}
	}
	for wait(settle(t, p, cmd)); p.window.reading; {
		_, next := p.Update(<-late)
		wait(settle(t, p, next))
	}
}

// TestLongSession goes through a session of 20,000 events: only what is near the screen
// is read again and held.
func TestLongSession(t *testing.T) {
	const n = 5000
	src := newFake(turns(n)...)
	ctx, cancel := context.WithCancel(t.Context())
	p := newProgram(ctx, Options{Source: src, Session: "s1", Theme: Theme{Name: "none"}})
	defer func() { p.close(cancel) }()
	p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	left := settle(t, p, p.Init())
	late := make(chan tea.Msg, len(left))
	for _, done := range left {
		go func() { late <- <-done }()
	}
	for len(p.session.State.Requests) < n { // what was before is being read
		p.Update(<-late)
	}
	sees := func(want string) {
		t.Helper()
		if got := shownOf(p); !strings.Contains(got, want) {
			t.Fatalf("no %q:\n%s", want, got)
		}
	}
	sees("answer 4999")
	for range 400 {
		press(t, p, tea.KeyPressMsg{Code: tea.KeyPgUp})
	}
	held := 0
	for _, pg := range p.window.pages {
		held += int(pg.Last - pg.First + 1)
	}
	if held > (pagesKept+1)*pageEvents {
		t.Errorf("%d events are held", held)
	}
	if p.window.atEnd || p.window.pinned {
		t.Error("the end is still held")
	}
	press(t, p, tea.KeyPressMsg{Code: tea.KeyHome, Mod: tea.ModCtrl})
	sees("request 0")
	src.append(userSays("late", "while it was away"))
	for range 20 {
		press(t, p, tea.KeyPressMsg{Code: tea.KeyPgDown})
	}
	press(t, p, tea.KeyPressMsg{Code: tea.KeyEnd, Mod: tea.ModCtrl})
	sees("answer 4999")
	if got := p.session.Title(); got != "request 0" {
		t.Errorf("what was before is not joined: the title is %q", got)
	}
}

// If the screen cannot read the beginning of a session, it says why, once, and tries again.
func TestTheBeginningIsReadAgain(t *testing.T) {
	p := newProgram(t.Context(), Options{Source: newFake(), Theme: Theme{Name: "none"}})
	p.id, p.width, p.height = "s1", 60, 20
	evs := stored(0, turns(2)...)
	last := newPage(5)
	for _, ev := range evs[4:] {
		last.apply(ev)
		p.session.Apply(ev)
	}
	p.window.reset(last)
	known := ""
	for range 2 {
		again := p.join(nil, 4, known, errors.New("unreachable"))
		if again == nil {
			t.Fatal("it is not read again")
		}
		known = "unreachable"
	}
	p.layout()
	if got := shownOf(p); strings.Count(got, "unreachable") != 1 {
		t.Errorf("it shows\n%s", got)
	}
	p.src = newFake(turns(1)...)
	settle(t, p, p.readBefore(4, known))
	if got := p.session.State.Requests; len(got) != 2 {
		t.Errorf("what was before is not joined: %q", got)
	}
}

// TestPages reads a session in pages of every size: the calls of one page get the
// results in another, whichever is read first.
func TestPages(t *testing.T) {
	evs := stored(0, turns(5)...)
	want := screenOf(t, 60, 40, evs)
	for size := 1; size <= len(evs); size++ {
		p := newProgram(t.Context(), Options{Theme: Theme{Name: "none"}})
		p.id, p.width, p.height = "s1", 60, 40
		p.now = func() time.Time { return start.Add(100 * time.Second) }
		last := newPage(int64(len(evs) - size + 1))
		for _, ev := range evs[len(evs)-size:] {
			last.apply(ev)
			p.session.Apply(ev)
		}
		p.window.reset(last)
		for first := len(evs) - size; first > 0; {
			from := max(0, first-size)
			pg := newPage(int64(from + 1))
			for _, ev := range evs[from:first] {
				pg.apply(ev)
			}
			p.window.before(pg)
			first = from
		}
		before := new(view.Session)
		for _, ev := range evs[:len(evs)-size] {
			before.Apply(ev)
		}
		p.session.Join(before)
		p.layout()
		if got := shownOf(p); got != want && size*pagesKept >= len(evs) {
			t.Errorf("pages of %d:\n%s\nwant:\n%s", size, got, want)
		}
	}
}
