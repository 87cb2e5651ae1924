package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/hinshun/vt10x"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
)

// A fake is a Source with one session, whose events are in memory.
type fake struct {
	Source // nil: what a test does not expect panics
	mu     sync.Mutex
	events []openmanus.Event
	more   chan struct{} // closed and replaced when events grow
	reads  int           // how many events were read
}

func newFake(bodies ...openmanus.Body) *fake {
	return &fake{events: stored(0, bodies...), more: make(chan struct{})}
}

// append appends a body.
func (f *fake) append(b openmanus.Body) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, stored(int64(len(f.events)), b)...)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fake) Name() string { return "/work" }

func (f *fake) Session(context.Context, string) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Session{ID: "s1", Events: int64(len(f.events))}, nil
}

func (f *fake) Sessions(context.Context, int) ([]Session, error) {
	return []Session{{ID: "s1", Title: "one \x1b[2J"}, {ID: "s2", Title: "two 世界", Questions: 1}}, nil
}

func (f *fake) Search(context.Context, string, int) ([]Session, error) {
	return nil, io.ErrUnexpectedEOF
}

func (f *fake) Events(_ context.Context, _ string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		f.mu.Lock()
		events := f.events
		f.mu.Unlock()
		for _, ev := range events[min(after, int64(len(events))):] {
			f.mu.Lock()
			f.reads++
			f.mu.Unlock()
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func (f *fake) Follow(ctx context.Context, _ string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		for {
			f.mu.Lock()
			events, more := f.events, f.more
			f.mu.Unlock()
			for ; after < int64(len(events)); after++ {
				if !yield(events[after], nil) {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fake) Start(context.Context, Message) (string, error) { return "s1", nil }
func (f *fake) Say(_ context.Context, _ string, m Message) error {
	f.append(userSays(m.ID, m.Text))
	return nil
}
func (f *fake) Interrupt(context.Context, string, string) error          { return nil }
func (f *fake) Continue(context.Context, string) error                   { return nil }
func (f *fake) Decide(context.Context, Decision) error                   { return nil }
func (f *fake) Choices(context.Context, string, string) (Choices, error) { return Choices{}, nil }
func (f *fake) Fork(context.Context, string, int64) (string, error)      { return "s1", nil }
func (f *fake) Back(context.Context, string, act.Rewind) (*act.Rewinding, error) {
	return &act.Rewinding{Messages: []string{"x"}, Talk: true}, nil
}
func (f *fake) Models(context.Context) ([]Named, error) {
	return []Named{{Name: "m", About: "a model"}}, nil
}
func (f *fake) Agents(context.Context) ([]Named, error)       { return nil, io.ErrUnexpectedEOF }
func (f *fake) Change(context.Context, string, Setting) error { return nil }

// A probe asks for what the program believes to be on the screen.
type probe struct{ reply chan []string }

// A feed has events that come as if they were followed.
type feed []openmanus.Event

// A probed is a program that answers probes.
type probed struct {
	*program
	title *string // of the window, in place of the program's own; nil: that
}

// View implements [tea.Model].
func (p probed) View() tea.View {
	v := p.program.View()
	if p.title != nil {
		v.WindowTitle = *p.title
	}
	return v
}

func (p probed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if ask, ok := msg.(probe); ok {
		ask.reply <- append([]string{fmt.Sprint(p.caret.x, " ", p.caret.y, " ", p.caret.shown)}, p.frame...)
		return p, nil
	}
	if evs, ok := msg.(feed); ok {
		for _, ev := range evs {
			p.event(ev)
		}
		msg = nil // and the frame is drawn
	}
	_, cmd := p.program.Update(msg)
	return p, cmd
}

// A judge is a terminal that says when something was written to it, and keeps it for
// the second judge, xterm.js.
type judge struct {
	vt10x.Terminal
	wrote chan struct{}

	mu  sync.Mutex
	has repaints

	whole   vt10x.Terminal // to which all is written; nil: there is none
	differs string         // how the screen was another one than that of whole
	log     []record
}

// A record is one thing that happened to a terminal: one of its fields is set.
type record struct {
	Written string   `json:",omitempty"`
	Size    []int    `json:",omitempty"` // columns, rows
	Screen  []string `json:",omitempty"` // what it showed then
	Cursor  []int    `json:",omitempty"` // where the cursor was, beside the screen
}

// cells returns all that a terminal shows, with its colours.
func cells(t vt10x.Terminal) string {
	var b strings.Builder
	cols, rows := t.Size()
	for y := range rows {
		for x := range cols {
			c := t.Cell(x, y)
			fmt.Fprintf(&b, "%c", max(c.Char, ' '))
			if c.FG != vt10x.DefaultFG || c.BG != vt10x.DefaultBG || c.Mode != 0 {
				fmt.Fprintf(&b, "{%d %d %d}", c.FG, c.BG, c.Mode)
			}
		}
		b.WriteByte('\n')
	}
	return b.String() + fmt.Sprint(t.Cursor().X, t.Cursor().Y)
}

// size resizes the terminal.
func (j *judge) size(cols, rows int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log = append(j.log, record{Size: []int{cols, rows}})
	j.Resize(cols, rows)
	if j.whole != nil {
		j.whole.Resize(cols, rows)
	}
}

// shows reports whether the terminal shows want, in the form of a probe, and what it
// shows.
func (j *judge) shows(want []string) ([]string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	got := j.screen()
	if strings.HasSuffix(want[0], "false") {
		got[0] = want[0] // a hidden cursor is anywhere
	}
	if !slices.Equal(got, want) {
		return got, false
	}
	j.log = append(j.log, record{Screen: want[1:]})
	if j.whole == nil {
		return got, true
	}
	if was, is := cells(j.whole), cells(j.Terminal); was != is && j.differs == "" {
		i := 0
		for strings.HasPrefix(was, is[:i+1]) {
			i++
		}
		j.differs = fmt.Sprintf("%q in place of %q", is[i:min(i+60, len(is))], was[i:min(i+60, len(was))])
	}
	return got, true
}

// xterm has xterm.js play the log and compare its screens.
func (j *judge) xterm(t *testing.T) {
	t.Helper()
	if !testbed.Has(t, "node") { // then xterm.js does not judge
		return
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log.json")
	data, err := json.Marshal(j.log)
	if err == nil {
		err = os.WriteFile(log, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, "testdata/judge.mjs", log).CombinedOutput(); err != nil {
		t.Errorf("xterm.js: %v\n%s", err, out)
	}
}

func (j *judge) Write(data []byte) (int, error) {
	crlf := func(data []byte) []byte { // as the driver of a terminal does
		return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
	}
	j.mu.Lock()
	_, height := j.Size()
	lines := crlf(j.has.frame(data, height))
	j.log = append(j.log, record{Written: string(lines)})
	_, err := j.Terminal.Write(lines)
	if j.whole != nil {
		n := 0
		j.whole.Write(crlf(setMargins.ReplaceAllFunc(data, func(set []byte) []byte {
			if n++; n%2 == 0 {
				return []byte("\x1b[r")
			}
			return set
		})))
	}
	j.mu.Unlock()
	select {
	case j.wrote <- struct{}{}:
	default:
	}
	return len(data), err
}

// screen returns what the terminal shows, in the form of a probe.
func (j *judge) screen() []string {
	cols, rows := j.Size()
	c := j.Cursor()
	lines := []string{fmt.Sprint(c.X, " ", c.Y, " ", j.CursorVisible())}
	for y := range rows {
		var b strings.Builder
		for x := range cols {
			ch := j.Cell(x, y).Char
			if ch == 0 {
				ch = ' '
			}
			b.WriteRune(ch)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// setMargins matches settings of the margins.
var setMargins = regexp.MustCompile(`\x1b\[\d+;\d+r`)

// colours matches the escape sequences that lines have.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// someEvent returns an event of a session, as a model or a tool may make it.
func someEvent(r *rand.Rand, n int) openmanus.Body {
	texts := []string{"a word", "# Title\n\ntext `code` **bold**\n\n- one\n- two\n", "```go\nfunc main() {\n}\n```", strings.Repeat("long ", 60), "| a | b |\n|---|---|\n| 1 | 2 |", "世界は 広い。 ✔️ é\n\n**世界** `は`", "\x1b[2J\x1b]0;x\x07\x9b31m"}
	text := texts[r.IntN(len(texts))]
	call := fmt.Sprint("c", n)
	switch r.IntN(6) {
	case 0:
		return userSays(fmt.Sprint("r", n), text)
	case 1:
		return modelSays(n, llm.Thinking{Text: text}, llm.Text{Text: text})
	case 2:
		return modelSays(n, llm.Text{Text: text}, llm.Call{ID: call, Name: "bash", Input: `{"command":"ls"}`})
	case 3:
		return openmanus.CallStarted{Call: fmt.Sprint("c", n-1), Attempt: 1}
	case 4:
		return openmanus.CallDone{Call: fmt.Sprint("c", n-2), Parts: llm.Parts{llm.Text{Text: text}}, IsError: n%2 == 0}
	}
	return openmanus.Noted{ID: fmt.Sprint("n", n), Text: text}
}

// TestRandom presses keys, pastes and resizes at random, while events come. Two terminals
// of somebody else's show now and then what a fresh drawing has.
func TestRandom(t *testing.T) {
	steps := 10_000 / testbed.Slower
	if testing.Short() {
		steps = 1000
	}
	r := rand.New(rand.NewPCG(1, testbed.Seed()))
	src := newFake(userSays("m1", "hello"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	theme := Themes()[1]
	p := newProgram(ctx, Options{Source: src, Session: "s1", Theme: theme})
	p.now = func() time.Time { return start.Add(time.Hour) }
	j := &judge{Terminal: vt10x.New(vt10x.WithSize(80, 24)), whole: vt10x.New(vt10x.WithSize(80, 24)), wrote: make(chan struct{}, 1)}
	j.size(80, 24)
	prog := tea.NewProgram(probed{p, nil}, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(j), tea.WithWindowSize(80, 24),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "TTY_FORCE=1"}), tea.WithoutSignals())
	ended := make(chan error, 1)
	go func() {
		_, err := prog.Run()
		ended <- err
	}()
	agree := func(step int) {
		t.Helper()
		var want, got []string
		deadline := time.After(20 * time.Second)
		for {
			ask := probe{make(chan []string, 1)}
			prog.Send(ask)
			want = <-ask.reply
			for i := range want {
				want[i] = strings.TrimRight(colours.ReplaceAllString(want[i], ""), " ")
			}
			var same bool
			if got, same = j.shows(want); same {
				return
			}
			select {
			case <-j.wrote:
			case <-time.After(50 * time.Millisecond): // what was written may have been seen by the last round
			case <-deadline:
				t.Fatalf("step %d: the terminal shows\n%s\nwant\n%s", step, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	for i := range steps {
		switch r.IntN(30) {
		case 0:
			w, h := 10+r.IntN(150), 3+r.IntN(50)
			j.size(w, h)
			prog.Send(tea.WindowSizeMsg{Width: w, Height: h})
		case 1:
			prog.Send(tea.PasteMsg{Content: strings.Repeat("pasted text\n", r.IntN(5))})
		case 2, 3:
			src.append(someEvent(r, i))
		case 4:
			prog.Send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		case 5:
			prog.Send(tea.MouseClickMsg{Button: tea.MouseLeft, Y: r.IntN(20)})
		default:
			prog.Send(randomKey(r))
		}
		if i%100 == 99 {
			agree(i)
		}
	}
	prog.Quit()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	p.close(cancel)
	if j.differs != "" {
		t.Error("the terminal would show something else, were all written to it: ", j.differs)
	}
	j.xterm(t)
	if j.Mode()&vt10x.ModeAltScreen != 0 || !j.CursorVisible() {
		t.Error("the terminal was not restored")
	}
}

// randomKey returns a key. Those that leave are not among them.
func randomKey(r *rand.Rand) tea.KeyPressMsg {
	codes := []rune{tea.KeyEnter, tea.KeyUp, tea.KeyDown, tea.KeyLeft, tea.KeyRight, tea.KeyPgUp, tea.KeyPgDown, tea.KeyHome, tea.KeyEnd, tea.KeyBackspace, tea.KeyTab, tea.KeyDelete}
	switch r.IntN(5) {
	case 0:
		return tea.KeyPressMsg{Code: codes[r.IntN(len(codes))]}
	case 1:
		return tea.KeyPressMsg{Code: codes[r.IntN(len(codes))], Mod: []tea.KeyMod{tea.ModAlt, tea.ModCtrl, tea.ModShift}[r.IntN(3)]}
	case 2:
		return tea.KeyPressMsg{Code: []rune("osbkju")[r.IntN(6)], Mod: tea.ModCtrl}
	}
	c := []rune("abcxyz /@ny")[r.IntN(11)]
	return tea.KeyPressMsg{Code: c, Text: string(c)}
}
