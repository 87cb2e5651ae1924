package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/tools"
)

// A planView prints a plan while it is carried out: all of it when its steps
// change, and a step when its status changes.
type planView struct {
	print *linemode.Printer
	mute  bool // events are from before this run and are not printed

	mu   sync.Mutex
	s    openmanus.State
	last *tools.Plan
}

// first returns the number of the first step: people count from 1. In an
// evaluation, the copying is step 0, so that the attempts have their own numbers.
func (v *planView) first() int {
	if host.SpecOf(&v.s).Name() == host.EvaluateFlow {
		return 0
	}
	return 1
}

// label names the session of a step, which has the id, as people find the step in
// the plan: "step 2", or "step 2, try 3" if there were others before it. It is ""
// for other sessions.
func (v *planView) label(id string) string {
	step, ok := agents.StepOf(id)
	if !ok {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil || v.first() == 0 || v.s.Child(id) == nil {
		return ""
	}
	i := slices.IndexFunc(v.last.Steps, func(s tools.Step) bool { return s.ID == step })
	if i < 0 {
		return ""
	}
	try := 0
	for _, c := range v.s.Children {
		if of, ok := agents.StepOf(c.Child); ok && of == step {
			try++
		}
		if c.Child == id {
			break
		}
	}
	label := fmt.Sprintf("step %d", i+1)
	if try > 1 {
		label += fmt.Sprintf(", try %d", try)
	}
	return label
}

// drawPlan prints the session's plan, if it has one, and prepares to print its
// changes.
func (d *drive) drawPlan(ctx context.Context) error {
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
		d.print.Plan(p.Title, p.Steps, d.plan.first())
	}
	return nil
}

// event prints what ev changes in the plan.
func (v *planView) event(ev openmanus.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ev.Seq == 0 || ev.Seq <= v.s.Seq {
		return
	}
	v.s.Apply(ev)
	p := agents.Progress(&v.s)
	if p == nil {
		return
	}
	v.print.Plans()
	was := v.last
	v.last = p
	if v.mute {
		return
	}
	if was == nil || !sameSteps(was, p) {
		v.print.Plan(p.Title, p.Steps, v.first())
		return
	}
	for i, st := range p.Steps {
		if st.Status != was.Steps[i].Status {
			v.print.Plan("", p.Steps[i:i+1], v.first()+i)
		}
	}
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

// shownPlan returns the plan of a session for people.
func shownPlan(s *openmanus.State, p *tools.Plan) string {
	if host.SpecOf(s).Name() == host.EvaluateFlow {
		return p.String() // see planView.first
	}
	return gist.FromOne(p.String())
}

// planOutcome returns the result of a plan or an evaluation under its heading.
// It is false if s is another session, or has not ended.
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
			text += "\n\n" + strings.TrimSpace(shownPlan(s, p))
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
