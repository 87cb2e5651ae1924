package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// ErrInterrupt is that the person pressed Ctrl-C with nothing typed, or Esc while the
// agent works.
var ErrInterrupt = errors.New("interrupted")

// A Line is a place to type at the end of a terminal whose other lines stay: what is
// written to it appears above. Lines that are typed while no reader waits are kept
// for the next one. Its methods are safe for concurrent use.
type Line struct {
	out   *os.File
	to    io.Writer // out, or what a test looks at
	prog  *tea.Program
	begun chan struct{} // closed when keys are read
	ended chan struct{}
	err   error // of the program; read after ended

	mu      sync.Mutex
	theme   Theme
	comp    *composer
	width   int
	status  string
	readers []*reader // the last one gets what is entered
	early   []string  // entered while nobody read
	part    string    // of a line that is not written whole
	drawn   []string  // below the lines that stay
	caret   int       // the index in drawn of the line with the caret
	col     int       // its column
	closed  bool
}

// A Reading says what is read.
type Reading struct {
	Prompt   string // lines before its last one stay
	Question bool   // what was typed before is put aside, and answers nothing
	Steering bool   // the agent works: what is entered is shown elsewhere
}

// A reader waits for a line.
type reader struct {
	Reading
	draft string // what was typed before the question
	got   chan entered
}

// An entered is a text, or io.EOF or [ErrInterrupt].
type entered struct {
	text string
	err  error
}

// lineRows is how many rows of a long text are shown.
const lineRows = 8

// OpenLine shows a place to type at the end of the terminal in and out. The history of
// what was typed is kept in dataDir.
func OpenLine(ctx context.Context, in, out *os.File, env []string, theme Theme, dataDir string) *Line {
	l := &Line{out: out, to: out, theme: theme, width: 80, comp: newComposer(Options{DataDir: dataDir})}
	l.begun, l.ended = make(chan struct{}), make(chan struct{})
	l.prog = tea.NewProgram(lineModel{l}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(mute{out}), tea.WithEnvironment(env), tea.WithFPS(1))
	io.WriteString(out, pasteOn)
	go func() {
		defer close(l.ended)
		_, l.err = l.prog.Run()
	}()
	select { // what is typed from here on is read key by key
	case <-l.begun:
	case <-l.ended:
	}
	return l
}

// Pastes come between marks, which distinguish them from keys.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// A mute is a terminal on which a program of Bubble Tea reads keys and draws nothing.
type mute struct{ *os.File }

func (mute) Write(data []byte) (int, error)    { return len(data), nil }
func (mute) WriteString(s string) (int, error) { return len(s), nil }

// Close ends typing. Unsent text goes to the history.
func (l *Line) Close() error {
	l.prog.Quit()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if !l.comp.empty() {
		l.comp.putAway()
	}
	io.WriteString(l.to, l.erase()+l.part+pasteOff)
	if errors.Is(l.err, tea.ErrInterrupted) || errors.Is(l.err, tea.ErrProgramKilled) {
		return nil // by a signal, of which the others know
	}
	return l.err
}

// Unwrap returns the terminal.
func (l *Line) Unwrap() io.Writer { return l.out }

// Write shows the whole lines of data above what is typed. The rest of data is shown
// when its line is whole.
func (l *Line) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.to.Write(data)
	}
	text := l.part + string(data)
	end := strings.LastIndexByte(text, '\n') + 1
	l.part = text[end:]
	if err := l.draw(text[:end]); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Status shows a line of status above what is typed; "" shows none.
func (l *Line) Status(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = text
	l.draw("") // what the terminal does not take, a later write reports
}

// Read returns the next text that the person enters. The error is io.EOF if they left,
// and [ErrInterrupt].
func (l *Line) Read(ctx context.Context, what Reading) (string, error) {
	above := what.Prompt[:strings.LastIndexByte(what.Prompt, '\n')+1]
	what.Prompt = what.Prompt[len(above):]
	r := &reader{Reading: what, got: make(chan entered, 1)}
	l.mu.Lock()
	if len(l.early) > 0 && !what.Question {
		text := l.early[0]
		l.early = l.early[1:]
		l.draw(above)
		l.echo(what, text)
		l.mu.Unlock()
		return text, nil
	}
	if what.Question && !l.comp.empty() {
		r.draft = l.comp.full()
		l.comp.reset()
	}
	l.readers = append(l.readers, r)
	l.draw(above)
	l.mu.Unlock()
	e := entered{err: io.EOF}
	select {
	case e = <-r.got:
	case <-ctx.Done():
		e.err = ctx.Err()
	case <-l.ended:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers = slices.DeleteFunc(l.readers, func(o *reader) bool { return o == r })
	select {
	case e = <-r.got: // entered at the moment in which ctx ended
	default:
	}
	if r.draft != "" {
		l.comp.restore(r.draft)
	}
	l.draw("")
	return e.text, e.err
}

// deliver gives what was entered to who reads, or keeps it.
func (l *Line) deliver(e entered) {
	n := len(l.readers) - 1
	switch {
	case n >= 0:
		r := l.readers[n]
		l.readers = l.readers[:n]
		if e.err == nil {
			l.echo(r.Reading, e.text)
		}
		r.got <- e
	case e.err == nil:
		l.early = append(l.early, e.text)
	}
}

// echo shows what was entered, with what it answers.
func (l *Line) echo(what Reading, text string) {
	if what.Steering {
		return
	}
	text = clip.Visible(strings.ReplaceAll(text, "\t", "    "))
	l.draw(l.theme.bold(what.Prompt) + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
}

// lineModel is how Bubble Tea sees a line.
type lineModel struct{ *Line }

// Init implements [tea.Model].
func (m lineModel) Init() tea.Cmd {
	close(m.begun)
	return nil
}

// View implements [tea.Model]. The line draws itself.
func (m lineModel) View() tea.View { return tea.NewView("") }

// Update implements [tea.Model].
func (m lineModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	l := m.Line
	l.mu.Lock()
	defer l.mu.Unlock()
	var cmd tea.Cmd
	above := ""
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.width = max(msg.Width, 4)
	case tea.PasteMsg:
		l.comp.paste(msg.Content)
	case tea.KeyPressMsg:
		cmd = l.key(msg)
	case tea.ResumeMsg:
		above = pasteOn
		l.drawn = nil
	default:
		return m, nil
	}
	l.draw(above)
	return m, cmd
}

// key handles a key.
func (l *Line) key(k tea.KeyPressMsg) tea.Cmd {
	c := l.comp
	switch name := k.String(); name {
	case "ctrl+z":
		io.WriteString(l.to, l.erase()+pasteOff)
		return tea.Suspend
	case "ctrl+l":
		l.drawn = nil
		io.WriteString(l.to, "\x1b[2J\x1b[H")
	case "ctrl+c":
		if !c.empty() {
			c.putAway()
			return nil
		}
		l.deliver(entered{err: ErrInterrupt})
	case "esc":
		if n := len(l.readers); n > 0 && l.readers[n-1].Steering {
			l.deliver(entered{err: ErrInterrupt})
		}
	case "ctrl+d":
		if c.empty() {
			l.deliver(entered{err: io.EOF})
			return nil
		}
		c.edit(name)
	case "enter":
		if strings.HasSuffix(c.text, `\`) && c.at == len(c.text) {
			c.cut(c.at - 1)
			c.insert("\n")
			return nil
		}
		text := c.full()
		if n := len(l.readers); n == 0 || !l.readers[n-1].Question {
			c.past.add(text)
		}
		c.reset()
		l.deliver(entered{text: text})
	default:
		c.typed(name, k.Text)
	}
	return nil
}

// draw writes whole lines that stay, and below them the status and what is typed.
func (l *Line) draw(above string) error {
	if l.closed {
		return nil
	}
	was, caret := l.drawn, l.caret
	gone := l.erase()
	col := l.layout()
	if above == "" && slices.Equal(was, l.drawn) && caret == l.caret && col == l.col {
		return nil
	}
	l.col = col
	var b strings.Builder
	b.WriteString("\x1b[?2026h" + gone)
	b.WriteString(strings.ReplaceAll(above, "\n", "\r\n"))
	b.WriteString(strings.Join(l.drawn, "\r\n"))
	if up := len(l.drawn) - 1 - l.caret; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	fmt.Fprintf(&b, "\x1b[%dG\x1b[?2026l", col+1)
	_, err := io.WriteString(l.to, b.String())
	return err
}

// layout lays out the status and what is typed, and returns the column of the caret.
func (l *Line) layout() (col int) {
	l.drawn, l.caret = nil, 0
	if l.status != "" {
		l.drawn = append(l.drawn, fitLine(l.status, l.width-1))
	}
	n := len(l.readers)
	if n == 0 && l.comp.empty() {
		return 0
	}
	prompt := ""
	if n > 0 {
		prompt = l.readers[n-1].Prompt
	}
	if clip.Width(prompt) > 4 {
		for _, row := range wrap(strings.TrimRight(prompt, " "), l.width-1) {
			l.drawn = append(l.drawn, l.theme.bold(row))
		}
		prompt = ""
	}
	prompt = cmp.Or(prompt, "> ")
	wide := clip.Width(prompt)
	l.comp.width = l.width - 1 - wide
	rows, x, y := l.comp.rows(l.comp.width)
	from := max(0, min(y-lineRows/2, len(rows)-lineRows))
	for i := from; i < min(len(rows), from+lineRows); i++ {
		head := strings.Repeat(" ", wide)
		switch {
		case i == 0:
			head = l.theme.bold(prompt)
		case i == from:
			head = l.theme.dim(clip.Fit("… ", wide))
		}
		if i == y {
			l.caret = len(l.drawn)
		}
		l.drawn = append(l.drawn, head+rows[i].shown)
	}
	return wide + x
}

// erase returns what takes the drawn lines away. In a terminal that has become narrower
// they may stand on more lines than they were drawn on.
func (l *Line) erase() string {
	if l.drawn == nil {
		return ""
	}
	up := 0
	for _, line := range l.drawn[:l.caret] {
		up += max(1, (clip.Width(clip.Clean(line))+l.width-1)/l.width)
	}
	if up == 0 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}
