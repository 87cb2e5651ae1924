package linemode

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

const (
	tailLines = 6   // how many lines of a result are shown
	diffLines = 16  // how many lines of a diff
	maxLine   = 200 // characters of a line, if the width is not known
	maxText   = 100 // columns of what the agent says: longer lines are hard to read
)

// Options say how a [Printer] prints.
type Options struct {
	Style termtext.Style
	Quiet bool // only what needs a person is printed

	// Width, if not nil, returns how many columns the terminal has; 0: not known.
	// Markdown is formatted for it, lines of results are cut there, and there is a
	// status line: see [Printer.Working]. It is nil for what is no terminal.
	Width func() int
}

// A Printer shows the events of one session. It is safe for concurrent use. Its
// methods do not return the errors of its writer: nothing depends on what is shown.
type Printer struct {
	w io.Writer
	o Options

	mu      sync.Mutex
	column  bool            // the line is not at its beginning
	typed   strings.Builder // of the reply on its way
	printed int             // how much of it was printed, in bytes
	shown   string          // the last text that was shown whole
	onStop  string          // follows the remark that the user interrupted the agent
	failed  string          // the last failure of the model that was shown
	turn    int
	plans   bool          // what is delegated is shown as a plan
	kept    *bytes.Buffer // what is held back while the person is asked
	calls   map[string]*call
	specs   map[string]openmanus.ToolSpec // of the tools, by name
	under   string                        // the call whose line or result was printed last
	status  status
}

// A call is one that has not ended.
type call struct {
	llm.Call
	headed bool      // its line was printed
	asked  bool      // it asks the user: the question shows what it is
	begun  time.Time // zero: it does not run yet
	last   string    // the last line that it printed, as it came
}

// New returns a printer that writes to w.
func New(w io.Writer, o Options) *Printer {
	return &Printer{w: w, o: o, calls: make(map[string]*call), specs: make(map[string]openmanus.ToolSpec), turn: -1}
}

// Style returns the style in which p prints.
func (p *Printer) Style() termtext.Style { return p.o.Style }

// Quiet reports whether p prints only what needs a person.
func (p *Printer) Quiet() bool { return p.o.Quiet }

// OnStop sets what follows the remark that the user interrupted the agent.
func (p *Printer) OnStop(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onStop = text
}

// GoOn prepares p for a session that is resumed: it learns of the calls that are
// still open, whose events follow.
func (p *Printer) GoOn(s *openmanus.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.configured(s.Config)
	for _, c := range s.Calls {
		if c.Done == nil {
			p.calls[c.ID] = &call{Call: c.Call}
		}
	}
}

func (p *Printer) configured(c openmanus.Configured) {
	p.status.model = c.Model
	for _, t := range c.Tools {
		p.specs[t.Name] = t
	}
}

// Event shows a stored or provisional event.
func (p *Printer) Event(ev openmanus.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	style := p.o.Style
	p.status.event(ev)
	switch b := ev.Body.(type) {
	case openmanus.Configured:
		p.configured(b)
	case openmanus.Typing:
		p.typing(b)
	case openmanus.ModelSaid:
		p.said(b)
	case openmanus.Called:
		p.freshLine()
		p.begin(openmanus.CallsOf(b)...)
	case openmanus.ModelFailed:
		p.rest()
		p.forget()
		p.line(style.Red("! the model failed: ") + clip.Plain(b.Error))
		p.failed = b.Error
	case openmanus.Asked:
		if c := p.calls[b.Call]; c != nil && b.Kind != openmanus.AskRuling {
			c.asked = true
		} else {
			p.head(b.Call)
		}
	case openmanus.CallStarted:
		if c := p.calls[b.Call]; c != nil {
			c.begun = ev.Time
			if !c.asked && !p.specs[c.Name].Hints.Final {
				p.head(b.Call)
			}
		}
	case openmanus.Output:
		if c := p.calls[b.Call]; c != nil {
			c.last = lastLine(c.last + b.Text)
		}
	case openmanus.CallDone:
		p.done(ev.Time, b)
	case openmanus.CallLate:
		p.line(style.Dim("· late result of " + b.Call + ": " + termtext.OneLine(b.Parts.Text(), 100)))
	case openmanus.Ruled:
		p.ruled(b)
	case openmanus.Elided, openmanus.Compacted:
		p.line(style.Dim("· " + CutGist(b)))
	case openmanus.Stopped:
		if b.Reason == openmanus.ByPerson {
			return // it was said when they interrupted
		}
		p.line(style.Red("! stopped: ") + clip.Plain(b.Error))
		p.failed = b.Error
	case openmanus.Interrupted:
		p.rest()
		p.forget()
		p.line(style.Red("! interrupted") + p.onStop)
	case openmanus.ChildOpened:
		if !p.plans {
			p.line(style.Dim("· delegated to " + b.Child))
		}
	case openmanus.ChildDone:
		p.childDone(b)
	}
}

// childDone says how a session below ended. What it said was shown when it said it.
func (p *Printer) childDone(b openmanus.ChildDone) {
	if p.plans {
		return
	}
	text := fmt.Sprintf("· %s is %s", b.Child, b.Status)
	if b.Status != openmanus.Finished {
		text += ": " + termtext.OneLine(b.Text, 100)
	}
	p.line(p.o.Style.Dim(text))
}

// typing shows a delta of a reply.
func (p *Printer) typing(t openmanus.Typing) {
	if p.o.Quiet {
		return
	}
	if t.Reset || t.Turn != p.turn {
		if p.typed.Len() > 0 {
			p.rest()
			p.line(p.o.Style.Dim("· (again from the beginning)"))
		}
		p.forget()
		p.turn = t.Turn
	}
	for _, part := range t.Parts {
		if text, ok := part.(llm.Text); ok && text.Text != "" {
			p.typed.WriteString(text.Text)
			if p.o.Width == nil {
				p.write(clip.Plain(text.Text))
				p.printed = p.typed.Len()
				continue
			}
			head, _ := termtext.Whole(p.typed.String()[p.printed:])
			p.markdown(head)
		}
	}
}

// said shows the rest of a reply, of which the streamed part is shown already.
func (p *Printer) said(b openmanus.ModelSaid) {
	text := b.Message.Text()
	if !p.o.Quiet && text != "" {
		if p.typed.String() != text {
			p.freshLine()
			p.forget()
			p.typed.WriteString(text)
		}
		p.rest()
	}
	p.forget()
	if text != "" {
		p.shown = text
	}
	p.freshLine()
	p.begin(openmanus.CallsOf(b)...)
}

// markdown prints the beginning of what is left of the reply, which is whole.
func (p *Printer) markdown(head string) {
	if head == "" {
		return
	}
	width := p.o.Width()
	if width <= 0 {
		width = 80
	}
	lines := p.o.Style.Markdown(head, min(width-1, maxText))
	if len(lines) > 0 && p.printed > 0 {
		p.line("")
	}
	for _, l := range lines {
		p.line(l)
	}
	p.printed += len(head)
}

// rest prints what is left of the reply.
func (p *Printer) rest() {
	if p.o.Quiet {
		return
	}
	rest := p.typed.String()[p.printed:]
	if p.o.Width == nil {
		p.write(clip.Plain(rest))
		p.printed += len(rest)
		return
	}
	p.markdown(rest)
}

// forget forgets the reply.
func (p *Printer) forget() {
	p.typed.Reset()
	p.printed = 0
}

// begin remembers new calls.
func (p *Printer) begin(calls ...llm.Call) {
	for _, c := range calls {
		p.calls[c.ID] = &call{Call: c}
	}
}

// head shows the line of a call, once.
func (p *Printer) head(id string) {
	if c := p.calls[id]; c != nil && !c.headed {
		c.headed = true
		p.line(p.o.Style.Mark("● ") + p.title(c.Call))
		p.under = id
	}
}

// title returns a call in one line.
func (p *Printer) title(c llm.Call) string {
	name := termtext.OneLine(c.Name, 60)
	return p.o.Style.Bold(name) + "  " + p.o.Style.Dim(p.fit(CallLine(c), clip.Width(name)+4))
}

// CallLine returns what a call works on in at most 120 characters, with what does
// not show as escapes.
func CallLine(c llm.Call) string { return termtext.OneLine(clip.Visible(gist.Call(c)), 120) }

// done shows the result of a call and how it ended.
func (p *Printer) done(at time.Time, b openmanus.CallDone) {
	c := p.calls[b.Call]
	delete(p.calls, b.Call)
	if c == nil {
		c = &call{Call: llm.Call{ID: b.Call}}
	}
	if c.asked && !b.IsError || p.specs[c.Name].Hints.Final && !b.IsError {
		return // the question and the answer are shown where they were said
	}
	switch {
	case !c.headed:
		p.line(p.o.Style.Mark("● ") + p.title(c.Call))
	case p.under != b.Call:
		p.line(p.o.Style.Dim("○ ") + p.title(c.Call))
	}
	e := gist.End(b)
	ls, left := gist.Tail(e.Lines, b.Detail, tailLines)
	if left > 0 {
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
	if !c.begun.IsZero() {
		how += fmt.Sprintf(" · %.1fs", max(0, at.Sub(c.begun).Seconds()))
	}
	if e.Pictures > 0 {
		how += " · " + clip.Count(e.Pictures, "image")
	}
	p.line(p.o.Style.Dim("  └ ") + how)
	p.under = b.Call
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

func (p *Printer) ruled(b openmanus.Ruled) {
	what := ""
	if c := p.calls[b.Call]; c != nil && p.under != b.Call {
		what = termtext.OneLine(c.Name, 60) + "  " + clip.Text(CallLine(c.Call), 60) + ": "
	}
	if !b.Allow {
		p.line(p.o.Style.Red("! "+what+"not allowed: ") + clip.Plain(b.Reason) + p.o.Style.Dim(" ("+b.By+")"))
	} else if b.Rule == "" || strings.HasPrefix(b.Rule, "remembered ") {
		p.line(p.o.Style.Dim(strings.TrimRight("· "+what+"allowed by "+b.By+", "+clip.Plain(b.Rule), ", ")))
	}
}

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
	fmt.Fprintln(p.w, p.o.Style.Bold("? "+text))
	if more {
		p.bar(rest)
	}
}

// Block prints all of a text behind a bar, even if p is quiet. What does not show
// is printed as an escape, since the user decides by what they see.
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
		fmt.Fprintln(p.w, "  │ "+l)
	}
}

// Hold keeps what is printed until Release, so that a question stays the last
// thing on the screen.
func (p *Printer) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.erase()
		p.freshLine()
		p.kept = new(bytes.Buffer)
	}
}

// Release prints what Hold kept. Without a Hold it does nothing.
func (p *Printer) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept != nil {
		io.Copy(p.w, p.kept)
		p.kept = nil
	}
}

// Flush ends the current line, and returns the last text of a reply that was
// shown completely.
func (p *Printer) Flush() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshLine()
	return p.shown
}

// HasShown reports whether a failure of the model, or a limit, with this text was shown last.
func (p *Printer) HasShown(failure string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.o.Quiet && failure != "" && p.failed == failure
}

// SoFar returns the streamed part of a reply that is not complete.
func (p *Printer) SoFar() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typed.String()
}

// line prints a line, unless p is quiet.
func (p *Printer) line(text string) {
	if p.o.Quiet {
		return
	}
	p.freshLine()
	fmt.Fprintln(p.out(), text)
	p.under = ""
}

// freshLine ends the current line, if there is one.
func (p *Printer) freshLine() {
	if p.column {
		fmt.Fprintln(p.out())
		p.column = false
	}
}

func (p *Printer) write(text string) {
	if text == "" {
		return
	}
	io.WriteString(p.out(), text)
	p.column = !strings.HasSuffix(text, "\n")
	p.under = ""
}

// out returns the writer in use, without the status line: the buffer while Hold is in
// effect.
func (p *Printer) out() io.Writer {
	if p.kept != nil {
		return p.kept
	}
	p.erase()
	return p.w
}

// lastLine returns what stands on the last line of a terminal on which text was
// printed, and that ends there: programs that show their progress go back to the
// beginning of a line.
func lastLine(text string) string {
	ended := strings.HasSuffix(text, "\n")
	text = strings.TrimRight(text, "\r\n")
	text = text[strings.LastIndexAny(text, "\r\n")+1:]
	if ended {
		text += "\n"
	}
	return text
}

// CutGist says what an [openmanus.Elided] or [openmanus.Compacted] did; "" of any
// other event.
func CutGist(b openmanus.Body) string {
	switch b := b.(type) {
	case openmanus.Elided:
		return fmt.Sprintf("to make room, the model no longer sees %d old results whole", len(b.Calls))
	case openmanus.Compacted:
		text := fmt.Sprintf("compaction: the model sees a summary in place of the events before %d", b.UpTo)
		if b.Refused != "" {
			text += "; the provider said: " + termtext.OneLine(b.Refused, 100)
		}
		return text
	}
	return ""
}
