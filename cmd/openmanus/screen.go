package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/internal/cli"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/tui"
)

// fullScreen reports whether there is a terminal that can show the full-screen
// interface.
func (t *terminal) fullScreen() bool {
	return isTerminal(t.in) && isTerminal(t.out) && !t.dumb()
}

// environ returns the environment as names and values.
func (t *terminal) environ() (all []string) {
	for _, name := range t.envNames {
		if v, ok := t.env(name); ok {
			all = append(all, name+"="+v)
		}
	}
	return all
}

// A screenWriter makes notices of what would go to standard error: the full-screen
// interface has the terminal.
type screenWriter struct {
	mu   sync.Mutex
	rest string
	to   chan tui.Notice
}

// Write implements [io.Writer]. A notice for which there is no room is dropped.
func (w *screenWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(w.rest+string(data), "\n")
	for _, l := range lines[:len(lines)-1] {
		w.say(strings.TrimPrefix(l, "openmanus: "), false)
	}
	w.rest = lines[len(lines)-1]
	return len(data), nil
}

// say shows a notice.
func (w *screenWriter) say(text string, bad bool) {
	if strings.TrimSpace(text) == "" {
		return
	}
	select {
	case w.to <- tui.Notice{Text: text, Bad: bad}:
	default:
	}
}

// forServer returns an error for the flags that only sessions of this program have. Those of a server take a
// model, a mode and an agent.
func (c *chatCmd) forServer() error {
	given := c.flags()
	for _, name := range []string{"model", "approve", "agent"} {
		delete(given, name)
	}
	if c.Worktree {
		given["worktree"] = ""
	}
	if len(c.Delegate) > 0 {
		given["delegate"] = ""
	}
	if len(given) == 0 {
		return nil
	}
	return usage(fmt.Errorf("--%s is for sessions of this program, not for those of a server", slices.Min(slices.Collect(maps.Keys(given)))))
}

// screen shows the full-screen interface until the user leaves.
func (c *chatCmd) screen(ctx context.Context, t *terminal, g *globals) error {
	o := tui.Options{Dir: t.dir, Mode: c.Approve, Model: c.Model, Clipboard: t.clipboardPicture}
	if c.Prompt != "" {
		o.Task = &c.Prompt
	}
	notices, asks := make(chan tui.Notice, 64), make(chan tui.Ask)
	o.Notices, o.Asks = notices, asks
	if url, files := serverIn(c.Attach); url != "" {
		if err := c.forServer(); err != nil {
			return err
		}
		src, err := tui.Attach(url)
		if err != nil {
			return usage(err)
		}
		err = src.Change(ctx, "", tui.Setting{Model: c.Model, Mode: c.Approve, Agent: c.Agent})
		if err != nil {
			return usage(err)
		}
		o.Source, o.Session, o.Attach, o.Commands = src, c.Session, files, t.ownCommands(notices)
		if cfg, _, err := t.read(g); err == nil { // a mistake in it does not concern the server's sessions
			o.DataDir = cfg.DataDir
		}
		t.colour(&o, g, notices)
		_, err = tui.Run(ctx, o, t.in, bareFile(t.out), t.environ())
		return err
	}
	w := &screenWriter{to: notices}
	quiet := &terminal{in: t.in, out: w, err: w, env: t.env, envNames: t.envNames, dir: t.dir}
	quiet.asks = func(ctx context.Context, question string) (string, error) {
		ask := tui.Ask{Question: question, Reply: make(chan string, 1)}
		select {
		case asks <- ask:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		select {
		case line := <-ask.Reply:
			return line, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	a, err := quiet.open(g, c.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	a.AskToInstall = true
	if c.Session != "" {
		if o.Session, err = a.named(ctx, c.Session); err != nil {
			return err
		}
	}
	src := screenSource{Source: local.New(ctx, local.Options{
		Host: a.Host, Store: a.db, Tell: w.say, Delegates: c.Delegate, Worktree: c.Worktree, Endpoint: c.BaseURL,
	})}
	if src.keeps, err = a.settingsOf(t, g, c.flags()); err != nil {
		return errors.Join(err, src.Close())
	}
	src.ServerKeeper = src.keeps
	o.Source, o.Attach, o.DataDir, o.Mode, o.Commands = src, c.Attach, a.Config.DataDir, a.Config.Run.Approve, src.Commands
	o.Begin = src.beginning(t, g)
	t.colour(&o, g, notices)
	session, err := tui.Run(ctx, o, t.in, bareFile(t.out), t.environ())
	err = errors.Join(err, src.Close())
	if session != "" {
		fmt.Fprintln(t.err, t.styleOf(t.err, g).Dim("· continue with: openmanus chat --session "+clip.Plain(session)))
	}
	return err
}

// serverIn returns the first of values that is the address of a server, and the rest.
func serverIn(values []string) (url string, rest []string) {
	for _, v := range values {
		if url == "" && (strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://")) {
			url = v
		} else {
			rest = append(rest, v)
		}
	}
	return url, rest
}

// withoutCommand returns the arguments with the command that they leave out: a task
// alone is for chat on a terminal, and for run elsewhere; nothing at all is chat, too.
// Flags of that command may come before the task, or without one, and those of any command
// before its name.
func withoutCommand(line *cli.Command, args []string, screen bool) []string {
	if len(args) == 0 {
		if screen {
			return []string{"chat"}
		}
		return args
	}
	flags, words := leading(line, args)
	for _, f := range flags {
		if f == "--help" || f == "-h" || f == "--version" || f == "-v" || f == "-V" {
			return args
		}
	}
	switch {
	case len(words) > 0 && words[0] != "--" && !strings.ContainsAny(words[0], " \t\n"):
		if !hasOwn(line, flags) || line.Command(words[0]) == nil {
			return args
		}
		return append(append([]string{words[0]}, flags...), words[1:]...)
	case len(words) == 0 && !hasOwn(line, flags) && !(screen && known(line, flags)):
		return args // there is nothing to do
	}
	name := "run"
	if chat := line.Command("chat"); screen && known(chat, args) || hasAny(flags, "--attach", "--plain") {
		name = "chat"
	}
	return append([]string{name}, args...)
}

// leading splits arguments before the first that is neither a flag nor its value. Flags are
// those of run and chat.
func leading(line *cli.Command, args []string) (flags, rest []string) {
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" || args[i] == "--" {
			return args[:i], args[i:]
		}
		name, _, whole := strings.Cut(args[i], "=")
		f := line.Command("run").Flag(name)
		if f == nil {
			f = line.Command("chat").Flag(name)
		}
		if f != nil && !f.Switch() && !whole {
			i++ // its value
		}
	}
	return args, nil
}

// hasOwn reports whether there is a flag of run or chat that is not one of every command.
func hasOwn(line *cli.Command, flags []string) bool {
	return slices.ContainsFunc(flags, func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return strings.HasPrefix(name, "-") && line.Flag(name) == nil &&
			(line.Command("run").Flag(name) != nil || line.Command("chat").Flag(name) != nil)
	})
}

// known reports whether a command has all flags among the arguments.
func known(c *cli.Command, args []string) bool {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, whole := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "-") || name == "-" || strings.ContainsAny(name, " \t\n") {
			continue
		}
		f := c.Flag(name)
		if f == nil {
			return false
		}
		if !f.Switch() && !whole {
			i++
		}
	}
	return true
}

// hasAny reports whether one of the names is among the flags.
func hasAny(flags []string, names ...string) bool {
	return slices.ContainsFunc(flags, func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return slices.Contains(names, name)
	})
}

// bareFile returns the file below the writers that replace secrets.
func bareFile(w any) *os.File {
	f, _ := bare(w).(*os.File)
	return f
}
