package tui

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"
	"github.com/hinshun/vt10x"
)

// A lineDesk is a line with a terminal of 30 columns that shows it.
type lineDesk struct {
	*Line
	screen vt10x.Terminal
}

func newLineDesk() *lineDesk {
	screen := vt10x.New(vt10x.WithSize(30, 12))
	return &lineDesk{&Line{to: screen, width: 30, comp: newComposer(Options{}), ended: make(chan struct{}), theme: Theme{Name: "none"}}, screen}
}

// presses presses keys, as in [typing].
func (d *lineDesk) presses(keys string) {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl},
		"up": {Code: tea.KeyUp}, "left": {Code: tea.KeyLeft}, "back": {Code: tea.KeyBackspace}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
	}
	for len(keys) > 0 {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(keys, "<"), ">"); ok && keys[0] == '<' {
			lineModel{d.Line}.Update(special[name])
			keys = rest
			continue
		}
		r := []rune(keys)[0]
		lineModel{d.Line}.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		keys = keys[len(string(r)):]
	}
}

// shows fails the test unless the screen has these lines, and the caret stands where ^ is
// among them.
func (d *lineDesk) shows(t *testing.T, want string) {
	t.Helper()
	var lines []string
	for l := range strings.Lines(d.screen.String()) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	caret := d.screen.Cursor()
	if lines[caret.Y] += strings.Repeat(" ", 30); true {
		row := []rune(lines[caret.Y])
		lines[caret.Y] = strings.TrimRight(string(row[:caret.X])+"^"+string(row[caret.X:]), " ")
	}
	if got := strings.TrimRight(strings.Join(lines, "\n"), "\n"); got != strings.TrimPrefix(want, "\n") {
		t.Fatalf("the screen is\n%s\nwant\n%s", got, want)
	}
}

// reads reads in the background.
func (d *lineDesk) reads(ctx context.Context, what Reading) <-chan entered {
	got := make(chan entered, 1)
	go func() {
		text, err := d.Read(ctx, what)
		got <- entered{text, err}
	}()
	synctest.Wait()
	return got
}

// Output stays above the input line, which is there to the end: also while a
// question is asked, which it does not answer.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLineDesk()
		io.WriteString(d, "one\ntw")
		d.shows(t, "one\n^")
		steering := d.reads(t.Context(), Reading{Steering: true})
		d.Status("* runs 1 s")
		d.presses("dra")
		d.shows(t, "one\n* runs 1 s\n> dra^")
		io.WriteString(d, "o\nthree\n")
		d.presses("ft<left>")
		d.shows(t, "one\ntwo\nthree\n* runs 1 s\n> draf^t")
		d.Status("")
		question := d.reads(t.Context(), Reading{Prompt: "[y]es or [n]o: ", Question: true})
		d.shows(t, "one\ntwo\nthree\n[y]es or [n]o:\n> ^")
		d.presses("y<enter>")
		if e := <-question; e.text != "y" || e.err != nil {
			t.Errorf("the answer is %q, %v", e.text, e.err)
		}
		synctest.Wait()
		d.shows(t, "one\ntwo\nthree\n[y]es or [n]o: y\n> draft^")
		d.presses("<enter>")
		if e := <-steering; e.text != "draft" {
			t.Errorf("heard %q", e.text)
		}
		d.presses("early<enter>")
		d.shows(t, "one\ntwo\nthree\n[y]es or [n]o: y\n^")
		if e := <-d.reads(t.Context(), Reading{Prompt: "> "}); e.text != "early" {
			t.Errorf("read %q", e.text)
		}
		d.shows(t, "one\ntwo\nthree\n[y]es or [n]o: y\n> early\n^")
	})
}

// A paste of several lines is one text. Ctrl-C puts it into the history; only with
// nothing typed does it interrupt, as Esc does while the agent works.
func TestLineLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLineDesk()
		asked := d.reads(t.Context(), Reading{Prompt: "> "})
		lineModel{d.Line}.Update(tea.PasteMsg{Content: "a\r\nb\x1b[2J\nc"})
		d.presses("<esc>")
		d.shows(t, "> a\n  b\\x1b[2J\n  c^")
		d.presses("<ctrl+c>")
		d.shows(t, "> ^")
		d.presses("<up>!<enter>")
		if e := <-asked; e.text != "a\nb\x1b[2J\nc!" {
			t.Errorf("read %q", e.text)
		}
		for keys, want := range map[string]error{"<ctrl+c>": ErrInterrupt, "<esc>": ErrInterrupt, "<ctrl+d>": io.EOF} {
			steering := d.reads(t.Context(), Reading{Steering: true})
			d.presses(keys)
			if e := <-steering; e.err != want {
				t.Errorf("%s: %v, want %v", keys, e.err, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		asked = d.reads(ctx, Reading{Question: true})
		d.presses("half")
		cancel()
		if e := <-asked; !errors.Is(e.err, context.Canceled) || d.comp.text != "half" {
			t.Errorf("%v, and there is %q", e.err, d.comp.text)
		}
	})
}

// Whatever is written and typed, and however wide the letters are, the screen ends with
// what was printed and what is typed.
func TestLineRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 1))
			d := newLineDesk()
			ctx, cancel := context.WithCancel(t.Context())
			reading := d.reads(ctx, Reading{Prompt: "> "})
			last := ""
			for range 60 {
				switch r.IntN(4) {
				case 0:
					last = strings.Repeat("printed ", 1+r.IntN(3))
					io.WriteString(d, "before\n"+last+"\n")
				case 1:
					d.Status(strings.Repeat("s", r.IntN(60)))
				case 2:
					d.presses([]string{"<left>", "<back>", "<ctrl+j>", "long words "}[r.IntN(4)])
				default:
					d.presses([]string{"a", "你好", "é", " "}[r.IntN(4)])
				}
			}
			d.presses("<ctrl+c>")
			d.Status("")
			io.WriteString(d, "end\n")
			screen := strings.TrimRight(d.screen.String(), " \n")
			tail := screen[max(0, len(screen)-200):]
			if lines := strings.Split(tail, "\n"); strings.TrimSpace(lines[len(lines)-1]) != ">" || strings.TrimSpace(lines[len(lines)-2]) != "end" ||
				last != "" && strings.TrimSpace(lines[len(lines)-3]) != strings.TrimSpace(last) {
				t.Fatalf("seed %d:\n%s\nwant %q and end", seed, tail, last)
			}
			cancel()
			<-reading
		}
	})
}
