package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A Notice is a remark of the program for the person.
type Notice struct {
	Text string
	Bad  bool // something went wrong
}

// An Ask is a question of the program, not of an agent: one line is the answer. Reply
// has room for it; "" if the person did not answer.
type Ask struct {
	Question string
	Reply    chan string
}

// listen returns a command that waits for one notice of the program's host. The program
// calls it again after each. Without notices it is nil.
func (p *program) listen() tea.Cmd {
	if p.o.Notices == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case n := <-p.o.Notices:
			return then(func(p *program) tea.Cmd {
				p.addNotice(n.Bad, n.Text)
				return p.listen()
			})
		case <-p.ctx.Done():
			return nil
		}
	}
}

// await returns a command that waits for one question of the program itself, such as
// whether to trust a workspace. The program calls it again after each answer.
func (p *program) await() tea.Cmd {
	if p.o.Asks == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case a := <-p.o.Asks:
			return then(func(p *program) tea.Cmd {
				p.push(&asking{Ask: a})
				return nil
			})
		case <-p.ctx.Done():
			return nil
		}
	}
}

// An asking is the widget of a question of the program.
type asking struct {
	Ask
	typed string
}

// update implements widget. Enter sends the typed answer, and Esc an empty one; each
// question gets exactly one reply.
func (a *asking) update(p *program, msg tea.Msg) (bool, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		a.typed += clip.OneLine(msg.Content)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "esc":
			a.Reply <- ""
			return true, p.await()
		case "enter":
			a.Reply <- a.typed
			return true, p.await()
		case "backspace":
			if r := []rune(a.typed); len(r) > 0 {
				a.typed = string(r[:len(r)-1])
			}
		default:
			a.typed += msg.Text
		}
	}
	return false, nil
}

// view implements widget.
func (a *asking) view(p *program, width, height int) (lines []string, at caret) {
	for _, l := range wrap(clip.Visible(a.Question), width-2) {
		lines = append(lines, p.theme.ask("? ")+l)
	}
	lines = lines[max(0, len(lines)-height+1):]
	line := p.theme.accent("> ") + clip.Visible(a.typed)
	return append(lines, line), caret{min(columns(line), width-1), len(lines), true}
}
