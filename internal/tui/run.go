package tui

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
)

// Run shows the interface until the person leaves, and returns the session that was on
// the screen, "" if there was none. in and out are a terminal, whose state is restored
// whatever happens, also if it hangs up. Unsent text goes to the history.
func Run(ctx context.Context, o Options, in *os.File, out *os.File, env []string) (session string, err error) {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer cancel()
	p := newProgram(ctx, o)
	prog := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(&output{File: out}),
		tea.WithEnvironment(env), tea.WithFPS(30))
	_, err = prog.Run()
	session = p.id
	if !p.comp.empty() {
		p.comp.putAway()
	}
	p.close(cancel)
	if p.quitting {
		err = nil
	}
	return session, err
}
