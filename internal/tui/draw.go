package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/view"
)

const (
	tailLines   = 5   // of the output of a call that runs or went wrong
	diffLines   = 14  // of a diff that is folded
	openLines   = 400 // of a result that is unfolded: the journal has the rest
	textColumns = 100 // of what is read: longer lines are hard to read
)

// A drawing is what the lines of all blocks depend on, beside themselves.
type drawing struct {
	theme Theme
	all   bool // everything is unfolded
}

// linesOf returns the lines of a block, which take at most width columns. Unless the
// block has changed, they are those of the last time. tail is what the call of the
// block has printed so far, and now the time; both only count for one that runs.
func linesOf(b *block, how drawing, width int, tail string, now time.Time) []string {
	if b.Running() {
		return drawCall(b, how, width, tail, now)
	}
	if b.Below != nil && b.Ended.IsZero() {
		return drawBlock(b, how, width, now)
	}
	if c := &b.drawn; c.lines == nil || c.rev != b.Rev || c.width != width || c.how != how {
		*c = cache{drawBlock(b, how, width, now), b.Rev, width, how}
	}
	return b.drawn.lines
}

// drawBlock returns the lines of a block, none wider than width. now is for the durations
// of calls that run.
func drawBlock(b *block, how drawing, width int, now time.Time) []string {
	t := how.theme
	switch b.Kind {
	case view.Said:
		return barred(t, t.accent("▌ "), t.Person, b.Words(), width)
	case view.Answered:
		lines := t.style().Markdown(b.Words(), min(width-2, textColumns))
		for i := range lines {
			lines[i] = "  " + lines[i]
		}
		if b.By != "" {
			lines = append([]string{t.dim("  " + clip.Fit(clip.Plain(b.By), width-2))}, lines...)
		}
		return lines
	case view.Thought:
		return drawThought(b, how, width)
	case view.Called, view.Agent:
		return drawCall(b, how, width, "", now)
	case view.Remark:
		return barred(t, t.dim("· "), t.Dim, b.Text, width)
	}
	return barred(t, t.bad("! "), t.Bad, b.Text, width)
}

// barred returns a foreign text behind a mark of two columns, which stands before each of
// its lines, so that none of them can pass for words of the program.
func barred(t Theme, mark, code, text string, width int) (lines []string) {
	for _, l := range wrap(clip.Visible(strings.TrimRight(text, "\n")), width-2) {
		lines = append(lines, mark+t.paint(code, l))
	}
	return lines
}

// wrap returns a text as lines of at most width columns. It has no control characters
// but line feeds and tabs.
func wrap(text string, width int) []string {
	return termtext.Style{}.Plain(strings.ReplaceAll(text, "\t", "    "), max(width, 4))
}

// drawThought draws what the agent thought: its first words, or all of it.
func drawThought(b *block, how drawing, width int) []string {
	t := how.theme
	if !b.open && !how.all {
		return []string{t.dim(clip.Fit("✻ "+clip.OneLine(clip.Visible(b.Text)), width))}
	}
	return barred(t, t.dim("✻ "), t.Dim, b.Text, min(width, textColumns+2))
}

// drawCall draws a call or a session below: one line that says what it does and how it
// ended, and what of its result a person wants to see without asking.
func drawCall(b *block, how drawing, width int, tail string, now time.Time) []string {
	t := how.theme
	mark, name, what, end := callHead(b, t, now)
	room := width - 2 - columns(name) - 2
	if end != "" {
		room -= columns(end) + 3
	}
	head := mark + " " + t.bold(name)
	if what != "" && room >= 8 {
		head += "  " + t.dim(clip.Fit(what, room))
	}
	if end != "" {
		head += t.dim(" · ") + end
	}
	lines := []string{fitLine(head, width)}
	bar := t.dim("  │ ")
	if note := noteOf(b); note != "" {
		for _, l := range wrap(clip.Visible(note), width-4) {
			lines = append(lines, bar+t.dim(l))
		}
	}
	if b.Below != nil {
		return append(lines, belowLines(b, how, width)...)
	}
	if b.End() == nil {
		for _, l := range lastLines(tail, tailLines) {
			lines = append(lines, bar+t.dim(clip.Fit(l, width-4)))
		}
		return lines
	}
	return append(lines, resultLines(b, how, width)...)
}

// noteOf returns what was said last about a call, if it has one.
func noteOf(b *block) string {
	if b.Call == nil {
		return ""
	}
	if n := b.Call.Last(); n != nil {
		n := *n
		n.Text = clip.OneLine(n.Text)
		return n.Words()
	}
	return ""
}

// money formats an amount for people.
func money(m openmanus.Money) string { return fmt.Sprintf("$%.2f", m.USD()) }

// callHead returns the parts of the first line of a call: a mark for its state, its name,
// a phrase for its arguments, and how it ended or for how long it has run.
func callHead(b *block, t Theme, now time.Time) (mark, name, what, end string) {
	if b.Kind == view.Agent {
		name, what = "agent", termtext.OneLine(clip.Visible(b.Below.Label), 80)
	} else {
		name, what = b.Phrase()
		name, what = clip.Text(clip.Visible(name), 40), clip.Visible(what)
	}
	took := ""
	if !b.Begun.IsZero() {
		until := b.Ended
		if until.IsZero() {
			until = now
		}
		took = duration(until.Sub(b.Begun))
	}
	switch {
	case b.Asks() || b.Below != nil && b.Below.Asks > 0 && b.Ended.IsZero():
		return t.ask("?"), name, what, t.ask("waits for you")
	case b.End() != nil:
		mark, end = t.good("●"), t.dim(b.End().Word)
		if b.End().Bad {
			mark, end = t.bad("●"), t.bad(b.End().Word)
		}
		if b.End().Pictures > 0 {
			end += t.dim(" · " + clip.Count(b.End().Pictures, "image"))
		}
	case b.Kind == view.Agent && !b.Ended.IsZero():
		mark, end = t.good("●"), t.dim(b.Below.Status)
		if b.Below.Status != "finished" {
			mark, end = t.bad("●"), t.bad(b.Below.Status)
		}
	case b.Begun.IsZero():
		return t.dim("○"), name, what, ""
	default:
		return t.accent("◐"), name, what, t.accent(took)
	}
	if took != "" {
		end += t.dim(" · " + took)
	}
	return mark, name, what, end
}

// belowLines returns the lines about a child session: its calls, tokens and cost, and its
// last action or result, which an unfolded block shows in full.
func belowLines(b *block, how drawing, width int) []string {
	t, w := how.theme, b.Below
	bar := t.dim("  │ ")
	var facts []string
	if w.Calls > 0 {
		facts = append(facts, clip.Count(w.Calls, "call"))
	}
	if w.Tokens > 0 {
		facts = append(facts, short(w.Tokens)+" tokens")
	}
	if w.Cost > 0 {
		facts = append(facts, money(w.Cost))
	}
	lines := []string{bar + t.dim(clip.Fit(strings.Join(append([]string{w.ID[strings.LastIndexByte(w.ID, '.')+1:]}, facts...), " · "), width-4))}
	if w.Last == "" {
		return lines
	}
	if b.open || how.all {
		for _, l := range cutLines(wrap(clip.Visible(w.Last), width-4), openLines) {
			lines = append(lines, bar+l)
		}
		return lines
	}
	return append(lines, bar+t.dim(clip.Fit(clip.OneLine(clip.Visible(w.Last)), width-4)))
}

// resultLines returns what is shown of a result: of one that is folded the diff, and the
// end of what went wrong.
func resultLines(b *block, how drawing, width int) (lines []string) {
	t := how.theme
	bar := t.dim("  │ ")
	open := b.open || how.all
	if open {
		for _, l := range wrap(clip.Visible(gist.Arguments(b.Call.Call.Input)), width-4) {
			lines = append(lines, bar+t.accent(l))
		}
	}
	if n := len(b.End().Diff); n > 0 {
		max := diffLines
		if open {
			max = openLines
		}
		for _, l := range cutLines(diff(t, b.End().Diff, width-4), max) {
			lines = append(lines, bar+l)
		}
	}
	switch ls := b.End().Lines; {
	case open:
		for _, l := range cutLines(ls, openLines) {
			lines = append(lines, bar+clip.Fit(shown(l), width-4))
		}
	case b.End().Bad:
		if left := len(ls) - tailLines; left > 0 {
			lines, ls = append(lines, bar+t.dim("… "+clip.Count(left, "line")+" …")), ls[left:]
		}
		for _, l := range ls {
			lines = append(lines, bar+t.dim(clip.Fit(shown(l), width-4)))
		}
	}
	return lines
}

// cutLines returns at most n lines, the last of which says how many are left out.
func cutLines(lines []string, n int) []string {
	if left := len(lines) - n; left > 0 {
		return append(lines[:n:n], fmt.Sprintf("… %s …", clip.Count(left, "more line")))
	}
	return lines
}

// lastLines returns the last n lines of what a terminal would show of a text: a carriage
// return goes back to the beginning of its line.
func lastLines(text string, n int) []string {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = shown(l)
	}
	return lines
}

// shown returns what a terminal would show of a line that a program printed.
func shown(line string) string {
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	return strings.ReplaceAll(clip.Clean(line), "\t", "    ")
}

// fitLine cuts a line of ours, which may have colours, to a width.
func fitLine(line string, width int) string {
	if columns(line) <= width {
		return line
	}
	return clip.Fit(clip.Clean(line), max(width-1, 1))
}

// fitEnd returns the end of a text that takes at most n columns. It cuts between
// characters.
func fitEnd(text string, n int) string {
	for at := len(text); at > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if n -= clip.Width(string(r)); n < 0 {
			return text[at:]
		}
		at -= size
	}
	return text
}

// duration formats a duration for people, with a precision that fits its size. A negative
// one, from clocks that differ, is 0.
func duration(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0:
		return "0 s"
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 60:
		return fmt.Sprintf("%d s", int(s))
	case s < 3600:
		return fmt.Sprintf("%d min %d s", int(s)/60, int(s)%60)
	default:
		return fmt.Sprintf("%d h %d min", int(s)/3600, int(s)/60%60)
	}
}

// short formats a number of tokens: 999, 12.3k, 4.5M.
func short(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}
