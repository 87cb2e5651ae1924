package tui

import (
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// notify tells a person who looks elsewhere: by the bell, and by a notification of the
// terminal if it is known to have them (OSC 9, and OSC 777 with a title). A person who
// looks at the terminal is not disturbed.
func (p *program) notify(text string) tea.Cmd {
	if !p.blurred {
		return nil
	}
	return tea.Raw(notification(text, os.Getenv("TERM_PROGRAM")+" "+os.Getenv("TERM")))
}

// notification returns the sequences for a terminal by its name. The text has nothing in
// it that a terminal obeys, and no separator.
func notification(text, terminal string) string {
	text = clip.Text(clip.OneLine(clip.Clean(text)), 120)
	text = strings.ReplaceAll(text, ";", ",")
	terminal = strings.ToLower(terminal)
	has := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(terminal, n) {
				return true
			}
		}
		return false
	}
	switch {
	case has("screen", "tmux"): // they swallow the sequences
		return "\a"
	case has("rxvt", "foot", "ghostty", "vte", "contour"):
		return "\x1b]777;notify;OpenManus;" + text + "\x1b\\\a"
	case has("iterm", "kitty", "wezterm", "conemu", "warp"):
		return "\x1b]9;OpenManus: " + text + "\x1b\\\a"
	}
	return "\a"
}
