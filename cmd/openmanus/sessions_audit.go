package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/journal/audit"
	"github.com/openmanus-go/openmanus/llm"
)

// sessionsAuditCmd is openmanus sessions audit.
type sessionsAuditCmd struct {
	oneSession
	listing
}

// Help is more of the command.
func (sessionsAuditCmd) Help() string {
	return `For every call of this session and those below it: whether it was allowed, when, by whom and by which rule; what it ran in; and its result.`
}

// on implements the command.
func (c *sessionsAuditCmd) on(ctx context.Context, x *session) error {
	calls, err := audit.Read(ctx, x.db, x.id)
	if err != nil {
		return err
	}
	if c.JSON {
		return x.t.printJSON(calls)
	}
	return printAudit(x.t.out, x.t.style(x.globals), x.id, calls)
}

// printAudit prints the calls of a session for people.
func printAudit(w io.Writer, s termtext.Style, session string, calls []*audit.Call) error {
	var b strings.Builder
	if len(calls) == 0 {
		fmt.Fprintf(&b, "no calls were made in %s\n", session)
	}
	for i, c := range calls {
		if i > 0 {
			b.WriteString("\n")
		}
		where := ""
		if c.Session != session {
			where = s.Dim(" of " + c.Session)
		}
		fmt.Fprintf(&b, "%s%s  %s  %s\n", s.Bold(c.Call), where, s.Mark(clip.Plain(c.Tool)), termtext.OneLine(brief(c.Arguments), 160))
		for _, l := range auditLines(c) {
			fmt.Fprintf(&b, "  %-8s %s  %s\n", l.what, s.Dim(l.at), termtext.OneLine(l.text, 300))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// brief returns arguments in one line.
func brief(input string) string {
	return linemode.CallLine(llm.Call{Input: input})
}

// wordsOf says where a part of an argument came from.
func wordsOf(a openmanus.ArgumentSource) string {
	trust := "not trusted"
	if a.Trusted {
		trust = "trusted"
	}
	as := ""
	if a.As != "" {
		as = ", as " + a.As
	}
	return fmt.Sprintf("%s: %q from %s%s (%s)", a.Argument, a.Text, a.From, as, trust)
}

type auditLine struct{ what, at, text string }

// auditLines returns the life of a call, a line for each thing that happened.
func auditLines(c *audit.Call) (ls []auditLine) {
	add := func(what string, at *time.Time, text ...string) {
		l := auditLine{what: what, at: strings.Repeat(" ", 19)}
		if at != nil {
			l.at = at.Local().Format("2006-01-02 15:04:05")
		}
		var said []string
		for _, t := range text {
			if t != "" {
				said = append(said, t)
			}
		}
		l.text = strings.Join(said, " · ")
		ls = append(ls, l)
	}
	if c.Asked != nil {
		add("asked", &c.Asked.At, c.Asked.Question)
	}
	if c.Decision != "" {
		changed := ""
		if c.Changed {
			changed = "with other arguments"
		}
		add(c.Decision, c.DecidedAt, "by "+c.By, c.Rule, changed, c.Reason)
	}
	for _, a := range c.Sources {
		add("words", nil, wordsOf(a))
	}
	for _, r := range c.Runs {
		again := ""
		if r.Attempt > 1 {
			again = fmt.Sprintf("attempt %d", r.Attempt)
		}
		add("ran", &r.At, "sandbox "+cmp.Or(c.Sandbox, "not recorded"), "approve "+cmp.Or(c.Approve, "not recorded"), again, "by "+cmp.Or(r.Worker, "an unnamed worker"))
	}
	for _, q := range c.Answers {
		add("answered", &q.At, "by "+q.By, q.Text)
	}
	for _, child := range c.Children {
		add("opened", nil, child)
	}
	if c.Outcome != "denied" {
		source := ""
		if c.Source != "" {
			source = "from " + c.Source
		}
		add(c.Outcome, c.EndedAt, source, c.Text)
	}
	if c.LateAt != nil {
		add("late", c.LateAt, "a result came after all")
	}
	return ls
}
