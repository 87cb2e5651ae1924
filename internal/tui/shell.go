package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// maxOutput is how much of the output of a command of the person is kept.
const maxOutput = 200 << 10

// shell runs a command of the person's own: as they would in a terminal, outside of the
// sandbox and without the agent, which knows of it only if they say so afterwards. With
// a second ! it has the terminal for itself, such as for an editor, and its output is
// not kept.
func (p *program) shell(command string) tea.Cmd {
	if own, ok := strings.CutPrefix(command, "!"); ok {
		cmd := p.terminalShell(p.ctx, own)
		return tea.ExecProcess(cmd, func(err error) tea.Msg {
			if err != nil {
				return noticeMsg{clip.OneLine(own) + ": " + err.Error(), true}
			}
			return nil
		})
	}
	ctx, cancel := context.WithCancel(p.ctx)
	r := &running{command: command, cancel: cancel}
	p.push(r)
	return func() tea.Msg {
		defer cancel()
		out := new(tail)
		cmd := p.terminalShell(ctx, command)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.WaitDelay = 1e9
		err := cmd.Run()
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return then(func(p *program) tea.Cmd { return p.ran(r, out.String(), err) })
	}
}

// terminalShell returns a shell that runs a command where the person is, with all that
// their terminal has set.
func (p *program) terminalShell(ctx context.Context, command string) *exec.Cmd {
	cmd := hostexec.Outside(p.o.Dir).Command(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = p.o.Dir, nil
	return cmd
}

// A tail keeps the end of what is written to it.
type tail struct{ data []byte }

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if extra := len(t.data) - 2*maxOutput; extra > 0 {
		t.data = append(t.data[:0], t.data[len(t.data)-maxOutput:]...)
	}
	return len(p), nil
}

// String returns what is kept.
func (t *tail) String() string {
	return strings.ToValidUTF8(string(t.data[max(0, len(t.data)-maxOutput):]), "\uFFFD")
}

// A running is shown while a command of the person runs. Esc ends it.
type running struct {
	command string
	cancel  context.CancelFunc
}

// update implements widget.
func (r *running) update(_ *program, msg tea.Msg) (bool, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "esc" {
		r.cancel()
	}
	return false, nil
}

// view implements widget.
func (r *running) view(p *program, width, _ int) ([]string, caret) {
	return []string{p.theme.accent("! ") + clip.Fit(clip.OneLine(clip.Visible(r.command))+" … (Esc ends it)", max(1, width-2))}, caret{}
}

// ran shows what a command of the person printed, and asks whether the agent is to read
// it.
func (p *program) ran(r *running, output string, err error) tea.Cmd {
	p.pop(r)
	ended := "exit code 0"
	if err != nil {
		ended = err.Error()
	}
	above := strings.Split(strings.TrimRight(clip.Visible(output), "\n"), "\n")
	const most = 2000
	if len(above) > most {
		above = above[len(above)-most:]
	}
	text := fmt.Sprintf("I ran this myself, outside of your sandbox:\n$ %s\n%s\n[%s]", r.command, strings.TrimRight(clip.Clean(output), "\n"), ended)
	p.push(&list{
		title: clip.Text(clip.OneLine(clip.Visible(r.command)), 60) + " · " + clip.OneLine(clip.Visible(ended)), above: above,
		items: []item{
			{text: "close", run: func(*program) tea.Cmd { return nil }},
			{text: "give the output to the agent, as your message", run: func(p *program) tea.Cmd { return p.say(text, nil) }},
		},
	})
	return nil
}

// editor returns what finds programs outside of the directory in which this program runs, and
// the words of the command that is the person's editor.
func editor() (outside hostexec.Finder, words []string, err error) {
	words, err = hostexec.Editor(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if err != nil {
		return outside, nil, err
	}
	dir, err := os.Getwd()
	return hostexec.Outside(dir), words, err
}

// edit has the person edit a text in the editor of VISUAL or EDITOR, and then calls done
// with what they saved. pattern names the file, as for [os.CreateTemp].
func edit(pattern, text string, done func(p *program, text string) tea.Cmd) tea.Cmd {
	outside, words, err := editor()
	var cmd *exec.Cmd
	var saved func(error) (string, error)
	if err == nil {
		cmd, saved, err = outside.Edit(context.Background(), words, pattern, text)
	}
	if err != nil {
		return func() tea.Msg { return noticeMsg{err.Error(), true} }
	}
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		text, err := saved(err)
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		return then(func(p *program) tea.Cmd { return done(p, text) })
	})
}
