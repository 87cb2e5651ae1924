package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/tui"
)

// chatCmd is openmanus chat.
type chatCmd struct {
	Prompt  string `arg:"" optional:"" help:"The first request."`
	Session string `help:"Go on with this session." placeholder:"ID"`
	Plain   bool   `help:"Line by line, also on a terminal that can show the whole screen."`
	worktreeFlag
	runFlags
}

// Help is more of the command.
func (chatCmd) Help() string {
	return `On a terminal, chat takes the whole screen; so does openmanus alone, and openmanus "what you want done". With --plain, in a pipe and with TERM=dumb it works line by line.

--attach http://HOST:PORT/?token=TOKEN, the link that openmanus serve prints, shows the sessions of that server instead.`
}

const chatHelp = `Write what you want done, and press Enter.
A line that ends with \ goes on in the next one; """ on a line of its own begins and ends several lines.
What you enter while the agent works it reads at its next step; /mode, /cost and /help work then, too.
Ctrl-C puts what you have typed into the history (Up brings it back). With nothing typed it interrupts
the agent, as Esc does; pressed again, or when nothing runs, it leaves. So does Ctrl-D.

  /model NAME   continue with another model
  /mode MODE    what runs without a question from here on: ask, edits, all, plan, readonly
  /approve MODE carry out the plan that waits, in this mode; without MODE: ask
  /retry        answer the last request again, in a new session; if files were changed since, in a copy of them
  /undo         take back the last request: what was said, and what it changed in files
  /redo         take that back
  /rewind N     go back to event N (openmanus sessions log lists them)
  /fork         continue in a copy, of the files too; the session stays unchanged
                (/retry --share and /fork --share go on with the same files)
  /cost         tokens and cost of this session
  /help         this text
  /quit         leave`

// A chat is a conversation at the terminal. Each request continues one session.
type chat struct {
	*app
	flags runFlags
	id    string   // of the session; "" before the first request
	mode  string   // of the session to come; "": as configured
	later []string // what is to be read before the user's next line
	lines lineReader
	line  *tui.Line // of a terminal on which the user can type while the agent works, or nil
}

// A lineReader reads lines that the user types. The error is io.EOF if they left
// and [tui.ErrInterrupt] if they pressed Ctrl-C.
type lineReader interface {
	Read(ctx context.Context, what tui.Reading) (string, error)
}

// Run implements the command. It takes the whole screen if the terminal can show it, and
// works line by line otherwise.
func (c *chatCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if err := c.allows(c.Session); err != nil {
		return err
	}
	if t.fullScreen() && !c.Plain {
		return c.screen(ctx, t, g)
	}
	if url, _ := serverIn(c.Attach); url != "" {
		return usage(errors.New("--attach of a server needs a terminal that can show the whole screen"))
	}
	a, _, err := t.openFor(ctx, g, "chat", c.runFlags, c.Session, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	a.worktree = c.Worktree
	ch := &chat{app: a, flags: c.runFlags, lines: plainLines{t}}
	if c.Prompt != "" {
		ch.later = []string{c.Prompt}
	}
	if c.Session != "" {
		if ch.id, err = a.named(ctx, c.Session); err != nil {
			return err
		}
	} else if _, _, err := a.Choose(ctx); err != nil {
		return err
	}
	if isTerminal(t.in) && isTerminal(t.err) {
		if !t.dumb() {
			defer ch.typeBelow(ctx)()
		}
		fmt.Fprintln(t.err, a.style().Dim("OpenManus. /help lists the commands; Ctrl-D leaves."))
	}
	if ch.id != "" {
		if err := ch.banner(ctx); err != nil {
			return err
		}
	}
	return errors.Join(ch.talk(ctx), ch.left(ctx))
}

// left brings the commits of a session with a worktree to its branch when the user has
// left, and says how the work comes to them.
func (c *chat) left(ctx context.Context) error {
	if c.id == "" {
		return nil
	}
	text, err := c.SyncWorktree(context.WithoutCancel(ctx), c.id)
	if text != "" {
		fmt.Fprintln(c.t.err, c.style().Dim("· "+clip.Plain(text)))
	}
	return err
}

// typeBelow lets the user type at the end of the terminal at any time, until stop is
// called. Whatever is printed appears above.
func (c *chat) typeBelow(ctx context.Context) (stop func()) {
	t, bareOut, bareErr := c.t, c.t.out, c.t.err
	theme, _, _ := t.themes(c.globals, c.Config.DataDir) // what is wrong with others, the full screen says
	c.line = tui.OpenLine(ctx, t.in, bareFile(t.err), t.environ(), theme, c.Config.DataDir)
	c.lines, c.status = c.line, c.line.Status
	t.err = c.Secrets.Writer(c.line)
	if isTerminal(t.out) {
		t.out = t.err
	}
	t.asks = c.ask
	return func() {
		if err := c.line.Close(); err != nil {
			fmt.Fprintf(bareErr, "openmanus: the terminal: %v\n", err)
		}
		t.out, t.err, t.asks = bareOut, bareErr, nil
	}
}

// ask puts a question to the user.
func (c *chat) ask(ctx context.Context, prompt string) (string, error) {
	return c.lines.Read(ctx, tui.Reading{Prompt: c.Secrets.Replace(prompt), Question: true})
}

// talk reads requests and carries them out until the user leaves. Errors are
// shown, and the conversation goes on.
func (c *chat) talk(ctx context.Context) error {
	for {
		text, err := c.read(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, tui.ErrInterrupt):
			if c.id != "" {
				fmt.Fprintln(c.t.err, c.style().Dim("· continue with: openmanus chat --session "+c.id))
			}
			return nil
		case err != nil:
			return err
		case text == "":
			continue
		}
		if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/") {
			if word == "/quit" || word == "/exit" {
				return nil
			}
			err = c.command(ctx, word, strings.TrimSpace(rest))
		} else {
			err = c.say(ctx, text)
		}
		if e := (exit{}); errors.As(err, &e) && e.code == exitInterrupted && ctx.Err() == nil && !e.reported {
			return err // left by a second Ctrl-C
		}
		if e := (exit{}); err != nil && !(errors.As(err, &e) && e.err == nil) {
			fmt.Fprintln(c.t.err, c.style().Red("! ")+clip.Plain(err.Error()))
		}
	}
}

// read reads a request. A line that ends in \ continues on the next one; lines
// between two lines """ are one request.
func (c *chat) read(ctx context.Context) (string, error) {
	if len(c.later) > 0 {
		text := c.later[0]
		c.later = c.later[1:]
		return text, nil
	}
	var b strings.Builder
	block, prompt := false, "> "
	for {
		line, err := c.lines.Read(ctx, tui.Reading{Prompt: prompt})
		if err != nil {
			return "", err
		}
		switch more, ok := strings.CutSuffix(line, `\`); {
		case strings.TrimSpace(line) == `"""`:
			if block {
				return strings.TrimSpace(b.String()), nil
			}
			block = true
		case block:
			b.WriteString(line + "\n")
		case ok:
			b.WriteString(more + "\n")
		default:
			return strings.TrimSpace(b.String() + line), nil
		}
		prompt = "… "
	}
}

// say sends a request to the session, which the first one opens, and drives it until the
// agent has answered or waits. Attached files go with the first request only.
func (c *chat) say(ctx context.Context, text string) error {
	m, err := c.t.message(text, c.flags.Attach)
	if err != nil {
		return err
	}
	c.flags.Attach = nil
	if c.id == "" {
		spec, err := c.NewSpec(ctx, func(spec *openmanus.Spec) {
			spec.Delegates, spec.Approve = c.flags.Delegate, cmp.Or(c.mode, spec.Approve)
		})
		if err != nil {
			return err
		}
		d, err := c.openSession(ctx, spec, &m, shown{Output: outText})
		if err != nil {
			return err
		}
		c.id, c.flags = d.id, runFlags{} // they hold from here on
		return c.drive(ctx, d)
	}
	return c.goOn(ctx, m)
}

// goOn appends bodies to the session, together with the changes of settings that the flags
// make, and drives it until it ends or waits. The flags hold once.
func (c *chat) goOn(ctx context.Context, bodies ...openmanus.Body) error {
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	own, err := c.reconfigured(ctx, s, c.flags, true)
	if err != nil {
		return err
	}
	c.flags = runFlags{} // they hold from here on
	d, err := c.continued(ctx, c.id, s, append(own, bodies...), shown{Output: outText})
	if err != nil {
		return err
	}
	return c.drive(ctx, d)
}

// drive drives the session and shows it until the agent has answered. An error says how
// the session stands, and how to go on; what was shown already is not repeated.
func (c *chat) drive(ctx context.Context, d *drive) error {
	defer d.Close()
	if d.person != nil {
		d.person.ask = c.answer
	}
	d.print.OnStop("; /retry goes on")
	s, err := c.steered(ctx, d)
	if err != nil {
		return err
	}
	shown := d.print.Flush()
	if answered(s) && !(c.onScreen && s.Answer == shown) {
		fmt.Fprintln(c.t.out, d.forOut(s.Answer))
	}
	d.print.Remark("%s", summary.UsageOf(s.Usage, s.Cost, s.Unpriced))
	switch {
	case s.Status() == openmanus.Finished:
	case s.Outcome.Reason == openmanus.ByPerson:
		return exit{code: exitInterrupted, reported: true} // the remark about it says how to go on
	case d.print.HasShown(s.Outcome.Error):
		return exit{code: code(s, d.waiting), err: errors.New("/retry asks again"), reported: true}
	default:
		return exit{code: code(s, d.waiting), err: errors.New(strings.TrimSuffix(describe(s, d.waiting)+": "+s.Outcome.Error, ": ") + " (/retry goes on)"), reported: true}
	}
	return nil
}

// answer reads the user's answer to a question. Ctrl-C interrupts the agent, and answer
// waits until the driver has noticed.
func (c *chat) answer(ctx context.Context, prompt string) (string, error) {
	line, err := c.ask(ctx, prompt)
	if errors.Is(err, tui.ErrInterrupt) {
		if _, err := c.db.Append(ctx, c.id, act.Stop("")); err != nil {
			return "", err
		}
		<-ctx.Done() // the session has gone on: it is interrupted
		return "", ctx.Err()
	}
	return line, err
}

// command carries out a command that begins with a slash: one of the program, or one of
// the person's own. The program's names win.
func (c *chat) command(ctx context.Context, word, rest string) error {
	switch word {
	case "/help":
		fmt.Fprintln(c.t.err, chatHelp)
		return nil
	case "/model":
		return c.model(ctx, rest)
	case "/mode":
		return c.setMode(ctx, rest)
	}
	if own, _ := c.Commands(c.Config.Run.Workspace); len(own) > 0 {
		i := slices.IndexFunc(own, func(o *agents.Command) bool { return "/"+o.Name == word })
		if i >= 0 && !slices.Contains(chatCommands, word) {
			return c.custom(ctx, own[i], rest)
		}
	}
	if c.id == "" && slices.Contains(chatCommands, word) {
		return fmt.Errorf("%s: nothing was asked yet; /help lists the commands", word)
	}
	switch word {
	case "/retry":
		return c.retry(ctx, rest == shareWord)
	case "/undo":
		return c.back(ctx, act.Rewind{Last: true, Files: true, Talk: true})
	case "/redo":
		return c.back(ctx, act.Rewind{Redo: true})
	case "/rewind":
		to, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || to < 1 {
			return errors.New("to which event? /rewind N; openmanus sessions log " + c.id + " lists them")
		}
		return c.back(ctx, act.Rewind{To: to, Files: true, Talk: true})
	case "/fork":
		return c.fork(ctx, 0, rest == shareWord)
	case "/cost":
		return c.cost(ctx)
	case "/approve":
		return c.approvePlan(ctx, cmp.Or(rest, openmanus.ApproveAsk))
	}
	return fmt.Errorf("there is no command %s; /help lists the commands", word)
}

// retry answers the last request again: in this session if it has not finished,
// otherwise in a copy that ends with the request.
func (c *chat) retry(ctx context.Context, share bool) error {
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	if st := s.Status(); st == openmanus.Finished {
		seq, err := c.LastMessage(ctx, c.id)
		if err != nil {
			return err
		}
		if err := c.fork(ctx, seq, share); err != nil {
			return err
		}
	}
	return c.goOn(ctx, act.Resume(openmanus.Limits{}))
}

// back takes the session back, after it has shown what that means and the user has
// agreed.
func (c *chat) back(ctx context.Context, b act.Rewind) error {
	x, err := c.session(ctx, c.id)
	if err != nil {
		return err
	}
	p, err := x.goBack(ctx, b, false, func(prompt string) (string, error) {
		line, err := c.ask(ctx, prompt)
		if errors.Is(err, tui.ErrInterrupt) {
			return "", nil
		}
		return line, err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(c.t.err, c.style().Dim("· "+clip.Plain(linemode.DoneText(x.id, p))))
	x.lines(linemode.KeptLines(p))
	return nil
}

// shareWord after /fork or /retry says that the copy works on the same files.
const shareWord = "--share"

// fork continues in a copy of the session up to the event seq, or of all of it
// if seq is 0. The copy has its own files, unless share is set, or no call after
// seq can have changed any.
func (c *chat) fork(ctx context.Context, seq int64, share bool) error {
	made, err := c.Fork(ctx, host.Fork{From: c.id, At: seq, Share: share, Unchanged: seq > 0})
	if err != nil {
		return err
	}
	fmt.Fprintln(c.t.err, c.style().Dim(fmt.Sprintf("· in the new session %s; %s stays unchanged", made.ID, c.id)))
	fmt.Fprintln(c.t.err, c.style().Dim("· "+local.FilesOf(made)))
	c.id = made.ID
	return nil
}

func (c *chat) cost(ctx context.Context) error {
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.t.err, "%s · %s · %s\n", c.id, s.Config.Model, summary.UsageOf(s.Usage, s.Cost, s.Unpriced))
	return nil
}

// plainLines reads lines where the user cannot type while the agent works: of a pipe, or
// of a terminal that obeys no escape sequences.
type plainLines struct{ t *terminal }

// Read implements lineReader.
func (p plainLines) Read(ctx context.Context, what tui.Reading) (string, error) {
	if !isTerminal(p.t.in) || !isTerminal(p.t.err) {
		what.Prompt = ""
	}
	return p.t.ask(ctx, what.Prompt)
}
