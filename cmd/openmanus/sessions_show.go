package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// sessionsShowCmd is openmanus sessions show.
type sessionsShowCmd struct {
	oneSession
	JSON bool `name:"json" help:"Print one JSON object: how the session stands."`
}

// on implements the command.
func (c *sessionsShowCmd) on(ctx context.Context, x *session) error {
	kept, err := x.db.Session(ctx, x.id)
	if err != nil {
		return err
	}
	info := summary.OfSession(kept, x.s, x.qs)
	if c.JSON {
		return x.t.printJSON(info)
	}
	tr := &transcript{w: x.t.out, style: x.t.style(x.globals)}
	tr.header(info)
	page := view.NewPage(1)
	for ev, err := range x.db.Events(ctx, x.id, 0) {
		if err != nil {
			return err
		}
		page.Apply(ev)
	}
	for _, it := range page.Items {
		tr.item(it)
	}
	tr.footer(x)
	return tr.err
}

// resultHead is how many lines of a result are shown.
const resultHead = 3

// A transcript prints a conversation.
type transcript struct {
	w     io.Writer
	style termtext.Style
	err   error // the first one of writing
}

// painted formats text without control characters, in the given colour.
func painted(paint func(string) string, format string, a ...any) string {
	text := clip.Plain(fmt.Sprintf(format, a...))
	if paint != nil {
		text = paint(text)
	}
	return text
}

// line prints a line.
func (tr *transcript) line(paint func(string) string, format string, a ...any) {
	tr.write(painted(paint, format, a...))
}

func (tr *transcript) write(text string) {
	if tr.err == nil {
		_, tr.err = fmt.Fprintln(tr.w, text)
	}
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

// item prints an item. Everything about a call stands below its line, although the calls of
// a reply may have run at the same time.
func (tr *transcript) item(it *view.Item) {
	s := tr.style
	switch it.Kind {
	case view.Said:
		tr.line(s.Bold, "\n> %s", strings.ReplaceAll(strings.TrimSpace(it.Words()), "\n", "\n> "))
	case view.Answered:
		tr.line(nil, "\n%s", strings.TrimSpace(it.Words()))
	case view.Called:
		tr.call(it)
	case view.Agent:
		tr.below(it)
	case view.Remark:
		tr.line(s.Dim, "· %s", it.Text)
	case view.Problem:
		tr.line(s.Red, "! %s", it.Text)
	}
}

// call prints a call, what was said about it, and the first lines of its result.
func (tr *transcript) call(it *view.Item) {
	s := tr.style
	verb, target := linemode.Phrase(it.Call.Call, it.Tense(), it.Call.Says...)
	tr.write("\n" + s.Mark("● ") + strings.TrimSpace(s.Bold(verb)+"  "+target) + "  " + s.Dim("("+it.Call.ID+")"))
	for _, n := range it.Call.Notes {
		switch n.Kind {
		case view.Asked:
			tr.line(s.Mark, "  ? %s", clip.Visible(n.Text))
		case view.Reply:
			tr.line(s.Bold, "  > %s", n.Text)
		case view.Denied:
			tr.line(s.Red, "  ! %s", n.Words())
		case view.Late:
			tr.line(s.Dim, "  · it came late:")
			tr.result(n.Parts, s.Dim)
		default:
			tr.line(s.Dim, "  · %s", n.Words())
		}
	}
	if it.Below != nil {
		tr.below(it)
	}
	if d := it.Call.Done; d != nil {
		paint := s.Dim
		if d.IsError {
			paint = s.Red
		}
		tr.result(d.Parts, paint)
	}
}

// below prints what is known of a session below.
func (tr *transcript) below(it *view.Item) {
	tr.line(tr.style.Dim, "· delegated to %s", it.Below.ID)
	if it.Below.Status != "" {
		tr.line(tr.style.Dim, "· %s is %s: %s", it.Below.ID, it.Below.Status, termtext.OneLine(it.Below.Last, 100))
	}
}

// result prints the first lines of a result.
func (tr *transcript) result(parts llm.Parts, paint func(string) string) {
	lines := strings.FieldsFunc(clip.Plain(view.Words(parts)), func(r rune) bool { return r == '\n' })
	for i, l := range lines {
		if i == resultHead {
			tr.line(tr.style.Dim, "  │ … %s", clip.Count(len(lines)-i, "more line"))
			break
		}
		tr.line(paint, "  │ %s", termtext.OneLine(l, 160))
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
