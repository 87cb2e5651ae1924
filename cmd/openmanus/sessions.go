package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
)

// sessionsCmd is openmanus sessions.
type sessionsCmd struct {
	List      sessionsListCmd      `cmd:"" help:"List sessions, the newest first."`
	Show      sessionsShowCmd      `cmd:"" help:"Show a conversation: what was said and done, what waits, how it ended."`
	Log       sessionsLogCmd       `cmd:"" help:"Show every event of a session."`
	Audit     sessionsAuditCmd     `cmd:"" help:"Show who or what let each call run, under which rule, and what came of it."`
	Resume    sessionsResumeCmd    `cmd:"" help:"Go on with a session, from wherever it is."`
	Say       sessionsSayCmd       `cmd:"" help:"Say something to a session. Whoever drives it hears it."`
	Approve   sessionsApproveCmd   `cmd:"" help:"Let a call run that waits for approval."`
	Deny      sessionsDenyCmd      `cmd:"" help:"Keep a call from running that waits for approval."`
	Answer    sessionsAnswerCmd    `cmd:"" help:"Answer a question of the agent."`
	Interrupt sessionsInterruptCmd `cmd:"" help:"Interrupt what a session is doing."`
	Retry     sessionsRetryCmd     `cmd:"" help:"Try again what failed or was stopped."`
	Fork      sessionsForkCmd      `cmd:"" help:"Copy a session, up to a given event."`
	Request   sessionsRequestCmd   `cmd:"" help:"Print the exact bytes that were sent to the model, for bug reports."`
	Export    sessionsExportCmd    `cmd:"" help:"Write a session to one readable text file."`
	Import    sessionsImportCmd    `cmd:"" help:"Read a session from a file that export wrote."`
	Delete    sessionsDeleteCmd    `cmd:"" help:"Delete sessions, with all that was kept of them."`
}

// Help is more of the command.
func (sessionsCmd) Help() string {
	return `A session is named by its id, by the beginning of it if no other begins so, or by last, which is the one that changed last.

say, approve, deny, answer and interrupt work also while another process drives the session, which hears of it. resume and retry drive it themselves; only one process can at a time.

Exit codes: those of run for resume and retry; otherwise 2 for a wrong call (no such session, no such call, arguments that do not fit), and 1 if the session is in no state for it (nothing waits, somebody else was faster, another process drives it).`
}

// oneSession is the argument of the commands that are about one session.
type oneSession struct {
	ID string `arg:"" help:"The session: its id, the beginning of it, or last for the newest."`
}

// A session is one that exists, as it is now.
type session struct {
	*app
	id string
	s  *openmanus.State
	qs []run.Question // what waits in it and below
}

// open returns the session, in a program set up with the flags that were
// given. The caller closes it.
func (c oneSession) open(ctx context.Context, t *terminal, g *globals, flags map[string]string) (*session, error) {
	a, err := t.open(g, flags)
	if err != nil {
		return nil, err
	}
	x, err := a.session(ctx, c.ID)
	if err != nil {
		a.Close()
		return nil, err
	}
	return x, nil
}

// named returns the id of the session that id, the beginning of one, or last
// names.
func (a *app) named(ctx context.Context, id string) (string, error) {
	if id != "last" {
		full, err := a.find(ctx, id)
		if errors.Is(err, openmanus.ErrNoSession) {
			err = usage(fmt.Errorf("%w; openmanus sessions list shows what there is", err))
		}
		return full, err
	}
	for newest, err := range a.db.Sessions(ctx, journal.ListOptions{Limit: 1, Roots: true}) {
		return newest.ID, err
	}
	return "", usage(errors.New("there is no session yet: openmanus run \"what you want done\""))
}

// session returns the session that id names.
func (a *app) session(ctx context.Context, id string) (*session, error) {
	full, err := a.named(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := openmanus.Load(ctx, a.db, full)
	if err != nil {
		return nil, err
	}
	qs, err := run.Questions(ctx, a.db, full)
	return &session{a, full, s, qs}, err
}

// readOnly returns an error if the session is one that can be read and not gone on with.
func (x *session) readOnly() error {
	if x.s.Foreign == "" {
		return nil
	}
	return fmt.Errorf("session %s has events of the type %q, which this version does not know: it can be shown, logged and exported, and goes on with a newer version", x.id, oneLine(x.s.Foreign, 40))
}

// done says on standard output what happened, and on standard error how to go
// on.
func (x *session) done(format string, a ...any) error {
	if _, err := fmt.Fprintln(x.t.out, plain(fmt.Sprintf(format, a...))); err != nil {
		return err
	}
	top, _, _ := strings.Cut(x.id, ".") // sessions below are driven by the one on top
	x.note("whoever drives it goes on; if nobody does: openmanus sessions resume %s", top)
	return nil
}

// note says something on standard error.
func (x *session) note(format string, a ...any) {
	fmt.Fprintln(x.t.err, plain("· "+fmt.Sprintf(format, a...)))
}

// stands is how the session is, in words.
func (x *session) stands() string { return describe(x.s, x.qs) }

// localTime is a time as people read it.
func localTime(at time.Time) string { return at.Local().Format("2006-01-02 15:04") }
