package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

const (
	panelColumns = 36  // of the side panel, with the space before it
	panelFrom    = 110 // columns of a terminal from which on there is room for it
)

// layout draws the screen anew: afterwards p.frame has a line for each row, and p.caret is
// where the cursor stands.
func (p *program) layout() {
	width := p.mainWidth()
	bottom, at := p.bottom(width)
	room := max(0, p.height-len(bottom))
	var lines []string
	lines = p.window.draw(p.sceneOf(width, room))
	if p.id == "" {
		lines = append(p.welcome(width, room-len(lines)), lines...)
		for len(lines) < room {
			lines = append(lines, "")
		}
	}
	for len(lines) < room {
		lines = append([]string{""}, lines...)
	}
	lines = append(lines[len(lines)-room:], bottom...)
	if len(lines) > p.height {
		lines = lines[len(lines)-p.height:]
	}
	p.caret = caret{at.x, room + at.y, at.shown && room+at.y < p.height && at.x < p.width}
	for i, l := range lines {
		lines[i] = fitLine(l, width)
	}
	if width < p.width {
		side := p.panel.view(p, p.width-width-3, p.height)
		for i := range lines {
			if side[i] != "" { // no border: what scrolls beside it would have to be written again
				lines[i] = pad(lines[i], width) + "   " + side[i]
			}
		}
	}
	p.frame = lines
}

// mainWidth returns the columns of the conversation.
func (p *program) mainWidth() int {
	if p.panel.on && p.width >= panelFrom && p.panel.any(p) {
		return p.width - panelColumns
	}
	return p.width
}

// scene returns what the conversation is drawn with.
func (p *program) scene() scene {
	width := p.mainWidth()
	bottom, _ := p.bottom(width)
	return p.sceneOf(width, max(0, p.height-len(bottom)))
}

func (p *program) sceneOf(width, height int) scene {
	return scene{drawing{p.theme, p.all}, width, height, p.now(), p.session, p.chosen, width < p.width}
}

// height returns how many lines of the conversation are on the screen.
func (w *window) height(p *program) int { return p.scene().height }

// bottom returns the lines below the conversation: messages on their way, what has the
// focus, and the status line.
func (p *program) bottom(width int) (lines []string, at caret) {
	t := p.theme
	for _, m := range p.sent {
		lines = append(lines, t.dim(clip.Fit("▌ "+clip.OneLine(clip.Visible(m.Text))+" (on its way)", width)))
	}
	if n := p.session.Unread(); n > 0 && p.session.Working() && (p.session.State.Open() || len(p.session.State.OpenChildren()) > 0) {
		lines = append(lines, t.dim(clip.Fit("▸ "+clip.Count(n, "message")+" will be read at the next step", width)))
	}
	if len(lines) > 2 {
		lines = lines[len(lines)-2:]
	}
	space := max(1, p.height-len(lines)-1)
	var own []string
	if n := len(p.stack); n > 0 {
		own, at = p.stack[n-1].view(p, width, max(1, space-min(3, space/3)))
	} else {
		own, at = p.comp.view(p, width, max(1, space/3))
	}
	if len(own) > space {
		cut := len(own) - space
		own, at.y = own[cut:], at.y-cut
		at.shown = at.shown && at.y >= 0
	}
	at.y += len(lines)
	lines = append(lines, own...)
	return append(lines, p.status(width)), at
}

// status returns the status line: how the session stands, what runs and for how long on
// the left, and what was used on the right. Less important parts are left out first.
func (p *program) status(width int) string {
	t := p.theme
	var left []string
	mode := p.modeNow()
	if mode != "" {
		left = append(left, t.accent(clip.Clean(mode)))
	}
	state := p.state()
	if state != "" {
		left = append(left, state)
	}
	model := p.session.State.Config.Model
	if model == "" {
		model = p.model
	}
	var right []string
	if n := p.session.State.Usage.Total(); n > 0 {
		right = append(right, short(n)+" tokens")
	}
	if cost := p.cost(); cost != "" {
		right = append(right, cost)
	}
	if full := p.session.Full(); full >= shownFull {
		right = append(right, fmt.Sprintf("%d%% of its window", full))
	}
	if model != "" {
		right = append(right, clip.Text(clip.OneLine(clip.Clean(model)), 40))
	}
	line := strings.Join(left, t.dim(" · "))
	for len(right) > 0 {
		text := t.dim(strings.Join(right, " · "))
		if gap := width - columns(line) - columns(text); gap >= 2 {
			return line + strings.Repeat(" ", gap) + text
		}
		right = right[:len(right)-1]
	}
	return fitLine(line, width)
}

// shownFull is from which part of the window on, in percent, the status line tells it.
const shownFull = 10

// modeNow returns what runs without a question.
func (p *program) modeNow() string {
	if mode := p.session.State.Config.Approve; p.id != "" && mode != "" {
		return mode
	}
	return p.mode
}

// cost returns the cost of the session, and its limit if there is one. It begins with ≥ if
// the price of a part is not known, and is "" without a cost.
func (p *program) cost() string {
	s := &p.session.State
	if s.Cost == 0 {
		return ""
	}
	text := money(s.Cost)
	if s.Unpriced > 0 {
		text = "≥ " + text
	}
	if s.Limits.Money > 0 {
		text += " of " + money(s.Limits.Money)
	}
	return text
}

var spinner = []rune("◐◓◑◒")

// state returns a phrase for the status line: how the session stands, or what the next
// press of a key does.
func (p *program) state() string {
	t := p.theme
	switch {
	case p.leaving == "esc" && p.now().Sub(p.escaped) < twice:
		return t.ask("Esc again leaves")
	case p.leaving == "ctrl+c" && p.now().Sub(p.escaped) < twice:
		return t.ask("Ctrl-C again leaves")
	case p.lost:
		return t.bad("not connected")
	case p.broken:
		return t.ask("broken off: Enter goes on")
	case len(p.sent) > 0 && p.id == "":
		return t.accent("starting")
	}
	if n := len(p.questions()); n > 0 && !p.session.Working() {
		return t.ask(clip.Count(n, "question") + " for you")
	}
	switch p.session.Status() {
	case openmanus.Running, openmanus.Waiting:
		what, since := p.doing()
		spin := spinner[int(p.now().UnixMilli()/tickEvery.Milliseconds())%len(spinner)]
		text := fmt.Sprintf("%c %s · %s", spin, what, duration(p.now().Sub(since)))
		return t.accent(text) + t.dim(" · Esc interrupts")
	case openmanus.Failed:
		return t.bad("failed: Enter tries again")
	case openmanus.Halted:
		return t.ask("stopped: Enter goes on")
	case openmanus.Finished:
		return t.good("finished")
	}
	if p.id == "" {
		return t.dim("/help lists the commands")
	}
	return ""
}

// doing returns the call that has run longest, or the number of calls if there are
// several, and the time at which that began.
func (p *program) doing() (what string, since time.Time) {
	since = p.session.State.Updated
	calls, begun := p.session.Running()
	for i, c := range calls {
		if i == 0 || begun[i].Before(since) {
			what, since = clip.Text(clip.OneLine(clip.Visible(c.Name)), 30), begun[i]
		}
	}
	switch below := len(p.session.State.OpenChildren()); {
	case len(calls) > 1:
		return clip.Count(len(calls), "call"), since
	case len(calls) == 1:
		return what, since
	case below > 0:
		return clip.Count(below, "agent"), since
	}
	if strings.TrimSpace(p.window.stream.reply.text) != "" {
		return "writing", since
	}
	if n := p.window.stream.read; n > 0 {
		return fmt.Sprintf("reading the prompt %d %%", n), since
	}
	return "thinking", since
}

// blockAt returns the block that stands in a row of the screen, or nil. The rows of the
// composer belong to none.
func (p *program) blockAt(y int) *block {
	s := p.scene()
	all := p.window.flat(p.session)
	row := s.height
	at := len(all) - 1
	if !p.window.pinned {
		if at = index(all, p.window.anchor); at >= 0 {
			row += p.window.hidden
		}
	} else {
		row -= len(p.window.streaming(s))
	}
	for ; at >= 0 && row > 0; at-- {
		row -= len(p.window.entry(all, at, s))
		if y >= row {
			return all[at]
		}
	}
	return nil
}

// welcome returns the lines of an empty screen, at most height: how to begin, and the most
// important keys.
func (p *program) welcome(width, height int) []string {
	t := p.theme
	var out []string
	add := func(paint func(string) string, text string) {
		for _, l := range wrap(text, width-2) {
			out = append(out, "  "+paint(l))
		}
	}
	plain := func(s string) string { return s }
	add(t.bold, "OpenManus")
	add(plain, "\nWrite what you want done, and press Enter.\n\n")
	add(t.dim, "@ names a file · / lists the commands · ! runs a command of your own")
	add(t.dim, "Ctrl-S lists the sessions · Ctrl-K everything · Shift-Tab changes the mode\n\n")
	add(t.dim, clip.Visible(p.src.Name()))
	out = append(out, "")
	return out[:max(0, min(len(out), height))]
}
