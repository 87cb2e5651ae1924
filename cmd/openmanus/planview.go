package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/tools"
)

// A planView draws a plan as it is done: all of it when its steps change, and
// a step when its status does.
type planView struct {
	print *printer
	s     openmanus.State
	last  *tools.Plan
	mute  bool // what happened before is not drawn
}

// drawPlan prepares the drawing of the session's plan, if it has one.
func (d *drive) drawPlan(ctx context.Context) error {
	d.plan = &planView{print: d.print, mute: true}
	for ev, err := range d.db.Events(ctx, d.id, 0) {
		if err != nil {
			return err
		}
		if ev.Seq > d.seen {
			break
		}
		d.plan.event(ev)
	}
	d.plan.mute = false
	if p := d.plan.last; p != nil {
		d.print.plan(p.Title, p.Steps, 0)
	}
	return nil
}

// event draws what ev changes.
func (v *planView) event(ev openmanus.Event) {
	if ev.Seq == 0 || ev.Seq <= v.s.Seq {
		return
	}
	v.s.Apply(ev)
	p := agents.Progress(&v.s)
	if p == nil {
		return
	}
	v.print.planned()
	was := v.last
	v.last = p
	if v.mute {
		return
	}
	if was == nil || !sameSteps(was, p) {
		v.print.plan(p.Title, p.Steps, 0)
		return
	}
	for i, st := range p.Steps {
		if st.Status != was.Steps[i].Status {
			v.print.plan("", p.Steps[i:i+1], i)
		}
	}
}

// planned says that what is delegated is shown as a plan.
func (p *printer) planned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans = true
}

func sameSteps(a, b *tools.Plan) bool {
	if len(a.Steps) != len(b.Steps) {
		return false
	}
	for i := range a.Steps {
		if a.Steps[i].ID != b.Steps[i].ID {
			return false
		}
	}
	return true
}

// plan draws steps of a plan, with the marks of OpenManus. The first is the
// from-th.
func (p *printer) plan(title string, steps []tools.Step, from int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if title != "" {
		p.line(p.style.bold("Plan: " + plain(oneLine(title, 120))))
	}
	for i, st := range steps {
		mark := st.Status.Mark()
		switch st.Status {
		case tools.Blocked:
			mark = p.style.red(mark)
		case tools.Completed, tools.InProgress:
			mark = p.style.mark(mark)
		}
		by := ""
		if st.Agent != "" {
			by = p.style.dim(" (" + plain(st.Agent) + ")")
		}
		p.line(fmt.Sprintf("  %s %d. %s%s", mark, from+i, oneLine(st.Text, 160), by))
		if st.Notes != "" {
			p.line(p.style.dim("         " + oneLine(st.Notes, 200)))
		}
	}
}

// planOutcome is what a flow that plans or evaluates has to say, under its
// heading; false if s is no such session, or may still go on.
func planOutcome(s *openmanus.State, qs []run.Question) (string, bool) {
	spec := host.SpecOf(s)
	what, is := map[string]string{host.PlanFlow: "Plan", host.EvaluateFlow: "Evaluation"}[spec.Name()]
	st := summary.Standing(s, qs)
	if !is || st == openmanus.Waiting || st == openmanus.Running {
		return "", false
	}
	p := agents.Progress(s)
	if s.Outcome.Reason != openmanus.ByAgent && st != openmanus.Finished {
		text := what + " not completed:\n\n" + s.Outcome.Error
		if p != nil {
			text += "\n\n" + strings.TrimSpace(p.String())
		}
		return text, true
	}
	switch plan, _ := host.PlanOf(spec); {
	case st != openmanus.Finished:
		what += " not"
	case plan.Only:
		return s.Answer, true
	}
	return what + " completed:\n\n" + s.Answer, true
}
