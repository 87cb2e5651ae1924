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

// begin looks whether something is missing. ready says that the person has set it up.
func (p *program) begin(ready bool) tea.Cmd {
	if p.o.Begin == nil {
		return nil
	}
	return p.do(func(ctx context.Context) tea.Msg {
		if p.o.Begin.Refused != nil && p.id == "" && p.o.Session == "" {
			if other, why := p.o.Begin.Refused(); why != nil {
				return refused(why, other)
			}
		}
		return p.missing(p.o.Begin.Missing(ctx), ready)
	})
}

// refused says why no session may work in the current directory, before anything is typed,
// and offers another one.
func refused(why error, other string) tea.Msg {
	items := []item{{text: "later", detail: "sessions that exist can be read", run: func(*program) tea.Cmd { return nil }}}
	if other != "" {
		items = slices.Insert(items, 0, item{text: "work in a new directory", detail: other, run: func(p *program) tea.Cmd {
			return p.do(func(context.Context) tea.Msg {
				if err := p.o.Begin.Move(other); err != nil {
					return noticeMsg{err.Error(), true}
				}
				return then(func(p *program) tea.Cmd {
					p.addNotice(false, "the agent works in "+other)
					return p.begin(false)
				})
			})
		}})
	}
	return show(&list{title: "No agent works in this directory", above: []string{why.Error()}, details: true, items: items})
}

// missing offers a setup and a demo if no model is configured yet. After the setup it says
// that the program is ready.
func (p *program) missing(err error, ready bool) tea.Msg {
	switch {
	case err == nil && ready:
		return noticeMsg{"ready: write what you want done", false}
	case err == nil || p.ctx.Err() != nil:
		return nil
	}
	return show(&list{title: "There is no model yet", above: []string{err.Error()}, details: true, items: []item{
		{text: "set one up now", detail: "asks for provider, key and model, and tries them", run: func(p *program) tea.Cmd {
			return p.lend(p.o.Begin.Setup, func(error) tea.Msg { return p.begin(true)() })
		}},
		{text: "watch the demo", detail: "a script speaks, and the tools are real", run: func(p *program) tea.Cmd {
			return p.lend(p.o.Begin.Demo, func(failed error) tea.Msg {
				if failed != nil {
					return noticeMsg{failed.Error(), true}
				}
				return p.missing(err, false)
			})
		}},
		{text: "later", detail: "openmanus setup", run: func(*program) tea.Cmd { return nil }},
	}})
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
