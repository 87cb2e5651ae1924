package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// proposed shows the plan that waits for approval, if there is one, once for each time
// that the session has ended with one.
func (p *program) proposed() tea.Cmd {
	src, ok := p.src.(Planner)
	id, last := p.id, p.session.State.Seq
	if !ok || id == "" || p.modeNow() != openmanus.ApprovePlan || p.session.Status() != openmanus.Finished || p.comp.planned == last {
		return nil
	}
	p.comp.planned = last
	return p.do(func(ctx context.Context) tea.Msg {
		text, err := src.Proposal(ctx, id)
		if err != nil || text == "" {
			return nil
		}
		return show(planList(src, id, text, text))
	})
}

// planList asks whether a plan is to be carried out. text is the plan as the person has
// edited it.
func planList(src Planner, id, plan, text string) *list {
	go_ := func(mode string) func(*program) tea.Cmd {
		return func(p *program) tea.Cmd {
			edited := text
			if edited == plan {
				edited = ""
			}
			return p.act(func(ctx context.Context) error { return src.Approve(ctx, id, mode, edited) })
		}
	}
	return &list{title: "Carry out this plan?", above: strings.Split(strings.TrimSpace(text), "\n"), items: []item{
		{text: "not yet: say what to change", run: func(*program) tea.Cmd { return nil }},
		{text: "carry it out, and ask me", detail: "mode ask", run: go_(openmanus.ApproveAsk)},
		{text: "carry it out; edits of files run without a question", detail: "mode edits", run: go_(openmanus.ApproveEdits)},
		{text: "carry it out; everything runs without a question", detail: "mode all", run: go_(openmanus.ApproveAll)},
		{text: "edit the plan first", detail: "$EDITOR", run: func(*program) tea.Cmd {
			return edit("plan-*.md", text, func(p *program, edited string) tea.Cmd {
				if strings.TrimSpace(edited) == "" {
					return p.notice(true, "the plan is empty, so nothing was approved")
				}
				p.push(planList(src, id, plan, edited))
				return nil
			})
		}},
	}}
}

// nextMode changes to the next mode: ask, edits, plan, readonly. "all" is only reached
// by its name.
func (p *program) nextMode() tea.Cmd {
	round := []string{openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApprovePlan, openmanus.ApproveReadOnly}
	return p.change(Setting{Mode: round[(slices.Index(round, p.modeNow())+1)%len(round)]})
}

// elsewhere returns the question whether the conversation may go to another endpoint. "No"
// comes first, because the whole conversation would be sent.
func elsewhere(s Setting, e *Elsewhere) *list {
	s.Elsewhere = true
	return &list{title: "Another endpoint?", above: []string{
		clip.OneLine(s.Model) + " answers at " + e.To + ".", "All of this conversation would be sent there. So far it went to " + e.From + ".",
	}, items: []item{
		{text: "no, keep the model", run: func(*program) tea.Cmd { return nil }},
		{text: "yes, send it to " + e.To, run: func(p *program) tea.Cmd { return p.change(s) }},
	}}
}
