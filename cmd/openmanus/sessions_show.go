package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// sessionsShowCmd is openmanus sessions show.
type sessionsShowCmd struct {
	oneSession
	JSON bool `name:"json" help:"Print one JSON object: how the session stands."`
}

// Run implements the command.
func (c *sessionsShowCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	kept, err := x.db.Session(ctx, x.id)
	if err != nil {
		return err
	}
	info := summary.OfSession(kept, x.s, x.qs)
	if c.JSON {
		return t.printJSON(info)
	}
	tr := &transcript{w: t.out, style: t.style(g), names: make(map[string]string)}
	tr.header(info)
	for ev, err := range x.db.Events(ctx, x.id, 0) {
		if err != nil {
			return err
		}
		tr.event(ev)
	}
	tr.footer(x)
	return tr.err
}

// resultHead is how many lines of a result are shown.
const resultHead = 3

// A transcript prints a conversation. Everything about a call is printed below
// its line, although the calls of a reply may have run at the same time.
type transcript struct {
	w     io.Writer
	style termtext.Style
	calls []*callBlock      // of the last reply, not yet written
	names map[string]string // of the tools of all calls, by the call's id
	err   error             // the first one of writing
}

// A callBlock is a call with the lines about it.
type callBlock struct {
	llm.Call
	tense gist.Tense
	lines []string
}

// painted formats text without control characters, in the given colour.
func painted(paint func(string) string, format string, a ...any) string {
	text := clip.Plain(fmt.Sprintf(format, a...))
	if paint != nil {
		text = paint(text)
	}
	return text
}

// line prints a line, after the calls of the reply before it.
func (tr *transcript) line(paint func(string) string, format string, a ...any) {
	tr.flush()
	tr.write(painted(paint, format, a...))
}

func (tr *transcript) write(text string) {
	if tr.err == nil {
		_, tr.err = fmt.Fprintln(tr.w, text)
	}
}

// flush prints the calls of the last reply.
func (tr *transcript) flush() {
	calls := tr.calls
	tr.calls = nil
	for _, c := range calls {
		verb, target := linemode.Phrase(c.Call, c.tense)
		tr.write("\n" + tr.style.Mark("● ") + strings.TrimSpace(tr.style.Bold(verb)+"  "+target) + "  " + tr.style.Dim("("+c.ID+")"))
		for _, l := range c.lines {
			tr.write("  " + l)
		}
	}
}

// below adds a line to a call. A line about a call of an earlier reply, which is
// printed already, names the call.
func (tr *transcript) below(id string, paint func(string) string, format string, a ...any) {
	text := painted(paint, format, a...)
	for _, c := range tr.calls {
		if c.ID == id {
			c.lines = append(c.lines, text)
			return
		}
	}
	tr.line(nil, "%s (%s):", tr.names[id], id)
	tr.write("  " + text)
}

func (tr *transcript) header(in *summary.Session) {
	tr.line(tr.style.Bold, "%s  %s", *in.Session, in.Title)
	tr.line(tr.style.Dim, "%s · %s · %s · approve %s · begun %s", in.Agent, in.Model, in.Workspace, in.Approve, localTime(in.Created))
	if in.Parent != "" {
		tr.line(tr.style.Dim, "for %s", in.Parent)
	}
	if in.From != nil {
		tr.line(tr.style.Dim, "copied from %s, event %d", in.From.Session, in.From.Seq)
	}
}

func (tr *transcript) event(ev openmanus.Event) {
	s := tr.style
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		tr.line(s.Bold, "\n> %s", strings.ReplaceAll(strings.TrimSpace(content(b.Message.Parts)), "\n", "\n> "))
	case openmanus.ModelSaid:
		tr.said(b)
	case openmanus.Called:
		tr.flush()
		tr.begin(openmanus.CallsOf(b)...)
	case openmanus.ModelFailed:
		tr.line(s.Red, "! the model failed: %s", b.Error)
	case openmanus.Stopped:
		tr.line(s.Red, "! stopped (%s): %s", b.Reason, b.Error)
	case openmanus.Interrupted:
		tr.line(s.Red, "! interrupted")
	case openmanus.Resumed:
		tr.line(s.Dim, "· resumed")
	case openmanus.Configured:
		if b.N > 0 {
			tr.line(s.Dim, "· from here on: %s · %s · approve %s", b.Model, b.Workspace, b.Approve)
		}
	case openmanus.Elided, openmanus.Compacted:
		tr.line(s.Dim, "· %s", linemode.CutGist(b))
	case openmanus.ChildOpened:
		tr.line(s.Dim, "· delegated to %s", b.Child)
	case openmanus.Ended:
		if b.Text != "" {
			tr.line(nil, "\n%s", b.Text)
		}
	case openmanus.ChildDone:
		tr.line(s.Dim, "· %s is %s: %s", b.Child, b.Status, termtext.OneLine(b.Text, 100))
	case openmanus.Noted:
		tr.line(s.Dim, "· %s", b.Text)
	case openmanus.Foreign:
		tr.line(s.Dim, "· an event of a newer version: %s", b.Type)
	default:
		tr.callEvent(ev.Body)
	}
}

func (tr *transcript) said(b openmanus.ModelSaid) {
	if text := strings.TrimSpace(content(b.Message.Parts)); text != "" {
		tr.line(nil, "\n%s", text)
	}
	if !b.Stop.Whole() {
		tr.line(tr.style.Red, "! the reply is not whole: %s", b.Stop)
	}
	tr.flush()
	tr.begin(openmanus.CallsOf(b)...)
}

// begin starts the blocks of new calls.
func (tr *transcript) begin(calls ...llm.Call) {
	for _, c := range calls {
		tr.names[c.ID] = c.Name
		tr.calls = append(tr.calls, &callBlock{Call: c, tense: gist.Waiting})
	}
}

// turn changes the tense of a call. One that never ran was only wanted.
func (tr *transcript) turn(id string, to gist.Tense) {
	for _, c := range tr.calls {
		if c.ID == id {
			if c.tense == gist.Waiting && to == gist.Done {
				to = gist.Never
			}
			c.tense = to
		}
	}
}

// callEvent adds an event to the block of its call.
func (tr *transcript) callEvent(b openmanus.Body) {
	s := tr.style
	switch b := b.(type) {
	case openmanus.CallStarted:
		tr.turn(b.Call, gist.Running)
	case openmanus.Asked:
		tr.below(b.Call, s.Mark, "? %s", clip.Visible(b.Question))
	case openmanus.Answered:
		tr.below(b.Call, s.Bold, "> %s", b.Text)
	case openmanus.Ruled:
		tr.ruled(b)
	case openmanus.CallDone:
		tr.turn(b.Call, gist.Done)
		tr.result(b.Call, b.Parts, b.IsError)
	case openmanus.CallLate:
		tr.below(b.Call, s.Dim, "· came late:")
		tr.result(b.Call, b.Parts, false)
	}
}

// ruled adds a ruling, unless the gate allowed the call.
func (tr *transcript) ruled(b openmanus.Ruled) {
	s := tr.style
	if !b.Allow {
		tr.turn(b.Call, gist.Never)
	}
	switch {
	case b.By == act.ByPerson && b.Allow && b.Input != "":
		tr.below(b.Call, s.Dim, "· allowed by the person, with changed arguments: %s", b.Input)
	case b.By == act.ByPerson && b.Allow:
		tr.below(b.Call, s.Dim, "· allowed by the person")
	case b.By == act.ByPerson:
		tr.below(b.Call, s.Red, "! not allowed: %s", b.Reason)
	case !b.Allow:
		tr.below(b.Call, s.Red, "! not allowed by the %s: %s", b.By, b.Reason)
	}
}

// result adds the first lines of a result.
func (tr *transcript) result(id string, parts llm.Parts, isError bool) {
	lines := strings.FieldsFunc(clip.Plain(content(parts)), func(r rune) bool { return r == '\n' })
	paint := tr.style.Dim
	if isError {
		paint = tr.style.Red
	}
	for i, l := range lines {
		if i == resultHead {
			tr.below(id, tr.style.Dim, "│ … %s", clip.Count(len(lines)-i, "more line"))
			break
		}
		tr.below(id, paint, "│ %s", termtext.OneLine(l, 160))
	}
}

// plan prints the active plan, if there is one: that of the flow, or of a tool whose
// results are kept.
func (tr *transcript) plan(st *openmanus.State) {
	if p := agents.Progress(st); p != nil {
		tr.line(tr.style.Dim, "\n%s", strings.TrimRight(shownPlan(st, p), "\n"))
		return
	}
	for _, t := range st.Config.Tools {
		if !t.Hints.Keep {
			continue
		}
		ps, err := tools.ReadPlans(st.Last(t.Name))
		if err != nil {
			tr.line(tr.style.Red, "\n! %v", err)
			continue
		}
		if p := ps.Find(ps.Active); p != nil {
			tr.line(tr.style.Dim, "\n%s", strings.TrimRight(gist.FromOne(p.String()), "\n"))
		}
	}
}

// footer prints the plan, the questions that wait, and how the session stands.
func (tr *transcript) footer(x *session) {
	st := x.s
	tr.plan(st)
	tr.line(nil, "")
	for _, w := range x.qs {
		who, c := above(summary.Asker(x.id, w)), w.Call
		if q := c.Question(); q.Kind == openmanus.AskRuling {
			tr.line(tr.style.Mark, "? %s%s (%s) waits for approval: openmanus sessions approve %s %s", who, c.ID, c.Name, w.Session, c.ID)
			tr.line(nil, "%s", indent(clip.Visible(gist.Arguments(c.Arguments())), "    "))
		} else {
			tr.line(tr.style.Mark, "? %s%s (%s) waits for an answer: openmanus sessions answer %s %s \"…\"", who, c.ID, c.Name, w.Session, c.ID)
		}
	}
	text := describe(st, x.qs)
	if st.Outcome.Error != "" {
		text += ": " + st.Outcome.Error
	}
	tr.line(tr.style.Bold, "%s", text)
	tr.line(tr.style.Dim, "%s · %s · last event %d at %s",
		clip.Count(st.Steps, "step"), summary.UsageOf(st.Usage, st.Cost, st.Unpriced), st.Seq, localTime(st.Updated))
}

func indent(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }
