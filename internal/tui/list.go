package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// An item is one line of a list.
type item struct {
	mark   string // of ours, one column; ""
	text   string // foreign
	detail string // foreign, at the right end
	sample string // of ours, in place of the detail
	run    func(p *program) tea.Cmd
}

// A list is a widget in which the person chooses an item. Typing narrows it.
type list struct {
	title string
	above []string // foreign lines that stand above the items; they scroll
	items []item
	typed string
	at    int // in what is left

	details bool // the lines above are less than the items, and stand below them

	scrolled, page, rest int // lines of above that are gone, shown, and still to come

	// again, if not nil, makes the items anew when Enter is pressed and none is left,
	// such as by a search for what was typed.
	again func(p *program, typed string) tea.Cmd
}

// maxTyped is how many characters narrow a list.
const maxTyped = 200

// left returns the items that have all words that were typed.
func (l *list) left() (left []item) {
	words := strings.Fields(strings.ToLower(l.typed))
	for _, it := range l.items {
		has := true
		for _, w := range words {
			has = has && strings.Contains(strings.ToLower(it.text+" "+it.detail), w)
		}
		if has {
			left = append(left, it)
		}
	}
	return left
}

// scroll moves the lines above the items by n. It returns false if there are no others.
func (l *list) scroll(n int) bool {
	if l.scrolled+l.rest == 0 {
		return false
	}
	l.scrolled = max(0, min(l.scrolled+n, l.scrolled+l.rest))
	return true
}

// update implements widget.
func (l *list) update(p *program, msg tea.Msg) (done bool, cmd tea.Cmd) {
	if paste, ok := msg.(tea.PasteMsg); ok {
		l.typed = clip.Text(l.typed+clip.OneLine(paste.Content), maxTyped)
		return false, nil
	}
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return false, nil
	}
	left := l.left()
	switch k.String() {
	case "esc":
		return true, nil
	case "up", "ctrl+p":
		l.at = max(0, l.at-1)
	case "down", "ctrl+n":
		l.at = min(max(0, len(left)-1), l.at+1)
	case "home":
		l.at = 0
	case "end":
		l.at = max(0, len(left)-1)
	case "backspace":
		if r := []rune(l.typed); len(r) > 0 {
			l.typed, l.at = string(r[:len(r)-1]), 0
		}
	case "enter":
		switch {
		case l.at < len(left):
			return true, left[l.at].run(p)
		case l.again != nil && strings.TrimSpace(l.typed) != "":
			return true, l.again(p, l.typed)
		}
	default:
		if k.Text != "" {
			l.typed, l.at = clip.Text(l.typed+k.Text, maxTyped), 0
		}
	}
	return false, nil
}

// view implements widget.
func (l *list) view(p *program, width, height int) (lines []string, at caret) {
	t := p.theme
	left := l.left()
	l.at = min(l.at, max(0, len(left)-1))
	title := " " + l.title + " "
	lines = append(lines, t.accent("─"+title+strings.Repeat("─", max(0, width-1-clip.Width(title)))))
	typed := fitEnd(clip.Visible(l.typed), width-4)
	rows := max(0, height-2)
	text := l.text(t, width, rows-min(max(len(left), 1), max(2, rows/3)))
	if !l.details {
		lines = append(lines, text...)
	}
	rows -= len(text)
	from := max(0, min(l.at-rows/2, len(left)-rows))
	for i := from; i < len(left) && i < from+rows; i++ {
		lines = append(lines, l.row(t, left[i], i == l.at, width))
	}
	if len(left) == 0 && rows > 0 {
		none := "nothing like that"
		if l.again != nil {
			none += "; Enter searches in all that was said"
		}
		lines = append(lines, t.dim(clip.Fit("  "+none, width)))
	}
	if l.details {
		lines = append(lines, text...)
	}
	at = caret{2 + clip.Width(typed), len(lines), true}
	return append(lines, t.accent("/ ")+typed), at
}

// text returns the lines above the items that are shown, at most height.
func (l *list) text(t Theme, width, height int) (lines []string) {
	var all []string
	for _, text := range l.above {
		all = append(all, wrap(clip.Visible(text), width-2)...)
	}
	if l.page = max(height, 0); len(all) > height {
		l.page = max(height-1, 0) // for the line that says what is left
	}
	l.scrolled = max(0, min(l.scrolled, len(all)-l.page))
	to := min(len(all), l.scrolled+l.page)
	l.rest = len(all) - to
	for _, text := range all[l.scrolled:to] {
		if l.details {
			text = t.dim(text)
		}
		lines = append(lines, "  "+text)
	}
	if len(all) > height && height > 0 {
		more := clip.Count(l.rest, "more line") + " below (PgDn)"
		if l.rest == 0 {
			more = "the end (PgUp shows what is above)"
		}
		lines = append(lines, t.ask(clip.Fit("  … "+more, width)))
	}
	return lines
}

// row returns an item as a line.
func (l *list) row(t Theme, it item, chosen bool, width int) string {
	head := "  "
	if chosen {
		head = t.ask("› ")
	}
	if it.mark != "" {
		head += it.mark + " "
	}
	detail := t.dim(clip.Fit(clip.OneLine(clip.Visible(it.detail)), width/2))
	if it.sample != "" {
		detail = it.sample
	}
	room := width - columns(head) - columns(detail) - 2
	if detail == "" || room < 10 {
		room, detail = width-columns(head), ""
	}
	text := clip.Fit(clip.OneLine(clip.Visible(it.text)), room)
	gap := strings.Repeat(" ", max(0, room-clip.Width(text)+2))
	if chosen {
		text = t.bold(text)
	}
	if detail == "" {
		return head + text
	}
	return head + text + gap + detail
}
