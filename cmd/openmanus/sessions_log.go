package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// sessionsLogCmd is openmanus sessions log.
type sessionsLogCmd struct {
	oneSession
	After  int64 `help:"Begin after this event." placeholder:"N"`
	Follow bool  `short:"f" help:"Wait for further events until Ctrl-C."`
	Full   bool  `help:"Show all of each event."`
	JSON   bool  `name:"json" help:"Print JSON Lines, in the encoding of the journal."`
}

// Run implements the command.
func (c *sessionsLogCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if c.After < 0 {
		return usage(fmt.Errorf("--after counts events from 1, and %d is none", c.After))
	}
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	events := x.db.Events
	if c.Follow {
		stopped, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		ctx, events = stopped, x.db.Follow
	}
	for ev, err := range events(ctx, x.id, c.After) {
		if err == nil {
			err = c.show(t, g, ev)
		}
		if err != nil {
			return err
		}
	}
	if c.Follow {
		return exit{code: exitInterrupted}
	}
	return nil
}

// show prints an event.
func (c *sessionsLogCmd) show(t *terminal, g *globals, ev openmanus.Event) error {
	if c.JSON {
		data, err := encode(ev)
		if err != nil {
			return err
		}
		return t.writeJSON(data)
	}
	s := t.style(g)
	what := eventGist(ev.Body)
	if c.Full {
		what = ""
	}
	line := fmt.Sprintf("%5d  %s  %s  %s", ev.Seq, s.Dim(ev.Time.Local().Format("2006-01-02 15:04:05.000")),
		s.Mark(fmt.Sprintf("%-12s", clip.Plain(openmanus.TypeName(ev.Body)))), termtext.OneLine(what, 160))
	if _, err := fmt.Fprintln(t.out, strings.TrimRight(line, " ")); err != nil || !c.Full {
		return err
	}
	var content any = ev.Body
	if f, ok := ev.Body.(openmanus.Foreign); ok {
		content = f.Content
	}
	data, err := json.MarshalIndent(content, "       ", "  ")
	if err != nil {
		return err
	}
	return t.writeJSON([]byte("       " + string(data) + "\n"))
}

// eventGist describes an event in one line.
func eventGist(b openmanus.Body) string {
	switch b := b.(type) {
	case openmanus.Opened:
		return openedGist(b)
	case openmanus.Configured:
		return fmt.Sprintf("%s · %s · approve %s · %s", b.Model, b.Workspace, b.Approve, clip.Count(len(b.Tools), "tool"))
	case openmanus.UserSaid:
		return said(b.Message)
	case openmanus.ModelSaid:
		return fmt.Sprintf("to %d · %s · %d in, %d out · %s", b.Re, b.Stop, b.Usage.Input, b.Usage.Output, said(b.Message))
	case openmanus.Called:
		return fmt.Sprintf("to %d · %s %s", b.Re, b.Name, b.Input)
	case openmanus.Snapped, openmanus.Rewound:
		return fileGist(b)
	case openmanus.ModeSet:
		return strings.TrimSuffix("approve "+b.Mode+" · "+b.Note, " · ")
	case openmanus.Titled:
		return b.Title
	case openmanus.TakenOver:
		return "by " + b.Worker
	case openmanus.ChildOpened:
		return b.Call + " · " + b.Child
	case openmanus.ChildDone:
		return fmt.Sprintf("%s · %s %s · %s", b.Child, b.Status, b.Reason, b.Text)
	case openmanus.Foreign:
		return b.Stored + " · of a newer version"
	}
	if text, _ := view.Note(b); text != "" {
		return text
	}
	return callGist(b)
}

// fileGist describes a snapshot of the workspace, or that the session went back.
func fileGist(b openmanus.Body) string {
	switch b := b.(type) {
	case openmanus.Snapped:
		switch {
		case b.Error != "":
			return "the workspace is not followed: " + b.Error
		case b.Rewound != "":
			return "the workspace after going back"
		case b.Call != "":
			return "the workspace after " + b.Call
		case b.Before == "":
			return "the workspace at the beginning"
		}
		return "others changed the workspace"
	case openmanus.Rewound:
		what := "back to event"
		if b.Redo != "" {
			what = "forward again to event"
		}
		text := fmt.Sprintf("%s %d", what, b.To)
		if b.Files {
			text += " · " + clip.Count(len(b.Changes), "file") + " put back"
		}
		if b.Talk {
			text += " · with the conversation"
		}
		if len(b.Kept) > 0 {
			text += fmt.Sprintf(" · %d left as they are", len(b.Kept))
		}
		return text
	}
	return ""
}

func openedGist(b openmanus.Opened) string {
	text := fmt.Sprintf("%s · version %d", b.Flow, b.Version)
	if b.Parent != "" {
		text += " · for " + b.Parent
	}
	if b.From != nil {
		text += fmt.Sprintf(" · from %s at %d", b.From.Session, b.From.Seq)
	}
	return text
}

// callGist describes an event in the life of a call in one line.
func callGist(b openmanus.Body) string {
	switch b := b.(type) {
	case openmanus.Asked:
		return fmt.Sprintf("%s · %s · %s", b.Call, b.Kind, b.Question)
	case openmanus.Answered:
		return fmt.Sprintf("%s · by %s · %s", b.Call, b.By, b.Text)
	case openmanus.Ruled:
		verb := "denied"
		if b.Allow {
			verb = "allowed"
		}
		text := fmt.Sprintf("%s · %s by %s", b.Call, verb, b.By)
		for _, more := range []string{b.Rule, b.Reason, b.Input} {
			if more != "" {
				text += " · " + more
			}
		}
		return text
	case openmanus.CallStarted:
		return fmt.Sprintf("%s · attempt %d · by %s", b.Call, b.Attempt, b.Worker)
	case openmanus.CallDone:
		how := "done"
		if b.IsError {
			how = "error"
		}
		return fmt.Sprintf("%s · %s · %s", b.Call, how, view.Words(b.Parts))
	case openmanus.CallLate:
		return fmt.Sprintf("%s · late · %s", b.Call, view.Words(b.Parts))
	}
	return ""
}

// said returns a message as text, with its calls.
func said(m llm.Message) string {
	text := view.Words(m.Parts)
	for _, c := range openmanus.CallsOf(openmanus.ModelSaid{Message: m}) {
		text += fmt.Sprintf(" [%s %s %s]", c.ID, c.Name, termtext.OneLine(linemode.CallLine(c), 60))
	}
	return text
}

// encode returns an event in the encoding of the journal, as one line.
func encode(ev openmanus.Event) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(ev)
	return []byte(b.String()), err
}
