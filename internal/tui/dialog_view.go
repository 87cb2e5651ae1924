package tui

import (
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
)

// view implements widget. All of the text is there: what does not fit is scrolled.
func (d *dialog) view(p *program, width, height int) (lines []string, at caret) {
	d.width = width
	foot, at := d.foot(p.theme, width, max(1, height/2))
	body := d.body(p.theme, width)
	room := max(1, height-len(foot))
	d.scrolled = max(0, min(d.scrolled, len(body)-room))
	shown := body[d.scrolled:min(len(body), d.scrolled+room)]
	d.rest = len(body) - d.scrolled - len(shown)
	if len(body) > room && len(shown) > 1 {
		more := clip.Count(d.rest, "more line") + " below (Down)"
		if d.rest == 0 {
			more = "the end (Up shows what is above)"
		}
		shown = append(append([]string{}, shown[:len(shown)-1]...), p.theme.ask(clip.Fit("  … "+more, width)))
	}
	at.y += len(shown)
	return append(append([]string{}, shown...), foot...), at
}

// body returns the question with everything that the person has to know to answer it: the
// call and its arguments, the preview, the reason for the question, and the sources of
// texts that others wrote. Nothing is left out.
func (d *dialog) body(t Theme, width int) (lines []string) {
	add := func(mark string, paint func(string) string, text string) {
		for _, l := range wrap(clip.Visible(strings.TrimRight(text, "\n")), width-clip.Width(mark)-1) {
			lines = append(lines, mark+paint(l))
			if !strings.HasSuffix(mark, "│ ") {
				mark = strings.Repeat(" ", clip.Width(mark))
			}
		}
	}
	plain := func(s string) string { return s }
	who := ""
	if d.path != "" {
		who = d.path + ": "
	}
	add("? ", t.ask, who+d.asked.Question)
	if d.asked.Kind != openmanus.AskRuling {
		if len(d.asked.Schema) > 0 {
			add("  ", t.dim, "The answer is JSON: "+string(d.asked.Schema))
		}
		return lines
	}
	call := d.call
	call.Input = d.arguments()
	add("  ", t.bold, call.Name)
	add("  │ ", plain, gist.Arguments(call.Input))
	switch {
	case d.input != "" && d.effect == nil:
		add("  ", t.dim, "You have edited the arguments; what the call does with them is computed when it runs.")
	case d.input != "" && d.effect.Fails != "":
		add("  ", t.bad, "As you have edited it, it would fail: "+d.effect.Fails)
	case d.input != "":
		add("  ", t.dim, "As you have edited it, this is what it would do:")
		lines = append(lines, diffOf(t, d.effect.Shown, width)...)
	case d.asked.Shown != "":
		add("  ", t.dim, "This is what it would do:")
		lines = append(lines, diffOf(t, d.asked.Shown, width)...)
	}
	switch h := d.asked.Hints; {
	case h.Reach == openmanus.ReachOutside:
		add("  Reaches: ", t.bad, "everything that you can: it would run outside the sandbox")
	case h.Reach == openmanus.ReachNetwork:
		add("  Reaches: ", t.ask, "whatever this machine can reach over the network")
	}
	if d.asked.Hints.Destructive {
		add("  Undo: ", t.bad, "this cannot be taken back")
	}
	if d.asked.Rule != "" {
		add("  Asked because of: ", t.dim, d.asked.Rule)
	}
	for _, s := range d.asked.Sources {
		paint, trust := t.dim, "trusted"
		if !s.Trusted {
			paint, trust = t.bad, "not trusted"
		}
		text := s.Argument
		if s.Text != "" {
			text += ": “" + s.Text + "”"
		}
		if s.As != "" {
			trust += ", as " + s.As
		}
		add("  From: ", paint, text+" from "+whence(s.From)+" ("+trust+")")
	}
	return lines
}

// whence names a source in the words that the page uses too.
func whence(from string) string {
	kind, rest, _ := strings.Cut(from, ":")
	switch {
	case from == openmanus.FromPerson:
		return "you"
	case from == openmanus.FromProgram:
		return "the program"
	case from == openmanus.FromFile+".":
		return "the workspace"
	case kind+":" == openmanus.FromMCP:
		return "the MCP server " + rest
	case kind+":" == openmanus.FromA2A:
		return "the agent " + rest
	case kind+":" == openmanus.FromFile:
		return "the file " + rest
	case kind+":" == openmanus.FromSession:
		return "the session " + rest
	}
	return from
}

// diffOf returns a preview in which lines that begin with + or - have the colours of a
// diff. Long lines are wrapped, and invisible characters are shown.
func diffOf(t Theme, text string, width int) (lines []string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		paint := func(s string) string { return s }
		switch {
		case strings.HasPrefix(line, "+"):
			paint = t.good
		case strings.HasPrefix(line, "-"):
			paint = t.bad
		}
		for _, l := range wrap(clip.Visible(strings.TrimRight(line, "\n")), width-5) {
			lines = append(lines, t.dim("  │ ")+paint(l))
		}
	}
	return lines
}

// foot returns the keys of the answers that there are, or the text that the person writes,
// at most height lines. at is the caret within them.
func (d *dialog) foot(t Theme, width, height int) (lines []string, at caret) {
	if !d.writes() {
		keys := []string{"y allow once"}
		if d.input != "" {
			keys = []string{"y allow as edited"}
		} else {
			if d.asked.Scope != "" {
				keys = append(keys, "s always in this session: "+clip.Visible(d.asked.Scope))
			}
			if d.choices.Remember {
				keys = append(keys, "a always for this exact call")
			}
		}
		keys = append(keys, "n deny and say why", "e edit the arguments", "Esc later")
		for _, l := range wrap(strings.Join(keys, " · "), width) {
			lines = append(lines, t.accent(l))
		}
		return lines, caret{}
	}
	mark := "> "
	if d.denying {
		lines = append(lines, t.dim(clip.Fit("Why not? The agent reads it and goes on. Enter denies, Esc goes back", width)))
	}
	rows, x, y := d.rows(width - 3)
	from := max(0, min(y-height/2, len(rows)-height))
	at = caret{2 + x, len(lines) + y - from, true}
	for i := from; i < min(len(rows), from+height); i++ {
		head := "  "
		if i == 0 {
			head = t.accent(mark)
		}
		lines = append(lines, head+rows[i].shown)
	}
	return lines, at
}
