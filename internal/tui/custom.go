package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
)

// readCommands reads the commands of the person, which then stand beside those of the
// program.
func (p *program) readCommands() tea.Cmd {
	if p.o.Commands == nil {
		return nil
	}
	return p.do(func(ctx context.Context) tea.Msg {
		all, err := p.o.Commands(ctx)
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		return then(func(p *program) tea.Cmd {
			p.custom = all
			return nil
		})
	})
}

// commands returns all commands: those of the program, and those of the person whose
// names are not taken.
func (p *program) commands() []slashCommand {
	all := slashCommands()
	for _, c := range p.custom {
		name := "/" + c.Name
		if !slices.ContainsFunc(all, func(o slashCommand) bool { return o.name == name }) {
			all = append(all, slashCommand{name, c.Arguments, c.Help, false, func(p *program, rest string) tea.Cmd { return p.use(c, rest) }})
		}
	}
	return all
}

// use says what a command of the person stands for, after what it goes on with was
// chosen. If that cannot be, nothing is said.
func (p *program) use(c Custom, arguments string) tea.Cmd {
	set := Setting{Model: c.Model, Mode: c.Mode}
	if c.Strict && set.Mode != "" {
		set.Mode = openmanus.Stricter(set.Mode, p.modeNow())
	}
	if p.id == "" {
		set.Agent = c.Agent
	}
	text, id := c.Expand(arguments), p.id
	if set == (Setting{}) {
		return p.say(text, nil)
	}
	return p.do(func(ctx context.Context) tea.Msg {
		// One after the other, since a session changes one thing at a time.
		for _, s := range []Setting{{Agent: set.Agent}, {Model: set.Model}, {Mode: set.Mode}} {
			if s == (Setting{}) {
				continue
			}
			if err := p.src.Change(ctx, id, s); err != nil {
				return noticeMsg{"/" + c.Name + ": " + err.Error(), true}
			}
		}
		return then(func(p *program) tea.Cmd {
			p.holds(set)
			return p.say(text, nil)
		})
	})
}
