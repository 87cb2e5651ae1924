package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/host/local"
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

// screen shows the full-screen interface until the user leaves.
func (c *chatCmd) screen(ctx context.Context, t *terminal, g *globals) error {
	o := tui.Options{Dir: t.dir, Mode: c.Approve, Model: c.Model, Clipboard: clipboardPicture}
	if c.Prompt != "" {
		o.Task = &c.Prompt
	}
	notices, asks := make(chan tui.Notice, 64), make(chan tui.Ask)
	o.Notices, o.Asks = notices, asks
	if url, files := serverIn(c.Attach); url != "" {
		if c.Worktree {
			return usage(errors.New("--worktree is for sessions of this program, not for those of a server"))
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
func (t *terminal) withoutCommand(args []string) []string {
	screen := t.fullScreen()
	switch {
	case len(args) == 0 && screen:
		return []string{"chat"}
	case len(args) == 0:
		return args
	case strings.ContainsAny(args[0], " \t\n") && !strings.HasPrefix(args[0], "-"):
		if screen {
			return append([]string{"chat"}, args...)
		}
		return append([]string{"run"}, args...)
	case strings.HasPrefix(args[0], "--attach"), strings.HasPrefix(args[0], "--plain"):
		return append([]string{"chat"}, args...)
	}
	return args
}

// bareFile returns the file below the writers that replace secrets.
func bareFile(w any) *os.File {
	f, _ := bare(w).(*os.File)
	return f
}
