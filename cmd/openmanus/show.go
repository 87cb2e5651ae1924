package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// The rules of what the user sees while an agent works:
//
//   - what the agent says begins at the left margin and is shown as it streams;
//   - a call is one line, "● tool  what it does"; its output follows below,
//     behind a bar, at most tailLines lines of it;
//   - what the program says begins with a mark: · for a remark, ! for a
//     problem, ? for a question;
//   - text of an agent, a tool or a file never reaches the terminal as a control
//     sequence.

// tailLines is how many lines of a result are shown.
const tailLines = 6

// A style colours text for a terminal. The zero style leaves it as plain text.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) dim(text string) string  { return s.paint("2", text) }
func (s style) bold(text string) string { return s.paint("1", text) }
func (s style) red(text string) string  { return s.paint("31", text) }
func (s style) mark(text string) string { return s.paint("36", text) }

// plain removes control characters, and those that change the direction of
// writing, so that text cannot control the terminal or mislead its reader.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// A printer shows the events of one session. It is safe for concurrent use.
type printer struct {
	w     io.Writer
	style style
	quiet bool // only what needs a person

	mu      sync.Mutex
	column  bool                // the line is not at its beginning
	typed   strings.Builder     // of the reply on its way
	shown   string              // the last text that was shown whole
	failed  string              // the last failure of the model that was shown
	stopped string              // what follows the remark that the user interrupted the agent
	tools   map[string]llm.Call // the calls of the last replies, by id
	headed  map[string]bool     // those whose head was shown
	begun   map[string]time.Time
	lines   map[string]int    // of live output, by call
	partial map[string]string // the line of it that has not ended
	turn    int
	plans   bool          // what is delegated is shown as a plan
	kept    *bytes.Buffer // what is held back while the person is asked
}

func newPrinter(w io.Writer, s style, quiet bool) *printer {
	return &printer{w: w, style: s, quiet: quiet, tools: make(map[string]llm.Call), headed: make(map[string]bool),
		begun: make(map[string]time.Time), lines: make(map[string]int), partial: make(map[string]string), turn: -1}
}

// goOn prepares p for a session that is resumed: it learns of the calls that are
// still open, whose events follow.
func (p *printer) goOn(s *openmanus.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range s.Calls {
		if c.Done == nil {
			p.tools[c.ID] = c.Call
		}
	}
}

// event shows a stored or provisional event.
func (p *printer) event(ev openmanus.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch b := ev.Body.(type) {
	case openmanus.Typing:
		p.typing(b)
	case openmanus.ModelSaid:
		p.said(b)
	case openmanus.Called:
		p.freshLine()
		p.tools[b.Call] = openmanus.CallsOf(b)[0]
	case openmanus.ModelFailed:
		p.typed.Reset()
		p.line(p.style.red("! the model failed: ") + plain(b.Error))
		p.failed = b.Error
	case openmanus.Asked:
		p.head(b.Call)
	case openmanus.CallStarted:
		p.head(b.Call)
		p.begun[b.Call] = ev.Time
	case openmanus.Output:
		p.output(b)
	case openmanus.CallDone:
		p.done(ev.Time, b)
	case openmanus.CallLate:
		p.line(p.style.dim("· late result of " + b.Call + ": " + oneLine(b.Parts.Text(), 100)))
	case openmanus.Ruled:
		p.ruled(b)
	case openmanus.Elided:
		p.line(p.style.dim("· " + cutGist(b)))
	case openmanus.Compacted:
		p.line(p.style.dim("· " + cutGist(b)))
	case openmanus.Stopped:
		if b.Reason == openmanus.ByPerson {
			return // it was said when they interrupted
		}
		p.line(p.style.red("! stopped: ") + plain(b.Error))
	case openmanus.Interrupted:
		p.typed.Reset()
		p.line(p.style.red("! interrupted") + p.stopped)
	case openmanus.ChildOpened:
		if !p.plans {
			p.line(p.style.dim("· delegated to " + b.Child))
		}
	case openmanus.ChildDone:
		if p.plans {
			return
		}
		p.line(p.style.dim(fmt.Sprintf("· %s is %s: %s", b.Child, b.Status, oneLine(b.Text, 100))))
	}
}

// typing shows a delta of a reply.
func (p *printer) typing(t openmanus.Typing) {
	if p.quiet {
		return
	}
	if t.Reset || t.Turn != p.turn {
		if p.typed.Len() > 0 {
			p.line(p.style.dim("· (again from the beginning)"))
		}
		p.typed.Reset()
		p.turn = t.Turn
	}
	for _, part := range t.Parts {
		if text, ok := part.(llm.Text); ok && text.Text != "" {
			p.typed.WriteString(text.Text)
			p.write(plain(text.Text))
		}
	}
}

// said shows the rest of a reply, of which the streamed part is shown already.
func (p *printer) said(b openmanus.ModelSaid) {
	text := b.Message.Text()
	if !p.quiet && text != "" && p.typed.String() != text {
		p.freshLine()
		p.write(plain(text))
	}
	p.typed.Reset()
	if text != "" {
		p.shown = text
	}
	p.freshLine()
	for _, c := range openmanus.CallsOf(b) {
		p.tools[c.ID] = c
	}
}

// head shows the line of a call, once.
func (p *printer) head(id string) {
	if c, ok := p.tools[id]; ok && !p.headed[id] {
		p.headed[id] = true
		p.line(p.style.mark("● ") + p.style.bold(c.Name) + "  " + p.style.dim(callLine(c)))
	}
}

// output shows the first lines that a running call prints, each when it is
// complete.
func (p *printer) output(b openmanus.Output) {
	if p.quiet || p.lines[b.Call] >= tailLines {
		return
	}
	text := p.partial[b.Call] + plain(b.Text)
	for p.lines[b.Call] < tailLines {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			break
		}
		p.outputLine(b.Call, line)
		text = rest
	}
	p.partial[b.Call] = text
}

func (p *printer) outputLine(call, line string) {
	p.lines[call]++
	p.line(p.style.dim("  │ " + shorten(line, 200)))
}

// done shows the end of a result, unless its output was shown while it ran.
func (p *printer) done(at time.Time, b openmanus.CallDone) {
	p.head(b.Call)
	if rest := p.partial[b.Call]; rest != "" && p.lines[b.Call] < tailLines {
		p.outputLine(b.Call, rest)
	}
	delete(p.partial, b.Call)
	name := p.tools[b.Call].Name
	if text := strings.TrimSpace(b.Parts.Text()); text != "" && (p.lines[b.Call] == 0 || b.IsError) {
		for _, l := range resultLines(b) {
			p.line(p.style.dim("  │ " + shorten(l, 200)))
		}
	}
	how := "done"
	if b.IsError {
		how = p.style.red("error")
	}
	if begun, ok := p.begun[b.Call]; ok {
		how += fmt.Sprintf(" · %.1fs", max(0, at.Sub(begun).Seconds()))
	}
	images := 0
	for _, part := range b.Parts {
		if _, ok := part.(llm.Blob); ok {
			images++
		}
	}
	if images > 0 {
		how += " · " + clip.Count(images, "image")
	}
	p.line(p.style.dim("  └ ") + name + " " + how)
	delete(p.tools, b.Call)
	delete(p.headed, b.Call)
	delete(p.lines, b.Call)
	delete(p.begun, b.Call)
}

func (p *printer) ruled(b openmanus.Ruled) {
	if !b.Allow {
		p.line(p.style.red("! not allowed: ") + plain(b.Reason) + p.style.dim(" ("+b.By+")"))
	} else if b.Rule == "" || b.Rule == forGood || strings.HasPrefix(b.Rule, "remembered ") {
		p.line(p.style.dim(strings.TrimRight("· allowed by "+b.By+", "+plain(b.Rule), ", ")))
	}
}

// remark prints a remark of the program.
func (p *printer) remark(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.style.dim("· " + plain(fmt.Sprintf(format, a...))))
}

// line prints a line, unless p is quiet.
func (p *printer) line(text string) {
	if p.quiet {
		return
	}
	p.freshLine()
	fmt.Fprintln(p.out(), text)
}

// freshLine ends the current line, if there is one.
func (p *printer) freshLine() {
	if p.column {
		fmt.Fprintln(p.out())
		p.column = false
	}
}

func (p *printer) write(text string) {
	if text == "" {
		return
	}
	io.WriteString(p.out(), text)
	p.column = !strings.HasSuffix(text, "\n")
}

// flush ends the current line, and returns the last text of a reply that was
// shown completely.
func (p *printer) flush() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshLine()
	return p.shown
}

// hasShown reports whether a failure of the model with this text was shown last.
func (p *printer) hasShown(failure string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.quiet && failure != "" && p.failed == failure
}

// soFar returns the streamed part of a reply that is not complete.
func (p *printer) soFar() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typed.String()
}

// callLine returns a call in one line.
func callLine(c llm.Call) string { return oneLine(clip.Visible(host.CallSummary(c)), 120) }

// hasPlans reports whether the detail of a result is the plans of a session.
func hasPlans(detail json.RawMessage) bool {
	ps, err := tools.ReadPlans(detail)
	return err == nil && len(ps.Plans) > 0
}

// resultLines returns the lines that are shown of a result: of a page, what was done or
// what went wrong, and where it is.
func resultLines(b openmanus.CallDone) []string {
	isView := func(p llm.Part) bool { t, ok := p.(llm.Text); return ok && t.View }
	i := slices.IndexFunc(b.Parts, isView)
	if i < 0 {
		return shortened(plain(b.Parts.Text()), hasPlans(b.Detail))
	}
	said := slices.DeleteFunc(slices.Clone(b.Parts), isView).Text()
	view := strings.Split(strings.TrimSpace(plain(b.Parts[i].(llm.Text).Text)), "\n")
	var ls []string
	if strings.TrimSpace(said) != "" {
		ls = shortened(plain(said), false)
	}
	const first = 2 // the address and the title
	ls = append(ls, view[:min(first, len(view))]...)
	if n := len(view) - first; n > 0 {
		ls = append(ls, "… "+clip.Count(n, "line")+" …")
	}
	return ls
}

// shortened returns the last lines of a result, or the steps if it is that of a
// plan.
func shortened(text string, plan bool) []string {
	text = strings.TrimRight(text, "\n")
	if _, steps, ok := strings.Cut(text, "\nSteps:\n"); ok && plan {
		return strings.Split(fromOne(steps), "\n")
	}
	ls := strings.Split(text, "\n")
	if n := len(ls) - tailLines; n > 0 {
		ls = append([]string{"… " + clip.Count(n, "line") + " …"}, ls[n:]...)
	}
	return ls
}

// shorten returns text cut to n characters.
func shorten(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// oneLine returns text as one line of at most n characters, without control
// characters.
func oneLine(text string, n int) string {
	return shorten(strings.Join(strings.Fields(plain(text)), " "), n)
}

// question prints a question, even if p is quiet. Its first line has the mark;
// the others stand behind a bar, so that none of them can pass for words of the
// program.
func (p *printer) question(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshLine()
	text, rest, more := strings.Cut(strings.TrimRight(clip.Visible(fmt.Sprintf(format, a...)), "\n"), "\n")
	fmt.Fprintln(p.w, p.style.bold("? "+text))
	if more {
		p.bar(rest)
	}
}

// block prints all of a text behind a bar, even if p is quiet. What does not show
// is printed as an escape, since the user decides by what they see.
func (p *printer) block(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshLine()
	p.bar(clip.Visible(text))
}

func (p *printer) bar(text string) {
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(p.w, "  │ "+l)
	}
}
