package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A composer is where the person types. Typed text is never lost: Ctrl-C moves it
// into the history, and a message that could not be sent comes back.
type composer struct {
	textBuffer
	past   *history
	dir    string // where @paths begin; "": there are none
	pastes []paste
	killed string   // what was cut last, for Ctrl-Y
	undone []string // the text before each of the last changes, for Ctrl-_
	offers offers   // completions of what stands before the caret
	width  int      // of the rows, as they were drawn last

	dismissed string // the question that the person put off: see question.key
	planned   int64  // the event after which a plan was shown
}

func newComposer(o Options) *composer {
	return &composer{textBuffer: newBuffer(""), past: newHistory(o.DataDir), dir: o.Dir}
}

// empty reports whether nothing is typed.
func (c *composer) empty() bool { return c.text == "" }

// closes reports whether Esc closes something in the composer.
func (c *composer) closes() bool { return len(c.offers.all) > 0 }

// putAway moves what is typed into the history, where Up finds it.
func (c *composer) putAway() {
	c.past.add(c.full())
	c.reset()
}

// restore brings a text back that could not be sent. Text that was typed meanwhile
// stays.
func (c *composer) restore(text string) {
	if c.text != "" {
		text += "\n" + c.text
	}
	c.set(text)
}

// reset begins a new text.
func (c *composer) reset() {
	c.set("")
	c.pastes, c.tokens, c.undone, c.offers = nil, nil, nil, offers{}
	c.past.leave()
}

// full returns the text as it is sent: pasted texts are in place of their chips.
func (c *composer) full() string {
	text := c.text
	for _, p := range c.pastes {
		if p.file == "" {
			text = strings.ReplaceAll(text, p.token, p.text)
		}
	}
	return text
}

// update handles keys and pastes. Every change can be undone. An empty paste is how a
// terminal pastes a picture.
func (c *composer) update(p *program, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		return c.change(p, func() tea.Cmd {
			if c.paste(msg.Content); msg.Content == "" { // so a terminal pastes a picture
				return p.pastePicture(true)
			}
			return nil
		})
	case tea.KeyPressMsg:
		return c.change(p, func() tea.Cmd { return c.key(p, msg) })
	}
	return nil
}

// change calls f, which may change the text, and remembers what it was.
func (c *composer) change(p *program, f func() tea.Cmd) tea.Cmd {
	was := c.text
	cmd := f()
	if c.text != was {
		c.remember(was)
		c.offers = c.offer(p)
		if c.text == "" && cmd == nil {
			cmd = p.asked() // a question waited until nothing was typed
		}
	}
	return cmd
}

// remember keeps a text for Ctrl-_.
func (c *composer) remember(was string) {
	const most = 200
	if n := len(c.undone); n == 0 || c.undone[n-1] != was {
		c.undone = append(c.undone[max(0, n-most):], was)
	}
}

// key handles a key: first the completions, then the keys with a meaning, and otherwise
// the key's text is inserted.
func (c *composer) key(p *program, k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if len(c.offers.all) > 0 && c.choose(name) {
		return nil
	}
	switch name {
	case "enter":
		return c.enter(p)
	case "ctrl+g":
		return edit("message-*.md", c.full(), func(_ *program, text string) tea.Cmd {
			c.reset()
			c.set(strings.TrimRight(text, "\n"))
			return nil
		})
	case "ctrl+r":
		return c.search(p)
	case "ctrl+v":
		return p.pastePicture(false)
	case "ctrl+_", "ctrl+-", "ctrl+/":
		if n := len(c.undone); n > 0 {
			text := c.undone[n-1]
			c.undone = c.undone[:n-1]
			c.set(text)
			c.offers = offers{}
		}
	default:
		c.typed(name, k.Text)
	}
	return nil
}

// typed handles a key of which only the text knows: it moves the caret, through the history
// too, or changes the text.
func (c *composer) typed(name, text string) {
	switch name {
	case "shift+enter", "alt+enter", "ctrl+j":
		c.insert("\n")
	case "up", "ctrl+p":
		if !c.vertical(-1, c.width) {
			c.recall(-1)
		}
	case "down", "ctrl+n":
		if !c.vertical(1, c.width) {
			c.recall(1)
		}
	default:
		if !c.edit(name) && text != "" {
			c.insert(text)
		}
	}
}

// edit handles a key that moves the caret or changes the text. It returns false for
// others.
func (b *composer) edit(name string) bool {
	b.want = -1
	switch name {
	case "left", "ctrl+b":
		b.at = b.prev(b.at)
	case "right", "ctrl+f":
		b.at = b.next(min(b.at, len(b.text)))
	case "alt+left", "ctrl+left", "alt+b":
		b.at = b.word(-1)
	case "alt+right", "ctrl+right", "alt+f":
		b.at = b.word(1)
	case "home", "ctrl+a":
		b.at = b.lineStart()
	case "end", "ctrl+e":
		b.at = b.lineEnd()
	case "backspace", "ctrl+h", "shift+backspace":
		b.cut(b.prev(b.at))
	case "delete", "ctrl+d":
		b.cut(b.next(b.at))
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		b.killed = b.cut(b.word(-1))
	case "alt+d", "ctrl+delete":
		b.killed = b.cut(b.word(1))
	case "ctrl+u":
		b.killed = b.cut(b.lineStart())
	case "alt+k":
		b.killed = b.cut(b.lineEnd())
	case "ctrl+y":
		b.insert(b.killed)
	default:
		return false
	}
	return true
}

// enter sends what is typed, or carries out a command. A \ at the end of the line is a
// new line instead.
func (c *composer) enter(p *program) tea.Cmd {
	if before := c.text[:c.at]; strings.HasSuffix(before, `\`) && c.at == len(c.text) {
		c.cut(c.at - 1)
		c.insert("\n")
		return nil
	}
	text := c.full()
	var attach []string
	for _, a := range c.pastes {
		if a.file != "" && strings.Contains(text, a.token) {
			attach = append(attach, a.file)
		}
	}
	c.past.add(text)
	c.reset()
	if command, ok := strings.CutPrefix(text, "!"); ok && c.dir != "" && strings.TrimSpace(command) != "" {
		return p.shell(strings.TrimSpace(command))
	}
	return p.submit(text, attach)
}

// recall shows an older text of the history, or a newer one. The present text is the
// newest.
func (c *composer) recall(step int) {
	text, ok := c.past.move(step, c.full())
	if !ok {
		return
	}
	c.pastes, c.tokens = nil, nil
	c.set(text)
	if step > 0 {
		c.at = 0
	}
}

// search lists the history, the newest first, so that the person finds a text in it. The
// chosen one replaces the typed text.
func (c *composer) search(p *program) tea.Cmd {
	l := &list{title: "What you typed before"}
	for _, text := range slices.Backward(c.past.all) {
		l.items = append(l.items, item{text: text, run: func(*program) tea.Cmd {
			c.reset()
			c.set(text)
			return nil
		}})
	}
	p.push(l)
	return nil
}

// view returns the typed text, at most height lines around the caret, and the completions
// above it. at is the caret within these lines.
func (c *composer) view(p *program, width, height int) (lines []string, at caret) {
	c.width = width - 3
	rows, x, y := c.rows(c.width)
	lines = c.offers.view(p.theme, width, min(len(c.offers.all), max(0, height-1), 8))
	height = max(1, height-len(lines))
	from := max(0, min(y-height/2, len(rows)-height))
	to := min(len(rows), from+height)
	at = caret{2 + x, len(lines) + y - from, true}
	mark := "> "
	if strings.HasPrefix(c.text, "!") && c.dir != "" {
		mark = "! "
	}
	for i := from; i < to; i++ {
		head := "  "
		switch {
		case i == 0:
			head = p.theme.accent(mark)
		case i == from:
			head = p.theme.dim("… ")
		}
		lines = append(lines, head+rows[i].shown)
	}
	return lines, at
}
