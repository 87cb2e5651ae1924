package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// twice is how soon a key is to be pressed again to leave.
const twice = 2 * time.Second

// key handles a key: those that always mean the same, then the widget with the focus,
// then those of the conversation, and at last the composer.
func (p *program) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch name {
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	}
	leaving := p.leaving
	p.leaving = ""
	if name == "ctrl+c" {
		return p.cancel(leaving)
	}
	if cmd, ok := p.scrollKey(name); ok {
		return cmd
	}
	if len(p.stack) > 0 {
		return p.pass(k)
	}
	switch name {
	case "esc":
		if p.comp.closes() {
			return p.pass(k)
		}
		return p.escape(leaving)
	case "ctrl+d":
		if p.comp.empty() {
			return p.quit()
		}
	case "ctrl+o":
		p.unfold()
		return nil
	case "alt+up":
		p.choose(-1)
		return nil
	case "alt+down":
		p.choose(1)
		return nil
	case "ctrl+b":
		p.panel.on = !p.panel.on
		return nil
	case "ctrl+s":
		return p.listSessions()
	case "ctrl+k":
		return p.palette()
	case "shift+tab":
		return p.nextMode()
	}
	return p.pass(k)
}

// scrollKey handles the keys that move the conversation, or the text of a list.
func (p *program) scrollKey(name string) (tea.Cmd, bool) {
	if l := p.listOnTop(); l != nil {
		step := map[string]int{"pgup": 1 - l.page, "pgdown": l.page - 1, "ctrl+up": -1, "shift+up": -1, "ctrl+down": 1, "shift+down": 1}[name]
		if step != 0 && l.scroll(step) {
			return nil, true
		}
	}
	switch name {
	case "pgup":
		return p.scroll(p.window.height(p) - 2), true
	case "pgdown":
		return p.scroll(2 - p.window.height(p)), true
	case "ctrl+up", "shift+up":
		return p.scroll(1), true
	case "ctrl+down", "shift+down":
		return p.scroll(-1), true
	case "ctrl+home":
		return p.jump(1), true
	case "ctrl+end":
		p.chosen = nil
		return p.jump(0), true
	}
	return nil, false
}

// listOnTop returns the list that has the focus; nil: none.
func (p *program) listOnTop() *list {
	if n := len(p.stack); n > 0 {
		l, _ := p.stack[n-1].(*list)
		return l
	}
	return nil
}

// wheel scrolls.
func (p *program) wheel(m tea.MouseWheelMsg) tea.Cmd {
	up := map[tea.MouseButton]int{tea.MouseWheelUp: 3, tea.MouseWheelDown: -3}[m.Button]
	if l := p.listOnTop(); up == 0 || l != nil && l.scroll(-up) {
		return nil
	}
	return p.scroll(up)
}

// scroll moves the conversation up by n lines, or down if n is negative.
func (p *program) scroll(n int) tea.Cmd {
	p.window.scroll(n, p.scene())
	return nil
}

// click folds or unfolds the block that the person points at.
func (p *program) click(m tea.MouseClickMsg) {
	if m.Button != tea.MouseLeft || len(p.stack) > 0 {
		return
	}
	if b := p.blockAt(m.Y); b != nil && b.folds() {
		b.open = !b.open
		b.Rev++
	}
}

// unfold shows all of the chosen block, or of all blocks; or less again.
func (p *program) unfold() {
	if p.chosen == nil {
		p.all = !p.all
		return
	}
	p.chosen.open = !p.chosen.open
	p.chosen.Rev++
}

// choose chooses the next block that can be unfolded, upwards or downwards.
func (p *program) choose(step int) {
	all := p.window.flat(p.session)
	i := index(all, p.chosen)
	if i < 0 {
		if i = len(all); step > 0 {
			return
		}
	}
	for i += step; i >= 0 && i < len(all); i += step {
		if all[i].folds() {
			p.chosen = all[i]
			p.reveal(i, all)
			return
		}
	}
	if step > 0 {
		p.chosen, p.window.pinned = nil, p.window.atEnd
	}
}

// reveal scrolls so that the chosen block is on the screen.
func (p *program) reveal(i int, all []*block) {
	top, bottom := index(all, p.window.top), len(all)-1
	if !p.window.pinned {
		bottom = index(all, p.window.anchor)
	}
	if i <= top || i > bottom {
		p.window.pinned, p.window.anchor, p.window.hidden = false, p.chosen, 0
		if i < len(all)-1 && i <= top {
			p.window.scroll(-(p.window.height(p) / 2), p.scene())
		}
	}
}

// escape interrupts what runs; pressed again soon, it leaves.
func (p *program) escape(leaving string) tea.Cmd {
	switch {
	case p.chosen != nil:
		p.chosen, p.window.pinned = nil, p.window.atEnd
		return nil
	case leaving == "esc" && p.now().Sub(p.escaped) < twice:
		return p.quit()
	}
	p.leaving, p.escaped = "esc", p.now()
	if p.session.Working() || len(p.questions()) > 0 {
		return p.interrupt()
	}
	return nil
}

// cancel handles Ctrl-C: it puts what is typed into the history, or else interrupts what
// runs, or else leaves when it is pressed twice.
func (p *program) cancel(leaving string) tea.Cmd {
	if n := len(p.stack); n > 0 {
		p.pop(p.stack[n-1])
		return nil
	}
	if !p.comp.empty() {
		p.comp.putAway()
		return nil
	}
	if leaving == "ctrl+c" && p.now().Sub(p.escaped) < twice {
		return p.quit()
	}
	p.leaving, p.escaped = "ctrl+c", p.now()
	if p.session.Working() {
		return p.interrupt()
	}
	return nil
}

// quit ends the program.
func (p *program) quit() tea.Cmd {
	p.quitting = true
	return tea.Quit
}
