package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/tools"
)

// planning returns the name of the planner's tool in a session, or "" if there is
// none. Its results have a [tools.Plans] as their Detail.
func planning(s *openmanus.State) string {
	i := slices.IndexFunc(s.Config.Tools, tools.KeepsPlans)
	if i < 0 {
		return ""
	}
	return s.Config.Tools[i].Name
}

// A plan is a planner's plan with the present progress of its steps.
type plan struct {
	tools.Plan // the planner's plan, with present statuses and notes
	steps      []step
	revision   int  // how often the planner has changed its plans
	ours       bool // it is the default plan
}

// A step is a step of a plan with its child sessions.
type step struct {
	*tools.Step
	index     int
	name      string                // of the session that does or will do it
	child     *openmanus.ChildState // that session; nil: not opened
	check     *openmanus.ChildState // the session that checks its acceptance; nil: not opened
	unchecked bool                  // it is done, and its check is to be opened
}

// plan returns the plan of a session, or nil if the planner has yet to make it.
// If the planner makes none in maxDrafts replies, the plan is a default one.
func (f *PlanFlow) plan(s *openmanus.State) *plan {
	ps, err := tools.ReadPlans(s.Last(planning(s)))
	if err == nil {
		if p := ps.Find(ps.Active); p != nil && len(p.Steps) > 0 {
			return f.progress(*p, ps.Revision, s.Children)
		}
	}
	if s.Turn == 0 || s.Replies < maxDrafts && (s.Due() || s.Open()) {
		return nil
	}
	p := f.progress(defaultPlan(s.Requests), 0, s.Children)
	p.ours = true
	return p
}

// defaultID is the ID of the first step of the default plan. A planner's steps
// have lower ones.
const defaultID = 1_000_000

// defaultPlan returns the plan for when the planner makes none, which is that of
// the original OpenManus.
func defaultPlan(requests []string) tools.Plan {
	request := strings.Join(requests, " ")
	title := "Plan for: " + shortened(request, 50)
	p := tools.Plan{ID: "default", Title: title}
	for i, text := range []string{"Analyze request", "Execute task", "Verify results"} {
		p.Steps = append(p.Steps, tools.Step{ID: defaultID + i, Text: text})
	}
	return p
}

// progress returns a plan with the progress of its steps, by the sessions that
// were opened for them. A session's name contains the step and the revision of
// the plan, so a blocked step gets a new session when the plan has changed.
func (f *PlanFlow) progress(p tools.Plan, revision int, children []*openmanus.ChildState) *plan {
	p.Steps = slices.Clone(p.Steps)
	out := &plan{Plan: p, revision: revision}
	byName := make(map[string]*openmanus.ChildState)
	last := make(map[int]int) // the latest revision in which the step was started, by its ID
	for _, c := range children {
		name := nameOf(c)
		byName[name] = c
		if id, rev, ok := stepOf(name); ok {
			last[id] = rev
		}
	}
	for i := range p.Steps {
		st := step{Step: &p.Steps[i], index: i}
		rev, started := last[st.ID]
		if started {
			st.child, st.check = byName[stepName("step", st.ID, rev)], byName[stepName("check", st.ID, rev)]
		}
		st.Status, st.Notes = f.status(&st)
		if st.Status == tools.Blocked && rev < revision { // the plan has changed since: try again
			st.Status, st.Notes, st.child, st.check = tools.NotStarted, "", nil, nil
		}
		if st.child == nil {
			rev = revision
		}
		st.name = stepName("step", st.ID, rev)
		out.steps = append(out.steps, st)
	}
	return out
}

// nameOf returns the name under which its parent opened a session: the part of its
// id after the last dot.
func nameOf(c *openmanus.ChildState) string {
	return c.Child[strings.LastIndexByte(c.Child, '.')+1:]
}

// stepName names the session that does a step ("step") or checks it ("check").
func stepName(what string, id, revision int) string {
	return fmt.Sprintf("%s-%d-%d", what, id, revision)
}

// stepOf returns the step and the revision in the name of a session that does a
// step.
func stepOf(name string) (id, revision int, ok bool) {
	name, ok = strings.CutPrefix(name, "step-")
	a, b, cut := strings.Cut(name, "-")
	id, err1 := strconv.Atoi(a)
	revision, err2 := strconv.Atoi(b)
	return id, revision, ok && cut && err1 == nil && err2 == nil
}

// StepOf returns the ID of the step, in the plan that [Progress] returns for its
// parent, that a child session was opened to do. ok is false for other sessions.
func StepOf(session string) (id int, ok bool) {
	name := session[strings.LastIndexByte(session, '.')+1:]
	var round, n int
	if _, err := fmt.Sscanf(name, "attempt-%d-%d", &round, &n); err == nil {
		return n + 1, true // step 1 is the copying
	}
	id, _, ok = stepOf(name)
	return id, ok
}

// A Verdict is a critic's answer about an acceptance sentence.
type Verdict struct {
	Met    bool   `json:"met"`
	Reason string `json:"reason"`
}

// status returns the status of a step and a note about it.
func (f *PlanFlow) status(st *step) (tools.StepStatus, string) {
	switch {
	case st.child == nil:
		return tools.NotStarted, ""
	case st.child.Done == nil:
		return tools.InProgress, ""
	case st.child.Done.Status != openmanus.Finished:
		return tools.Blocked, shortened(clip.OneLine(st.child.Done.Text), 300)
	case st.Acceptance == "" || f.Critic == "":
		return tools.Completed, ""
	case st.check == nil:
		st.unchecked = true
		return tools.InProgress, "its result will be checked"
	case st.check.Done == nil:
		return tools.InProgress, "its result is being checked"
	}
	var v Verdict
	d := st.check.Done
	if err := json.Unmarshal([]byte(d.Text), &v); d.Status != openmanus.Finished || err != nil {
		return tools.Blocked, "the check of its result failed: " + shortened(clip.OneLine(d.Text), 300)
	}
	if !v.Met {
		return tools.Blocked, fmt.Sprintf("not met: %q: %s", st.Acceptance, shortened(clip.OneLine(v.Reason), 300))
	}
	return tools.Completed, ""
}

// ready reports whether the steps that a step depends on are completed.
func (p *plan) ready(st *step) bool {
	for i := range p.steps {
		if st.needs(&p.steps[i]) && p.steps[i].Status != tools.Completed {
			return false
		}
	}
	return true
}

// needs reports whether st depends on another step. A step that does not say on
// which it depends, depends on all before it.
func (st *step) needs(other *step) bool {
	return st.After == nil && other.index < st.index || slices.Contains(st.After, other.ID)
}

// done reports whether all steps are completed.
func (p *plan) done() bool { return p.Count(tools.Completed) == len(p.steps) }

// verb returns the command with which the planner can change the plan.
func (p *plan) verb() string {
	if p.ours {
		return "create"
	}
	return "update"
}

// nudge returns a nudge that starts with the present plan.
func (p *plan) nudge(text string) string { return p.String() + "\n" + text }

// trouble returns which steps are blocked and why.
func (p *plan) trouble() string {
	var all []string
	for _, st := range p.steps {
		if st.Status == tools.Blocked {
			all = append(all, fmt.Sprintf("step %d (%s): %s", st.index+1, shortened(st.Text, 60), st.Notes))
		}
	}
	if all == nil {
		return fmt.Sprintf("%d of %d steps are done", p.Count(tools.Completed), len(p.steps))
	}
	return strings.Join(all, "; ")
}

// summary returns the answer of the flow: the planner's text, the status of every
// step, and the files that were made or changed.
func (p *plan) summary(said string, children []*openmanus.ChildState) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(cmp.Or(said, p.Title)) + "\n\nSteps:\n")
	for _, st := range p.steps {
		fmt.Fprintf(&b, "%d. %s %s\n", st.index+1, st.Status.Mark(), clip.OneLine(st.Text))
		if st.Notes != "" {
			fmt.Fprintf(&b, "   %s\n", st.Notes)
		}
	}
	var files []string
	for _, c := range children {
		if c.Done != nil {
			files = append(files, c.Done.Files...)
		}
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) > 0 {
		b.WriteString("\nFiles made or changed:\n")
		for _, f := range files {
			b.WriteString("- " + f + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// file returns the plan in the format of a plan file.
func (p *plan) file() (string, error) {
	data, err := p.File()
	return strings.TrimRight(string(data), "\n"), err
}

// tag matches the name of an agent in a step's text: [NAME].
var tag = regexp.MustCompile(`\[([^\[\]]+)\]`)

// agent returns the flow that does a step: the agent that the step names, or
// that of its first tag that is one, or the first agent.
func (f *PlanFlow) agent(st *step) string {
	names := []string{st.Agent}
	for _, m := range tag.FindAllStringSubmatch(st.Text, -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		for _, a := range f.Agents {
			if name != "" && sameName(a, name) {
				return a
			}
		}
	}
	return f.Agents[0]
}

// sameName reports whether names are the same, but for case and for spaces,
// underscores and hyphens.
func sameName(a, b string) bool {
	plain := func(s string) string {
		return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(s))
	}
	return plain(a) == plain(b)
}

// do returns the task that opens or continues the session of a step.
func (f *PlanFlow) do(s *openmanus.State, p *plan, st *step) openmanus.Task {
	t := openmanus.Task{Do: openmanus.Delegate, Child: st.name, Label: fmt.Sprintf("step %d", st.index), Flow: f.agent(st)}
	var b strings.Builder
	fmt.Fprintf(&b, "You do one step of a plan; others do the rest.\n\nThe task as a whole:\n%s\n\n"+
		"CURRENT PLAN STATUS:\n%s\n", strings.Join(s.Requests, "\n\n"), p.String())
	for i := range p.steps {
		if before := p.steps[i]; before.Status == tools.Completed && before.child != nil && st.needs(&before) {
			fmt.Fprintf(&b, "The result of step %d:\n%s\n", i, shortened(before.child.Done.Text, 4000))
			for _, name := range before.child.Done.Files {
				fmt.Fprintf(&b, "- %s\n", name)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "YOUR CURRENT TASK:\nYou are now working on step %d: %q\n", st.index, st.Text)
	if st.Acceptance != "" {
		fmt.Fprintf(&b, "It is done when this is true: %s\n", st.Acceptance)
	}
	b.WriteString("\nDo this step and no other. When it is done, end with a summary of what you did, what the result is, " +
		"and where the files are. If it cannot be done, say why and call terminate with status \"failure\".")
	t.Prompt = b.String()
	return t
}

// verify returns the task that opens or continues the check of a step.
func (f *PlanFlow) verify(st *step) openmanus.Task {
	name := strings.Replace(st.name, "step-", "check-", 1)
	d := st.child.Done
	prompt := fmt.Sprintf("A step of a plan is reported as done: %q\n\nIt is done when this is true: %s\n\n"+
		"The report:\n%s\n", st.Text, st.Acceptance, shortened(d.Text, 8000))
	if len(d.Files) > 0 {
		prompt += "\nFiles made or changed:\n- " + strings.Join(d.Files, "\n- ") + "\n"
	}
	prompt += "\nIs it true?"
	return openmanus.Task{Do: openmanus.Delegate, Child: name, Label: fmt.Sprintf("the check of step %d", st.index),
		Flow: f.Critic, Prompt: prompt}
}

// shortened returns text, or its first n characters and "..." if it is longer.
func shortened(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "..."
}

// Progress returns the progress of a session of a [PlanFlow] or an
// [EvaluateFlow] as a plan with the present statuses of its steps. It returns
// nil for other sessions, and before there is a plan.
func Progress(s *openmanus.State) *tools.Plan {
	_, evaluates := s.ToolSpec(copying)
	switch {
	case !s.Config.FlowEnds:
	case evaluates:
		if r := readRound(s); r != nil {
			return r.progress()
		}
	case planning(s) != "":
		if p := (&PlanFlow{Critic: "critic"}).plan(s); p != nil {
			return &p.Plan
		}
	}
	return nil
}
