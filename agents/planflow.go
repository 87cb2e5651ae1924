package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// A PlanFlow has a planner make a plan with the planning tool, and agents do
// its steps, each in a session of its own. A step whose session did not
// finish, or whose acceptance is not met, is blocked; the planner may then
// change the plan. Its sessions end as finished only if every step of the plan
// was completed.
type PlanFlow struct {
	Planner  *openmanus.Agent // made by [Planner]
	Agents   []string         // the flows that do steps; untagged ones go to the first
	Critic   string           // the flow that checks acceptances; "": the step's agent is believed
	Parallel int              // steps at once, at most; 0 means 4
	Replans  int              // how often the plan may be changed because of blocked steps
	PlanOnly bool             // the plan is the answer
}

// DefaultReplans is how often a plan may be changed unless somebody says
// otherwise.
const DefaultReplans = 3

// maxDrafts is how often the planner is asked for a plan.
const maxDrafts = 3

// Agent implements [openmanus.Flow].
func (f *PlanFlow) Agent() *openmanus.Agent { return f.Planner }

// Next implements [openmanus.Flow].
func (f *PlanFlow) Next(s *openmanus.State) []openmanus.Task {
	if s.Outcome.Status != "" || s.Foreign != "" || s.Turn == 0 && len(s.Inbox) == 0 {
		return nil
	}
	if s.Open() {
		return s.CallTasks()
	}
	p := f.plan(s)
	switch {
	case p == nil:
		return f.reply(s, "Make the plan now, with the planning tool: command create.")
	case f.PlanOnly:
		return f.planned(s, p)
	}
	todo, full := f.steps(s, p)
	if heard(s) {
		todo = append(todo, f.reply(s, p.nudge("The person has said something: change the plan with update if it calls for that, and say in a sentence what you do."))...)
	}
	if len(todo) > 0 || full {
		return todo
	}
	if p.done() {
		return f.sumUp(s, p)
	}
	return f.mend(s, p)
}

// heard reports whether somebody has said what the planner has not read.
func heard(s *openmanus.State) bool {
	return slices.ContainsFunc(s.Inbox, func(n openmanus.Note) bool { return n.Child == "" })
}

// reply asks the planner, unless a limit is reached.
func (f *PlanFlow) reply(s *openmanus.State, nudge string) []openmanus.Task {
	if reason, why := s.Spent(); reason != "" {
		return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: reason, Error: why}}
	}
	if t, full := s.MakeRoom(); full {
		return []openmanus.Task{t}
	}
	if word := s.Nudge(); word != "" {
		nudge += "\n\n" + word
	}
	if t, full := s.MakeRoom(); full {
		return []openmanus.Task{t}
	}
	return []openmanus.Task{{Do: openmanus.Reply, Turn: s.Turn, Re: s.Seq, Nudge: nudge}}
}

// steps are the tasks of the steps that are under way, and of those that can
// begin. full reports whether there are some under way.
func (f *PlanFlow) steps(s *openmanus.State, p *plan) (todo []openmanus.Task, full bool) {
	open := 0
	for _, c := range s.OpenChildren() {
		open++
		todo = append(todo, f.goOn(s, p, c))
	}
	for i := range p.steps {
		if st := &p.steps[i]; st.unchecked {
			open++
			todo = append(todo, f.verify(st))
		}
	}
	most := cmp.Or(f.Parallel, 4)
	if l := s.Limits.FanOut; l > 0 {
		most = min(most, l)
	}
	for i := range p.steps {
		st := &p.steps[i]
		if st.Status != tools.NotStarted || open >= most || !p.ready(st) {
			continue
		}
		if reason, why := s.Spent(); reason != "" {
			return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: reason, Error: why}}, false
		}
		open++
		todo = append(todo, f.do(s, p, st))
	}
	return todo, open > 0
}

// goOn is the task of a session that was opened.
func (f *PlanFlow) goOn(s *openmanus.State, p *plan, c *openmanus.ChildState) openmanus.Task {
	for i := range p.steps {
		switch st := &p.steps[i]; c {
		case st.child:
			return f.do(s, p, st)
		case st.check:
			return f.verify(st)
		}
	}
	return openmanus.Task{Do: openmanus.Delegate, Child: nameOf(c)} // of a step that is no longer in the plan
}

// mend has the planner change a plan that cannot go on, if it may; else the
// work has failed.
func (f *PlanFlow) mend(s *openmanus.State, p *plan) []openmanus.Task {
	// Whoever speaks to the session, or resumes it, allows another try.
	left := max(0, f.Replans) + max(0, len(s.Requests)-1) - max(0, p.revision-1)
	news := len(s.Inbox) > 0
	switch {
	case s.Steps == 0, left > 0 && (news || len(s.Calls) > 0):
		return f.reply(s, p.nudge(fmt.Sprintf(`The plan cannot go on: of the steps marked [!], the notes say why. Change the plan with the planning tool, command %s: another way to the goal, other steps, another agent. What is completed stays as it is; a blocked step that you leave in is tried again. You may change the plan %d more times. If there is no way, say so in words, without a call.`, p.verb(), max(1, left))))
	case news:
		return f.reply(s, p.nudge("The plan cannot go on, and it cannot be changed any more. Say in words, without a call, what was done, what was not and why, and what the person can do."))
	}
	return f.end(s, p, openmanus.Failed)
}

// sumUp has the planner say what came of it all.
func (f *PlanFlow) sumUp(s *openmanus.State, p *plan) []openmanus.Task {
	if len(s.Inbox) > 0 || len(s.Calls) > 0 && p.revision-1 <= max(0, f.Replans)+len(s.Requests) && changedPlan(s) {
		return f.reply(s, p.nudge("Every step is completed. Sum up for the person, in words and without a call: lead with the result, then what was made and where it is."))
	}
	return f.end(s, p, openmanus.Finished)
}

// changedPlan reports whether one of the last calls set the plan's steps.
func changedPlan(s *openmanus.State) bool {
	return slices.ContainsFunc(s.Calls, func(c *openmanus.CallState) bool {
		return c.Name == planning && !c.Done.IsError && (strings.Contains(c.Arguments(), `"create"`) || strings.Contains(c.Arguments(), `"update"`))
	})
}

func (f *PlanFlow) end(s *openmanus.State, p *plan, how openmanus.Status) []openmanus.Task {
	t := openmanus.Task{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: how, Text: p.summary(s.Answer, s.Children)}
	if how == openmanus.Failed {
		t.Reason, t.Error = openmanus.ByAgent, "the plan was not completed: "+p.trouble()
	}
	return []openmanus.Task{t}
}

// planned is the end of a flow that only plans.
func (f *PlanFlow) planned(s *openmanus.State, p *plan) []openmanus.Task {
	if heard(s) {
		return f.reply(s, "Change the plan with the planning tool as the person wants it.")
	}
	file, err := p.file()
	if err != nil {
		return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: openmanus.ByTooling, Error: err.Error()}}
	}
	return []openmanus.Task{{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: openmanus.Finished, Text: file}}
}
