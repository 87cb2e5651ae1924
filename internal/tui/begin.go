package tui

import (
	"context"
	"io"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// A Beginning leads a person to whom something is missing before any session can begin,
// such as a model. Setup and Demo have the terminal for themselves while they run.
type Beginning struct {
	Missing func(ctx context.Context) error // what is missing; nil: nothing
	Setup   func(ctx context.Context) error // asks for it, and saves it
	Demo    func(ctx context.Context) error // shows what works without

	// Refused says why no session may work in the current directory, and names another
	// one, which Move makes and uses; other is "" if there is none. Nil, and a nil why:
	// it may.
	Refused func() (other string, why error)
	Move    func(dir string) error
}

// A missingMsg says what is missing, or, after a setup, that nothing is.
type missingMsg struct {
	err   error
	ready bool
}

// begin looks whether something is missing. ready says that the person has set it up.
func (p *program) begin(ready bool) tea.Cmd {
	if p.o.Begin == nil {
		return nil
	}
	return p.do(func(ctx context.Context) tea.Msg {
		if p.o.Begin.Refused != nil && p.id == "" && p.o.Session == "" {
			if other, why := p.o.Begin.Refused(); why != nil {
				return refusedMsg{why, other}
			}
		}
		return missingMsg{p.o.Begin.Missing(ctx), ready}
	})
}

// A refusedMsg says that no session may work in the current directory, before anything is typed.
type refusedMsg struct {
	why   error
	other string
}

// refused offers another directory.
func (p *program) refused(msg refusedMsg) tea.Cmd {
	items := []item{{text: "later", detail: "sessions that exist can be read", run: func(*program) tea.Cmd { return nil }}}
	if msg.other != "" {
		items = slices.Insert(items, 0, item{text: "work in a new directory", detail: msg.other, run: func(p *program) tea.Cmd {
			return p.do(func(context.Context) tea.Msg {
				if err := p.o.Begin.Move(msg.other); err != nil {
					return noticeMsg{err.Error(), true}
				}
				return movedMsg{msg.other}
			})
		}})
	}
	p.push(&list{title: "No agent works in this directory", above: []string{msg.why.Error()}, details: true, items: items})
	return nil
}

// A movedMsg says in which directory new sessions work from now on.
type movedMsg struct{ dir string }

// missing offers a setup and a demo if no model is configured yet. After the setup it says
// that the program is ready.
func (p *program) missing(msg missingMsg) tea.Cmd {
	switch {
	case msg.err == nil && msg.ready:
		return p.notice(false, "ready: write what you want done")
	case msg.err == nil || p.ctx.Err() != nil:
		return nil
	}
	p.push(&list{title: "There is no model yet", above: []string{msg.err.Error()}, details: true, items: []item{
		{text: "set one up now", detail: "asks for provider, key and model, and tries them", run: func(p *program) tea.Cmd {
			return p.lend(p.o.Begin.Setup, func(error) tea.Msg { return p.begin(true)() })
		}},
		{text: "watch the demo", detail: "a script speaks, and the tools are real", run: func(p *program) tea.Cmd {
			return p.lend(p.o.Begin.Demo, func(err error) tea.Msg {
				if err != nil {
					return noticeMsg{err.Error(), true}
				}
				return missingMsg{err: msg.err}
			})
		}},
		{text: "later", detail: "openmanus setup", run: func(*program) tea.Cmd { return nil }},
	}})
	return nil
}

// lend gives the terminal to run, and then takes it back.
func (p *program) lend(run func(context.Context) error, then func(error) tea.Msg) tea.Cmd {
	return tea.Exec(lent{p.ctx, run}, then)
}

// A lent is code that has the terminal for itself. It knows its own files.
type lent struct {
	ctx context.Context
	run func(context.Context) error
}

// Run implements [tea.ExecCommand].
func (l lent) Run() error { return l.run(l.ctx) }

// SetStdin implements [tea.ExecCommand].
func (lent) SetStdin(io.Reader) {}

// SetStdout implements [tea.ExecCommand].
func (lent) SetStdout(io.Writer) {}

// SetStderr implements [tea.ExecCommand].
func (lent) SetStderr(io.Writer) {}
