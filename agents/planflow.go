package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// A PlanFlow has a planner make a plan with the planning tool, and agents do its
// steps in child sessions, several at once where the plan allows it. A step is
// blocked if its session does not finish or its acceptance is not met; the
// planner may then change the plan. A session of this flow ends as finished
// only if every step is completed, and otherwise as failed.
//
// The next task depends on the session's state alone, in this order. Calls of the
// planner that are open are handled first. Without a plan, the planner is asked
// for one. Steps whose dependencies are completed are delegated, up to Parallel,
// and a message of the user goes to the planner meanwhile. When no step can start
// and none is running, the plan is complete, and the planner sums it up; or it is
// stuck, and the planner may change it, Replans times. The journal has the
// question and the answer of each step's session, so a flow that is resumed after
// a crash continues where it was.
type PlanFlow struct {
	Planner  *openmanus.Agent // made by [Planner]
	Agents   []string         // the flows that do steps; the first does those that name none
	Critic   string           // the flow that checks acceptance sentences; "": they are not checked
	Parallel int              // the most steps at once; 0 is 4
	Replans  int              // how often the planner may change the plan because of blocked steps
	PlanOnly bool             // stop when the plan is made: it is the answer
}

// DefaultReplans is a good value for [PlanFlow].Replans.
const DefaultReplans = 3

// maxDrafts is how often the planner is asked for a plan before the default one
// is used.
const maxDrafts = 3

// Nudges for the planner, after the present plan.
const (
	hasMessage = "The person has sent a message: change the plan with update if the message calls for it, " +
		"and say in a sentence what you do."
	cannotGoOn = "The plan cannot go on: the notes of the steps marked [!] say why. Change the plan with the planning " +
		"tool, command %s: another way to the goal, other steps, another agent. Completed steps stay as they are; " +
		"a blocked step that you leave in is tried again. You may change the plan %d more times. If there is no way, " +
		"say so in words, without a call."
	hasFailed = "The plan cannot go on, and it cannot be changed any more. Say in words, without a call, what was done, " +
		"what was not done and why, and what the person can do."
	isDone = "Every step is completed. Sum up for the person, in words and without a call: lead with the result, " +
		"then what was made and where it is."
)

// Agent implements [openmanus.Flow].
func (f *PlanFlow) Agent() *openmanus.Agent { return f.Planner }

// Next implements [openmanus.Flow]. It asks the model for a plan, runs the steps whose
// predecessors are done as child sessions, at most as many at a time as the limits allow,
// and lets the model answer when all steps have ended. A message of the user goes to the
// model beside the steps that run, and may change the plan. With PlanOnly it ends with the
// plan.
func (f *PlanFlow) Next(s *openmanus.State) []openmanus.Task {
	if todo, rests := resting(s); rests {
		return todo
	}
	p := f.plan(s)
	switch {
	case p == nil:
		return f.reply(s, "Make the plan now, with the planning tool: command create.")
	case f.PlanOnly:
		return f.planned(s, p)
	}
	todo, running := f.steps(s, p)
	if heard(s) {
		todo = append(todo, f.reply(s, p.nudge(hasMessage))...)
	}
	if len(todo) > 0 || running {
		return todo
	}
	if p.done() {
		return f.sumUp(s, p)
	}
	return f.mend(s, p)
}

// resting reports whether nothing is to be decided: the session has ended, has not begun, or has
// calls that are open, whose tasks are returned.
func resting(s *openmanus.State) (todo []openmanus.Task, rests bool) {
	if s.Outcome.Status != "" || s.Foreign != "" || s.Turn == 0 && len(s.Inbox) == 0 {
		return nil, true
	}
	if s.Open() {
		return s.CallTasks(), true
	}
	return nil, false
}

// heard reports whether there is a message from the user that the planner has not
// read. Messages of children do not count.
func heard(s *openmanus.State) bool {
	return slices.ContainsFunc(s.Inbox, func(n openmanus.Note) bool { return n.Child == "" })
}

// reply asks the planner for a reply, unless a limit is reached or the context
// must be compacted first.
func (f *PlanFlow) reply(s *openmanus.State, nudge string) []openmanus.Task {
	if more := s.Nudge(); more != "" {
		nudge += "\n\n" + more
	}
	return []openmanus.Task{s.Ask(nudge)}
}

// steps returns the tasks of the steps that are running and of those that can
// start. running reports whether there are any.
func (f *PlanFlow) steps(s *openmanus.State, p *plan) (todo []openmanus.Task, running bool) {
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

// goOn returns the task that continues a child session.
func (f *PlanFlow) goOn(s *openmanus.State, p *plan, c *openmanus.ChildState) openmanus.Task {
	for i := range p.steps {
		switch st := &p.steps[i]; c {
		case st.child:
			return f.do(s, p, st)
		case st.check:
			return f.verify(st)
		}
	}
	return openmanus.Task{Do: openmanus.Delegate, Child: nameOf(c)} // its step is no longer in the plan
}

// mend asks the planner to change a plan that cannot go on. If it may not change
// it any more, or has not done so when asked, the session fails.
func (f *PlanFlow) mend(s *openmanus.State, p *plan) []openmanus.Task {
	// Each further request of the user allows one more change.
	left := max(0, f.Replans) + max(0, len(s.Requests)-1) - max(0, p.revision-1)
	news := len(s.Inbox) > 0
	switch {
	case s.Replies == 0, left > 0 && (news || len(s.Calls) > 0):
		return f.reply(s, p.nudge(fmt.Sprintf(cannotGoOn, p.verb(), max(1, left))))
	case news:
		return f.reply(s, p.nudge(hasFailed))
	}
	return f.end(s, p, openmanus.Failed)
}

// sumUp asks the planner for a summary if there is something it has not read, and
// ends the session.
func (f *PlanFlow) sumUp(s *openmanus.State, p *plan) []openmanus.Task {
	if len(s.Inbox) > 0 || len(s.Calls) > 0 && p.revision-1 <= max(0, f.Replans)+len(s.Requests) && changedPlan(s) {
		return f.reply(s, p.nudge(isDone))
	}
	return f.end(s, p, openmanus.Finished)
}

// changedPlan reports whether one of the last calls changed the plan's steps.
func changedPlan(s *openmanus.State) bool {
	return slices.ContainsFunc(s.Calls, func(c *openmanus.CallState) bool {
		return c.Name == planning(s) && !c.Done.IsError &&
			(strings.Contains(c.Arguments(), `"create"`) || strings.Contains(c.Arguments(), `"update"`))
	})
}

// end ends the session with a summary.
func (f *PlanFlow) end(s *openmanus.State, p *plan, how openmanus.Status) []openmanus.Task {
	t := openmanus.Task{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: how, Text: p.summary(s.Answer, s.Children)}
	if how == openmanus.Failed {
		t.Reason, t.Error = openmanus.ByAgent, "the plan was not completed: "+p.trouble()
	}
	return []openmanus.Task{t}
}

// planned ends a session that only plans.
func (f *PlanFlow) planned(s *openmanus.State, p *plan) []openmanus.Task {
	if heard(s) {
		return f.reply(s, "Change the plan with the planning tool as the person asks.")
	}
	file, err := p.file()
	if err != nil {
		return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: openmanus.ByTooling, Error: err.Error()}}
	}
	return []openmanus.Task{{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: openmanus.Finished, Text: file}}
}
