package linemode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// head shows the line of a call, once.
func (p *Printer) head(id string) {
	if c := p.calls[id]; c != nil && !c.headed {
		c.headed = true
		tense := gist.Running
		if !c.running() {
			tense = gist.Waiting
		}
		p.line(p.o.Style.Mark("● ") + p.title(c.Call, tense))
		p.under = id
	}
}

// title returns a call in one line.
func (p *Printer) title(c *view.Call, t gist.Tense) string {
	verb, target := Phrase(c.Call, t, c.Says...)
	if target == "" {
		return p.o.Style.Bold(verb)
	}
	return p.o.Style.Bold(verb) + "  " + p.o.Style.Dim(p.fit(target, clip.Width(verb)+4))
}

// Phrase returns a call as [gist.Phrase] has it, in at most 60 and 120 characters, with
// what does not show as escapes.
func Phrase(c llm.Call, t gist.Tense, says ...openmanus.Saying) (verb, target string) {
	verb, target = gist.Phrase(c, t, says...)
	return termtext.OneLine(clip.Visible(verb), 60), termtext.OneLine(clip.Visible(target), 120)
}

// CallLine returns what a call works on in at most 120 characters, with what does
// not show as escapes.
func CallLine(c llm.Call) string { return termtext.OneLine(clip.Visible(gist.Call(c)), 120) }

// done shows the result of a call and how it ended.
func (p *Printer) done(it *view.Item) {
	b, id := it.Call.Done, it.Call.ID
	c := p.calls[id]
	delete(p.calls, id)
	if c == nil { // it had a result
		c = &call{Item: it}
	}
	if !b.IsError && (c.asked || p.final(it.Call)) {
		return // the question and the answer are shown where they were said
	}
	switch {
	case !c.headed:
		p.line(p.o.Style.Mark("● ") + p.title(c.Call, gist.Done))
	case p.under != id:
		p.line(p.o.Style.Dim("○ ") + p.title(c.Call, gist.Done))
	}
	e := *it.Call.End
	if n := len(e.Lines); gist.Looks(c.Call.Call, c.Call.Says...) && !e.Bad && e.Pictures == 0 {
		e.Lines, e.Word = nil, clip.Count(n, "line")
	}
	ls, left := gist.Tail(e.Lines, b.Detail, tailLines)
	for _, l := range e.Lines[:min(left, headLines)] {
		p.behindBar(lastLine(l))
	}
	if left -= headLines; left > 0 {
		p.behindBar("… " + clip.Count(left, "line") + " …")
	}
	for _, l := range ls {
		p.behindBar(lastLine(l))
	}
	p.diff(e.Diff)
	how := e.Word
	if e.Bad {
		how = p.o.Style.Red(how)
	}
	if c.running() {
		how += fmt.Sprintf(" · %.1fs", max(0, it.Ended.Sub(it.Begun).Seconds()))
	}
	if e.Pictures > 0 {
		how += " · " + clip.Count(e.Pictures, "image")
	}
	p.line(p.o.Style.Dim("  └ ") + how)
	p.under = id
}

// behindBar prints a line of a result.
func (p *Printer) behindBar(line string) {
	p.line(p.o.Style.Dim("  │ " + p.fit(clip.Clean(line), 4)))
}

// diff prints the beginning of a diff: what is left out of it, the files have.
func (p *Printer) diff(lines []string) {
	files := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "+++ ") {
			files++
		}
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		return strings.HasPrefix(l, "--- ") || files < 2 && strings.HasPrefix(l, "+++ ")
	})
	for i, l := range lines {
		if i == diffLines {
			p.line(p.o.Style.Dim("  │ … " + clip.Count(len(lines)-i, "more line") + " …"))
			return
		}
		paint := p.o.Style.Dim
		switch {
		case strings.HasPrefix(l, "+++ "):
		case strings.HasPrefix(l, "+"):
			paint = p.o.Style.Green
		case strings.HasPrefix(l, "-"):
			paint = p.o.Style.Red
		}
		p.line(p.o.Style.Dim("  │ ") + paint(p.fit(clip.Visible(strings.ReplaceAll(l, "\t", "    ")), 4)))
	}
}

// fit cuts text to the columns that are left of a line beside so many others.
func (p *Printer) fit(text string, beside int) string {
	if p.o.Width != nil {
		if n := p.o.Width(); n > 0 {
			return clip.Fit(text, max(20, n-beside))
		}
	}
	return clip.Text(text, maxLine)
}
