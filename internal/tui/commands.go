package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/near"
)

// A slashCommand is a command that begins with a slash.
type slashCommand struct {
	name, args, help string
	session          bool // it needs a session
	run              func(p *program, rest string) tea.Cmd
}

// slashCommands returns the commands, in the order in which /help lists them. Those with
// session set need one that is open.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"/help", "", "this list", false, func(p *program, _ string) tea.Cmd { return p.help() }},
		{"/new", "", "begin a new session", false, func(p *program, _ string) tea.Cmd { p.leave(); return p.panel.refresh(p) }},
		{"/sessions", "", "list the sessions; those that need you come first (Ctrl-S)", false, func(p *program, _ string) tea.Cmd { return p.listSessions() }},
		{"/search", "WORDS", "find sessions by what was said in them", false, (*program).searchFor},
		{"/model", "NAME", "use another model from here on", false, (*program).setModel},
		{"/mode", "MODE", "what runs without a question: " + strings.Join(openmanus.Modes, ", ") + " (Shift-Tab)", false, (*program).setMode},
		{"/agent", "NAME", "use another agent in the next session", false, (*program).setAgent},
		{"/fork", "", "go on in a copy, of the files too; this session stays as it is", true, (*program).fork},
		{"/undo", "", "take back your last message, and what it changed in files", true, func(p *program, _ string) tea.Cmd { return p.back(act.Rewind{Last: true, Files: true, Talk: true}) }},
		{"/redo", "", "take that back", true, func(p *program, _ string) tea.Cmd { return p.back(act.Rewind{Redo: true}) }},
		{"/rewind", "N", "go back to event N; without N, to before the chosen block (Alt-Up)", true, (*program).rewind},
		{"/continue", "", "go on after a stop or a failure", true, func(p *program, _ string) tea.Cmd { return p.goOn() }},
		{"/cost", "", "the tokens and the cost of this session, and how much of the model's window it fills", true, func(p *program, _ string) tea.Cmd { return p.tellCost() }},
		{"/copy", "", "copy the last answer, to the clipboard of your terminal", true, func(p *program, _ string) tea.Cmd { return p.copyAnswer() }},
		{"/mcp", "", "the MCP servers: approve, try, switch on and off", false, func(p *program, _ string) tea.Cmd { return p.listServers() }},
		{"/settings", "", "what is set, and where; edit it in $EDITOR", false, func(p *program, _ string) tea.Cmd { return p.listSettings() }},
		{"/theme", "NAME", "other colours, which are kept", false, (*program).setTheme},
		{"/quit", "", "leave", false, func(p *program, _ string) tea.Cmd { return p.quit() }},
	}
}

// commandLine carries out a text that is a command. It returns false if it is not one,
// such as a path.
func (p *program) commandLine(text string) (tea.Cmd, bool) {
	word, rest, _ := strings.Cut(text, " ")
	if !strings.HasPrefix(word, "/") || strings.Contains(word[1:], "/") || strings.Contains(word, "\n") {
		return nil, false
	}
	return p.command(word, strings.TrimSpace(rest)), true
}

// command carries out a command. A name that does not exist gets a suggestion.
func (p *program) command(word, rest string) tea.Cmd {
	all := p.commands()
	if word == "/exit" {
		word = "/quit"
	}
	i := slices.IndexFunc(all, func(c slashCommand) bool { return c.name == word })
	switch {
	case i < 0:
		var names []string
		for _, c := range all {
			names = append(names, c.name)
		}
		hint := ""
		if s := near.Nearest(word, names); s != "" {
			hint = "; did you mean " + s + "?"
		}
		return p.notice(true, "there is no command %s%s; /help lists the commands", word, hint)
	case all[i].session && p.id == "":
		return p.notice(true, "%s: nothing was asked yet", word)
	}
	return all[i].run(p, rest)
}

// help shows the commands and the keys as a notice, which stays until the next one.
func (p *program) help() tea.Cmd {
	var b strings.Builder
	for _, c := range p.commands() {
		fmt.Fprintf(&b, "%-18s %s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	b.WriteString(`
Enter              send; while the agent works, it reads it at the next step
Shift-Enter        a new line (or Alt-Enter, Ctrl-J, or \ at the end of a line)
Esc                interrupt; twice: leave. What you typed is never lost by Ctrl-C
PgUp, PgDn, wheel  scroll; Ctrl-Home, Ctrl-End: beginning and end
Alt-Up, Alt-Down   choose a block; Ctrl-O unfolds it, or all
Ctrl-B             the panel beside the conversation`)
	return p.notice(false, "%s", b.String())
}

// tellCost shows what the session used: tokens, cost and the share of the model's window.
// Estimates, and prices that are not known, are named as such.
func (p *program) tellCost() tea.Cmd {
	s := p.session
	u := s.State.Usage
	text := fmt.Sprintf("%d tokens in (%d cached), %d out", u.Input, u.Cached, u.Output)
	if u.Estimated > 0 {
		text += fmt.Sprintf(", of which %d are estimated", u.Estimated)
	}
	if n := s.State.Limits.Tokens; n > 0 {
		text += fmt.Sprintf("; the limit is %d", n)
	}
	if cost := p.cost(); cost != "" {
		text += "\n" + cost
	} else if s.State.Unpriced > 0 {
		text += "\nthe price of the model is not known"
	}
	if w := s.State.Window().Tokens; w > 0 && s.Request > 0 {
		text += fmt.Sprintf("\nthe next request begins with %d tokens, %d%% of the model's window of %d", s.Request, s.Full(), w)
	}
	return p.notice(false, "%s", text)
}

// copyAnswer has the terminal put the last words of the agent on its clipboard (OSC 52).
// No program learns whether it does.
func (p *program) copyAnswer() tea.Cmd {
	if p.session.Answer == "" {
		return p.notice(true, "/copy: the agent has not said anything yet")
	}
	p.addNotice(false, fmt.Sprintf("the terminal was asked to copy the last answer, %s; some ask you first, and some do not do it", clip.Count(len([]rune(p.session.Answer)), "character")))
	return tea.SetClipboard(clip.Visible(p.session.Answer))
}

func (p *program) searchFor(words string) tea.Cmd {
	if words == "" {
		return p.notice(true, "what for? /search WORDS")
	}
	return p.search(words)
}

// setModel changes the model; without a name it lists them.
func (p *program) setModel(name string) tea.Cmd {
	if name == "" {
		return p.choices("Models", p.src.Models, func(p *program, name string) tea.Cmd { return p.setModel(name) })
	}
	return p.change(Setting{Model: name})
}

// setAgent chooses the agent of the next session; without a name it lists them.
func (p *program) setAgent(name string) tea.Cmd {
	if name == "" {
		return p.choices("Agents", p.src.Agents, func(p *program, name string) tea.Cmd { return p.setAgent(name) })
	}
	return p.do(func(ctx context.Context) tea.Msg {
		if err := p.src.Change(ctx, "", Setting{Agent: name}); err != nil {
			return noticeMsg{err.Error(), true}
		}
		return noticeMsg{"the next session (/new) has the agent " + name, false}
	})
}

func (p *program) setMode(mode string) tea.Cmd {
	if mode == "" {
		return p.nextMode()
	}
	return p.change(Setting{Mode: mode})
}

// holds notes a setting of the next session that was changed.
func (p *program) holds(s Setting) {
	if p.id == "" {
		p.mode, p.model = cmp.Or(s.Mode, p.mode), cmp.Or(s.Model, p.model)
	}
}

// change changes a setting of the session on the screen, or of the next one. If the
// conversation would go to another provider for the first time, the person is asked first.
func (p *program) change(s Setting) tea.Cmd {
	id := p.id
	return p.do(func(ctx context.Context) tea.Msg {
		err := p.src.Change(ctx, id, s)
		if e := (*Elsewhere)(nil); errors.As(err, &e) {
			return show(elsewhere(s, e))
		}
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		return then(func(p *program) tea.Cmd {
			p.holds(s)
			return nil
		})
	})
}

// choices reads a list of names, and shows it for the person to choose from. chosen runs
// with the name.
func (p *program) choices(title string, read func(context.Context) ([]Named, error), chosen func(*program, string) tea.Cmd) tea.Cmd {
	return p.do(func(ctx context.Context) tea.Msg {
		all, err := read(ctx)
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		l := &list{title: title}
		for _, n := range all {
			l.items = append(l.items, item{text: n.Name, detail: n.About, run: func(p *program) tea.Cmd { return chosen(p, n.Name) }})
		}
		return show(l)
	})
}

// fork continues in a copy of the session, up to the chosen block if there is one. The
// original stays as it is.
func (p *program) fork(string) tea.Cmd {
	id, at := p.id, int64(0)
	if p.chosen != nil {
		at = p.chosen.Seq
	}
	return p.do(func(ctx context.Context) tea.Msg {
		to, err := p.src.Fork(ctx, id, at)
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		return then(func(p *program) tea.Cmd { return p.show(to) })
	})
}

// rewind goes back to an event, or to before the chosen block, or without either to before
// the last message. Files go back too.
func (p *program) rewind(rest string) tea.Cmd {
	to, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case rest == "" && p.chosen != nil:
		to = p.chosen.Seq - 1
	case rest == "":
		return p.back(act.Rewind{Last: true, Files: true, Talk: true})
	case err != nil || to < 1:
		return p.notice(true, "to which event? /rewind N, or choose a block with Alt-Up and say /rewind")
	}
	return p.back(act.Rewind{To: to, Files: true, Talk: true})
}

// back shows what going back would change, and asks whether to do it. It changes nothing
// itself.
func (p *program) back(b act.Rewind) tea.Cmd {
	id := p.id
	return p.do(func(ctx context.Context) tea.Msg {
		b.Plan = true
		plan, err := p.src.Back(ctx, id, b)
		switch {
		case err != nil:
			return noticeMsg{err.Error(), true}
		case plan.Nothing:
			return noticeMsg{"nothing would change", false}
		}
		return show(backList(id, b, plan))
	})
}

// backList asks whether to go back.
func backList(id string, b act.Rewind, plan *act.Rewinding) *list {
	b.Plan = false
	return &list{title: "Go back?", above: linemode.PlanLines(id, plan), items: []item{
		{text: "yes, do that", run: func(p *program) tea.Cmd {
			return p.do(func(ctx context.Context) tea.Msg {
				done, err := p.src.Back(ctx, id, b)
				if err != nil {
					return noticeMsg{err.Error(), true}
				}
				return noticeMsg{clip.OneLine(linemode.DoneText(id, done)), false}
			})
		}},
		{text: "no, nothing changes", run: func(*program) tea.Cmd { return nil }},
	}}
}

// palette opens the list of everything that can be done.
func (p *program) palette() tea.Cmd {
	l := &list{title: "Commands"}
	for _, c := range p.commands() {
		l.items = append(l.items, item{text: c.name, detail: c.help, run: func(p *program) tea.Cmd { return p.command(c.name, "") }})
	}
	p.push(l)
	return nil
}
