package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/view"
)

// A program is the interface. Its methods are called by one goroutine.
type program struct {
	o    Options
	src  Source
	ctx  context.Context
	work sync.WaitGroup
	now  func() time.Time

	theme         Theme
	all           bool // everything is unfolded
	width, height int
	panel         panel

	gen     int    // of the session on the screen: messages of others are old
	id      string // of that session; "": none
	session *view.Session
	window  window
	from    *follower
	below   map[string]*child
	chosen  *block // by the person; nil: none
	goal    int64  // the event to show when the session is read; 0: its end
	broken  bool   // no process drives the session, though there is something to do
	lost    bool   // it cannot be followed at the moment
	lostWhy string

	stack    []widget
	deciding map[string]bool // questions whose decision the journal does not have yet: see question.key
	comp     *composer
	sent     []Message // that are on their way
	mode     string    // of the next session
	model    string

	escaped  time.Time // when Esc was pressed last
	leaving  string    // what another key press does
	ticking  bool
	frame    []string // what is on the screen
	caret    caret
	quitting bool
	custom   []Custom
	pictures pictureDir
	blurred  bool // the person looks elsewhere
}

// A caret is where the person types. x is a column of the screen.
type caret struct {
	x, y  int
	shown bool
}

// A widget is what is drawn in place of the composer while it has the focus.
type widget interface {
	// update handles a key, a paste, or a message of its own. The widget is removed when
	// done is true.
	update(p *program, msg tea.Msg) (done bool, cmd tea.Cmd)

	// view returns at most height lines of at most width columns, and the caret in them.
	view(p *program, width, height int) (lines []string, at caret)
}

// newProgram returns a program for an empty screen. ctx ends everything that it begins.
func newProgram(ctx context.Context, o Options) *program {
	p := &program{
		o: o, src: o.Source, ctx: ctx, now: time.Now, theme: o.Theme, width: 80, height: 24,
		mode: o.Mode, model: o.Model, comp: newComposer(o), deciding: make(map[string]bool),
	}
	p.leave()
	p.panel.on = true
	return p
}

// Init implements [tea.Model]. It shows the session and sends the task that the options
// name, and begins to read everything that is beside them.
func (p *program) Init() tea.Cmd {
	var cmds []tea.Cmd
	if p.o.Session != "" {
		cmds = append(cmds, p.show(p.o.Session))
	}
	if p.o.Task != nil {
		cmds = append(cmds, p.submit(*p.o.Task, p.o.Attach))
	}
	return tea.Batch(append(cmds, p.panel.refresh(p), p.listen(), p.await(), p.readCommands(), p.begin(false), atOnce)...)
}

// atOnce has each frame written as one update (DEC mode 2026), also where the terminal does
// not say whether it knows that, as over SSH: one that does not, ignores it.
func atOnce() tea.Msg {
	return tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset}
}

// do returns a command that runs f, until the program ends.
func (p *program) do(f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg { return f(p.ctx) }
}

// A then is a message that says itself what follows from it.
type then func(p *program) tea.Cmd

// still returns f as a message that does nothing if the person has left the session that is
// on the screen now.
func (p *program) still(f then) then {
	gen := p.gen
	return func(p *program) tea.Cmd {
		if p.gen != gen {
			return nil
		}
		return f(p)
	}
}

// load returns a command that runs f. It drops what follows from it if the person has left
// the session meanwhile. An error is shown, after failed was called.
func (p *program) load(f func(ctx context.Context) (then, error), failed func()) tea.Cmd {
	var err error
	var next then
	over := p.still(func(p *program) tea.Cmd {
		if err != nil {
			failed()
			return p.notice(true, "%v", err)
		}
		return next(p)
	})
	return p.do(func(ctx context.Context) tea.Msg {
		next, err = f(ctx)
		return over
	})
}

// show returns a message that shows a list.
func show(l *list) tea.Msg {
	return then(func(p *program) tea.Cmd {
		p.push(l)
		return nil
	})
}

// A noticeMsg is a remark of the program that is shown and not stored.
type noticeMsg struct {
	text string
	bad  bool
}

// notice shows a remark.
func (p *program) notice(bad bool, format string, a ...any) tea.Cmd {
	p.addNotice(bad, fmt.Sprintf(format, a...))
	return nil
}

// addNotice adds a remark, or a problem, at the end of the page. The journal does not have
// it.
func (p *program) addNotice(bad bool, text string) {
	b := &block{Item: &view.Item{Kind: view.Remark, Text: text, Seq: p.window.last()}}
	if bad {
		b.Kind = view.Problem
	}
	p.window.pages[len(p.window.pages)-1].add(b)
	if p.window.atEnd {
		p.window.pinned = true
	}
}

// A tickMsg moves what shows that something runs, and the time it has taken.
type tickMsg struct{}

const tickEvery = 250 * time.Millisecond

// Update implements [tea.Model]. It handles the message, draws the screen anew, and reads
// more of the session where the person has scrolled to.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := p.handle(msg)
	p.layout()
	more := p.readMore()
	if p.session.Working() && !p.ticking {
		p.ticking = true
		more = tea.Batch(more, tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} }))
	}
	return p, tea.Batch(cmd, more)
}

// handle changes the program by a message. It is the only place at which messages change
// its state, so nothing in it needs a lock.
func (p *program) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		return p.wheel(msg)
	case tea.MouseClickMsg:
		p.click(msg)
	case tea.FocusMsg:
		p.blurred = false
	case tea.BlurMsg:
		p.blurred = true
	case tickMsg:
		p.ticking = false
	case eventsMsg:
		return p.events(msg)
	case noticeMsg:
		p.addNotice(msg.bad, msg.text)
	case then:
		return msg(p)
	default:
		return p.pass(msg)
	}
	return nil
}

// failed gives back a message that could not be sent. If it was to begin a session, the
// person learns first what is missing for one.
func (p *program) failed(m Message, err error) tea.Cmd {
	p.sent = without(p.sent, m.ID)
	p.comp.restore(m.Text)
	if p.id != "" || p.o.Begin == nil {
		return p.notice(true, "%v", err)
	}
	return p.do(func(ctx context.Context) tea.Msg {
		if p.o.Begin.Refused != nil {
			if other, why := p.o.Begin.Refused(); why != nil {
				return refused(why, other)
			}
		}
		if err := p.o.Begin.Missing(ctx); err != nil {
			return p.missing(err, false)
		}
		return noticeMsg{err.Error(), true}
	})
}

// pass gives a message to the widget on top, or to the composer if there is none. A widget
// that is done is removed.
func (p *program) pass(msg tea.Msg) tea.Cmd {
	if n := len(p.stack); n > 0 {
		top := p.stack[n-1]
		done, cmd := top.update(p, msg)
		if done {
			p.pop(top)
		}
		return cmd
	}
	return p.comp.update(p, msg)
}

// push gives the focus to a widget.
func (p *program) push(w widget) { p.stack = append(p.stack, w) }

// pop removes a widget.
func (p *program) pop(w widget) {
	p.stack = slices.DeleteFunc(p.stack, func(x widget) bool { return x == w })
}

// submit sends a message to the session on the screen, or opens one with it. A command
// is carried out.
func (p *program) submit(text string, attach []string) tea.Cmd {
	text = strings.TrimSpace(text)
	if text == "" && len(attach) == 0 {
		return p.goOn()
	}
	if cmd, ok := p.commandLine(text); ok {
		return cmd
	}
	return p.say(text, attach)
}

// say sends a message, even if it looks like a command. The first one begins a session.
// Until the journal has it, the screen shows it as being sent; if it fails, it comes back
// into the composer.
func (p *program) say(text string, attach []string) tea.Cmd {
	m := Message{ID: ids.New(), Text: text, Attach: attach}
	p.sent = append(p.sent, m)
	p.window.pinned = p.window.atEnd
	id := p.id
	return tea.Batch(p.jump(0), p.do(func(ctx context.Context) tea.Msg {
		started, err := id, error(nil)
		if id == "" {
			started, err = p.src.Start(ctx, m)
		} else {
			err = p.src.Say(ctx, id, m)
		}
		return then(func(p *program) tea.Cmd {
			switch {
			case err != nil:
				return p.failed(m, err)
			case id != "":
				return nil
			}
			p.sent = without(p.sent, m.ID)
			return tea.Batch(p.show(started), p.panel.refresh(p))
		})
	}))
}

// goOn continues a session that has stopped, when the person presses Enter and has
// typed nothing.
func (p *program) goOn() tea.Cmd {
	p.comp.dismissed, p.comp.planned = "", 0
	if cmd := p.asked(); len(p.stack) > 0 || cmd != nil {
		return cmd
	}
	st := p.session.Status()
	if p.id == "" || !p.broken && st != openmanus.Failed && st != openmanus.Halted {
		return nil
	}
	id := p.id
	p.broken = false
	return p.act(func(ctx context.Context) error { return p.src.Continue(ctx, id) })
}

// act returns a command that does something and shows why it failed.
func (p *program) act(f func(ctx context.Context) error) tea.Cmd {
	return p.do(func(ctx context.Context) tea.Msg {
		if err := f(ctx); err != nil {
			return noticeMsg{err.Error(), true}
		}
		return nil
	})
}

// interrupt interrupts the session.
func (p *program) interrupt() tea.Cmd {
	id, said := p.id, p.window.stream.reply.text
	return p.act(func(ctx context.Context) error { return p.src.Interrupt(ctx, id, said) })
}

// changed notices that the session works no longer, or that it asks.
func (p *program) changed(was openmanus.Status) tea.Cmd {
	cmd := p.asked()
	if now := p.session.Status(); underWay(was) && !underWay(now) && p.session.State.Seq > 0 {
		return tea.Batch(cmd, p.panel.refresh(p), p.notify(string(now)+": "+clip.Text(clip.OneLine(p.session.Title()), 60)))
	}
	return cmd
}

func underWay(st openmanus.Status) bool { return st == openmanus.Running || st == openmanus.Waiting }

// View implements [tea.Model]. The frame was drawn by layout; View does no work.
func (p *program) View() tea.View {
	v := tea.NewView(strings.Join(p.frame, "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = p.title()
	v.ReportFocus = true
	if p.caret.shown {
		v.Cursor = tea.NewCursor(p.caret.x, p.caret.y)
	}
	return v
}

// title returns the title of the terminal's window, with a sign if the session works or
// waits for the person.
func (p *program) title() string {
	text := "OpenManus"
	if t := clip.Text(clip.OneLine(clip.Clean(p.session.Title())), 40); t != "" {
		text = t + " — OpenManus"
	}
	switch {
	case len(p.questions()) > 0:
		return "? " + text
	case p.session.Working():
		return "◐ " + text
	}
	return text
}

// close ends what the program began.
func (p *program) close(cancel context.CancelFunc) {
	p.leave()
	cancel()
	p.work.Wait()
	p.pictures.close()
}
