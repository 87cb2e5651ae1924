package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
)

// sessionsCmd is openmanus sessions.
type sessionsCmd struct {
	List      sessionsListCmd      `cmd:"" help:"List sessions, the newest first."`
	Show      sessionsShowCmd      `cmd:"" help:"Show a conversation: messages, calls, what is pending, and how it ended."`
	Log       sessionsLogCmd       `cmd:"" help:"Show every event of a session."`
	Why       sessionsWhyCmd       `cmd:"" help:"Show where the arguments of a call came from."`
	Audit     sessionsAuditCmd     `cmd:"" help:"Show why each call was allowed or denied, by whom, and its result."`
	Resume    sessionsResumeCmd    `cmd:"" help:"Continue a session from where it stands."`
	Plan      sessionsPlanCmd      `cmd:"" help:"Show the plan that waits for your approval, edit it, and have it carried out."`
	Say       sessionsSayCmd       `cmd:"" help:"Send a message to a session, also while another process drives it."`
	Approve   sessionsApproveCmd   `cmd:"" help:"Allow a call that waits for approval."`
	Deny      sessionsDenyCmd      `cmd:"" help:"Deny a call that waits for approval."`
	Answer    sessionsAnswerCmd    `cmd:"" help:"Answer a question of the agent."`
	Interrupt sessionsInterruptCmd `cmd:"" help:"Interrupt a session."`
	Rewind    sessionsRewindCmd    `cmd:"" help:"Go back: undo what a session changed in files, and what was said."`
	Redo      sessionsRedoCmd      `cmd:"" help:"Take back the last rewind."`
	Diff      sessionsDiffCmd      `cmd:"" help:"Show what a session changed in files."`
	Files     sessionsFilesCmd     `cmd:"" help:"List or print files of the workspace as they were after an event."`
	Apply     sessionsApplyCmd     `cmd:"" help:"Bring what a session did in its worktree to your checkout."`
	Discard   sessionsDiscardCmd   `cmd:"" help:"Remove the worktree of a session, and its branch."`
	Retry     sessionsRetryCmd     `cmd:"" help:"Retry a session that failed or was stopped."`
	Fork      sessionsForkCmd      `cmd:"" help:"Copy a session, up to a given event."`
	Replay    sessionsReplayCmd    `cmd:"" help:"Run a session again from its record, without a network, and compare."`
	Request   sessionsRequestCmd   `cmd:"" help:"Print the exact bytes that were sent to the model, for bug reports."`
	Export    sessionsExportCmd    `cmd:"" help:"Write a session to one readable text file."`
	Copy      sessionsCopyCmd      `cmd:"" help:"Copy sessions to another store: a database that machines share, or a data directory."`
	Import    sessionsImportCmd    `cmd:"" help:"Read a session from a file that export wrote."`
	Delete    sessionsDeleteCmd    `cmd:"" help:"Delete sessions, with everything stored about them."`
	Prune     sessionsPruneCmd     `cmd:"" help:"Delete old files that are kept so that sessions can go back."`
}

// Help is more of the command.
func (sessionsCmd) Help() string {
	return `A session is named by its id, by a unique beginning of it, or by last, the one that changed last.

say, approve, deny, answer and interrupt also work while another process drives the session. resume and retry drive it themselves; only one process can do that at a time.

Exit codes: those of run for resume and retry; otherwise 2 for a wrong call (no such session, no such call, arguments that do not fit), and 1 if the state of the session does not allow it (nothing is pending, the call was decided already, another process drives it).`
}

// oneSession is the argument of commands about one session.
type oneSession struct {
	ID string `arg:"" help:"The session: its id, the beginning of it, or last for the newest."`
}

// A session is an existing session in its present state.
type session struct {
	*app
	id string
	s  *openmanus.State
	qs []run.Question // the questions that wait in it and below
}

// open opens the program with flags and returns the session. The caller closes
// it.
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

// openToChange is open for what appends to the session: see [session.readOnly].
func (c oneSession) openToChange(ctx context.Context, t *terminal, g *globals, flags map[string]string) (*session, error) {
	x, err := c.open(ctx, t, g, flags)
	if err != nil {
		return nil, err
	}
	if err := x.readOnly(); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// named returns the id of the session that a user names: by its id, the
// beginning of it, or "last".
func (a *app) named(ctx context.Context, id string) (string, error) {
	if id != "last" {
		full, err := a.find(ctx, id)
		if errors.Is(err, openmanus.ErrNoSession) {
			text := strings.TrimSuffix(err.Error(), ": "+openmanus.ErrNoSession.Error())
			err = usage(fmt.Errorf("%s; openmanus sessions list shows what there is", text))
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
	nodes, err := run.Tree(ctx, a.db, full)
	if err != nil {
		return nil, err
	}
	return &session{a, full, nodes[0].State, run.QuestionsIn(nodes)}, nil
}

// readOnly returns an error if the session has events that this program does not
// know. Such a session can be read but not continued.
func (x *session) readOnly() error {
	if x.s.Foreign == "" {
		return nil
	}
	return fmt.Errorf("session %s has events of the type %q, which this version does not know: it can be shown, logged and exported, and goes on with a newer version", x.id, termtext.OneLine(x.s.Foreign, 40))
}

// done prints what happened to standard output, and how to continue to standard
// error.
func (x *session) done(format string, a ...any) error {
	fmt.Fprintln(x.t.out, clip.Plain(fmt.Sprintf(format, a...)))
	top, _, _ := strings.Cut(x.id, ".") // sessions below are driven by the one on top
	x.note("the process that drives it continues; if none does: openmanus sessions resume %s", top)
	return nil
}

// note prints a remark to standard error.
func (x *session) note(format string, a ...any) {
	fmt.Fprintln(x.t.err, clip.Plain("· "+fmt.Sprintf(format, a...)))
}

// stands returns how the session stands, in words.
func (x *session) stands() string { return describe(x.s, x.qs) }

// localTime formats a time in the user's zone.
func localTime(at time.Time) string { return at.Local().Format("2006-01-02 15:04") }
