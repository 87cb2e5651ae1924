package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ergochat/readline"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
)

// chatCmd is openmanus chat.
type chatCmd struct {
	Session string `help:"Go on with this session." placeholder:"ID"`
	runFlags
}

const chatHelp = `Write what you want done, and press Enter.
A line that ends with \ goes on in the next one; """ on a line of its own begins and ends several lines.
Ctrl-C interrupts the agent; pressed again, or at an empty prompt, it leaves. So does Ctrl-D.

  /model NAME   continue with another model
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
	id    string // of the session; "" before the first request
	lines lineReader
}

// A lineReader reads lines that the user types. The error is io.EOF if they left
// and readline.ErrInterrupt if they pressed Ctrl-C.
type lineReader interface {
	ReadLine() (string, error)
	SetPrompt(string)
}

// Run implements the command.
func (c *chatCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, err := t.open(g, c.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	ch := &chat{app: a, flags: c.runFlags, lines: plainLines{t, ctx}}
	if c.Session != "" {
		if ch.id, err = a.named(ctx, c.Session); err != nil {
			return err
		}
	} else if _, _, err := a.Choose(ctx); err != nil {
		return err
	}
	if isTerminal(t.in) && isTerminal(t.err) {
		rl, err := readline.NewFromConfig(&readline.Config{
			Stdin: t.in, Stdout: t.err, Stderr: t.err, InterruptPrompt: "^C",
			HistoryFile: filepath.Join(a.Config.DataDir, "chat_history"), HistorySearchFold: true,
		})
		if err != nil {
			return err
		}
		defer rl.Close()
		ch.lines = rl
		fmt.Fprintln(t.err, a.style().Dim("OpenManus. /help lists the commands; Ctrl-D leaves."))
	}
	return ch.talk(ctx)
}

// talk reads requests and carries them out until the user leaves. Errors are
// shown, and the conversation goes on.
func (c *chat) talk(ctx context.Context) error {
	for {
		text, err := c.read()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, readline.ErrInterrupt):
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
func (c *chat) read() (string, error) {
	var b strings.Builder
	c.lines.SetPrompt(c.style().Bold("> "))
	block := false
	for {
		line, err := c.lines.ReadLine()
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
		c.lines.SetPrompt(c.style().Dim("… "))
	}
}

// say sends a request to the session, which the first one opens, and drives it.
func (c *chat) say(ctx context.Context, text string) error {
	m, err := host.Message(c.t.dir, text, c.flags.Attach)
	if err != nil {
		return err
	}
	c.flags.Attach = nil
	if c.id == "" {
		spec, err := c.NewSpec(ctx, func(spec *openmanus.Spec) { spec.Delegates = c.flags.Delegate })
		if err != nil {
			return err
		}
		d, err := c.openSession(ctx, spec, &m, shown{Output: outText})
		if err != nil {
			return err
		}
		c.id = d.id
		return c.drive(ctx, d)
	}
	return c.goOn(ctx, m)
}

// goOn appends bodies to the session and drives it until it ends or waits.
func (c *chat) goOn(ctx context.Context, bodies ...openmanus.Body) error {
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	own, err := c.reconfigured(ctx, s, runFlags{}, false)
	if err != nil {
		return err
	}
	bodies = append(own, bodies...)
	d, err := c.newDrive(c.id, s.Config.Workspace, shown{Output: outText})
	if err != nil {
		return err
	}
	defer d.Close()
	d.from = s.Seq
	d.print.GoOn(s)
	if _, err := c.db.Append(ctx, c.id, bodies...); err != nil {
		return err
	}
	return c.drive(ctx, d)
}

// drive drives the session and shows it until the agent has answered.
func (c *chat) drive(ctx context.Context, d *drive) error {
	defer d.Close()
	if d.person != nil {
		d.person.ask = c.answer
	}
	d.print.OnStop("; /retry goes on")
	s, err := d.once(ctx)
	if err != nil {
		return err
	}
	shown := d.print.Flush()
	if s.Answer != "" && s.Answer != shown {
		fmt.Fprintln(c.t.out, d.forOut(s.Answer))
	}
	switch {
	case s.Status() == openmanus.Finished:
	case s.Outcome.Reason == openmanus.ByPerson:
		return exit{code: exitInterrupted, reported: true} // the remark about it says how to go on
	case d.print.HasShown(s.Outcome.Error):
		return exit{code: code(s, d.waiting), err: errors.New("/retry asks again"), reported: true}
	default:
		return exit{code: code(s, d.waiting), err: errors.New(describe(s, d.waiting) + ": " + s.Outcome.Error + " (/retry goes on)"), reported: true}
	}
	return nil
}

// answer reads the user's answer to a question. Ctrl-C interrupts the agent.
func (c *chat) answer(ctx context.Context, prompt string) (string, error) {
	c.lines.SetPrompt(prompt)
	line, err := c.lines.ReadLine()
	if errors.Is(err, readline.ErrInterrupt) {
		if _, err := c.db.Append(ctx, c.id, openmanus.Interrupted{ID: ids.New()}); err != nil {
			return "", err
		}
		<-ctx.Done() // the session has gone on: it is interrupted
		return "", ctx.Err()
	}
	return line, err
}

// command carries out a command that begins with a slash.
func (c *chat) command(ctx context.Context, word, rest string) error {
	switch word {
	case "/help":
		fmt.Fprintln(c.t.err, chatHelp)
		return nil
	case "/model":
		return c.model(ctx, rest)
	}
	if c.id == "" {
		return fmt.Errorf("%s: nothing was asked yet; /help lists the commands", word)
	}
	switch word {
	case "/retry":
		return c.retry(ctx, rest == shareWord)
	case "/undo":
		return c.back(ctx, host.Back{Last: true, Files: true, Talk: true})
	case "/redo":
		return c.back(ctx, host.Back{Redo: true})
	case "/rewind":
		to, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || to < 1 {
			return errors.New("to which event? /rewind N; openmanus sessions log " + c.id + " lists them")
		}
		return c.back(ctx, host.Back{To: to, Files: true, Talk: true})
	case "/fork":
		return c.fork(ctx, 0, rest == shareWord)
	case "/cost":
		return c.cost(ctx)
	}
	return fmt.Errorf("there is no command %s; /help lists the commands", word)
}

// model changes the model from the next request on, which the session records.
func (c *chat) model(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("which model? /model PROVIDER/NAME")
	}
	cfg, err := c.t.load(c.globals, map[string]string{"model": name})
	if err != nil {
		return err
	}
	if _, err := cfg.Model(""); err != nil {
		return err
	}
	cfg.Run.Approve, cfg.Run.Workspace, cfg.Run.Agent = c.Config.Run.Approve, c.Config.Run.Workspace, c.Config.Run.Agent
	c.Config = cfg
	if c.id == "" {
		return nil
	}
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	bodies, err := c.reconfigured(ctx, s, runFlags{Model: name}, false)
	if err != nil || len(bodies) == 0 {
		return err
	}
	_, err = c.db.Append(ctx, c.id, bodies...)
	return err
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
	return c.goOn(ctx, openmanus.Resumed{ID: ids.New()})
}

// back takes the session back, after it has shown what that means and the user has
// agreed.
func (c *chat) back(ctx context.Context, b host.Back) error {
	x, err := c.session(ctx, c.id)
	if err != nil {
		return err
	}
	p, err := x.goBack(ctx, b, false, func(prompt string) (string, error) {
		c.lines.SetPrompt(prompt)
		line, err := c.lines.ReadLine()
		if errors.Is(err, readline.ErrInterrupt) {
			return "", nil
		}
		return line, err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(c.t.err, c.style().Dim("· "+clip.Plain(x.doneText(p))))
	x.showKept(p)
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
	fmt.Fprintln(c.t.err, c.style().Dim("· "+filesOf(made)))
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

// plainLines reads lines if standard input is not a terminal.
type plainLines struct {
	t   *terminal
	ctx context.Context
}

func (p plainLines) ReadLine() (string, error) { return p.t.ask(p.ctx, "") }
func (p plainLines) SetPrompt(string)          {}
