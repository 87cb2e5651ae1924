package tui

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/hinshun/vt10x"
)

// A typed text and how often the caret moves left in it then.
type caretCase struct {
	text string
	left int
}

// A placing has the program show a text with the caret somewhere in it.
type placing struct {
	caretCase
	title string
	reply chan []string
}

// A placed is a program that carries out placings.
type placed struct {
	probed
}

func (p placed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m, ok := msg.(placing); ok {
		p.comp.reset()
		p.comp.insert(m.text)
		for range m.left {
			p.comp.edit("left")
		}
		*p.title = m.title
		p.layout()
		m.reply <- append([]string{fmt.Sprint(p.caret.x, " ", p.caret.y, " ", p.caret.shown)}, p.frame...)
		return p, nil
	}
	_, cmd := p.program.Update(msg)
	return p, cmd
}

// TestTheCaretOnATerminal types 200 texts of every script on a terminal of 40 columns and
// 10 lines. The cursor of two terminals of somebody else's is where the next character
// would appear; that of vt10x counts for texts without wide characters, which it does not
// know.
func TestTheCaretOnATerminal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var cases []caretCase
	for range 200 {
		var b strings.Builder
		n := 1 + rng.IntN(30)
		for range n {
			if rng.IntN(4) == 0 {
				b.WriteByte(' ')
			}
			b.WriteString(texts[rng.IntN(len(texts))].cluster)
		}
		cases = append(cases, caretCase{b.String(), rng.IntN(n)})
	}
	title := ""
	p := newProgram(t.Context(), Options{Source: newFake(), Theme: Theme{Name: "none"}})
	p.width, p.height = 40, 10
	j := &judge{Terminal: vt10x.New(vt10x.WithSize(40, 10)), whole: vt10x.New(vt10x.WithSize(40, 10)), wrote: make(chan struct{}, 1)}
	j.size(40, 10)
	prog := tea.NewProgram(placed{probed{p, &title}}, tea.WithContext(t.Context()), tea.WithInput(nil), tea.WithOutput(j), tea.WithWindowSize(40, 10),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignals())
	ended := make(chan error, 1)
	go func() {
		_, err := prog.Run()
		ended <- err
	}()
	written := func(title string) {
		t.Helper()
		for !j.wroteText(title) {
			select {
			case <-j.wrote:
			case err := <-ended:
				t.Fatal("the program ended: ", err)
			}
		}
	}
	for i, c := range cases {
		reply := make(chan []string, 1)
		now := fmt.Sprintf("text %d.", i)
		prog.Send(placing{c, now, reply})
		want := <-reply
		written(now) // the frame with this title, and all that is in it
		var x, y int
		var shown bool
		if _, err := fmt.Sscan(want[0], &x, &y, &shown); err != nil || !shown {
			t.Fatalf("%q: the caret is at %q", c.text, want[0])
		}
		lines := want[1:]
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		j.mu.Lock()
		j.log = append(j.log, record{Screen: lines, Cursor: []int{x, y}})
		j.mu.Unlock()
		if narrow(lines) {
			if got, same := j.shows(append([]string{fmt.Sprint(x, " ", y, " true")}, lines...)); !same {
				t.Fatalf("%q: vt10x shows\n%s\nwant\n%s", c.text, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	prog.Quit()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if j.differs != "" {
		t.Error("the terminal would show something else, were all written to it: ", j.differs)
	}
	j.xterm(t)
}

// narrow reports whether each character of lines takes one column.
func narrow(lines []string) bool {
	for _, l := range lines {
		if columns(l) != len([]rune(l)) {
			return false
		}
	}
	return true
}

// wroteText reports whether a text was written at once.
func (j *judge) wroteText(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := len(j.log) - 1; i >= 0; i-- {
		if bytes.Contains([]byte(j.log[i].Written), []byte(text)) {
			return true
		}
	}
	return false
}
