package linemode

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

const (
	headLines = 2   // how many lines of the beginning of a result are shown
	tailLines = 6   // and how many of its end
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

	// Status, if not nil, shows the status line in place of the printer; "" takes it
	// away. It is called with the line as it is to be drawn.
	Status func(line string)
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
	request string          // the message that is answered
	turn    int
	plans   bool          // what is delegated is shown as a plan
	kept    *bytes.Buffer // what is held back while the person is asked
	asked   bytes.Buffer  // what they are asked: see [Printer.Asked]
	page    *view.Page    // what the events show
	session view.Session  // and how it stands
	calls   map[string]*call
	under   string // the call whose line or result was printed last
	status  status
}

// A call is one that has not ended.
type call struct {
	*view.Item
	headed bool   // its line was printed
	asked  bool   // it asks the user: the question shows what it is
	last   string // the last line that it printed, as it came
}

// running reports whether it runs, other than in a session below.
func (c *call) running() bool { return !c.Begun.IsZero() && c.Below == nil }

// New returns a printer that writes to w.
func New(w io.Writer, o Options) *Printer {
	return &Printer{w: w, o: o, calls: make(map[string]*call), page: view.NewPage(0), turn: -1}
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
	p.session.State = *s.Clone()
	p.page.Learn(s.Config.Tools)
	for _, c := range s.Calls {
		if c.Done == nil {
			p.show(p.page.Apply(openmanus.Event{Body: openmanus.Called{Call: c.ID, Name: c.Name, Input: c.Input}}))
		}
	}
}

// Event shows a stored or provisional event.
func (p *Printer) Event(ev openmanus.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.Seq > 0 {
		p.status.since, p.status.read = ev.Time, 0
		p.session.Apply(ev)
	}
	switch b := ev.Body.(type) {
	case openmanus.Typing:
		p.typing(b)
	case openmanus.Output:
		if c := p.calls[b.Call]; c != nil {
			c.last = lastLine(c.last + b.Text)
		}
	case openmanus.Reading:
		if c := p.calls[b.Call]; c != nil {
			c.last = ReadingFolder(b.Files)
		}
	case openmanus.ModelSaid:
		p.said(b)
	case openmanus.ModelFailed, openmanus.Interrupted:
		p.rest()
		p.forget()
	}
	p.show(p.page.Apply(ev))
	p.page.Forget()
	if b, ok := ev.Body.(openmanus.Ruled); ok {
		p.ruled(b)
	}
}

// show shows what an event changed.
func (p *Printer) show(all []view.Change) {
	for _, c := range all {
		switch c.Did {
		case view.Added:
			p.added(c.Item)
		case view.Noted:
			p.noted(c.Call)
		case view.Started:
			if own := p.calls[c.Call.ID]; own != nil && !own.asked && !p.final(c.Call) {
				p.head(c.Call.ID)
			}
		case view.Done:
			p.done(c.Item)
		case view.Delegated:
			if !p.plans {
				p.line(p.o.Style.Dim("· delegated to " + c.Below.ID))
			}
		case view.Reported:
			p.childDone(c.Below)
		}
	}
}

// added shows a new item, unless said has printed it as it came.
func (p *Printer) added(it *view.Item) {
	switch it.Kind {
	case view.Said:
		p.heard(it)
	case view.Called:
		p.freshLine()
		p.calls[it.Call.ID] = &call{Item: it}
	case view.Remark, view.Problem:
		p.note(it)
	}
}

// noted shows the last note about a call, if nothing else does. The person knows what they
// were asked and answered.
func (p *Printer) noted(c *view.Call) {
	switch n := c.Notes[len(c.Notes)-1]; n.Kind {
	case view.Asked:
		if own := p.calls[c.ID]; own != nil && n.Of.(openmanus.Asked).Kind != openmanus.AskRuling {
			own.asked = true
		} else {
			p.head(c.ID)
		}
	case view.Late:
		p.line(p.o.Style.Dim("· late result of " + c.ID + ": " + termtext.OneLine(n.Text, 100)))
	}
}

// final reports whether a call ends the work: its result is the answer.
func (p *Printer) final(c *view.Call) bool {
	spec, _ := p.session.State.ToolSpec(c.Name)
	return spec.Hints.Final
}

// note shows a remark, or a problem.
func (p *Printer) note(it *view.Item) {
	mark := p.o.Style.Dim("· " + clip.Plain(it.Text))
	if it.Kind == view.Problem {
		p.failed = it.Text
		head, rest, found := strings.Cut(clip.Plain(it.Text), ": ")
		if mark = p.o.Style.Red("! " + head); found {
			mark = p.o.Style.Red("! "+head+": ") + rest
		}
	}
	if _, stopped := it.Of.(openmanus.Interrupted); stopped {
		mark += p.onStop
	}
	p.line(mark)
}

// Request says which message the session answers: it is not shown when it is stored,
// since the user has just typed it.
func (p *Printer) Request(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.request = id
}

// heard shows what the user said while the agent works.
func (p *Printer) heard(it *view.Item) {
	if it.Of.(openmanus.UserSaid).ID == p.request {
		return
	}
	p.line(p.o.Style.Bold("> " + strings.ReplaceAll(clip.Plain(strings.TrimSpace(it.Text)), "\n", "\n  ")))
	p.line(p.o.Style.Dim("· the agent reads this at its next step"))
}

// ReadingFolder says in a few words what an [openmanus.Reading] does; "" at its end.
func ReadingFolder(files int) string {
	if files == 0 {
		return ""
	}
	return "reading the folder so that you can go back, " + clip.Count(files, "file") + " …"
}

// childDone says how a session below ended. Its texts were shown when they came.
func (p *Printer) childDone(b *view.Below) {
	if p.plans {
		return
	}
	text := fmt.Sprintf("· %s is %s", b.ID, b.Status)
	if b.Status != string(openmanus.Finished) {
		text += ": " + termtext.OneLine(b.Last, 100)
	}
	p.line(p.o.Style.Dim(text))
}

// typing shows a delta of a reply.
func (p *Printer) typing(t openmanus.Typing) {
	if p.o.Quiet {
		return
	}
	p.status.read = t.Read
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

func (p *Printer) ruled(b openmanus.Ruled) {
	what := ""
	if c := p.calls[b.Call]; c != nil && p.under != b.Call {
		tense := gist.Never
		if b.Allow {
			tense = gist.Waiting
		}
		verb, target := Phrase(c.Call.Call, tense, c.Call.Says...)
		what = strings.TrimSpace(verb+"  "+clip.Text(target, 60)) + ": "
	}
	if !b.Allow {
		p.line(p.o.Style.Red("! "+what+"not allowed: ") + clip.Plain(b.Reason) + p.o.Style.Dim(" ("+b.By+")"))
	} else if b.Rule == "" || strings.HasPrefix(b.Rule, "remembered ") {
		p.line(p.o.Style.Dim(strings.TrimRight("· "+what+"allowed by "+b.By+", "+clip.Plain(b.Rule), ", ")))
	}
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
