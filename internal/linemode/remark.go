package linemode

import (
	"fmt"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/tools"
)

// Remark prints a remark of the program.
func (p *Printer) Remark(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.o.Style.Dim("· " + clip.Plain(fmt.Sprintf(format, a...))))
}

// Below prints a line of a session below this one, behind its name.
func (p *Printer) Below(head, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.TrimSpace(line) != "" {
		p.line(p.o.Style.Dim("["+clip.Plain(head)+"] ") + line)
	}
}

// Plans makes p leave out delegations, which a plan shows.
func (p *Printer) Plans() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans = true
}

// Plan prints steps of a plan with their marks, below its title if it is not "". from
// is the number of the first.
func (p *Printer) Plan(title string, steps []tools.Step, from int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	style := p.o.Style
	if title != "" {
		p.line(style.Bold("Plan: " + termtext.OneLine(title, 120)))
	}
	for i, st := range steps {
		mark := st.Status.Mark()
		switch st.Status {
		case tools.Blocked:
			mark = style.Red(mark)
		case tools.Completed, tools.InProgress:
			mark = style.Mark(mark)
		}
		by := ""
		if st.Agent != "" {
			by = style.Dim(" (" + clip.Plain(st.Agent) + ")")
		}
		p.line(fmt.Sprintf("  %s %d. %s%s", mark, from+i, termtext.OneLine(st.Text, 160), by))
		if st.Notes != "" {
			p.line(style.Dim("         " + termtext.OneLine(st.Notes, 200)))
		}
	}
}

// Question prints a question, even if p is quiet. Its first line has the mark;
// the others stand behind a bar, so that none of them can pass for words of the
// program.
func (p *Printer) Question(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.freshLine()
	text, rest, more := strings.Cut(strings.TrimRight(clip.Visible(fmt.Sprintf(format, a...)), "\n"), "\n")
	fmt.Fprintln(p.question(), p.o.Style.Bold("? "+text))
	if more {
		p.bar(rest)
	}
}

// question is where questions are printed: see [Printer.Asked].
func (p *Printer) question() io.Writer {
	if p.kept != nil {
		return &p.asked
	}
	return p.w
}

// Asked returns the questions and blocks since Hold, which are not printed: whoever
// asks shows them at the moment in which an answer can be typed, and not before.
func (p *Printer) Asked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.asked.String()
	p.asked.Reset()
	return text
}

// Block prints all of a text behind a bar, even if p is quiet. Invisible
// characters are printed as escapes, because the user decides by what they see.
func (p *Printer) Block(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.freshLine()
	p.bar(clip.Visible(text))
}

func (p *Printer) bar(text string) {
	p.under = ""
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(p.question(), "  │ "+l)
	}
}
